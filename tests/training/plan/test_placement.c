/* SPDX-License-Identifier: Apache-2.0 */
/* test_placement.c: data that are alive at the same node never share memory, unless a kernel works in place. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../random_dag.h"
#include "../toy_net.h"
#include "training/plan/placement.h"

enum { MAX_SPANS = 200 };

static tutti_graph *build_model(const tutti_model *model, bool training)
{
    tutti_graph *g = NULL;
    tutti_failure err = {0};
    if (tutti_graph_build(model,
                          &(tutti_graph_config){.batch = 6, .engine = "reference", .nthreads = 1, .training = training},
                          &g, &err))
        fail_msg("%s", err.text);
    return g;
}

static tutti_graph *build(const toy_net *net, bool training)
{
    return build_model(&net->model, training);
}

/* A datum as the test sees it: where it lies and from which to which node it is needed. */
typedef struct {
    tutti_datum datum;
    int64_t offset, bytes;
    int first, last;
} span;

static span measure(const tutti_graph *g, const tutti_placement *p, tutti_datum d)
{
    const tutti_kernel *k = &g->kernels[d.kind == TUTTI_DATUM_VALUE_GRAD ? g->grads[d.index].layer : d.index];
    const int64_t *offsets = d.kind == TUTTI_DATUM_VALUE        ? p->value
                             : d.kind == TUTTI_DATUM_VALUE_GRAD ? p->grad
                                                                : p->saved;
    span s = {.datum = d,
              .offset = offsets[d.index],
              .bytes = (int64_t)(d.kind == TUTTI_DATUM_SAVED ? k->saved_bytes : k->out.bytes),
              .first = -1};
    for (int t = 0; t < g->nnodes; t++) {
        bool touches = false;
        for (int i = 0; i < g->nodes[t].nreads; i++)
            touches |= g->nodes[t].reads[i].kind == d.kind && g->nodes[t].reads[i].index == d.index;
        for (int i = 0; i < g->nodes[t].nwrites; i++)
            touches |= g->nodes[t].writes[i].kind == d.kind && g->nodes[t].writes[i].index == d.index;
        if (!touches) continue;
        if (s.first < 0) s.first = t;
        s.last = t;
    }
    return s;
}

static int list_spans(const tutti_graph *g, const tutti_placement *p, span *out)
{
    static const tutti_datum_kind kinds[] = {TUTTI_DATUM_VALUE, TUTTI_DATUM_VALUE_GRAD, TUTTI_DATUM_SAVED};
    int n = 0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < (kinds[k] == TUTTI_DATUM_VALUE_GRAD ? g->ngrads : g->model->nlayers); i++) {
            assert_true(n < MAX_SPANS);
            out[n] = measure(g, p, (tutti_datum){kinds[k], i});
            if (out[n].first >= 0) n++;
        }
    return n;
}

/* One node may hand memory from what it reads last to what it writes first, if it works in place. */
static bool handed_on(const tutti_graph *g, const span *a, const span *b)
{
    const tutti_node *at = &g->nodes[b->first];
    return a->last == b->first && a->offset == b->offset && a->bytes == b->bytes && at->layer >= 0 &&
           (at->kind == TUTTI_NODE_SUM || g->kernels[at->layer].in_place || g->kernels[at->layer].writes_dout);
}

static void check_no_overlap(const tutti_graph *g, const tutti_placement *p)
{
    span spans[MAX_SPANS];
    const int n = list_spans(g, p, spans);
    for (int i = 0; i < n; i++) {
        assert_true(spans[i].offset >= 0 && spans[i].offset % 64 == 0);
        assert_true(spans[i].offset + spans[i].bytes <= p->bytes);
        for (int j = 0; j < n; j++) {
            const span *a = &spans[i], *b = &spans[j];
            const bool in_time = a->first <= b->last && b->first <= a->last;
            const bool in_space = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
            if (i == j || !in_time || !in_space) continue;
            assert_true(handed_on(g, a, b) || handed_on(g, b, a));
        }
    }
    assert_true(p->bytes <= p->bytes_without_sharing);
}

static void live_data_never_overlap_in_training_and_evaluation(void **state)
{
    (void)state;
    toy_net net;
    toy_make(&net);
    for (int training = 0; training < 2; training++) {
        tutti_graph *g = build(&net, training);
        tutti_arena arena = {0};
        tutti_placement p;
        tutti_placement_make(g, &arena, &p);
        check_no_overlap(g, &p);
        tutti_arena_release(&arena);
        tutti_graph_destroy(g);
    }
}

static void chain_of_dense_layers_needs_two_buffers_forward(void **state)
{
    (void)state;
    toy_net net;
    toy_begin(&net, 16);
    const char *names[] = {"a", "b", "c", "d", "e", "f"};
    for (int i = 0; i < 6; i++) toy_add(&net, names[i], &tutti_op_dense, 16);
    toy_add(&net, "loss", &tutti_op_softmax_cross_entropy, 0);
    tutti_graph *g = build(&net, false);
    tutti_arena arena = {0};
    tutti_placement p;
    tutti_placement_make(g, &arena, &p);
    const int64_t one = 6 * 16 * (int64_t)sizeof(float);
    assert_int_equal(p.bytes, 2 * one);
    assert_int_equal(p.bytes_at_least, 2 * one);
    assert_int_equal(p.bytes_without_sharing - (p.saved[6] < 0 ? 0 : (int64_t)g->kernels[6].saved_bytes), 6 * one);
    tutti_arena_release(&arena);
    tutti_graph_destroy(g);
}

static void kernel_in_place_shares_its_inputs_memory_only_where_nobody_reads_it_later(void **state)
{
    (void)state;
    toy_net net;
    toy_begin(&net, 16);
    toy_add(&net, "fc", &tutti_op_dense, 16);
    toy_add(&net, "relu", &tutti_op_relu, 0); /* fc's output is read by nobody later: in place */
    toy_add(&net, "tanh", &tutti_op_tanh, 0); /* relu reads its output again in backward: not in place */
    toy_add(&net, "loss", &tutti_op_softmax_cross_entropy, 0);
    tutti_graph *g = build(&net, true);
    tutti_arena arena = {0};
    tutti_placement p;
    tutti_placement_make(g, &arena, &p);
    assert_int_equal(p.value[0], p.value[1]);
    assert_int_not_equal(p.value[1], p.value[2]);
    const tutti_layer_grads *grads = g->layer_grads; /* they go down in one place */
    assert_int_equal(p.grad[grads[2].out], p.grad[grads[1].out]);
    assert_int_equal(p.grad[grads[1].out], p.grad[grads[0].out]);
    assert_int_equal(p.value[3], -1);
    check_no_overlap(g, &p);
    tutti_arena_release(&arena);
    tutti_graph_destroy(g);
}

static void live_data_never_overlap_in_random_networks(void **state)
{
    (void)state;
    double lost = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        char *text = dag_text(seed);
        tutti_model *model;
        tutti_failure err = {0};
        if (tutti_model_parse("dag", text, strlen(text), &model, &err)) fail_msg("%s\n%s", err.text, text);
        for (int training = 0; training < 2; training++) {
            tutti_graph *g = build_model(model, training);
            tutti_arena arena = {0};
            tutti_placement p;
            tutti_placement_make(g, &arena, &p);
            check_no_overlap(g, &p);
            assert_true(p.bytes >= p.bytes_at_least);
            lost += (double)p.bytes / (double)p.bytes_at_least - 1;
            tutti_arena_release(&arena);
            tutti_graph_destroy(g);
        }
        tutti_model_destroy(model);
        free(text);
    }
    assert_true(lost / 600 < 0.02);
}

static void sum_of_gradients_lies_over_a_part_that_nobody_reads_later(void **state)
{
    (void)state;
    toy_net net;
    toy_begin(&net, 16);
    const int x = toy_add(&net, "x", &tutti_op_dense, 16), a = toy_add(&net, "a", &tutti_op_dense, 16);
    const int join = toy_add(&net, "join", &tutti_op_add, 0);
    toy_reads(&net, join, a, x);
    toy_add(&net, "b", &tutti_op_dense, 4);
    toy_add(&net, "loss", &tutti_op_softmax_cross_entropy, 0);
    tutti_graph *g = build(&net, true);
    tutti_arena arena = {0};
    tutti_placement p;
    tutti_placement_make(g, &arena, &p);
    const tutti_layer_grads *of_x = &g->layer_grads[x];
    assert_int_equal(of_x->nparts, 2);
    assert_int_equal(of_x->parts[1], g->layer_grads[join].out); /* passed on, as it is */
    assert_int_equal(g->layer_grads[a].out, g->layer_grads[join].out);
    assert_int_equal(p.grad[of_x->out], p.grad[of_x->parts[0]]);
    check_no_overlap(g, &p);
    tutti_arena_release(&arena);
    tutti_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_data_never_overlap_in_training_and_evaluation),
        cmocka_unit_test(chain_of_dense_layers_needs_two_buffers_forward),
        cmocka_unit_test(live_data_never_overlap_in_random_networks),
        cmocka_unit_test(sum_of_gradients_lies_over_a_part_that_nobody_reads_later),
        cmocka_unit_test(kernel_in_place_shares_its_inputs_memory_only_where_nobody_reads_it_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
