/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c: creates, hashes and destroys schedules: header, and parts on demand.
 *
 * The hash runs over numbers in reading order (those of the text form), not over memory: padding, array offsets and far
 * slices do not count, so a schedule and its parsed text have one hash. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/hash.h"
#include "schedule_impl.h"

struct tutti_schedule {
    tutti_schedule_header head;
    const tutti_schedule_ops *ops;
    void *state;
    int32_t *host_of; /* the array that head.host_of points to */
};

tutti_schedule *tutti_schedule_create(const tutti_schedule_header *head, const tutti_schedule_ops *ops, void *state)
{
    tutti_schedule *s = tutti_alloc(sizeof *s);
    *s = (tutti_schedule){.head = *head, .ops = ops, .state = state};
    if (head->host_of) {
        s->host_of = tutti_alloc(sizeof *s->host_of * (size_t)head->nranks);
        memcpy(s->host_of, head->host_of, sizeof *s->host_of * (size_t)head->nranks);
        s->head.host_of = s->host_of;
    }
    return s;
}

const tutti_schedule_header *tutti_schedule_head(const tutti_schedule *s)
{
    return &s->head;
}

void tutti_schedule_part(const tutti_schedule *s, int32_t rank, tutti_part *out)
{
    tutti_part_builder b;
    tutti_part_begin(&b, rank);
    s->ops->part(&s->head, s->state, rank, &b);
    tutti_part_finish(&b, out);
}

void tutti_schedule_destroy(tutti_schedule *s)
{
    if (!s) return;
    if (s->ops->destroy) s->ops->destroy(s->state);
    free(s->host_of);
    free(s);
}

static void add_number(tutti_hasher *h, int64_t value)
{
    unsigned char bytes[8]; /* least significant byte first on every machine */
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)value >> (8 * i));
    tutti_hasher_add(h, bytes, sizeof bytes);
}

static void add_slice(tutti_hasher *h, const tutti_slice *s)
{
    add_number(h, (int64_t)s->rank << 32 | (uint32_t)s->buffer);
    add_number(h, (int64_t)s->first << 32 | (uint32_t)s->count);
    add_number(h, s->of);
}

static void add_slices(tutti_hasher *h, const tutti_part *p, int32_t first, int32_t n)
{
    add_number(h, n);
    for (int32_t i = 0; i < n; i++) add_slice(h, &p->slices[first + i]);
}

static void add_step(tutti_hasher *h, const tutti_part *p, const tutti_step *s)
{
    const int64_t fields[] = {s->kind, s->sequence, s->stage, s->peer, s->channel, s->when, s->hint, s->ndeps};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) add_number(h, fields[i]);
    for (int32_t i = 0; i < s->ndeps; i++) add_number(h, p->deps[s->first_dep + i]);
    add_slices(h, p, s->first_in, s->nins);
    add_slices(h, p, s->first_out, s->nouts);
    if (s->kind == TUTTI_STEP_REDUCE) tutti_hasher_add(h, p->folds + s->first_fold, (size_t)s->nins);
}

static void add_part(tutti_hasher *h, const tutti_part *p)
{
    add_number(h, p->nbuffers);
    for (int32_t i = 0; i < p->nbuffers; i++) {
        const tutti_buffer *b = &p->buffers[i];
        tutti_hasher_add(h, b->name, strnlen(b->name, sizeof b->name));
        const int64_t fields[] = {b->role, b->ordinal, b->banks, b->leaf, b->nleaves};
        for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++) add_number(h, fields[k]);
        add_slice(h, &b->window);
    }
    add_number(h, p->nsteps);
    for (int32_t i = 0; i < p->nsteps; i++) add_step(h, p, &p->steps[i]);
}

uint64_t tutti_schedule_part_hash(const tutti_schedule *s, int32_t rank)
{
    tutti_hasher *h = tutti_hasher_create();
    tutti_part part;
    tutti_schedule_part(s, rank, &part);
    add_part(h, &part);
    tutti_part_release(&part);
    return tutti_hasher_finish(h);
}

uint64_t tutti_schedule_hash(const tutti_schedule *s)
{
    tutti_hasher *h = tutti_hasher_create();
    const tutti_schedule_header *head = &s->head;
    tutti_hasher_add(h, head->algorithm, strnlen(head->algorithm, sizeof head->algorithm));
    const int64_t fields[] = {head->collective, head->nranks, head->root,       head->slots,
                              head->in_place,   head->wire,   head->determinism};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) add_number(h, fields[i]);
    for (int32_t r = 0; head->host_of && r < head->nranks; r++) add_number(h, head->host_of[r]);
    if (head->room) add_number(h, head->room);
    for (int32_t r = 0; r < head->nranks; r++) {
        tutti_part part;
        tutti_schedule_part(s, r, &part);
        add_part(h, &part);
        tutti_part_release(&part);
    }
    return tutti_hasher_finish(h);
}
