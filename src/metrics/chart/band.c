/* SPDX-License-Identifier: Apache-2.0 */
/* band.c: averages several curves on a common grid. The band around the mean is the range from the least to the
 * greatest value at each point. */
#include "chart.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../../base/arena.h"

/* Returns the curve's value at x; after its last point a curve keeps that value. */
static double value_at(const tutti_curve *c, double x)
{
    int i = 1;
    while (i < c->n - 1 && c->x[i] < x) i++;
    if (c->n == 1 || x <= c->x[0]) return c->y[0];
    if (x >= c->x[i]) return c->y[i];
    const double part = (x - c->x[i - 1]) / (c->x[i] - c->x[i - 1]);
    return c->y[i - 1] + part * (c->y[i] - c->y[i - 1]);
}

static bool have_same_x(const tutti_curve *a, const tutti_curve *b)
{
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (a->x[i] != b->x[i]) return false;
    return true;
}

static void take_point(tutti_band *b, const tutti_curve *curves, int n, double x)
{
    double sum = 0, least = INFINITY, most = -INFINITY;
    for (int c = 0; c < n; c++) {
        const double y = value_at(&curves[c], x);
        sum += y;
        least = fmin(least, y);
        most = fmax(most, y);
    }
    b->x[b->n] = x;
    b->mean[b->n] = sum / n;
    b->least[b->n] = least;
    b->most[b->n++] = most;
}

/* Fills in the points of the band; all curves have points. */
static void fill(tutti_band *b, const tutti_curve *curves, int n, int most)
{
    double first = -INFINITY, last = -INFINITY;
    bool same = curves[0].n <= most;
    for (int c = 0; c < n; c++) {
        first = fmax(first, curves[c].x[0]);
        last = fmax(last, curves[c].x[curves[c].n - 1]);
        same = same && have_same_x(&curves[0], &curves[c]);
    }
    for (int i = 0; same && i < curves[0].n; i++) take_point(b, curves, n, curves[0].x[i]);
    const int npoints = same ? 0 : first < last && most > 1 ? most : 1;
    for (int i = 0; i < npoints; i++)
        take_point(b, curves, n, i == npoints - 1 ? last : first + (last - first) * i / (npoints - 1));
}

tutti_band tutti_band_make(const tutti_curve *curves, int ncurves, int most)
{
    tutti_band b = {0};
    tutti_curve *some = tutti_alloc(sizeof *some * (size_t)(ncurves + 1));
    const size_t nbytes = sizeof(double) * (size_t)(most > 1 ? most : 1);
    int n = 0;
    for (int c = 0; c < ncurves; c++)
        if (curves[c].n) some[n++] = curves[c];
    b.x = tutti_alloc(nbytes);
    b.mean = tutti_alloc(nbytes);
    b.least = tutti_alloc(nbytes);
    b.most = tutti_alloc(nbytes);
    if (n) fill(&b, some, n, most);
    free(some);
    return b;
}

void tutti_band_release(tutti_band *b)
{
    free(b->x);
    free(b->mean);
    free(b->least);
    free(b->most);
    *b = (tutti_band){0};
}
