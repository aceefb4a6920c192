/* SPDX-License-Identifier: Apache-2.0 */
/* test_model.c: model files: what is read, what is refused and with which words; the shipped networks. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text/strbuf.h"
#include "kernel/kernel_impl.h"
#include "training/model/model.h"

#define HEAD "name: net\ninput: [1, 8, 8]\nclasses: 4\nlayers:\n"
#define TAIL "  - dense: {name: last, units: 4}\n  - softmax-cross-entropy\n"

static tutti_model *read(const char *text)
{
    tutti_model *m = NULL;
    tutti_failure err = {0};
    if (tutti_model_parse("net.yaml", text, strlen(text), &m, &err) != TUTTI_OK) fail_msg("%s", err.text);
    return m;
}

static void refused(const char *text, const char *words)
{
    tutti_model *m = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_model_parse("net.yaml", text, strlen(text), &m, &err), TUTTI_ERR_DATA);
    assert_int_equal(err.status, TUTTI_ERR_DATA);
    assert_null(m);
    if (!strstr(err.text, words)) fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void layers_are_read_with_attributes_defaults_and_names(void **state)
{
    (void)state;
    tutti_model *m = read(HEAD "  - conv: {out_channels: 6, kernel: 3, pad: 1}\n"
                               "  - relu\n"
                               "  - relu:\n"
                               "  - max-pool: {kernel: 2, name: half}\n" TAIL);
    assert_int_equal(m->nlayers, 6);
    assert_string_equal(m->name, "net");
    assert_int_equal(m->nclasses, 4);
    assert_string_equal(m->layers[0].name, "conv1");
    assert_string_equal(m->layers[2].name, "relu2");
    assert_string_equal(m->layers[3].name, "half");
    assert_string_equal(m->layers[5].name, "softmax-cross-entropy1");
    const tutti_conv_attrs *conv = m->layers[0].attrs;
    assert_true(conv->out_channels == 6 && conv->kernel == 3 && conv->stride == 1 && conv->pad == 1 && conv->bias);
    assert_int_equal(m->layers[0].in[0], -1);
    assert_int_equal(m->layers[1].in[0], 0);
    assert_int_equal(m->layers[0].line, 5);
    tutti_shape shapes[6], half = {4, {7, 6, 4, 4}}, nothing = {0};
    assert_int_equal(tutti_model_infer(m, 7, shapes, NULL), TUTTI_OK);
    assert_true(tutti_shape_equal(&shapes[3], &half) && tutti_shape_equal(&shapes[5], &nothing));
    tutti_model_destroy(m);
}

static void from_names_the_layer_that_is_read(void **state)
{
    (void)state;
    tutti_model *m = read(HEAD "  - relu: {name: a, from: input}\n"
                               "  - dense: {units: 4, from: [a]}\n"
                               "  - softmax-cross-entropy: {from: dense1}\n");
    assert_int_equal(m->layers[0].in[0], -1);
    assert_int_equal(m->layers[1].in[0], 0);
    assert_int_equal(m->layers[2].in[0], 1);
    tutti_model_destroy(m);
}

static void what_a_file_gets_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    refused("", "name");
    refused("- a\n", "line 1: a model is a map");
    refused("name: [", "net.yaml");
    refused("name: net\ninput: [1, 8, 8]\nclasses: 4\n", "layers is a list of at least one layer");
    refused("name: net\ninput: [1, 2, 3, 4]\nclasses: 4\nlayers: []\n", "line 2: input has one to three dims");
    refused("name: net\ninput: [1.5]\nclasses: 4\nlayers: []\n", "line 2: dims of the input are whole numbers");
    refused("name: net\ninput: [8]\nclasses: 4\nlayer: []\n", "line 4: unknown key 'layer'");
    refused("name: net\ninput: [8]\nclases: 4\nlayers: []\n", "line 3: unknown key 'clases'; did you mean 'classes'?");
    refused(HEAD "  - konv: {kernel: 3}\n" TAIL, "line 5: there is no op konv (did you mean conv?)");
    refused(HEAD "  - conv: {kernal: 3, out_channels: 2}\n" TAIL, "kernel");
    refused(HEAD "  - conv: {kernel: 3}\n" TAIL, "out_channels");
    refused(HEAD "  - conv: {kernel: 0, out_channels: 2}\n" TAIL, "line 5");
    refused(HEAD "  - conv: 3\n" TAIL, "line 5: attributes of a layer are a map");
    refused(HEAD "  - [relu]\n" TAIL, "line 5: a layer is one op");
    refused(HEAD "  - {relu: , tanh: }\n" TAIL, "line 5: a layer is one op");
    refused(HEAD "  - relu: {name: a/b}\n" TAIL, "line 5: a name has letters");
    refused(HEAD "  - relu: {name: input}\n" TAIL, "line 5: the name input is the model's input");
    refused(HEAD "  - relu: {name: last}\n" TAIL, "line 6: the name last is that of the layer at line 5");
    refused(HEAD "  - relu: {from: last}\n" TAIL, "line 5: there is no layer last above layer relu1");
    refused(HEAD "  - relu: {from: [input, input]}\n" TAIL, "layer relu1 reads 1 layers, from names 2");
}

static void networks_that_cannot_be_trained_are_refused(void **state)
{
    (void)state;
    refused(HEAD "  - dense: {units: 4}\n", "a model ends in its loss");
    refused(HEAD "  - dense: {units: 4}\n  - softmax-cross-entropy\n" TAIL,
            "line 7: layer last reads softmax-cross-entropy1, a loss");
    refused(HEAD "  - relu: {name: a}\n  - dense: {units: 4, from: input}\n  - softmax-cross-entropy\n",
            "line 5: no layer reads layer a");
    refused(HEAD "  - dense: {units: 5}\n  - softmax-cross-entropy\n", "reads 5 numbers a sample, classes is 4");
    refused(HEAD "  - dense: {units: 4}\n  - max-pool: {kernel: 2}\n" TAIL,
            "line 6: layer max-pool1: wants an input (batch, channels, height, width), has (1, 4)");
    refused(HEAD "  - conv: {name: big, out_channels: 3, kernel: 9}\n" TAIL,
            "layer big: kernel 9 with stride 1 and pad 0 turns (1, 1, 8, 8) into (1, 3, 0, 0)");
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    refused("name: n\ninput: [2147483647, 2147483647, 2147483647]\nclasses: 4\nlayers:\n" TAIL, "too large");
    refused("name: n\ninput: [2147483648]\nclasses: 4\nlayers:\n" TAIL, "2147483648");
    refused(HEAD "  - dense: {units: 2147483647}\n  - dense: {units: 2147483647}\n" TAIL,
            "weight (2147483647, 2147483647) is too large");
    tutti_strbuf text = {0};
    tutti_strbuf_puts(&text, HEAD);
    for (int i = 0; i < 10001; i++) tutti_strbuf_puts(&text, " - relu\n");
    refused(text.text, "at most 10000 layers");
    tutti_strbuf_release(&text);
}

static void every_shipped_model_loads_by_its_name(void **state)
{
    (void)state;
    int n = 0;
    for (; tutti_model_shipped_at(n); n++) {
        tutti_model *m = NULL;
        tutti_failure err = {0};
        const char *name = tutti_model_shipped_at(n);
        if (tutti_model_load(name, ".", &m, &err) != TUTTI_OK) fail_msg("%s", err.text);
        assert_string_equal(m->name, name);
        assert_string_equal(m->text, tutti_model_shipped_text(name));
        assert_true(tutti_model_flops(m, 2) == 2 * tutti_model_flops(m, 1));
        tutti_model_destroy(m);
    }
    assert_true(n > 0);
    tutti_model *m = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_model_load("lenett", ".", &m, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "did you mean lenet?"));
}

static int64_t nparams_of(const char *name)
{
    tutti_model *m = NULL;
    assert_int_equal(tutti_model_load(name, ".", &m, NULL), TUTTI_OK);
    int64_t n = tutti_model_nparams(m);
    tutti_model_destroy(m);
    return n;
}

static void lenet_has_431080_parameters(void **state)
{
    (void)state;
    assert_int_equal(nparams_of("lenet"), 431080);
    assert_int_equal(nparams_of("mlp"), 784 * 128 + 128 + 128 * 10 + 10);
    /* conv without bias, scale and shift but not the running statistics */
    assert_int_equal(nparams_of("convnet-bn"), 16 * 9 + 32 + 32 * 16 * 9 + 64 + 64 * 32 * 49 + 64 + 640 + 10);
}

static void a_path_is_relative_to_the_given_folder(void **state)
{
    (void)state;
    char folder[] = "test_model.XXXXXX";
    assert_non_null(mkdtemp(folder));
    tutti_strbuf path = {0};
    tutti_strbuf_printf(&path, "%s/net.yaml", folder);
    const char text[] = HEAD TAIL;
    tutti_failure err = {0};
    tutti_model *m = NULL;
    assert_int_equal(tutti_file_write_atomic(path.text, text, strlen(text), &err), TUTTI_OK);
    tutti_status st = tutti_model_load("net.yaml", folder, &m, &err);
    tutti_status missing = tutti_model_load("./other", folder, &m, &err);
    tutti_file_remove_tree(folder, NULL);
    tutti_strbuf_release(&path);
    assert_int_equal(st, TUTTI_OK);
    assert_int_equal(missing, TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "other"));
    tutti_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_read_with_attributes_defaults_and_names),
        cmocka_unit_test(from_names_the_layer_that_is_read),
        cmocka_unit_test(what_a_file_gets_wrong_is_told_with_its_line),
        cmocka_unit_test(networks_that_cannot_be_trained_are_refused),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(every_shipped_model_loads_by_its_name),
        cmocka_unit_test(lenet_has_431080_parameters),
        cmocka_unit_test(a_path_is_relative_to_the_given_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
