/* SPDX-License-Identifier: Apache-2.0 */
/* export_smpi.c: SMPI's time-independent traces: a rank is one row of actions, one after the other. Steps that may run
 * at the same time in a schedule must be put in an order. Messages begin as early as their dependencies allow; waits
 * come right before the steps that need them. Among several steps that may come next, the earliest stage goes first,
 * and then the step with the fewest necessary steps before it, so that parallel steps take turns. */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "export_steps.h"

typedef struct {
    const tutti_export_part *p;
    tutti_strbuf *out;
    enum { WAITS, UNDER_WAY, DONE } * state;
    int32_t *depth; /* for each step: length of the longest chain of steps before it */
} row;

static bool is_message(const tutti_step *step)
{
    return step->kind == TUTTI_STEP_SEND || step->kind == TUTTI_STEP_RECV;
}

static void wait_for(row *r, int32_t i)
{
    const tutti_step *step = &r->p->part.steps[i];
    const int32_t rank = r->p->part.rank;
    const bool sends = step->kind == TUTTI_STEP_SEND;
    if (i < 0 || r->state[i] != UNDER_WAY) return;
    tutti_strbuf_printf(r->out, "%d wait %d %d %d\n", (int)rank, (int)(sends ? rank : step->peer),
                        (int)(sends ? step->peer : rank), (int)r->p->tag[i]);
    r->state[i] = DONE;
}

static void action(row *r, int32_t i)
{
    const tutti_step *step = &r->p->part.steps[i];
    const int rank = (int)r->p->part.rank;
    if (r->p->previous[i] >= 0) wait_for(r, r->p->previous[i]);
    for (int32_t d = 0; d < step->ndeps; d++) wait_for(r, r->p->part.deps[step->first_dep + d]);
    if (is_message(step))
        tutti_strbuf_printf(r->out, "%d %s %d %d %lld 6\n", rank, step->kind == TUTTI_STEP_SEND ? "isend" : "irecv",
                            /* 6 is SMPI's number for the type byte */
                            (int)step->peer, (int)r->p->tag[i], (long long)r->p->bytes[i]);
    else if (r->p->bytes[i] > 0)
        tutti_strbuf_printf(r->out, "%d compute %lld\n", rank, (long long)r->p->bytes[i]);
    r->state[i] = is_message(step) ? UNDER_WAY : DONE;
}

/* Returns whether step i, for which another waits, has begun; *depth becomes at least one more than its depth. */
static bool is_begun(const row *r, int32_t i, int32_t *depth)
{
    if (i < 0) return true;
    if (r->depth[i] >= *depth) *depth = r->depth[i] + 1;
    return r->state[i] != WAITS;
}

/* Returns a number that orders the steps that may begin next: the step with the lowest number begins. -1: a step that
 * this step waits for has not begun. */
static int64_t turn(const row *r, int32_t i)
{
    const tutti_step *step = &r->p->part.steps[i];
    int32_t depth = 0;
    bool begun = is_begun(r, r->p->previous[i], &depth);
    for (int32_t d = 0; d < step->ndeps; d++) begun &= is_begun(r, r->p->part.deps[step->first_dep + d], &depth);
    r->depth[i] = depth;
    const int kind = step->kind == TUTTI_STEP_RECV ? 0 : step->kind == TUTTI_STEP_SEND ? 1 : 2;
    return begun ? (((int64_t)step->stage << 28) + depth) * 4 + kind : -1;
}

/* Writes the row of a rank. Only the first remaining step of a sequence can begin, so each round looks at these steps
 * alone. */
static bool rank_write(row *r)
{
    const tutti_part *part = &r->p->part;
    int32_t nheads = 0, *heads = tutti_alloc(((size_t)part->nsteps + 1) * sizeof *heads);
    int32_t *next = tutti_alloc(((size_t)part->nsteps + 1) * sizeof *next);
    for (int32_t i = 0; i < part->nsteps; i++) next[i] = -1;
    for (int32_t i = 0; i < part->nsteps; i++) {
        if (r->p->previous[i] < 0)
            heads[nheads++] = i;
        else
            next[r->p->previous[i]] = i;
    }
    bool goes_on = true;
    tutti_strbuf_printf(r->out, "%d init\n", (int)part->rank);
    while (nheads && goes_on) {
        int32_t best = -1;
        int64_t least = INT64_MAX;
        for (int32_t k = 0; k < nheads; k++) {
            const int64_t at = turn(r, heads[k]);
            if (at >= 0 && at < least) least = at, best = k;
        }
        goes_on = best >= 0;
        if (!goes_on) break;
        action(r, heads[best]);
        heads[best] = next[heads[best]] >= 0 ? next[heads[best]] : heads[--nheads];
    }
    for (int32_t i = 0; i < part->nsteps; i++) wait_for(r, i);
    tutti_strbuf_printf(r->out, "%d finalize\n", (int)part->rank);
    free(heads), free(next);
    return goes_on;
}

static tutti_status one_export(const tutti_schedule *s, int32_t rank, int64_t n, int32_t nchannels, const char *folder,
                               tutti_failure *err)
{
    tutti_export_part p;
    tutti_strbuf text = {0};
    char name[40];
    tutti_export_part_of(s, rank, n, nchannels, &p);
    row r = {.p = &p,
             .out = &text,
             .state = tutti_alloc(((size_t)p.part.nsteps + 1) * sizeof *r.state),
             .depth = tutti_alloc(((size_t)p.part.nsteps + 1) * sizeof *r.depth)};
    snprintf(name, sizeof name, "rank-%d.txt", (int)rank);
    tutti_status st = TUTTI_OK;
    if (!rank_write(&r))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "smpi: steps of rank %d wait for each other in a circle", (int)rank);
    if (st == TUTTI_OK) st = tutti_export_write(folder, name, &text, err);
    free(r.state), free(r.depth);
    tutti_strbuf_release(&text);
    tutti_export_part_release(&p);
    return st;
}

tutti_status tutti_export_smpi(const tutti_schedule *s, const tutti_export_options *o, const char *folder,
                               tutti_failure *err)
{
    int32_t nchannels;
    tutti_strbuf list = {0};
    const int32_t nranks = tutti_schedule_head(s)->nranks;
    tutti_status st = tutti_export_begin(s, "smpi", &nchannels, err);
    for (int32_t rank = 0; rank < nranks && st == TUTTI_OK; rank++) {
        st = one_export(s, rank, o->n, nchannels, folder, err);
        tutti_strbuf_printf(&list, "rank-%d.txt\n", (int)rank);
    }
    if (st == TUTTI_OK) st = tutti_export_write(folder, "traces.txt", &list, err);
    tutti_strbuf_release(&list);
    return st;
}
