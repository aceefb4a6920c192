/* SPDX-License-Identifier: Apache-2.0 */
/* plan_bytes.c: counts the bytes that travel in a step, from the lowered schedules. The rank that moves bytes counts
 * them, whether it reads them from a peer's memory or writes them to a peer. So over all ranks each byte is counted
 * once. */
#include "plan_impl.h"

static int64_t count_elements(const tutti_slice *s, int64_t n)
{
    return ((int64_t)s->first + s->count) * n / s->of - s->first * n / s->of;
}

/* Returns the type of a buffer of any rank. All ranks have the same buffers in the same order, except that another rank
 * may have more inputs in canonical sums. All inputs have one type, and scratch comes last. */
static tutti_dtype type_of(const tutti_plan *p, const tutti_plan_exchange *x, const tutti_part *own, int32_t buffer)
{
    const tutti_dtype in = p->memories[x->in.memory].type;
    if (!x->sent) return in;
    if (buffer >= own->nbuffers || own->buffers[buffer].role == TUTTI_BUFFER_SCRATCH) return x->sent;
    return own->buffers[buffer].role == TUTTI_BUFFER_IN ? in : p->memories[x->out.memory].type;
}

static int64_t count_step(const tutti_plan *p, const tutti_plan_exchange *x, const tutti_part *part,
                          const tutti_step *s)
{
    int64_t bytes = 0;
    for (int k = 0; k < s->nins + s->nouts; k++) {
        const tutti_slice *slice = &part->slices[k < s->nins ? s->first_in + k : s->first_out + k - s->nins];
        if (slice->rank == part->rank) continue;
        bytes += count_elements(slice, x->count) * (int64_t)tutti_dtype_bytes(type_of(p, x, part, slice->buffer));
    }
    return bytes;
}

int64_t tutti_plan_crossed_bytes(const tutti_plan *p, int exchange, int rank)
{
    const tutti_plan_exchange *x = &p->exchanges[exchange];
    const int place = tutti_plan_place(x, rank);
    int64_t bytes = 0;
    tutti_part part;
    if (place < 0) return 0;
    tutti_schedule_part(p->schedules[x->schedule].lowered, place, &part);
    for (int i = 0; i < part.nsteps; i++) bytes += count_step(p, x, &part, &part.steps[i]);
    tutti_part_release(&part);
    return bytes;
}
