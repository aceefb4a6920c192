/* SPDX-License-Identifier: Apache-2.0 */
/* svm_state.h: the state of a solve: everything that an interrupted solve needs to go on with the same bits.
 *
 * The state is complete between rounds. Arrays over samples are ordered by position: the active samples first, then the
 * dropped ones. Positions are local to a rank and do not change the result, so a state may be distributed anew over any
 * number of ranks by the samples' numbers. A number is a sample's place in the problem's order: the samples of +1 in
 * the order of the file, then those of -1.
 *
 * Threads: one at a time. */
#ifndef TUTTI_SVM_STATE_H
#define TUTTI_SVM_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* Bits of a sample: the sides on which its gamma counts, and membership in the working set. */
enum {
    TUTTI_SVM_UP = 1,    /* gamma may be b_up: y = +1 with alpha < C, or y = -1 with alpha > 0 */
    TUTTI_SVM_LOW = 2,   /* gamma may be b_low: y = +1 with alpha > 0, or y = -1 with alpha < C */
    TUTTI_SVM_MEMBER = 4 /* the sample is in the working set */
};

typedef struct {
    /* number of own samples, and of the active ones among them */
    int64_t n, nactive;
    int64_t *number;
    int32_t *sample; /* index among the problem's own samples */
    double *alpha;
    double *gamma; /* y_i G_i for each position; out of date for dropped samples */

    /* the working set, equal on all ranks: nmembers slots, one for each member, with its number, alpha and gamma */
    int nmembers;
    int next; /* the slot of the oldest member; the others follow cyclically by age */
    int64_t *member;
    double *member_alpha, *member_gamma;

    /* counts that are equal on all ranks */
    int64_t round, iterations;
    int64_t since; /* iterations since samples were dropped, or since the beginning */
    int64_t delta; /* samples are dropped when `since` reaches this; INT64_MAX: never again */
    int64_t active, eliminated, reconstructed;
    double lowered;  /* by how much the objective has fallen since the beginning */
    int32_t stalled; /* consecutive rounds that did not lower the objective, up to rounding */

    /* rows of kernel values that this rank computed, and that it found in the cache */
    int64_t kernel_rows, cached_rows;

    /* the following arrays are derived from the fields above */
    uint8_t *sides;    /* bits TUTTI_SVM_UP and so on, by position */
    int64_t *position; /* [n] position of each own sample; the inverse of `sample` */
} tutti_svm_state;

#endif
