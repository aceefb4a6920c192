/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h: matrix products of our own, for one product or a batch of them: C = map(A B + bias), or C += A B.
 *
 * Blocked as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), and BLIS: panels of
 * A and B are packed to the shape that a register block reads, blocks of panels stay in the caches that the system
 * reports. A *row* computes blocks by one instruction set; the table of rows is in gemm_plan.c.
 *
 *   row            multiplies   how
 *   avx512         f32          14 x 32 sums in registers
 *   avx2           f32          6 x 16 sums in registers; the bits of avx512
 *   portable       f32          plain C with the compiler's vectors
 *   amx            bf16         tiles: 32 of k at once, 32 x 32 sums
 *   avx512-bf16    bf16         VDPBF16PS: two of k at once, 14 x 32 sums
 *   tiles          bf16         the loops of amx with tiles in plain C
 *
 * SUMS. An element of C is one chain: it begins at 0 (at C where that is summed into, and at the bias never) and takes
 * the products in the order of k, by fused multiply-adds where the instruction set has them. So its bits depend on the
 * row and on nothing else: not on threads, blocks, caches, on its place in C, on who packed what; avx512 and avx2 give
 * the same ones. Rows of bf16 take two or 32 of k at once, as their instructions do, for which subnormal numbers are
 * zero. The error of an element is at most 2 (k + 4) 2^-24 (|A| |B| + |bias| + |C|) before C is rounded to its type;
 * GELU adds 2^-18 of its value, down to 2^-80.
 *
 * Threads: a plan is frozen and may be shared; workspace and C belong to one run at a time. Runs allocate nothing and
 * cannot fail. */
#ifndef TUTTI_GEMM_H
#define TUTTI_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"
#include "tutti/types.h"

typedef enum {
    TUTTI_GEMM_AS_IS,
    TUTTI_GEMM_RELU, /* of a NaN: NaN */
    TUTTI_GEMM_GELU, /* x (1 + erf(x / sqrt 2)) / 2 */
} tutti_gemm_map;

typedef enum { TUTTI_GEMM_NO_BIAS, TUTTI_GEMM_BIAS_OF_ROWS, TUTTI_GEMM_BIAS_OF_COLUMNS } tutti_gemm_bias;

/* What is multiplied. All matrices are row-major: A (m, k), or (k, m) where it is transposed, B (k, n), or (n, k), C
 * (m, n). */
typedef struct {
    int64_t m, n, k; /* k = 0: C = map(bias) */
    bool transpose_a, transpose_b;
    int64_t stride_a, stride_b, stride_c; /* elements from one row in memory to the next; 0 = rows lie side by side */
    tutti_dtype type_a, type_b, type_c;   /* f32, bf16 or f16 */
    tutti_dtype multiplied;  /* f32, or bf16: operands of other types are rounded to it as they are packed */
    bool packed_a, packed_b; /* these operands come as tutti_gemm_pack left them */
    int64_t batch;           /* so many products; 0 = 1 */
    int64_t apart_a, apart_b,
        apart_c;          /* elements from one product's matrix to the next one's; 0 = the same matrix (not of C).
                                           * Of a packed operand: 0 or not 0 = one packed after the other */
    bool accumulate;      /* C += A B: C is f32, without bias and map */
    tutti_gemm_bias bias; /* m or n floats, the same for the whole batch */
    tutti_gemm_map map;
    int nthreads;    /* at least 1 */
    const char *row; /* NULL = the fastest that this processor and TUTTI_ISA allow */
} tutti_gemm;

typedef enum { TUTTI_GEMM_A, TUTTI_GEMM_B } tutti_gemm_operand;

struct tutti_gemm_row;
/* How it is multiplied: frozen by tutti_gemm_plan_make, to be read by others for what is documented here. */
typedef struct {
    tutti_gemm gemm; /* nothing in it is 0 any more that had a default */
    bool
        is_turned; /* C^T = B^T A^T is multiplied: in `gemm` A and B, m and n have changed places; C and the bias lie as
                    * they did */
    const struct tutti_gemm_row *row;
    int64_t block_m, block_n, block_k;     /* sides of the blocks that caches hold */
    int nteams_batch, nteams_m, nteams_n;  /* threads by products, rows and columns */
    bool streams;                          /* sums go past the caches: C is more than they hold */
    bool copies_a, copies_b;               /* packed while multiplying; else read where it lies, or packed before */
    size_t packed_a_bytes, packed_b_bytes; /* of one matrix, by tutti_gemm_pack */
    size_t block_a_bytes, thread_bytes;
    size_t workspace_bytes; /* 64-byte aligned memory that a run may write; 0: none */
} tutti_gemm_plan;

/* TUTTI_ERR_USAGE: sizes below 1 (k: 0), strides shorter than a row, types or combinations that do not exist, a row
 * that is not here. */
tutti_status tutti_gemm_plan_make(const tutti_gemm *gemm, tutti_gemm_plan *plan, tutti_failure *err);

/* Packs one whole operand of one product, which the plan takes packed, as it lies in `from`, into packed_*_bytes of
 * memory aligned to 64 bytes. What comes out is a value of its own: it may be given to any plan of the same row with
 * the same sides of this operand, whatever the other one's, the batch and the threads; but where k is over 512 (of
 * bf16: 1024, of tiles: 2048), C of 16 bits takes other ones than C of f32. `from` is not needed any more. */
void tutti_gemm_pack(const tutti_gemm_plan *plan, tutti_gemm_operand which, const void *from, void *packed);

typedef struct {
    const void *a, *b; /* matrices, or packed ones; each begins at an element of its type */
    const float *bias; /* NULL without one */
    void *c;           /* overlaps none of them */
} tutti_gemm_operands;
/* A packed operand that another row or other sides were packed for is a bug of the caller, and asserted. */
void tutti_gemm_run(const tutti_gemm_plan *plan, const tutti_gemm_operands *operands, void *workspace);

/* Names of the rows, fastest first, NULL behind the last; whether one can run here. */
const char *tutti_gemm_row_name(int i);
bool tutti_gemm_row_is_here(const char *name);
/* Whether any row that is here multiplies that type. */
bool tutti_gemm_multiplies(tutti_dtype type);
/* The type that it multiplies. */
tutti_dtype tutti_gemm_row_type(const char *name);
const char *tutti_gemm_plan_row(const tutti_gemm_plan *plan);

#endif
