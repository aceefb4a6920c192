/* SPDX-License-Identifier: Apache-2.0 */
/* part_builder.c: builds one rank's part of a schedule in growing arrays. The finished part owns them through
 * `storage`, so that code which edits the pointers of a part (tests that mutate it) still frees everything. */
#include "part_builder.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"

typedef struct {
    void *arrays[5];
    tutti_slice *far;
    int32_t nsteps;
} part_storage;

static const tutti_slice no_slice = {.rank = -1, .buffer = -1, .of = 1};

void tutti_part_begin(tutti_part_builder *b, int32_t rank)
{
    *b = (tutti_part_builder){.part.rank = rank};
}

void tutti_part_abandon(tutti_part_builder *b)
{
    free(b->part.buffers);
    free(b->part.steps);
    free(b->part.slices);
    free(b->part.deps);
    free(b->part.folds);
    free(b->far);
    *b = (tutti_part_builder){.part.rank = -1};
}

static void *copy_of(const void *array, int32_t n, size_t size)
{
    void *copy = tutti_alloc(size * (size_t)n);
    return n ? memcpy(copy, array, size * (size_t)n) : copy;
}

void tutti_part_copy(tutti_part_builder *b, const tutti_part_builder *from)
{
    const tutti_part *p = &from->part;
    *b = *from;
    b->part.buffers = copy_of(p->buffers, p->nbuffers, sizeof *p->buffers);
    b->part.steps = copy_of(p->steps, p->nsteps, sizeof *p->steps);
    b->part.slices = copy_of(p->slices, p->nslices, sizeof *p->slices);
    b->part.deps = copy_of(p->deps, p->ndeps, sizeof *p->deps);
    b->part.folds = copy_of(p->folds, p->nfolds, sizeof *p->folds);
    b->far = copy_of(from->far, p->nsteps, sizeof *from->far);
    b->buffers_capacity = p->nbuffers, b->steps_capacity = b->far_capacity = p->nsteps;
    b->slices_capacity = p->nslices, b->deps_capacity = p->ndeps, b->folds_capacity = p->nfolds;
}

void tutti_part_finish(tutti_part_builder *b, tutti_part *out)
{
    part_storage *s = tutti_alloc(sizeof *s);
    *s = (part_storage){
        {b->part.buffers, b->part.steps, b->part.slices, b->part.deps, b->part.folds}, b->far, b->part.nsteps};
    *out = b->part;
    out->storage = s;
    *b = (tutti_part_builder){.part.rank = -1};
}

void tutti_part_release(tutti_part *part)
{
    part_storage *s = part->storage;
    if (s) {
        for (int i = 0; i < 5; i++) free(s->arrays[i]);
        free(s->far);
        free(s);
    }
    *part = (tutti_part){.rank = -1};
}

const tutti_slice *tutti_part_far(const tutti_part *part, int32_t step)
{
    const part_storage *s = part->storage;
    if (!s || step < 0 || step >= s->nsteps || s->far[step].rank < 0) return NULL;
    return &s->far[step];
}

int32_t tutti_part_buffer(tutti_part_builder *b, const tutti_buffer *buffer)
{
    tutti_part *p = &b->part;
    p->buffers = tutti_grow(p->buffers, p->nbuffers, &b->buffers_capacity, sizeof *p->buffers);
    p->buffers[p->nbuffers] = *buffer;
    return p->nbuffers++;
}

int32_t tutti_part_step(tutti_part_builder *b, const tutti_step *step)
{
    tutti_part *p = &b->part;
    p->steps = tutti_grow(p->steps, p->nsteps, &b->steps_capacity, sizeof *p->steps);
    b->far = tutti_grow(b->far, p->nsteps, &b->far_capacity, sizeof *b->far);
    p->steps[p->nsteps] = (tutti_step){.kind = step->kind,
                                       .sequence = step->sequence,
                                       .stage = step->stage,
                                       .peer = step->peer,
                                       .channel = step->channel,
                                       .when = step->when,
                                       .hint = step->hint,
                                       .first_dep = p->ndeps,
                                       .first_in = p->nslices,
                                       .first_out = p->nslices,
                                       .first_fold = p->nfolds};
    b->far[p->nsteps] = no_slice;
    return p->nsteps++;
}

static void add_slice(tutti_part_builder *b, tutti_slice slice)
{
    tutti_part *p = &b->part;
    p->slices = tutti_grow(p->slices, p->nslices, &b->slices_capacity, sizeof *p->slices);
    p->slices[p->nslices++] = slice;
}

void tutti_part_in(tutti_part_builder *b, tutti_slice slice)
{
    tutti_step *s = &b->part.steps[b->part.nsteps - 1];
    add_slice(b, slice);
    s->nins++;
    s->first_out++;
}

void tutti_part_fold(tutti_part_builder *b, tutti_slice slice, int folds)
{
    tutti_part *p = &b->part;
    tutti_part_in(b, slice);
    p->folds = tutti_grow(p->folds, p->nfolds, &b->folds_capacity, sizeof *p->folds);
    p->folds[p->nfolds++] = (uint8_t)folds;
}

void tutti_part_out(tutti_part_builder *b, tutti_slice slice)
{
    add_slice(b, slice);
    b->part.steps[b->part.nsteps - 1].nouts++;
}

void tutti_part_dep(tutti_part_builder *b, int32_t step)
{
    tutti_part *p = &b->part;
    p->deps = tutti_grow(p->deps, p->ndeps, &b->deps_capacity, sizeof *p->deps);
    p->deps[p->ndeps++] = step;
    p->steps[p->nsteps - 1].ndeps++;
}

void tutti_part_set_far(tutti_part_builder *b, tutti_slice slice)
{
    b->far[b->part.nsteps - 1] = slice;
}
