/* SPDX-License-Identifier: Apache-2.0 */
/* comm_way.c: the table of ways through memory: in regions, staged through copies, through scratch, or by the system's
 * copies between processes. */
#include "comm_way.h"

#include <assert.h>
#include <stddef.h>

enum { LEAST_PIECE = 1 << 16 };

static const tutti_way_row rows[] = {
    [TUTTI_WAY_MAPPED] = {TUTTI_PATH_MAPPED, NULL, false, 0, false,
                          "memory that all ranks map: nothing is copied to be sent"},
    [TUTTI_WAY_ONE_SHOT] = {TUTTI_PATH_SHOWN, "one-shot", false, 1 << 20, true,
                            "inputs shown to the others through scratch"},
    [TUTTI_WAY_ONE_SHOT_PAST] = {TUTTI_PATH_SHOWN, "one-shot", true, 1 << 20, true,
                                 "inputs shown through scratch, stored past the caches"},
    [TUTTI_WAY_TWO_SHOT] = {TUTTI_PATH_SHOWN, "two-shot", false, 1 << 20, false,
                            "inputs and sums shown to the others through scratch"},
    [TUTTI_WAY_TWO_SHOT_PAST] = {TUTTI_PATH_SHOWN, "two-shot", true, 1 << 20, false,
                                 "inputs and sums shown through scratch, stored past the caches"},
    [TUTTI_WAY_STAGED] = {TUTTI_PATH_STAGED, NULL, false, 1 << 18, false,
                          "copied in and out of memory that all ranks map"},
    [TUTTI_WAY_STAGED_PAST] = {TUTTI_PATH_STAGED, NULL, true, 1 << 18, false,
                               "copied in and out of memory that all ranks map, stored past the caches"},
    [TUTTI_WAY_REACHED] = {TUTTI_PATH_REACHED, "direct", false, 0, false,
                           "memory of the others read and written where it lies (CMA)"},
};
static_assert(sizeof rows / sizeof *rows == TUTTI_NWAYS, "a row for each way");

const tutti_way_row *tutti_way_at(tutti_way way)
{
    return &rows[way];
}

int64_t tutti_way_piece(tutti_way way, int32_t nranks)
{
    const tutti_way_row *row = &rows[way];
    const int32_t piece = row->shared ? row->piece / nranks : row->piece;
    return piece == 0 || piece >= LEAST_PIECE ? piece : LEAST_PIECE;
}
