/* SPDX-License-Identifier: Apache-2.0 */
/* test_bringing_threads.c: who is ready first brings first, one at a time; who stands still is gone past. Threads, so
 * ThreadSanitizer sees what they share. */
#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "training/run/visit/board/bringing.h"

enum { WORKERS = 4, TURNS = 500 };

typedef struct {
    tutti_bringing *b;
    atomic_int inside, wrong;
    int64_t next; /* whoever brings writes it: turns are no lock, but here nobody stands still */
    atomic_bool over;
} world;

static bool never(const void *arg)
{
    (void)arg;
    return false;
}

static bool is_over(const void *arg)
{
    const world *w = arg;
    return atomic_load(&w->over);
}

static void *bring_often(void *arg)
{
    world *w = arg;
    for (int i = 0; i < TURNS; i++) {
        const int64_t turn = tutti_bringing_draw(w->b);
        if (!tutti_bringing_await(w->b, turn, never, NULL)) atomic_fetch_add(&w->wrong, 1);
        if (atomic_fetch_add(&w->inside, 1) != 0 || w->next++ != turn) atomic_fetch_add(&w->wrong, 1);
        atomic_fetch_sub(&w->inside, 1);
        tutti_bringing_end(w->b, turn);
    }
    return NULL;
}

static void one_brings_at_a_time_who_was_ready_first_first(void **state)
{
    (void)state;
    world w = {.b = tutti_bringing_create()};
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, bring_often, &w), 0);
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&w.wrong), 0);
    assert_int_equal(w.next, WORKERS * TURNS);
    tutti_bringing_destroy(w.b);
}

/* A second, as no turn has ended before; its own late end then ends nobody else's. */
static void who_stands_still_is_gone_past(void **state)
{
    (void)state;
    tutti_bringing *b = tutti_bringing_create();
    const int64_t still = tutti_bringing_draw(b), second = tutti_bringing_draw(b), third = tutti_bringing_draw(b);
    assert_true(tutti_bringing_await(b, still, never, NULL));
    const double began = tutti_clock_s();
    assert_true(tutti_bringing_await(b, second, never, NULL));
    assert_true(tutti_clock_s() - began > 0.9);
    tutti_bringing_end(b, still);
    world w = {.over = true};
    assert_false(tutti_bringing_await(b, third, is_over, &w));
    tutti_bringing_end(b, second);
    assert_true(tutti_bringing_await(b, third, never, NULL));
    tutti_bringing_end(b, third);
    tutti_bringing_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_brings_at_a_time_who_was_ready_first_first),
        cmocka_unit_test(who_stands_still_is_gone_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
