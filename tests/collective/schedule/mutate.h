/* SPDX-License-Identifier: Apache-2.0 */
/* mutate.h: one small mistake in a schedule, of each kind that authors of algorithms and of lowerings make.
 *
 * A mutant may by chance mean the same as before (an extra nop, a dep that another one implies): whether it is wrong is
 * for the interpreter to say. */
#ifndef TUTTI_TESTS_MUTATE_H
#define TUTTI_TESTS_MUTATE_H

#include <stdio.h>

#include "collective/schedule/made.h"

typedef enum {
    MUTATE_DROP_DEP,
    MUTATE_DROP_WAIT,
    MUTATE_DROP_SIGNAL,
    MUTATE_DROP_MESSAGE, /* one end of it */
    MUTATE_SWAP_STEPS,
    MUTATE_DOUBLE_INPUT,
    MUTATE_REPLACE_INPUT,
    MUTATE_DROP_INPUT,
    MUTATE_SHIFT_SLICE, /* one slice of a step */
    MUTATE_SHIFT_STEP,  /* all of them */
    MUTATE_CHANGE_BUFFER,
    MUTATE_CHANGE_PEER,
    MUTATE_CHANGE_CHANNEL,
    MUTATE_DROP_READY,
    MUTATE_DROP_FREE,
    MUTATE_ONE_BANK,
    MUTATE_FOLDS,
    MUTATE_REPEAT_STEP,
    MUTATE_DROP_STEP,
    NMUTATIONS
} mutation;

static const char *const mutation_names[NMUTATIONS] = {
    "drop a dep",       "drop a wait",     "drop a signal",    "drop one end of a message",
    "swap two steps",   "double an input", "replace an input", "drop an input",
    "shift a slice",    "shift a step",    "change a buffer",  "change a peer",
    "change a channel", "drop READY",      "drop FREE",        "one bank",
    "fold otherwise",   "repeat a step",   "drop a step"};

typedef struct {
    made *m;
    uint64_t random;
    tutti_part *part;
    tutti_step *step;
    int index;
} mutant;

static int mutant_draw(mutant *x, int n)
{
    x->random = x->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((x->random >> 33) % (uint64_t)n);
}

static bool mutant_applies(const mutant *x, mutation kind)
{
    const tutti_step *s = x->step;
    const tutti_part *p = x->part;
    bool message = s->kind == TUTTI_STEP_SEND || s->kind == TUTTI_STEP_RECV;
    switch (kind) {
    case MUTATE_DROP_DEP: return s->ndeps > 0;
    case MUTATE_DROP_WAIT: return s->kind == TUTTI_STEP_WAIT;
    case MUTATE_DROP_SIGNAL: return s->kind == TUTTI_STEP_SIGNAL;
    case MUTATE_DROP_MESSAGE: return message;
    case MUTATE_SWAP_STEPS: return p->nsteps > 1;
    case MUTATE_DOUBLE_INPUT:
    case MUTATE_REPLACE_INPUT:
    case MUTATE_DROP_INPUT: return s->kind == TUTTI_STEP_REDUCE && s->nins > 1;
    case MUTATE_FOLDS: return s->kind == TUTTI_STEP_REDUCE && s->nins > 2;
    case MUTATE_SHIFT_SLICE:
    case MUTATE_SHIFT_STEP: return s->nins + s->nouts > 0 && p->slices[s->nins ? s->first_in : s->first_out].of > 1;
    case MUTATE_CHANGE_BUFFER: return s->nins + s->nouts > 0;
    case MUTATE_CHANGE_PEER: return s->peer >= 0 && x->m->head.nranks > 2;
    case MUTATE_CHANGE_CHANNEL: return s->peer >= 0;
    case MUTATE_DROP_READY: return s->when & TUTTI_WHEN_READY;
    case MUTATE_DROP_FREE: return s->when & TUTTI_WHEN_FREE;
    case MUTATE_ONE_BANK:
        for (int b = 0; b < p->nbuffers; b++)
            if (p->buffers[b].banks > 1) return true;
        return false;
    case MUTATE_REPEAT_STEP:
    case MUTATE_DROP_STEP: return s->kind != TUTTI_STEP_NOP;
    case NMUTATIONS: break;
    }
    return false;
}

static void mutant_clear(tutti_step *s)
{
    *s = (tutti_step){.kind = TUTTI_STEP_NOP,
                      .sequence = s->sequence,
                      .stage = s->stage,
                      .peer = -1,
                      .channel = -1,
                      .first_dep = s->first_dep,
                      .ndeps = s->ndeps};
}

/* The step's inputs and folds again at the end of the arrays, where they may grow. */
static void mutant_move_inputs(mutant *x)
{
    tutti_part *p = x->part;
    int first = p->nslices, fold = p->nfolds;
    for (int k = 0; k < x->step->nins; k++) {
        tutti_slice s = p->slices[x->step->first_in + k];
        uint8_t f = p->folds[x->step->first_fold + k];
        *MADE_GROW(p->slices, p->nslices) = s;
        *MADE_GROW(p->folds, p->nfolds) = f;
    }
    x->step->first_in = first;
    x->step->first_fold = fold;
}

static void mutant_drop_input(mutant *x, int k)
{
    mutant_move_inputs(x);
    tutti_slice *in = x->part->slices + x->step->first_in;
    uint8_t *folds = x->part->folds + x->step->first_fold;
    int n = --x->step->nins, surplus = folds[k] - 1;
    memmove(in + k, in + k + 1, sizeof *in * (size_t)(n - k));
    memmove(folds + k, folds + k + 1, (size_t)(n - k));
    if (surplus > 0) folds[k - 1] = (uint8_t)(folds[k - 1] + surplus);
    for (int i = k; surplus < 0 && i < n; i++)
        if (folds[i]) folds[i]--, surplus++;
}

static void mutant_random_folds(mutant *x)
{
    uint8_t *folds = x->part->folds + x->step->first_fold;
    int depth = 0, n = x->step->nins;
    for (int i = 0; i < n; i++) {
        depth++;
        folds[i] = (uint8_t)(i + 1 < n ? mutant_draw(x, depth) : depth - 1);
        depth -= folds[i];
    }
}

static void mutant_shift(mutant *x, tutti_slice *s, int by)
{
    (void)x;
    s->first = s->first + by + s->count <= s->of && s->first + by >= 0 ? s->first + by : s->first - by;
}

static tutti_slice *mutant_slice(mutant *x, int k)
{
    const tutti_step *s = x->step;
    return &x->part->slices[k < s->nins ? s->first_in + k : s->first_out + k - s->nins];
}

static void mutant_swap(mutant *x)
{
    tutti_part *p = x->part;
    int other = mutant_draw(x, 2) ? x->index + 1 : mutant_draw(x, p->nsteps);
    if (other >= p->nsteps) other = x->index - 1;
    tutti_step swap = p->steps[other];
    p->steps[other] = *x->step;
    *x->step = swap;
    int32_t sequence = p->steps[other].sequence;
    p->steps[other].sequence = x->step->sequence;
    x->step->sequence = sequence;
    for (int i = 0; i < p->ndeps; i++) /* others go on depending on the same deed */
        p->deps[i] = p->deps[i] == other ? x->index : p->deps[i] == x->index ? other : p->deps[i];
}

static void mutant_repeat(mutant *x)
{
    tutti_part *p = x->part;
    tutti_step again = *x->step;
    (void)MADE_GROW(p->steps, p->nsteps);
    memmove(p->steps + x->index + 1, p->steps + x->index, sizeof again * (size_t)(p->nsteps - 1 - x->index));
    p->steps[x->index] = again;
    for (int i = 0; i < p->ndeps; i++)
        if (p->deps[i] > x->index) p->deps[i]++;
}

static void mutant_inputs(mutant *x, mutation kind)
{
    int k = mutant_draw(x, x->step->nins), other = (k + 1 + mutant_draw(x, x->step->nins - 1)) % x->step->nins;
    if (kind == MUTATE_DROP_INPUT) {
        mutant_drop_input(x, k > 0 ? k : 1);
    } else if (kind == MUTATE_REPLACE_INPUT) {
        *mutant_slice(x, k) = *mutant_slice(x, other);
    } else {
        mutant_move_inputs(x);
        tutti_slice again = *mutant_slice(x, k);
        *MADE_GROW(x->part->slices, x->part->nslices) = again;
        *MADE_GROW(x->part->folds, x->part->nfolds) = 1;
        x->step->nins++;
    }
}

static void mutant_apply(mutant *x, mutation kind)
{
    tutti_step *s = x->step;
    int nslices = s->nins + s->nouts, by = mutant_draw(x, 2) ? 1 : -1;
    switch (kind) {
    case MUTATE_DROP_DEP: {
        int k = s->first_dep + mutant_draw(x, s->ndeps);
        x->part->deps[k] = x->part->deps[s->first_dep + --s->ndeps];
        break;
    }
    case MUTATE_DROP_WAIT:
    case MUTATE_DROP_SIGNAL:
    case MUTATE_DROP_MESSAGE:
    case MUTATE_DROP_STEP: mutant_clear(s); break;
    case MUTATE_SWAP_STEPS: mutant_swap(x); break;
    case MUTATE_DOUBLE_INPUT:
    case MUTATE_REPLACE_INPUT:
    case MUTATE_DROP_INPUT: mutant_inputs(x, kind); break;
    case MUTATE_SHIFT_SLICE: mutant_shift(x, mutant_slice(x, mutant_draw(x, nslices)), by); break;
    case MUTATE_SHIFT_STEP:
        for (int k = 0; k < nslices; k++) mutant_shift(x, mutant_slice(x, k), by);
        break;
    case MUTATE_CHANGE_BUFFER: {
        tutti_slice *slice = mutant_slice(x, mutant_draw(x, nslices));
        slice->buffer = mutant_draw(x, x->m->parts[slice->rank].nbuffers);
        break;
    }
    case MUTATE_CHANGE_PEER: s->peer = (s->peer + 1 + mutant_draw(x, x->m->head.nranks - 1)) % x->m->head.nranks; break;
    case MUTATE_CHANGE_CHANNEL: s->channel ^= 1; break;
    case MUTATE_DROP_READY: s->when &= ~(unsigned)TUTTI_WHEN_READY; break;
    case MUTATE_DROP_FREE: s->when &= ~(unsigned)TUTTI_WHEN_FREE; break;
    case MUTATE_ONE_BANK:
        for (int r = 0; r < x->m->head.nranks; r++)
            for (int b = 0; b < x->m->parts[r].nbuffers; b++) x->m->parts[r].buffers[b].banks = 1;
        break;
    case MUTATE_FOLDS: mutant_random_folds(x); break;
    case MUTATE_REPEAT_STEP: mutant_repeat(x); break;
    case NMUTATIONS: break;
    }
}

/* Changes m in one place; false if the kind does not apply to it. `where` (80 bytes) says what was changed. */
static MADE_UNUSED bool mutate(made *m, mutation kind, uint64_t seed, char *where)
{
    mutant x = {.m = m, .random = seed * 0x9e3779b97f4a7c15u + 1};
    for (int tries = 0; tries < 200; tries++) {
        x.part = &m->parts[mutant_draw(&x, m->head.nranks)];
        if (!x.part->nsteps) continue;
        x.index = mutant_draw(&x, x.part->nsteps);
        x.step = &x.part->steps[x.index];
        if (!mutant_applies(&x, kind)) continue;
        snprintf(where, 80, "%s: rank %d step %d", mutation_names[kind], x.part->rank, x.index);
        mutant_apply(&x, kind);
        return true;
    }
    return false;
}

#endif
