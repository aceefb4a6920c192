/* SPDX-License-Identifier: Apache-2.0 */
/* isa_processor.c: asks the processor which instruction sets it has. A build for tests emulates instructions; it
 * replaces this file by tests/emulated/isa_emulated.c. */
#include "isa.h"

#if defined(TUTTI_X86_LOOPS)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tests F16C by its bit in CPUID, because not all compilers know its name. */
static bool has_avx2(void)
{
    unsigned a, b, c = 0, d;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &a, &b, &c, &d) &&
           c & bit_F16C;
}

bool tutti_isa_runs(tutti_isa isa)
{
    if (isa == TUTTI_ISA_GENERIC) return true;
    if (isa == TUTTI_ISA_AVX2) return has_avx2();
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool tutti_isa_has_bf16(void)
{
    return tutti_isa_here() == TUTTI_ISA_AVX512 && __builtin_cpu_supports("avx512bf16");
}

/* Asks Linux for the use of the tile registers, and returns whether it is granted (x86:
 * Documentation/arch/x86/xstate.rst). A process may ask again. */
static bool may_use_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

bool tutti_isa_has_tiles(void)
{
    const unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24, wanted = amx_bf16 | amx_tile;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (tutti_isa_here() != TUTTI_ISA_AVX512 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return (d & wanted) == wanted && may_use_tiles();
}

bool tutti_isa_by_amd(void)
{
    return __builtin_cpu_is("amd");
}
#else
bool tutti_isa_runs(tutti_isa isa)
{
    return isa == TUTTI_ISA_GENERIC;
}

bool tutti_isa_has_bf16(void)
{
    return false;
}

bool tutti_isa_has_tiles(void)
{
    return false;
}

bool tutti_isa_by_amd(void)
{
    return false;
}
#endif
