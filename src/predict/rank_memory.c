/* SPDX-License-Identifier: Apache-2.0 */
/* rank_memory.c: adds up the memory of a rank by its use (weights, activations, ...). An exchange's own memory is the
 * scratch buffers of its schedule, as the executor lays them out: each buffer in whole cache lines, as often as the
 * executor uses it in turn (banks), elements in the type in which they are sent. */
#include "profile/profile.h"

#include "../training/method/rule/rule.h"

enum { LINE = 64 };

/* Returns the field of *m that sums up memory of this role. */
static int64_t *place_of(tutti_rank_memory *m, tutti_memory_role role)
{
    switch (role) {
    case TUTTI_ROLE_WEIGHTS: return &m->weights;
    case TUTTI_ROLE_GRADIENTS:
    case TUTTI_ROLE_SENT: return &m->gradients;
    case TUTTI_ROLE_STATE:
    case TUTTI_ROLE_CENTRE: return &m->states;
    case TUTTI_ROLE_SEAT: return &m->exchange;
    case TUTTI_ROLE_NUMBERS:
    case TUTTI_ROLE_TRAVELLING:
    case TUTTI_ROLE_ACTIVATIONS:
    case TUTTI_NROLES: break;
    }
    return &m->activations;
}

static int64_t point(int64_t k, int64_t n, int64_t of)
{
    return n / of * k + n % of * k / of;
}

static int64_t scratch_of(const tutti_plan *plan, const tutti_plan_exchange *x, const tutti_part *part)
{
    const int64_t each = (int64_t)tutti_dtype_bytes(x->sent ? x->sent : plan->memories[x->in.memory].type);
    int64_t bytes = 0;
    for (int i = 0; i < part->nbuffers; i++) {
        const tutti_buffer *b = &part->buffers[i];
        const tutti_slice *w = &b->window;
        if (b->role != TUTTI_BUFFER_SCRATCH) continue;
        const int64_t elements = point(w->first + w->count, x->count, w->of) - point(w->first, x->count, w->of);
        bytes += (elements * each + LINE - 1) / LINE * LINE * b->banks;
    }
    return bytes;
}

/* Returns the scratch of all exchanges that travel by a schedule. Exchanges in which the rank has the same place share
 * one part of the schedule. */
static int64_t schedule_scratch(const tutti_plan *plan, int schedule)
{
    tutti_part part;
    int64_t bytes = 0;
    int at = -1; /* index of the rank among the exchange's members; -1: no member */
    for (int i = 0; i < plan->nexchanges; i++) {
        const tutti_plan_exchange *x = &plan->exchanges[i];
        const int place = tutti_plan_place(x, plan->config.rank);
        if (x->schedule != schedule || place < 0) continue;
        if (at != place) {
            if (at >= 0) tutti_part_release(&part);
            tutti_schedule_part(plan->schedules[schedule].lowered, at = place, &part);
        }
        bytes += scratch_of(plan, x, &part);
    }
    if (at >= 0) tutti_part_release(&part);
    return bytes;
}

tutti_rank_memory tutti_rank_memory_of(const tutti_plan *plan)
{
    tutti_rank_memory m = {0};
    for (int i = 0; i < plan->nmemories; i++) {
        const tutti_plan_memory *memory = &plan->memories[i];
        const bool arena = memory->role == TUTTI_ROLE_ACTIVATIONS;
        *place_of(&m, memory->role) += arena ? plan->arena_bytes : tutti_plan_memory_bytes(memory);
    }
    for (int i = 0; i < plan->nschedules; i++) m.exchange += schedule_scratch(plan, i);
    m.all = m.weights + m.gradients + m.states + m.activations + m.exchange;
    return m;
}

bool tutti_rank_memory_of_layers(const char *rule, int64_t bytes, tutti_rank_memory *out)
{
    const tutti_rule_row *row = tutti_rule_find(rule);
    *out = (tutti_rank_memory){.weights = bytes, .gradients = bytes, .states = row ? row->nstates * bytes : 0};
    out->all = out->weights + out->gradients + out->states;
    return row != NULL;
}
