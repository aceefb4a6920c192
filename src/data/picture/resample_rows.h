/* SPDX-License-Identifier: Apache-2.0 */
/* resample_rows.h: the two loops in which the resampler spends its time. Private to src/data. */
#ifndef TUTTI_DATA_RESAMPLE_ROWS_H
#define TUTTI_DATA_RESAMPLE_ROWS_H

#include <stdint.h>

/* The taps of an axis: output pixel i is the sum over k < n of weight[i * n + k] times input pixel first[i] + k. Both
 * arrays are padded, with weights of zero, to a multiple of TUTTI_RESAMPLE_GROUP output pixels. */
enum { TUTTI_RESAMPLE_GROUP = 4 };
typedef struct {
    int *first, n;
    float *weight;
} tutti_taps;

/* Computes sum[i] = sum over k < n of weight[k] * row k [i], i < columns; rows are `stride` bytes apart. Reads up to 16
 * bytes beyond a row and writes the same number of floats beyond sum. */
void tutti_resample_rows(const uint8_t *rows, int64_t stride, const float *weight, int n, int64_t columns, float *sum);

/* Where a line of the output is written, in three planes; channel c gets the values sum * scale[c] + shift[c]. */
typedef struct {
    float *line;
    int64_t plane; /* floats from one plane to the next */
    const float *scale, *shift;
} tutti_plane_line;

/* Computes `out` pixels of an output line from a row of RGB floats. The row's first pixel is input pixel number `left`.
 * Reads up to taps->n pixels and one float beyond the last pixel with a weight. */
void tutti_resample_columns(const float *row, int left, const tutti_taps *taps, int out, const tutti_plane_line *to);

#endif
