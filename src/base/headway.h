/* SPDX-License-Identifier: Apache-2.0 */
/* headway.h: reports to a caller how far a long piece of work has come. The code that does the work need not know the
 * caller.
 *
 * Threads: the thread that does the work makes the reports. */
#ifndef TUTTI_BASE_HEADWAY_H
#define TUTTI_BASE_HEADWAY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    /* called with the work done so far and the whole work; returns false if the work may end at once; NULL = nobody
     * wants reports */
    bool (*tell)(void *arg, int64_t done, int64_t total);
    void *arg;
} tutti_headway;

/* Reports that `done` of `total` has been done. headway may be NULL; total 0 = unknown. Returns false if the work is
 * not wanted any more and may end at once. */
static inline bool tutti_headway_tell(const tutti_headway *headway, int64_t done, int64_t total)
{
    return !headway || !headway->tell || headway->tell(headway->arg, done, total);
}

#endif
