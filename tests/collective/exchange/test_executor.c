/* SPDX-License-Identifier: Apache-2.0 */
/* test_executor.c: every algorithm of the table, every collective, 1..9 ranks as threads, awkward element counts,
 * several invocations: whole-number inputs, so that the sums are exact and == is the test. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collective/compile/algorithms.h"
#include "collective/exchange/executor.h"
#include "collective/thread_ranks.h"
#include "tutti/compile.h"
#include "tutti/lower.h"
#include "tutti/topology.h"

enum { MOST_ROOTS = 16 };

typedef struct {
    tutti_schedule *lowered;
    int64_t n;
    int invocations;
    bool late_ready; /* start with nothing told */
} exchange_case;

/* What slot or rank `leaf` contributes to element i in invocation e: small whole numbers. */
static float leaf_value(int leaf, int64_t i, int e)
{
    return (float)((leaf + 1) * (e + 1) + i % 7);
}

static float root_value(const tutti_buffer *b, int64_t i, int e)
{
    float sum = 0;
    for (int leaf = b->leaf; leaf < b->leaf + b->nleaves; leaf++) sum += leaf_value(leaf, i, e);
    return sum;
}

static int64_t point(int64_t k, int64_t n, int64_t of)
{
    return k * n / of;
}

typedef struct {
    tutti_region *in[MOST_ROOTS], *out;
    tutti_place places[MOST_ROOTS];
    int nin;
    tutti_exchange *x;
    tutti_part part;
} bound_case;

static const char *open_case(tutti_group *g, const exchange_case *c, bound_case *b)
{
    tutti_failure err = {0};
    const tutti_schedule_header *h = tutti_schedule_head(c->lowered);
    enum { SHIFT = 12 }; /* bytes: an offset that no vector is aligned to */
    for (int r = 0; r < h->nranks; r++) {
        tutti_part part;
        tutti_schedule_part(c->lowered, r, &part);
        for (int i = 0; i < part.nbuffers; i++)
            if (part.buffers[i].role == TUTTI_BUFFER_IN && part.buffers[i].ordinal >= b->nin)
                b->nin = part.buffers[i].ordinal + 1;
        tutti_part_release(&part);
    }
    EXPECT(b->nin <= MOST_ROOTS);
    size_t bytes = SHIFT + (size_t)c->n * sizeof(float);
    for (int k = 0; k < b->nin; k++) {
        EXPECT(!tutti_region_create(g, "in", bytes, &b->in[k], &err));
        b->places[k] = (tutti_place){b->in[k], SHIFT};
    }
    EXPECT(!tutti_region_create(g, "out", bytes, &b->out, &err));
    const bool matrix = h->collective == TUTTI_ALL_TO_ALL; /* whose index space no rank has room for */
    const tutti_exchange_binding binding = {.name = "test",
                                            .n = c->n,
                                            .in = b->places,
                                            .nin = b->nin,
                                            .out = {b->out, SHIFT},
                                            .in_window = matrix,
                                            .out_window = matrix};
    EXPECT(!tutti_exchange_create(g, c->lowered, &binding, &b->x, &err));
    tutti_schedule_part(c->lowered, tutti_group_rank(g), &b->part);
    return NULL;
}

static void close_case(bound_case *b)
{
    tutti_part_release(&b->part);
    tutti_exchange_destroy(b->x);
    for (int k = 0; k < b->nin; k++) tutti_region_destroy(b->in[k]);
    tutti_region_destroy(b->out);
}

static float *place_base(const tutti_place *p, int rank)
{
    return (float *)(void *)((char *)tutti_region_base(p->region, rank) + p->offset);
}

static void fill_inputs(const exchange_case *c, const bound_case *b, int rank, int e)
{
    const tutti_schedule_header *h = tutti_schedule_head(c->lowered);
    int64_t begin = 0, end = c->n;
    if (h->collective == TUTTI_ALL_TO_ALL) begin = point(rank, c->n, h->nranks), end = point(rank + 1, c->n, h->nranks);
    for (int i = 0; i < b->part.nbuffers; i++) {
        const tutti_buffer *buffer = &b->part.buffers[i];
        if (buffer->role != TUTTI_BUFFER_IN) continue;
        float *to = place_base(&b->places[buffer->ordinal], rank);
        for (int64_t k = begin; k < end; k++) to[k - begin] = root_value(buffer, k, e);
    }
}

static const char *check_blocks(const exchange_case *c, const bound_case *b, int rank, int e)
{
    int p = tutti_schedule_head(c->lowered)->nranks;
    const float *got = place_base(&(tutti_place){b->out, b->places[0].offset}, rank);
    for (int from = 0; from < p; from++) {
        int64_t begin = point(from * p + rank, c->n, p * p), end = point(from * p + rank + 1, c->n, p * p);
        for (int64_t i = begin; i < end; i++)
            if (*got++ != leaf_value(from, i, e)) return "an element of a block is wrong";
    }
    return NULL;
}

static const char *check_outputs(const exchange_case *c, const bound_case *b, int rank, int e)
{
    const tutti_schedule_header *h = tutti_schedule_head(c->lowered);
    if (h->collective == TUTTI_ALL_TO_ALL) return check_blocks(c, b, rank, e);
    bool to_root = h->collective == TUTTI_GATHER || h->collective == TUTTI_REDUCE;
    if (h->collective == TUTTI_BARRIER || (to_root && rank != h->root)) return NULL;
    const tutti_place out = h->in_place ? b->places[0] : (tutti_place){b->out, b->places[0].offset};
    const float *got = place_base(&out, rank);
    int64_t from = 0, to = c->n;
    int leaves = h->slots ? h->slots : h->nranks;
    if (h->collective == TUTTI_REDUCE_SCATTER)
        from = point(rank, c->n, h->nranks), to = point(rank + 1, c->n, h->nranks);
    for (int64_t i = from; i < to; i++) {
        float want = 0;
        if (tutti_collective_reduces(h->collective)) {
            for (int leaf = 0; leaf < leaves; leaf++) want += leaf_value(leaf, i, e);
        } else {
            int owner = h->collective == TUTTI_BROADCAST ? h->root : 0;
            while (h->collective != TUTTI_BROADCAST && i >= point(owner + 1, c->n, h->nranks)) owner++;
            want = leaf_value(owner, i, e);
        }
        if (got[i] != want) return "an element of the result is wrong";
    }
    return NULL;
}

static const char *run_case(tutti_group *g, void *arg)
{
    const exchange_case *c = arg;
    bound_case b = {0};
    tutti_failure err = {0};
    int me = tutti_group_rank(g);
    const char *words = open_case(g, c, &b);
    for (int e = 0; e < c->invocations && !words; e++) {
        fill_inputs(c, &b, me, e);
        if (c->late_ready) {
            tutti_exchange_start(b.x, 0);
            bool done = false;
            EXPECT(!tutti_exchange_test(b.x, &done, &err));
            tutti_exchange_tell(b.x, TUTTI_WHEN_FREE);
            tutti_exchange_tell(b.x, TUTTI_WHEN_READY);
        } else {
            tutti_exchange_start(b.x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        }
        EXPECT(!tutti_exchange_wait(b.x, &err));
        words = check_outputs(c, &b, me, e);
    }
    if (words) return words;
    tutti_exchange_stats stats;
    tutti_exchange_stats_read(b.x, &stats);
    EXPECT(stats.invocations == c->invocations);
    close_case(&b);
    return NULL;
}

/* false: the algorithm refuses this request. */
static bool run_request(const char *algorithm, const tutti_compile_request *q, int64_t n, int invocations)
{
    tutti_schedule *compiled = NULL, *lowered = NULL;
    tutti_failure err = {0};
    if (tutti_schedule_compile(algorithm, q, &compiled, &err)) return false;
    if (tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, &lowered, &err)) fail_msg("%s: %s", algorithm, err.text);
    exchange_case c = {lowered, n, invocations, n % 2 == 1};
    run_ranks(q->nranks, 30, run_case, &c);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(compiled);
    return true;
}

static void every_algorithm_and_collective_is_exact(void **state)
{
    (void)state;
    tutti_topology star; /* for rows that are bound to a topology */
    assert_int_equal(tutti_topology_parse("star", &star, NULL), TUTTI_OK);
    for (int a = 0; a < tutti_algorithm_count(); a++) {
        const char *name = tutti_algorithm_at(a)->name;
        int served = 0;
        for (int p = 1; p <= 9; p++)
            for (int variant = 0; variant < 2 * TUTTI_NCOLLECTIVES; variant++) {
                tutti_compile_request q = {.collective = (tutti_collective)(variant / 2), .nranks = p};
                q.in_place = variant % 2, q.topology = &star;
                if (tutti_collective_has_root(q.collective)) q.root = p / 2;
                const int64_t counts[] = {0, 1, p - 1, p, p + 1, 1003};
                served += run_request(name, &q, counts[(a + p + variant) % 6], 3);
            }
        assert_true(served > 0);
    }
}

static void canonical_sums_are_exact(void **state)
{
    (void)state;
    int served = 0;
    for (int a = 0; a < tutti_algorithm_count(); a++)
        for (int p = 1; p <= 8; p++) {
            tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = p, .slots = 8};
            served += run_request(tutti_algorithm_at(a)->name, &q, 515, 3);
            q.collective = TUTTI_REDUCE_SCATTER, q.in_place = true;
            served += run_request(tutti_algorithm_at(a)->name, &q, 515, 2);
        }
    assert_true(served > 0);
}

static void long_vectors_are_moved_in_blocks(void **state)
{
    (void)state;
    tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 3};
    assert_true(run_request("direct", &q, 1000003, 2));
    assert_true(run_request("ring", &q, 1000003, 2));
}

static void many_invocations_stay_in_step(void **state)
{
    (void)state;
    tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 4};
    assert_true(run_request("one-shot", &q, 64, 300));
    assert_true(run_request("direct", &q, 64, 300));
}

/* --- several at once, and failures --- */

static tutti_schedule *make_schedule(const char *algorithm, int p, tutti_schedule **compiled)
{
    tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = p};
    tutti_schedule *lowered;
    tutti_failure err = {0};
    assert_int_equal(tutti_schedule_compile(algorithm, &q, compiled, &err), TUTTI_OK);
    assert_int_equal(tutti_schedule_lower(*compiled, TUTTI_WIRE_MAPPED, &lowered, &err), TUTTI_OK);
    return lowered;
}

/* Ranks wait for two exchanges in opposite orders: each wait must drive the other exchange too. */
static const char *crossed_body(tutti_group *g, void *arg)
{
    tutti_failure err = {0};
    bound_case a = {0}, b = {0};
    exchange_case first = {arg, 5000, 1, false}, second = {arg, 70, 1, false};
    const char *words = open_case(g, &first, &a);
    if (!words) words = open_case(g, &second, &b);
    int me = tutti_group_rank(g);
    for (int e = 0; e < 20 && !words; e++) {
        fill_inputs(&first, &a, me, e), fill_inputs(&second, &b, me, e + 1);
        tutti_exchange_start(a.x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        tutti_exchange_start(b.x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        EXPECT(!tutti_exchange_wait(me % 2 ? a.x : b.x, &err));
        EXPECT(!tutti_exchange_wait(me % 2 ? b.x : a.x, &err));
        words = check_outputs(&first, &a, me, e);
        if (!words) words = check_outputs(&second, &b, me, e + 1);
    }
    if (words) return words;
    close_case(&a), close_case(&b);
    return NULL;
}

static void a_wait_drives_other_exchanges_too(void **state)
{
    (void)state;
    tutti_schedule *compiled, *lowered = make_schedule("ring", 3, &compiled);
    run_ranks(3, 30, crossed_body, lowered);
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(compiled);
}

static const char *missing_body(tutti_group *g, void *arg)
{
    tutti_failure err = {0};
    bound_case b = {0};
    exchange_case c = {arg, 100, 1, false};
    const char *words = open_case(g, &c, &b);
    if (words) return words;
    if (tutti_group_rank(g) == 2) {
        tutti_clock_sleep_s(0.5); /* never starts */
    } else {
        tutti_exchange_start(b.x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        EXPECT(tutti_exchange_wait(b.x, &err) == TUTTI_ERR_PEER);
        EXPECT(strstr(err.text, "'test'") && strstr(err.text, "(wait, stage ") && strstr(err.text, "bytes"));
        EXPECT(strstr(err.text, "not arrived: rank 2 ") && !strstr(err.text, "not arrived: rank 1"));
    }
    close_case(&b);
    return NULL;
}

static void a_deadline_names_step_and_who_has_not_arrived(void **state)
{
    (void)state;
    tutti_schedule *compiled, *lowered = make_schedule("direct", 3, &compiled);
    run_ranks(3, 0.15, missing_body, lowered);
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(compiled);
}

static const char *leaver_body(tutti_group *g, void *arg)
{
    tutti_failure err = {0};
    bound_case b = {0};
    exchange_case c = {arg, 100, 1, false};
    const char *words = open_case(g, &c, &b);
    if (words) return words;
    if (tutti_group_rank(g) != 1) {
        tutti_exchange_start(b.x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        EXPECT(tutti_exchange_wait(b.x, &err) == TUTTI_ERR_PEER);
        EXPECT(strstr(err.text, "rank 1 ") && strstr(err.text, "has left the group"));
    }
    close_case(&b);
    return NULL;
}

static void a_peer_that_leaves_early_is_named_at_once(void **state)
{
    (void)state;
    tutti_schedule *compiled, *lowered = make_schedule("direct", 2, &compiled);
    double begin = tutti_clock_s();
    run_ranks(2, 30, leaver_body, lowered);
    assert_true(tutti_clock_s() - begin < 5);
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(compiled);
}

static const char *mismatch_body(tutti_group *g, void *arg)
{
    tutti_failure err = {0};
    tutti_region *region;
    EXPECT(!tutti_region_create(g, "data", 4096, &region, &err));
    const tutti_place place = {region, 0};
    tutti_exchange *x;
    tutti_exchange_binding binding = {.name = "test", .n = 100 + tutti_group_rank(g), .in = &place, .nin = 1};
    binding.out = (tutti_place){region, 2048};
    EXPECT(tutti_exchange_create(g, arg, &binding, &x, &err) == TUTTI_ERR_RENDEZVOUS);
    EXPECT(strstr(err.text, "100 elements") && strstr(err.text, "101 elements"));
    binding.n = 5000; /* does not fit */
    EXPECT(tutti_exchange_create(g, arg, &binding, &x, &err) == TUTTI_ERR_USAGE);
    EXPECT(strstr(err.text, "the region has"));
    tutti_region_destroy(region);
    return NULL;
}

static void disagreement_and_short_regions_are_refused_at_create(void **state)
{
    (void)state;
    tutti_schedule *compiled, *lowered = make_schedule("direct", 2, &compiled);
    run_ranks(2, 30, mismatch_body, lowered);
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(compiled);
}

static const char *renamed_body(tutti_group *g, void *arg)
{
    tutti_failure err = {0};
    tutti_region *region;
    tutti_schedule *const *schedules = arg;
    EXPECT(!tutti_region_create(g, "data", 4096, &region, &err));
    const tutti_place place = {region, 0};
    tutti_exchange *x;
    const tutti_exchange_binding binding = {
        .name = "test", .n = 100, .in = &place, .nin = 1, .out = (tutti_place){region, 2048}};
    const bool odd = tutti_group_rank(g) == 1;
    EXPECT(tutti_exchange_create(g, schedules[odd], &binding, &x, &err) == TUTTI_ERR_RENDEZVOUS);
    EXPECT(strstr(err.text, "the ranks run different schedules") && strstr(err.text, "for itself"));
    tutti_region_destroy(region);
    return NULL;
}

/* A file that calls itself `direct` and is not. */
static void a_schedule_that_differs_inside_is_refused_with_both_hashes(void **state)
{
    (void)state;
    tutti_schedule *compiled[2], *lowered[2];
    tutti_failure err = {0};
    for (int i = 0; i < 2; i++) lowered[i] = make_schedule(i ? "one-shot" : "direct", 3, &compiled[i]);
    char *text = tutti_schedule_print(lowered[1]), *name = strstr(text, "one-shot");
    assert_non_null(name);
    memmove(name + 6, name + 8, strlen(name + 8) + 1);
    memcpy(name, "direct", 6);
    tutti_schedule_destroy(lowered[1]);
    assert_int_equal(tutti_schedule_parse("renamed", text, strlen(text), &lowered[1], &err), TUTTI_OK);
    free(text);
    run_ranks(3, 30, renamed_body, lowered);
    for (int i = 0; i < 2; i++) tutti_schedule_destroy(lowered[i]), tutti_schedule_destroy(compiled[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_and_collective_is_exact),
        cmocka_unit_test(canonical_sums_are_exact),
        cmocka_unit_test(long_vectors_are_moved_in_blocks),
        cmocka_unit_test(many_invocations_stay_in_step),
        cmocka_unit_test(a_wait_drives_other_exchanges_too),
        cmocka_unit_test(a_deadline_names_step_and_who_has_not_arrived),
        cmocka_unit_test(a_peer_that_leaves_early_is_named_at_once),
        cmocka_unit_test(disagreement_and_short_regions_are_refused_at_create),
        cmocka_unit_test(a_schedule_that_differs_inside_is_refused_with_both_hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
