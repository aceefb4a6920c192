/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_impl.h: what the files of our matrix products share: rows, packed panels.
 *
 * Operands are packed as *cells* of 32 bits: a float, or two neighbours of k in bf16. A panel of A is row->rows rows of
 * C wide, one of B row->columns columns: cells [k][side] (of A where a_in_tiles: [k / 16][side][16 of k]), a side that
 * is not full filled up with zeros, as are steps of k. Of a whole packed operand come first the panels of the first
 * block of k, and so on: [block of k][panel][k][side]. */
#ifndef TUTTI_GEMM_IMPL_H
#define TUTTI_GEMM_IMPL_H

#include "gemm.h"

enum { TUTTI_GEMM_ALIGNED = 64 };

typedef uint32_t tutti_gemm_cell;

/* A matrix to pack: element (i, p) lies at from + (i * apart_i + p * apart_p) elements, one of the two is 1. */
typedef struct {
    const void *from;
    tutti_dtype type;
    int64_t apart_i, apart_p;
} tutti_gemm_source;

/* Rows that lie anywhere, such as those of windows (gemm_windows.h): number q of a row lies at q / block * apart + q %
 * block from where it begins. Where a row is longer than `block`, that is a multiple of a vector's numbers, and so is
 * where packing begins. */
typedef struct {
    const void *const *rows; /* NULL among them: zeros */
    tutti_dtype type;
    int64_t block, apart;
} tutti_gemm_scattered;

/* Memory that will be packed, or read as it was packed: so many parts, each a line for every row->fetch steps of k of a
 * register block. */
typedef struct {
    const char *at;
    int64_t i, p;             /* bytes from a line to the next one, and from 16 of them to the next 16 */
    int64_t left;             /* parts */
    int64_t of_side, of_this; /* of 16 of the side, and how many of them are left */
    int64_t apart, along;     /* bytes from 16 of the side to the next, from part to part of them */
    int64_t blocks;           /* register blocks that are left before it is wanted */
} tutti_gemm_fetched;

/* Some of a block of k, for register blocks of C of one size, one behind the other: cells lie where the distances say,
 * sums begin at `begin` and go to `sums`. */
typedef struct {
    const tutti_gemm_cell *a, *b;
    int64_t a_i, a_p,
        b_p; /* cells from one row, one step of k to the next (of A in tiles: one tile); columns lie side by side */
    int64_t steps;      /* cells of k */
    const float *begin; /* NULL: at 0 */
    int64_t begin_apart;
    float *sums;
    int64_t sums_apart; /* floats from one row to the next */
    int64_t more; /* register blocks behind the first, each so many cells of A and B, and floats of begin and sums,
               * further */
    int64_t next_a, next_b, next_c;
    const float *next_sums; /* behind the last; NULL: not known */
    tutti_gemm_fetched
        *fetch;   /* brought near meanwhile: two, the second where of the first nothing is; NULL: nothing */
    bool streams; /* sums go past the caches: they are lines of memory, and many */
} tutti_gemm_block;

/* What becomes of finished sums. */
typedef struct {
    int64_t rows, columns;
    const float *sums;
    int64_t sums_apart;
    const float *row_bias, *column_bias; /* from the block's first on; NULL: none */
    tutti_gemm_map map;
    tutti_dtype type;
    void *to;
    int64_t to_apart;
} tutti_gemm_finish;

typedef struct tutti_gemm_row {
    const char *name;
    tutti_dtype multiplied;
    int rows, columns, vector; /* of a register block; columns that are computed together at least */
    int pair;                  /* numbers of k in a cell */
    int step;                  /* numbers of k that are multiplied at once: panels are filled up to multiples */
    int block_k;               /* numbers of k in a block: the same for all plans, because operands are packed by it */
    int fetch;                 /* steps of k for each line of memory that is fetched meanwhile; 0: none is */
    bool a_in_tiles;           /* panels of A are cells [k / 16][side][16 of k] */
    bool b_stays;        /* a panel of B stays in the first-level cache while A's pass by; else the other way round */
    bool turns;          /* few rows of C whose B has k's neighbours side by side are multiplied as C^T = B^T A^T */
    bool reads_in_place; /* a matrix that has cells already need not be packed: a_i, a_p, b_p may be anything */
    bool (*is_here)(void);
    /* n of the side and nk of k into panels of `side`, so many cells apart; none of the side: one panel of zeros. */
    void (*pack_a)(const tutti_gemm_source *source, int64_t n, int64_t nk, int side, tutti_gemm_cell *to,
                   int64_t apart);
    void (*pack_b)(const tutti_gemm_source *source, int64_t n, int64_t nk, int side, tutti_gemm_cell *to,
                   int64_t apart);
    /* From rows that lie anywhere into one panel. Into a panel of A, n of them as its side, k being their numbers from
     * one on; into one of B, of the side that this pointer says, and of A unless it is in tiles, nk of them as steps, n
     * of whose numbers become as many cells of each. */
    void (*pack_rows)(const tutti_gemm_scattered *s, int64_t n, int64_t from, int64_t nk, int side,
                      tutti_gemm_cell *to);
    void (*pack_steps)(const tutti_gemm_scattered *s, int64_t from, int64_t n, int64_t nk, int side,
                       tutti_gemm_cell *to);
    /* rows x columns of C a block, columns rounded up to whole vectors: that much of sums is written, and of begin
     * read. */
    void (*multiply)(const tutti_gemm_block *block, int64_t rows, int64_t columns);
    void (*finish)(const tutti_gemm_finish *finish);
    /* rows x columns of sums turned over, for products that are. Rows lie `apart` numbers from each other on both
     * sides; both are read and written in squares of vectors. */
    void (*turn)(const float *from, int64_t rows, int64_t columns, float *to, int64_t apart);
    /* Before and after a thread's run of multiply; may be NULL. state: 64 bytes. */
    void (*enter)(void *state);
    void (*leave)(const void *state);
} tutti_gemm_row;

extern const tutti_gemm_row tutti_gemm_avx512, tutti_gemm_avx2, tutti_gemm_generic;   /* f32: gemm_vector.c */
extern const tutti_gemm_row tutti_gemm_amx, tutti_gemm_avx512_bf16, tutti_gemm_tiles; /* bf16 */
extern const tutti_gemm_row *const tutti_gemm_rows[];                                 /* of each type, fastest first */
extern const int tutti_gemm_nrows;

/* The fastest row that is here; NULL: none multiplies that type. */
const tutti_gemm_row *tutti_gemm_fastest(tutti_dtype multiplied);
/* Matrix `product` of an operand as a source of cells. */
tutti_gemm_source tutti_gemm_source_of(const tutti_gemm *gemm, tutti_gemm_operand which, const void *matrix,
                                       int64_t product);
/* Cells along k of a panel that has nk of it. */
int64_t tutti_gemm_steps(const tutti_gemm_row *row, int64_t nk);
/* Whether it is panels of B that stay in the first-level cache: where sums are turned over it is A's. */
bool tutti_gemm_b_stays(const tutti_gemm_plan *plan);
/* Of a whole operand, with its label. */
int64_t tutti_gemm_packed_bytes(const tutti_gemm_plan *plan, tutti_gemm_operand which);

#endif
