/* SPDX-License-Identifier: Apache-2.0 */
/* test_visits_turns_threads.c: turns and shares of workers that die at each point of a visit and of a deal. Workers are
 * threads, so ThreadSanitizer sees what they share. */
#include "testing.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "training/run/visit/board/visits_turns.h"

enum { WORKERS = 4, VISITS = 200, SHARES = 4000, BEGIN = 40 };

typedef enum {
    NEVER,
    BEFORE_DRAWING, /* it has said that it draws */
    BEFORE_SAYING,  /* it has drawn */
    WITH_A_TICKET,
    INSIDE,
    OUTSIDE,
    NPOINTS
} point;

typedef struct {
    tutti_turns_board *board;
    atomic_bool gone[WORKERS];
    point dies[WORKERS]; /* where */
    int at[WORKERS];     /* in which visit, or after how many shares */
    bool in_rank_order;
    atomic_bool wrong;
    /* What visits keep apart: */
    int nvisits, order[WORKERS * VISITS + 1];
    atomic_int inside;
    /* Shares: */
    int64_t dealt[WORKERS][SHARES], ndealt[WORKERS];
} world;

typedef struct {
    world *w;
    tutti_turns turns;
} worker;

static bool is_gone(const void *arg, int rank)
{
    return atomic_load(&((world *)(uintptr_t)arg)->gone[rank]);
}

static void run(world *w, void *(*body)(void *))
{
    pthread_t threads[WORKERS];
    worker workers[WORKERS];
    w->board = aligned_alloc(64, (tutti_turns_bytes(WORKERS) + 63) / 64 * 64);
    memset(w->board, 0, tutti_turns_bytes(WORKERS));
    for (int r = 0; r < WORKERS; r++) {
        workers[r] = (worker){w, {w->board, r, WORKERS, is_gone, w}};
        assert_int_equal(pthread_create(&threads[r], NULL, body, &workers[r]), 0);
    }
    for (int r = 0; r < WORKERS; r++) pthread_join(threads[r], NULL);
    free(w->board);
}

/* ---- turns ---- */

static void *die(worker *me)
{
    atomic_store(&me->w->gone[me->turns.rank], true);
    return NULL;
}

/* As tutti_turns_draw, as far as it comes. */
static bool draws(worker *me, point dies, int64_t *ticket)
{
    tutti_turns_line *own = &me->turns.board->workers[me->turns.rank];
    *ticket = 0;
    if (me->w->in_rank_order) {
        *ticket = tutti_turns_next(&me->turns);
        return dies > BEFORE_SAYING || dies == NEVER;
    }
    if (dies == BEFORE_DRAWING || dies == BEFORE_SAYING) atomic_store(&own->ticket, TUTTI_TICKET_DRAWS);
    if (dies == BEFORE_SAYING) atomic_fetch_add(&me->turns.board->tail, 1);
    if (dies == BEFORE_DRAWING || dies == BEFORE_SAYING) return false;
    *ticket = tutti_turns_draw(&me->turns);
    return true;
}

static void *visit(void *arg)
{
    worker *me = arg;
    world *w = me->w;
    const int rank = me->turns.rank;
    for (int i = 0; i < VISITS; i++) {
        const point dies = w->dies[rank] && i == w->at[rank] ? w->dies[rank] : NEVER;
        int64_t ticket;
        if (!draws(me, dies, &ticket) || dies == WITH_A_TICKET) return die(me);
        while ((w->in_rank_order ? tutti_turns_awaited : tutti_turns_drawn_by)(&me->turns, ticket) >= 0) sched_yield();
        w->order[w->nvisits++] = rank; /* one at a time */
        if (dies == INSIDE) return die(me);
        if (atomic_fetch_add(&w->inside, 1)) atomic_store(&w->wrong, true);
        atomic_fetch_sub(&w->inside, 1);
        tutti_turns_leave(&me->turns, ticket);
        if (dies) return die(me);
    }
    tutti_turns_rest(&me->turns, true);
    return NULL;
}

/* In one thread, where nothing is chance. */
static world *step_by_step(tutti_turns t[WORKERS])
{
    world *w = calloc(1, sizeof *w);
    w->board = aligned_alloc(64, (tutti_turns_bytes(WORKERS) + 63) / 64 * 64);
    memset(w->board, 0, tutti_turns_bytes(WORKERS));
    for (int r = 0; r < WORKERS; r++) t[r] = (tutti_turns){w->board, r, WORKERS, is_gone, w};
    return w;
}

static void drop(world *w)
{
    free(w->board);
    free(w);
}

/* It may have drawn the ticket whose turn it is, or another died with that. */
static void who_lives_and_draws_is_waited_for(void **state)
{
    (void)state;
    tutti_turns t[WORKERS];
    world *w = step_by_step(t);
    atomic_store(&w->board->workers[1].ticket, TUTTI_TICKET_DRAWS);
    atomic_fetch_add(&w->board->tail, 1);
    const int64_t mine = tutti_turns_draw(&t[2]);
    assert_int_equal(mine, 1);
    atomic_store(&w->gone[3], true);
    assert_int_equal(tutti_turns_drawn_by(&t[2], mine), 1);
    atomic_store(&w->board->workers[1].ticket, 0 + 1);
    assert_int_equal(tutti_turns_drawn_by(&t[2], mine), 1);
    tutti_turns_leave(&t[1], 0);
    assert_int_equal(tutti_turns_drawn_by(&t[2], mine), -1);
    tutti_turns_leave(&t[2], mine);
    assert_int_equal(tutti_turns_draw(&t[3]), 2); /* before it was found dead */
    assert_int_equal(atomic_load(&w->board->workers[3].ticket), 3);
    assert_int_equal(tutti_turns_drawn_by(&t[0], tutti_turns_draw(&t[0])), -1);
    drop(w);
}

/* Of workers 1 to 3, which bring something from other hosts: who lives, does not rest and has an earlier turn is waited
 * for until it has. */
static void in_rank_order_one_after_the_other_brings(void **state)
{
    (void)state;
    tutti_turns t[WORKERS];
    world *w = step_by_step(t);
    assert_false(tutti_turns_is_to_bring(&t[1], 2, 1));
    assert_true(tutti_turns_is_to_bring(&t[2], 1, 2));
    tutti_turns_bring(&t[1], 1);
    assert_false(tutti_turns_is_to_bring(&t[2], 1, 2));
    assert_true(tutti_turns_is_to_bring(&t[3], 2, 3)); /* before anybody has visited */
    tutti_turns_leave(&t[0], 0);
    tutti_turns_leave(&t[1], 1);
    assert_false(tutti_turns_is_to_bring(&t[2], 1, 2)); /* its next turn is behind */
    assert_int_equal(tutti_turns_next(&t[1]), 5);
    assert_true(tutti_turns_is_to_bring(&t[1], 2, 5) && tutti_turns_is_to_bring(&t[1], 3, 5));
    tutti_turns_rest(&t[2], true);
    assert_false(tutti_turns_is_to_bring(&t[3], 2, 3));
    atomic_store(&w->gone[3], true);
    assert_false(tutti_turns_is_to_bring(&t[1], 3, 5));
    drop(w);
}

/* Whoever asks for a turn that is over is not kept waiting for it. */
static void a_turn_that_has_been_passed_on_is_awaited_no_more(void **state)
{
    (void)state;
    tutti_turns t[WORKERS];
    world *w = step_by_step(t);
    tutti_turns_leave(&t[3], 3);
    assert_int_equal(tutti_turns_awaited(&t[1], 1), -1);
    assert_int_equal(tutti_turns_drawn_by(&t[1], 1), -1);
    drop(w);
}

static int visits_of(const world *w, int rank)
{
    int n = 0;
    for (int i = 0; i < w->nvisits; i++) n += w->order[i] == rank;
    return n;
}

static void expect_all_visits(const world *w)
{
    assert_false(atomic_load(&w->wrong));
    for (int r = 0; r < WORKERS; r++) {
        const int came_in = w->dies[r] >= INSIDE;
        assert_int_equal(visits_of(w, r), w->dies[r] ? w->at[r] + came_in : VISITS);
    }
}

static void the_others_visit_wherever_one_dies(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++)
        for (int dies = NEVER; dies < NPOINTS; dies++)
            for (int at = 0; at < VISITS; at += 67) {
                world *w = calloc(1, sizeof *w);
                w->in_rank_order = order;
                w->dies[2] = dies, w->at[2] = at;
                run(w, visit);
                expect_all_visits(w);
                free(w);
            }
}

static void one_goes_on_when_all_others_have_died(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++)
        for (int dies = BEFORE_DRAWING; dies < NPOINTS; dies++) {
            world *w = calloc(1, sizeof *w);
            w->in_rank_order = order;
            for (int r = 1; r < WORKERS; r++) w->dies[r] = 1 + (dies + r) % (NPOINTS - 1), w->at[r] = 20 * r;
            run(w, visit);
            expect_all_visits(w);
            free(w);
        }
}

/* In rank order each of the others comes once between two visits of one, before the death and after. */
static void in_rank_order_the_rest_keep_theirs(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof *w);
    w->in_rank_order = true;
    w->dies[1] = INSIDE, w->at[1] = 100;
    run(w, visit);
    expect_all_visits(w);
    for (int i = 0; i < 4 * 100 + 2; i++) assert_int_equal(w->order[i], i % WORKERS);
    static const int rest[] = {2, 3, 0};
    for (int i = 4 * 100 + 2; i < w->nvisits; i++) assert_int_equal(w->order[i], rest[(i - 402) % 3]);
    free(w);
}

/* ---- shares ---- */

static void *deal(void *arg)
{
    worker *me = arg;
    world *w = me->w;
    const int rank = me->turns.rank;
    int64_t share;
    while (!(w->dies[rank] && w->ndealt[rank] == w->at[rank])) {
        share = tutti_turns_deal(&me->turns, BEGIN, BEGIN + SHARES);
        if (share < 0) return NULL;
        w->dealt[rank][w->ndealt[rank]++] = share;
        if (share % 7 == rank) sched_yield();
    }
    return die(me);
}

/* How often each share was dealt: a worker's shares ascend. */
static void count(const world *w, int times[SHARES])
{
    memset(times, 0, sizeof *times * SHARES);
    for (int r = 0; r < WORKERS; r++)
        for (int64_t i = 0; i < w->ndealt[r]; i++) {
            assert_in_range(w->dealt[r][i], BEGIN, BEGIN + SHARES - 1);
            assert_true(i == 0 || w->dealt[r][i] > w->dealt[r][i - 1]);
            assert_true(++times[w->dealt[r][i] - BEGIN] == 1);
        }
}

static void shares_come_in_columns_as_long_as_all_live(void **state)
{
    (void)state;
    int times[SHARES];
    world *w = calloc(1, sizeof *w);
    run(w, deal);
    count(w, times);
    for (int r = 0; r < WORKERS; r++) assert_int_equal(w->ndealt[r], SHARES / WORKERS);
    for (int r = 0; r < WORKERS; r++)
        for (int64_t i = 0; i < w->ndealt[r]; i++) assert_int_equal(w->dealt[r][i], BEGIN + r + WORKERS * i);
    free(w);
}

/* What is dealt to nobody is of the columns of the dead. */
static void shares_of_the_dead_come_to_the_others(void **state)
{
    (void)state;
    for (int run_no = 0; run_no < 40; run_no++) {
        int times[SHARES];
        world *w = calloc(1, sizeof *w);
        w->dies[run_no % WORKERS] = INSIDE, w->at[run_no % WORKERS] = 10 * run_no;
        if (run_no % 3 == 0) w->dies[3 - run_no % WORKERS] = INSIDE, w->at[3 - run_no % WORKERS] = 500;
        run(w, deal);
        count(w, times);
        for (int i = 0; i < SHARES; i++)
            if (!times[i]) assert_true(w->dies[i % WORKERS]);
        free(w);
    }
}

/* Two are level, one is ahead, and the last one dies. */
static void who_is_behind_takes_what_is_left(void **state)
{
    (void)state;
    tutti_turns t[WORKERS];
    world *w = step_by_step(t);
    for (int i = 0; i < 5; i++) assert_int_equal(tutti_turns_deal(&t[0], 0, 30), WORKERS * i); /* up to 16 */
    assert_int_equal(tutti_turns_deal(&t[1], 0, 30), 1);
    assert_int_equal(tutti_turns_deal(&t[2], 0, 30), 2);
    assert_int_equal(tutti_turns_deal(&t[3], 0, 30), 3);
    atomic_store(&w->gone[3], true);
    assert_int_equal(tutti_turns_deal(&t[0], 0, 30), 20); /* 7 and on are before what it has had, for others */
    assert_int_equal(tutti_turns_deal(&t[1], 0, 30), 5);
    assert_int_equal(tutti_turns_deal(&t[1], 0, 30), 7);
    assert_int_equal(tutti_turns_deal(&t[1], 0, 30), 9);
    assert_int_equal(tutti_turns_deal(&t[1], 0, 30), 11);
    assert_int_equal(tutti_turns_deal(&t[2], 0, 30), 6);
    for (int share = 10; share < 19; share += 4) {
        if (share == 18) assert_int_equal(tutti_turns_deal(&t[2], 0, 30), 15);
        assert_int_equal(tutti_turns_deal(&t[2], 0, 30), share);
    }
    assert_int_equal(tutti_turns_deal(&t[1], 0, 30), 13);
    assert_int_equal(tutti_turns_deal(&t[1], 0, 30), 17);
    assert_int_equal(tutti_turns_deal(&t[1], 0, 30), 19);
    for (int share = 21; share < 30; share++) assert_int_equal(tutti_turns_deal(&t[share % 3], 0, 30), share);
    for (int r = 0; r < 3; r++) assert_int_equal(tutti_turns_deal(&t[r], 0, 30), -1);
    drop(w);
}

static bool nobody_is_gone(const void *arg, int rank)
{
    (void)arg, (void)rank;
    return false;
}

static void who_has_not_heard_of_a_death_finds_its_column_closed(void **state)
{
    (void)state;
    tutti_turns t[WORKERS];
    world *w = step_by_step(t);
    t[1].is_gone = nobody_is_gone;
    for (int r = 0; r < WORKERS; r++) assert_int_equal(tutti_turns_deal(&t[r], 0, 30), r);
    assert_int_equal(tutti_turns_deal(&t[2], 0, 30), 6); /* so 10 and on are common */
    atomic_store(&w->gone[3], true);
    static const int next[][2] = {{2, 7}, {1, 5}, {1, 9}, {1, 10}, {0, 4}, {0, 8}, {0, 11}, {2, 12}};
    for (int i = 0; i < 8; i++) assert_int_equal(tutti_turns_deal(&t[next[i][0]], 0, 30), next[i][1]);
    drop(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_others_visit_wherever_one_dies),
        cmocka_unit_test(one_goes_on_when_all_others_have_died),
        cmocka_unit_test(in_rank_order_the_rest_keep_theirs),
        cmocka_unit_test(who_lives_and_draws_is_waited_for),
        cmocka_unit_test(in_rank_order_one_after_the_other_brings),
        cmocka_unit_test(a_turn_that_has_been_passed_on_is_awaited_no_more),
        cmocka_unit_test(shares_come_in_columns_as_long_as_all_live),
        cmocka_unit_test(shares_of_the_dead_come_to_the_others),
        cmocka_unit_test(who_is_behind_takes_what_is_left),
        cmocka_unit_test(who_has_not_heard_of_a_death_finds_its_column_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
