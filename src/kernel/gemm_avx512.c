/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_avx512.c: products of f32 by AVX-512: 28 sums of the 32 registers, two for columns of B, one for a cell of A. */
#include "../tensor/isa.h"
#include "../tensor/vector_avx512.h"

#define GEMM_ROWS                  14
#define GEMM_VECTORS               2
#define GEMM_PAIR                  1
#define GEMM_EACH_ROW(X)           X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define gemm_multiply_add(a, b, c) multiply_add(a, b, c)
#include "gemm_loops.h"

static bool is_here(void)
{
    return strcmp(tutti_isa_name(tutti_isa_here()), "avx512") == 0;
}

const tutti_gemm_row tutti_gemm_avx512 = {.name = "avx512",
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
