/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_misuse_threads.c: calls that are wrong in every way that we could think of: refused with words, never a
 * crash, never a hang, and afterwards the communicator is whole. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "comm_ranks.h"

/* --- deadlines --- */

/* Rank 1 makes no call for a while. Rank 0 has not made one of its kind before, so that it waits in the making of
 * it. */
static const char *first_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    float in[4] = {1, 2, 3, 4}, out[4];
    tutti_request *q;
    const tutti_call call = {.in = in, .out = out, .count = 4, .deadline_s = 0.2};
    const bool prepares = *(const bool *)arg;
    if (tutti_comm_rank(comm) == 1) {
        tutti_clock_sleep_s(1);
        return NULL;
    }
    const double begin = tutti_clock_s();
    EXPECT((prepares ? tutti_comm_prepare(comm, &call, &q, &err) : tutti_comm_run(comm, &call, &err)) ==
           TUTTI_ERR_PEER);
    EXPECT(strstr(err.text, "0.2 s") && tutti_clock_s() - begin < 0.9);
    return NULL;
}

static void the_deadline_of_a_call_holds_for_the_first_of_its_kind(void **state)
{
    (void)state;
    for (int prepares = 0; prepares < 2; prepares++) run_comms(2, 20, first_body, &(bool){prepares});
}

/* It is that call's alone. */
static const char *restored_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    float in[4] = {1, 2, 3, 4}, out[4];
    const tutti_call call = {.in = in, .out = out, .count = 4, .deadline_s = 0.3};
    (void)arg;
    EXPECT(!tutti_comm_run(comm, &call, &err));
    if (tutti_comm_rank(comm) == 1) tutti_clock_sleep_s(0.6);
    EXPECT(!tutti_comm_barrier(comm, &err));
    return NULL;
}

static void a_deadline_ends_with_its_call(void **state)
{
    (void)state;
    run_comms(2, 20, restored_body, NULL);
}

/* --- arguments --- */

static const char *absent_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    float x[4] = {0};
    bool done = true;
    tutti_request *q;
    const tutti_call call = {.in = x, .out = x, .count = 4};
    (void)arg;
    EXPECT(tutti_comm_run(comm, NULL, &err) == TUTTI_ERR_USAGE && strstr(err.text, "no call"));
    EXPECT(tutti_comm_prepare(comm, NULL, &q, &err) == TUTTI_ERR_USAGE && strstr(err.text, "no call"));
    EXPECT(tutti_comm_run(NULL, &call, &err) == TUTTI_ERR_USAGE && strstr(err.text, "no communicator"));
    EXPECT(tutti_comm_create(NULL, &(tutti_comm *){NULL}, &err) == TUTTI_ERR_USAGE);
    EXPECT(tutti_comm_add_schedule(comm, NULL, "x", 1, &err) == TUTTI_ERR_USAGE && strstr(err.text, "no name"));
    EXPECT(tutti_comm_add_schedule(comm, "x", NULL, 0, &err) == TUTTI_ERR_USAGE && strstr(err.text, "no text"));
    EXPECT(tutti_request_start(NULL, &err) == TUTTI_ERR_USAGE && tutti_request_wait(NULL, &err) == TUTTI_ERR_USAGE);
    EXPECT(tutti_request_test(NULL, &done, &err) == TUTTI_ERR_USAGE && !done);
    EXPECT(tutti_comm_free(comm, NULL, &err) == TUTTI_ERR_USAGE && tutti_comm_free(comm, x, &err) == TUTTI_ERR_USAGE);
    EXPECT(tutti_comm_forget(comm, NULL, &err) == TUTTI_ERR_USAGE);
    EXPECT(strstr(tutti_comm_describe(comm, -1), "no rank") && strstr(tutti_comm_describe(comm, 99), "no rank"));
    char *words[] = {tutti_comm_explain(comm, &(tutti_call){.count = -1}), tutti_comm_explain(comm, NULL),
                     tutti_comm_explain(NULL, &call)};
    for (int i = 0; i < 3; i++) {
        EXPECT(strstr(words[i], "refused: "));
        free(words[i]);
    }
    tutti_request_free(NULL), tutti_comm_destroy(NULL);
    EXPECT(!tutti_comm_run(comm, &call, &err)); /* and after all that it still works */
    return NULL;
}

static void what_is_not_there_is_refused(void **state)
{
    (void)state;
    run_comms(2, 20, absent_body, NULL);
}

typedef struct {
    tutti_collective collective;
    int64_t count;
    int in, out; /* elements from the beginning, beside 4 in place for each rank before */
    bool good;
} overlap;

static const char *overlap_body(tutti_comm *comm, void *arg)
{
    const overlap cases[] = {
        {TUTTI_ALLREDUCE, 16, 0, 0, true},      {TUTTI_ALLREDUCE, 16, 0, 1, false},
        {TUTTI_ALLREDUCE, 16, 15, 0, false},    {TUTTI_ALLREDUCE, 16, 0, 16, true},
        {TUTTI_ALLREDUCE, 16, 16, 0, true},     {TUTTI_REDUCE, 16, 0, 8, false},
        {TUTTI_REDUCE_SCATTER, 4, 0, 6, false}, {TUTTI_REDUCE_SCATTER, 4, 0, 12, true},
        {TUTTI_ALL_GATHER, 4, 1, 0, false},     {TUTTI_ALL_GATHER, 4, 12, 0, true},
        {TUTTI_ALL_TO_ALL, 4, 0, 4, false},     {TUTTI_ALL_TO_ALL, 4, 0, 0, false},
        {TUTTI_ALL_TO_ALL, 4, 0, 12, true},
    };
    tutti_failure err = {0};
    (void)arg;
    for (int allocated = 0; allocated < 2; allocated++) {
        float *x = calloc(64, sizeof *x);
        if (allocated) {
            free(x);
            EXPECT(!tutti_comm_alloc(comm, 64 * sizeof *x, (void **)&x, &err));
        }
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const overlap *o = &cases[i];
            const tutti_call call = {
                .collective = o->collective, .in = x + o->in, .out = x + o->out, .count = o->count};
            const bool owes = o->collective != TUTTI_REDUCE || tutti_comm_rank(comm) == 0;
            if (!owes) continue;
            const tutti_status s = tutti_comm_run(comm, &call, &err);
            if (o->good) EXPECT(!s);
            if (!o->good) EXPECT(s == TUTTI_ERR_USAGE);
        }
        EXPECT(!tutti_comm_barrier(comm, &err));
        if (!allocated) free(x);
    }
    return NULL;
}

static void input_and_output_that_overlap_are_refused(void **state)
{
    (void)state;
    run_comms(3, 20, overlap_body, NULL);
}

/* What nobody has is said as what it is. */
static const char *huge_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    void *memory = NULL;
    float x[4] = {0};
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2, (size_t)1 << 62};
    (void)arg;
    for (int i = 0; i < 4; i++) {
        EXPECT(tutti_comm_alloc(comm, sizes[i], &memory, &err) == TUTTI_ERR_FAILED);
        EXPECT(strstr(err.text, "needs ") && !strstr(err.text, "needs 0.0 MB"));
    }
    const int64_t counts[] = {INT64_MAX, INT64_MAX / 4, (int64_t)1 << 60, INT64_MIN, -1};
    for (int i = 0; i < 5; i++) {
        const tutti_call call = {.in = x, .out = x, .count = counts[i]};
        EXPECT(tutti_comm_run(comm, &call, &err) == TUTTI_ERR_USAGE && strstr(err.text, "out of range"));
    }
    EXPECT(!tutti_comm_barrier(comm, &err));
    return NULL;
}

static void sizes_that_nobody_has_are_refused(void **state)
{
    (void)state;
    run_comms(2, 20, huge_body, NULL);
}

/* --- lives that end in another order --- */

static const char *orphan_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    float in[4] = {1, 2, 3, 4}, out[4];
    tutti_request **kept = (tutti_request **)arg + tutti_comm_rank(comm);
    const tutti_call call = {.in = in, .out = out, .count = 4};
    EXPECT(!tutti_comm_prepare(comm, &call, kept, &err));
    EXPECT(!tutti_request_start(*kept, &err) && !tutti_request_wait(*kept, &err));
    return NULL;
}

static void test_f40_a_request_that_outlives_its_communicator_is_refused(void **state)
{
    (void)state;
    tutti_request *kept[2];
    tutti_failure err = {0};
    bool done;
    run_comms(2, 20, orphan_body, kept);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(tutti_request_start(kept[r], &err), TUTTI_ERR_USAGE);
        assert_non_null(strstr(err.text, "has been destroyed"));
        assert_int_equal(tutti_request_wait(kept[r], &err), TUTTI_ERR_USAGE);
        assert_int_equal(tutti_request_test(kept[r], &done, &err), TUTTI_ERR_USAGE);
        tutti_request_free(kept[r]);
    }
}

static const char *twice_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    float in[4] = {1, 2, 3, 4}, out[4];
    tutti_request *q;
    const tutti_call call = {.in = in, .out = out, .count = 4};
    (void)arg;
    EXPECT(!tutti_comm_prepare(comm, &call, &q, &err));
    EXPECT(!tutti_request_start(q, &err));
    const tutti_status s = tutti_request_start(q, &err); /* it may be done already, but nobody has looked */
    EXPECT(s == TUTTI_ERR_USAGE && strstr(err.text, "in flight already"));
    EXPECT(!tutti_request_wait(q, &err) && !tutti_request_wait(q, &err));
    tutti_request_free(q);
    return NULL;
}

static void a_request_in_flight_is_not_started_again(void **state)
{
    (void)state;
    run_comms(2, 20, twice_body, NULL);
}

/* A second thread of a rank calls while the first one is inside: rank 0 comes late, so rank 1 waits for it. */
static void *intrude(void *arg)
{
    tutti_failure err = {0};
    tutti_clock_sleep_s(0.2);
    const tutti_status s = tutti_comm_barrier(arg, &err);
    return s == TUTTI_ERR_USAGE && strstr(err.text, "another thread") ? arg : NULL;
}

static const char *intruded_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    pthread_t other;
    void *refused = NULL;
    (void)arg;
    EXPECT(!tutti_comm_barrier(comm, &err));
    if (tutti_comm_rank(comm) == 0) tutti_clock_sleep_s(0.6);
    EXPECT(tutti_comm_rank(comm) == 0 || !pthread_create(&other, NULL, intrude, comm));
    EXPECT(!tutti_comm_barrier(comm, &err));
    if (tutti_comm_rank(comm) == 1) pthread_join(other, &refused);
    EXPECT(tutti_comm_rank(comm) == 0 || refused);
    return NULL;
}

static void test_f40_a_second_thread_in_a_call_is_refused(void **state)
{
    (void)state;
    run_comms(2, 20, intruded_body, NULL);
}

/* --- made by chance --- */

static uint32_t roll(uint64_t round, uint64_t which, uint32_t n)
{
    return tutti_random(77, TUTTI_STREAM_TEST, round, which).word[0] % n;
}

/* Most of them wrong in some way, which must be the same on all ranks: who is refused alone leaves the others in a
 * call. */
static tutti_call made_by_chance(uint64_t round, char *memory, const int64_t *counts)
{
    static const int64_t lengths[] = {0, 1, 7, 64, 1000, -1, INT64_MAX, ((int64_t)1 << 47) + 1};
    static const char *const names[] = {NULL,   "auto",     "ring",          "one-shot", "two-shot",
                                        "rign", "ring,x=1", "direct,group=", "",         "trees"};
    tutti_call c = {.collective = (tutti_collective)(int)roll(round, 0, TUTTI_NCOLLECTIVES + 2)};
    c.count = lengths[roll(round, 1, roll(round, 2, 3) ? 5 : 8)];
    c.type = (tutti_dtype)(int)roll(round, 3, TUTTI_NDTYPES + (roll(round, 4, 4) ? 0 : 2));
    c.op = (tutti_operation)(int)roll(round, 5, TUTTI_NOPERATIONS + (roll(round, 6, 4) ? 0 : 2));
    c.root = (int)roll(round, 7, 5) - 1;
    c.in = roll(round, 8, 9) ? memory + roll(round, 9, 3) * 131072 + roll(round, 10, 5) % 2 * 8 : NULL;
    c.out = roll(round, 11, 9) ? memory + roll(round, 12, 3) * 131072 + roll(round, 13, 7) % 4 * 4 : NULL;
    const bool alike = c.collective == TUTTI_ALLREDUCE || c.collective == TUTTI_ALL_TO_ALL; /* on every rank */
    c.counts = roll(round, 14, 6) ? NULL : counts;
    c.algorithm = names[roll(round, 15, roll(round, 16, 3) ? 2 : 10)];
    if (!alike || c.counts) c.in = memory + roll(round, 10, 5) % 2 * 8, c.out = memory + 2 * 131072;
    c.deadline_s = roll(round, 17, 30) ? 0 : -1;
    return c;
}

static const char *chance_body(tutti_comm *comm, void *arg)
{
    enum { CALLS = 1500, ROOM = 3 * 131072 };
    tutti_failure err = {0};
    const int64_t counts[9] = {3, 0, 70, 1, 20, 0, 0, 5, 9};
    char *plain = calloc(1, ROOM), *mapped;
    int *accepted = arg;
    EXPECT(!tutti_comm_alloc(comm, ROOM, (void **)&mapped, &err));
    for (uint64_t round = 0; round < CALLS; round++) {
        const tutti_call call = made_by_chance(round, round % 3 ? plain : mapped, counts);
        err = (tutti_failure){0};
        const tutti_status s = tutti_comm_run(comm, &call, &err);
        EXPECT(!s || (s == TUTTI_ERR_USAGE && err.text[0]));
        if (tutti_comm_rank(comm) == 0) accepted[s == TUTTI_OK]++;
        EXPECT(!tutti_comm_failure(comm, NULL, &err));
    }
    EXPECT(!tutti_comm_barrier(comm, &err));
    free(plain);
    return NULL;
}

static void calls_that_are_made_by_chance_are_served_or_refused(void **state)
{
    (void)state;
    int accepted[2] = {0, 0};
    run_comms(3, 20, chance_body, accepted);
    print_message("%d calls were refused, %d served\n", accepted[0], accepted[1]);
    assert_true(accepted[0] >= 300 && accepted[1] >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_deadline_of_a_call_holds_for_the_first_of_its_kind),
        cmocka_unit_test(a_deadline_ends_with_its_call),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(input_and_output_that_overlap_are_refused),
        cmocka_unit_test(sizes_that_nobody_has_are_refused),
        cmocka_unit_test(test_f40_a_request_that_outlives_its_communicator_is_refused),
        cmocka_unit_test(a_request_in_flight_is_not_started_again),
        cmocka_unit_test(test_f40_a_second_thread_in_a_call_is_refused),
        cmocka_unit_test(calls_that_are_made_by_chance_are_served_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
