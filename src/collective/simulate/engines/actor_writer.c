/* SPDX-License-Identifier: Apache-2.0 */
/* actor_writer.c: writes a schedule on a network as a problem for the event player or SimGrid, part by part. Steps go
 * in the order of their sequences straight into the file, lines and routes into tables that follow them. Bytes of puts
 * count as bytes of the next signal on their channel, as on a wire that keeps its order. */
#include "actor_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../step_cost.h"
#include "actor_tables.h"

typedef struct {
    FILE *file;
    const tutti_topology *t;
    const tutti_actor_options *o;
    int64_t n, nmessages;
    tutti_actor_tables tables;
    tutti_actor_rank *ranks;
    double *put; /* for each line: bytes of puts since its last signal, which travel with the next one */
    int32_t put_room;
    int32_t *deps;
    int64_t ndeps, dep_room, nsteps;
    int32_t *order, *place; /* for the current part. order: steps sorted by sequence; place: for each step, its index in
                             * `order` */
    int32_t order_room;
} writer;

static int32_t message(writer *w, int32_t src, int32_t dst, int32_t channel, bool eager)
{
    const int32_t line = tutti_actor_line_of(&w->tables, src, dst, channel, eager);
    const int32_t old = w->put_room;
    w->put = tutti_grow(w->put, line, &w->put_room, sizeof *w->put);
    for (int32_t i = old; i < w->put_room; i++) w->put[i] = 0;
    return line;
}

/* Turns the bytes that a step moves between its rank's memory and that of others into loads. */
static void add_loads(writer *w, const tutti_part *part, const tutti_step *step, int64_t bytes, tutti_actor_step *out)
{
    out->at = (int32_t)w->tables.nloads;
    for (int32_t i = 0; i < step->nins + step->nouts; i++) {
        const bool in = i < step->nins;
        const int32_t owner = part->slices[in ? step->first_in + i : step->first_out + i - step->nins].rank;
        if (owner == part->rank) continue;
        tutti_actor_load_add(&w->tables, in ? owner : part->rank, in ? part->rank : owner, bytes);
        out->nloads++;
    }
    out->kind = out->nloads ? TUTTI_ACTOR_LOAD : TUTTI_ACTOR_WORK;
    if (!out->nloads || step->kind == TUTTI_STEP_REDUCE)
        out->amount = tutti_step_added(step, bytes) / w->t->figure[TUTTI_FIGURE_ADD];
}

static void step_make(writer *w, const tutti_part *part, const tutti_step *step, tutti_actor_step *out)
{
    const int64_t bytes = tutti_step_bytes(part, step, w->n);
    int32_t line;
    out->stage = step->stage;
    switch (step->kind) {
    case TUTTI_STEP_SEND:
        out->kind = TUTTI_ACTOR_SEND, out->amount = (double)bytes;
        out->at = message(w, part->rank, step->peer, step->channel, false);
        w->nmessages++;
        break;
    case TUTTI_STEP_RECV:
        out->kind = TUTTI_ACTOR_RECV;
        out->at = message(w, step->peer, part->rank, step->channel, false);
        break;
    case TUTTI_STEP_PUT:
        out->kind = TUTTI_ACTOR_NOP;
        line = message(w, part->rank, step->peer, step->channel, true);
        w->put[line] += (double)bytes;
        break;
    case TUTTI_STEP_SIGNAL:
        line = message(w, part->rank, step->peer, step->channel, true);
        out->kind = TUTTI_ACTOR_SIGNAL, out->at = line, out->amount = w->put[line];
        w->put[line] = 0;
        w->nmessages++;
        break;
    case TUTTI_STEP_WAIT:
        out->kind = TUTTI_ACTOR_WAIT;
        out->at = message(w, step->peer, part->rank, step->channel, true);
        break;
    case TUTTI_STEP_REDUCE:
    case TUTTI_STEP_COPY: add_loads(w, part, step, bytes, out); break;
    case TUTTI_STEP_NOP:
    case TUTTI_NSTEP_KINDS: out->kind = TUTTI_ACTOR_NOP; break;
    }
}

/* Orders steps by sequence, in program order inside of each: counting sort. */
static void order_find(writer *w, const tutti_part *part)
{
    int32_t nsequences = 0;
    if (part->nsteps > w->order_room) {
        w->order_room = part->nsteps * 2;
        w->order = tutti_realloc(w->order, (size_t)w->order_room * sizeof *w->order);
        w->place = tutti_realloc(w->place, (size_t)w->order_room * sizeof *w->place);
    }
    for (int32_t i = 0; i < part->nsteps; i++)
        nsequences = part->steps[i].sequence >= nsequences ? part->steps[i].sequence + 1 : nsequences;
    int32_t *at = tutti_alloc(((size_t)nsequences + 1) * sizeof *at);
    for (int32_t i = 0; i < part->nsteps; i++) at[part->steps[i].sequence + 1]++;
    for (int32_t s = 0; s < nsequences; s++) at[s + 1] += at[s];
    for (int32_t i = 0; i < part->nsteps; i++) {
        w->place[i] = at[part->steps[i].sequence]++;
        w->order[w->place[i]] = i;
    }
    free(at);
}

static void deps_add(writer *w, const tutti_part *part, const tutti_step *step, int64_t first, tutti_actor_step *out)
{
    out->first_dep = (int32_t)(w->ndeps - first);
    out->ndeps = step->ndeps;
    if (w->ndeps + step->ndeps > w->dep_room) {
        w->dep_room = (w->ndeps + step->ndeps) * 2 + 64;
        w->deps = tutti_realloc(w->deps, (size_t)w->dep_room * sizeof *w->deps);
    }
    for (int32_t i = 0; i < step->ndeps; i++) w->deps[w->ndeps++] = w->place[part->deps[step->first_dep + i]];
}

static void part_write(writer *w, const tutti_part *part)
{
    const int64_t first = w->ndeps;
    w->ranks[part->rank] = (tutti_actor_rank){w->nsteps, w->ndeps, w->o->late_s ? w->o->late_s[part->rank] : 0};
    order_find(w, part);
    for (int32_t i = 0; i < part->nsteps; i++) {
        const tutti_step *step = &part->steps[w->order[i]];
        tutti_actor_step out = {.begins = !i || part->steps[w->order[i - 1]].sequence != step->sequence};
        step_make(w, part, step, &out);
        deps_add(w, part, step, first, &out);
        fwrite(&out, sizeof out, 1, w->file);
    }
    w->nsteps += part->nsteps;
    w->ranks[part->rank + 1] = (tutti_actor_rank){w->nsteps, w->ndeps, 0};
}

static void array_write(writer *w, const void *array, int64_t n, size_t element)
{
    static const char zeros[8];
    if (n) fwrite(array, element, (size_t)n, w->file);
    fwrite(zeros, 1, (8 - (size_t)n * element % 8) % 8, w->file);
}

static void tables_write(writer *w, const tutti_actor_head *head)
{
    const tutti_actor_tables *a = &w->tables;
    array_write(w, w->ranks, head->nranks + 1, sizeof *w->ranks);
    array_write(w, a->links, head->nlinks, sizeof *a->links);
    array_write(w, a->pairs, head->npairs, sizeof *a->pairs);
    array_write(w, a->lines, head->nlines, sizeof *a->lines);
    array_write(w, a->loads, head->nloads, sizeof *a->loads);
    array_write(w, a->hops, head->nhops, sizeof *a->hops);
    array_write(w, a->aliases, head->nlines * head->nparts, sizeof *a->aliases);
    array_write(w, w->deps, w->ndeps, sizeof *w->deps);
}

static tutti_status all_write(writer *w, const tutti_schedule *s, tutti_failure *err)
{
    const tutti_schedule_header *about = tutti_schedule_head(s);
    tutti_actor_head head = {.magic = TUTTI_ACTOR_MAGIC,
                             .nranks = about->nranks,
                             .nparts = w->tables.nparts,
                             .tcp = w->o->tcp,
                             .soft_s = w->t->figure[TUTTI_FIGURE_SOFTWARE],
                             .precision_s = 1e-12};
    fwrite(&head, sizeof head, 1, w->file);
    for (int32_t rank = 0; rank < about->nranks; rank++) {
        tutti_part part;
        tutti_schedule_part(s, rank, &part);
        part_write(w, &part);
        tutti_part_release(&part);
        if (w->nmessages > w->o->most_messages)
            return tutti_fail(err, TUTTI_ERR_USAGE,
                              "simulate: more than %lld thousand messages: that would take minutes",
                              (long long)w->o->most_messages / 1000);
    }
    tutti_actor_tables_finish(&w->tables);
    head.naliases = w->tables.naliases;
    head.nlinks = w->tables.nlinks, head.npairs = w->tables.npairs, head.nhops = w->tables.nhops;
    head.nlines = w->tables.nlines, head.nloads = w->tables.nloads;
    head.ndeps = w->ndeps, head.nsteps = w->nsteps;
    tables_write(w, &head);
    rewind(w->file);
    fwrite(&head, sizeof head, 1, w->file);
    return TUTTI_OK;
}

tutti_status tutti_actor_write(const tutti_schedule *s, const tutti_topology *t, int64_t n,
                               const tutti_actor_options *o, FILE *file, tutti_failure *err)
{
    const int32_t nranks = tutti_schedule_head(s)->nranks;
    writer w = {.file = file, .t = t, .o = o, .n = n};
    tutti_actor_tables_begin(t, nranks, &w.tables);
    w.ranks = tutti_alloc(((size_t)nranks + 1) * sizeof *w.ranks);
    tutti_status st = all_write(&w, s, err);
    if (st == TUTTI_OK && (fflush(file) || ferror(file)))
        st = tutti_fail(err, TUTTI_ERR_FAILED, "simulate: the messages of the schedule cannot be written down: %s",
                        strerror(errno));
    tutti_actor_tables_release(&w.tables);
    free(w.ranks), free(w.put), free(w.deps), free(w.order), free(w.place);
    return st;
}
