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

/* The sides of a sample. */
enum {
    TUTTI_SVM_UP = 1,    /* gamma may be b_up: y = +1 with alpha < C, or y = -1 with alpha > 0 */
    TUTTI_SVM_LOW = 2,   /* gamma may be b_low: y = +1 with alpha > 0, or y = -1 with alpha < C */
    TUTTI_SVM_MEMBER = 4 /* the sample is in the working set */
};

typedef struct {
    /* own samples, by position */
    int64_t n, nactive;
    int64_t *number;
    int32_t *sample; /* index among the problem's own samples */
    double *alpha;
    double *gamma; /* y_i G_i; out of date for dropped samples */

    /* the working set, equal on all ranks; slot by slot */
    int nmembers;
    int next; /* the slot of the oldest member; the others follow cyclically by age */
    int64_t *member;
    double *member_alpha, *member_gamma;

    /* equal on all ranks */
    int64_t round, iterations;
    int64_t since; /* iterations since samples were dropped, or since the beginning */
    int64_t delta; /* samples are dropped when `since` reaches it; INT64_MAX: never again */
    int64_t active, eliminated, reconstructed;
    double lowered;  /* by how much the objective has fallen since the beginning */
    int32_t stalled; /* consecutive rounds that did not lower it, up to rounding */

    /* counts of this rank */
    int64_t kernel_rows, cached_rows;

    /* derived from the above */
    uint8_t *sides;    /* by position */
    int64_t *position; /* position of an own sample */
} tutti_svm_state;

#endif
