/* SPDX-License-Identifier: Apache-2.0 */
/* reference_run.h: plays a schedule that is lowered for mapped memory on one thread, one element at a time, in the
 * order in which its waits allow, with the arithmetic of reference_reduce.h: the reduction expression that the schedule
 * states, evaluated without executor, counters or vector loops. */
#ifndef TUTTI_TESTS_REFERENCE_RUN_H
#define TUTTI_TESTS_REFERENCE_RUN_H

#include <stdlib.h>
#include <string.h>

#include "tensor/reference_reduce.h"
#include "tutti/schedule.h"

enum { REFERENCE_RANKS = 16, REFERENCE_CHANNELS = 64, REFERENCE_SEQUENCES = 64, REFERENCE_INPUTS = 256 };

typedef struct {
    const tutti_schedule *schedule;
    tutti_dtype type;
    tutti_operation op;
    int64_t n;
    const int64_t *counts; /* NULL: even */
    int nblocks;
    int nranks;
    size_t bytes;
    struct {
        tutti_part part;
        unsigned char **memory; /* [buffer]: n elements; in place: out is in */
        int at[REFERENCE_SEQUENCES];
        bool *done;
    } rank[REFERENCE_RANKS];
    int given[REFERENCE_RANKS][REFERENCE_RANKS][REFERENCE_CHANNELS]; /* [from][to]: signals */
    int taken[REFERENCE_RANKS][REFERENCE_RANKS][REFERENCE_CHANNELS];
} reference_run;

/* Point k/of: on the line through the beginnings of the blocks, rounded down. */
static inline int64_t reference_point(const reference_run *r, int64_t k, int64_t of)
{
    if (!r->counts) return k * r->n / of;
    int64_t first = 0;
    for (int b = 0; b < r->nblocks; b++) {
        if (k * r->nblocks < (b + 1) * of) return first + r->counts[b] * (k * r->nblocks - b * of) / of;
        first += r->counts[b];
    }
    return first;
}

static inline int reference_buffer(const tutti_part *p, tutti_buffer_role role, int ordinal)
{
    for (int i = 0; i < p->nbuffers; i++)
        if (p->buffers[i].role == role && p->buffers[i].ordinal == ordinal) return i;
    return -1;
}

/* Is this an output that lies in the rank's input? (Of a broadcast, only the root has one.) */
static inline bool reference_shares(const reference_run *r, const tutti_part *p, int buffer)
{
    return tutti_schedule_head(r->schedule)->in_place && p->buffers[buffer].role == TUTTI_BUFFER_OUT &&
           reference_buffer(p, TUTTI_BUFFER_IN, 0) >= 0;
}

static inline void reference_open(reference_run *r)
{
    const tutti_schedule_header *h = tutti_schedule_head(r->schedule);
    r->nranks = h->nranks;
    r->bytes = tutti_element_bytes(r->type, r->op);
    for (int k = 0; k < r->nranks; k++) {
        tutti_part *p = &r->rank[k].part;
        tutti_schedule_part(r->schedule, k, p);
        r->rank[k].memory = calloc((size_t)p->nbuffers + 1, sizeof(void *));
        r->rank[k].done = calloc((size_t)p->nsteps + 1, sizeof(bool));
        for (int i = 0; i < p->nbuffers; i++) r->rank[k].memory[i] = calloc((size_t)r->n + 1, r->bytes);
        for (int i = 0; i < p->nbuffers; i++) {
            if (!reference_shares(r, p, i)) continue;
            free(r->rank[k].memory[i]);
            r->rank[k].memory[i] = r->rank[k].memory[reference_buffer(p, TUTTI_BUFFER_IN, 0)];
        }
    }
}

static inline void reference_close(reference_run *r)
{
    for (int k = 0; k < r->nranks; k++) {
        tutti_part *p = &r->rank[k].part;
        for (int i = 0; i < p->nbuffers; i++)
            if (!reference_shares(r, p, i)) free(r->rank[k].memory[i]);
        free(r->rank[k].memory), free(r->rank[k].done);
        tutti_part_release(p);
    }
}

static inline unsigned char *reference_at(const reference_run *r, const tutti_slice *s, int64_t i)
{
    return r->rank[s->rank].memory[s->buffer] + (size_t)(reference_point(r, s->first, s->of) + i) * r->bytes;
}

static inline void reference_move(const reference_run *r, const tutti_part *p, const tutti_step *step)
{
    const tutti_slice *in = p->slices + step->first_in, *out = p->slices + step->first_out;
    const int64_t n = reference_point(r, in->first + in->count, in->of) - reference_point(r, in->first, in->of);
    reference_value stack[REFERENCE_INPUTS];
    unsigned char result[16];
    for (int64_t i = 0; i < n; i++) {
        int depth = 0;
        for (int k = 0; k < step->nins && step->kind == TUTTI_STEP_REDUCE; k++) {
            stack[depth++] = reference_load(r->type, r->op, reference_at(r, &in[k], i));
            for (int f = 0; f < p->folds[step->first_fold + k]; f++, depth--)
                stack[depth - 2] = reference_combine(r->type, r->op, stack[depth - 2], stack[depth - 1]);
        }
        if (step->kind == TUTTI_STEP_REDUCE && step->nins > 1)
            reference_store(r->type, r->op, stack, result);
        else
            memcpy(result, reference_at(r, in, i), r->bytes);
        for (int k = 0; k < step->nouts; k++) memcpy(reference_at(r, &out[k], i), result, r->bytes);
    }
}

/* False: it must wait. */
static inline bool reference_step(reference_run *r, int me, const tutti_step *step)
{
    for (int d = 0; d < step->ndeps; d++)
        if (!r->rank[me].done[r->rank[me].part.deps[step->first_dep + d]]) return false;
    if (step->kind == TUTTI_STEP_WAIT) {
        int *taken = &r->taken[step->peer][me][step->channel];
        if (*taken == r->given[step->peer][me][step->channel]) return false;
        ++*taken;
    } else if (step->kind == TUTTI_STEP_SIGNAL) {
        r->given[me][step->peer][step->channel]++;
    } else if (step->kind != TUTTI_STEP_NOP) {
        reference_move(r, &r->rank[me].part, step);
    }
    return true;
}

/* The next step of this sequence, if it may run. */
static inline bool reference_turn(reference_run *r, int me, int sequence)
{
    const tutti_part *p = &r->rank[me].part;
    int seen = 0;
    for (int i = 0; i < p->nsteps; i++) {
        if (p->steps[i].sequence != sequence || seen++ < r->rank[me].at[sequence]) continue;
        if (!reference_step(r, me, &p->steps[i])) return false;
        r->rank[me].done[i] = true;
        r->rank[me].at[sequence]++;
        return true;
    }
    return false;
}

/* One invocation, after the inputs were filled in. */
static inline void reference_play(reference_run *r)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int k = 0; k < r->nranks; k++)
            for (int q = 0; q < REFERENCE_SEQUENCES; q++) moved |= reference_turn(r, k, q);
    }
    for (int k = 0; k < r->nranks; k++)
        for (int i = 0; i < r->rank[k].part.nsteps; i++) assert_true(r->rank[k].done[i]);
}

/* The division of avg on what rank k owns of the result. */
static inline void reference_divide(reference_run *r, int k, int64_t from, int64_t to)
{
    const int out = reference_buffer(&r->rank[k].part, TUTTI_BUFFER_OUT, 0);
    for (int64_t i = from; i < to && out >= 0; i++) {
        unsigned char *at = r->rank[k].memory[out] + (size_t)i * r->bytes;
        const reference_value v = reference_average(reference_load(r->type, r->op, at), r->nranks);
        reference_store(r->type, r->op, &v, at);
    }
}

#endif
