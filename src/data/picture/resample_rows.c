/* SPDX-License-Identifier: Apache-2.0 */
/* resample_rows.c: the resampler's loops, for the vectors that every processor has. The usual numbers of taps (input
 * pixels for an output pixel) have loops of their own, which the compiler unrolls (CMake asks for -O3 here); wider
 * vectors were not faster (measured with AVX2 and AVX-512). */
#include "resample_rows.h"

#include <string.h>

enum { WIDTH = 16, GROUP = TUTTI_RESAMPLE_GROUP };
/* four floats: RGB of a pixel and R of the next one, or one channel of four pixels */
typedef float pixel __attribute__((vector_size(4 * GROUP)));

static inline __attribute__((always_inline)) void rows_add(const uint8_t *rows, int64_t stride, const float *weight,
                                                           int n, int64_t columns, float *out)
{
    for (int64_t i = 0; i < columns; i += WIDTH) {
        float sum[WIDTH] = {0};
        for (int k = 0; k < n; k++)
            for (int j = 0; j < WIDTH; j++) sum[j] += (float)rows[i + k * stride + j] * weight[k];
        memcpy(out + i, sum, sizeof sum);
    }
}

void tutti_resample_rows(const uint8_t *rows, int64_t stride, const float *weight, int n, int64_t columns, float *sum)
{
    switch (n) {
    case 1: rows_add(rows, stride, weight, 1, columns, sum); break;
    case 2: rows_add(rows, stride, weight, 2, columns, sum); break;
    case 3: rows_add(rows, stride, weight, 3, columns, sum); break;
    case 4: rows_add(rows, stride, weight, 4, columns, sum); break;
    default: rows_add(rows, stride, weight, n, columns, sum); break;
    }
}

static inline __attribute__((always_inline)) void pixel_add(const float *from, const float *weight, int n, pixel *out)
{
    pixel sum = {0};
    for (int k = 0; k < n; k++) {
        pixel p;
        memcpy(&p, from + 3 * k, sizeof p);
        sum += p * weight[k];
    }
    *out = sum;
}

static inline __attribute__((always_inline)) void columns_add(const float *row, int left, const tutti_taps *taps, int n,
                                                              int out, const tutti_plane_line *to)
{
    for (int i = 0; i < out; i += GROUP) {
        pixel p[GROUP], channel[3];
        for (int g = 0; g < GROUP; g++)
            pixel_add(row + (int64_t)(taps->first[i + g] - left) * 3, taps->weight + (int64_t)(i + g) * n, n, &p[g]);
        const pixel rg01 = __builtin_shufflevector(p[0], p[1], 0, 4, 1, 5),
                    rg23 = __builtin_shufflevector(p[2], p[3], 0, 4, 1, 5);
        const pixel b01 = __builtin_shufflevector(p[0], p[1], 2, 6, 3, 7),
                    b23 = __builtin_shufflevector(p[2], p[3], 2, 6, 3, 7);
        channel[0] = __builtin_shufflevector(rg01, rg23, 0, 1, 4, 5);
        channel[1] = __builtin_shufflevector(rg01, rg23, 2, 3, 6, 7);
        channel[2] = __builtin_shufflevector(b01, b23, 0, 1, 4, 5);
        const size_t nbytes = sizeof(float) * (size_t)(out - i < GROUP ? out - i : GROUP);
        for (int c = 0; c < 3; c++) {
            channel[c] = channel[c] * to->scale[c] + to->shift[c];
            if (nbytes == sizeof(pixel))
                memcpy(to->line + c * to->plane + i, &channel[c], sizeof(pixel));
            else
                memcpy(to->line + c * to->plane + i, &channel[c], nbytes);
        }
    }
}

void tutti_resample_columns(const float *row, int left, const tutti_taps *taps, int out, const tutti_plane_line *to)
{
    switch (taps->n) {
    case 2: columns_add(row, left, taps, 2, out, to); break;
    case 3: columns_add(row, left, taps, 3, out, to); break;
    case 4: columns_add(row, left, taps, 4, out, to); break;
    case 5: columns_add(row, left, taps, 5, out, to); break;
    default: columns_add(row, left, taps, taps->n, out, to); break;
    }
}
