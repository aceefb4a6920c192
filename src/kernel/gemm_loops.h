/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_loops.h: products of one register block, packing, and what becomes of finished sums, written once for all instruction sets. Included
 * once by each row file (gemm_avx512.c, ...) after its lane_vector_*.h and the definitions of
 *
 *   GEMM_ROWS, GEMM_VECTORS   rows and vectors of a register block
 *   GEMM_PAIR                 numbers of k in a cell: 1 f32, 2 bf16
 *   gemm_multiply_add(a, b, c)   c + a b, of vectors of cells
 *
 * A register block is a loop over k around GEMM_ROWS * GEMM_VECTORS sums that the compiler keeps in registers: vectors of B are loaded, cells of
 * A spread to all lanes. There is one for each number of rows and vectors up to the whole block, so that an edge costs what it is. */
#ifndef TUTTI_GEMM_LOOPS_H
#define TUTTI_GEMM_LOOPS_H

#include <string.h>

#include "gemm_gelu_loops.h"
#include "gemm_impl.h"

enum { GEMM_COLUMNS = GEMM_VECTORS * WIDTH };

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

/* Constants: rows, vectors; a_i or a_p where they are 1. */
INLINE void gemm_block(const tutti_gemm_block *block, const int rows, const int vectors, int64_t a_i, int64_t a_p)
{
    vector sum[GEMM_ROWS][GEMM_VECTORS];
    const tutti_gemm_cell *a = block->a, *b = block->b;
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sum[i][v] = block->begin ? load(block->begin + i * block->begin_apart + v * WIDTH) : (vector){0};
    for (int64_t p = block->steps; p > 0; p--, a += a_p, b += block->b_p) {
        vector columns[GEMM_VECTORS];
        for (int v = 0; v < vectors; v++) columns[v] = gemm_cells(b + v * WIDTH);
        for (int i = 0; i < rows; i++) {
            const vector row = gemm_spread(a + i * a_i);
            for (int v = 0; v < vectors; v++) sum[i][v] = gemm_multiply_add(row, columns[v], sum[i][v]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) store(block->sums + i * block->sums_apart + v * WIDTH, sum[i][v]);
}

/* Cells of A for one step lie side by side (packed, or transposed in place), or those of one row do. */
#define GEMM_BLOCK(rows, vectors)                                                                                      \
    static void gemm_steps_##rows##_##vectors(const tutti_gemm_block *block)                                           \
    {                                                                                                                  \
        gemm_block(block, rows, vectors, 1, block->a_p);                                                               \
    }                                                                                                                  \
    static void gemm_rows_##rows##_##vectors(const tutti_gemm_block *block)                                            \
    {                                                                                                                  \
        gemm_block(block, rows, vectors, block->a_i, 1);                                                               \
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

/* ---- packing ---- */

/* WIDTH cells of neighbours of the side, from numbers of one k, or of it and the next, which lies `next` on (0: it is zero). */
INLINE vector gemm_take_across(const void *from, int64_t at, int64_t next, int64_t n, tutti_dtype type)
{
    const vector first = n < WIDTH ? take_some(from, at, n, type) : take(from, at, type);
    if (GEMM_PAIR == 1) return first;
    vector second = {0};
    if (next) second = n < WIDTH ? take_some(from, at + next, n, type) : take(from, at + next, type);
    return (vector)join_upper(round_bf16(first), round_bf16(second));
}

/* WIDTH cells of neighbours of k, n numbers of them. */
INLINE vector gemm_take_along(const void *from, int64_t at, int64_t n, tutti_dtype type)
{
    if (GEMM_PAIR == 1) return n < WIDTH ? take_some(from, at, n, type) : take(from, at, type);
    if (type == TUTTI_BF16) {
        const uint16_t *numbers = (const uint16_t *)from + at;
        return (vector)(n < UNIT ? load_some_words(numbers, n) : load_words(numbers));
    }
    const vector first = n < WIDTH ? take_some(from, at, n, type) : take(from, at, type);
    vector second = {0};
    if (n > WIDTH) second = n < UNIT ? take_some(from, at + WIDTH, n - WIDTH, type) : take(from, at + WIDTH, type);
    return (vector)join_halves(narrow_bf16(first), narrow_bf16(second));
}

/* Whole vectors go over the end of a row that is narrower than one: the next row is written after it. */
INLINE void gemm_put_cells(tutti_gemm_cell *to, vector cells, int64_t side, bool is_last)
{
    float *numbers = (float *)(void *)to;
    if (side >= WIDTH || !is_last)
        store(numbers, cells);
    else
        store_some(numbers, cells, side);
}

/* The side's neighbours lie side by side. */
INLINE void gemm_pack_across(const tutti_gemm_source *source, int64_t n, int64_t nk, int64_t side, tutti_gemm_cell *to,
                             tutti_dtype type)
{
    const int64_t steps = (nk + GEMM_PAIR - 1) / GEMM_PAIR;
    for (int64_t p = 0; p < steps; p++)
        for (int64_t i = 0; i < side; i += WIDTH) {
            const int64_t left = n - i, at = p * GEMM_PAIR * source->apart_p + i;
            const int64_t next = (p + 1) * GEMM_PAIR <= nk ? source->apart_p : 0;
            vector cells = {0};
            if (left > 0) cells = gemm_take_across(source->from, at, next, left, type);
            gemm_put_cells(to + p * side + i, cells, side, p == steps - 1);
        }
}

/* Those of k do: squares are transposed. */
INLINE void gemm_pack_along(const tutti_gemm_source *source, int64_t n, int64_t nk, int64_t side, tutti_gemm_cell *to,
                            tutti_dtype type)
{
    const int64_t steps = (nk + GEMM_PAIR - 1) / GEMM_PAIR;
    for (int64_t i = 0; i < side; i += WIDTH)
        for (int64_t p = 0; p < steps; p += WIDTH) {
            const int64_t left = nk - p * GEMM_PAIR, some = at_most(steps - p, WIDTH);
            vector square[WIDTH];
            for (int r = 0; r < WIDTH; r++)
                square[r] = i + r < n
                                ? gemm_take_along(source->from, (i + r) * source->apart_i + p * GEMM_PAIR, left, type)
                                : (vector){0};
            transpose(square);
            for (int64_t q = 0; q < some; q++)
                gemm_put_cells(to + (p + q) * side + i, square[q], side, p + q == steps - 1);
        }
}

static void gemm_pack(const tutti_gemm_source *source, int64_t n, int64_t nk, int side, tutti_gemm_cell *to)
{
    if (source->apart_i == 1) {
        BY_TYPE(source->type, gemm_pack_across, source, n, nk, side, to);
    } else {
        BY_TYPE(source->type, gemm_pack_along, source, n, nk, side, to);
    }
}

/* ---- finished sums ---- */

INLINE vector gemm_map_of(vector x, tutti_gemm_map map)
{
    if (map == TUTTI_GEMM_RELU) return rectify(x);
    return map == TUTTI_GEMM_GELU ? gelu_of(x) : x;
}

INLINE void gemm_finish_by(const tutti_gemm_finish *f, tutti_gemm_map map, tutti_dtype type)
{
    for (int64_t i = 0; i < f->rows; i++) {
        const float *sums = f->sums + i * f->sums_apart;
        const vector row = all(f->row_bias ? f->row_bias[i] : 0);
        for (int64_t j = 0; j < f->columns; j += WIDTH) {
            const int64_t left = f->columns - j, at = i * f->to_apart + j;
            vector x = left < WIDTH ? load_some(sums + j, left) : load(sums + j);
            if (f->row_bias) x += row;
            if (f->column_bias) x += left < WIDTH ? load_some(f->column_bias + j, left) : load(f->column_bias + j);
            x = gemm_map_of(x, map);
            if (left < WIDTH)
                put_some(f->to, at, x, left, type);
            else
                put(f->to, at, x, type);
        }
    }
}

static void gemm_finish(const tutti_gemm_finish *f)
{
    switch (f->map) {
    case TUTTI_GEMM_RELU: BY_TYPE(f->type, gemm_finish_by, f, TUTTI_GEMM_RELU) break;
    case TUTTI_GEMM_GELU: BY_TYPE(f->type, gemm_finish_by, f, TUTTI_GEMM_GELU) break;
    default: BY_TYPE(f->type, gemm_finish_by, f, TUTTI_GEMM_AS_IS) break;
    }
}

#endif
