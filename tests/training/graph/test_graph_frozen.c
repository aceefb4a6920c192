/* SPDX-License-Identifier: Apache-2.0 */
/* test_graph_frozen.c: what a frozen parameter leaves out of a step: its gradient, exchange and update, and the passes
 * that would serve it alone. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../toy_net.h"
#include "graph_nodes.h"

static tutti_graph *frozen_graph(toy_net *net, const char *const *patterns, int npatterns, tutti_status want,
                                 const char *words)
{
    const char *values[8];
    for (int i = 0; i < npatterns; i++) values[2 * i] = patterns[i], values[2 * i + 1] = "true";
    tutti_failure err = {0};
    tutti_graph *g = NULL;
    toy_make(net);
    const tutti_graph_config config = {.batch = 6,
                                       .engine = "reference",
                                       .nthreads = 1,
                                       .training = true,
                                       .frozen = {{values, 2 * npatterns}, "here"}};
    assert_int_equal(tutti_graph_build(&net->model, &config, &g, &err), want);
    if (words && !strstr(err.text, words)) fail_msg("expected '%s' in: %s", words, err.text);
    return g;
}

static int count_nodes(const tutti_graph *g, tutti_node_kind kind)
{
    int n = 0;
    for (int i = 0; i < g->nnodes; i++) n += g->nodes[i].kind == kind;
    return n;
}

static void a_frozen_parameter_has_no_gradient_no_exchange_and_no_update(void **state)
{
    (void)state;
    static const char *const patterns[] = {"fc1.bias", "norm"};
    toy_net net;
    tutti_graph *g = frozen_graph(&net, patterns, 2, TUTTI_OK, NULL);
    int nfrozen = 0;
    for (int p = 0; p < g->nparams; p++) {
        const bool frozen = !strcmp(g->params[p].name, "fc1.bias") || !strcmp(g->params[p].name, "norm.weight") ||
                            !strcmp(g->params[p].name, "norm.bias");
        assert_int_equal(g->params[p].is_frozen, frozen);
        nfrozen += frozen;
        assert_int_equal(find(g, TUTTI_NODE_EXCHANGE, g->params[p].layer, p) < 0, frozen);
        assert_int_equal(find(g, TUTTI_NODE_UPDATE, g->params[p].layer, p) < 0, frozen);
        for (int i = 0; i < g->nnodes && frozen; i++)
            assert_false(has(g->nodes[i].writes, g->nodes[i].nwrites, (tutti_datum){TUTTI_DATUM_PARAM_GRAD, p}));
        assert_true(last_reader(g, (tutti_datum){TUTTI_DATUM_PARAM, p}) > 0 || g->params[p].layer < 0);
    }
    assert_int_equal(nfrozen, 3);
    tutti_graph_destroy(g);
}

/* flat, fc1, norm, relu, fc2, loss */
static void what_serves_frozen_parameters_alone_is_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *frozen[3];
        int nfrozen;
        bool params[6], data[6];
    } cases[] = {
        {{"fc1"}, 1, {0, 0, 1, 0, 1, 0}, {0, 0, 0, 1, 1, 1}}, /* nobody below the norm wants a gradient */
        {{"fc1", "norm"}, 2, {0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 1}},
        {{"norm"}, 1, {0, 1, 0, 0, 1, 0}, {0, 0, 1, 1, 1, 1}}, /* it lets the gradient through */
        {{"fc2"}, 1, {0, 1, 1, 0, 0, 0}, {0, 0, 1, 1, 1, 1}},
        {{"fc2", "fc1", "norm.weight"}, 3, {0, 0, 1, 0, 0, 0}, {0, 0, 0, 1, 1, 1}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        toy_net net;
        tutti_graph *g = frozen_graph(&net, cases[c].frozen, cases[c].nfrozen, TUTTI_OK, NULL);
        for (int l = 0; l < 6; l++) {
            assert_int_equal(find(g, TUTTI_NODE_BACKWARD_PARAMS, l, -1) >= 0, cases[c].params[l]);
            assert_int_equal(find(g, TUTTI_NODE_BACKWARD_DATA, l, -1) >= 0, cases[c].data[l]);
        }
        tutti_graph_destroy(g);
    }
}

/* Kernels make the gradients of all parameters of a layer at once. */
static void unwanted_gradients_of_a_layer_frozen_in_part_lie_in_scratch(void **state)
{
    (void)state;
    static const char *const bias[] = {"fc1.bias"}, *const all[] = {"fc1"};
    toy_net net;
    tutti_graph *g = frozen_graph(&net, bias, 1, TUTTI_OK, NULL);
    const int fc1 = 1, node = find(g, TUTTI_NODE_BACKWARD_PARAMS, fc1, -1);
    const int64_t at = tutti_graph_unwanted_at(g, toy_param(g, "fc1.bias"));
    assert_true(at >= (int64_t)g->kernels[fc1].scratch_bytes && at % 64 == 0);
    assert_true(tutti_graph_scratch_bytes(g, node) >= (size_t)at + 8 * sizeof(float));
    assert_int_equal(tutti_graph_unwanted_at(g, toy_param(g, "fc1.weight")), -1);
    assert_int_equal(tutti_graph_scratch_bytes(g, find(g, TUTTI_NODE_FORWARD, fc1, -1)), g->kernels[fc1].scratch_bytes);
    tutti_graph_destroy(g);
    g = frozen_graph(&net, all, 1, TUTTI_OK, NULL);
    assert_int_equal(tutti_graph_unwanted_at(g, toy_param(g, "fc1.bias")), -1);
    tutti_graph_destroy(g);
}

static void the_last_pattern_that_fits_freezes(void **state)
{
    (void)state;
    static const char *const values[] = {"*", "true", "fc2", "false", "fc2.bias", "true"};
    toy_net net;
    tutti_graph *g = NULL;
    toy_make(&net);
    const tutti_graph_config config = {.batch = 6,
                                       .engine = "reference",
                                       .nthreads = 1,
                                       .training = true,
                                       .frozen = {{(const char **)(uintptr_t)values, 6}, NULL}};
    assert_int_equal(tutti_graph_build(&net.model, &config, &g, NULL), TUTTI_OK);
    for (int p = 0; p < g->nparams; p++)
        assert_int_equal(tutti_param_is_learned(&g->params[p]), !strcmp(g->params[p].name, "fc2.weight"));
    assert_int_equal(count_nodes(g, TUTTI_NODE_BACKWARD_PARAMS), 1);
    tutti_graph_destroy(g);
}

static void freezing_nothing_or_everything_is_refused(void **state)
{
    (void)state;
    static const char *const all[] = {"*"}, *const near[] = {"fc1.wieght"}, *const far[] = {"layer7.0.conv1"},
                             *const statistic[] = {"norm.running_mean"};
    toy_net net;
    frozen_graph(&net, all, 1, TUTTI_ERR_USAGE, "here: every learned parameter of model toy is frozen");
    frozen_graph(&net, near, 1, TUTTI_ERR_USAGE,
                 "here: 'fc1.wieght' fits no learned parameter of model toy; did you mean 'fc1.weight'?");
    frozen_graph(&net, far, 1, TUTTI_ERR_USAGE, "'tutti plan JOB' lists their names");
    frozen_graph(&net, statistic, 1, TUTTI_ERR_USAGE, "fits no learned parameter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frozen_parameter_has_no_gradient_no_exchange_and_no_update),
        cmocka_unit_test(what_serves_frozen_parameters_alone_is_left_out),
        cmocka_unit_test(unwanted_gradients_of_a_layer_frozen_in_part_lie_in_scratch),
        cmocka_unit_test(the_last_pattern_that_fits_freezes),
        cmocka_unit_test(freezing_nothing_or_everything_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
