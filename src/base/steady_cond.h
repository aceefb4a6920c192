/* SPDX-License-Identifier: Apache-2.0 */
/* steady_cond.h: condition variables whose deadlines go by tutti_clock_ns, so that setting the wall clock does not move
 * them. Threads: as pthread's. */
#ifndef TUTTI_BASE_STEADY_COND_H
#define TUTTI_BASE_STEADY_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* To be destroyed by pthread_cond_destroy. */
void tutti_steady_cond_init(pthread_cond_t *cond);
/* With the lock held; until somebody signals, or for no reason, or until that time: false. */
bool tutti_steady_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns);

#endif
