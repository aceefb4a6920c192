/* SPDX-License-Identifier: Apache-2.0 */
/* slowest_rank.h: by what the computing of ranks that wait for each other takes longer than that of one rank on the mean.
 *
 * If F is the share of one rank's steps that take at most x, and each rank's step is a draw of its own, all of P ranks are done by x with
 * chance F(x)^P. The typical step, of which half take longer, is where that is 1/2:
 *
 *   F^-1(0.5^(1/P))          P = 1: the median; 2: what 71 % of the steps stay below; 8: 92 %; 64: 98.9 %
 *
 * F is what a layer trace kept of its steps (metrics/step_spread.h): nothing is slower than its slowest step, however many ranks there are.
 * Ranks that wait once in n steps wait for the slowest sum of n draws. Its mean is n times that of one, it strays sqrt(n) times as
 * far, so what F^-1 is away from the mean is divided by sqrt(n): exact for normal steps, and for many of any kind.
 * Where ranks take turns on a core, those of a core are one party that draws once for each of them.
 * Ranks that are slow by a factor of their own are waited for by the others: the largest, over the factors s, of s times the typical step
 * of those that are as slow or slower. That is the step where factors are alike or far apart, and never more.
 *
 * Draws are taken to be independent. What holds up all ranks of a machine at once, or one of them for many steps, is not so: of that the
 * answer is too high, or too low. Threads: shared (pure). */
#ifndef TUTTI_SLOWEST_RANK_H
#define TUTTI_SLOWEST_RANK_H

#include <stdint.h>

#include "../../metrics/step_spread.h"

typedef struct {
    int nranks;
    int nlanes;             /* ranks that compute at once, at most: on a host its cores */
    int64_t period;         /* steps that a rank takes between two waits */
    const double *slowness; /* of each rank, >= 1; NULL: of none */
} tutti_waiting_ranks;

/* By what the mean computing of a step is multiplied. Of a spread that is not known: the largest slowness, or 1. Cost: with slowness
 * nranks^2. */
double tutti_slowest_rank(const tutti_step_spread *spread, const tutti_waiting_ranks *ranks);

#endif
