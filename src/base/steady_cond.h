/* SPDX-License-Identifier: Apache-2.0 */
/* steady_cond.h: condition variables whose deadlines go by tutti_clock_ns, so that setting the wall clock does not move
 * them. Threads: as for pthread's condition variables. */
#ifndef TUTTI_BASE_STEADY_COND_H
#define TUTTI_BASE_STEADY_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Initialises a condition; pthread_cond_destroy destroys it. */
void tutti_steady_cond_init(pthread_cond_t *cond);
/* Call it with the lock held. Waits until somebody signals; as with pthread, it may also return without a signal.
 * Returns false when the time until_ns (tutti_clock_ns) has come. */
bool tutti_steady_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns);

#endif
