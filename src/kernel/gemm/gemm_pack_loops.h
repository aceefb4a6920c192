/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_pack_loops.h: packs panels and finishes sums of matrix products: the code around the products of register blocks
 * or tiles, written once for all instruction sets. Include it after a vector_*.h and after the definition of GEMM_PAIR,
 * the number of elements of k in a cell: 1 (f32) or 2 (bf16). */
#ifndef TUTTI_GEMM_PACK_LOOPS_H
#define TUTTI_GEMM_PACK_LOOPS_H

#include <string.h>

#include "gemm_gelu_loops.h"
#include "gemm_impl.h"

/* ---- packing ---- */

/* Loads WIDTH cells that are neighbours along the side, of which the first n exist. A cell holds one element of k, or a
 * pair: that element and the next one along k, which lies `next` elements further (0 means that the second element is
 * zero). */
INLINE vector gemm_take_across(const void *from, int64_t at, int64_t next, int64_t n, tutti_dtype type)
{
    const vector first = n < WIDTH ? take_some(from, at, n, type) : take(from, at, type);
    if (GEMM_PAIR == 1) return first;
    vector second = {0};
    if (next) second = n < WIDTH ? take_some(from, at + next, n, type) : take(from, at + next, type);
    if (type == TUTTI_BF16) return (vector)join_upper((words)first, (words)second);
    return (vector)join_upper(round_bf16(first), round_bf16(second));
}

/* Loads WIDTH cells that are neighbours along k; n elements exist, the others count as zero. */
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

/* Stores a whole vector of cells even if the panel's row is narrower: the excess goes to the next row, which is written
 * later. After the last row there is no such room, so only `side` cells are stored. */
INLINE void gemm_put_cells(tutti_gemm_cell *to, vector cells, int64_t side, bool is_last)
{
    float *numbers = (float *)(void *)to;
    if (side >= WIDTH || !is_last)
        store(numbers, cells);
    else
        store_some(numbers, cells, side);
}

/* Copies nsteps steps of k of a full panel of floats, without tests for missing elements. Returns nsteps. `vectors`,
 * the number of vectors in a step, is a compile-time constant. */
INLINE int64_t gemm_copy_steps(const tutti_gemm_source *source, int64_t nsteps, int64_t side, const int vectors,
                               tutti_gemm_cell *to, tutti_dtype type)
{
    int64_t at = 0;
    for (int64_t p = 0; p < nsteps; p++, at += source->apart_p, to += side) {
        float *numbers = (float *)(void *)to;
        for (int v = 0; v < vectors; v++) store(numbers + v * WIDTH, take(source->from, at + v * WIDTH, type));
    }
    return nsteps;
}

/* Copies four steps at a time of a full panel whose width is three quarters of a vector. Four such rows are three
 * vectors, each made from two rows. */
INLINE int64_t gemm_copy_fours(const tutti_gemm_source *source, int64_t nsteps, tutti_gemm_cell *to, tutti_dtype type)
{
    enum { QUARTER = WIDTH / 4, ALL = (1 << WIDTH) - 1 };
    const lanes_set last = lanes_set_of((bits)(ALL & ~((1 << 3 * QUARTER) - 1))),
                    upper = lanes_set_of((bits)(ALL & ~((1 << 2 * QUARTER) - 1))),
                    behind = lanes_set_of((bits)(ALL & ~((1 << QUARTER) - 1)));
    int64_t p = 0;
    for (; p + 4 <= nsteps; p += 4) {
        const int64_t row0 = p * source->apart_p, row1 = row0 + source->apart_p, row2 = row1 + source->apart_p,
                      row3 = row2 + source->apart_p;
        float *numbers = (float *)(void *)(to + p * 3 * QUARTER);
        store(numbers, choose(last, take(source->from, row1 - 3 * QUARTER, type), take(source->from, row0, type)));
        store(numbers + WIDTH,
              choose(upper, take(source->from, row2 - 2 * QUARTER, type), take(source->from, row1 + QUARTER, type)));
        store(numbers + 2 * WIDTH,
              choose(behind, take(source->from, row3 - QUARTER, type), take(source->from, row2 + 2 * QUARTER, type)));
    }
    return p;
}

/* Copies as many steps of a full panel as possible and returns how many. In a panel narrower than a vector each store
 * also writes some elements of the next row, so the last step is left to the caller. */
INLINE int64_t gemm_copy_full(const tutti_gemm_source *source, int64_t n, int64_t nk, int64_t side, tutti_gemm_cell *to,
                              tutti_dtype type)
{
    if (GEMM_PAIR != 1 || n < side) return 0;
    if (side == 2 * WIDTH) return gemm_copy_steps(source, nk, side, 2, to, type);
    if (side == WIDTH) return gemm_copy_steps(source, nk, side, 1, to, type);
    if (4 * side == 3 * WIDTH && source->apart_p >= side) return gemm_copy_fours(source, nk, to, type);
    if (side > WIDTH || source->apart_p < WIDTH) return 0;
    return gemm_copy_steps(source, nk - 1, side, 1, to, type);
}

/* Packs a source whose neighbours along the side lie side by side. */
INLINE void gemm_pack_across(const tutti_gemm_source *source, int64_t n, int64_t nk, int64_t side, tutti_gemm_cell *to,
                             tutti_dtype type)
{
    const int64_t steps = (nk + GEMM_PAIR - 1) / GEMM_PAIR;
    for (int64_t p = gemm_copy_full(source, n, nk, side, to, type); p < steps; p++)
        for (int64_t i = 0; i < side; i += WIDTH) {
            const int64_t left = n - i, at = p * GEMM_PAIR * source->apart_p + i;
            const int64_t next = (p + 1) * GEMM_PAIR <= nk ? source->apart_p : 0;
            vector cells = {0};
            if (left > 0) cells = gemm_take_across(source->from, at, next, left, type);
            gemm_put_cells(to + p * side + i, cells, side, p == steps - 1);
        }
}

/* Packs a source whose neighbours along k lie side by side: squares are transposed. */
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

/* Packs panel by panel. If rows of A (or columns of B) lie side by side in memory, it packs SOME elements of k at a
 * time for all panels, so that memory is read in long rows. */
INLINE void gemm_pack_panels(const tutti_gemm_source *source, int64_t n, int64_t nk, int64_t side, tutti_gemm_cell *to,
                             int64_t apart, tutti_dtype type)
{
    enum { SOME = 8 }; /* more rows at the same time are too many for the processor's prefetching */
    const bool across = source->apart_i == 1;
    const int64_t size = (int64_t)tutti_dtype_bytes(type), some = across ? SOME : nk;
    tutti_gemm_source part = *source;
    for (int64_t p = 0; p < nk; p += some)
        for (int64_t i = 0; i == 0 || i < n; i += side) {
            tutti_gemm_cell *panel = to + i / side * apart + p / GEMM_PAIR * side;
            part.from = (const char *)source->from + (i * source->apart_i + p * source->apart_p) * size;
            if (across)
                gemm_pack_across(&part, at_most(n - i, side), at_most(nk - p, some), side, panel, type);
            else
                gemm_pack_along(&part, at_most(n - i, side), nk, side, panel, type);
        }
}

static void gemm_pack(const tutti_gemm_source *source, int64_t n, int64_t nk, int side, tutti_gemm_cell *to,
                      int64_t apart)
{
    BY_TYPE(source->type, gemm_pack_panels, source, n, nk, side, to, apart);
}

#include "gemm_windows_loops.h"

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

/* Transposes sums in squares of vectors. Missing elements of the last squares count as zero. */
static void gemm_turn(const float *from, int64_t rows, int64_t columns, float *to, int64_t apart)
{
    for (int64_t i = 0; i < rows; i += WIDTH)
        for (int64_t j = 0; j < columns; j += WIDTH) {
            vector square[WIDTH];
            for (int r = 0; r < WIDTH; r++) square[r] = i + r < rows ? load(from + (i + r) * apart + j) : (vector){0};
            transpose(square);
            for (int r = 0; r < WIDTH; r++) store(to + (j + r) * apart + i, square[r]);
        }
}

#endif
