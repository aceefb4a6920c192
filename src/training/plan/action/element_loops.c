/* SPDX-License-Identifier: Apache-2.0 */
/* element_loops.c: loops over elements that several actions share. */
#include "../../../tensor/relaxed.h"
#include "element_loop.h"

TUTTI_ELEMENTS mean(float nworkers, float *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = from[i] / nworkers;
}

/* Copies elements that other ranks may change meanwhile: the loop reads each element once. */
TUTTI_ELEMENTS read(float *restrict to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = tutti_relaxed_read(&from[i]);
}

#define LOOPS(isa, target)                                                                                             \
    target static void mean_##isa(const tutti_elements *e)                                                             \
    {                                                                                                                  \
        mean((float)e->nworkers, e->to, e->from, e->n);                                                                \
    }                                                                                                                  \
    target static void read_##isa(const tutti_elements *e)                                                             \
    {                                                                                                                  \
        read(e->to, e->from, e->n);                                                                                    \
    }
TUTTI_ISA_EACH(LOOPS)

const tutti_element_loop tutti_loop_mean = {"mean", TUTTI_ISA_LIST(mean)};
const tutti_element_loop tutti_loop_read = {"read", TUTTI_ISA_LIST(read)};
