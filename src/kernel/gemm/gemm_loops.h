/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_loops.h: products of register blocks, written once for all instruction sets. gemm_vector.c and the files of
 * other rows include it once, after vector.h and after definitions of
 *
 *   GEMM_ROWS, GEMM_VECTORS   rows and vectors of a register block
 *   GEMM_PAIR                 elements of k in a cell: 1 f32, 2 bf16
 *   GEMM_FETCH                number of steps of k for each cache line that is fetched
 *   gemm_multiply_add(a, b, c)   c + a b, of vectors of cells
 *
 * A register block is a loop over k around GEMM_ROWS * GEMM_VECTORS sums that the compiler keeps in registers: vectors
 * of B are loaded, cells of A spread to all lanes. There is one such loop for each number of rows and vectors up to the
 * whole block, so that a smaller block at the edge of C takes less time. */
#ifndef TUTTI_GEMM_LOOPS_H
#define TUTTI_GEMM_LOOPS_H

#include "gemm_pack_loops.h"

enum { GEMM_COLUMNS = GEMM_VECTORS * WIDTH, LINE = 16 /* cells in a cache line */ };
/* 1 if the sums of the next block are many cache lines, so that each step of k fetches one of these lines; 0 if they
 * are few */
enum { SPREADS = GEMM_ROWS * GEMM_COLUMNS > 8 * LINE };
_Static_assert(!SPREADS || GEMM_FETCH == 1, "each step then asks for a line of both");

#ifdef __clang__
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* ---- packing ---- */

static void gemm_pack_rows(const tutti_gemm_scattered *s, int64_t n, int64_t from, int64_t nk, int side,
                           tutti_gemm_cell *to)
{
    BY_TYPE(s->type, gemm_pack_scattered_rows, s, n, from, nk, side, to);
}

/* ---- products ---- */

INLINE vector gemm_spread(const tutti_gemm_cell *cell)
{
    float number;
    memcpy(&number, cell, sizeof number);
    return all(number);
}

INLINE vector gemm_cells(const tutti_gemm_cell *cells)
{
    return load((const float *)(const void *)cells);
}

/* Where the cells of A and B for one step of k lie, and the distances to those of the next step. */
typedef struct {
    const tutti_gemm_cell *a, *b;
    int64_t a_i, a_p, b_p;
} gemm_place;

/* Does one step of k and moves on to the next. rows and vectors are constants. */
INLINE void gemm_step(vector sum[GEMM_ROWS][GEMM_VECTORS], gemm_place *at, const int rows, const int vectors)
{
    vector columns[GEMM_VECTORS];
    UNROLLED
    for (int v = 0; v < vectors; v++) columns[v] = gemm_cells(at->b + v * WIDTH);
    UNROLLED
    for (int i = 0; i < rows; i++) {
        const vector row = gemm_spread(at->a + i * at->a_i);
        UNROLLED
        for (int v = 0; v < vectors; v++) sum[i][v] = gemm_multiply_add(row, columns[v], sum[i][v]);
    }
    at->a += at->a_p;
    at->b += at->b_p;
}

/* Cache lines to fetch: `left` lines, `i` bytes from one to the next. After every 16 lines, `on` more bytes are
 * added. */
typedef struct {
    const char *at;
    int64_t i, on, left;
} gemm_lines;

/* Takes the next part of the memory f to fetch, as late as possible: only once at most f->left + 2 register blocks are
 * left before the memory is needed. */
INLINE bool gemm_take_part(tutti_gemm_fetched *f, gemm_lines *lines)
{
    if (f->left == 0 || f->blocks > f->left + 2) return false;
    *lines = (gemm_lines){f->at, f->i, f->p - LINE * f->i, LINE};
    f->left--;
    f->at += f->along;
    if (--f->of_this) return true;
    f->of_this = f->of_side;
    f->at += f->apart - f->of_side * f->along;
    return true;
}

INLINE gemm_lines gemm_lines_of(tutti_gemm_fetched *f, const tutti_gemm_cell *near)
{
    gemm_lines lines = {(const char *)near, 0, 0, LINE};
    if (!f) return lines;
    if (!gemm_take_part(&f[0], &lines)) gemm_take_part(&f[1], &lines);
    f[0].blocks--;
    f[1].blocks--;
    return lines;
}

INLINE void gemm_ask(gemm_lines *lines)
{
    __builtin_prefetch(lines->at);
    lines->at += lines->i;
    if (--lines->left) return;
    lines->left = LINE;
    lines->at += lines->on;
}

INLINE void gemm_begin(vector sum[GEMM_ROWS][GEMM_VECTORS], const float *begin, int64_t apart, const int rows,
                       const int vectors)
{
    UNROLLED
    for (int i = 0; i < rows; i++) {
        UNROLLED
        for (int v = 0; v < vectors; v++) sum[i][v] = (vector){0};
    }
    if (!begin) return;
    UNROLLED
    for (int i = 0; i < rows; i++, begin += apart) {
        UNROLLED
        for (int v = 0; v < vectors; v++) sum[i][v] = load(begin + v * WIDTH);
    }
}

INLINE void gemm_put(vector sum[GEMM_ROWS][GEMM_VECTORS], float *to, int64_t apart, bool streams, const int rows,
                     const int vectors)
{
    if (streams) {
        UNROLLED
        for (int i = 0; i < rows; i++, to += apart) {
            UNROLLED
            for (int v = 0; v < vectors; v++) stream(to + v * WIDTH, sum[i][v]);
        }
        return;
    }
    UNROLLED
    for (int i = 0; i < rows; i++, to += apart) {
        UNROLLED
        for (int v = 0; v < vectors; v++) store(to + v * WIDTH, sum[i][v]);
    }
}

/* Does all steps of k of a register block. Each step fetches one cache line, at first those of the next block's sums.
 * Several fetches at the same time would wait for each other. */
INLINE void gemm_sum(vector sum[GEMM_ROWS][GEMM_VECTORS], gemm_place at, int64_t steps, gemm_lines lines,
                     const float *next, int64_t next_apart, const int rows, const int vectors)
{
    const int64_t first = next && SPREADS ? at_most(steps, rows * vectors) : 0;
    int64_t p = 0;
    if (next && !SPREADS) {
        UNROLLED
        for (int i = 0; i < rows; i++) __builtin_prefetch(next + i * next_apart, 1);
    }
    for (; p < first; p++) {
        __builtin_prefetch(next + p / vectors * next_apart + p % vectors * WIDTH, 1);
        gemm_ask(&lines);
        gemm_step(sum, &at, rows, vectors);
    }
    for (; p + GEMM_FETCH <= steps; p += GEMM_FETCH) {
        gemm_ask(&lines);
        UNROLLED
        for (int q = 0; q < GEMM_FETCH; q++) {
            gemm_step(sum, &at, rows, vectors);
            /* without this the compiler moves loads to an earlier place and runs out of registers */
            __asm__ volatile("" ::: "memory");
        }
    }
    for (; p < steps; p++) gemm_step(sum, &at, rows, vectors);
}

/* Computes the register blocks of a call. rows and vectors are constants, and so are a_i or a_p if they are 1. The loop
 * is unrolled early, so that all sums stay in registers. */
INLINE void gemm_blocks(const tutti_gemm_block *block, const int rows, const int vectors, int64_t a_i, int64_t a_p)
{
    gemm_place at = {block->a, block->b, a_i, a_p, block->b_p};
    const float *begin = block->begin;
    float *to = block->sums;
    for (int64_t left = block->more;; left--) {
        const float *next = left ? to + block->next_c : block->next_sums;
        vector sum[GEMM_ROWS][GEMM_VECTORS];
        gemm_begin(sum, begin, block->begin_apart, rows, vectors);
        gemm_sum(sum, at, block->steps, gemm_lines_of(block->fetch, at.a), block->streams ? NULL : next,
                 block->sums_apart, rows, vectors);
        gemm_put(sum, to, block->sums_apart, block->streams, rows, vectors);
        if (left == 0) return;
        at.a += block->next_a;
        at.b += block->next_b;
        to += block->next_c;
        begin = begin ? begin + block->next_c : NULL;
    }
}

/* Two versions of each loop: one for cells of A that lie side by side for one step of k (packed, or read in place from
 * a transposed matrix), and one for cells that lie side by side within one row of A. */
#define GEMM_BLOCK(rows, vectors)                                                                                      \
    static void gemm_steps_##rows##_##vectors(const tutti_gemm_block *block)                                           \
    {                                                                                                                  \
        gemm_blocks(block, rows, vectors, 1, block->a_p);                                                              \
    }                                                                                                                  \
    static void gemm_rows_##rows##_##vectors(const tutti_gemm_block *block)                                            \
    {                                                                                                                  \
        gemm_blocks(block, rows, vectors, block->a_i, 1);                                                              \
    }
#define GEMM_BLOCKS(rows)                                                                                              \
    GEMM_BLOCK(rows, 1)                                                                                                \
    GEMM_BLOCK(rows, 2)
GEMM_EACH_ROW(GEMM_BLOCKS)

static void gemm_multiply(const tutti_gemm_block *block, int64_t rows, int64_t columns)
{
#define GEMM_NAMES(rows) {{gemm_steps_##rows##_1, gemm_steps_##rows##_2}, {gemm_rows_##rows##_1, gemm_rows_##rows##_2}},
    static void (*const blocks[GEMM_ROWS][2][GEMM_VECTORS])(const tutti_gemm_block *) = {GEMM_EACH_ROW(GEMM_NAMES)};
#undef GEMM_NAMES
    blocks[rows - 1][block->a_i != 1][(columns - 1) / WIDTH](block);
}

static void gemm_leave(const void *state)
{
    (void)state;
    stream_fence();
}

/* The fields that all rows made by this header have in common. Each file sets `is_here` itself. */
#define GEMM_ROW                                                                                                       \
    .rows = GEMM_ROWS, .columns = GEMM_COLUMNS, .vector = WIDTH, .pair = GEMM_PAIR, .step = GEMM_PAIR,                 \
    .fetch = GEMM_FETCH, .block_k = 512 * GEMM_PAIR, .reads_in_place = true, .is_here = is_here, .pack_a = gemm_pack,  \
    .pack_b = gemm_pack, .pack_rows = gemm_pack_rows, .pack_steps = gemm_pack_steps, .multiply = gemm_multiply,        \
    .finish = gemm_finish, .turn = gemm_turn, .leave = gemm_leave

#endif
