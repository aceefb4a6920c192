/* SPDX-License-Identifier: Apache-2.0 */
/* isa_emulated.c: src/tensor/isa_processor.c of a processor with AVX2 whose AVX-512, AVX512-BF16 and AMX are emulated
 * (immintrin.h here). It is of that maker that TUTTI_EMULATE says (amd, intel; else the one that it is): calibrated
 * rules differ, and with intel there are tiles. */
#include "tensor/isa.h"

#include <stdlib.h>
#include <string.h>

bool tutti_isa_runs(tutti_isa isa)
{
    return isa < TUTTI_NISAS;
}

bool tutti_isa_has_bf16(void)
{
    return tutti_isa_here() == TUTTI_ISA_AVX512;
}

bool tutti_isa_has_tiles(void)
{
    return tutti_isa_has_bf16() && !tutti_isa_by_amd();
}

bool tutti_isa_by_amd(void)
{
    const char *maker = getenv("TUTTI_EMULATE");
    return maker ? strcmp(maker, "amd") == 0 : __builtin_cpu_is("amd");
}
