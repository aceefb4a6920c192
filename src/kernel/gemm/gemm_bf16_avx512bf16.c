/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_bf16_avx512bf16.c: products of bf16 by AVX512-BF16 (VDPBF16PS). A lane adds the products of two neighbours of k
 * to its sum, the second neighbour's first. The instruction takes subnormal numbers for zero and rounds sums to nearest
 * even. */
#include "../../tensor/isa.h"
#include "../../tensor/vector.h"

static inline vector multiply_add_pairs(vector a, vector b, vector c)
{
    return (vector)_mm512_dpbf16_ps((__m512)c, (__m512bh)a, (__m512bh)b);
}

#define GEMM_ROWS                  14
#define GEMM_VECTORS               2
#define GEMM_PAIR                  2
#define GEMM_FETCH                 1
#define GEMM_EACH_ROW(X)           X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define gemm_multiply_add(a, b, c) multiply_add_pairs(a, b, c)
#include "gemm_loops.h"

static bool is_here(void)
{
    return tutti_isa_has_bf16();
}

const tutti_gemm_row tutti_gemm_avx512_bf16 = {.name = "avx512-bf16", .multiplied = TUTTI_BF16, GEMM_ROW};
