/* SPDX-License-Identifier: Apache-2.0 */
/* test_wait_any_threads.c: between hosts exchanges may be other threads' than the owner's: at rank 0 a thread for each
 * other rank takes what it brings and gives it back changed, asleep as long as nothing has come, while the owner calls
 * the group. Ranks are threads, each with its wire's thread, so ThreadSanitizer sees all of them. */
#include "testing.h"

#include <string.h>

#include "base/clock.h"
#include "collective/exchange/executor_impl.h"
#include "collective/proved.h"
#include "collective/wired_ranks.h"

enum { NRANKS = 3, N = 5000, NROUNDS = 60, AWAY = 2 * N };

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) return #condition;                                                                           \
    } while (0)

/* One that comes and one that goes, between a rank and rank 0. */
typedef struct {
    tutti_exchange *push[NRANKS], *pull[NRANKS];
    tutti_region *region;
} travels;

typedef struct {
    const tutti_schedule *lowered;
    tutti_group *group;
    const char *(*body)(tutti_group *g, const tutti_schedule *lowered);
    const char *words;
    pthread_t thread;
} wait_rank;

/* Rank 0 has a seat for each; what comes back lies elsewhere at the rank than what it brought. */
static tutti_place seat_of(tutti_region *region, int rank)
{
    return (tutti_place){region, (size_t)rank * N * sizeof(float)};
}

static const char *create(tutti_group *g, const tutti_schedule *lowered, travels *t)
{
    tutti_exchange_request requests[2 * (NRANKS - 1)];
    tutti_exchange *made[2 * (NRANKS - 1)];
    int32_t members[2 * (NRANKS - 1)][2];
    tutti_place in[2 * (NRANKS - 1)];
    tutti_failure err = {0};
    EXPECT(!tutti_region_create(g, "seats", (NRANKS + 2) * (size_t)N * sizeof(float), &t->region, &err));
    const tutti_place own = {t->region, 0}, away = {t->region, AWAY * sizeof(float)};
    for (int i = 0; i < 2 * (NRANKS - 1); i++) {
        const int worker = 1 + i / 2, brings = i % 2 == 0;
        members[i][!brings] = worker, members[i][brings] = 0;
        in[i] = brings ? own : seat_of(t->region, worker);
        requests[i] = (tutti_exchange_request){lowered,
                                               {.name = brings ? "push" : "pull",
                                                .n = N,
                                                .members = members[i],
                                                .nmembers = 2,
                                                .in = &in[i],
                                                .nin = 1,
                                                .out = brings ? seat_of(t->region, worker) : away,
                                                .moves = true}};
    }
    EXPECT(!tutti_exchange_create_all(g, requests, 2 * (NRANKS - 1), made, &err));
    for (int i = 0; i < 2 * (NRANKS - 1); i++) (i % 2 ? t->pull : t->push)[1 + i / 2] = made[i];
    return NULL;
}

static void destroy(travels *t)
{
    for (int r = 1; r < NRANKS; r++) tutti_exchange_destroy(t->push[r]), tutti_exchange_destroy(t->pull[r]);
    tutti_region_destroy(t->region);
}

static void start(tutti_exchange *x)
{
    tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
}

typedef struct {
    const travels *t;
    int worker;
    const char *words;
    pthread_t thread;
} stand_in;

static const char *serve_rank(const stand_in *s)
{
    float *seat = (float *)(void *)((char *)tutti_region_base(s->t->region, 0) + seat_of(NULL, s->worker).offset);
    tutti_exchange *push = s->t->push[s->worker], *pull = s->t->pull[s->worker];
    for (int k = 0; k < NROUNDS; k++) {
        tutti_exchange *both[2] = {pull, push};
        start(push);
        if (k) EXPECT(tutti_exchange_wait_any(both, 2, 20, NULL) >= 0);
        EXPECT(tutti_exchange_wait_any(&push, 1, 20, NULL) == 0);
        EXPECT(tutti_exchange_wait_any(&pull, 1, 20, NULL) == 0);
        for (int i = 0; i < N; i++) seat[i] = 2 * seat[i] + 1;
        start(pull);
    }
    EXPECT(tutti_exchange_wait_any(&pull, 1, 20, NULL) == 0);
    return NULL;
}

static void *run_stand_in(void *arg)
{
    stand_in *s = arg;
    s->words = serve_rank(s);
    return NULL;
}

/* The owner goes on with its own calls meanwhile. */
static const char *serve_all(tutti_group *g, const travels *t)
{
    stand_in all[NRANKS];
    tutti_failure err = {0};
    for (int r = 1; r < NRANKS; r++) {
        all[r] = (stand_in){.t = t, .worker = r};
        EXPECT(!pthread_create(&all[r].thread, NULL, run_stand_in, &all[r]));
    }
    for (int i = 0; i < NROUNDS; i++) {
        tutti_exchange_progress(g);
        EXPECT(!tutti_group_barrier(g, "meanwhile", &err));
    }
    for (int r = 1; r < NRANKS; r++) pthread_join(all[r].thread, NULL);
    for (int r = 1; r < NRANKS; r++)
        if (all[r].words) return all[r].words;
    return NULL;
}

static const char *visit(tutti_group *g, const travels *t)
{
    const int me = tutti_group_rank(g);
    float *own = tutti_region_base(t->region, me);
    tutti_failure err = {0};
    for (int k = 0; k < NROUNDS; k++) {
        for (int i = 0; i < N; i++) own[i] = (float)(1000 * me + k + i % 7);
        start(t->push[me]);
        start(t->pull[me]);
        EXPECT(!tutti_group_barrier(g, "meanwhile", &err));
        EXPECT(!tutti_exchange_wait(t->push[me], &err));
        EXPECT(!tutti_exchange_wait(t->pull[me], &err));
        for (int i = 0; i < N; i++) EXPECT(own[i] == (float)(1000 * me + k + i % 7));
        for (int i = 0; i < N; i++) EXPECT(own[AWAY + i] == 2 * (float)(1000 * me + k + i % 7) + 1);
    }
    return NULL;
}

static const char *bring_and_take(tutti_group *g, const tutti_schedule *lowered)
{
    travels t = {0};
    const char *words = create(g, lowered, &t);
    if (!words) words = tutti_group_rank(g) ? visit(g, &t) : serve_all(g, &t);
    destroy(&t);
    return words;
}

/* Nothing comes: whoever waits is there again when time is up, when it is asked to, and when the group is over. */
static const char *wait_in_vain(tutti_group *g, const tutti_schedule *lowered)
{
    travels t = {0};
    tutti_failure err = {0};
    atomic_bool ends = false;
    const char *words = create(g, lowered, &t);
    if (words) return words;
    if (tutti_group_rank(g) == 0) {
        start(t.push[1]);
        EXPECT(tutti_exchange_wait_any(&t.push[1], 1, 0.05, &ends) < 0);
        EXPECT(!tutti_group_is_over(g));
        atomic_store(&ends, true);
        EXPECT(tutti_exchange_wait_any(&t.push[1], 1, 60, &ends) < 0);
        tutti_group_abort(g, "on purpose");
        EXPECT(tutti_group_is_over(g));
        EXPECT(tutti_exchange_wait_any(&t.push[1], 1, 60, NULL) < 0);
    } else {
        EXPECT(tutti_group_barrier(g, "in vain", &err) == TUTTI_ERR_PEER);
        EXPECT(tutti_group_is_over(g));
    }
    destroy(&t);
    return NULL;
}

/* ---- a group that bears deaths ---- */

/* In a thread of rank 0's: until the rank is gone that was to bring something. */
static void *wait_for_the_gone(void *arg)
{
    stand_in *s = arg;
    tutti_exchange *push = s->t->push[s->worker];
    const tutti_group *g = push->group;
    const int ended = tutti_exchange_wait_any(&push, 1, 60, tutti_group_gone_flag(g, s->worker));
    s->words = ended >= 0 || !tutti_group_is_gone(g, s->worker) || tutti_group_is_over(g) ? "it waits on" : NULL;
    return NULL;
}

/* Between rank 0 and 1 all goes on: what comes is right, over a wire that has given rank 2 up. */
static const char *go_on(tutti_group *g, const travels *t)
{
    tutti_failure err = {0};
    const int me = tutti_group_rank(g);
    float *own = tutti_region_base(t->region, me);
    const float *seat = (float *)(void *)((char *)own + seat_of(NULL, 1).offset);
    for (int k = 0; k < NROUNDS; k++) {
        for (int i = 0; i < N && me; i++) own[i] = (float)(k + i % 7);
        start(t->push[1]);
        EXPECT(!tutti_exchange_wait(t->push[1], &err));
        for (int i = 0; i < N && !me; i++) EXPECT(seat[i] == (float)(k + i % 7));
        EXPECT(!tutti_group_barrier(g, "round", &err));
    }
    EXPECT(tutti_group_is_gone(g, 2) && tutti_group_nliving(g) == 2);
    return NULL;
}

/* Rank 2 dies, or takes rank 0 for dead: those two are no end of the group. */
static const char *lose_one(tutti_group *g, const tutti_schedule *lowered, bool despairs)
{
    travels t = {0};
    tutti_failure err = {0};
    const char *words = create(g, lowered, &t);
    stand_in waits = {.t = &t, .worker = 2};
    if (words) return words;
    EXPECT(!tutti_group_bear(g, &err));
    const int me = tutti_group_rank(g);
    if (me == 0) {
        start(t.push[2]);
        start(t.pull[2]); /* more than its socket takes may be on the way */
        EXPECT(!pthread_create(&waits.thread, NULL, wait_for_the_gone, &waits));
        EXPECT(!tutti_exchange_wait_for(t.pull[2], tutti_group_gone_flag(g, 2), &err));
        pthread_join(waits.thread, NULL);
    } else if (me == 2 && despairs) {
        tutti_group_set_failed(g, 0, TUTTI_ERR_PEER, "the wire to rank 0 broke");
    } else if (me == 2) {
        shutdown(g->peers[0].control, SHUT_RDWR);
        while (!tutti_group_poll(g, &err)) tutti_clock_sleep_s(1e-3);
    }
    if (me < 2) words = waits.words ? waits.words : go_on(g, &t);
    if (!words && me == 0 && !strstr(tutti_group_last_words(g, 2), despairs ? "has lost rank 0: the wire" : "died"))
        words = "it is not said why";
    destroy(&t);
    return words;
}

static const char *lose_one_that_dies(tutti_group *g, const tutti_schedule *lowered)
{
    return lose_one(g, lowered, false);
}

static const char *lose_one_that_despairs(tutti_group *g, const tutti_schedule *lowered)
{
    return lose_one(g, lowered, true);
}

static void *run_rank(void *arg)
{
    wait_rank *r = arg;
    r->words = r->body(r->group, r->lowered);
    tutti_group_leave(r->group);
    return NULL;
}

static void run_all(const char *(*body)(tutti_group *g, const tutti_schedule *lowered))
{
    const tutti_compile_request q = {.collective = TUTTI_BROADCAST, .nranks = 2, .in_place = true};
    tutti_schedule *s = compiled("binomial", &q), *lowered = NULL;
    tutti_group *groups[NRANKS];
    wait_rank ranks[NRANKS];
    tutti_failure err = {0};
    assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_ONE_SIDED, &lowered, &err), TUTTI_OK);
    must_hold(lowered, NULL);
    if (wired_create(NRANKS, 20, groups, &err)) fail_msg("%s", err.text);
    for (int r = 0; r < NRANKS; r++) {
        ranks[r] = (wait_rank){lowered, groups[r], body, NULL, 0};
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]), 0);
    }
    for (int r = 0; r < NRANKS; r++) pthread_join(ranks[r].thread, NULL);
    for (int r = 0; r < NRANKS; r++)
        if (ranks[r].words) fail_msg("rank %d: %s", r, ranks[r].words);
    tutti_schedule_destroy(s), tutti_schedule_destroy(lowered);
}

static void other_threads_take_what_comes_and_give_it_back(void **state)
{
    (void)state;
    run_all(bring_and_take);
}

static void who_waits_in_vain_is_there_again(void **state)
{
    (void)state;
    run_all(wait_in_vain);
}

static void who_is_gone_ends_what_is_waited_for_from_it_alone(void **state)
{
    (void)state;
    run_all(lose_one_that_dies);
    run_all(lose_one_that_despairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_threads_take_what_comes_and_give_it_back),
        cmocka_unit_test(who_waits_in_vain_is_there_again),
        cmocka_unit_test(who_is_gone_ends_what_is_waited_for_from_it_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
