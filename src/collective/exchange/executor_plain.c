/* SPDX-License-Identifier: Apache-2.0 */
/* executor_plain.c: runs exchanges on plain memory, that is, memory in no region. Before each invocation an *aim* sets
 * the addresses and the vector's length, so that one exchange serves all lengths up to its own.
 *
 * A rank writes its aim into its part of the exchange's region before any signal of the invocation. Another rank
 * touches this rank's memory only after it has waited for such a signal (the checker proves it of every access), so it
 * can read the aim. The aim is overwritten only after the other rank has signalled that it has finished. */
#include <stdlib.h>

#include "executor_impl.h"

enum {
    BOUNCE = 1 << 19,
    LEAST_BOUNCE = 1 << 12
}; /* most bytes of all operands of a piece that is copied; the piece then stays in a second-level cache */

tutti_aim *tutti_plain_aim_of(const tutti_exchange *x, int32_t member)
{
    char *base = tutti_exchange_base(x, member);
    return base ? (tutti_aim *)(void *)(base + TUTTI_LINE) : NULL;
}

static size_t offset_of(const tutti_exchange *x, const tutti_slice *s)
{
    const tutti_buffer_place *place = &x->plain->binder->ranks[s->rank].places[s->buffer];
    const int64_t from = tutti_vector_point(&x->vector, s->first, s->of) - place->origin;
    return place->before + (size_t)from * x->vector.bytes;
}

void tutti_plain_note(tutti_exchange *x, int32_t i, int32_t k, int32_t set, const tutti_slice *s)
{
    tutti_plain *p = x->plain;
    tutti_op *op = &x->ops[i];
    const bool own = s->rank == x->me;
    const bool out = p->binder->ranks[s->rank].buffers[s->buffer].role == TUTTI_BUFFER_OUT;
    const tutti_plain_pointer pointer = {set, op->first + k, s->rank, out, offset_of(x, s)};
    p->owner[pointer.at] = own ? -1 : x->members[s->rank];
    if (own) {
        p->own[p->nown++] = pointer;
    } else if (set == 0) {
        if (op->npeers == 0) op->first_peer = p->npeers;
        op->npeers++;
        p->peers[p->npeers++] = pointer;
    }
}

void tutti_plain_note_average(tutti_exchange *x, const tutti_slice *owned)
{
    x->plain->average = offset_of(x, owned);
}

/* Returns the largest number of operands of a step that are copied: peers' inputs, and a sum that is written to
 * peers. */
static int32_t count_copied(const tutti_exchange *x, const tutti_part *part)
{
    int32_t most = 0;
    for (int32_t i = 0; i < x->nops; i++) {
        int32_t ins = 0, outs = 0;
        for (int32_t k = 0; k < x->ops[i].nins + x->ops[i].nouts; k++) {
            const tutti_slice *s = tutti_step_slice(part, &part->steps[i], k);
            if (s->rank == x->me || !x->plain->binder->ranks[s->rank].places[s->buffer].plain) continue;
            *(k < x->ops[i].nins ? &ins : &outs) += 1;
        }
        if (ins + (outs > 0) > most) most = ins + (outs > 0);
    }
    return most;
}

void tutti_plain_bind(tutti_binder *b, int32_t npointers)
{
    tutti_exchange *x = b->x;
    tutti_plain *p = x->plain = TUTTI_ARENA_NEW(&x->arena, tutti_plain, 1);
    p->binder = b;
    p->shown_past = b->binding.past_caches;
    tutti_schedule_part(b->schedule, x->me, &p->part);
    p->own = TUTTI_ARENA_NEW(&x->arena, tutti_plain_pointer, npointers * x->nsets + 1);
    p->peers = TUTTI_ARENA_NEW(&x->arena, tutti_plain_pointer, npointers + 1);
    p->owner = TUTTI_ARENA_NEW(&x->arena, int32_t, npointers + 1);
    for (int32_t i = 0; i < npointers; i++) p->owner[i] = -1;
    for (int32_t i = 0; i < x->nops; i++)
        for (int32_t k = 0; k < x->ops[i].nouts; k++) {
            const tutti_slice *s = &p->part.slices[p->part.steps[i].first_out + k];
            x->ops[i].shows |= !b->ranks[s->rank].places[s->buffer].plain;
        }
    const int32_t copied = count_copied(x, &p->part);
    if (!copied || x->group->peer_memory != TUTTI_PEERS_COPIED) return;
    p->bounce_bytes = BOUNCE / copied > LEAST_BOUNCE ? BOUNCE / copied / TUTTI_LINE * TUTTI_LINE : LEAST_BOUNCE;
    p->bounce = aligned_alloc(LEAST_BOUNCE,
                              (p->bounce_bytes * (size_t)copied + LEAST_BOUNCE - 1) / LEAST_BOUNCE * LEAST_BOUNCE);
    if (!p->bounce) abort();
}

void tutti_plain_release(tutti_plain *p)
{
    if (!p) return;
    tutti_part_release(&p->part);
    free(p->bounce);
}

/* Binds the same steps for a vector of another length. Only lengths change; everything that could be refused was
 * checked at binding. */
static void cut(tutti_exchange *x, int64_t n)
{
    tutti_plain *p = x->plain;
    x->vector.n = n;
    p->nown = p->npeers = 0;
    for (int32_t i = 0; i < x->nops; i++) x->ops[i].npeers = 0;
    tutti_binder_lay_again(p->binder);
    tutti_exchange_measure(p->binder, &p->part);
    tutti_exchange_point(p->binder, &p->part);
}

void tutti_exchange_aim(tutti_exchange *x, const void *in, void *out, int64_t n, bool stream)
{
    tutti_plain *p = x->plain;
    if (n != x->vector.n) cut(x, n);
    for (int32_t i = 0; i < p->nown; i++) {
        const tutti_plain_pointer *to = &p->own[i];
        x->pointers[to->set][to->at] = (to->out ? (char *)out : (char *)(uintptr_t)in) + to->offset;
    }
    x->average = (char *)out + p->average;
    p->stream = stream;
    tutti_aim *aim = tutti_plain_aim_of(x, x->me);
    atomic_store_explicit(&aim->in, (uint64_t)(uintptr_t)in, memory_order_relaxed);
    atomic_store_explicit(&aim->out, (uint64_t)(uintptr_t)out, memory_order_relaxed);
}

void tutti_plain_find_peers(const tutti_exchange *x, const tutti_op *op)
{
    char **pointers = x->pointers[x->invocation % x->nsets];
    for (int32_t i = 0; i < op->npeers; i++) {
        const tutti_plain_pointer *to = &x->plain->peers[op->first_peer + i];
        tutti_aim *aim = tutti_plain_aim_of(x, to->member);
        const uint64_t base = atomic_load_explicit(to->out ? &aim->out : &aim->in, memory_order_relaxed);
        pointers[to->at] = (char *)(uintptr_t)base + to->offset;
    }
}
