/* SPDX-License-Identifier: Apache-2.0 */
/* test_crew.c: teams of as many threads as were asked for, whatever OpenMP's own settings are, or words. */
#include "testing.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "kernel/crew.h"

extern void GOMP_parallel(void (*body)(void *), void *data, unsigned nthreads, unsigned flags) __attribute__((weak));
extern int omp_get_num_threads(void) __attribute__((weak));
extern int omp_get_thread_num(void) __attribute__((weak));
extern void omp_set_dynamic(int may_give_fewer) __attribute__((weak));
extern void omp_set_max_active_levels(int n) __attribute__((weak));

static void count(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* As a library does that has parted its work for n. */
static int team_of(int n)
{
    atomic_int counted = 0;
    tutti_crew_ask(n);
    GOMP_parallel(count, &counted, (unsigned)n, 0);
    return counted;
}

static void skip_without_openmp(void)
{
    if (!GOMP_parallel || !omp_set_dynamic) skip();
}

static void a_team_is_whole_where_openmp_may_give_fewer(void **state)
{
    (void)state;
    skip_without_openmp();
    for (int n = 2; n <= 5; n++) {
        tutti_failure err = {0};
        omp_set_dynamic(1);
        assert_int_equal(team_of(n), n);
        omp_set_dynamic(1);
        assert_int_equal(tutti_crew_prepare(n, &err), TUTTI_OK);
        assert_int_equal(team_of(n), n);
    }
}

static void count_open(void *arg)
{
    sigset_t mine;
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    if (omp_get_thread_num() > 0 && !sigismember(&mine, SIGALRM)) atomic_fetch_add((atomic_int *)arg, 1);
}

static void do_nothing(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)arg, (void)begin, (void)end, (void)thread;
}

/* Threads of the team that the program started itself, too; the caller takes signals as before. */
static void threads_of_a_team_take_no_signals(void **state)
{
    (void)state;
    skip_without_openmp();
    tutti_failure err = {0};
    atomic_int open = 0;
    sigset_t mine;
    team_of(3);
    GOMP_parallel(count_open, &open, 3, 0);
    assert_int_equal(open, 2);
    open = 0;
    assert_int_equal(tutti_crew_prepare(3, &err), TUTTI_OK);
    tutti_crew_run(2, 2, do_nothing, NULL); /* ends the third thread */
    tutti_crew_run(5, 5, do_nothing, NULL); /* starts three */
    GOMP_parallel(count_open, &open, 5, 0);
    assert_int_equal(open, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    assert_false(sigismember(&mine, SIGALRM));
}

static void a_team_is_whole_where_no_level_may_be_active(void **state)
{
    (void)state;
    skip_without_openmp();
    for (int n = 2; n <= 5; n++) {
        omp_set_max_active_levels(0);
        assert_int_equal(team_of(n), n);
    }
}

static void ask_inside(void *arg)
{
    if (omp_get_thread_num() == 0) *(int *)arg = team_of(3);
}

static void a_team_is_whole_inside_a_team_of_the_caller(void **state)
{
    (void)state;
    skip_without_openmp();
    int inner = 0;
    omp_set_max_active_levels(1);
    tutti_crew_ask(2);
    GOMP_parallel(ask_inside, &inner, 2, 0);
    assert_int_equal(inner, 3);
}

static void add(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    for (int64_t i = begin; i < end; i++) atomic_fetch_add((atomic_int *)arg, (int)i);
}

static void parts_are_done_once_whatever_the_team_is(void **state)
{
    (void)state;
    skip_without_openmp();
    for (int levels = 0; levels < 2; levels++)
        for (int n = 1; n < 9; n++) {
            atomic_int sum = 0;
            omp_set_max_active_levels(levels);
            tutti_crew_run(n, 101, add, &sum);
            assert_int_equal(sum, 5050);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_a_team_take_no_signals), /* first: no team has been prepared yet */
        cmocka_unit_test(a_team_is_whole_where_openmp_may_give_fewer),
        cmocka_unit_test(a_team_is_whole_where_no_level_may_be_active),
        cmocka_unit_test(a_team_is_whole_inside_a_team_of_the_caller),
        cmocka_unit_test(parts_are_done_once_whatever_the_team_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
