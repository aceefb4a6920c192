/* SPDX-License-Identifier: Apache-2.0 */
/* step_cost.h: bytes and local work of one step on a network, as every engine charges them; private to
 * src/collective/simulate. */
#ifndef TUTTI_STEP_COST_H
#define TUTTI_STEP_COST_H

#include "simulate_impl.h"

static inline int64_t tutti_slice_bytes(const tutti_slice *s, int64_t n)
{
    int64_t begin = (int64_t)s->first * n / s->of, end = ((int64_t)s->first + s->count) * n / s->of;
    return (end - begin) * TUTTI_ELEMENT_BYTES;
}

/* Returns the bytes of a step's slices, which are all of one size; 0 if it has none. */
static inline int64_t tutti_step_bytes(const tutti_part *part, const tutti_step *step, int64_t n)
{
    if (!(step->nins + step->nouts)) return 0;
    return tutti_slice_bytes(part->slices + (step->nins ? step->first_in : step->first_out), n);
}

/* Returns the bytes that a core adds: a reduce of k inputs adds k - 1 times; a copy counts as one addition. */
static inline double tutti_step_added(const tutti_step *step, int64_t bytes)
{
    const bool copies = step->kind == TUTTI_STEP_COPY || step->kind == TUTTI_STEP_PUT;
    return (double)bytes * (copies ? 1 : step->nins - 1);
}

#endif
