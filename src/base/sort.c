/* SPDX-License-Identifier: Apache-2.0 */
/* sort.c: sorts measured numbers by qsort, and takes quantiles. */
#include "sort.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void tutti_sort_doubles(double *values, size_t n)
{
    if (n) qsort(values, n, sizeof *values, compare);
}
