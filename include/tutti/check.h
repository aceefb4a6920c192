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

/* The proof holds for every element count and for banks + 1 back-to-back invocations. It shows:
 *   - Slices are in bounds and inside windows.
 *   - No deadlock happens at capacity 0, and every wait is met.
 *   - No two accesses race: of two that overlap, one of them a write, one happens before the other.
 *   - Every leaf is summed exactly once into every element that the collective owes, or moved there. For a barrier,
 *     every rank that has ended knows that all ranks have said READY.
 *   - The determinism class that the schedule claims holds.
 * A failure (TUTTI_ERR_FAILED) carries a counter-example: rank, step, slice, and what is missing, double or
 * unordered. */
typedef struct {
    int64_t nsteps, nmessages; /* in one invocation, of all ranks; a message is a send or a signal */
    int64_t elements_in,
        elements_out; /* the most elements that one rank reads, and the most that one rank writes, in units of n / units
                       * elements */
    int64_t units;
    int32_t nstages;
    int32_t syncs;                 /* longest chain of messages or signals in which each is sent after the one before it
                                    * has arrived */
    tutti_determinism determinism; /* the strongest determinism class that holds */
    bool agree; /* allreduce: every rank holds the same expression of an element, up to commutation, and so the same
                 * bits */
} tutti_check_report;
tutti_status tutti_schedule_check(const tutti_schedule *s, tutti_check_report *report, tutti_failure *err);
/* Checks a schedule whose steps round each sum that they leave, as sums of 16-bit types do. `agree` then says that all
 * ranks round the same partial sums of an element. No rounded sum is canonical, so this check ignores the class that
 * the schedule claims. */
tutti_status tutti_schedule_check_rounded(const tutti_schedule *s, tutti_check_report *report, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
