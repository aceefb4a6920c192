/* SPDX-License-Identifier: Apache-2.0 */
/* fakelib_numbers.c: numbers of three types, and a product of matrices that is soon enough for small networks. */
#include <stdlib.h>
#include <string.h>

#include "fakelib.h"
#include "tensor/convert_one.h"

size_t fakelib_bytes(fakelib_type type)
{
    return type == FAKELIB_F32 ? sizeof(float) : sizeof(uint16_t);
}

float fakelib_get(fakelib_type type, const void *from, int64_t i)
{
    if (type == FAKELIB_F32) return ((const float *)from)[i];
    const uint16_t half = ((const uint16_t *)from)[i];
    return type == FAKELIB_BF16 ? tutti_f32_of_bf16(half) : tutti_f32_of_f16(half);
}

void fakelib_put(fakelib_type type, void *to, int64_t i, float value)
{
    if (type == FAKELIB_F32)
        ((float *)to)[i] = value;
    else
        ((uint16_t *)to)[i] = type == FAKELIB_BF16 ? tutti_bf16_of_f32(value) : tutti_f16_of_f32(value);
}

/* TF32 keeps 10 bits of mantissa, to nearest even. */
float fakelib_tf32(float value)
{
    const uint32_t bits = tutti_bits_of_f32(value);
    if ((bits & 0x7f800000) == 0x7f800000) return value;
    return tutti_f32_of_bits((bits + 0xfff + (bits >> 13 & 1)) & ~UINT32_C(0x1fff));
}

void *fakelib_alloc(size_t nbytes)
{
    void *at = calloc(1, nbytes ? nbytes : 1);
    if (!at) abort(); /* a test cannot go on */
    return at;
}

/* ---- products ---- */

enum { LANES = 16, ROWS = 4 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* A slab has `rows` rows of k numbers of a. */
typedef struct {
    const float *a;
    int64_t k;
    int rows;
} slab;

/* Multiplies up to four rows by one panel into `sums`. */
static void multiply_rows(const slab *s, const lanes *panel, lanes sums[ROWS])
{
    const float *row[ROWS];
    for (int r = 0; r < ROWS; r++) row[r] = s->a + (r < s->rows ? r : 0) * s->k;
    lanes sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
    for (int64_t i = 0; i < s->k; i++) {
        const lanes b = panel[i];
        sum0 += row[0][i] * b;
        sum1 += row[1][i] * b;
        sum2 += row[2][i] * b;
        sum3 += row[3][i] * b;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

static void add_rows(const slab *s, const lanes *panel, int64_t step, int64_t width, float *c)
{
    lanes sums[ROWS];
    multiply_rows(s, panel, sums);
    for (int r = 0; r < s->rows; r++)
        for (int64_t j = 0; j < width; j++) c[r * step + j] += sums[r][j];
}

void fakelib_product(const int64_t mnk[3], const float *a, const float *b, float *c)
{
    const int64_t m = mnk[0], n = mnk[1], k = mnk[2];
    void *memory = fakelib_alloc((size_t)(k + 1) * sizeof(lanes));
    lanes *panel = (lanes *)(((uintptr_t)memory + sizeof(lanes) - 1) / sizeof(lanes) * sizeof(lanes));
    for (int64_t at = 0; at < n; at += LANES) {
        const int64_t width = n - at < LANES ? n - at : LANES;
        for (int64_t i = 0; i < k; i++) memcpy(&panel[i], b + i * n + at, (size_t)width * sizeof(float));
        for (int64_t i = 0; i < m; i += ROWS) {
            const slab s = {a + i * k, k, m - i < ROWS ? (int)(m - i) : ROWS};
            add_rows(&s, panel, n, width, c + i * n + at);
        }
    }
    free(memory);
}
