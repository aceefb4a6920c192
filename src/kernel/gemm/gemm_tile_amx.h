/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tile_amx.h: the tiles of AMX for gemm_tile_loops.h, 16 rows of 64 bytes each. */
#ifndef TUTTI_GEMM_TILE_AMX_H
#define TUTTI_GEMM_TILE_AMX_H

#include "tile_config.h"

typedef struct {
    char nothing; /* empty, because the processor holds the tiles */
} tiles;

#define tile_clear(t, n)             TILE_DO(t, _tile_zero(n))
#define tile_load(t, n, from, apart) TILE_DO(t, _tile_loadd(n, from, (size_t)(apart)))
#define tile_store(t, n, to, apart)  TILE_DO(t, _tile_stored(n, to, (size_t)(apart)))
#define tile_multiply(t, c, a, b)    TILE_DO(t, _tile_dpbf16ps(c, a, b))
#define TILE_DO(t, statement)                                                                                          \
    do {                                                                                                               \
        (void)(t);                                                                                                     \
        statement;                                                                                                     \
    } while (0)

/* Writes this thread's configuration of tiles, which a library (oneDNN) may have set, to `before`, so that it can be
 * restored. Then sets up the tiles. */
static void tile_enter(void *before)
{
    tile_config all = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        all.rows[i] = 16;
        all.row_bytes[i] = 64;
    }
    tile_config_save(before);
    tile_config_take(&all);
}

static void tile_leave(const void *before)
{
    tile_config_take(before);
}

#endif
