/* SPDX-License-Identifier: Apache-2.0 */
/* test_graph.c: the nodes of a step stand in a legal order, exchanges and updates as early as the data allow. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../toy_net.h"
#include "graph_nodes.h"

typedef struct {
    toy_net net;
    tutti_graph *graph;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    toy_make(&f->net);
    tutti_failure err = {0};
    if (tutti_graph_build(&f->net.model,
                          &(tutti_graph_config){.batch = 6, .engine = "reference", .nthreads = 1, .training = true},
                          &f->graph, &err))
        print_message("%s\n", err.text);
    *state = f;
    return f->graph ? 0 : 1;
}

static int teardown(void **state)
{
    fixture *f = *state;
    tutti_graph_destroy(f->graph);
    free(f);
    return 0;
}

static void every_read_is_of_a_parameter_or_of_what_an_earlier_node_wrote(void **state)
{
    const tutti_graph *g = ((fixture *)*state)->graph;
    for (int i = 0; i < g->nnodes; i++)
        for (int j = 0; j < g->nodes[i].nreads; j++) {
            const tutti_datum d = g->nodes[i].reads[j];
            bool written = d.kind == TUTTI_DATUM_PARAM;
            for (int k = 0; k < i && !written; k++) written = has(g->nodes[k].writes, g->nodes[k].nwrites, d);
            assert_true(written);
        }
}

static void every_gradient_is_written_before_its_exchange_and_every_parameter_is_updated_once(void **state)
{
    const tutti_graph *g = ((fixture *)*state)->graph;
    for (int p = 0; p < g->nparams; p++) {
        const int exchange = find(g, TUTTI_NODE_EXCHANGE, g->params[p].layer, p);
        int writer = -1, nupdates = 0;
        for (int i = 0; i < g->nnodes; i++) {
            if (has(g->nodes[i].writes, g->nodes[i].nwrites, (tutti_datum){TUTTI_DATUM_PARAM_GRAD, p})) writer = i;
            nupdates += g->nodes[i].kind == TUTTI_NODE_UPDATE && g->nodes[i].param == p;
        }
        assert_true(writer >= 0 && writer < exchange);
        assert_int_equal(nupdates, 1);
    }
}

static void weight_gradient_and_its_exchange_come_before_the_input_gradient(void **state)
{
    const tutti_graph *g = ((fixture *)*state)->graph;
    const int fc2 = 4;
    const int params = find(g, TUTTI_NODE_BACKWARD_PARAMS, fc2, -1), data = find(g, TUTTI_NODE_BACKWARD_DATA, fc2, -1);
    const int exchange = find(g, TUTTI_NODE_EXCHANGE, fc2, toy_param(g, "fc2.weight"));
    assert_true(params >= 0 && params < exchange && exchange < data);
}

static void no_input_gradient_below_the_first_layer_with_parameters(void **state)
{
    const tutti_graph *g = ((fixture *)*state)->graph;
    const bool wanted[] = {false, false, true, true, true, true};
    for (int l = 0; l < g->model->nlayers; l++) {
        assert_int_equal(g->needs_input_grad[l], wanted[l]);
        assert_int_equal(find(g, TUTTI_NODE_BACKWARD_DATA, l, -1) >= 0, wanted[l]);
    }
}

static void update_comes_after_the_last_reader_of_the_parameter(void **state)
{
    const tutti_graph *g = ((fixture *)*state)->graph;
    for (int p = 0; p < g->nparams; p++)
        assert_true(find(g, TUTTI_NODE_UPDATE, g->params[p].layer, p) >
                    last_reader(g, (tutti_datum){TUTTI_DATUM_PARAM, p}));
}

static void statistics_and_control_numbers_are_written_forward_and_travel_then(void **state)
{
    const tutti_graph *g = ((fixture *)*state)->graph;
    const int mean = toy_param(g, "norm.running_mean");
    const tutti_node *forward = &g->nodes[find(g, TUTTI_NODE_FORWARD, 2, -1)];
    assert_true(has(forward->writes, forward->nwrites, (tutti_datum){TUTTI_DATUM_PARAM_GRAD, mean}));
    const tutti_node *loss = &g->nodes[find(g, TUTTI_NODE_FORWARD, 5, -1)];
    assert_true(has(loss->writes, loss->nwrites, (tutti_datum){TUTTI_DATUM_PARAM_GRAD, toy_param(g, "@loss")}));
    assert_true(has(loss->writes, loss->nwrites, (tutti_datum){TUTTI_DATUM_PARAM_GRAD, toy_param(g, "@correct")}));
    const int stop_node = find(g, TUTTI_NODE_EXCHANGE, -1, toy_param(g, "@stop"));
    assert_true(stop_node > loss - g->nodes && stop_node < find(g, TUTTI_NODE_BACKWARD_PARAMS, 4, -1));
    const tutti_param *stop = &g->params[toy_param(g, "@stop")];
    assert_int_equal(stop->desc.kind, TUTTI_PARAM_STATISTIC);
    assert_true(stop->desc.take == 1 && stop->count == 1 && stop->layer == -1);
}

static void forward_graph_has_neither_gradients_nor_exchanges(void **state)
{
    fixture *f = *state;
    tutti_graph *g = NULL;
    tutti_failure err = {0};
    assert_int_equal(
        tutti_graph_build(&f->net.model,
                          &(tutti_graph_config){.batch = 3, .engine = "reference", .nthreads = 1, .training = false},
                          &g, &err),
        TUTTI_OK);
    assert_int_equal(g->nnodes, 1 + f->net.model.nlayers);
    assert_int_equal(g->nparams, 8); /* no control numbers */
    for (int i = 0; i < g->nnodes; i++)
        for (int j = 0; j < g->nodes[i].nwrites; j++)
            assert_true(g->nodes[i].writes[j].kind != TUTTI_DATUM_PARAM_GRAD &&
                        g->nodes[i].writes[j].kind != TUTTI_DATUM_VALUE_GRAD);
    tutti_graph_destroy(g);
}

static void text_and_drawing_name_what_travels(void **state)
{
    const tutti_graph *g = ((fixture *)*state)->graph;
    char *text = tutti_graph_print(g), *dot = tutti_graph_dot(g);
    assert_non_null(strstr(text, "exchange        fc1.weight              : d(fc1.weight) -> sum(fc1.weight)"));
    assert_non_null(strstr(text, "update          norm.running_mean"));
    assert_non_null(strstr(dot, "backward-data\\nfc2"));
    assert_non_null(strstr(dot, "label=\"free\""));
    free(text);
    free(dot);
}

/* ---- branches and several losses ---- */

/* x is read by a, b and twice by join, which also reads b and passes its gradient on; an auxiliary loss reads a. */
enum { X, A, B, JOIN, AUX, MAIN_IN, MAIN };

static tutti_graph *branches(toy_net *net, bool training)
{
    toy_begin(net, 12);
    toy_add(net, "x", &tutti_op_dense, 4);
    toy_add(net, "a", &tutti_op_dense, 4);
    toy_add(net, "b", &tutti_op_dense, 4);
    net->layers[B].in[0] = X;
    toy_add(net, "join", &tutti_op_add, 0);
    toy_reads(net, JOIN, X, X);
    net->layers[JOIN].in[2] = B;
    net->layers[JOIN].nin = 3;
    toy_add(net, "aux", &tutti_op_softmax_cross_entropy, 0);
    net->layers[AUX].in[0] = A;
    toy_add(net, "fc", &tutti_op_dense, 4);
    net->layers[MAIN_IN].in[0] = JOIN;
    toy_add(net, "main", &tutti_op_softmax_cross_entropy, 0);
    tutti_graph *g = NULL;
    tutti_failure err = {0};
    const tutti_graph_config config = {.batch = 3, .engine = "reference", .nthreads = 1, .training = training};
    if (tutti_graph_build(&net->model, &config, &g, &err)) fail_msg("%s", err.text);
    return g;
}

static void parts_of_a_gradient_are_summed_in_the_order_of_the_readers(void **state)
{
    (void)state;
    toy_net net;
    tutti_graph *g = branches(&net, true);
    const tutti_layer_grads *x = &g->layer_grads[X];
    assert_int_equal(x->nparts, 4);
    assert_int_equal(g->grads[x->parts[0]].reader, A);
    assert_int_equal(g->grads[x->parts[1]].reader, B);
    assert_int_equal(x->parts[2], g->layer_grads[JOIN].out);
    assert_int_equal(x->parts[3], g->layer_grads[JOIN].out);
    assert_int_equal(g->layer_grads[B].out, g->layer_grads[JOIN].out);
    assert_int_equal(find(g, TUTTI_NODE_BACKWARD_DATA, JOIN, -1), -1); /* passes its gradient on: nothing to do */
    char *text = tutti_graph_print(g);
    assert_non_null(strstr(text, ", 2 losses, the last is the main one"));
    assert_non_null(
        strstr(text, "sum             x                       : d(x by a) d(x by b) d(join) d(join) -> d(x)"));
    free(text);
    tutti_graph_destroy(g);
}

static void sum_comes_after_all_readers_and_before_the_layer(void **state)
{
    (void)state;
    toy_net net;
    tutti_graph *g = branches(&net, true);
    const int sum = find(g, TUTTI_NODE_SUM, X, -1);
    assert_true(sum > find(g, TUTTI_NODE_BACKWARD_DATA, A, -1));
    assert_true(sum > find(g, TUTTI_NODE_BACKWARD_DATA, B, -1));
    assert_true(sum < find(g, TUTTI_NODE_BACKWARD_PARAMS, X, -1));
    every_read_is_of_a_parameter_or_of_what_an_earlier_node_wrote((void *[]){&(fixture){.graph = g}});
    tutti_graph_destroy(g);
}

static void each_loss_writes_its_element_and_the_last_counts_right_answers(void **state)
{
    (void)state;
    toy_net net;
    tutti_graph *g = branches(&net, true);
    const int loss = toy_param(g, "@loss"), correct = toy_param(g, "@correct");
    assert_int_equal(g->params[loss].count, 2);
    assert_int_equal(tutti_graph_losses(g), 2);
    assert_int_equal(tutti_graph_loss_number(g, AUX), 0);
    assert_int_equal(tutti_graph_loss_number(g, MAIN), 1);
    const tutti_node *aux = &g->nodes[find(g, TUTTI_NODE_FORWARD, AUX, -1)];
    const tutti_node *last = &g->nodes[find(g, TUTTI_NODE_FORWARD, MAIN, -1)];
    assert_true(has(aux->writes, aux->nwrites, (tutti_datum){TUTTI_DATUM_PARAM_GRAD, loss}));
    assert_false(has(aux->writes, aux->nwrites, (tutti_datum){TUTTI_DATUM_PARAM_GRAD, correct}));
    assert_true(has(last->writes, last->nwrites, (tutti_datum){TUTTI_DATUM_PARAM_GRAD, loss}));
    assert_true(has(last->writes, last->nwrites, (tutti_datum){TUTTI_DATUM_PARAM_GRAD, correct}));
    tutti_graph_destroy(g);
}

static void evaluation_runs_what_the_last_loss_needs(void **state)
{
    (void)state;
    toy_net net;
    tutti_graph *g = branches(&net, false);
    const bool wanted[] = {true, false, true, true, false, true, true};
    for (int l = 0; l <= MAIN; l++) assert_int_equal(find(g, TUTTI_NODE_FORWARD, l, -1) >= 0, wanted[l]);
    assert_true(toy_param(g, "a.weight") >= 0); /* a checkpoint has it all the same */
    tutti_graph_destroy(g);
}

/* The branch that learns gets a gradient, the one that does not gets none. */
static void only_inputs_that_lead_to_parameters_get_a_gradient(void **state)
{
    (void)state;
    toy_net net;
    toy_begin(&net, 4);
    toy_add(&net, "still", &tutti_op_relu, 0);
    toy_add(&net, "fc", &tutti_op_dense, 4);
    net.layers[1].in[0] = -1;
    toy_add(&net, "join", &tutti_op_add, 0);
    toy_reads(&net, 2, 0, 1);
    toy_add(&net, "loss", &tutti_op_softmax_cross_entropy, 0);
    tutti_graph *g = NULL;
    tutti_failure err = {0};
    const tutti_graph_config config = {.batch = 3, .engine = "reference", .nthreads = 1, .training = true};
    if (tutti_graph_build(&net.model, &config, &g, &err)) fail_msg("%s", err.text);
    assert_int_equal(g->layer_grads[0].out, -1);
    assert_int_equal(g->layer_grads[2].in[0], -1);
    assert_int_equal(g->layer_grads[2].in[1], g->layer_grads[1].out);
    assert_false(g->needs_input_grad[0] || g->needs_input_grad[1] || g->needs_input_grad[2]);
    assert_true(g->needs_input_grad[3]);
    tutti_graph_destroy(g);
}

/* ---- what cannot be trained is refused in words ---- */

static void expect_refusal(const toy_net *net, const char *words)
{
    tutti_graph *g = NULL;
    tutti_failure err = {0};
    assert_int_equal(
        tutti_graph_build(&net->model,
                          &(tutti_graph_config){.batch = 2, .engine = "reference", .nthreads = 1, .training = true}, &g,
                          &err),
        TUTTI_ERR_USAGE);
    if (!strstr(err.text, words)) fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    assert_null(g);
}

static void value_that_nobody_reads_is_refused_by_name(void **state)
{
    (void)state;
    toy_net net;
    toy_make(&net);
    net.layers[1].in[0] = -1;
    expect_refusal(&net, "layer 'flat': nobody reads its output");
}

static void value_with_more_readers_than_a_sum_has_parts_is_refused(void **state)
{
    (void)state;
    enum { N = 22 }; /* readers of three inputs each */
    static tutti_layer layers[N + 3];
    toy_net net;
    toy_begin(&net, 4);
    toy_add(&net, "x", &tutti_op_dense, 4);
    toy_add(&net, "join", &tutti_op_add, 0);
    layers[0] = net.layers[0];
    for (int l = 1; l <= N; l++) {
        layers[l] = net.layers[1];
        layers[l].nin = l == 1 ? 3 : 4;
        for (int i = 0; i < 3; i++) layers[l].in[i] = 0;
        layers[l].in[3] = l - 1;
    }
    layers[N + 1] = (tutti_layer){
        .name = "loss", .op = &tutti_op_softmax_cross_entropy, .attrs = &net.loss, .in = {N}, .nin = 1, .line = N + 2};
    net.model.layers = layers;
    net.model.nlayers = N + 2;
    expect_refusal(&net, "line 1: layer 'x': more than 64 layers read its output");
}

static void layer_that_reads_a_loss_is_refused(void **state)
{
    (void)state;
    toy_net net;
    toy_make(&net);
    toy_add(&net, "late", &tutti_op_softmax_cross_entropy, 0);
    tutti_op_row anything = tutti_op_softmax_cross_entropy;
    anything.infer = tutti_op_infer_same;
    net.layers[6].op = &anything;
    expect_refusal(&net, "layer 'loss': a loss has no output to read");
}

static void model_without_a_loss_at_its_end_is_refused(void **state)
{
    (void)state;
    toy_net net;
    toy_make(&net);
    net.model.nlayers--;
    expect_refusal(&net, "layer 'fc2': the last layer must be a loss");
}

static void model_without_parameters_is_refused(void **state)
{
    (void)state;
    toy_net net;
    toy_begin(&net, 4);
    toy_add(&net, "relu", &tutti_op_relu, 0);
    toy_add(&net, "loss", &tutti_op_softmax_cross_entropy, 0);
    expect_refusal(&net, "nothing to train");
}

static void kernel_failure_names_model_line_and_layer(void **state)
{
    (void)state;
    toy_net net;
    toy_make(&net);
    tutti_op_row broken = tutti_op_flatten;
    broken.infer = tutti_op_conv.infer; /* wants four dimensions, gets two */
    net.layers[0].op = &broken;
    tutti_conv_attrs attrs = {.out_channels = 1, .kernel = 3, .stride = 1, .groups = 1};
    net.layers[0].attrs = &attrs;
    tutti_graph *g = NULL;
    tutti_failure err = {0};
    assert_int_not_equal(
        tutti_graph_build(&net.model,
                          &(tutti_graph_config){.batch = 2, .engine = "reference", .nthreads = 1, .training = true}, &g,
                          &err),
        TUTTI_OK);
    if (!strstr(err.text, "toy: line 1: layer 'flat': ")) fail_msg("%s", err.text);
}

/* ---- initial values ---- */

static void initial_values_depend_on_seed_name_and_element_only(void **state)
{
    (void)state;
    enum { N = 103 };
    tutti_param p = {.name = "a.weight", .count = N, .desc = {.init_bound = 0.25}};
    float whole[N], part[N], other[N];
    tutti_graph_init_param(&p, 7, whole);
    p.count = 50;
    tutti_graph_init_param(&p, 7, part);
    assert_memory_equal(whole, part, 50 * sizeof(float));
    int nsame_seed = 0, nsame_name = 0;
    double sum = 0;
    tutti_graph_init_param(&p, 8, other);
    for (int i = 0; i < 50; i++) nsame_seed += other[i] == whole[i];
    p.name = "b.weight";
    tutti_graph_init_param(&p, 7, other);
    for (int i = 0; i < 50; i++) nsame_name += other[i] == whole[i];
    for (int i = 0; i < N; i++) {
        assert_true(whole[i] >= -0.25f && whole[i] < 0.25f);
        sum += whole[i];
    }
    assert_true(nsame_seed < 3 && nsame_name < 3);
    assert_true(sum / N > -0.06 && sum / N < 0.06); /* three sigma are 0.043 */
}

static void normal_initial_values_have_the_deviation_that_is_asked_for(void **state)
{
    (void)state;
    enum { N = 10001 };
    static float drawn[N], part[N];
    tutti_param p = {.name = "a.weight", .count = N, .desc = {.init_deviation = 0.5}};
    tutti_graph_init_param(&p, 7, drawn);
    p.count = 7;
    tutti_graph_init_param(&p, 7, part);
    assert_memory_equal(drawn, part, 7 * sizeof(float));
    double sum = 0, squares = 0;
    int nwithin = 0;
    for (int i = 0; i < N; i++) {
        sum += (double)drawn[i];
        squares += (double)drawn[i] * (double)drawn[i];
        nwithin += drawn[i] > -0.5f && drawn[i] < 0.5f;
    }
    assert_true(sum / N > -0.02 && sum / N < 0.02); /* four deviations of the mean */
    assert_true(squares / N > 0.235 && squares / N < 0.265);
    assert_in_range(nwithin, 6600, 7050); /* 68.3 % of 10001 are 6828 */
}

static void bound_zero_gives_the_constant(void **state)
{
    (void)state;
    const tutti_param p = {.name = "n.weight", .count = 5, .desc = {.init_constant = 1}};
    float out[5];
    tutti_graph_init_param(&p, 1, out);
    for (int i = 0; i < 5; i++) assert_true(out[i] == 1.0f);
}

int main(void)
{
#define WITH_GRAPH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_GRAPH(every_read_is_of_a_parameter_or_of_what_an_earlier_node_wrote),
        WITH_GRAPH(every_gradient_is_written_before_its_exchange_and_every_parameter_is_updated_once),
        WITH_GRAPH(weight_gradient_and_its_exchange_come_before_the_input_gradient),
        WITH_GRAPH(no_input_gradient_below_the_first_layer_with_parameters),
        WITH_GRAPH(update_comes_after_the_last_reader_of_the_parameter),
        WITH_GRAPH(statistics_and_control_numbers_are_written_forward_and_travel_then),
        WITH_GRAPH(forward_graph_has_neither_gradients_nor_exchanges),
        WITH_GRAPH(text_and_drawing_name_what_travels),
        cmocka_unit_test(parts_of_a_gradient_are_summed_in_the_order_of_the_readers),
        cmocka_unit_test(sum_comes_after_all_readers_and_before_the_layer),
        cmocka_unit_test(each_loss_writes_its_element_and_the_last_counts_right_answers),
        cmocka_unit_test(evaluation_runs_what_the_last_loss_needs),
        cmocka_unit_test(only_inputs_that_lead_to_parameters_get_a_gradient),
        cmocka_unit_test(value_with_more_readers_than_a_sum_has_parts_is_refused),
        cmocka_unit_test(layer_that_reads_a_loss_is_refused),
        cmocka_unit_test(value_that_nobody_reads_is_refused_by_name),
        cmocka_unit_test(model_without_a_loss_at_its_end_is_refused),
        cmocka_unit_test(model_without_parameters_is_refused),
        cmocka_unit_test(kernel_failure_names_model_line_and_layer),
        cmocka_unit_test(initial_values_depend_on_seed_name_and_element_only),
        cmocka_unit_test(normal_initial_values_have_the_deviation_that_is_asked_for),
        cmocka_unit_test(bound_zero_gives_the_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
