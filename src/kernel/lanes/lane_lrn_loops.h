/* SPDX-License-Identifier: Apache-2.0 */
/* lane_lrn_loops.h: local response normalisation: the loops for every instruction set. Neighbouring channels lie `step`
 * floats apart in a tile, so channels may lie along vectors or across them. */
#ifndef TUTTI_LANE_LRN_LOOPS_H
#define TUTTI_LANE_LRN_LOOPS_H

#include "lane_math_loops.h"

INLINE vector neighbours(const float *x, int64_t step, int first, int last)
{
    vector sum = load(x + first * step);
    for (int d = first + 1; d <= last; d++) sum += load(x + d * step);
    return sum;
}

INLINE void square_all(const tutti_lrn_call *c, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i += WIDTH) {
        const vector x = load(c->x + i);
        store(c->square + i, x * x);
    }
}

INLINE vector base_at(const tutti_lrn_call *c, int64_t i)
{
    return multiply_add(neighbours(c->square + i, c->step, c->first, c->last), all(c->alpha), all(c->k));
}

/* Computes the forward pass of a tile. The loop writes whole vectors, so results that nobody reads follow the tile's
 * last element. */
static void lrn(const tutti_lrn_call *call)
{
    const tutti_lrn_call copy = *call, *c = &copy;
    square_all(c, 0, c->n);
    for (int64_t i = 0; i < c->n; i += WIDTH) store(c->y + i, load(c->x + i) * power(base_at(c, i), -c->beta));
}

/* Computes the input's gradient of a tile. With base b: din = dout b^-beta - 2 alpha beta x * sum of dout x b^(-beta -
 * 1) over the channels whose windows contain din's channel. */
static void lrn_gradient(const tutti_lrn_call *call)
{
    const tutti_lrn_call copy = *call, *c = &copy;
    square_all(c, 0, c->n);
    for (int64_t i = 0; i < c->n; i += WIDTH) {
        const vector base = base_at(c, i), straight = load(c->dout + i) * power(base, -c->beta);
        store(c->y + i, straight);
        store(c->ratio + i, straight * load(c->x + i) / base);
    }
    for (int64_t i = 0; i < c->n; i += WIDTH) {
        const vector sum = neighbours(c->ratio + i, c->step, -c->last, -c->first);
        store(c->y + i, load(c->y + i) - load(c->x + i) * sum * (2 * c->alpha * c->beta));
    }
}

#endif
