/* SPDX-License-Identifier: Apache-2.0 */
/* test_sparsity.c: which convolutions skip zeros after a test: those behind a ReLU, from enough zeros on, pass by pass,
 * and back, and those before a max pool from the beginning; and the text that a checkpoint keeps of it. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/sparse/sparse_switch.h"
#include "training/run/step/sparsity.h"

/* Merged: conv1 (relu1), pool, conv2 (relu2), fc, loss. */
static const char model_text[] = "name: two\ninput: [3, 16, 16]\nclasses: 10\nlayers:\n"
                                 "  - conv: {name: conv1, out_channels: 64, kernel: 3, pad: 1}\n"
                                 "  - relu: {name: relu1}\n"
                                 "  - max-pool: {kernel: 2}\n"
                                 "  - conv: {name: conv2, out_channels: 64, kernel: 3, pad: 1}\n"
                                 "  - relu: {name: relu2}\n"
                                 "  - dense: {name: fc, units: 10}\n"
                                 "  - softmax-cross-entropy: {}\n";
enum { CONV1, POOL, CONV2, NSAMPLES = 10 };

/* A max pool of 4 x 4 behind conv1: of sixteen gradients one is not zero, at most. LRN spreads what comes back to
 * conv2. */
static const char pooled_text[] = "name: pooled\ninput: [32, 16, 16]\nclasses: 10\nlayers:\n"
                                  "  - conv: {name: conv1, out_channels: 64, kernel: 3, pad: 1}\n"
                                  "  - max-pool: {kernel: 4}\n"
                                  "  - conv: {name: conv2, out_channels: 64, kernel: 3, pad: 1}\n"
                                  "  - lrn\n"
                                  "  - max-pool: {kernel: 4}\n"
                                  "  - dense: {name: fc, units: 10}\n"
                                  "  - softmax-cross-entropy: {}\n";

typedef struct {
    tutti_model *parsed, *model;
    tutti_graph *graph;
    tutti_arena arena;
    tutti_relus relus;
} fixture;

static int make(void **state, const char *text)
{
    fixture *f = calloc(1, sizeof *f);
    tutti_failure err = {0};
    if (tutti_model_parse("a model", text, strlen(text), &f->parsed, &err)) fail_msg("%s", err.text);
    f->model = tutti_model_fuse(f->parsed);
    const tutti_graph_config config = {.batch = 2, .engine = "auto", .nthreads = 1, .training = true, .sparse = true};
    if (tutti_graph_build(f->model, &config, &f->graph, &err)) fail_msg("%s", err.text);
    tutti_relus_find(f->graph, &f->arena, &f->relus);
    *state = f;
    return 0;
}

static int set_up(void **state)
{
    return make(state, model_text);
}

static int set_up_pooled(void **state)
{
    return make(state, pooled_text);
}

static int tear_down(void **state)
{
    fixture *f = *state;
    tutti_graph_destroy(f->graph);
    tutti_model_destroy(f->model);
    tutti_model_destroy(f->parsed);
    tutti_arena_release(&f->arena);
    free(f);
    return 0;
}

/* As if so much of each counted value had been zero; the words that are said. */
static char *decide(const fixture *f, const double *parts)
{
    int64_t zeros[8];
    tutti_strbuf words = {0};
    tutti_strbuf_puts(&words, "");
    for (int i = 0; i < f->relus.n; i++)
        zeros[i] = (int64_t)(parts[i] * (double)(NSAMPLES * f->relus.relus[i].elements));
    tutti_relus_decide(&f->relus, zeros, NSAMPLES, f->graph, &words);
    return tutti_strbuf_detach(&words);
}

static void convolutions_behind_a_relu_follow_its_zeros(void **state)
{
    fixture *f = *state;
    assert_int_equal(f->relus.n, 3); /* relu1, the pool behind it, relu2 */
    assert_string_equal(f->relus.relus[0].name, "relu1");
    assert_null(f->relus.relus[1].name);
    assert_true(tutti_sparse_is_switch(&f->graph->kernels[CONV1])); /* it reads pictures, but a pool reads it */
    assert_true(tutti_sparse_is_switch(&f->graph->kernels[CONV2]));
    const struct {
        double parts[3];
        const char *words, *skips;
    } tests[] = {
        {{0.9, 0.1, 0.1}, "", ""}, /* conv2 reads the pool, which has few */
        {{0.9, 0.8, 0.1}, "convolutions that skip zeros: conv2 (forward, params)", "003"},
        {{0.1, 0.8, 0.1}, "", "003"}, /* as before: nothing is said */
        /* its own ReLU masks the gradient */
        {{0.9, 0.8, 0.9}, "convolutions that skip zeros: conv2 (forward, params by gradient, data)", "00f"},
        {{0.9, 0.1, 0.9}, "convolutions that skip zeros: conv2 (params by gradient, data)", "00e"},
        {{0, 0, 0}, "convolutions that skip zeros: none", ""},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        char skips[1024], *words = decide(f, tests[i].parts);
        assert_string_equal(words, tests[i].words);
        tutti_relus_skips(f->graph, skips, sizeof skips);
        assert_string_equal(skips, tests[i].skips);
        free(words);
    }
}

static void what_a_max_pool_alone_reads_skips_zeros_from_the_first_step(void **state)
{
    fixture *f = *state;
    char skips[1024];
    tutti_strbuf words = {0};
    assert_true(tutti_sparse_is_switch(&f->graph->kernels[CONV1]));
    assert_false(tutti_sparse_is_switch(&f->graph->kernels[CONV2]));
    tutti_relus_begin(f->graph, &words);
    assert_string_equal(words.text, "convolutions that skip zeros: conv1 (params by gradient)");
    tutti_relus_skips(f->graph, skips, sizeof skips);
    assert_string_equal(skips, "a"); /* nobody wants the gradient of pictures */
    tutti_strbuf_release(&words);
    tutti_relus_begin(f->graph, &words);
    assert_int_equal(words.length, 0);
    tutti_strbuf_release(&words);
}

static void what_a_checkpoint_keeps_is_taken_up_again_or_refused(void **state)
{
    fixture *f = *state;
    char skips[1024];
    assert_true(tutti_relus_set_skips(f->graph, "105"));
    assert_int_equal(tutti_sparse_passes(&f->graph->kernels[CONV2]), 5);
    tutti_relus_skips(f->graph, skips, sizeof skips);
    assert_string_equal(skips, "105");
    assert_true(tutti_relus_set_skips(f->graph, ""));
    assert_int_equal(tutti_sparse_passes(&f->graph->kernels[CONV2]), 0);
    assert_true(tutti_relus_set_skips(f->graph, "00b"));
    assert_int_equal(tutti_sparse_passes(&f->graph->kernels[CONV2]), 11);
    assert_false(tutti_relus_set_skips(f->graph, "00g"));
    assert_false(tutti_relus_set_skips(f->graph, "008"));        /* by gradient, but not in the pass that could */
    assert_false(tutti_relus_set_skips(f->graph, "0000000001")); /* layers that there are not */
}

static void relus_of_heads_that_tests_leave_out_are_not_counted(void **state)
{
    (void)state;
    tutti_failure err = {0};
    tutti_model *model = NULL;
    tutti_graph *g = NULL;
    tutti_relus relus;
    tutti_arena arena = {0};
    int nnamed = 0, nleft = 0;
    if (tutti_model_load(TUTTI_SOURCE_DIR "/tests/golden/train/googlenet.yaml", ".", &model, &err))
        fail_msg("%s", err.text);
    const tutti_graph_config config = {.batch = 2, .engine = "reference", .nthreads = 1};
    if (tutti_graph_build(model, &config, &g, &err)) fail_msg("%s", err.text);
    tutti_relus_find(g, &arena, &relus);
    for (int l = 0; l < model->nlayers; l++) {
        bool has_node = false, is_listed = false;
        for (int i = 0; i < g->nnodes; i++) has_node = has_node || g->nodes[i].layer == l;
        for (int i = 0; i < relus.n; i++) is_listed = is_listed || relus.relus[i].layer == l;
        if (!tutti_layer_relu(&model->layers[l])) continue;
        assert_int_equal(is_listed, has_node);
        nnamed += is_listed;
        nleft += !has_node;
    }
    assert_true(nnamed > 0 && nleft > 0);
    tutti_arena_release(&arena);
    tutti_graph_destroy(g);
    tutti_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(convolutions_behind_a_relu_follow_its_zeros, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_max_pool_alone_reads_skips_zeros_from_the_first_step, set_up_pooled,
                                        tear_down),
        cmocka_unit_test(relus_of_heads_that_tests_leave_out_are_not_counted),
        cmocka_unit_test_setup_teardown(what_a_checkpoint_keeps_is_taken_up_again_or_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
