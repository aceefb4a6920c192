/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_actions.c: a rank's loop: slots are folded as a balanced tree, and each bucket's conditions hold when they
 * are told. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "../planned.h"
#include "../toy_net.h"

typedef struct {
    toy_net net;
    tutti_graph *graph;
    tutti_plan *plan;
} fixture;

static void begin(fixture *f, int nranks, int slots, int64_t bucket_bytes)
{
    tutti_failure err = {0};
    toy_make(&f->net);
    if (tutti_graph_build(&f->net.model,
                          &(tutti_graph_config){.batch = 2, .engine = "reference", .nthreads = 1, .training = true},
                          &f->graph, &err))
        fail_msg("%s", err.text);
    const tutti_plan_config config = {.nranks = nranks,
                                      .slots = slots,
                                      .batch = 2 * (slots ? slots : nranks),
                                      .bucket_bytes = bucket_bytes,
                                      .algorithm = "auto",
                                      .prove_later = true,
                                      .method = tutti_method_find("sync-sgd")->emitter};
    if (tutti_plan_build(f->graph, &config, &f->plan, &err)) fail_msg("%s", err.text);
}

static void end(fixture *f)
{
    tutti_plan_destroy(f->plan);
    tutti_graph_destroy(f->graph);
}

static void params_are_packed_in_exchange_order_without_overlap(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 300, 1 << 20};
    for (int s = 0; s < 3; s++) {
        fixture f;
        begin(&f, 2, 0, sizes[s]);
        const tutti_plan *p = f.plan;
        int64_t at = 0;
        int param = 0;
        if (s == 0) assert_int_equal(p->nbuckets, f.graph->nparams - 3); /* one a parameter */
        if (s == 2) assert_int_equal(p->nbuckets, 1);
        for (int b = 0; b < p->nbuckets; b++) {
            assert_int_equal(p->buckets[b].offset, at);
            assert_int_equal(p->buckets[b].first_param, param);
            int64_t inside = at;
            for (int i = 0; i < p->buckets[b].nparams; i++, param++) {
                assert_int_equal(p->param_offset[p->order[param]], inside);
                inside += (f.graph->params[p->order[param]].count + 15) / 16 * 16;
            }
            at += p->buckets[b].count;
            assert_int_equal(inside, at);
            if (b < p->nbuckets - 1 && p->buckets[b].nparams > 1) assert_true(p->buckets[b].count * 4 <= sizes[s]);
        }
        assert_int_equal(at, p->total);
        assert_int_equal(param, f.graph->nparams - 3);
        assert_int_equal(p->control.first_param, param); /* control numbers are packed apart */
        assert_int_equal(p->control.nparams, 3);
        assert_int_equal(p->control.count, 3 * 16);
        assert_string_equal(f.graph->params[p->order[param + 2]].name, "@stop");
        end(&f);
    }
}

static void roots_are_the_fewest_aligned_runs_and_tile_the_slots(void **state)
{
    (void)state;
    for (int slots = 1; slots <= 64; slots *= 2)
        for (int p = 1; p <= slots; p++) {
            int next = 0;
            for (int r = 0; r < p; r++) {
                tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
                const int n = tutti_plan_roots(slots, p, r, roots);
                assert_true(n >= 1);
                for (int i = 0; i < n; i++) {
                    assert_int_equal(roots[i].first_slot, next);
                    assert_int_equal(roots[i].nslots & (roots[i].nslots - 1), 0);
                    assert_int_equal(next % roots[i].nslots, 0);
                    next += roots[i].nslots;
                }
                /* Fewest: no two neighbours are halves of one aligned run. */
                for (int i = 0; i + 1 < n; i++)
                    assert_false(roots[i].nslots == roots[i + 1].nslots &&
                                 roots[i].first_slot % (2 * roots[i].nslots) == 0);
                assert_int_equal(next, (int)((int64_t)slots * (r + 1) / p));
            }
        }
}

/* Text of the balanced tree over [first, first + n): "(0 1)". */
static void tree_text(int first, int n, char *out)
{
    if (n == 1) {
        sprintf(out, "%d", first);
        return;
    }
    char left[400], right[400];
    tree_text(first, n / 2, left);
    tree_text(first + n / 2, n / 2, right);
    sprintf(out, "(%s %s)", left, right);
}

/* Plays the loop on texts: each copy holds the expression that was summed into it, for one bucket, which is whole at
 * the start of this exchange. */
static void play_rank(const fixture *f, int rank, int bucket, int exchange)
{
    const tutti_plan *p = f->plan;
    static char copy[16][1024];
    memset(copy, 0, sizeof copy);
    tutti_arena arena = {0};
    tutti_loop loops[TUTTI_NDRIVERS];
    int nready = 0, first_slot = (int)((int64_t)p->config.slots * rank / p->config.nranks);
    tutti_plan_list_loops(p, rank, &arena, loops);
    for (int i = 0; i < loops[TUTTI_EACH_STEP].nactions; i++) {
        const tutti_action *a = &loops[TUTTI_EACH_STEP].actions[i];
        if (a->kind == TUTTI_DO_KERNEL && p->graph->nodes[a->node].kind != TUTTI_NODE_BACKWARD_DATA) {
            assert_in_range(a->dst, 0, p->ncopies - 1);
            snprintf(copy[a->dst], sizeof copy[0], "%d", first_slot + a->slot);
        } else if (a->kind == TUTTI_DO_FOLD && a->bucket == bucket) {
            assert_true(a->dst >= 0 && a->dst < a->src && a->src < p->ncopies);
            char sum[1024];
            assert_true((size_t)snprintf(sum, sizeof sum, "(%.400s %.400s)", copy[a->dst], copy[a->src]) < sizeof sum);
            strcpy(copy[a->dst], sum);
        } else if (a->kind == TUTTI_DO_START && a->exchange == exchange) {
            nready++;
            tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
            const int nroots = tutti_plan_roots(p->config.slots, p->config.nranks, rank, roots);
            for (int r = 0; r < nroots; r++) {
                char expected[1024];
                tree_text(roots[r].first_slot, roots[r].nslots, expected);
                assert_string_equal(copy[r], expected);
            }
        }
    }
    assert_int_equal(nready, 1);
    tutti_arena_release(&arena);
}

/* In one bucket, so that every kernel of a slot comes before its folds. */
static void slot_gradients_are_folded_as_the_balanced_tree_on_every_rank(void **state)
{
    (void)state;
    for (int slots = 1; slots <= 16; slots *= 2)
        for (int p = 1; p <= slots; p++) {
            fixture f;
            begin(&f, p, slots, 1 << 20);
            for (int r = 0; r < p; r++) play_rank(&f, r, 0, exchange_of(f.plan, "gradients", 0));
            end(&f);
        }
}

/* They are whole after the forward pass; the kernels that come later write nothing of them. */
static void control_numbers_are_folded_as_gradients_are(void **state)
{
    (void)state;
    for (int p = 1; p <= 8; p++) {
        fixture f;
        begin(&f, p, 8, 1 << 20);
        for (int r = 0; r < p; r++) play_rank(&f, r, TUTTI_CONTROL_BUCKET, find_exchange(f.plan, "control numbers"));
        end(&f);
    }
}

static void one_rank_of_eight_slots_needs_four_buffers_and_eight_ranks_need_one(void **state)
{
    (void)state;
    static const struct {
        int nranks, nins, nbuffers;
    } cases[] = {{1, 1, 4}, {2, 1, 3}, {4, 1, 2}, {8, 1, 1}, {3, 2, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        begin(&f, cases[i].nranks, 8, 0);
        assert_int_equal(f.plan->nins, cases[i].nins);
        assert_int_equal(f.plan->ncopies, cases[i].nbuffers);
        end(&f);
    }
}

/* The only one. */
static int find(const tutti_loop *l, tutti_action_kind kind, int exchange)
{
    int found;
    const int at = find_action(l, kind, exchange, &found);
    assert_int_equal(found, 1);
    return at;
}

static bool is_kernel(const tutti_loop *l, int at)
{
    return l->actions[at].kind == TUTTI_DO_KERNEL;
}

/* First and last action whose kernel reads, or last that writes, something of the bucket. */
static void touches(const fixture *f, const tutti_loop *l, int bucket, int out[3])
{
    const tutti_bucket *b = &f->plan->buckets[bucket];
    out[0] = out[1] = out[2] = -1;
    for (int i = 0; i < l->nactions; i++)
        for (int j = b->first_param; j < b->first_param + b->nparams; j++) {
            const tutti_param *param = &f->graph->params[f->plan->order[j]];
            const bool statistic = param->desc.kind == TUTTI_PARAM_STATISTIC;
            if (!is_kernel(l, i) || param->layer != f->graph->nodes[l->actions[i].node].layer) continue;
            const tutti_node_kind k = f->graph->nodes[l->actions[i].node].kind;
            if (k == TUTTI_NODE_FORWARD || !statistic) {
                if (out[0] < 0) out[0] = i;
                out[1] = i;
            }
            if (k == (statistic ? TUTTI_NODE_FORWARD : TUTTI_NODE_BACKWARD_PARAMS)) out[2] = i;
        }
}

static void conditions_are_told_when_they_hold_and_updates_wait_for_both(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 300, 1 << 20};
    for (int s = 0; s < 3; s++)
        for (int slots = 0; slots <= 4; slots += 4) {
            fixture f;
            begin(&f, 2, slots, sizes[s]);
            tutti_arena arena = {0};
            tutti_loop loops[TUTTI_NDRIVERS];
            const tutti_loop *l = &loops[TUTTI_EACH_STEP];
            tutti_plan_list_loops(f.plan, 1, &arena, loops);
            for (int b = 0; b < f.plan->nbuckets; b++) {
                int at[3];
                const int sums = exchange_of(f.plan, "gradients", b), weights = exchange_of(f.plan, "weights", b);
                touches(&f, l, b, at);
                const int wait = find(l, TUTTI_DO_WAIT, weights), ready = find(l, TUTTI_DO_START, sums);
                const int release = find(l, TUTTI_DO_START, weights), update = find_on_bucket(l, TUTTI_DO_APPLY, b);
                assert_true(wait < at[0] && at[1] < release && at[2] < ready);
                assert_true(update > release && update > find(l, TUTTI_DO_WAIT, sums));
                assert_true(find(l, TUTTI_DO_TELL, weights) > update);
                for (int i = at[2] + 1; i < ready; i++) /* told at once: only folds and other buckets' news between */
                    assert_false(is_kernel(l, i));
                for (int i = at[1] + 1; i < release; i++) assert_false(is_kernel(l, i));
                if (b) assert_true(update > find_on_bucket(l, TUTTI_DO_APPLY, b - 1));
                if (b) assert_true(ready > find(l, TUTTI_DO_START, exchange_of(f.plan, "gradients", b - 1)));
            }
            tutti_arena_release(&arena);
            end(&f);
        }
}

static void own_slices_tile_every_bucket(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 33; nranks += 4) {
        fixture f;
        begin(&f, nranks, 0, 300);
        for (int b = 0; b < f.plan->nbuckets; b++) {
            int64_t at = f.plan->buckets[b].offset;
            for (int r = 0; r < nranks; r++) {
                int64_t first, count;
                tutti_plan_own_slice(f.plan, b, r, &first, &count);
                assert_int_equal(first, at);
                at += count;
            }
            assert_int_equal(at, f.plan->buckets[b].offset + f.plan->buckets[b].count);
        }
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(params_are_packed_in_exchange_order_without_overlap),
        cmocka_unit_test(roots_are_the_fewest_aligned_runs_and_tile_the_slots),
        cmocka_unit_test(slot_gradients_are_folded_as_the_balanced_tree_on_every_rank),
        cmocka_unit_test(control_numbers_are_folded_as_gradients_are),
        cmocka_unit_test(one_rank_of_eight_slots_needs_four_buffers_and_eight_ranks_need_one),
        cmocka_unit_test(conditions_are_told_when_they_hold_and_updates_wait_for_both),
        cmocka_unit_test(own_slices_tile_every_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
