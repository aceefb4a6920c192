/* SPDX-License-Identifier: Apache-2.0 */
/* test_executor_types.c: every algorithm with every type and operation, evenly and unevenly divided vectors, 2 to 5
 * ranks as threads: the bits of the reduction expression that the schedule states (reference_run.h), also when steps
 * are delayed at random. TUTTI_LONG=1: every combination instead of a walk through them. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "collective/compile/algorithms.h"
#include "collective/exchange/executor.h"
#include "collective/reference_run.h"
#include "collective/thread_ranks.h"
#include "tensor/tensor.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { INVOCATIONS = 2, MOST_BUFFERS = 64 };

typedef struct {
    reference_run run[INVOCATIONS];
    tutti_schedule *lowered;
    bool windows;
    int32_t delay_us;
    uint64_t seed;
} type_case;

static void draw_element(const reference_run *r, int rank, int buffer, int64_t i, int e, void *to)
{
    const tutti_random4 d =
        tutti_random((uint64_t)e, TUTTI_STREAM_TEST, (uint64_t)(rank * MOST_BUFFERS + buffer), (uint64_t)i);
    reference_draw(r->type, r->op, (uint64_t)d.word[0] << 32 | d.word[1], false, to);
}

static void window_of(const reference_run *r, const tutti_buffer *b, int64_t *from, int64_t *to)
{
    *from = reference_point(r, b->window.first, b->window.of);
    *to = reference_point(r, b->window.first + b->window.count, b->window.of);
}

static void prepare(type_case *c)
{
    for (int e = 0; e < INVOCATIONS; e++) {
        reference_run *r = &c->run[e];
        const tutti_schedule_header *h = tutti_schedule_head(r->schedule);
        reference_open(r);
        for (int k = 0; k < r->nranks; k++)
            for (int b = 0; b < r->rank[k].part.nbuffers; b++) {
                int64_t from, to;
                if (r->rank[k].part.buffers[b].role != TUTTI_BUFFER_IN) continue;
                window_of(r, &r->rank[k].part.buffers[b], &from, &to);
                for (int64_t i = from; i < to; i++)
                    draw_element(r, k, b, i, e, r->rank[k].memory[b] + (size_t)i * r->bytes);
            }
        reference_play(r);
        if (r->op != TUTTI_AVG) continue;
        for (int k = 0; k < r->nranks; k++)
            if (h->collective == TUTTI_ALLREDUCE)
                reference_divide(r, k, 0, r->n);
            else if (h->collective == TUTTI_REDUCE && k == h->root)
                reference_divide(r, k, 0, r->n);
            else if (h->collective == TUTTI_REDUCE_SCATTER)
                reference_divide(r, k, reference_point(r, k, r->nranks), reference_point(r, k + 1, r->nranks));
    }
}

typedef struct {
    tutti_region *in[MOST_BUFFERS], *out;
    tutti_place places[MOST_BUFFERS];
    int nin;
    tutti_exchange *x;
} bound_type;

static const char *bind_type(tutti_group *g, const type_case *c, bound_type *b)
{
    const reference_run *r = &c->run[0];
    tutti_failure err = {0};
    const size_t shift = 3 * tutti_element_alignment(r->type, r->op), bytes = shift + (size_t)r->n * r->bytes;
    for (int k = 0; k < r->nranks; k++)
        for (int i = 0; i < r->rank[k].part.nbuffers; i++)
            if (r->rank[k].part.buffers[i].role == TUTTI_BUFFER_IN && r->rank[k].part.buffers[i].ordinal >= b->nin)
                b->nin = r->rank[k].part.buffers[i].ordinal + 1;
    for (int k = 0; k < b->nin; k++) {
        EXPECT(!tutti_region_create(g, "in", bytes, &b->in[k], &err));
        b->places[k] = (tutti_place){b->in[k], shift};
    }
    EXPECT(!tutti_region_create(g, "out", bytes, &b->out, &err));
    const tutti_exchange_binding binding = {.name = "types",
                                            .n = r->n,
                                            .type = r->type,
                                            .op = r->op,
                                            .counts = r->counts,
                                            .in = b->places,
                                            .nin = b->nin,
                                            .out = {b->out, shift},
                                            .in_window = c->windows,
                                            .out_window = c->windows};
    EXPECT(!tutti_exchange_create(g, c->lowered, &binding, &b->x, &err));
    if (c->delay_us) tutti_exchange_delay(b->x, c->seed, c->delay_us);
    return NULL;
}

/* Where the executor has the first element of the window of a buffer; `packed` as in executor.h. */
static char *where(const type_case *c, const bound_type *b, const tutti_buffer *buffer, int rank, size_t *packed)
{
    const reference_run *r = &c->run[0];
    const bool in = buffer->role == TUTTI_BUFFER_IN || tutti_schedule_head(c->lowered)->in_place;
    tutti_region *region = in ? b->in[buffer->role == TUTTI_BUFFER_IN ? buffer->ordinal : 0] : b->out;
    char *base = (char *)tutti_region_base(region, rank) + b->places[0].offset;
    int64_t from, to;
    window_of(r, buffer, &from, &to);
    if (!c->windows) return base + (size_t)from * r->bytes;
    if (in) return base;
    base += *packed;
    *packed += (size_t)(to - from) * r->bytes;
    return base;
}

static const char *run_type(tutti_group *g, void *arg)
{
    const type_case *c = arg;
    bound_type b = {0};
    tutti_failure err = {0};
    const int me = tutti_group_rank(g);
    const tutti_part *part = &c->run[0].rank[me].part;
    const char *words = bind_type(g, c, &b);
    for (int e = 0; e < INVOCATIONS && !words; e++) {
        const reference_run *r = &c->run[e];
        int64_t from, to;
        size_t packed = 0;
        for (int i = 0; i < part->nbuffers; i++) {
            if (part->buffers[i].role != TUTTI_BUFFER_IN) continue;
            char *at = where(c, &b, &part->buffers[i], me, &packed);
            window_of(r, &part->buffers[i], &from, &to);
            for (int64_t k = from; k < to; k++) draw_element(r, me, i, k, e, at + (size_t)(k - from) * r->bytes);
        }
        tutti_exchange_start(b.x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        EXPECT(!tutti_exchange_wait(b.x, &err));
        packed = 0;
        for (int i = 0; i < part->nbuffers; i++) {
            if (part->buffers[i].role != TUTTI_BUFFER_OUT) continue;
            const char *at = where(c, &b, &part->buffers[i], me, &packed);
            window_of(r, &part->buffers[i], &from, &to);
            if (memcmp(at, r->rank[me].memory[i] + (size_t)from * r->bytes, (size_t)(to - from) * r->bytes))
                words = "the bits are not those of the schedule's expression";
        }
    }
    tutti_exchange_destroy(b.x);
    for (int k = 0; k < b.nin; k++) tutti_region_destroy(b.in[k]);
    tutti_region_destroy(b.out);
    return words;
}

/* Counts of every kind: none at all, one rank has everything, few, many. */
static int64_t draw_counts(int64_t *counts, int nblocks, unsigned seed)
{
    int64_t n = 0;
    for (int b = 0; b < nblocks; b++) {
        const uint32_t word = tutti_random(seed, TUTTI_STREAM_TEST, (uint64_t)b, 1).word[0];
        counts[b] = word % 3 == 0 ? 0 : word / 3 % (seed % 2 ? 5 : 150);
        n += counts[b];
    }
    return n;
}

typedef struct {
    const char *algorithm;
    tutti_compile_request q;
    tutti_dtype type;
    tutti_operation op;
    unsigned turn; /* decides length, counts, windows */
    int32_t delay_us;
} wanted_case;

static int blocks_of(const tutti_compile_request *q)
{
    return q->collective == TUTTI_ALL_TO_ALL ? q->nranks * q->nranks : q->nranks;
}

/* false: the algorithm refuses this request. */
static bool run_wanted(const wanted_case *w)
{
    tutti_schedule *compiled = NULL;
    tutti_failure err = {0};
    if (tutti_schedule_compile(w->algorithm, &w->q, &compiled, &err)) return false;
    type_case *c = calloc(1, sizeof *c);
    if (tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, &c->lowered, &err))
        fail_msg("%s: %s", w->algorithm, err.text);
    const int p = w->q.nranks, nblocks = blocks_of(&w->q);
    const int64_t lengths[] = {0, 1, p - 1, p, p + 1, 211};
    int64_t counts[256], n = lengths[w->turn % 6];
    const bool uneven = w->turn / 2 % 2;
    if (uneven) n = draw_counts(counts, nblocks, w->turn);
    c->windows = w->turn / 3 % 2 && !w->q.in_place;
    c->delay_us = w->delay_us, c->seed = w->turn;
    for (int e = 0; e < INVOCATIONS; e++) {
        reference_run *r = &c->run[e];
        r->schedule = c->lowered, r->type = w->type, r->op = w->op;
        r->n = n, r->counts = uneven ? counts : NULL, r->nblocks = nblocks;
    }
    prepare(c);
    run_ranks(p, 30, run_type, c);
    for (int e = 0; e < INVOCATIONS; e++) reference_close(&c->run[e]);
    tutti_schedule_destroy(c->lowered), tutti_schedule_destroy(compiled);
    free(c);
    return true;
}

static void every_type_and_operation_has_the_bits_of_its_schedule(void **state)
{
    (void)state;
    const bool all = getenv("TUTTI_LONG") != NULL;
    unsigned turn = 0;
    for (int a = 0; a < tutti_algorithm_count(); a++)
        for (int t = 0; t < TUTTI_NDTYPES; t++)
            for (int op = 0; op < TUTTI_NOPERATIONS; op++) {
                int wanted = all ? 1 << 20 : 1;
                for (int k = 0; k < 4 * 2 * TUTTI_NCOLLECTIVES && wanted; k++, turn++) {
                    const int at = all ? k : (int)turn; /* a walk goes on where it was */
                    wanted_case w = {.algorithm = tutti_algorithm_at(a)->name, .turn = turn + (unsigned)op};
                    w.type = (tutti_dtype)t, w.op = (tutti_operation)op;
                    w.q.nranks = 2 + at % 4, w.q.in_place = at / 4 % 2;
                    w.q.collective = (tutti_collective)(at / 8 % TUTTI_NCOLLECTIVES);
                    w.q.root = tutti_collective_has_root(w.q.collective) ? w.q.nranks / 2 : 0;
                    if (tutti_collective_reduces(w.q.collective) && !tutti_can_reduce(w.type, w.op)) continue;
                    if (run_wanted(&w)) wanted--;
                }
            }
    assert_true(turn > 0);
}

static void canonical_sums_have_the_bits_of_their_schedule(void **state)
{
    (void)state;
    int served = 0;
    for (int a = 0; a < tutti_algorithm_count(); a++)
        for (int p = 2; p <= 5; p++) {
            wanted_case w = {.algorithm = tutti_algorithm_at(a)->name, .turn = (unsigned)(5 + p)};
            w.q = (tutti_compile_request){.collective = TUTTI_ALLREDUCE, .nranks = p, .slots = 8};
            w.type = p % 2 ? TUTTI_BF16 : TUTTI_F64, w.op = p % 3 ? TUTTI_SUM : TUTTI_AVG;
            served += run_wanted(&w);
        }
    assert_true(served > 0);
}

static void delays_of_random_steps_change_no_bit(void **state)
{
    (void)state;
    int served = 0;
    for (int a = 0; a < tutti_algorithm_count(); a++)
        for (int p = 3; p <= 5; p += 2) {
            wanted_case w = {.algorithm = tutti_algorithm_at(a)->name, .turn = (unsigned)(11 + p), .delay_us = 300};
            w.q = (tutti_compile_request){.collective = (tutti_collective)(a % 2), .nranks = p};
            w.type = TUTTI_F32, w.op = TUTTI_SUM;
            served += run_wanted(&w);
        }
    assert_true(served > 0);
}

/* --- refusals --- */

static const char *refused(tutti_group *g, tutti_schedule *lowered, const tutti_exchange_binding *binding,
                           tutti_status status, const char *here, const char *there)
{
    tutti_failure err = {0};
    tutti_exchange *x;
    EXPECT(tutti_exchange_create(g, lowered, binding, &x, &err) == status);
    EXPECT(strstr(err.text, here) && strstr(err.text, there));
    return NULL;
}

static const char *refusal_body(tutti_group *g, void *arg)
{
    tutti_failure err = {0};
    tutti_region *region;
    const int me = tutti_group_rank(g);
    EXPECT(!tutti_region_create(g, "data", 8192, &region, &err));
    const tutti_place place = {region, 0};
    const int64_t counts[2] = {30, 70}, other[2] = {31, 69}, few[2] = {30, 30};
    const tutti_exchange_binding good = {.name = "test", .n = 100, .in = &place, .nin = 1, .out = {region, 4096}};
    tutti_exchange_binding b = good;
    b.type = me ? TUTTI_F64 : TUTTI_I64;
    const char *words = refused(g, arg, &b, TUTTI_ERR_RENDEZVOUS, "f64 sum", "i64 sum");
    b = good, b.op = me ? TUTTI_MAX : TUTTI_PROD;
    if (!words) words = refused(g, arg, &b, TUTTI_ERR_RENDEZVOUS, "f32 max", "f32 prod");
    b = good, b.counts = me ? counts : other;
    if (!words) words = refused(g, arg, &b, TUTTI_ERR_RENDEZVOUS, "counts 30 70", "counts 31 69");
    b.counts = few;
    if (!words) words = refused(g, arg, &b, TUTTI_ERR_USAGE, "add up to 60", "100");
    b = good, b.type = TUTTI_U8;
    if (!words) words = refused(g, arg, &b, TUTTI_ERR_USAGE, "u8 is moved", "sum");
    tutti_region_destroy(region);
    return words;
}

static void ranks_that_disagree_on_type_operation_or_counts_are_refused(void **state)
{
    (void)state;
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 2};
    tutti_schedule *compiled, *lowered;
    tutti_failure err = {0};
    assert_int_equal(tutti_schedule_compile("direct", &q, &compiled, &err), TUTTI_OK);
    assert_int_equal(tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, &lowered, &err), TUTTI_OK);
    run_ranks(2, 30, refusal_body, lowered);
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_operation_has_the_bits_of_its_schedule),
        cmocka_unit_test(canonical_sums_have_the_bits_of_their_schedule),
        cmocka_unit_test(delays_of_random_steps_change_no_bit),
        cmocka_unit_test(ranks_that_disagree_on_type_operation_or_counts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
