/* SPDX-License-Identifier: Apache-2.0 */
/* step_spread.h: how steps that do the same differ in time: what each takes over the mean of all, in order. Threads: shared (pure). */
#ifndef TUTTI_STEP_SPREAD_H
#define TUTTI_STEP_SPREAD_H

#include <stddef.h>

enum { TUTTI_SPREAD_MOST = 33 }; /* ratios that are kept: 32 parts of the steps */
#define TUTTI_SPREAD_LEAST_RATIO 1e-5
#define TUTTI_SPREAD_MOST_RATIO  1e5

typedef struct {
    int n;                           /* 0: not known; else 2 .. TUTTI_SPREAD_MOST */
    double ratio[TUTTI_SPREAD_MOST]; /* ascending, of the two bounds above at most */
} tutti_step_spread;

/* Of the seconds >= 0 of n steps, which are put in order. Of more than are kept those that part them into 32 alike. Not known: fewer
 * than two steps, or none that takes any time. */
void tutti_step_spread_take(double *seconds, size_t n, tutti_step_spread *out);

/* What a share `at` (0 to 1) of the steps stays below: straight between two ratios, the least at 0, the largest at 1 (Hyndman and Fan,
 * The American Statistician 50 (1996), definition 7). 1 where it is not known. */
double tutti_step_spread_quantile(const tutti_step_spread *s, double at);

#endif
