/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_threads.c: the public calls between threads: every collective on plain memory and on allocated memory, even
 * and uneven, in place, in pieces, several in flight. Whole numbers, so that the sums are exact and == is the test. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "collective/compile/algorithms.h"
#include "comm_ranks.h"
#include "tutti/compile.h"

typedef struct {
    tutti_call call; /* counts, count, type, algorithm */
    bool allocated, in_place;
    int repeats;
} wanted;

static int blocks_of(tutti_collective c, int p)
{
    if (c == TUTTI_ALL_TO_ALL) return p * p;
    return c == TUTTI_REDUCE_SCATTER || c == TUTTI_ALL_GATHER || c == TUTTI_GATHER ? p : 1;
}

static int64_t count_of(const tutti_call *c, int k)
{
    return c->counts ? c->counts[k] : c->count;
}

static int64_t before(const tutti_call *c, int k)
{
    int64_t n = 0;
    for (int i = 0; i < k; i++) n += count_of(c, i);
    return n;
}

/* What rank r has at index i of the collective's index space in round e. */
static int value(int r, int64_t i, int e)
{
    return (r + 1) * 3 + (int)(i % 11) + e;
}

static void put(tutti_dtype type, void *at, int64_t i, int v)
{
    if (type == TUTTI_I64)
        ((int64_t *)at)[i] = v;
    else if (type == TUTTI_F64)
        ((double *)at)[i] = v;
    else
        ((float *)at)[i] = (float)v;
}

static double get(tutti_dtype type, const void *at, int64_t i)
{
    if (type == TUTTI_I64) return (double)((const int64_t *)at)[i];
    return type == TUTTI_F64 ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

static double sum_of(int p, int64_t i, int e)
{
    double sum = 0;
    for (int r = 0; r < p; r++) sum += value(r, i, e);
    return sum;
}

/* Fills this rank's input (at `in`) with its values. */
static void fill(const wanted *w, int p, int me, void *in, int e)
{
    const tutti_call *c = &w->call;
    int64_t first = 0, n = before(c, blocks_of(c->collective, p));
    if (c->collective == TUTTI_ALL_GATHER || c->collective == TUTTI_GATHER) first = before(c, me), n = count_of(c, me);
    if (c->collective == TUTTI_ALL_TO_ALL) first = before(c, me * p), n = before(c, me * p + p) - first;
    for (int64_t i = 0; i < n; i++) put(c->type, in, i, value(me, first + i, e));
}

static const char *check_run(tutti_dtype type, const void *out, int64_t at, int64_t n, int p, int from, int64_t first,
                             int e)
{
    for (int64_t i = 0; i < n; i++) {
        const double want = from < 0 ? sum_of(p, first + i, e) : value(from, first + i, e);
        if (get(type, out, at + i) != want) return "an element is wrong";
    }
    return NULL;
}

static const char *check(const wanted *w, int p, int me, const void *out, int e)
{
    const tutti_call *c = &w->call;
    const char *words = NULL;
    int64_t at = 0;
    switch (c->collective) {
    case TUTTI_ALLREDUCE: return check_run(c->type, out, 0, c->count, p, -1, 0, e);
    case TUTTI_REDUCE: return me != c->root ? NULL : check_run(c->type, out, 0, c->count, p, -1, 0, e);
    case TUTTI_BROADCAST: return check_run(c->type, out, 0, c->count, p, c->root, 0, e);
    case TUTTI_REDUCE_SCATTER: return check_run(c->type, out, 0, count_of(c, me), p, -1, before(c, me), e);
    case TUTTI_ALL_TO_ALL:
        for (int i = 0; i < p && !words; i++) {
            words = check_run(c->type, out, at, count_of(c, i * p + me), p, i, before(c, i * p + me), e);
            at += count_of(c, i * p + me);
        }
        return words;
    default:
        if (c->collective == TUTTI_GATHER && me != c->root) return NULL;
        for (int r = 0; r < p && !words; r++)
            words = check_run(c->type, out, before(c, r), count_of(c, r), p, r, before(c, r), e);
        return words;
    }
}

static const char *run_wanted(tutti_comm *comm, void *arg)
{
    wanted w = *(wanted *)arg;
    tutti_failure err = {0};
    const int p = tutti_comm_size(comm), me = tutti_comm_rank(comm);
    const tutti_collective c = w.call.collective;
    const size_t bytes = tutti_dtype_bytes(w.call.type);
    const size_t room = (size_t)before(&w.call, blocks_of(c, p)) * bytes + 64;
    char *in = NULL, *out = NULL;
    if (w.allocated) {
        EXPECT(!tutti_comm_alloc(comm, room, (void **)&in, &err));
        EXPECT(!tutti_comm_alloc(comm, room, (void **)&out, &err));
    } else {
        in = aligned_alloc(64, (room + 127) / 64 * 64), out = aligned_alloc(64, (room + 127) / 64 * 64);
    }
    const size_t shift = w.allocated ? 16 : 8 * (size_t)me; /* plain memory: other addresses on each rank */
    w.call.in = in + shift, w.call.out = w.in_place ? in + shift : out + shift;
    if (w.in_place && c == TUTTI_ALL_GATHER) w.call.in = in + shift + (size_t)before(&w.call, me) * bytes;
    if (w.in_place && c == TUTTI_REDUCE_SCATTER) w.call.out = in + shift + (size_t)before(&w.call, me) * bytes;
    for (int e = 0; e < w.repeats; e++) {
        fill(&w, p, me, (void *)(uintptr_t)w.call.in, e);
        EXPECT(!tutti_comm_run(comm, &w.call, &err));
        const char *words = check(&w, p, me, w.call.out, e);
        if (words) return words;
    }
    EXPECT(!tutti_comm_barrier(comm, &err));
    if (w.allocated) {
        EXPECT(!tutti_comm_free(comm, in, &err) && !tutti_comm_free(comm, out, &err));
    } else {
        free(in), free(out);
    }
    return NULL;
}

static const tutti_dtype types[] = {TUTTI_F32, TUTTI_I64, TUTTI_F64};

static bool is_served(int collective)
{
    for (int a = 0; a < tutti_algorithm_count(); a++)
        if (tutti_algorithm_at(a)->collectives >> collective & 1) return true;
    return false;
}

static void every_collective_gives_the_right_elements(void **state)
{
    (void)state;
    const int64_t lengths[] = {0, 1, 5, 1000, 257};
    for (int p = 1; p <= 5; p++)
        for (int c = 0; c < TUTTI_BARRIER; c++)
            for (int kind = 0; kind < 4; kind++) {
                wanted w = {.allocated = kind & 1, .in_place = kind & 2, .repeats = 3};
                w.call.collective = (tutti_collective)c, w.call.type = types[(p + c + kind) % 3];
                w.call.count = lengths[(p + c + kind) % 5];
                w.call.root = tutti_collective_has_root(w.call.collective) ? p / 2 : 0;
                if (!is_served(c)) continue;
                if (w.in_place && (c == TUTTI_ALL_TO_ALL || c == TUTTI_GATHER)) continue;
                run_comms(p, 30, run_wanted, &w);
            }
}

static void test_f33_ranks_may_have_different_counts(void **state)
{
    (void)state;
    const int64_t counts[] = {3, 0, 700, 1, 20, 0, 0, 5, 9};
    const tutti_collective which[] = {TUTTI_REDUCE_SCATTER, TUTTI_ALL_GATHER, TUTTI_GATHER, TUTTI_ALL_TO_ALL};
    for (int c = 0; c < 4; c++)
        for (int kind = 0; kind < 2; kind++) {
            wanted w = {.allocated = kind, .repeats = 2};
            w.call.collective = which[c], w.call.type = types[c % 3], w.call.counts = counts;
            run_comms(3, 30, run_wanted, &w);
            run_comms(1, 30, run_wanted, &w);
        }
}

static void long_vectors_go_in_pieces(void **state)
{
    (void)state;
    for (int c = 0; c < TUTTI_BARRIER; c++) {
        wanted w = {.repeats = 2};
        if (!is_served(c)) continue;
        w.call.collective = (tutti_collective)c, w.call.type = TUTTI_F32, w.call.count = 300001;
        run_comms(2, 30, run_wanted, &w);
        w.call.algorithm = "direct";
        if (c == TUTTI_ALLREDUCE) run_comms(3, 30, run_wanted, &w);
    }
}

/* Bytes, because they are the smallest elements; each rank needs 2 GiB. */
static const char *many_body(tutti_comm *comm, void *arg)
{
    const int64_t n = ((int64_t)1 << 31) + 1, at[] = {0, 1, n / 2, n - 2, n - 1};
    tutti_failure err = {0};
    const bool sends = tutti_comm_rank(comm) == 1;
    uint8_t *bytes = malloc((size_t)n);
    (void)arg;
    EXPECT(bytes);
    memset(bytes, sends ? 7 : 0, (size_t)n);
    for (int i = 0; sends && i < 5; i++) bytes[at[i]] = (uint8_t)(i + 20);
    EXPECT(!tutti_comm_broadcast(comm, bytes, n, TUTTI_U8, 1, &err));
    for (int i = 0; i < 5; i++) EXPECT(bytes[at[i]] == i + 20);
    EXPECT(bytes[n - 3] == 7 && bytes[n / 3] == 7);
    free(bytes);
    return NULL;
}

static void test_f33_more_elements_than_fit_into_31_bits_arrive(void **state)
{
    (void)state;
    if (!getenv("TUTTI_LONG")) skip();
    run_comms(2, 300, many_body, NULL);
}

/* avg divides at the end, argmax has larger elements: on plain memory that is read where it lies, on staged and on
 * mapped. */
static const char *operations_body(tutti_comm *comm, void *arg)
{
    enum { N = 200003 };
    tutti_failure err = {0};
    const int p = tutti_comm_size(comm), me = tutti_comm_rank(comm);
    (void)arg;
    for (int path = 0; path < 3; path++) {
        const size_t bytes = N * sizeof(tutti_f64_at);
        char *memory = NULL;
        if (path == 2)
            EXPECT(!tutti_comm_alloc(comm, 2 * bytes, (void **)&memory, &err));
        else
            memory = malloc(2 * bytes);
        double *x = (double *)(void *)memory, *y = (double *)(void *)(memory + bytes);
        tutti_f64_at *at = (tutti_f64_at *)(void *)memory, *best = (tutti_f64_at *)(void *)(memory + bytes);
        tutti_call call = {.in = memory, .out = memory + bytes, .count = N, .type = TUTTI_F64, .op = TUTTI_AVG};
        call.algorithm = path == 1 ? "ring" : NULL;
        for (int i = 0; i < N; i++) x[i] = value(me, i, 0);
        EXPECT(!tutti_comm_run(comm, &call, &err));
        for (int i = 0; i < N; i++) EXPECT(y[i] == sum_of(p, i, 0) / p);
        call.op = TUTTI_ARGMAX;
        for (int i = 0; i < N; i++) at[i] = (tutti_f64_at){(me + i) % p, me};
        EXPECT(!tutti_comm_run(comm, &call, &err));
        for (int i = 0; i < N; i++) EXPECT(best[i].value == p - 1 && best[i].index == (2 * p - 1 - i % p) % p);
        if (path < 2) free(memory);
    }
    EXPECT(!tutti_comm_barrier(comm, &err));
    return NULL;
}

static void operations_are_the_same_on_every_path(void **state)
{
    (void)state;
    run_comms(3, 30, operations_body, NULL);
}

/* --- requests --- */

static const char *crossed_body(tutti_comm *comm, void *arg)
{
    enum { CALLS = 4, N = 200000 };
    tutti_failure err = {0};
    tutti_request *q[CALLS];
    float *in[CALLS], *out[CALLS];
    const int p = tutti_comm_size(comm), me = tutti_comm_rank(comm);
    const char *const algorithms[CALLS] = {NULL, "direct", NULL, "ring"};
    (void)arg;
    for (int k = 0; k < CALLS; k++) {
        in[k] = malloc(N * sizeof(float)), out[k] = malloc(N * sizeof(float));
        const tutti_call call = {.in = in[k], .out = out[k], .count = N - k, .algorithm = algorithms[k]};
        EXPECT(!tutti_comm_prepare(comm, &call, &q[k], &err));
    }
    for (int e = 0; e < 3; e++) {
        for (int k = 0; k < CALLS; k++) {
            for (int i = 0; i < N; i++) in[k][i] = (float)value(me, i, e + k);
            EXPECT(!tutti_request_start(q[k], &err));
        }
        for (int k = 0; k < CALLS; k++) {
            const int at = me % 2 ? CALLS - 1 - k : k; /* waited for in opposite orders */
            bool done = false;
            EXPECT(!tutti_request_test(q[at], &done, &err));
            EXPECT(!tutti_request_wait(q[at], &err));
            EXPECT(!tutti_request_test(q[at], &done, &err) && done);
        }
        for (int k = 0; k < CALLS; k++)
            for (int i = 0; i < N - k; i += 17) EXPECT(out[k][i] == (float)sum_of(p, i, e + k));
    }
    for (int k = 0; k < CALLS; k++) tutti_request_free(q[k]), free(in[k]), free(out[k]);
    return NULL;
}

static void requests_in_flight_may_be_waited_for_in_any_order(void **state)
{
    (void)state;
    run_comms(2, 30, crossed_body, NULL);
    run_comms(3, 30, crossed_body, NULL);
}

/* --- refusals --- */

typedef struct {
    tutti_call odd, even;
    const char *here, *there;
    bool known; /* both kinds of call were made before, so that nothing is agreed upon any more */
} mismatch;

static const char *mismatch_body(tutti_comm *comm, void *arg)
{
    const mismatch *m = arg;
    tutti_failure err = {0};
    float in[512] = {0}, out[512];
    tutti_call calls[2] = {m->even, m->odd};
    for (int k = 0; k < 2; k++) calls[k].in = in, calls[k].out = out;
    for (int k = 0; k < 2 && m->known; k++) EXPECT(!tutti_comm_run(comm, &calls[k], &err));
    EXPECT(tutti_comm_run(comm, &calls[tutti_comm_rank(comm) % 2], &err) == TUTTI_ERR_RENDEZVOUS);
    EXPECT(strstr(err.text, m->here) && strstr(err.text, m->there));
    return NULL;
}

static void ranks_that_disagree_are_shown_both_calls(void **state)
{
    (void)state;
    const tutti_call base = {.count = 100};
    mismatch m[] = {
        {base, base, "allreduce of 100 f32", "allreduce of 101 f32", false},
        {base, base, "100 f32", "100 i32", false},
        {base, base, "sum", "max", false},
        {base, base, "allreduce", "all-gather", false},
        {base, base, "algorithm ring", "algorithm auto", false},
    };
    m[0].even.count = 101, m[1].even.type = TUTTI_I32, m[2].even.op = TUTTI_MAX;
    m[3].even.collective = TUTTI_ALL_GATHER, m[4].even.algorithm = "ring";
    for (int k = 0; k < 5; k++)
        for (int known = 0; known < 2; known++) {
            m[k].known = known;
            run_comms(3, 10, mismatch_body, &m[k]);
        }
}

static const char *bad_calls_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    float data[8] = {0};
    (void)arg;
    tutti_call call = {.in = data, .out = data + 4, .count = 4, .type = TUTTI_U8};
    EXPECT(tutti_comm_run(comm, &call, &err) == TUTTI_ERR_USAGE && strstr(err.text, "u8"));
    call.type = TUTTI_F32, call.count = -1;
    EXPECT(tutti_comm_run(comm, &call, &err) == TUTTI_ERR_USAGE && strstr(err.text, "count"));
    call.count = 4, call.in = NULL;
    EXPECT(tutti_comm_run(comm, &call, &err) == TUTTI_ERR_USAGE && strstr(err.text, "memory"));
    call.in = (char *)data + 1;
    EXPECT(tutti_comm_run(comm, &call, &err) == TUTTI_ERR_USAGE && strstr(err.text, "multiple"));
    call.in = data, call.algorithm = "rign";
    EXPECT(tutti_comm_run(comm, &call, &err) == TUTTI_ERR_USAGE && strstr(err.text, "ring"));
    call.algorithm = NULL, call.root = 7, call.collective = TUTTI_BROADCAST;
    EXPECT(tutti_comm_run(comm, &call, &err) == TUTTI_ERR_USAGE && strstr(err.text, "root"));
    call.root = 0, call.collective = TUTTI_ALLREDUCE; /* and after all that it still works */
    EXPECT(!tutti_comm_run(comm, &call, &err));
    char name[8] = "auto"; /* and in the same place another name */
    call.algorithm = name;
    EXPECT(!tutti_comm_run(comm, &call, &err) && !tutti_comm_run(comm, &call, &err));
    strcpy(name, "rign");
    EXPECT(tutti_comm_run(comm, &call, &err) == TUTTI_ERR_USAGE && strstr(err.text, "ring"));
    strcpy(name, "ring");
    EXPECT(!tutti_comm_run(comm, &call, &err));
    strcpy(name, "auto");
    EXPECT(!tutti_comm_run(comm, &call, &err));
    return NULL;
}

static void bad_calls_are_refused_and_leave_the_communicator_whole(void **state)
{
    (void)state;
    run_comms(2, 10, bad_calls_body, NULL);
}

static const char *late_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    float in[4] = {1, 2, 3, 4}, out[4];
    int culprit = 7;
    (void)arg;
    EXPECT(!tutti_comm_allreduce(comm, in, out, 4, TUTTI_F32, TUTTI_SUM, &err));
    const tutti_call call = {.in = in, .out = out, .count = 4, .deadline_s = 0.1};
    if (tutti_comm_rank(comm) == 1) { /* never calls; hears of it in its next call, or gives up */
        while (!tutti_comm_failure(comm, NULL, NULL))
            if (tutti_comm_barrier(comm, &err)) break;
        return NULL;
    }
    if (tutti_comm_rank(comm) == 0) {
        EXPECT(tutti_comm_run(comm, &call, &err) != TUTTI_OK);
        EXPECT(tutti_comm_failure(comm, &culprit, &err) != TUTTI_OK && culprit == -1);
        EXPECT(tutti_comm_run(comm, &call, &err) != TUTTI_OK);
    }
    return NULL;
}

static void a_failure_stays(void **state)
{
    (void)state;
    run_comms(2, 10, late_body, NULL);
}

static const char *aborted_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    float in[4] = {1}, out[4];
    (void)arg;
    if (tutti_comm_rank(comm) == 0) {
        tutti_comm_abort(comm, "had enough");
    } else {
        EXPECT(tutti_comm_allreduce(comm, in, out, 4, TUTTI_F32, TUTTI_SUM, &err) == TUTTI_ERR_PEER);
        EXPECT(strstr(err.text, "had enough"));
    }
    return NULL;
}

static void an_abort_ends_everybodys_calls(void **state)
{
    (void)state;
    run_comms(3, 10, aborted_body, NULL);
}

/* --- schedules of one's own --- */

static const char *own_schedule_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    const char *text = arg;
    float in[64], out[64];
    for (int i = 0; i < 64; i++) in[i] = (float)value(tutti_comm_rank(comm), i, 0);
    EXPECT(!tutti_comm_add_schedule(comm, "mine", text, strlen(text), &err));
    const tutti_call call = {.in = in, .out = out, .count = 64, .algorithm = "mine"};
    EXPECT(!tutti_comm_run(comm, &call, &err));
    for (int i = 0; i < 64; i++) EXPECT(out[i] == (float)sum_of(2, i, 0));
    EXPECT(tutti_comm_add_schedule(comm, "mine", text, strlen(text), &err) == TUTTI_ERR_USAGE);
    char *broken = malloc(strlen(text) + 1);
    memcpy(broken, text, strlen(text) + 1);
    char *adds = strstr(broken, "s0[0/2] in[0/2]");
    EXPECT(adds);
    memcpy(adds + 8, "s0", 2); /* rank 1's part twice, its own not at all */
    EXPECT(tutti_comm_add_schedule(comm, "broken", broken, strlen(broken), &err) == TUTTI_ERR_FAILED);
    EXPECT(strstr(err.text, "schedule 'broken'") && strstr(err.text, "twice"));
    free(broken);
    char *words = tutti_comm_explain(comm, &call);
    EXPECT(strstr(words, "mine, as the call says") && strstr(words, "plain memory"));
    free(words);
    return NULL;
}

static void a_schedule_of_ones_own_is_proved_and_run(void **state)
{
    (void)state;
    tutti_schedule *s;
    tutti_failure err = {0};
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 2};
    assert_int_equal(tutti_schedule_compile("ring", &q, &s, &err), TUTTI_OK);
    char *text = tutti_schedule_print(s);
    run_comms(2, 10, own_schedule_body, text);
    free(text);
    tutti_schedule_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_gives_the_right_elements),
        cmocka_unit_test(test_f33_ranks_may_have_different_counts),
        cmocka_unit_test(test_f33_more_elements_than_fit_into_31_bits_arrive),
        cmocka_unit_test(long_vectors_go_in_pieces),
        cmocka_unit_test(operations_are_the_same_on_every_path),
        cmocka_unit_test(requests_in_flight_may_be_waited_for_in_any_order),
        cmocka_unit_test(ranks_that_disagree_are_shown_both_calls),
        cmocka_unit_test(bad_calls_are_refused_and_leave_the_communicator_whole),
        cmocka_unit_test(a_failure_stays),
        cmocka_unit_test(an_abort_ends_everybodys_calls),
        cmocka_unit_test(a_schedule_of_ones_own_is_proved_and_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
