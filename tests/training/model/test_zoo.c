/* SPDX-License-Identifier: Apache-2.0 */
/* test_zoo.c: the shipped networks are those of the literature: parameters, operations and shapes as PyTorch counts
 * them (tests/golden/model_counts.txt, made by tests/oracle/model_counts.py), and as their papers and users state
 * them. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "kernel/kernel_impl.h"
#include "training/model/model.h"

enum { BATCH = 3 };

static tutti_model *load(const char *name)
{
    tutti_model *m = NULL;
    tutti_failure err = {0};
    if (tutti_model_load(name, ".", &m, &err) != TUTTI_OK) fail_msg("%s", err.text);
    return m;
}

static tutti_shape *shapes_of(const tutti_model *m)
{
    tutti_shape *shapes = calloc((size_t)m->nlayers, sizeof *shapes);
    assert_int_equal(tutti_model_infer(m, BATCH, shapes, NULL), TUTTI_OK);
    return shapes;
}

static tutti_shape input_of(const tutti_model *m, const tutti_layer *layer, int i, const tutti_shape *shapes)
{
    if (layer->in[i] >= 0) return shapes[layer->in[i]];
    tutti_shape s = {.ndims = m->input.ndims + 1, .dim = {BATCH}};
    for (int d = 0; d < m->input.ndims; d++) s.dim[d + 1] = m->input.dim[d];
    return s;
}

/* Forward operations of convolutions and dense layers, of one sample. */
static double multiplying_flops(const tutti_model *m, const tutti_shape *shapes)
{
    double total = 0;
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *layer = &m->layers[l];
        if (layer->op != &tutti_op_conv && layer->op != &tutti_op_dense) continue;
        tutti_shape in = input_of(m, layer, 0, shapes);
        total += layer->op->flops(layer->attrs, &in, &shapes[l]);
    }
    return total / BATCH;
}

static void check_counts(const tutti_model *m, const tutti_shape *shapes, const char *line)
{
    long long params = 0, flops = 0;
    assert_int_equal(sscanf(line, "%*s %lld %lld", &params, &flops), 2);
    if (tutti_model_nparams(m) != params)
        fail_msg("%s: %lld parameters, PyTorch has %lld", m->name, (long long)tutti_model_nparams(m), params);
    if (multiplying_flops(m, shapes) != (double)flops)
        fail_msg("%s: %.0f operations, PyTorch counts %lld", m->name, multiplying_flops(m, shapes), flops);
}

/* "- layer C H W" */
static void check_shape(const tutti_model *m, const tutti_shape *shapes, const char *line)
{
    char name[128] = "";
    tutti_shape wanted = {4, {BATCH}};
    long long *dim = (long long *)wanted.dim;
    assert_int_equal(sscanf(line, "- %127s %lld %lld %lld", name, &dim[1], &dim[2], &dim[3]), 4);
    for (int l = 0; l < m->nlayers; l++)
        if (strcmp(m->layers[l].name, name) == 0) {
            if (!tutti_shape_equal(&shapes[l], &wanted)) fail_msg("%s: PyTorch's shape is %s", m->name, line);
            return;
        }
    fail_msg("%s has no layer %s", m->name, name);
}

static void the_zoo_counts_and_shapes_as_pytorch_does(void **state)
{
    (void)state;
    char *text = NULL, *rest = NULL;
    size_t nbytes = 0;
    tutti_failure err = {0};
    const char *path = TUTTI_SOURCE_DIR "/tests/golden/model_counts.txt";
    if (tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &text, &nbytes, &err) != TUTTI_OK) fail_msg("%s", err.text);
    tutti_model *m = NULL;
    tutti_shape *shapes = NULL;
    int nmodels = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[64] = "";
        if (line[0] == '#') continue;
        assert_int_equal(sscanf(line, "%63s", name), 1);
        if (line[0] == '-') {
            check_shape(m, shapes, line);
            continue;
        }
        tutti_model_destroy(m);
        free(shapes);
        m = load(name);
        shapes = shapes_of(m);
        check_counts(m, shapes, line);
        assert_non_null(tutti_model_shipped_at(nmodels++));
    }
    assert_null(tutti_model_shipped_at(nmodels)); /* none is missing from the table */
    tutti_model_destroy(m);
    free(shapes);
    free(text);
}

static void parameters_are_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t params;
    } published[] = {
        {"alexnet", 60965224}, /* with the original's groups */
        {"alexnet-nogroups", 62378344},
        {"alexnet-torch", 61100840},
        {"vgg-a", 132863336},
        {"overfeat-fast", 145920872},               /* the paper: 145 million */
        {"googlenet", 6998552 + 3188840 + 3190888}, /* and its two heads */
        {"resnet50", 25557032},
        {"fcn5", 117997696},
    };
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        tutti_model *m = load(published[i].name);
        assert_int_equal(tutti_model_nparams(m), published[i].params);
        tutti_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_zoo_counts_and_shapes_as_pytorch_does),
        cmocka_unit_test(parameters_are_as_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
