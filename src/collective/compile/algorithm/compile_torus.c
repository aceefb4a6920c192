/* SPDX-License-Identifier: Apache-2.0 */
/* compile_torus.c: torus: rings along the rows and columns of a grid of ranks (2D-torus allreduce, Mikami et al. 2018).
 *
 * Rank r is in row r div columns and column r mod columns. Reduce-scatter along the row, allreduce of the slice along
 * the column, all-gather along the row: 2(columns - 1) + 2(rows - 1) steps, 2(p - 1)/p n bytes. While one direction
 * works, the links of the other are idle. With ways = 2, half of the vector goes rows first and the other half columns
 * first, at the same time.
 *
 * Two invocations do not race, because each part is one walk, or two that share no element (compile_impl.h says
 * why). */
#include "../compile_impl.h"

enum { ROWS, COLUMNS, WAYS }; /* indices of the parameters */

/* Sets rows and columns that are not given so that their product is p, if that is possible. If neither is given, the
 * grid is as square as can be, with no more rows than columns. */
static void torus_settle(tutti_compile_request *q)
{
    int32_t p = q->nranks, *rows = &q->param[ROWS], *columns = &q->param[COLUMNS];
    if (*rows && *columns) return;
    if (!*rows && !*columns)
        for (int32_t k = 1; (int64_t)k * k <= p; k++)
            if (p % k == 0) *rows = k;
    if (*rows)
        *columns = p / *rows > 0 ? p / *rows : 1;
    else
        *rows = p / *columns > 0 ? p / *columns : 1;
}

static tutti_status torus_accept(const tutti_compile_request *q, tutti_failure *err)
{
    int64_t p = q->nranks, rows = q->param[ROWS], columns = q->param[COLUMNS];
    tutti_status st = tutti_accept_fast_sums("torus", "the rings give each slice an expression of its own", q, err);
    if (st != TUTTI_OK || rows * columns == p) return st;
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "torus: %lld rows of %lld are %lld ranks, not %lld; give rows or columns alone, a divisor of %lld",
        (long long)rows, (long long)columns, (long long)(rows * columns), (long long)p, (long long)p);
}

static void torus_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t rows = q->param[ROWS], columns = q->param[COLUMNS], ways = q->param[WAYS];
    const tutti_line row = {r / columns * columns, 1, columns, r % columns};
    const tutti_line column = {r % columns, columns, rows, r / columns};
    tutti_compile_buffers(q, r, b);
    int32_t ninboxes = rows + columns - 2;
    tutti_part_walk w = tutti_walk_begin(q, r, b, ways * ninboxes), other = w;
    tutti_walk_grid(&w, &row, &column, tutti_slice_at(0, 0, 0, 1, ways), 0);
    other.sequence = 2, other.channel = 1;
    if (ways > 1) tutti_walk_grid(&other, &column, &row, tutti_slice_at(0, 0, 1, 1, 2), ninboxes);
}

const tutti_algorithm tutti_algorithm_torus = {
    .name = "torus",
    .summary = "rings along the rows and columns of a grid of ranks (Mikami et al.)",
    .collectives = 1u << TUTTI_ALLREDUCE,
    .determinism = TUTTI_DETERMINISM_PER_SLICE,
    .accept = torus_accept,
    .part = torus_part,
    .parameters = {{"rows", 0, 1, 1 << 20, "of the grid; default: what columns leaves, or as square as can be"},
                   {"columns", 0, 1, 1 << 20, "of the grid; default: what rows leaves"},
                   {"ways", 1, 1, 2, "2: half of the vector goes rows first, half columns first, together"}},
    .variants = {"ways=2"},
    .settle = torus_settle,
};
