/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h: tutti's own matrix products, for one product or a batch of them: C = map(A B + bias), or C += A B. `map` is
 * the identity, ReLU or GELU.
 *
 * Blocked as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), and BLIS: panels of
 * A and B are packed into the form that a register block reads. Blocks of panels are small enough to stay in the
 * caches, whose sizes the system reports. A *row* computes blocks by one instruction set; the table of rows is in
 * gemm_plan.c.
 *
 *   row            multiplies   how
 *   avx512         f32          14 x 32 sums in registers
 *   avx2           f32          6 x 16 sums in registers; the bits of avx512
 *   portable       f32          plain C with the compiler's vectors
 *   amx            bf16         tiles: 32 of k at once, 32 x 32 sums
 *   avx512-bf16    bf16         VDPBF16PS: two of k at once, 14 x 32 sums
 *   tiles          bf16         the loops of amx with tiles in plain C
 *
 * SUMS. An element of C is one chain of additions. The chain begins at 0 (with `accumulate` at C, never at the bias)
 * and takes the products in the order of k, by fused multiply-adds if the instruction set has them. So its bits depend
 * on the row alone: not on threads, blocks, caches, its place in C, or who packed the operands. avx512 and avx2 give
 * the same bits. Rows of bf16 add two or 32 elements of k at once, as their instructions do. Their instructions take
 * subnormal numbers for zero. The error of an element is at most 2 (k + 4) 2^-24 (|A| |B| + |bias| + |C|) before C is
 * rounded to its type; GELU adds 2^-18 of its value, down to 2^-80.
 *
 * Threads: any may use a plan at the same time; workspace and C belong to one run. Runs allocate nothing and cannot
 * fail. */
#ifndef TUTTI_GEMM_H
#define TUTTI_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"
#include "tutti/types.h"

typedef enum {
    TUTTI_GEMM_AS_IS,
    TUTTI_GEMM_RELU, /* max(0, x); NaN stays NaN */
    TUTTI_GEMM_GELU, /* x (1 + erf(x / sqrt 2)) / 2 */
} tutti_gemm_map;

typedef enum { TUTTI_GEMM_NO_BIAS, TUTTI_GEMM_BIAS_OF_ROWS, TUTTI_GEMM_BIAS_OF_COLUMNS } tutti_gemm_bias;

/* A request for a product. All matrices are row-major: A is (m, k), or (k, m) if it is transposed; B is (k, n), or (n,
 * k) if it is transposed; C is (m, n). */
typedef struct {
    int64_t m, n, k; /* k = 0 gives C = map(bias) */
    bool transpose_a, transpose_b;
    /* distance in elements from one row in memory to the next; 0 means that rows follow each other without gaps */
    int64_t stride_a, stride_b, stride_c;
    tutti_dtype type_a, type_b, type_c; /* types of the matrices: f32, bf16 or f16 */
    /* the type in which elements are multiplied: f32 or bf16; operands of another type are rounded to it when they are
     * packed */
    tutti_dtype multiplied;
    bool packed_a, packed_b; /* true if the caller has packed the operand by tutti_gemm_pack */
    int64_t batch;           /* number of products; 0 means 1 */
    /* distance in elements from one product's matrix to that of the next product; 0 means one matrix for all products
     * (not for C). Packed operands of several products lie one behind the other; for them any value but 0 means that
     * each product has its own */
    int64_t apart_a, apart_b, apart_c;
    bool accumulate;      /* true: C += A B; then C must be f32, without bias or map */
    tutti_gemm_bias bias; /* which bias is added: none, m floats or n floats, the same for the whole batch */
    tutti_gemm_map map;
    int nthreads;    /* number of threads, at least 1 */
    const char *row; /* name of the row; NULL means the fastest that this processor and TUTTI_ISA allow */
} tutti_gemm;

typedef enum { TUTTI_GEMM_A, TUTTI_GEMM_B } tutti_gemm_operand;

struct tutti_gemm_row;
/* A plan: how a product is computed. tutti_gemm_plan_make fills it in, and nothing changes it later. Callers may read
 * the fields that have comments. */
typedef struct {
    tutti_gemm gemm; /* the product, with every default filled in */
    /* true if C^T = B^T A^T is computed; then A and B, and m and n, have changed places in `gemm`. C and the bias lie
     * as before */
    bool is_turned;
    const struct tutti_gemm_row *row;
    /* sides of the blocks, in elements; they are chosen by the sizes of the caches */
    int64_t block_m, block_n, block_k;
    /* into how many parts the batch, the rows of C and its columns are divided among threads */
    int nteams_batch, nteams_m, nteams_n;
    bool streams; /* true if stores of C bypass the caches, because C is larger than these */
    /* true if the operand is packed while multiplying; false if it is read where it lies, or was packed before */
    bool copies_a, copies_b;
    size_t packed_a_bytes, packed_b_bytes; /* bytes of one matrix, packed by tutti_gemm_pack */
    size_t block_a_bytes, thread_bytes;
    size_t workspace_bytes; /* bytes of 64-byte aligned memory that a run may write; 0 means none */
} tutti_gemm_plan;

/* Plans a product. TUTTI_ERR_USAGE if a size is below 1 (k: below 0), if a stride is shorter than a row, if no row has
 * this combination of types, or if this processor cannot run the row. */
tutti_status tutti_gemm_plan_make(const tutti_gemm *gemm, tutti_gemm_plan *plan, tutti_failure *err);

/* Packs one whole operand of one product. `which` is the operand, A or B; the plan must take it packed (packed_a,
 * packed_b of tutti_gemm). `from` is the matrix, which is not needed afterwards. `packed` is packed_a_bytes or
 * packed_b_bytes of memory, aligned to 64 bytes. Any plan of the same row with the same sides of this operand may use
 * the packed operand, whatever the other operand, the batch and the threads. There is one exception: if k is over 512
 * (bf16: 1024, tiles: 2048), a plan whose C has 16 bits needs its own packed operand. */
void tutti_gemm_pack(const tutti_gemm_plan *plan, tutti_gemm_operand which, const void *from, void *packed);

typedef struct {
    const void *a, *b; /* matrices, or packed operands; each begins at an element of its type */
    const float *bias; /* the bias; NULL if there is none */
    void *c;           /* the result; must not overlap the operands or the bias */
} tutti_gemm_operands;
/* Runs a plan. An operand that was packed for another row or other sides is a bug of the caller, and an assertion
 * fails. */
void tutti_gemm_run(const tutti_gemm_plan *plan, const tutti_gemm_operands *operands, void *workspace);

/* tutti_gemm_row_name returns the names of the rows, fastest first, and NULL behind the last. The next function tells
 * whether this processor can run a row. */
const char *tutti_gemm_row_name(int i);
bool tutti_gemm_row_is_here(const char *name);
/* True if a row that runs here multiplies that type. */
bool tutti_gemm_multiplies(tutti_dtype type);
/* Returns the type that the row multiplies. */
tutti_dtype tutti_gemm_row_type(const char *name);
const char *tutti_gemm_plan_row(const tutti_gemm_plan *plan);

#endif
