/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_amx.c: products of bf16 by tiles of AMX, the same loops as gemm_tiles.c. */
#include "../../tensor/isa.h"
#include "../../tensor/vector.h"

#include "gemm_tile_amx.h"

#include "gemm_tile_loops.h"

static bool is_here(void)
{
    return tutti_isa_has_tiles();
}

const tutti_gemm_row tutti_gemm_amx = {.name = "amx", TILE_ROW, .enter = tile_enter, .leave = tile_leave};
