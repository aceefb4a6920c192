/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_generic.c: products of f32 in plain C with the compiler's vectors of four floats. */
#include "../tensor/vector_generic.h"

#define GEMM_ROWS                  4
#define GEMM_VECTORS               2
#define GEMM_PAIR                  1
#define GEMM_EACH_ROW(X)           X(1) X(2) X(3) X(4)
#define gemm_multiply_add(a, b, c) multiply_add(a, b, c)
#include "gemm_loops.h"

static bool is_here(void)
{
    return true;
}

const tutti_gemm_row tutti_gemm_portable = {.name = "portable",
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
