/* SPDX-License-Identifier: Apache-2.0 */
/* steady_cond.c: condition variables that wait by CLOCK_MONOTONIC. */
#include "steady_cond.h"

#include <time.h>

void tutti_steady_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &steady);
    pthread_condattr_destroy(&steady);
}

bool tutti_steady_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns)
{
    enum { NS = 1000000000 };
    const struct timespec until = {.tv_sec = until_ns / NS, .tv_nsec = until_ns % NS};
    return pthread_cond_timedwait(cond, lock, &until) == 0;
}
