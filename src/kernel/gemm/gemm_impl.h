/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_impl.h: declarations that the files of tutti's matrix products share: rows of loops (tutti_gemm_row) and packed
 * panels.
 *
 * Operands are packed as *cells* of 32 bits. A cell is a float, or two bf16 elements that are neighbours along k. A
 * *panel* of A has row->rows rows of A, and a panel of B has row->columns columns of B. The rows of A, or the columns
 * of B, are the operand's *side*. Its cells lie as [k][side] (for A with a_in_tiles: [k / 16][side][16 of k]). A panel
 * whose side or whose last step of k is not full is filled up with zeros. In a whole packed operand the panels of the
 * first block of k come first: [block of k][panel][k][side]. */
#ifndef TUTTI_GEMM_IMPL_H
#define TUTTI_GEMM_IMPL_H

#include "gemm.h"

enum { TUTTI_GEMM_ALIGNED = 64 };

typedef uint32_t tutti_gemm_cell;

/* A matrix to pack: element (i, p) lies at from + (i * apart_i + p * apart_p) elements. One of the two distances is
 * 1. */
typedef struct {
    const void *from;
    tutti_dtype type;
    int64_t apart_i, apart_p;
} tutti_gemm_source;

/* Rows that lie anywhere, such as those of windows (gemm_windows.h). Element q of a row lies at q / block * apart + q %
 * block from the row's begin. If a row is longer than `block`, `block` is a multiple of a vector's elements, and so is
 * the element at which packing begins. */
typedef struct {
    const void *const *rows; /* a NULL row is a row of zeros */
    tutti_dtype type;
    int64_t block, apart;
} tutti_gemm_scattered;

/* Memory that will be needed soon, as a matrix to pack or as packed cells. The memory is fetched into a cache while
 * something else is multiplied. While one register block is computed, one part of the memory is fetched: a cache line
 * for every row->fetch steps of k. */
typedef struct {
    const char *at;
    int64_t i, p; /* i: bytes from one cache line to the next; p: bytes from one run of 16 lines to the next run */
    int64_t left; /* number of parts that are still to be fetched */
    /* Rows of A, or columns of B, are fetched in groups of 16. Each group is fetched in parts. of_side: number of parts
     * of a group; of_this: number of parts of the current group that are left. */
    int64_t of_side, of_this;
    int64_t apart, along; /* apart: bytes from a group to the next one; along: bytes from a part to the next one */
    int64_t blocks;       /* number of register blocks that are computed before the memory is needed */
} tutti_gemm_fetched;

/* Consecutive register blocks of C of one size, for a part of a block of k. Cells lie at the distances given here. Sums
 * start from the values at `begin` and are written to `sums`. */
typedef struct {
    const tutti_gemm_cell *a, *b;
    /* distances in cells (for A in tiles: in tiles): a_i from one row of A to the next, a_p and b_p from one step of k
     * to the next; columns of B lie side by side */
    int64_t a_i, a_p, b_p;
    int64_t steps;      /* number of steps of k */
    const float *begin; /* values from which the sums start; NULL means 0 */
    int64_t begin_apart;
    float *sums;
    int64_t sums_apart; /* distance in floats from one row of sums to the next */
    /* number of register blocks after the first one. The next three fields are the distances from one block to the
     * next: in cells of A, in cells of B, and in floats of begin and sums */
    int64_t more;
    int64_t next_a, next_b, next_c;
    /* where the sums of the block after the last one lie, to be fetched meanwhile; NULL if unknown */
    const float *next_sums;
    /* two pieces of memory to fetch meanwhile: the second one when the first has no parts left; NULL means none */
    tutti_gemm_fetched *fetch;
    bool streams; /* true if the stores of sums bypass the caches: then the sums fill whole cache lines */
} tutti_gemm_block;

/* Finished sums, and the operations that turn them into elements of C. */
typedef struct {
    int64_t rows, columns;
    const float *sums;
    int64_t sums_apart;
    /* biases, beginning with that of the block's first row or first column; NULL means none */
    const float *row_bias, *column_bias;
    tutti_gemm_map map;
    tutti_dtype type;
    void *to;
    int64_t to_apart;
} tutti_gemm_finish;

typedef struct tutti_gemm_row {
    const char *name;
    tutti_dtype multiplied;
    int rows, columns, vector; /* rows and columns of a register block; vector: the least number of columns that are
                                * computed together */
    int pair;                  /* number of elements of k in a cell */
    /* number of elements of k that are multiplied at once; panels are filled up to multiples of this number */
    int step;
    int block_k;     /* number of elements of k in a block: the same in all plans, because operands are packed by it */
    int fetch;       /* number of steps of k for each cache line that is fetched meanwhile; 0: nothing is fetched */
    bool a_in_tiles; /* true if the cells of a panel of A lie as [k / 16][side][16 of k] */
    /* true if a panel of B stays in the first-level cache while it is multiplied with panel after panel of A; false if
     * a panel of A stays and panels of B follow each other */
    bool b_stays;
    /* true if a product with few rows of C, whose B has neighbours of k side by side, is computed as C^T = B^T A^T */
    bool turns;
    /* true if a matrix whose elements are cells already need not be packed; then a_i, a_p and b_p may have any value */
    bool reads_in_place;
    bool (*is_here)(void);
    /* Packs n rows of A (pack_a) or n columns of B (pack_b), each with nk elements of k. The panels have `side` rows or
     * columns and lie `apart` cells from each other. n = 0 writes one panel of zeros. */
    void (*pack_a)(const tutti_gemm_source *source, int64_t n, int64_t nk, int side, tutti_gemm_cell *to,
                   int64_t apart);
    void (*pack_b)(const tutti_gemm_source *source, int64_t n, int64_t nk, int side, tutti_gemm_cell *to,
                   int64_t apart);
    /* Pack rows that lie anywhere into one panel. For pack_rows, the n rows of `s` are rows of A (or columns of B), and
     * their nk elements from `from` on run along k. For pack_steps, the nk rows of `s` are steps of k, and their n
     * elements from `from` on are one for each row of A (or column of B). A panel of A in tiles is packed by pack_rows
     * only. */
    void (*pack_rows)(const tutti_gemm_scattered *s, int64_t n, int64_t from, int64_t nk, int side,
                      tutti_gemm_cell *to);
    void (*pack_steps)(const tutti_gemm_scattered *s, int64_t from, int64_t n, int64_t nk, int side,
                       tutti_gemm_cell *to);
    /* Computes the register blocks, each with rows x columns sums of C. `columns` is rounded up to whole vectors: this
     * number of sums is written in each row, and this number of elements of `begin` is read. */
    void (*multiply)(const tutti_gemm_block *block, int64_t rows, int64_t columns);
    void (*finish)(const tutti_gemm_finish *finish);
    /* Transposes rows x columns of sums, for turned products. Rows lie `apart` elements from each other in `from` and
     * in `to`. Whole squares of vectors are read and written. */
    void (*turn)(const float *from, int64_t rows, int64_t columns, float *to, int64_t apart);
    /* enter prepares a thread for calls of multiply; leave restores the thread. Both may be NULL. state: 64 bytes in
     * which enter keeps what leave restores. */
    void (*enter)(void *state);
    void (*leave)(const void *state);
} tutti_gemm_row;

extern const tutti_gemm_row tutti_gemm_avx512, tutti_gemm_avx2, tutti_gemm_generic;   /* rows of f32 (gemm_vector.c) */
extern const tutti_gemm_row tutti_gemm_amx, tutti_gemm_avx512_bf16, tutti_gemm_tiles; /* rows of bf16 */
/* the rows of each type, the fastest first */
extern const tutti_gemm_row *const tutti_gemm_rows[];
extern const int tutti_gemm_nrows;

/* Returns the fastest row that runs here, or NULL if none multiplies that type. */
const tutti_gemm_row *tutti_gemm_fastest(tutti_dtype multiplied);
/* Describes the operand of product number `product` of the batch as a matrix to pack. */
tutti_gemm_source tutti_gemm_source_of(const tutti_gemm *gemm, tutti_gemm_operand which, const void *matrix,
                                       int64_t product);
/* Returns the number of cells along k in a panel with nk elements of k. */
int64_t tutti_gemm_steps(const tutti_gemm_row *row, int64_t nk);
/* True if a panel of B stays in the first-level cache while panels of A pass. In a turned product a panel of A
 * stays. */
bool tutti_gemm_b_stays(const tutti_gemm_plan *plan);
/* Returns the bytes of a whole packed operand, its label included. */
int64_t tutti_gemm_packed_bytes(const tutti_gemm_plan *plan, tutti_gemm_operand which);

#endif
