/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_impl.h: batch normalisation where channels lie side by side in vector lanes: the rows behind lane_norm.c, one a
 * file: AVX-512, AVX2, plain C.
 *
 * Memory is walked in panels, sets of channels that lie together: one inner block (nChw16c) or all channels (NHWC). A panel
 * has runs (one a sample, or one in all) of positions; at each position its channels lie side by side. Two passes over a
 * panel follow each other, so that what fits into the L2 cache is read from memory once.
 *
 * Sums: floats over at most a tile of positions, doubles across tiles. Order depends on shape and row alone. */
#ifndef TUTTI_LANE_NORM_IMPL_H
#define TUTTI_LANE_NORM_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../tensor/tensor.h"

/* Steps in numbers. */
typedef struct {
    int64_t npanels, panel_step;
    int64_t nchannels; /* of a panel, padding included */
    int64_t nruns, run_step;
    int64_t npositions, position_step; /* of a run */
    int64_t tile;                      /* positions whose sums are kept in float */
} tutti_lane_walk;

/* One value a channel, padding included: where that is padding, scale is 0. */
typedef struct {
    const float *mean, *scale, *shift; /* normalised: (x - mean) * scale + shift */
    const float *offset, *slope;       /* input gradient: scale * (gradient - offset - slope * (x - mean)) */
} tutti_lane_coefficients;

typedef struct {
    tutti_lane_walk walk;
    tutti_lane_coefficients at;
    tutti_dtype type;       /* of all that follow: f32, bf16 or f16, rounded once where it is written */
    const void *in, *added; /* added: NULL = none */
    void *out, *dout, *din;
    const void *given, *more; /* the gradient that gradient_sums finds; with bits it may be a sum: more, else NULL */
    void *bits;      /* one a number of the output: it is positive. Kept where something is added and relu is set;
                      * NULL in evaluation */
    bool relu;       /* of what is normalised and added */
    bool streams;    /* out and din are written past the caches: they are aligned to vectors */
    double *sum;     /* a channel: of x - center, of gradients */
    double *product; /* a channel: of (x - center)^2, of gradient * (x - mean) */
    float *center;   /* a channel: near the mean, so that the variance does not cancel */
} tutti_lane_call;

typedef struct {
    const char *name;                                               /* as tutti_elementwise_isa names it */
    int width;                                                      /* channels in a vector */
    int bits_bytes;                                                 /* of one vector's bits */
    void (*sums)(const tutti_lane_call *c, int64_t panel);          /* adds to sum, product */
    void (*normalise)(const tutti_lane_call *c, int64_t panel);     /* writes out, bits */
    void (*gradient_sums)(const tutti_lane_call *c, int64_t panel); /* adds to sum, product; with bits: masks dout */
    void (*gradient)(const tutti_lane_call *c, int64_t panel);      /* writes din */
} tutti_lane_norm_row;

extern const tutti_lane_norm_row tutti_lane_norm_avx512, tutti_lane_norm_avx2, tutti_lane_norm_generic;

/* Best first; the last one is usable everywhere. lane_norm_rows_avx2.c or lane_norm_rows_portable.c. */
extern const tutti_lane_norm_row *const tutti_lane_norm_rows[];
extern const int tutti_lane_norm_nrows;

#endif
