/* SPDX-License-Identifier: Apache-2.0 */
/* test_executor_order.c: who gets the next turn of several exchanges in flight: the log of completions on one rank,
 * where an exchange is a copy of several blocks and nothing depends on timing; and that order never holds up what
 * others wait for. */
#include "testing.h"

#include <string.h>

#include "collective/compile/algorithms.h"
#include "collective/exchange/executor.h"
#include "collective/thread_ranks.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { NEXCHANGES = 3, BLOCK = 1 << 18, LENGTH = 4 * BLOCK };

typedef struct {
    tutti_schedule *compiled, *lowered;
    int priorities[NEXCHANGES];
    int log[NEXCHANGES]; /* exchanges in the order of their completion */
    int turns[NEXCHANGES];
} order_case;

static const char *order_body(tutti_group *g, void *arg)
{
    order_case *c = arg;
    tutti_failure err = {0};
    tutti_region *region;
    tutti_exchange *x[NEXCHANGES];
    bool done[NEXCHANGES] = {false};
    int nlogged = 0;
    EXPECT(!tutti_region_create(g, "order", 2 * NEXCHANGES * LENGTH * sizeof(float), &region, &err));
    for (size_t i = 0; i < NEXCHANGES; i++) {
        const tutti_place in = {region, i * LENGTH * sizeof(float)},
                          out = {region, (NEXCHANGES + i) * LENGTH * sizeof(float)};
        const tutti_exchange_binding binding = {
            .name = "order", .n = LENGTH, .in = &in, .nin = 1, .out = out, .priority = c->priorities[i]};
        EXPECT(!tutti_exchange_create(g, c->lowered, &binding, &x[i], &err));
    }
    for (int i = 0; i < NEXCHANGES; i++) tutti_exchange_start(x[i], 0);
    for (int i = 0; i < NEXCHANGES; i++) tutti_exchange_tell(x[i], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int turn = 0; nlogged < NEXCHANGES && turn < 100; turn++) {
        for (int i = 0; i < NEXCHANGES; i++) {
            tutti_exchange_stats stats;
            tutti_exchange_stats_read(x[i], &stats);
            if (done[i] || !stats.invocations) continue;
            done[i] = true;
            c->turns[nlogged] = turn;
            c->log[nlogged++] = i;
        }
        tutti_exchange_progress(g);
    }
    for (int i = 0; i < NEXCHANGES; i++) tutti_exchange_destroy(x[i]);
    tutti_region_destroy(region);
    return nlogged == NEXCHANGES ? NULL : "not all exchanges ended";
}

static void open_schedule(order_case *c, int nranks)
{
    tutti_failure err = {0};
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = nranks};
    if (tutti_schedule_compile("direct", &q, &c->compiled, &err) ||
        tutti_schedule_lower(c->compiled, TUTTI_WIRE_MAPPED, &c->lowered, &err))
        fail_msg("%s", err.text);
}

static void close_schedule(order_case *c)
{
    tutti_schedule_destroy(c->lowered);
    tutti_schedule_destroy(c->compiled);
}

static void the_lowest_number_is_done_first_whoever_started_first(void **state)
{
    (void)state;
    order_case c = {.priorities = {2, 1, 0}};
    open_schedule(&c, 1);
    run_ranks(1, 20, order_body, &c);
    assert_int_equal(c.log[0], 2);
    assert_int_equal(c.log[1], 1);
    assert_int_equal(c.log[2], 0);
    assert_true(c.turns[0] < c.turns[1] && c.turns[1] < c.turns[2]);
    close_schedule(&c);
}

static void equals_take_turns(void **state)
{
    (void)state;
    order_case c = {.priorities = {0, 0, 0}};
    open_schedule(&c, 1);
    run_ranks(1, 20, order_body, &c);
    for (int i = 0; i < NEXCHANGES; i++) assert_int_equal(c.log[i], i);
    assert_int_equal(c.turns[0], c.turns[2]); /* a block each in every turn */
    close_schedule(&c);
}

/* Ranks that disagree on what is urgent: each would rather move another exchange, all must end. */
static const char *disagreeing_body(tutti_group *g, void *arg)
{
    order_case c = *(order_case *)arg;
    for (int i = 0; i < NEXCHANGES; i++) c.priorities[i] = (i + tutti_group_rank(g)) % NEXCHANGES;
    tutti_failure err = {0};
    tutti_region *region;
    tutti_exchange *x[NEXCHANGES];
    EXPECT(!tutti_region_create(g, "order", 2 * NEXCHANGES * LENGTH * sizeof(float), &region, &err));
    float *own = tutti_region_base(region, tutti_group_rank(g));
    for (size_t i = 0; i < NEXCHANGES; i++) {
        const tutti_place in = {region, i * LENGTH * sizeof(float)},
                          out = {region, (NEXCHANGES + i) * LENGTH * sizeof(float)};
        const tutti_exchange_binding binding = {
            .name = "order", .n = LENGTH, .in = &in, .nin = 1, .out = out, .priority = c.priorities[i]};
        for (size_t k = 0; k < LENGTH; k++) own[i * LENGTH + k] = (float)(i + 1);
        EXPECT(!tutti_exchange_create(g, c.lowered, &binding, &x[i], &err));
    }
    for (int i = 0; i < NEXCHANGES; i++) tutti_exchange_start(x[i], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int i = 0; i < NEXCHANGES; i++) EXPECT(!tutti_exchange_wait(x[i], &err));
    for (size_t i = 0; i < NEXCHANGES; i++)
        for (size_t k = 0; k < LENGTH; k += 997)
            EXPECT(own[(NEXCHANGES + i) * LENGTH + k] == (float)(i + 1) * (float)tutti_group_nranks(g));
    EXPECT(!tutti_group_barrier(g, "end", &err));
    for (int i = 0; i < NEXCHANGES; i++) tutti_exchange_destroy(x[i]);
    tutti_region_destroy(region);
    return NULL;
}

static void ranks_that_disagree_still_end_with_the_right_sums(void **state)
{
    (void)state;
    order_case c = {.priorities = {0}};
    open_schedule(&c, 3);
    run_ranks(3, 30, disagreeing_body, &c);
    close_schedule(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_number_is_done_first_whoever_started_first),
        cmocka_unit_test(equals_take_turns),
        cmocka_unit_test(ranks_that_disagree_still_end_with_the_right_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
