/* SPDX-License-Identifier: Apache-2.0 */
/* test_placement.c: data that are alive at the same node never share memory, unless a kernel works in place. */
#include "testing.h"

#include <string.h>

#include "../toy_net.h"
#include "training/plan/placement.h"

static tutti_graph *build(toy_net *net, bool training)
{
    tutti_graph *g = NULL;
    tutti_failure err = {0};
    if (tutti_graph_build(&net->model,
                          &(tutti_graph_config){.batch = 6, .engine = "reference", .nthreads = 1, .training = training},
                          &g, &err))
        fail_msg("%s", err.text);
    return g;
}

/* A datum as the test sees it: where it lies and from which to which node it is needed. */
typedef struct {
    tutti_datum datum;
    int64_t offset, bytes;
    int first, last;
} span;

static span measure(const tutti_graph *g, const tutti_placement *p, tutti_datum d)
{
    const tutti_kernel *k = &g->kernels[d.index];
    const int64_t *offsets = d.kind == TUTTI_DATUM_VALUE        ? p->value
                             : d.kind == TUTTI_DATUM_VALUE_GRAD ? p->value_grad
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
        for (int l = 0; l < g->model->nlayers; l++) {
            out[n] = measure(g, p, (tutti_datum){kinds[k], l});
            if (out[n].first >= 0) n++;
        }
    return n;
}

/* One node may hand memory from what it reads last to what it writes first, if its kernel works in place. */
static bool handed_on(const tutti_graph *g, const span *a, const span *b)
{
    const tutti_node *at = &g->nodes[b->first];
    return a->last == b->first && a->offset == b->offset && a->bytes == b->bytes && at->layer >= 0 &&
           g->kernels[at->layer].in_place;
}

static void check_no_overlap(const tutti_graph *g, const tutti_placement *p)
{
    span spans[3 * TOY_MAX_LAYERS];
    const int n = list_spans(g, p, spans);
    for (int i = 0; i < n; i++) {
        assert_true(spans[i].offset >= 0 && spans[i].offset % 64 == 0);
        assert_true(spans[i].offset + spans[i].bytes <= p->scratch);
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
    const int64_t one = 6 * 16 * (int64_t)sizeof(float), scratch = p.bytes - p.scratch;
    assert_int_equal(p.scratch, 2 * one);
    assert_int_equal(p.bytes_without_sharing - scratch - (p.saved[6] < 0 ? 0 : (int64_t)g->kernels[6].saved_bytes),
                     6 * one);
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
    assert_int_equal(p.value_grad[2], p.value_grad[1]); /* gradients go down in one place */
    assert_int_equal(p.value_grad[1], p.value_grad[0]);
    assert_int_equal(p.value[3], -1);
    check_no_overlap(g, &p);
    tutti_arena_release(&arena);
    tutti_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_data_never_overlap_in_training_and_evaluation),
        cmocka_unit_test(chain_of_dense_layers_needs_two_buffers_forward),
        cmocka_unit_test(kernel_in_place_shares_its_inputs_memory_only_where_nobody_reads_it_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
