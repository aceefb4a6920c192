/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_amx.c: products of bf16 by tiles of AMX, the same loops as gemm_tiles.c. */
#include "../tensor/isa.h"
#include "../tensor/vector.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gemm_tile_amx.h"

#include "gemm_tile_loops.h"

/* Linux gives a process the registers of tiles when it asks (x86: Documentation/arch/x86/xstate.rst); to ask again is allowed. */
static bool may_use_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

static bool is_here(void)
{
    const unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24, wanted = amx_bf16 | amx_tile;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (tutti_isa_here() != TUTTI_ISA_AVX512 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return (d & wanted) == wanted && may_use_tiles();
}

const tutti_gemm_row tutti_gemm_amx = {.name = "amx", TILE_ROW, .enter = tile_enter, .leave = tile_leave};
