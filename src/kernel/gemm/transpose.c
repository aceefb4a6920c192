/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.c: transposes a matrix by tiles, with the loops of lane_copy_loops.h; each thread computes strips of the
 * result's rows. */
#include "transpose.h"

#include "../crew.h"
#include "../lanes/lane_impl.h"

/* Sides of a tile of `from`. TILE_ROWS rows become a run of 128 elements in each row of the result. TILE_COLUMNS
 * columns stay in the first-level cache and in the TLB. */
enum { TILE_ROWS = 128, TILE_COLUMNS = 256 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Transposes strips [begin, end) of `from`, each TILE_COLUMNS columns wide. */
static void turn_strips(void *arg, int64_t begin, int64_t end, int thread)
{
    const tutti_transposition *m = arg;
    const tutti_lane_row *row = tutti_lane_here();
    (void)thread;
    for (int64_t c = begin * TILE_COLUMNS; c < least(end * TILE_COLUMNS, m->columns); c += TILE_COLUMNS)
        for (int64_t r = 0; r < m->rows; r += TILE_ROWS) {
            const tutti_lane_view from = {(void *)m->from, m->from_type, r * m->columns + c, {1, m->columns}},
                                  to = {m->to, m->to_type, c * m->rows + r, {m->rows, 1}};
            row->copy(&from, &to, least(m->columns - c, TILE_COLUMNS), least(m->rows - r, TILE_ROWS), false);
        }
}

void tutti_transpose(const tutti_transposition *t, int nthreads)
{
    tutti_transposition own = *t;
    tutti_crew_run(nthreads, (t->columns + TILE_COLUMNS - 1) / TILE_COLUMNS, turn_strips, &own);
}
