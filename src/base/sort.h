/* SPDX-License-Identifier: Apache-2.0 */
/* sort.h: sorts measured numbers, for medians and other quantiles. Threads: any (pure functions). */
#ifndef TUTTI_BASE_SORT_H
#define TUTTI_BASE_SORT_H

#include <stddef.h>

/* Sorts in place, ascending; none of the n >= 0 values may be NaN. Cost: that of qsort. */
void tutti_sort_doubles(double *values, size_t n);

#endif
