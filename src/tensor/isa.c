/* SPDX-License-Identifier: Apache-2.0 */
/* isa.c: finds the instruction set that loops use on this processor: asks the processor (isa_processor.c) and reads the
 * environment variable TUTTI_ISA.
 *
 * Processor and variable are asked once. The answer never changes. The answer is kept in one atomic word, the only
 * state of this file. If several threads ask first at the same time, they all write the same value. */
#include "isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[TUTTI_NISAS] = {"generic", "avx2", "avx512"};

/* Returns the instruction set that the text names; TUTTI_NISAS if the text is NULL or unknown. */
static tutti_isa ceiling_of(const char *text)
{
    tutti_isa isa = TUTTI_ISA_GENERIC;
    while (isa < TUTTI_NISAS && !(text && strcmp(text, names[isa]) == 0)) isa++;
    return isa;
}

static tutti_isa pick(void)
{
    const tutti_isa ceiling = ceiling_of(getenv("TUTTI_ISA"));
    tutti_isa isa = ceiling < TUTTI_NISAS ? ceiling : TUTTI_NISAS - 1;
    while (!tutti_isa_runs(isa)) isa--;
    return isa;
}

tutti_isa tutti_isa_here(void)
{
    static _Atomic int picked = TUTTI_NISAS;
    int isa = atomic_load_explicit(&picked, memory_order_relaxed);
    if (isa == TUTTI_NISAS) {
        isa = (int)pick();
        atomic_store_explicit(&picked, isa, memory_order_relaxed);
    }
    return (tutti_isa)isa;
}

const char *tutti_isa_name(tutti_isa isa)
{
    return names[isa];
}

/* Checks the variable TUTTI_ISA. A set that this processor does not have is accepted, because the variable is only a
 * ceiling. */
tutti_status tutti_isa_check(tutti_failure *err)
{
    const char *ceiling = getenv("TUTTI_ISA");
    if (!ceiling || !*ceiling || ceiling_of(ceiling) < TUTTI_NISAS) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "TUTTI_ISA=%s: there are generic, avx2 and avx512", ceiling);
}
