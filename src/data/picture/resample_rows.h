/* SPDX-License-Identifier: Apache-2.0 */
/* resample_rows.h: the two loops of the resampler that all its time goes into. Private to src/data. */
#ifndef TUTTI_DATA_RESAMPLE_ROWS_H
#define TUTTI_DATA_RESAMPLE_ROWS_H

#include <stdint.h>

/* Output pixel i is the sum over k < n of weight[i * n + k] * input pixel first[i] + k. Both arrays go on, with weights
 * of zero, to a multiple of TUTTI_RESAMPLE_GROUP. */
enum { TUTTI_RESAMPLE_GROUP = 4 };
typedef struct {
    int *first, n;
    float *weight;
} tutti_taps;

/* sum[i] = sum over k < n of weight[k] * row k [i], i < columns; rows are `stride` bytes apart. Reads up to 16 bytes
 * beyond a row and writes as many floats beyond sum. */
void tutti_resample_rows(const uint8_t *rows, int64_t stride, const float *weight, int n, int64_t columns, float *sum);

/* Where a line of three planes is written, and as what: sum * scale[c] + shift[c]. */
typedef struct {
    float *line;
    int64_t plane; /* floats from a plane to the next */
    const float *scale, *shift;
} tutti_plane_line;

/* A row of RGB floats, the first of which is pixel `left`, becomes `out` pixels of a line. Reads up to taps->n pixels
 * and a float beyond the last that has a weight. */
void tutti_resample_columns(const float *row, int left, const tutti_taps *taps, int out, const tutti_plane_line *to);

#endif
