/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_impl.h: declarations that the files of tutti's matrix products share: rows of loops, packed panels.
 *
 * Operands are packed as *cells* of 32 bits: a float, or two neighbours of k in bf16. A panel of A is row->rows rows of
 * C wide, a panel of B row->columns columns. Its cells lie as [k][side] (for A with a_in_tiles: [k / 16][side][16 of
 * k]). Sides and steps of k that are not full are filled up with zeros. In a whole packed operand the panels of the
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

/* Memory that will be needed soon, for packing or as packed cells, and is fetched into a cache meanwhile. While a
 * register block is computed, one part is fetched: a cache line for every row->fetch steps of k. */
typedef struct {
    const char *at;
    int64_t i, p;             /* i: bytes from a line to the next line; p: bytes from 16 lines to the next 16 */
    int64_t left;             /* parts that are still to be fetched */
    /* The rows of A, or columns of B, are fetched in groups of 16, and a group in parts. of_side: parts of each group;
     * of_this: parts of the current group that are left. */
    int64_t of_side, of_this;
    int64_t apart, along; /* apart: bytes from a group to the next one; along: bytes from a part to the next one */
    int64_t blocks;           /* register blocks that are left before the memory is needed */
} tutti_gemm_fetched;

/* Consecutive register blocks of C of one size, for a part of a block of k. Cells lie at the given distances; sums
 * start from the values at `begin` and go to `sums`. */
typedef struct {
    const tutti_gemm_cell *a, *b;
    /* distances in cells (for A in tiles: in tiles): a_i from one row of A to the next, a_p and b_p from one step of k
     * to the next; columns of B lie side by side */
    int64_t a_i, a_p, b_p;
    int64_t steps;      /* number of steps of k */
    const float *begin; /* values from which the sums start; NULL means 0 */
    int64_t begin_apart;
    float *sums;
    int64_t sums_apart; /* floats from one row to the next */
    int64_t more; /* number of register blocks behind the first. The next three fields are their distances: cells of A,
                   * cells of B, floats of begin and sums */
    int64_t next_a, next_b, next_c;
    const float *next_sums; /* sums of the block behind the last; NULL if unknown */
    /* two pieces of memory to fetch meanwhile, the second when the first has no parts left; NULL means none */
    tutti_gemm_fetched *fetch;
    bool streams; /* sums bypass the caches: they are many whole lines of memory */
} tutti_gemm_block;

/* Operations that are applied to finished sums. */
typedef struct {
    int64_t rows, columns;
    const float *sums;
    int64_t sums_apart;
    const float *row_bias, *column_bias; /* from the block's first row or column on; NULL means none */
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
    int pair;                  /* elements of k in a cell */
    int step;                  /* elements of k that are multiplied at once; panels are filled up to multiples of it */
    int block_k;               /* elements of k in a block: the same in all plans, because operands are packed by it */
    int fetch;                 /* steps of k for each line of memory that is fetched meanwhile; 0 means that none is */
    bool a_in_tiles;           /* panels of A are cells [k / 16][side][16 of k] */
    bool b_stays;              /* a panel of B stays in the first-level cache while panels of A pass; else a panel of
                                * A stays while panels of B pass */
    bool turns;          /* a product with few rows of C, whose B has k's neighbours side by side, is multiplied as C^T
                          * = B^T A^T */
    bool reads_in_place; /* a matrix whose elements are cells already need not be packed: a_i, a_p, b_p may have any
                          * value */
    bool (*is_here)(void);
    /* Packs n elements of the side and nk of k into panels of `side` that lie at the given distance in cells. n = 0
     * writes one panel of zeros. */
    void (*pack_a)(const tutti_gemm_source *source, int64_t n, int64_t nk, int side, tutti_gemm_cell *to,
                   int64_t apart);
    void (*pack_b)(const tutti_gemm_source *source, int64_t n, int64_t nk, int side, tutti_gemm_cell *to,
                   int64_t apart);
    /* Packs rows that lie anywhere into one panel. For a panel of A, n rows are its side, and k are their elements from
     * `from` on. For a panel of B, nk rows are steps, and n elements of each become its cells; the same for A unless it
     * is in tiles. */
    void (*pack_rows)(const tutti_gemm_scattered *s, int64_t n, int64_t from, int64_t nk, int side,
                      tutti_gemm_cell *to);
    void (*pack_steps)(const tutti_gemm_scattered *s, int64_t from, int64_t n, int64_t nk, int side,
                       tutti_gemm_cell *to);
    /* Computes the register blocks, rows x columns of C each. Columns are rounded up to whole vectors: so many sums are
     * written, and so many elements of `begin` are read. */
    void (*multiply)(const tutti_gemm_block *block, int64_t rows, int64_t columns);
    void (*finish)(const tutti_gemm_finish *finish);
    /* Transposes rows x columns of sums, for turned products. Rows lie `apart` elements from each other on both sides;
     * both are read and written in squares of vectors. */
    void (*turn)(const float *from, int64_t rows, int64_t columns, float *to, int64_t apart);
    /* enter prepares a thread for calls of multiply, and leave restores it; both may be NULL. state: 64 bytes. */
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
/* Returns matrix number `product` of an operand as a source of cells. */
tutti_gemm_source tutti_gemm_source_of(const tutti_gemm *gemm, tutti_gemm_operand which, const void *matrix,
                                       int64_t product);
/* Returns the number of cells along k in a panel of nk elements. */
int64_t tutti_gemm_steps(const tutti_gemm_row *row, int64_t nk);
/* True if panels of B stay in the first-level cache; in a turned product it is panels of A. */
bool tutti_gemm_b_stays(const tutti_gemm_plan *plan);
/* Returns the bytes of a whole packed operand, its label included. */
int64_t tutti_gemm_packed_bytes(const tutti_gemm_plan *plan, tutti_gemm_operand which);

#endif
