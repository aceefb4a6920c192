/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_windows_loops.h: packs rows that lie anywhere in memory (tutti_gemm_scattered) into panels. gemm_pack_loops.h
 * includes it, and it uses functions of that file. */
#ifndef TUTTI_GEMM_WINDOWS_LOOPS_H
#define TUTTI_GEMM_WINDOWS_LOOPS_H

enum { GEMM_MOST_SIDE = 32 };

/* Returns the offset of element q from the begin of its row, in elements. */
INLINE int64_t gemm_scattered_at(const tutti_gemm_scattered *s, int64_t q)
{
    return q < s->block ? q : q / s->block * s->apart + q % s->block;
}

/* Loads WIDTH cells that are neighbours along k, of which n elements exist. If they come from two vectors of elements,
 * the second vector begins at `second`, which need not follow the first. */
INLINE vector gemm_take_apart(const void *from, int64_t first, int64_t second, int64_t n, tutti_dtype type)
{
    if (GEMM_PAIR == 1 || second == first + WIDTH || n <= WIDTH) return gemm_take_along(from, first, n, type);
    if (type == TUTTI_BF16) {
        const uint16_t *numbers = from;
        return (vector)join_halves(load_halves(numbers + first), n < UNIT
                                                                     ? load_some_halves(numbers + second, n - WIDTH)
                                                                     : load_halves(numbers + second));
    }
    const vector upper = n < UNIT ? take_some(from, second, n - WIDTH, type) : take(from, second, type);
    return (vector)join_halves(narrow_bf16(take(from, first, type)), narrow_bf16(upper));
}

/* Packs rows that become rows of a panel of A (or columns of B), with their elements along k. Squares of elements are
 * transposed. */
INLINE void gemm_pack_scattered_rows(const tutti_gemm_scattered *s, int64_t n, int64_t from, int64_t nk, int64_t side,
                                     tutti_gemm_cell *to, tutti_dtype type)
{
    const int64_t steps = (nk + GEMM_PAIR - 1) / GEMM_PAIR;
    for (int64_t i = 0; i < side; i += WIDTH)
        for (int64_t p = 0; p < steps; p += WIDTH) {
            const int64_t q = from + p * GEMM_PAIR, left = nk - p * GEMM_PAIR, some = at_most(steps - p, WIDTH);
            const int64_t first = gemm_scattered_at(s, q), second = gemm_scattered_at(s, q + WIDTH);
            vector square[WIDTH];
            for (int r = 0; r < WIDTH; r++)
                square[r] = i + r < n && s->rows[i + r] ? gemm_take_apart(s->rows[i + r], first, second, left, type)
                                                        : (vector){0};
            transpose(square);
            for (int64_t c = 0; c < some; c++)
                gemm_put_cells(to + (p + c) * side + i, square[c], side, p + c == steps - 1);
        }
}

/* Loads n cells of a row, which begin at its element `at`, into a vector of WIDTH cells; the other cells are zeros. If
 * a cell is a pair, its second element is that of the next row. NULL stands for a row of zeros. */
INLINE vector gemm_take_rows(const void *row, const void *next, int64_t at, int64_t n, tutti_dtype type)
{
    vector first = {0}, second = {0};
    if (row) first = n < WIDTH ? take_some(row, at, n, type) : take(row, at, type);
    if (GEMM_PAIR == 1) return first;
    if (next) second = n < WIDTH ? take_some(next, at, n, type) : take(next, at, type);
    if (type == TUTTI_BF16) return (vector)join_upper((words)first, (words)second);
    return (vector)join_upper(round_bf16(first), round_bf16(second));
}

/* Elements of a row that lie side by side: where they lie, how many they are, and which cells of a step they become. */
typedef struct {
    int64_t at, n, to;
} gemm_piece;

/* Cuts n elements from `from` on into pieces: a piece ends where a block or a vector ends. Returns the number of
 * pieces. */
static inline int gemm_pieces(const tutti_gemm_scattered *s, int64_t from, int64_t n, gemm_piece *to)
{
    int made = 0;
    for (int64_t i = 0; i < n; made++) {
        const int64_t q = from + i, left = s->block - (q < s->block ? q : q % s->block);
        to[made] = (gemm_piece){gemm_scattered_at(s, q), at_most(at_most(n - i, WIDTH), left), i};
        i += to[made].n;
    }
    return made;
}

/* Packs steps of k whose elements are exactly two whole vectors. */
INLINE void gemm_pack_two(const tutti_gemm_scattered *s, const gemm_piece *two, int64_t nk, int64_t side,
                          tutti_gemm_cell *to, tutti_dtype type)
{
    for (int64_t p = 0; p < nk; p += GEMM_PAIR, to += side) {
        const void *row = s->rows[p], *next = GEMM_PAIR > 1 && p + 1 < nk ? s->rows[p + 1] : NULL;
        float *numbers = (float *)(void *)to;
        store(numbers, gemm_take_rows(row, next, two[0].at, WIDTH, type));
        store(numbers + WIDTH, gemm_take_rows(row, next, two[1].at, WIDTH, type));
    }
}

/* Packs rows that become steps of k: n elements of each row become cells of the step. Wherever a later store overwrites
 * the excess, a whole vector is stored, because masked stores take several times as long on Zen 4. */
INLINE void gemm_pack_scattered_steps(const tutti_gemm_scattered *s, int64_t from, int64_t n, int64_t nk, int64_t side,
                                      tutti_gemm_cell *to, tutti_dtype type)
{
    gemm_piece pieces[GEMM_MOST_SIDE];
    const int npieces = gemm_pieces(s, from, n, pieces);
    if (npieces == 2 && n == 2 * WIDTH) {
        gemm_pack_two(s, pieces, nk, side, to, type);
        return;
    }
    for (int64_t p = 0; p < nk; p += GEMM_PAIR, to += side) {
        const void *row = s->rows[p], *next = GEMM_PAIR > 1 && p + 1 < nk ? s->rows[p + 1] : NULL;
        const bool goes_on = n == side && p + GEMM_PAIR < nk;
        for (const gemm_piece *piece = pieces; piece < pieces + npieces; piece++) {
            float *numbers = (float *)(void *)(to + piece->to);
            const vector cells = gemm_take_rows(row, next, piece->at, piece->n, type);
            if (goes_on || piece->n == WIDTH)
                store(numbers, cells);
            else
                store_some(numbers, cells, piece->n);
        }
    }
}

static void gemm_pack_steps(const tutti_gemm_scattered *s, int64_t from, int64_t n, int64_t nk, int side,
                            tutti_gemm_cell *to)
{
    BY_TYPE(s->type, gemm_pack_scattered_steps, s, from, n, nk, side, to);
}

#endif
