/* SPDX-License-Identifier: Apache-2.0 */
/* headway.h: how far a long piece of work has come, told to the caller. The code that does the work need not know the
 * caller.
 *
 * Threads: owner; the thread that was given it. */
#ifndef TUTTI_BASE_HEADWAY_H
#define TUTTI_BASE_HEADWAY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool (*tell)(void *arg, int64_t done, int64_t total); /* NULL = nobody wants to know */
    void *arg;
} tutti_headway;

/* headway may be NULL; total 0 = unknown. Returns false if the work is not wanted any more and may end at once. */
static inline bool tutti_headway_tell(const tutti_headway *headway, int64_t done, int64_t total)
{
    return !headway || !headway->tell || headway->tell(headway->arg, done, total);
}

#endif
