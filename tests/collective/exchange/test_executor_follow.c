/* SPDX-License-Identifier: Apache-2.0 */
/* test_executor_follow.c: an exchange that is made ready by the end of another, whoever sees that end: what is done in
 * between is done once an invocation, on what has come, before anything of the second travels; and who waits in vain is
 * told for what. */
#include "testing.h"

#include <string.h>

#include "collective/compile/algorithms.h"
#include "collective/exchange/executor.h"
#include "collective/thread_ranks.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { LENGTH = 1 << 10, ROUNDS = 40 };

typedef struct {
    const float *sums;
    float *next;
    int ncalls;
} follower;

typedef struct {
    const tutti_schedule *lowered;
    char words[2][1024];
} follow_case;

static void act(void *arg, bool beside)
{
    follower *f = arg;
    (void)beside;
    f->ncalls++;
    for (int i = 0; i < LENGTH; i++) f->next[i] = f->sums[i] + 1;
}

/* Sums at first, then what follows them, which are in place. */
static const char *create(tutti_group *g, const follow_case *c, tutti_region *region, follower *f, tutti_exchange *x[2])
{
    float *own = tutti_region_base(region, tutti_group_rank(g));
    *f = (follower){own, own + LENGTH, 0};
    for (size_t i = 0; i < 2; i++) {
        const tutti_place place = {region, i * LENGTH * sizeof(float)};
        const tutti_exchange_binding binding = {
            .name = i ? "second" : "first", .n = LENGTH, .in = &place, .nin = 1, .out = place};
        EXPECT(!tutti_exchange_create(g, c->lowered, &binding, &x[i], NULL));
    }
    tutti_exchange_follow(x[1], x[0], act, f);
    return NULL;
}

/* Whether the last reader or the first exchange ends sooner: both. */
static const char *following_body(tutti_group *g, void *arg)
{
    tutti_region *region;
    tutti_exchange *x[2];
    tutti_failure err = {0};
    follower f;
    EXPECT(!tutti_region_create(g, "follow", 2 * LENGTH * sizeof(float), &region, &err));
    EXPECT(!create(g, arg, region, &f, x));
    float *own = tutti_region_base(region, tutti_group_rank(g));
    for (int round = 1; round <= ROUNDS; round++) {
        const bool reads_long = (round + tutti_group_rank(g)) % 2;
        for (int i = 0; i < LENGTH; i++) own[i] = (float)round;
        tutti_exchange_start(x[0], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        tutti_exchange_start(x[1], reads_long ? 0 : TUTTI_WHEN_FREE);
        if (reads_long) EXPECT(!tutti_exchange_wait(x[0], &err));
        if (reads_long) EXPECT(f.ncalls == round - 1);
        if (reads_long) tutti_exchange_tell(x[1], TUTTI_WHEN_FREE);
        EXPECT(!tutti_exchange_wait(x[1], &err));
        EXPECT(!tutti_exchange_wait(x[0], &err));
        EXPECT(f.ncalls == round);
        for (int i = 0; i < LENGTH; i++) EXPECT(own[LENGTH + i] == 2 * (float)(2 * round + 1));
    }
    for (int i = 0; i < 2; i++) tutti_exchange_destroy(x[i]);
    tutti_region_destroy(region);
    return NULL;
}

static const char *waiting_body(tutti_group *g, void *arg)
{
    follow_case *c = arg;
    tutti_region *region;
    tutti_exchange *x[2];
    tutti_failure err = {0};
    follower f;
    EXPECT(!tutti_region_create(g, "follow", 2 * LENGTH * sizeof(float), &region, &err));
    EXPECT(!create(g, c, region, &f, x));
    if (tutti_group_rank(g) == 0) tutti_exchange_start(x[0], TUTTI_WHEN_READY | TUTTI_WHEN_FREE); /* rank 1 does not */
    tutti_exchange_start(x[1], TUTTI_WHEN_FREE);
    EXPECT(tutti_exchange_wait(x[1], &err) == TUTTI_ERR_PEER);
    snprintf(c->words[tutti_group_rank(g)], sizeof c->words[0], "%s", err.text);
    EXPECT(f.ncalls == 0);
    for (int i = 0; i < 2; i++) tutti_exchange_destroy(x[i]);
    tutti_region_destroy(region);
    return NULL;
}

static void run(rank_body body, double deadline_s, follow_case *c)
{
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 2, .in_place = true};
    tutti_schedule *compiled = NULL, *lowered = NULL;
    tutti_failure err = {0};
    if (tutti_schedule_compile("direct", &q, &compiled, &err) ||
        tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, &lowered, &err))
        fail_msg("%s", err.text);
    c->lowered = lowered;
    run_ranks(2, deadline_s, body, c);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(compiled);
}

static void what_follows_is_done_once_an_invocation(void **state)
{
    (void)state;
    follow_case c = {0};
    run(following_body, 20, &c);
}

static void who_waits_is_told_for_what(void **state)
{
    (void)state;
    follow_case c = {0};
    run(waiting_body, 1, &c);
    bool named = false;
    for (int r = 0; r < 2; r++) named |= strstr(c.words[r], "held back until 'first' has ended") != NULL;
    if (!named) fail_msg("'%s', '%s'", c.words[0], c.words[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_is_done_once_an_invocation),
        cmocka_unit_test(who_waits_is_told_for_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
