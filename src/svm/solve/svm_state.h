/* SPDX-License-Identifier: Apache-2.0 */
/* svm_state.h: all that an interrupted solve needs to go on with the same bits.
 *
 * Held between rounds. What belongs to samples lies by position: the active ones first, then those that were dropped.
 * Positions are this rank's own affair and leave no trace in the result, so a state may be dealt out anew to any number
 * of ranks by the samples' numbers. A number is a sample's place in the problem's order: the samples of +1 in the order
 * of the file, then those of -1.
 *
 * Threads: owner. */
#ifndef TUTTI_SVM_STATE_H
#define TUTTI_SVM_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* What sides says of a sample. */
enum {
    TUTTI_SVM_UP = 1,    /* gamma may go into b_up: y = +1 with alpha < C, y = -1 with alpha > 0 */
    TUTTI_SVM_LOW = 2,   /* ... into b_low: y = +1 with alpha > 0, y = -1 with alpha < C */
    TUTTI_SVM_MEMBER = 4 /* in the working set */
};

typedef struct {
    /* own samples, by position */
    int64_t n, nactive;
    int64_t *number;
    int32_t *sample; /* which of the problem's own samples */
    double *alpha;
    double *gamma; /* y_i G_i; of dropped samples out of date */

    /* the working set, equal on all ranks; slot by slot */
    int nmembers;
    int next; /* the slot of the oldest member; then cyclic by age */
    int64_t *member;
    double *member_alpha, *member_gamma;

    /* equal on all ranks */
    int64_t round, iterations;
    int64_t since; /* iterations since samples were dropped, or since the beginning */
    int64_t delta; /* when `since` reaches it samples are dropped; INT64_MAX: never again */
    int64_t active, eliminated, reconstructed;
    double lowered;  /* how much lower the objective is than it was at the beginning */
    int32_t stalled; /* rounds in a row that brought it no further down, but for rounding */

    /* of this rank */
    int64_t kernel_rows, cached_rows;

    /* made from the above */
    uint8_t *sides;    /* by position */
    int64_t *position; /* of an own sample */
} tutti_svm_state;

#endif
