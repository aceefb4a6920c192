/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tile_loops.h: products by tiles of 16 x 16 cells, written once for the tiles of AMX and for those of plain C.
 * Include it after a vector_*.h and after gemm_tile_amx.h or gemm_tile_plain.h, which define the tiles:
 *
 *   tiles                       the state of all eight tiles
 *   tile_clear(t, n)            sets tile n to 0
 *   tile_load(t, n, from, apart)    loads 16 rows of 64 bytes, `apart` bytes apart; tile_store stores them
 *   tile_multiply(t, c, a, b)   c += a b, of a in pairs along its rows, of b in pairs of rows
 *
 * A register block is 32 x 32: four tiles of sums, two of A, two of B, so that each loaded tile is used twice. The sums
 * of a block at the edge of C go through a buffer. Panels are filled up with zeros. */
#ifndef TUTTI_GEMM_TILE_LOOPS_H
#define TUTTI_GEMM_TILE_LOOPS_H

#include <stdatomic.h>

#define GEMM_PAIR 2
#include "gemm_pack_loops.h"

/* TILE: cells of a tile's side. TILE_BLOCK: side of a register block. TILE_STEP: elements of k in a tile */
enum { TILE = 16, TILE_BLOCK = 2 * TILE, TILE_STEP = 2 * TILE };

/* Numbers of the tiles. They are macros because a tile instruction needs its number in its text. SUMS_01: the sums that
 * begin at row 0 and column 16. */
#define SUMS_00   0
#define SUMS_01   1
#define SUMS_10   2
#define SUMS_11   3
#define ROWS_0    4
#define ROWS_1    5
#define COLUMNS_0 6
#define COLUMNS_1 7

/* ---- packing ---- */

static int64_t tile_round_up(int64_t cells)
{
    return (cells + TILE - 1) / TILE * TILE;
}

/* Loads WIDTH x WIDTH cells from row i and cell p of k on, one vector for each row. */
INLINE void tile_take(const tutti_gemm_source *s, int64_t i, int64_t p, int64_t n, int64_t nk, vector square[WIDTH],
                      tutti_dtype type)
{
    for (int r = 0; r < WIDTH; r++) square[r] = (vector){0};
    if (s->apart_i != 1) {
        const int64_t left = nk - p * GEMM_PAIR;
        for (int r = 0; r < WIDTH && i + r < n && left > 0; r++)
            square[r] = gemm_take_along(s->from, (i + r) * s->apart_i + p * GEMM_PAIR, left, type);
        return;
    }
    for (int q = 0; q < WIDTH && (p + q) * GEMM_PAIR < nk && i < n; q++) {
        const int64_t at = (p + q) * GEMM_PAIR, next = at + 1 < nk ? s->apart_p : 0;
        square[q] = gemm_take_across(s->from, at * s->apart_p + i, next, n - i, type);
    }
    transpose(square);
}

INLINE void tile_pack_a_of(const tutti_gemm_source *s, int64_t n, int64_t nk, int64_t side, tutti_gemm_cell *to,
                           tutti_dtype type)
{
    const int64_t steps = tile_round_up((nk + 1) / GEMM_PAIR);
    for (int64_t p = 0; p < steps; p += WIDTH)
        for (int64_t i = 0; i < side; i += WIDTH) {
            vector square[WIDTH];
            tile_take(s, i, p, n, nk, square, type);
            for (int r = 0; r < WIDTH; r++)
                store((float *)(void *)(to + p / TILE * side * TILE + (i + r) * TILE + p % TILE), square[r]);
        }
}

static void tile_pack_a(const tutti_gemm_source *s, int64_t n, int64_t nk, int side, tutti_gemm_cell *to, int64_t apart)
{
    tutti_gemm_source part = *s;
    for (int64_t i = 0; i == 0 || i < n; i += side, to += apart) {
        part.from = (const char *)s->from + i * s->apart_i * (int64_t)tutti_dtype_bytes(s->type);
        BY_TYPE(s->type, tile_pack_a_of, &part, at_most(n - i, side), nk, side, to);
    }
}

static void tile_pack_b(const tutti_gemm_source *s, int64_t n, int64_t nk, int side, tutti_gemm_cell *to, int64_t apart)
{
    const int64_t packed = (nk + 1) / GEMM_PAIR, over = (tile_round_up(packed) - packed) * side;
    gemm_pack(s, n, nk, side, to, apart);
    for (int64_t i = 0; i == 0 || i < n; i += side, to += apart)
        memset(to + packed * side, 0, (size_t)over * sizeof *to);
}

/* Packs rows of A that lie anywhere into a panel of tiles. In each tile, the cells of one row lie side by side. */
INLINE void tile_pack_rows_of(const tutti_gemm_scattered *s, int64_t n, int64_t from, int64_t nk, int64_t side,
                              tutti_gemm_cell *to, tutti_dtype type)
{
    const int64_t steps = tile_round_up((nk + 1) / GEMM_PAIR);
    for (int64_t p = 0; p < steps; p += WIDTH) {
        const int64_t q = from + p * GEMM_PAIR, left = nk - p * GEMM_PAIR;
        const int64_t first = gemm_scattered_at(s, q), second = gemm_scattered_at(s, q + WIDTH);
        for (int64_t i = 0; i < side; i++) {
            vector cells = {0};
            if (i < n && s->rows[i] && left > 0) cells = gemm_take_apart(s->rows[i], first, second, left, type);
            store((float *)(void *)(to + p / TILE * side * TILE + i * TILE + p % TILE), cells);
        }
    }
}

static void tile_pack_rows(const tutti_gemm_scattered *s, int64_t n, int64_t from, int64_t nk, int side,
                           tutti_gemm_cell *to)
{
    BY_TYPE(s->type, tile_pack_rows_of, s, n, from, nk, side, to);
}

/* ---- products ---- */

/* Multiplies tiles for all steps of k and adds the products to the block's one, two or four tiles of sums. two_rows and
 * two_columns are constants at each call. */
INLINE void tile_products(tiles *t, const tutti_gemm_block *block, const bool two_rows, const bool two_columns)
{
    const tutti_gemm_cell *a = block->a, *b = block->b;
    const int64_t apart = TILE_BLOCK * (int64_t)sizeof *b, a_apart = block->a_i * (int64_t)sizeof *a, a_p = block->a_p;
    for (int64_t p = 0; p < block->steps; p += TILE, a += a_p, b += TILE_BLOCK * TILE) {
        tile_load(t, ROWS_0, a, a_apart);
        tile_load(t, COLUMNS_0, b, apart);
        tile_multiply(t, SUMS_00, ROWS_0, COLUMNS_0);
        if (two_columns) tile_load(t, COLUMNS_1, b + TILE, apart);
        if (two_columns) tile_multiply(t, SUMS_01, ROWS_0, COLUMNS_1);
        if (two_rows) tile_load(t, ROWS_1, a + TILE * block->a_i, a_apart);
        if (two_rows) tile_multiply(t, SUMS_10, ROWS_1, COLUMNS_0);
        if (two_rows && two_columns) tile_multiply(t, SUMS_11, ROWS_1, COLUMNS_1);
    }
}

INLINE void tile_begin(tiles *t, const float *from, int64_t apart)
{
    if (from) {
        tile_load(t, SUMS_00, from, apart * 4);
        tile_load(t, SUMS_01, from + TILE, apart * 4);
        tile_load(t, SUMS_10, from + TILE * apart, apart * 4);
        tile_load(t, SUMS_11, from + TILE * apart + TILE, apart * 4);
    } else {
        tile_clear(t, SUMS_00);
        tile_clear(t, SUMS_01);
        tile_clear(t, SUMS_10);
        tile_clear(t, SUMS_11);
    }
}

INLINE void tile_end(tiles *t, float *to, int64_t apart)
{
    tile_store(t, SUMS_00, to, apart * 4);
    tile_store(t, SUMS_01, to + TILE, apart * 4);
    tile_store(t, SUMS_10, to + TILE * apart, apart * 4);
    tile_store(t, SUMS_11, to + TILE * apart + TILE, apart * 4);
}

static void copy_rows(float *to, int64_t to_apart, const float *from, int64_t from_apart, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) memcpy(to + i * to_apart, from + i * from_apart, (size_t)columns * sizeof *to);
}

static void multiply_one(const tutti_gemm_block *block, int64_t rows, int64_t columns)
{
    _Alignas(TUTTI_GEMM_ALIGNED) float own[TILE_BLOCK * TILE_BLOCK] = {0};
    const int64_t whole = columns > TILE ? TILE_BLOCK : TILE;
    const bool is_whole = rows == TILE_BLOCK && whole == TILE_BLOCK;
    tiles t;
    if (block->begin && !is_whole) copy_rows(own, TILE_BLOCK, block->begin, block->begin_apart, rows, whole);
    atomic_signal_fence(memory_order_seq_cst); /* the compiler does not know that tile instructions read memory */
    if (block->begin)
        tile_begin(&t, is_whole ? block->begin : own, is_whole ? block->begin_apart : TILE_BLOCK);
    else
        tile_begin(&t, NULL, 0);
    if (rows > TILE && whole > TILE)
        tile_products(&t, block, true, true);
    else if (rows > TILE)
        tile_products(&t, block, true, false);
    else if (whole > TILE)
        tile_products(&t, block, false, true);
    else
        tile_products(&t, block, false, false);
    tile_end(&t, is_whole ? block->sums : own, is_whole ? block->sums_apart : TILE_BLOCK);
    if (!is_whole) copy_rows(block->sums, block->sums_apart, own, TILE_BLOCK, rows, whole);
}

static void tile_multiply_blocks(const tutti_gemm_block *block, int64_t rows, int64_t columns)
{
    tutti_gemm_block one = *block;
    for (int64_t left = block->more;; left--) {
        multiply_one(&one, rows, columns);
        if (left == 0) return;
        one.a += block->next_a;
        one.b += block->next_b;
        one.sums += block->next_c;
        if (one.begin) one.begin += block->next_c;
    }
}

#define TILE_ROW                                                                                                       \
    .multiplied = TUTTI_BF16, .rows = TILE_BLOCK, .columns = TILE_BLOCK, .vector = TILE, .pair = GEMM_PAIR,            \
    .step = TILE_STEP, .block_k = 2048, .a_in_tiles = true, .turns = true, .reads_in_place = true, .is_here = is_here, \
    .pack_a = tile_pack_a, .pack_b = tile_pack_b, .pack_rows = tile_pack_rows, .pack_steps = gemm_pack_steps,          \
    .multiply = tile_multiply_blocks, .finish = gemm_finish, .turn = gemm_turn

#endif
