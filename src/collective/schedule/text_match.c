/* SPDX-License-Identifier: Apache-2.0 */
/* text_match.c: matches the i-th send on a channel with the i-th recv, and notes at both the slice of the other end,
 * for lowering. An end without a partner notes nothing; the checker says what is wrong. */
#include <stdlib.h>

#include "../../base/arena.h"
#include "text_impl.h"

typedef struct {
    int32_t src, dst, channel, rank, step;
} end_of_message;

static int by_channel(const void *x, const void *y)
{
    const end_of_message *a = x, *b = y;
    if (a->src != b->src) return a->src < b->src ? -1 : 1;
    if (a->dst != b->dst) return a->dst < b->dst ? -1 : 1;
    if (a->channel != b->channel) return a->channel < b->channel ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

static end_of_message *collect(const tutti_text *t, tutti_step_kind kind, int64_t *n)
{
    end_of_message *ends = tutti_alloc(sizeof *ends * ((size_t)t->nsteps + 1));
    *n = 0;
    for (int32_t r = 0; r < t->head.nranks; r++) {
        const tutti_part *p = &t->ranks[r].builder.part;
        for (int32_t i = 0; i < p->nsteps; i++) {
            const tutti_step *s = &p->steps[i];
            if (s->kind != kind) continue;
            bool sends = kind == TUTTI_STEP_SEND;
            ends[(*n)++] = (end_of_message){sends ? r : s->peer, sends ? s->peer : r, s->channel, r, i};
        }
    }
    qsort(ends, (size_t)*n, sizeof *ends, by_channel);
    return ends;
}

static tutti_slice slice_of(const tutti_text *t, const end_of_message *e)
{
    const tutti_part *p = &t->ranks[e->rank].builder.part;
    const tutti_step *s = &p->steps[e->step];
    return p->slices[s->kind == TUTTI_STEP_SEND ? s->first_in : s->first_out];
}

void tutti_text_match(tutti_text *t)
{
    int64_t nsends, nrecvs;
    end_of_message *sends = collect(t, TUTTI_STEP_SEND, &nsends), *recvs = collect(t, TUTTI_STEP_RECV, &nrecvs);
    for (int64_t i = 0, k = 0; i < nsends && k < nrecvs;) {
        end_of_message a = sends[i], b = recvs[k];
        a.step = b.step = 0; /* compares channels only: the steps' indices are left out */
        int order = by_channel(&a, &b);
        if (order == 0) {
            t->ranks[sends[i].rank].builder.far[sends[i].step] = slice_of(t, &recvs[k]);
            t->ranks[recvs[k].rank].builder.far[recvs[k].step] = slice_of(t, &sends[i]);
        }
        i += order <= 0;
        k += order >= 0;
    }
    free(recvs);
    free(sends);
}
