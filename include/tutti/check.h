/* SPDX-License-Identifier: Apache-2.0 */
/* check.h: the checker: proves that a schedule does what it promises, for all timings.
 *
 * Implemented in src/collective/check. Threads: any number at once. */
#ifndef TUTTI_CHECK_H
#define TUTTI_CHECK_H

#include "tutti/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The proof holds for every element count and for back-to-back invocations, one more of them than a buffer has banks
 * (tutti/schedule.h). It shows:
 *   - Slices are in bounds and inside the windows of their buffers (tutti_buffer.window).
 *   - No deadlock happens, even if channels buffer no message (capacity 0), and every wait is met.
 *   - No two accesses race: where two overlap and one of them writes, one happens before the other.
 *   - Every element that the collective promises holds each input (leaf) summed exactly once, or the one input that
 *     belongs there. A barrier ends on a rank only after all ranks have begun it (READY).
 *   - The determinism class that the schedule claims holds.
 * A failure (TUTTI_ERR_FAILED) carries a counter-example: rank, step, slice, and what is missing, double or
 * unordered. */
typedef struct {
    int64_t nsteps, nmessages; /* number of steps and of messages (sends or signals) of all ranks together, in one
                                * invocation */
    int64_t elements_in,
        elements_out; /* the most elements that one rank reads, and the most that one rank writes, in units of 1 /
                       * `units` of the vector */
    int64_t units;
    int32_t nstages;
    int32_t syncs;                 /* number of messages or signals in the longest chain in which each is sent after the
                                    * one before it has arrived */
    tutti_determinism determinism; /* the strongest determinism class that holds */
    bool agree; /* allreduce: all ranks compute each element by the same expression, up to commutation, and so get the
                 * same bits */
} tutti_check_report;
tutti_status tutti_schedule_check(const tutti_schedule *s, tutti_check_report *report, tutti_failure *err);
/* Checks a schedule for a 16-bit type, whose steps round each sum that they store. `agree` then says that all ranks
 * round the same partial sums of an element. No rounded sum is canonical, so this check ignores the determinism class
 * that the schedule claims. */
tutti_status tutti_schedule_check_rounded(const tutti_schedule *s, tutti_check_report *report, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
