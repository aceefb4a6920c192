/* SPDX-License-Identifier: Apache-2.0 */
/* band.h: several curves of one thing as one: their mean, and the least and the most of them, on a common grid. Pure. Threads: shared. */
#ifndef TUTTI_BAND_H
#define TUTTI_BAND_H

typedef struct {
    const double *x, *y; /* n points, x growing */
    int n;
} tutti_curve;

typedef struct {
    double *x, *mean, *least, *most; /* n points each */
    int n;
} tutti_band;

/* From where every curve has begun to where the last one ends, at up to `most` points: those of the curves where they have the same x,
 * else in equal steps. Between points a curve is a straight line; one that has ended stays at its last point. A curve without points is
 * left out; none: n = 0. */
tutti_band tutti_band_make(const tutti_curve *curves, int ncurves, int most);
void tutti_band_release(tutti_band *b);

#endif
