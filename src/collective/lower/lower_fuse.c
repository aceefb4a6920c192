/* SPDX-License-Identifier: Apache-2.0 */
/* lower_fuse.c: finds messages that need no move of their own, because a sum or copy can read the peer's memory.
 *
 * Each rule looks at this rank's part alone; the peer sees the same signals either way. No rule argues that it is
 * right, because the checker proves the lowered schedule. */
#include <stdlib.h>

#include "../../base/arena.h"
#include "lower_impl.h"

static bool same_elements(const tutti_slice *a, const tutti_slice *b)
{
    return (int64_t)a->first * b->of == (int64_t)b->first * a->of &&
           (int64_t)a->count * b->of == (int64_t)b->count * a->of;
}

static bool same_slice(const tutti_slice *a, const tutti_slice *b)
{
    return a->rank == b->rank && a->buffer == b->buffer && same_elements(a, b);
}

static bool overlap(const tutti_slice *a, const tutti_slice *b)
{
    return a->buffer == b->buffer && (int64_t)a->first * b->of < ((int64_t)b->first + b->count) * a->of &&
           (int64_t)b->first * a->of < ((int64_t)a->first + a->count) * b->of;
}

/* The steps that write and read a buffer. */
typedef struct {
    int32_t nwriters, writer, nreaders, reader;
} usage;

static usage *count_usage(const tutti_part *p)
{
    usage *u = tutti_alloc(sizeof *u * ((size_t)p->nbuffers + 1));
    for (int32_t i = 0; i < p->nsteps; i++) {
        const tutti_step *s = &p->steps[i];
        for (int32_t k = 0; k < s->nins; k++) {
            usage *b = &u[p->slices[s->first_in + k].buffer];
            b->nreaders++, b->reader = i;
        }
        for (int32_t k = 0; k < s->nouts; k++) {
            usage *b = &u[p->slices[s->first_out + k].buffer];
            b->nwriters++, b->writer = i;
        }
    }
    return u;
}

/* Returns true if the move of a message may become part of `to`. An acknowledgement follows the move, so a message that
 * has one may only move within its stage. */
static bool may_move(const tutti_lowering *l, const tutti_step *message, const tutti_step *to)
{
    if (!tutti_lowers_with_ack(l, message)) return true;
    return !l->careful && message->stage == to->stage;
}

/* Fuses a message that is pulled into scratch, if one reduce alone reads the whole scratch, which is then removed. */
static void fuse_recv(tutti_lowering *l, const usage *u, int32_t i)
{
    const tutti_part *p = l->in;
    const tutti_step *recv = &p->steps[i];
    const tutti_slice *to = &p->slices[recv->first_out];
    const usage *b = &u[to->buffer];
    if (p->buffers[to->buffer].role != TUTTI_BUFFER_SCRATCH || b->nwriters != 1 || b->nreaders != 1) return;
    const tutti_step *reader = &p->steps[b->reader];
    if (reader->kind != TUTTI_STEP_REDUCE || b->reader < i || !may_move(l, recv, reader)) return;
    if (!same_elements(to, &p->slices[reader->first_in])) return;
    l->partner[i] = b->reader;
    l->recv_of[to->buffer] = i;
}

/* Returns the reduce or copy that made exactly the data of send i, if nothing was written to them since. The send must
 * depend on that step alone, because another dependency may be the reason that no acknowledgement is needed. */
static int32_t producer(const tutti_lowering *l, int32_t i)
{
    const tutti_part *p = l->in;
    const tutti_step *send = &p->steps[i];
    const tutti_slice *what = &p->slices[send->first_in];
    if (send->ndeps != 1) return -1;
    int32_t dep = p->deps[send->first_dep], found = -1;
    const tutti_step *d = &p->steps[dep];
    if (dep > i || (d->kind != TUTTI_STEP_REDUCE && d->kind != TUTTI_STEP_COPY)) return -1;
    for (int32_t o = 0; o < d->nouts; o++)
        if (same_slice(&p->slices[d->first_out + o], what)) found = dep;
    for (int32_t k = 0; k < p->nsteps && found >= 0; k++) {
        const tutti_step *w = &p->steps[k];
        if (k == found || w->stage < p->steps[found].stage || w->stage > send->stage) continue;
        for (int32_t o = 0; o < w->nouts; o++)
            if (overlap(&p->slices[w->first_out + o], what)) return -1;
    }
    return found;
}

static void join(tutti_lowering *l, int32_t send, int32_t to, int32_t *last)
{
    l->partner[send] = to;
    if (l->first_fused[to] < 0)
        l->first_fused[to] = send;
    else
        l->next_fused[last[to]] = send;
    last[to] = send;
}

/* Returns true if the message is pushed by stores, which another step can make. */
static bool is_stored(const tutti_lowering *l, const tutti_step *send)
{
    return tutti_lowers_near(l, send) && !(send->hint & TUTTI_HINT_PULL);
}

/* Makes send i a part of an earlier step if that is possible. previous: the send before this one in its sequence, if no
 * other steps lie between; -1 = none. */
static void fuse_send(tutti_lowering *l, int32_t i, int32_t previous, int32_t *last)
{
    const tutti_part *p = l->in;
    const tutti_step *send = &p->steps[i];
    bool again = previous >= 0 && !send->ndeps && p->steps[previous].stage == send->stage &&
                 is_stored(l, &p->steps[previous]) &&
                 same_slice(&p->slices[p->steps[previous].first_in], &p->slices[send->first_in]);
    int32_t to = again ? l->partner[previous] : producer(l, i);
    if (to < 0 && again) to = previous; /* the previous send becomes a copy with several outputs */
    if (to < 0 || !may_move(l, send, &p->steps[to])) return;
    if (p->steps[to].kind == TUTTI_STEP_SEND && l->careful && tutti_lowers_with_ack(l, &p->steps[to])) return;
    join(l, i, to, last);
}

void tutti_lower_fuse(tutti_lowering *l)
{
    const tutti_part *p = l->in;
    size_t n = (size_t)p->nsteps + 1;
    for (int32_t i = 0; i < p->nsteps; i++) l->partner[i] = l->first_fused[i] = l->next_fused[i] = -1;
    for (int32_t i = 0; i < p->nbuffers; i++) l->recv_of[i] = -1;
    if (l->wire == TUTTI_WIRE_ONE_SIDED) return;
    usage *u = count_usage(p);
    int32_t *last = tutti_alloc(sizeof *last * n), nsequences = tutti_part_nsequences(p);
    int32_t *previous = tutti_alloc(sizeof *previous * ((size_t)nsequences + 1));
    for (int32_t i = 0; i < nsequences; i++) previous[i] = -1;
    for (int32_t i = 0; i < p->nsteps; i++) {
        const tutti_step *s = &p->steps[i];
        bool moves = tutti_is_message(s) && !tutti_moves_nothing(l, s);
        if (moves && s->kind == TUTTI_STEP_RECV && tutti_lowers_to_pull(l, s)) fuse_recv(l, u, i);
        if (moves && s->kind == TUTTI_STEP_SEND && is_stored(l, s)) fuse_send(l, i, previous[s->sequence], last);
        previous[s->sequence] = s->kind == TUTTI_STEP_SEND ? i : -1;
    }
    free(previous);
    free(last);
    free(u);
}
