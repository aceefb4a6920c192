/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tiles.c: products of bf16 by tiles in plain C. They run on every processor, and the loops of AMX are tested
 * against them. */
#include "../../tensor/vector.h"

#include "gemm_tile_plain.h"

#include "gemm_tile_loops.h"

static bool is_here(void)
{
    return true;
}

const tutti_gemm_row tutti_gemm_tiles = {.name = "tiles", TILE_ROW};
