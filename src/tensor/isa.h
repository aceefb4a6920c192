/* SPDX-License-Identifier: Apache-2.0 */
/* isa.h: finds the instruction set that our loops use on this processor, and declares tables of loops with a row for
 * each set.
 *
 * Loops are written once, in NAME_vector.c, which is compiled once for each set (vector.h, cmake/library.cmake) and
 * makes one row each time. Builds for other processors than x86-64, and those with TUTTI_X86_LOOPS=OFF, have only the
 * generic rows.
 *
 * Threads: any. */
#ifndef TUTTI_ISA_H
#define TUTTI_ISA_H

#include <stdbool.h>

#include "tutti/failure.h"

/* The instruction sets, in ascending order: each set includes the sets before it. */
typedef enum {
    TUTTI_ISA_GENERIC, /* any processor: vectors of 16 bytes, which the compiler makes of SSE, NEON or plain code */
    TUTTI_ISA_AVX2,    /* AVX2 with FMA and F16C; vectors of 32 bytes */
    TUTTI_ISA_AVX512,  /* AVX-512 F, BW, DQ and VL; vectors of 64 bytes */
    TUTTI_NISAS,
} tutti_isa;

/* Returns the best set that this processor runs, but none above the ceiling that TUTTI_ISA=generic|avx2|avx512 sets in
 * the environment, which is read once. */
tutti_isa tutti_isa_here(void);
/* True if this build has loops for the set and this processor runs them, even if TUTTI_ISA forbids the set. */
bool tutti_isa_runs(tutti_isa isa);
const char *tutti_isa_name(tutti_isa isa); /* returns "generic", "avx2" or "avx512" */
/* True if the set in use is AVX-512 and the processor has AVX512-BF16 as well: for NAME_avx512bf16.c. */
bool tutti_isa_has_bf16(void);
/* True if the set in use is AVX-512 and the processor has AMX's tiles with products of bf16. If so, the process has
 * already asked the system for the use of tiles. */
bool tutti_isa_has_tiles(void);
/* True if AMD made the processor. Calibrated rules ask for it, because they hold only for processors that were
 * measured. */
bool tutti_isa_by_amd(void);
/* Returns TUTTI_ERR_USAGE if the variable TUTTI_ISA is none of the names; the loops ignore such a ceiling. */
tutti_status tutti_isa_check(tutti_failure *err);

/* A table of loops: TUTTI_ISA_DECLARE(type, name) in a header, and TUTTI_ISA_TABLE(type, name) in one file. Then
 * name_rows[isa] is the row of a set, or NULL if the build has no loops for it, and name_rows[tutti_isa_here()] is this
 * processor's. */
#define TUTTI_ISA_DECLARE(type, name)                                                                                  \
    extern const type name##_generic, name##_avx2, name##_avx512;                                                      \
    extern const type *const name##_rows[TUTTI_NISAS]
#define TUTTI_ISA_TABLE(type, name) const type *const name##_rows[TUTTI_NISAS] = TUTTI_ISA_LIST(&name)

/* For a small inlined function that a file compiles for each set beside its other code. TUTTI_ISA_EACH(make) gives
 * make(isa, target) for each set, which defines a function NAME_<isa> that calls the inlined function.
 * TUTTI_ISA_LIST(NAME) is the initialiser of an array of these functions by set. TUTTI_ISA_X86(row) is a row that only
 * x86-64 has; it is NULL in other builds. */
#if !defined(TUTTI_ISA_AVX512_TARGET) /* the build with emulated instructions has no such target */
#define TUTTI_ISA_AVX512_TARGET __attribute__((target("avx512f")))
#endif
#if defined(TUTTI_X86_LOOPS)
#define TUTTI_ISA_LIST(name)                                                                                           \
    {                                                                                                                  \
        name##_generic, name##_avx2, name##_avx512                                                                     \
    }
#define TUTTI_ISA_EACH(make)                                                                                           \
    make(generic, ) make(avx2, __attribute__((target("avx2")))) make(avx512, TUTTI_ISA_AVX512_TARGET)
#define TUTTI_ISA_X86(row) (row)
#else
#define TUTTI_ISA_LIST(name)                                                                                           \
    {                                                                                                                  \
        name##_generic                                                                                                 \
    }
#define TUTTI_ISA_EACH(make) make(generic, )
#define TUTTI_ISA_X86(row)   NULL
#endif

#endif
