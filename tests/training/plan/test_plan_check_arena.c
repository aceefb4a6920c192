/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_check_arena.c: plans of networks with branches are proved, and gradients that share memory wrongly are
 * named. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../planned.h"
#include "../random_dag.h"
#include "../toy_net.h"

/* ---- a rectifier that masks the gradient that it is given, in place, and passes it on ---- */

static tutti_status masking_create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)r, (void)err;
    k->backward_reads = TUTTI_READS_OUTPUT;
    k->passes_gradient = 1;
    k->writes_dout = true;
    k->scratch_bytes = 64;
    return TUTTI_OK;
}

static tutti_status summing_create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    k->max_dout_parts = 2;
    return masking_create(k, r, err);
}

static void masking_nothing(tutti_kernel *k, const tutti_kernel_args *a)
{
    (void)k, (void)a;
}

static const tutti_kernel_row masking_row = {
    .create = masking_create, .forward = masking_nothing, .backward_data = masking_nothing};
static const tutti_op_row masking = {.name = "masking",
                                     .ninputs = 1,
                                     .infer = tutti_op_infer_same,
                                     .flops = tutti_op_flops_each,
                                     .reference = &masking_row};

/* The same, and sums the parts of that gradient itself. */
static const tutti_kernel_row summing_row = {
    .create = summing_create, .forward = masking_nothing, .backward_data = masking_nothing};
static const tutti_op_row summing = {.name = "summing",
                                     .ninputs = 1,
                                     .infer = tutti_op_infer_same,
                                     .flops = tutti_op_flops_each,
                                     .reference = &summing_row};

enum { X, FC1, MASK1, FC2, MASK2, JOIN, FC, LOSS };

typedef struct {
    toy_net net;
    tutti_graph *graph;
    tutti_plan *plan;
} world;

static void plan_of(const tutti_model *model, int nranks, world *w)
{
    const tutti_plan_config config = by_method(
        (tutti_plan_config){.nranks = nranks, .batch = 8, .bucket_bytes = 300, .engine = "reference", .nthreads = 1},
        "sync-sgd");
    tutti_failure err = {0};
    if (tutti_graph_build(
            model, &(tutti_graph_config){.batch = 8 / nranks, .engine = "reference", .nthreads = 1, .training = true},
            &w->graph, &err) ||
        tutti_plan_build(w->graph, &config, &w->plan, &err))
        fail_msg("%s", err.text);
}

/* Two masked branches of x are added: both are given the very gradient of the sum. */
static void make(world *w)
{
    toy_net *t = &w->net;
    toy_begin(t, 16);
    toy_add(t, "x", &tutti_op_dense, 16);
    toy_add(t, "fc1", &tutti_op_dense, 16);
    toy_add(t, "mask1", &masking, 0);
    toy_add(t, "fc2", &tutti_op_dense, 16);
    t->layers[FC2].in[0] = X;
    toy_add(t, "mask2", &masking, 0);
    toy_add(t, "join", &tutti_op_add, 0);
    toy_reads(t, JOIN, MASK1, MASK2);
    toy_add(t, "fc", &tutti_op_dense, 4);
    toy_add(t, "loss", &tutti_op_softmax_cross_entropy, 0);
    plan_of(&t->model, 1, w);
}

static void destroy(world *w)
{
    tutti_plan_destroy(w->plan);
    tutti_graph_destroy(w->graph);
}

static void expect_right(world *w)
{
    tutti_failure err = {0};
    if (tutti_plan_check(w->plan, &err) != TUTTI_OK) fail_msg("refused: %s", err.text);
}

static void expect_wrong(world *w, const char *why)
{
    tutti_failure err = {0};
    assert_int_equal(tutti_plan_check(w->plan, &err), TUTTI_ERR_FAILED);
    if (!strstr(err.text, why)) fail_msg("expected '%s' in: %s", why, err.text);
}

static int find(const tutti_graph *g, tutti_node_kind kind, int layer)
{
    for (int i = 0; i < g->nnodes; i++)
        if (g->nodes[i].kind == kind && g->nodes[i].layer == layer) return i;
    return -1;
}

static void plans_of_random_networks_are_proved(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        char *text = dag_text(seed);
        tutti_model *model;
        tutti_failure err = {0};
        world w;
        if (tutti_model_parse("dag", text, strlen(text), &model, &err)) fail_msg("%s\n%s", err.text, text);
        plan_of(model, 1 + (int)(seed % 2), &w);
        expect_right(&w);
        destroy(&w);
        tutti_model_destroy(model);
        free(text);
    }
}

static void gradient_that_is_changed_before_another_layer_has_read_it_is_copied(void **state)
{
    (void)state;
    world w;
    make(&w);
    const tutti_layer_grads *own = w.graph->layer_grads;
    assert_int_equal(own[MASK2].nparts, 1); /* mask1 has yet to read it */
    assert_int_equal(own[MASK2].parts[0], own[JOIN].out);
    assert_int_equal(own[MASK1].nparts, 0); /* nobody else has */
    assert_int_equal(own[MASK1].out, own[JOIN].out);
    assert_int_equal(w.plan->grad_offset[own[MASK1].changed], w.plan->grad_offset[own[MASK1].out]);
    assert_int_equal(own[FC1].out, own[MASK1].changed);
    assert_true(find(w.graph, TUTTI_NODE_SUM, MASK2) < find(w.graph, TUTTI_NODE_BACKWARD_DATA, MASK2));
    expect_right(&w);
    destroy(&w);
}

static void gradient_that_is_changed_while_another_layer_has_yet_to_read_it_is_found(void **state)
{
    (void)state;
    world w;
    make(&w);
    const tutti_layer_grads *own = w.graph->layer_grads;
    w.plan->grad_offset[own[MASK2].out] = w.plan->grad_offset[own[MASK2].changed] =
        w.plan->grad_offset[own[JOIN].out]; /* the copy onto the original */
    expect_wrong(&w, "backward-data of mask1 reads the gradient of join");
    expect_wrong(&w, "where the gradient of mask2 as changed by mask2 lies by then");
    destroy(&w);
}

static void gradient_that_is_changed_elsewhere_than_it_lies_is_found(void **state)
{
    (void)state;
    world w;
    make(&w);
    const tutti_layer_grads *own = w.graph->layer_grads;
    w.plan->grad_offset[own[MASK1].changed] += 64;
    expect_wrong(&w, "backward-data of mask1 finds");
    destroy(&w);
}

static void part_of_a_sum_that_is_overwritten_before_the_sum_is_found(void **state)
{
    (void)state;
    world w;
    make(&w);
    const tutti_layer_grads *x = &w.graph->layer_grads[X];
    assert_int_equal(x->nparts, 2);
    w.plan->grad_offset[x->parts[0]] = w.plan->grad_offset[x->parts[1]];
    expect_wrong(&w, "sum of x reads the gradient of x by fc2");
    expect_wrong(&w, "where the gradient of x by fc1 lies by then");
    destroy(&w);
}

static void sum_over_what_is_none_of_its_parts_is_found(void **state)
{
    (void)state;
    world w;
    make(&w);
    const tutti_layer_grads *x = &w.graph->layer_grads[X];
    w.plan->grad_offset[x->out] = w.plan->grad_offset[x->parts[0]] + 64;
    expect_wrong(&w, "sum of x uses");
    destroy(&w);
}

static void output_over_an_input_that_is_not_the_first_is_found(void **state)
{
    (void)state;
    world w;
    make(&w);
    w.plan->value_offset[JOIN] = w.plan->value_offset[MASK2];
    expect_wrong(&w, "forward of join uses the value of mask2 and the value of join, which overlap");
    destroy(&w);
}

static void scratch_over_what_is_read_later_is_found(void **state)
{
    (void)state;
    world w;
    make(&w);
    const int forward = find(w.graph, TUTTI_NODE_FORWARD, MASK2),
              backward = find(w.graph, TUTTI_NODE_BACKWARD_DATA, MASK2);
    const int64_t right = w.plan->scratch_offset[forward];
    w.plan->scratch_offset[forward] = w.plan->value_offset[MASK1];
    expect_wrong(&w, "forward of join reads the value of mask1");
    expect_wrong(&w, "where scratch lies by then");
    w.plan->scratch_offset[forward] = right;
    expect_right(&w);
    w.plan->scratch_offset[backward] = w.plan->value_offset[MASK2];
    expect_wrong(&w, "scratch of mask2 overlaps the value of mask2, which it uses");
    destroy(&w);
}

static void kernel_that_sums_itself_reads_parts_and_writes_over_one_of_them(void **state)
{
    (void)state;
    enum { BELOW, SUMS, LEFT, RIGHT, BOTH };
    world w;
    toy_net *t = &w.net;
    toy_begin(t, 16);
    toy_add(t, "below", &tutti_op_dense, 16);
    toy_add(t, "sums", &summing, 0);
    toy_add(t, "left", &tutti_op_dense, 16);
    toy_add(t, "right", &tutti_op_dense, 16);
    t->layers[RIGHT].in[0] = SUMS;
    toy_add(t, "both", &tutti_op_add, 0);
    toy_reads(t, BOTH, LEFT, RIGHT);
    toy_add(t, "fc", &tutti_op_dense, 4);
    toy_add(t, "loss", &tutti_op_softmax_cross_entropy, 0);
    plan_of(&t->model, 1, &w);
    const tutti_layer_grads *own = &w.graph->layer_grads[SUMS];
    int64_t *at = w.plan->grad_offset;
    assert_true(own->takes_parts && own->nparts == 2 && own->out == own->changed);
    assert_int_equal(find(w.graph, TUTTI_NODE_SUM, SUMS), -1);
    assert_int_equal(w.graph->layer_grads[BELOW].out, own->changed); /* passed on */
    assert_true(at[own->changed] == at[own->parts[0]] || at[own->changed] == at[own->parts[1]]);
    expect_right(&w);
    at[own->changed] += 64;
    w.plan->arena_bytes += 64;
    expect_wrong(&w, "backward-data of sums uses the gradient of sums by");
    at[own->changed] -= 64;
    at[own->parts[0]] = at[own->parts[1]];
    expect_wrong(&w, "backward-data of sums reads the gradient of sums by right");
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_random_networks_are_proved),
        cmocka_unit_test(gradient_that_is_changed_before_another_layer_has_read_it_is_copied),
        cmocka_unit_test(gradient_that_is_changed_while_another_layer_has_yet_to_read_it_is_found),
        cmocka_unit_test(gradient_that_is_changed_elsewhere_than_it_lies_is_found),
        cmocka_unit_test(part_of_a_sum_that_is_overwritten_before_the_sum_is_found),
        cmocka_unit_test(sum_over_what_is_none_of_its_parts_is_found),
        cmocka_unit_test(kernel_that_sums_itself_reads_parts_and_writes_over_one_of_them),
        cmocka_unit_test(scratch_over_what_is_read_later_is_found),
        cmocka_unit_test(output_over_an_input_that_is_not_the_first_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
