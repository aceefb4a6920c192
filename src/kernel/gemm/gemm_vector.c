/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_vector.c: products of f32 by the vectors of each instruction set. A register block has as many vectors of sums
 * as registers allow: 28 of 32 registers with AVX-512, 12 of 16 with AVX2, 8 in plain C. Two more registers hold
 * columns of B, and one or two hold cells of A. AVX2 gives the bits of AVX-512, since in both a sum is one chain of
 * fused multiply-adds.
 *
 * With vectors of half a cache line (AVX2), a step of a register block reads 64 bytes of B and 24 of A in six cycles,
 * so a panel of B should stay in the first-level cache. With vectors of a whole line (AVX-512) it reads 128 and 56
 * bytes in 14 cycles. There the order in which the rows of C are written matters more (Zen 4). */
#include "../../tensor/isa.h"
#include "../../tensor/vector.h"

#if defined(TUTTI_FOR_AVX512)
#define GEMM_NAME        "avx512"
#define GEMM_ISA         TUTTI_ISA_AVX512
#define GEMM_ROWS        14
#define GEMM_FETCH       1
#define GEMM_EACH_ROW(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#elif defined(TUTTI_FOR_AVX2)
#define GEMM_NAME        "avx2"
#define GEMM_ISA         TUTTI_ISA_AVX2
#define GEMM_ROWS        6
#define GEMM_FETCH       2
#define GEMM_EACH_ROW(X) X(1) X(2) X(3) X(4) X(5) X(6)
#else
#define GEMM_NAME        "portable"
#define GEMM_ISA         TUTTI_ISA_GENERIC
#define GEMM_ROWS        4
#define GEMM_FETCH       4
#define GEMM_EACH_ROW(X) X(1) X(2) X(3) X(4)
#endif
#define GEMM_VECTORS               2
#define GEMM_PAIR                  1
#define gemm_multiply_add(a, b, c) multiply_add(a, b, c)
#include "gemm_loops.h"

static bool is_here(void)
{
    return tutti_isa_here() >= GEMM_ISA;
}

enum { HALF_LINES = WIDTH == LINE / 2 };

const tutti_gemm_row TUTTI_ISA_ROW(tutti_gemm) = {
    .name = GEMM_NAME, .multiplied = TUTTI_F32, .b_stays = HALF_LINES, .turns = HALF_LINES, GEMM_ROW};
