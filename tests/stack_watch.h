/* SPDX-License-Identifier: Apache-2.0 */
/* stack_watch.h: a timer's signals, and whether each of them met the stack that the main thread began with. */
#ifndef TUTTI_TESTS_STACK_WATCH_H
#define TUTTI_TESTS_STACK_WATCH_H

#include "testing.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <unistd.h>

/* Where the main thread's stack lies, and how many handlers on that thread ran inside and outside of it. */
typedef struct {
    uintptr_t begin, end;
    atomic_int inside, outside;
    struct sigaction before;
} stack_watch;

static stack_watch main_stack;

static void look_at_the_stack(int signal_number)
{
    /* Not the address of a local: AddressSanitizer can keep locals on a stack of its own. */
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    (void)signal_number;
    if (gettid() != getpid()) return;
    atomic_fetch_add(here >= main_stack.begin && here < main_stack.end ? &main_stack.inside : &main_stack.outside, 1);
}

/* Sends SIGALRM each 50 us until stack_watch_end. */
static void stack_watch_begin(void)
{
    static const struct itimerval often = {{0, 50}, {0, 50}};
    pthread_attr_t attr;
    void *begin;
    size_t size;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    pthread_attr_getstack(&attr, &begin, &size);
    pthread_attr_destroy(&attr);
    main_stack = (stack_watch){.begin = (uintptr_t)begin, .end = (uintptr_t)begin + size};
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = look_at_the_stack, .sa_flags = SA_RESTART},
              &main_stack.before);
    setitimer(ITIMER_REAL, &often, NULL);
}

/* Fails if no handler ran, or if one ran on a stack that a library had moved. */
static void stack_watch_end(void)
{
    static const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &main_stack.before, NULL);
    assert_true(main_stack.inside > 0);
    assert_int_equal(main_stack.outside, 0);
}

#endif
