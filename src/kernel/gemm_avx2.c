/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_avx2.c: products of f32 by AVX2 and FMA: twelve sums of the 16 registers, two for columns of B, one or two for cells of A. */
#include "../tensor/elementwise.h"
#include "../tensor/vector_avx2.h"

#define GEMM_ROWS                  6
#define GEMM_VECTORS               2
#define GEMM_PAIR                  1
#define GEMM_EACH_ROW(X)           X(1) X(2) X(3) X(4) X(5) X(6)
#define gemm_multiply_add(a, b, c) multiply_add(a, b, c)
#include "gemm_loops.h"

static bool is_here(void)
{
    return strcmp(tutti_elementwise_isa(), "generic") != 0 && __builtin_cpu_supports("fma");
}

const tutti_gemm_row tutti_gemm_avx2 = {.name = "avx2",
                                        .multiplied = TUTTI_F32,
                                        .rows = GEMM_ROWS,
                                        .columns = GEMM_COLUMNS,
                                        .vector = WIDTH,
                                        .pair = 1,
                                        .step = 1,
                                        .reads_in_place = true,
                                        .is_here = is_here,
                                        .pack_a = gemm_pack,
                                        .pack_b = gemm_pack,
                                        .multiply = gemm_multiply,
                                        .finish = gemm_finish};
