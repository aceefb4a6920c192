/* SPDX-License-Identifier: Apache-2.0 */
/* svm_offer.h: the samples that a rank offers for the working set in each round, and how many it offers. Threads:
 * shared (pure). */
#ifndef TUTTI_SVM_OFFER_H
#define TUTTI_SVM_OFFER_H

#include <stdint.h>

/* A sample that a rank offers. */
typedef struct {
    double gamma, alpha;
    int64_t number, entries;
} tutti_svm_candidate;

/* Returns how many candidates of each side a rank offers at first, for a working set of `block` samples. A quarter of a
 * full set is chosen, half of it from each side; a rank offers twice its share, which is rarely too few. */
static inline int tutti_svm_offer_of(int block, int nranks)
{
    const int offer = block / 4 / nranks + 16;
    return offer > block ? block : offer;
}

/* Returns the length of a rank's message: a head, and the candidates of both sides. */
static inline int64_t tutti_svm_offer_length(int offer)
{
    return 1 + 2 * (int64_t)offer;
}

#endif
