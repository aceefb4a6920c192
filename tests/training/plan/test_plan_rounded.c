/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_rounded.c: plans whose gradients are rounded to travel: proved wherever they are taken, with the memories,
 * conversions and bytes that they should have; and each mistake around a conversion is named. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "method_world.h"

static tutti_plan_config by_halves(int nranks, bool replicated)
{
    return (tutti_plan_config){
        .nranks = nranks, .algorithm = "auto", .sent = TUTTI_BF16, .replicated = replicated, .nstates = 1};
}

static tutti_loop *step_of(const world *w)
{
    return loop_of(w, TUTTI_EACH_STEP);
}

static int sent_of(const world *w)
{
    return tutti_plan_find_memory(w->plan, TUTTI_ROLE_SENT, 0);
}

static int gradients_of(const world *w)
{
    return tutti_plan_find_memory(w->plan, TUTTI_ROLE_GRADIENTS, 0);
}

/* Conversions of a bucket in that direction. */
static int count_converts(const tutti_loop *l, int bucket, int from, int *last)
{
    int n = 0;
    for (int i = 0; i < l->nactions; i++)
        if (l->actions[i].kind == TUTTI_DO_CONVERT && l->actions[i].bucket == bucket && l->actions[i].from == from)
            *last = i, n++;
    return n;
}

static void rounded_gradients_are_proved_at_any_rank_count_on_any_hosts_with_looks_and_micro_batches(void **state)
{
    (void)state;
    static const int32_t hosts[][6] = {{0}, {0, 1, 2, 3, 4, 5}, {0, 0, 1, 1, 2, 2}, {0, 0, 0, 1, 1, 1}};
    int k = 0;
    for (int nranks = 1; nranks <= 6; nranks++)
        for (int replicated = 0; replicated < 2; replicated++)
            for (int h = 0; h < 4; h++, k++) {
                if (48 % (nranks * 2)) continue;
                world w;
                tutti_plan_config c = by_halves(nranks, replicated);
                c.host_of = h ? hosts[h] : NULL;
                c.sent = k % 2 ? TUTTI_F16 : TUTTI_BF16;
                c.accumulate = 1 + k % 2;
                c.only_finite = k % 3 == 0;
                c.norms = k % 5 == 0 ? TUTTI_NORMS_OF_TENSORS : TUTTI_NO_NORMS;
                c.early = !replicated && !c.only_finite && !c.norms && nranks > 1 && k % 4 == 3;
                c.by_need = c.early;
                make(&w, "sync-sgd", c);
                expect_proof(w.plan);
                destroy(&w);
            }
}

static void a_bucket_is_rounded_once_after_the_last_micro_batch(void **state)
{
    (void)state;
    for (int replicated = 0; replicated < 2; replicated++) {
        world w;
        tutti_plan_config c = by_halves(2, replicated);
        c.accumulate = 4;
        make(&w, "sync-sgd", c);
        for (int b = 0; b < w.plan->nbuckets; b++) {
            int there = -1, back = -1, fold = -1;
            const tutti_loop *l = step_of(&w);
            for (int i = 0; i < l->nactions; i++)
                if (l->actions[i].kind == TUTTI_DO_FOLD && l->actions[i].bucket == b) fold = i;
            assert_int_equal(count_converts(l, b, gradients_of(&w), &there), 1);
            assert_int_equal(count_converts(l, b, sent_of(&w), &back), replicated);
            assert_true(fold < there &&
                        there + 1 == find_action(l, TUTTI_DO_START, exchange_of(w.plan, "gradients", b), NULL));
        }
        destroy(&w);
    }
}

static int64_t slice_of(int64_t n, int rank, int nranks)
{
    return (rank + 1) * n / nranks - rank * n / nranks;
}

/* Of gradients and weights over all ranks; gradients alone in *gradients. */
static int64_t count_crossed(const world *w, int64_t *gradients)
{
    int64_t sum = 0;
    *gradients = 0;
    for (int x = 0; x < w->plan->nexchanges; x++) {
        if (w->plan->exchanges[x].bucket < 0 || !(w->plan->exchanges[x].drivers >> TUTTI_EACH_STEP & 1)) continue;
        for (int r = 0; r < w->plan->config.nranks; r++) {
            const int64_t bytes = tutti_plan_crossed_bytes(w->plan, x, r);
            sum += bytes;
            if (!strncmp(w->plan->exchanges[x].name, "gradients", 9)) *gradients += bytes;
        }
    }
    return sum;
}

static void half_of_the_bytes_of_gradients_travel_and_all_of_the_weights(void **state)
{
    (void)state;
    static const int32_t hosts[] = {0, 1, 2, 3, 4};
    for (int nranks = 2; nranks <= 4; nranks++)
        for (int far = 0; far < 2; far++)
            for (int replicated = 0; replicated < 2; replicated++) {
                int64_t sums[2], gradients[2];
                for (int rounded = 0; rounded < 2; rounded++) {
                    world w;
                    tutti_plan_config c = by_halves(nranks, replicated);
                    c.algorithm = "direct";
                    c.host_of = far ? hosts : NULL;
                    if (!rounded) c.sent = TUTTI_F32;
                    make(&w, "sync-sgd", c);
                    const int64_t total = w.plan->total, each = rounded ? 2 : 4, others = nranks - 1;
                    sums[rounded] = count_crossed(&w, &gradients[rounded]);
                    /* to owners, and from them: of each slice all ranks but one */
                    assert_int_equal(gradients[rounded], others * total * each * (replicated ? 2 : 1));
                    assert_int_equal(sums[rounded], gradients[rounded] + (replicated ? 0 : others * total * 4));
                    assert_int_equal(
                        tutti_plan_crossed_bytes(w.plan, 0, 0),
                        each * (far ? w.plan->buckets[0].count - slice_of(w.plan->buckets[0].count, 0, nranks)
                                    : others * slice_of(w.plan->buckets[0].count, 0, nranks)) +
                            (replicated ? each * others * slice_of(w.plan->buckets[0].count, 0, nranks) : 0));
                    destroy(&w);
                }
                assert_int_equal(4 * sums[1], (replicated ? 2 : 3) * sums[0]);
            }
}

static void memories_say_their_types_and_the_hash_tells_them_apart(void **state)
{
    (void)state;
    static const tutti_dtype types[] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
    uint64_t hash[3];
    for (int i = 0; i < 3; i++) {
        world w;
        tutti_plan_config c = by_halves(2, false);
        c.sent = types[i];
        make(&w, "sync-sgd", c);
        hash[i] = tutti_plan_hash(w.plan);
        char *text = tutti_plan_print(w.plan);
        assert_true((sent_of(&w) >= 0) == (i > 0));
        if (i > 0) {
            const tutti_plan_memory *m = &w.plan->memories[sent_of(&w)];
            assert_int_equal(m->type, types[i]);
            assert_int_equal(tutti_plan_memory_bytes(m), 2 * w.plan->total);
            assert_true(m->is_region && !m->is_saved && !m->is_lasting);
            assert_non_null(strstr(text, i == 1 ? "of bf16 sent gradients to gradients" : "of f16 sent gradients"));
            assert_non_null(strstr(text, i == 1 ? "convert bucket 1: gradients to bf16" : "gradients to f16"));
        }
        free(text);
        destroy(&w);
    }
    assert_true(hash[0] != hash[1] && hash[1] != hash[2] && hash[0] != hash[2]);
}

/* Between hosts of several ranks the hosts' sums are rounded, by the exchange; weights travel as ever. */
static void hosts_of_several_ranks_round_their_sums(void **state)
{
    (void)state;
    static const int32_t hosts[] = {0, 0, 0, 1, 1, 1};
    for (int replicated = 0; replicated < 2; replicated++) {
        world w;
        int at = -1;
        tutti_plan_config c = by_halves(6, replicated);
        c.host_of = hosts;
        make(&w, "sync-sgd", c);
        const tutti_plan *p = w.plan;
        const int sums = exchange_of(p, "gradients", 0);
        assert_string_equal(tutti_schedule_head(lowered_of(p, sums))->algorithm, "two-level,group=3");
        assert_int_equal(p->exchanges[sums].sent, TUTTI_BF16);
        assert_int_equal(p->exchanges[sums].in.memory, gradients_of(&w));
        assert_int_equal(count_converts(step_of(&w), 0, gradients_of(&w), &at), 0);
        assert_true((sent_of(&w) >= 0) == replicated);
        if (!replicated)
            assert_string_equal(tutti_schedule_head(lowered_of(p, exchange_of(p, "weights", 0)))->algorithm,
                                "split-rail,group=3");
        /* rank 0 reads two others' two slices of f32 on its host, and puts one slice of bf16 on the wire */
        const int64_t n = p->buckets[0].count, own = slice_of(n, 0, 6), other = slice_of(n, 3, 6);
        if (!replicated) assert_int_equal(tutti_plan_crossed_bytes(p, sums, 0), 2 * (own + other) * 4 + other * 2);
        const uint64_t hash = tutti_plan_hash(p);
        destroy(&w);
        c.sent = TUTTI_F16;
        make(&w, "sync-sgd", c);
        assert_true(tutti_plan_hash(w.plan) != hash);
        destroy(&w);
    }
}

static void expect_no_plan(const world *w, const char *algorithm, const int32_t *hosts, const char *words)
{
    tutti_failure err = {0};
    tutti_plan *plan = NULL;
    tutti_plan_config c = w->plan->config;
    c.algorithm = algorithm;
    c.host_of = hosts;
    assert_int_equal(tutti_plan_build(w->graph, &c, &plan, &err), TUTTI_ERR_USAGE);
    if (!strstr(err.text, words)) fail_msg("%s", err.text);
}

/* ---- mistakes ---- */

static void a_conversion_that_is_missing_or_late_is_refused(void **state)
{
    (void)state;
    for (int replicated = 0; replicated < 2; replicated++) {
        world w;
        int at = -1;
        make(&w, "sync-sgd", by_halves(2, replicated));
        const int first = exchange_of(w.plan, "gradients", 0);
        assert_int_equal(count_converts(step_of(&w), 0, gradients_of(&w), &at), 1);
        move_action(step_of(&w), at, find_action(step_of(&w), TUTTI_DO_START, first, NULL));
        expect_refusal(w.plan, "sent gradients");
        destroy(&w);

        make(&w, "sync-sgd", by_halves(2, replicated));
        count_converts(step_of(&w), 0, gradients_of(&w), &at);
        remove_action(step_of(&w), at);
        expect_refusal(w.plan, "sent gradients");
        destroy(&w);
    }
}

static void replicated_updates_from_sums_that_were_not_widened_are_refused(void **state)
{
    (void)state;
    world w;
    int at = -1;
    make(&w, "sync-sgd", by_halves(2, true));
    assert_int_equal(count_converts(step_of(&w), 0, sent_of(&w), &at), 1);
    remove_action(step_of(&w), at); /* each rank would go by its own gradients */
    expect_refusal(w.plan, "lacks the contribution of rank 1");
    destroy(&w);

    make(&w, "sync-sgd", by_halves(2, true));
    step_of(&w)->actions[find_on_bucket(step_of(&w), TUTTI_DO_APPLY, 0)].from = sent_of(&w);
    expect_refusal(w.plan, "'update bucket 0' takes sent gradients of bf16 to weights of f32");
    destroy(&w);
}

static void sums_of_rounded_gradients_by_a_schedule_that_passes_partial_sums_on_are_refused(void **state)
{
    (void)state;
    world w, ring;
    make(&w, "sync-sgd", by_halves(4, true));
    tutti_plan_config c = by_halves(4, true);
    c.sent = TUTTI_F32;
    c.algorithm = "ring";
    make(&ring, "sync-sgd", c);
    tutti_prepared *s = &w.plan->schedules[w.plan->exchanges[0].schedule], right = *s;
    *s = ring.plan->schedules[ring.plan->exchanges[0].schedule];
    expect_refusal(w.plan, "of 4 ranks' bf16: what is rounded must be summed once");
    *s = right;
    expect_proof(w.plan);
    destroy(&w), destroy(&ring);
}

static void groups_sums_that_are_passed_on_are_refused(void **state)
{
    (void)state;
    world w, rail;
    tutti_plan_config c = by_halves(6, false);
    c.algorithm = "two-level,group=2";
    make(&w, "sync-sgd", c);
    c.sent = TUTTI_F32;
    c.algorithm = "split-rail,group=2";
    make(&rail, "sync-sgd", c);
    tutti_prepared *s = &w.plan->schedules[w.plan->exchanges[0].schedule], right = *s;
    *s = rail.plan->schedules[rail.plan->exchanges[0].schedule];
    expect_refusal(w.plan, "ranks' bf16: what is rounded must be summed once");
    *s = right;
    expect_proof(w.plan);
    destroy(&w), destroy(&rail);
}

/* ---- each sum rounded ---- */

static tutti_plan_config by_each(int nranks, const char *algorithm, bool replicated, tutti_dtype sent)
{
    tutti_plan_config c = by_halves(nranks, replicated);
    c.algorithm = algorithm;
    c.rounds_each = true;
    c.sent = sent;
    return c;
}

static void partial_sums_may_be_rounded_by_any_algorithm_and_owners_widen_their_slices(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        bool replicated;
    } rows[] = {{"ring", false},  {"halving-doubling", false}, {"auto", false}, {"split-rail,group=2", false},
                {"ring", true},   {"halving-doubling", true},  {"auto", true},  {"hierarchical,group=2", true},
                {"direct", true}, {"double-tree", true}};
    static const int32_t hosts[] = {0, 0, 1, 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int far = 0; far < 2; far++) {
            world w, wide;
            int at = -1;
            int64_t gradients, of_f32;
            tutti_plan_config c = by_each(4, rows[i].algorithm, rows[i].replicated, i % 2 ? TUTTI_F16 : TUTTI_BF16);
            c.host_of = far ? hosts : NULL;
            c.only_finite = i % 2;
            make(&w, "sync-sgd", c);
            expect_proof(w.plan);
            assert_int_equal(count_converts(step_of(&w), 0, gradients_of(&w), &at), 1);
            assert_int_equal(count_converts(step_of(&w), 0, sent_of(&w), &at), 1);
            assert_int_equal(step_of(&w)->actions[at].count,
                             rows[i].replicated ? w.plan->buckets[0].count : slice_of(w.plan->buckets[0].count, 0, 4));
            c.sent = TUTTI_F32;
            c.rounds_each = c.only_finite = false;
            make(&wide, "sync-sgd", c);
            count_crossed(&w, &gradients), count_crossed(&wide, &of_f32);
            assert_int_equal(2 * gradients, of_f32);
            destroy(&w), destroy(&wide);
        }
}

static void sums_that_are_rounded_where_the_plan_does_not_say_so_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {"ring", "halving-doubling", "hierarchical,group=2"};
    for (int i = 0; i < 3; i++) {
        world w, once;
        int at = -1;
        make(&w, "sync-sgd", by_each(4, rows[i], true, TUTTI_BF16));
        make(&once, "sync-sgd", by_halves(4, true));
        assert_true(tutti_plan_hash(w.plan) != tutti_plan_hash(once.plan));
        w.plan->config.rounds_each = false;
        expect_refusal(w.plan, "partial sums of bf16 are rounded, which the plan does not allow");
        destroy(&w), destroy(&once);
        make(&w, "sync-sgd", by_each(4, rows[i], true, TUTTI_F16));
        count_converts(step_of(&w), 0, sent_of(&w), &at);
        remove_action(step_of(&w), at);
        expect_refusal(w.plan, "lacks the contribution of rank 1");
        destroy(&w);
    }
}

static void exchanges_between_memories_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    world w;
    make(&w, "sync-sgd", by_halves(2, false));
    w.plan->memories[gradients_of(&w)].type = TUTTI_F16;
    expect_refusal(w.plan, "gradients of bucket 0: from sent gradients of bf16 to gradients of f16");
    destroy(&w);
}

static void the_configuration_s_algorithm_must_sum_once(void **state)
{
    (void)state;
    static const int32_t pairs[] = {0, 0, 1, 1}, odd[] = {0, 1, 1, 0};
    world w;
    make(&w, "sync-sgd", by_halves(4, false));
    expect_no_plan(&w, "ring", NULL, "ring passes partial sums on");
    expect_no_plan(&w, "split-rail,group=2", pairs, "split-rail passes partial sums on");
    expect_no_plan(&w, "two-level,group=4", NULL, "has one group, so no group's sum is sent");
    expect_no_plan(&w, "two-level,group=2", odd, "some have ranks of several hosts");
    destroy(&w);
}

/* Whose workers send no gradients, or whose sums must not depend on who holds the parts, say so. */
static void who_cannot_round_says_so(void **state)
{
    (void)state;
    const tutti_method_row *m;
    int nrefused = 0;
    for (int i = 0; (m = tutti_method_at(i)); i++) {
        const tutti_plan_config c = {.nranks = 2, .period = 1, .sent = TUTTI_BF16, .nstates = 1};
        tutti_failure err = {0};
        if (!m->accept(&c, &err)) {
            assert_string_equal(m->name, "sync-sgd");
            continue;
        }
        assert_int_equal(err.status, TUTTI_ERR_USAGE);
        assert_true(!strncmp(err.text, "exchange.precision: ", 20));
        nrefused++;
    }
    assert_true(nrefused >= 10);
    const tutti_plan_config canonical = {.nranks = 2, .period = 1, .sent = TUTTI_BF16, .slots = 8};
    tutti_failure err = {0};
    assert_int_equal(tutti_method_find("sync-sgd")->accept(&canonical, &err), TUTTI_ERR_USAGE);
    assert_true(!strncmp(err.text, "exchange.precision: which nodes of a canonical sum's tree", 57));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounded_gradients_are_proved_at_any_rank_count_on_any_hosts_with_looks_and_micro_batches),
        cmocka_unit_test(a_bucket_is_rounded_once_after_the_last_micro_batch),
        cmocka_unit_test(half_of_the_bytes_of_gradients_travel_and_all_of_the_weights),
        cmocka_unit_test(memories_say_their_types_and_the_hash_tells_them_apart),
        cmocka_unit_test(hosts_of_several_ranks_round_their_sums),
        cmocka_unit_test(a_conversion_that_is_missing_or_late_is_refused),
        cmocka_unit_test(replicated_updates_from_sums_that_were_not_widened_are_refused),
        cmocka_unit_test(sums_of_rounded_gradients_by_a_schedule_that_passes_partial_sums_on_are_refused),
        cmocka_unit_test(groups_sums_that_are_passed_on_are_refused),
        cmocka_unit_test(partial_sums_may_be_rounded_by_any_algorithm_and_owners_widen_their_slices),
        cmocka_unit_test(sums_that_are_rounded_where_the_plan_does_not_say_so_are_refused),
        cmocka_unit_test(exchanges_between_memories_that_do_not_fit_are_refused),
        cmocka_unit_test(the_configuration_s_algorithm_must_sum_once),
        cmocka_unit_test(who_cannot_round_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
