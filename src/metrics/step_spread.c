/* SPDX-License-Identifier: Apache-2.0 */
/* step_spread.c: measures how much the seconds of steps differ: ratios to the mean, and their quantiles. */
#include "trace.h"

#include <math.h>

#include "../base/sort.h"

/* Returns a quantile of n >= 1 sorted values. */
static double quantile(const double *values, size_t n, double at)
{
    const double place = at * (double)(n - 1), below = floor(place);
    const size_t i = (size_t)below;
    return i + 1 < n ? values[i] + (place - below) * (values[i + 1] - values[i]) : values[n - 1];
}

void tutti_step_spread_take(double *seconds, size_t n, tutti_step_spread *out)
{
    double sum = 0;
    *out = (tutti_step_spread){0};
    for (size_t i = 0; i < n; i++) sum += seconds[i];
    if (n < 2 || !(sum > 0)) return;
    tutti_sort_doubles(seconds, n);
    out->n = n < TUTTI_SPREAD_MOST ? (int)n : TUTTI_SPREAD_MOST;
    for (int i = 0; i < out->n; i++) {
        const double ratio = quantile(seconds, n, (double)i / (out->n - 1)) * (double)n / sum;
        out->ratio[i] = fmin(fmax(ratio, TUTTI_SPREAD_LEAST_RATIO), TUTTI_SPREAD_MOST_RATIO);
    }
}

double tutti_step_spread_quantile(const tutti_step_spread *s, double at)
{
    return s->n ? quantile(s->ratio, (size_t)s->n, at) : 1;
}
