/* SPDX-License-Identifier: Apache-2.0 */
/* made.h: schedules made by hand, and mutable copies of any other, as sources of parts for checker and interpreter.
 *
 * A `made` owns one part a rank whose arrays are grown one entry at a time: slow, short, and easy to read in tests. */
#ifndef TUTTI_TESTS_MADE_H
#define TUTTI_TESTS_MADE_H

#include <stdlib.h>
#include <string.h>

#include "collective/check/check_source.h"

#define MADE_UNUSED __attribute__((unused))

typedef struct {
    tutti_schedule_header head;
    tutti_part *parts;
} made;

/* Room for one more entry at the end of an array; returns its address. */
#define MADE_GROW(array, n) ((array) = realloc((array), sizeof *(array) * ((size_t)(n) + 1)), &(array)[(n)++])

static MADE_UNUSED made made_create(tutti_collective what, int nranks, tutti_wire_class wire)
{
    made m = {.head = {.algorithm = "made", .collective = what, .nranks = nranks, .wire = wire}};
    m.parts = calloc((size_t)nranks, sizeof *m.parts);
    for (int r = 0; r < nranks; r++) m.parts[r].rank = r;
    return m;
}

static void made_part_clear(tutti_part *p)
{
    free(p->buffers);
    free(p->steps);
    free(p->slices);
    free(p->deps);
    free(p->folds);
    *p = (tutti_part){.rank = p->rank};
}

static MADE_UNUSED void made_release(made *m)
{
    for (int r = 0; r < m->head.nranks; r++) made_part_clear(&m->parts[r]);
    free(m->parts);
    m->parts = NULL;
}

static void *made_bytes(const void *from, size_t n)
{
    return n ? memcpy(malloc(n), from, n) : NULL;
}

static tutti_part made_part_copy(const tutti_part *p)
{
    tutti_part q = *p;
    q.storage = NULL;
    q.buffers = made_bytes(p->buffers, sizeof *p->buffers * (size_t)p->nbuffers);
    q.steps = made_bytes(p->steps, sizeof *p->steps * (size_t)p->nsteps);
    q.slices = made_bytes(p->slices, sizeof *p->slices * (size_t)p->nslices);
    q.deps = made_bytes(p->deps, sizeof *p->deps * (size_t)p->ndeps);
    q.folds = made_bytes(p->folds, (size_t)p->nfolds);
    return q;
}

static MADE_UNUSED made made_copy(const tutti_part_source *source)
{
    made m = made_create(source->head->collective, source->head->nranks, source->head->wire);
    m.head = *source->head; /* host_of is borrowed */
    for (int r = 0; r < m.head.nranks; r++) {
        tutti_part p;
        source->part(source->owner, r, &p);
        m.parts[r] = made_part_copy(&p);
        source->release(&p);
    }
    return m;
}

static void made_part(const void *owner, int32_t rank, tutti_part *out)
{
    *out = ((const made *)owner)->parts[rank]; /* lent: the consumer only reads */
}

static void made_part_give_back(tutti_part *part)
{
    *part = (tutti_part){0};
}

static MADE_UNUSED tutti_part_source made_source(const made *m)
{
    return (tutti_part_source){.head = &m->head, .part = made_part, .release = made_part_give_back, .owner = m};
}

/* ---- building ---- */

static MADE_UNUSED int made_buffer(made *m, int rank, const char *name, tutti_buffer_role role)
{
    tutti_part *p = &m->parts[rank];
    int ordinal = 0;
    for (int i = 0; i < p->nbuffers; i++) ordinal += p->buffers[i].role == role;
    tutti_buffer b = {.role = role, .ordinal = ordinal, .banks = 1, .leaf = rank, .nleaves = 1};
    b.window = (tutti_slice){rank, p->nbuffers, 0, 1, 1};
    strncpy(b.name, name, sizeof b.name - 1);
    *MADE_GROW(p->buffers, p->nbuffers) = b;
    return p->nbuffers - 1;
}

static MADE_UNUSED int made_step(made *m, int rank, tutti_step_kind kind, int sequence)
{
    tutti_part *p = &m->parts[rank];
    *MADE_GROW(p->steps, p->nsteps) = (tutti_step){.kind = kind, .sequence = sequence, .peer = -1, .channel = -1};
    return p->nsteps - 1;
}

static MADE_UNUSED void made_dep(made *m, int rank, int dep) /* of the newest step */
{
    tutti_part *p = &m->parts[rank];
    tutti_step *s = &p->steps[p->nsteps - 1];
    if (!s->ndeps) s->first_dep = p->ndeps;
    *MADE_GROW(p->deps, p->ndeps) = dep;
    s->ndeps++;
}

static MADE_UNUSED void made_in(made *m, int rank, tutti_slice slice, int folds) /* folds: of a reduce */
{
    tutti_part *p = &m->parts[rank];
    tutti_step *s = &p->steps[p->nsteps - 1];
    if (!s->nins) s->first_in = p->nslices, s->first_fold = p->nfolds;
    *MADE_GROW(p->slices, p->nslices) = slice;
    if (s->kind == TUTTI_STEP_REDUCE) *MADE_GROW(p->folds, p->nfolds) = (uint8_t)folds;
    s->nins++;
}

static MADE_UNUSED void made_out(made *m, int rank, tutti_slice slice)
{
    tutti_part *p = &m->parts[rank];
    tutti_step *s = &p->steps[p->nsteps - 1];
    if (!s->nouts) s->first_out = p->nslices;
    *MADE_GROW(p->slices, p->nslices) = slice;
    s->nouts++;
}

/* The newest step talks to `peer`. */
static MADE_UNUSED void made_peer(made *m, int rank, int peer, int channel)
{
    tutti_part *p = &m->parts[rank];
    p->steps[p->nsteps - 1].peer = peer;
    p->steps[p->nsteps - 1].channel = channel;
}

static MADE_UNUSED void made_when(made *m, int rank, unsigned when)
{
    m->parts[rank].steps[m->parts[rank].nsteps - 1].when = when;
}

#endif
