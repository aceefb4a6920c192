/* SPDX-License-Identifier: Apache-2.0 */
/* check.h: the proof that a schedule does what it promises.
 *
 * Implemented in src/collective/check. Threads: any number at once. */
#ifndef TUTTI_CHECK_H
#define TUTTI_CHECK_H

#include "tutti/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The proof, for every element count and for banks + 1 back-to-back invocations: slices in bounds and inside windows,
 * no deadlock at capacity 0, every wait met, no race (two overlapping accesses, one of them a write, not ordered by
 * happens-before), every leaf summed exactly once into every element the collective owes (or moved there, or, of a
 * barrier, everybody's READY known), the claimed determinism class.
 * On failure (TUTTI_ERR_FAILED) the text is a counter-example: rank, step, slice, what is missing, double or
 * unordered. */
typedef struct {
    int64_t nsteps, nmessages; /* of one invocation, all ranks; messages = sends or signals */
    int64_t elements_in,
        elements_out; /* max over ranks: elements read and written by this rank, in units of n/of = 1/units */
    int64_t units;
    int32_t nstages;
    int32_t syncs;                 /* longest chain of messages or signals, each given after the one before was taken */
    tutti_determinism determinism; /* the strongest class that holds */
    bool agree; /* allreduce: every rank holds the same expression of an element, up to commutation; so the same bits */
} tutti_check_report;
tutti_status tutti_schedule_check(const tutti_schedule *s, tutti_check_report *report, tutti_failure *err);
/* The same where each step rounds the sum that it leaves, as sums of 16-bit types are: `agree` then says that all ranks
 * round the same partial sums of an element. No sum is canonical then, so the class that the schedule claims is not
 * asked for. */
tutti_status tutti_schedule_check_rounded(const tutti_schedule *s, tutti_check_report *report, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
