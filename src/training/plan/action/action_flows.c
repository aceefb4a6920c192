/* SPDX-License-Identifier: Apache-2.0 */
/* action_flows.c: lists what an action of a plan reads and writes, by its row: memories, copies and elements, and how
 * many bytes that are. */
#include <assert.h>

#include "../plan_impl.h"

typedef struct {
    int memory, copy;
} place;

/* Returns the memory whose copies a fold adds: that of the gradients or, for a bucket of control numbers, the memory of
 * these numbers. */
static int gradients_of(const tutti_plan *p, const tutti_action *a)
{
    return tutti_plan_gradient_memory(p, p->order[tutti_plan_bucket_at(p, a->bucket)->first_param]);
}

/* Returns the n-th memory that a place of a flow means. Only a place of states means several. The result's `memory` is
 * -1 if there is no n-th one. */
static place place_of(const tutti_plan *p, const tutti_action *a, tutti_action_place at, int n)
{
    const bool normed = p->config.norms == TUTTI_NORMS_OF_TENSORS;
    if (at == TUTTI_AT_STATES || (at == TUTTI_AT_NORMED_STATES && normed))
        return (place){tutti_plan_find_memory(p, TUTTI_ROLE_STATE, n), 0};
    if (n) return (place){-1, 0};
    switch (at) {
    case TUTTI_AT_FROM: return (place){a->from, 0};
    case TUTTI_AT_TO: return (place){a->to, 0};
    case TUTTI_AT_OTHER: return (place){a->other, 0};
    case TUTTI_AT_PULL: return (place){a->pulled ? a->other : -1, 0};
    case TUTTI_AT_VERDICT: return (place){a->verdict, 0};
    case TUTTI_AT_NORM: return (place){a->norm == a->verdict ? -1 : a->norm, 0};
    case TUTTI_AT_NORMED_WEIGHTS: return (place){normed ? a->weights : -1, 0};
    case TUTTI_AT_COPY_SRC: return (place){gradients_of(p, a), a->src};
    case TUTTI_AT_COPY_DST: return (place){gradients_of(p, a), a->dst};
    default: return (place){-1, 0};
    }
}

static void find_range(const tutti_plan *p, const tutti_action *a, tutti_element_flow *out)
{
    out->first = a->first;
    out->count = a->count;
    if (out->kind != TUTTI_FLOW_ADDS) return;
    const tutti_bucket *b = tutti_plan_bucket_at(p, a->bucket);
    out->first = b->offset;
    out->count = b->count;
}

/* Resolves one flow of the row: several flows if it names states. */
static int resolve(const tutti_plan *p, const tutti_action *a, const tutti_action_flow *f, tutti_element_flow *out)
{
    int n = 0;
    for (int i = 0;; i++) {
        /* true: the source is several memories; false: the target may be several */
        const bool many = f->from == TUTTI_AT_NORMED_STATES;
        const place from = place_of(p, a, f->from, many ? i : 0), to = place_of(p, a, f->to, many ? 0 : i);
        if ((f->from && from.memory < 0) || (f->to && to.memory < 0) || (i && !f->to && !many)) return n;
        assert(n < TUTTI_MOST_STATES);
        out[n] = (tutti_element_flow){f->kind, from.memory, from.copy, to.memory, to.copy, 0, 0};
        find_range(p, a, &out[n++]);
    }
}

int tutti_action_flows(const tutti_plan *p, const tutti_action *a, tutti_element_flow out[TUTTI_MOST_ACTION_FLOWS])
{
    const tutti_action_row *row = tutti_action_row_of(a->kind);
    int n = 0;
    for (int i = 0; i < TUTTI_MOST_FLOWS && row->flows[i].kind; i++) n += resolve(p, a, &row->flows[i], out + n);
    return n;
}

/* Adds a place to the list unless the list has it: bytes of a place count once, however many flows the place is in. */
static void note(int *places, int *n, int memory, int copy)
{
    const int at = memory * 64 + copy;
    for (int i = 0; i < *n; i++)
        if (places[i] == at) return;
    places[(*n)++] = at;
}

static double bytes_of(const tutti_plan *p, const int *places, int n, int64_t count)
{
    double bytes = 0;
    for (int i = 0; i < n; i++) {
        const tutti_plan_memory *m = &p->memories[places[i] / 64];
        if (m->role != TUTTI_ROLE_NUMBERS) bytes += (double)count * (double)tutti_dtype_bytes(m->type);
    }
    return bytes;
}

double tutti_action_bytes(const tutti_plan *p, const tutti_action *a)
{
    tutti_element_flow flows[TUTTI_MOST_ACTION_FLOWS];
    const int n = tutti_action_flows(p, a, flows);
    int read[2 * TUTTI_MOST_ACTION_FLOWS], written[TUTTI_MOST_ACTION_FLOWS], nread = 0, nwritten = 0;
    for (int i = 0; i < n; i++) {
        const tutti_element_flow *f = &flows[i];
        if (f->from >= 0) note(read, &nread, f->from, f->from_copy);
        if (f->to < 0) continue;
        if (f->kind != TUTTI_FLOW_WRITES) note(read, &nread, f->to, f->to_copy);
        note(written, &nwritten, f->to, f->to_copy);
    }
    return n ? bytes_of(p, read, nread, flows[0].count) + bytes_of(p, written, nwritten, flows[0].count) : 0;
}
