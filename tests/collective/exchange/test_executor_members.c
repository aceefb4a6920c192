/* SPDX-License-Identifier: Apache-2.0 */
/* test_executor_members.c: exchanges over some ranks of a group, ranks as threads: every set of them by every
 * algorithm, all partitions at once, the other collectives, refusals, and the words of a hang. Processes and wires:
 * test_ranks_members.c. */
#include "testing.h"

#include "base/clock.h"
#include "collective/exchange/executor.h"
#include "collective/partition_sums.h"
#include "collective/thread_ranks.h"

static const char *partition_body(tutti_group *g, void *arg)
{
    static _Thread_local char words[sizeof((tutti_failure *)0)->text];
    tutti_failure err = {0};
    const tutti_status s = all_partition_sums(g, *(const bool *)arg, &err);
    snprintf(words, sizeof words, "%s", err.text);
    if (s) print_message("%s\n", words);
    EXPECT(!s);
    return NULL;
}

static void all_partitions_of_six_ranks_sum_at_once_in_any_order(void **state)
{
    (void)state;
    bool subsets = false;
    run_ranks(PARTED, 30, partition_body, &subsets);
}

static void every_algorithm_sums_over_every_set_of_six_ranks_at_once(void **state)
{
    (void)state;
    bool subsets = true;
    run_ranks(PARTED, 30, partition_body, &subsets);
}

/* --- other collectives, over four of six in an order that is not theirs --- */

enum { N = 103, NFOUR = 4 };
static const int32_t four[NFOUR] = {5, 0, 3, 2};

typedef struct {
    tutti_schedule *compiled, *lowered;
    tutti_region *in, *out;
    tutti_exchange *x;
    int32_t me; /* -1: not one of the four */
} opened;

static tutti_schedule *make(const tutti_compile_request *q, const char *algorithm, tutti_schedule **compiled)
{
    tutti_schedule *lowered = NULL;
    if (!tutti_schedule_compile(algorithm, q, compiled, NULL))
        (void)tutti_schedule_lower(*compiled, TUTTI_WIRE_MAPPED, &lowered, NULL);
    return lowered;
}

static tutti_status open_four(tutti_group *g, const char *algorithm, const tutti_compile_request *q, tutti_operation op,
                              opened *o, tutti_failure *err)
{
    o->lowered = make(q, algorithm, &o->compiled);
    if (!o->lowered) return tutti_fail(err, TUTTI_ERR_FAILED, "%s cannot do it", algorithm);
    o->me = -1;
    for (int i = 0; i < NFOUR; i++)
        if (four[i] == tutti_group_rank(g)) o->me = i;
    uint64_t hash;
    tutti_status s = tutti_group_prove_among(g, o->lowered, four, NFOUR, &hash, err);
    if (!s) s = tutti_region_create(g, "in", N * sizeof(float), &o->in, err);
    if (!s) s = tutti_region_create(g, "out", N * sizeof(float), &o->out, err);
    if (s) return s;
    const tutti_place in = {o->in, 0};
    const tutti_exchange_binding b = {.name = "of four",
                                      .n = N,
                                      .op = op,
                                      .members = four,
                                      .nmembers = NFOUR,
                                      .in = &in,
                                      .nin = 1,
                                      .out = {o->out, 0}};
    return tutti_exchange_create(g, o->lowered, &b, &o->x, err);
}

static void close_four(opened *o)
{
    tutti_exchange_destroy(o->x);
    tutti_region_destroy(o->in), tutti_region_destroy(o->out);
    tutti_schedule_destroy(o->lowered), tutti_schedule_destroy(o->compiled);
}

static float value(int place, int64_t i)
{
    return (float)(4 * (place + 1) + i % 9 * 4);
}

/* What stands at element i of the result; -1: nothing that the collective says. */
static float wanted(tutti_collective c, tutti_operation op, int me, int root, int64_t i)
{
    const bool mine = i >= (int64_t)me * N / NFOUR && i < (int64_t)(me + 1) * N / NFOUR;
    int owner = 0;
    float sum = 0;
    while (i >= (int64_t)(owner + 1) * N / NFOUR) owner++;
    for (int place = 0; place < NFOUR; place++) sum += value(place, i);
    if (op == TUTTI_AVG) sum /= NFOUR;
    switch (c) {
    case TUTTI_ALLREDUCE: return sum;
    case TUTTI_REDUCE_SCATTER: return mine ? sum : -1;
    case TUTTI_REDUCE: return me == root ? sum : -1;
    case TUTTI_BROADCAST: return value(root, i);
    case TUTTI_ALL_GATHER: return value(owner, i);
    default: return -1;
    }
}

typedef struct {
    tutti_collective collective;
    const char *algorithm;
    tutti_operation op;
} collective_case;

static const char *collective_body(tutti_group *g, void *arg)
{
    const collective_case *c = arg;
    const tutti_compile_request q = {.collective = c->collective,
                                     .nranks = NFOUR,
                                     .root = c->collective == TUTTI_REDUCE || c->collective == TUTTI_BROADCAST ? 2 : 0};
    tutti_failure err = {0};
    opened o = {0};
    EXPECT(!open_four(g, c->algorithm, &q, c->op, &o, &err));
    EXPECT((o.me < 0) == (o.x == NULL));
    for (int e = 0; e < 3 && o.x; e++) {
        float *in = tutti_region_base(o.in, four[o.me]), *out = tutti_region_base(o.out, four[o.me]);
        for (int64_t i = 0; i < N; i++) in[i] = value(o.me, i);
        tutti_exchange_start(o.x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        EXPECT(!tutti_exchange_wait(o.x, &err));
        for (int64_t i = 0; i < N; i++) {
            const float want = wanted(c->collective, c->op, o.me, q.root, i);
            EXPECT(want < 0 || out[i] == want);
        }
    }
    close_four(&o);
    return NULL;
}

static void every_collective_counts_places_and_not_ranks(void **state)
{
    (void)state;
    static const collective_case cases[] = {
        {TUTTI_ALLREDUCE, "direct", TUTTI_SUM},      {TUTTI_ALLREDUCE, "ring", TUTTI_AVG},
        {TUTTI_REDUCE_SCATTER, "direct", TUTTI_AVG}, {TUTTI_REDUCE_SCATTER, "ring", TUTTI_SUM},
        {TUTTI_ALL_GATHER, "direct", TUTTI_SUM},     {TUTTI_ALL_GATHER, "ring", TUTTI_SUM},
        {TUTTI_BROADCAST, "binomial", TUTTI_SUM},    {TUTTI_REDUCE, "binomial", TUTTI_AVG},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_ranks(PARTED, 30, collective_body, (void *)(uintptr_t)&cases[i]);
}

static const char *plain_body(tutti_group *g, void *arg)
{
    tutti_failure err = {0};
    (void)arg;
    EXPECT(!plain_sums(g, four, NFOUR, &err));
    return NULL;
}

static void plain_memory_of_members_is_found(void **state)
{
    (void)state;
    run_ranks(PARTED, 30, plain_body, NULL);
}

/* --- what is refused --- */

static tutti_status try_members(tutti_group *g, const tutti_schedule *schedule, const int32_t *members, int n,
                                tutti_failure *err)
{
    tutti_region *region;
    tutti_exchange *x = NULL;
    tutti_status s = tutti_region_create(g, "data", 4096, &region, err);
    if (s) return s;
    const tutti_place place = {region, 0};
    const tutti_exchange_binding b = {
        .name = "few", .n = 10, .members = members, .nmembers = n, .in = &place, .nin = 1, .out = {region, 2048}};
    *err = (tutti_failure){0};
    s = tutti_exchange_create(g, schedule, &b, &x, err);
    tutti_exchange_destroy(x);
    tutti_region_destroy(region);
    return s;
}

#define REFUSED(status, words, ...)                                                                                    \
    do {                                                                                                               \
        const int32_t members[] = {__VA_ARGS__};                                                                       \
        EXPECT(try_members(g, arg, members, sizeof members / sizeof members[0], &err) == (status));                    \
        EXPECT(strstr(err.text, words));                                                                               \
        EXPECT(tutti_group_prove_among(g, arg, members, sizeof members / sizeof members[0], &hash, &err) == (status)); \
    } while (0)

static const char *refused_body(tutti_group *g, void *arg)
{
    const int me = tutti_group_rank(g);
    tutti_failure err = {0};
    uint64_t hash;
    REFUSED(TUTTI_ERR_USAGE, "exchange 'few': rank 1 is its member 0 and its member 2", 1, 3, 1);
    REFUSED(TUTTI_ERR_USAGE, "exchange 'few': its member 1 is rank 4; the group has ranks 0 to 3", 0, 4, 2);
    REFUSED(TUTTI_ERR_USAGE, "exchange 'few': its member 2 is rank -1", 0, 2, -1);
    REFUSED(TUTTI_ERR_USAGE, "exchange 'few': the schedule is for 3 ranks, and 2 are its members", 0, 2);
    REFUSED(TUTTI_ERR_USAGE, "exchange 'few': the schedule is for 3 ranks, and 4 are its members", 0, 1, 2, 3);
    EXPECT(try_members(g, arg, (const int32_t[]){0}, 0, &err) == TUTTI_ERR_USAGE);
    EXPECT(strstr(err.text, "exchange 'few': 0 members, in a group of 4 ranks"));
    EXPECT(try_members(g, arg, NULL, 0, &err) == TUTTI_ERR_USAGE); /* all four */
    /* Another list on one rank, a wrong one included: both are shown to all. */
    const int32_t right[] = {0, 1, 3}, turned[] = {1, 0, 3}, twice[] = {0, 0, 3};
    EXPECT(try_members(g, arg, me == 2 ? turned : right, 3, &err) == TUTTI_ERR_RENDEZVOUS);
    EXPECT(strstr(err.text, "over ranks 0 1 3") && strstr(err.text, "rank 2 ") && strstr(err.text, "over ranks 1 0 3"));
    EXPECT(try_members(g, arg, me == 3 ? twice : right, 3, &err) == TUTTI_ERR_RENDEZVOUS);
    EXPECT(strstr(err.text, "over ranks 0 1 3") && strstr(err.text, "rank 3 ") && strstr(err.text, "over ranks 0 0 3"));
    EXPECT(tutti_group_prove_among(g, arg, me == 3 ? twice : right, 3, &hash, &err) == TUTTI_ERR_USAGE);
    EXPECT(!try_members(g, arg, right, 3, &err)); /* and the group goes on */
    return NULL;
}

static void a_list_that_is_none_is_refused_in_words_on_all_ranks(void **state)
{
    (void)state;
    tutti_schedule *compiled = NULL;
    tutti_schedule *lowered =
        make(&(tutti_compile_request){.collective = TUTTI_ALLREDUCE, .nranks = 3}, "direct", &compiled);
    assert_non_null(lowered);
    run_ranks(4, 10, refused_body, lowered);
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(compiled);
}

/* --- what a hang says --- */

typedef struct {
    char text[8000];
} told;

static void keep_report(void *arg, const char *words)
{
    told *t = arg;
    if (!strncmp(words, "report of ", 10)) snprintf(t->text, sizeof t->text, "%s", words);
}

/* Rank 3, the third of the four, does not come for the second sum; the two others have nothing to do with it. */
static const char *late_body(tutti_group *g, void *arg)
{
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = NFOUR};
    tutti_failure err = {0};
    opened o = {0};
    told *t = calloc(1, sizeof *t);
    (void)arg;
    tutti_group_on_silence(g, keep_report, t);
    EXPECT(!open_four(g, "direct", &q, TUTTI_SUM, &o, &err));
    for (int e = 0; e < 2 && o.x && (e == 0 || o.me != 2); e++) {
        tutti_exchange_start(o.x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        EXPECT(tutti_exchange_wait(o.x, &err) == (e ? TUTTI_ERR_PEER : TUTTI_OK));
    }
    if (o.x && o.me != 2) {
        EXPECT(strstr(err.text, "exchange 'of four' (direct, invocation 1, over ranks 5 0 3 2)"));
        EXPECT(strstr(err.text, ") for rank 3 ("));
        EXPECT(strstr(err.text, "not arrived: rank 3 "));
        EXPECT(strstr(t->text, "not arrived: rank 3 "));
        EXPECT(strstr(t->text, "slowest: rank 3 "));
    } else {
        for (int i = 0; i < 500 && !t->text[0]; i++) {
            (void)tutti_group_poll(g, &err);
            tutti_clock_sleep_s(0.01);
        }
        EXPECT(strstr(t->text, "it computes"));
        EXPECT(o.x || strstr(t->text, "nobody is behind"));
    }
    close_four(&o);
    free(t);
    return NULL;
}

static void a_deadline_names_members_by_their_ranks(void **state)
{
    (void)state;
    run_ranks(PARTED, 0.3, late_body, NULL);
}

/* Ranks 1 and 2 sum, and rank 0 alone, which never waits for anybody; rank 3 ends the run. */
static const char *ended_body(tutti_group *g, void *arg)
{
    static const int32_t one[] = {0}, pair[] = {1, 2};
    const int me = tutti_group_rank(g);
    tutti_schedule *compiled[2] = {0}, *lowered[2];
    tutti_exchange *x[2];
    tutti_region *region;
    tutti_failure err = {0};
    tutti_exchange_request requests[2];
    (void)arg;
    EXPECT(!tutti_region_create(g, "data", 4096, &region, &err));
    const tutti_place place = {region, 0};
    for (int i = 0; i < 2; i++) {
        const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = i + 1};
        EXPECT((lowered[i] = make(&q, "direct", &compiled[i])) != NULL);
        requests[i].schedule = lowered[i];
        requests[i].binding = (tutti_exchange_binding){.name = i ? "pair" : "one",
                                                       .n = 10,
                                                       .members = i ? pair : one,
                                                       .nmembers = i + 1,
                                                       .in = &place,
                                                       .nin = 1,
                                                       .out = {region, 2048}};
    }
    EXPECT(!tutti_exchange_create_all(g, requests, 2, x, &err));
    tutti_status s = TUTTI_OK;
    const double until = tutti_clock_s() + 5;
    if (me == 3) {
        tutti_clock_sleep_s(0.05);
        tutti_group_abort(g, "enough");
    }
    while (me != 3 && !s && tutti_clock_s() < until) {
        tutti_exchange_start(x[me > 0], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        s = tutti_exchange_wait(x[me > 0], &err);
    }
    EXPECT(me == 3 || (s == TUTTI_ERR_PEER && strstr(err.text, "ended the run: enough")));
    for (int i = 0; i < 2; i++) tutti_exchange_destroy(x[i]);
    for (int i = 0; i < 2; i++) tutti_schedule_destroy(lowered[i]), tutti_schedule_destroy(compiled[i]);
    tutti_region_destroy(region);
    return NULL;
}

static void who_never_waits_hears_of_the_end_all_the_same(void **state)
{
    (void)state;
    run_ranks(4, 20, ended_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_partitions_of_six_ranks_sum_at_once_in_any_order),
        cmocka_unit_test(every_algorithm_sums_over_every_set_of_six_ranks_at_once),
        cmocka_unit_test(every_collective_counts_places_and_not_ranks),
        cmocka_unit_test(plain_memory_of_members_is_found),
        cmocka_unit_test(a_list_that_is_none_is_refused_in_words_on_all_ranks),
        cmocka_unit_test(a_deadline_names_members_by_their_ranks),
        cmocka_unit_test(who_never_waits_hears_of_the_end_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
