/* SPDX-License-Identifier: Apache-2.0 */
/* plan_compose.c: prepares the composition of all ranks' loops and schedules for the checker. It finds the facts about
 * all ranks that are needed before a part can be made: the parts of all lowered schedules, which loops run, how memory
 * is numbered, and at which elements slices begin and end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../collective/schedule/part_builder.h"
#include "plan_compose.h"

int tutti_composition_nslots(const tutti_composition *c, int rank)
{
    const int64_t slots = c->plan->config.slots, p = c->nranks;
    return slots ? (int)(slots * (rank + 1) / p - slots * rank / p) : tutti_plan_naccumulated(&c->plan->config);
}

/* ---- schedules ---- */

static void take_schedule(tutti_composition *c, int i)
{
    tutti_composed_schedule *x = &c->schedules[i];
    x->schedule = c->plan->schedules[i].lowered;
    x->nbanks = x->nsequences = 1;
    x->nranks = tutti_schedule_head(x->schedule)->nranks;
    x->parts = TUTTI_ARENA_NEW(&c->arena, tutti_part, x->nranks);
    for (int r = 0; r < x->nranks; r++) {
        tutti_part *part = &x->parts[r];
        tutti_schedule_part(x->schedule, r, part);
        const int32_t nsequences = tutti_part_nsequences(part);
        if (nsequences > x->nsequences) x->nsequences = nsequences;
        for (int b = 0; b < part->nbuffers; b++)
            if (part->buffers[b].banks > x->nbanks) x->nbanks = part->buffers[b].banks;
    }
    if (x->nsequences > c->nsequences) c->nsequences = x->nsequences;
}

/* Finds the wire that connects all ranks, as exchanges between all of them use it. An exchange between some ranks may
 * be on fewer hosts; the checker makes sure that its schedule touches only memory that its wire reaches. */
static void find_wire(tutti_composition *c)
{
    const int32_t *host_of = c->plan->config.host_of;
    int32_t *numbers = TUTTI_ARENA_NEW(&c->arena, int32_t, c->nranks);
    c->head.wire = host_of ? tutti_lower_wire(host_of, c->nranks, numbers) : TUTTI_WIRE_MAPPED;
    if (c->head.wire == TUTTI_WIRE_MIXED) c->head.host_of = numbers;
}

static tutti_status check_schedule(const tutti_composition *c, const tutti_plan_exchange *x, tutti_failure *err)
{
    const tutti_schedule_header *h = tutti_schedule_head(c->schedules[x->schedule].schedule);
    /* in a broadcast in place, input and output may be different memories, because the root makes no copy */
    const bool moves = h->collective == TUTTI_BROADCAST && h->in_place;
    const bool in_place = moves || (x->in.memory == x->out.memory && x->in.copy == x->out.copy);
    const bool fits = x->members ? h->wire != TUTTI_WIRE_TWO_SIDED : h->wire == c->head.wire;
    if (fits && h->in_place == in_place) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s: the %s is not lowered for %s memory of %d ranks, %s", x->name,
                      tutti_collective_name(h->collective), tutti_wire_class_name(c->head.wire), x->nmembers,
                      in_place ? "in place" : "from one memory to another");
}

/* ---- runs of loops ---- */

static int count_starts(const tutti_loop *l, bool ends_period, int exchange)
{
    int n = 0;
    for (int i = 0; i < l->nactions; i++)
        n += tutti_action_starts(&l->actions[i]) && l->actions[i].exchange == exchange &&
             tutti_action_is_due(&l->actions[i], ends_period);
    return n;
}

/* Returns how many steps are unrolled: at least two, and enough for all exchanges to come back to their first bank of
 * scratch. The checker plays the composition twice, and its second run must begin with the same banks as the first. */
static int count_steps(const tutti_composition *c)
{
    int nsteps = 2;
    for (int i = 0; i < c->plan->nschedules; i++) {
        const int turn = nsteps;
        while (nsteps % c->schedules[i].nbanks) nsteps += turn;
    }
    return nsteps;
}

/* Counts invocations of the exchanges that this rank speaks for (tutti_plan_spokesman). */
static void count_invocations(tutti_composition *c, int rank, const tutti_loop loops[TUTTI_NDRIVERS])
{
    for (int x = 0; x < c->plan->nexchanges; x++) {
        if (tutti_plan_spokesman(c->plan, &c->plan->exchanges[x]) != rank) continue;
        for (int i = 0; i < c->nruns; i++)
            c->ninvocations[x] += count_starts(&loops[c->runs[i].driver], c->runs[i].ends_period, x);
        if (c->ninvocations[x] > c->most_invocations) c->most_invocations = c->ninvocations[x];
    }
}

static void lay_out_runs(tutti_composition *c)
{
    const tutti_plan *p = c->plan;
    const int nsteps = count_steps(c);
    const int period = p->config.period > 1 ? 2 : 1;
    tutti_arena work = {0};
    c->runs = TUTTI_ARENA_NEW(&c->arena, tutti_loop_run, period * nsteps * TUTTI_NDRIVERS);
    for (int t = 0; t < period * nsteps; t++)
        for (int d = 0; d <= (int)c->last; d++) {
            const bool ends_period = tutti_ends_period(t, period);
            if (!tutti_plan_has_loop(p, (tutti_loop_driver)d) || (d == TUTTI_EACH_PERIOD && !ends_period)) continue;
            c->runs[c->nruns++] = (tutti_loop_run){(tutti_loop_driver)d, t, ends_period};
        }
    c->ninvocations = TUTTI_ARENA_NEW(&c->arena, int, p->nexchanges + 1);
    const bool *spokesmen = tutti_plan_find_spokesmen(p, &c->arena);
    for (int r = 0; r < c->nranks; r++) {
        tutti_loop loops[TUTTI_NDRIVERS];
        if (!spokesmen[r]) continue;
        memcpy(loops, p->loops, sizeof loops);
        if (r != p->config.rank) tutti_plan_list_loops(p, r, &work, loops);
        count_invocations(c, r, loops);
    }
    tutti_arena_release(&work);
}

/* ---- the index space of memories ---- */

/* Gives memories their windows of the index space. Memories of numbers that hold every slot's part have a window of
 * their own, and so have the memories from which these are computed. */
static void find_windows(tutti_composition *c)
{
    const tutti_plan *p = c->plan;
    c->window = TUTTI_ARENA_NEW(&c->arena, int, p->nmemories);
    c->nwindows = 1;
    for (int m = 0; m < p->nmemories; m++) {
        if (p->memories[m].role != TUTTI_ROLE_NUMBERS || p->memories[m].holds != TUTTI_HOLDS_ALL) continue;
        c->window[m] = c->nwindows++;
        for (int x = 0; x < p->nexchanges; x++)
            if (p->exchanges[x].out.memory == m) c->window[p->exchanges[x].in.memory] = c->window[m];
    }
}

tutti_stretch tutti_composition_stretch(const tutti_composition *c, int memory, int64_t first, int64_t count)
{
    const int64_t total = c->plan->total, begin = c->window[memory] * total;
    const tutti_memory_role role = c->plan->memories[memory].role;
    if (role == TUTTI_ROLE_NUMBERS || role == TUTTI_ROLE_TRAVELLING) return (tutti_stretch){begin, begin + total};
    return (tutti_stretch){first, first + count};
}

/* True if all ranks must hold the whole bucket. */
static bool is_owed_whole(const tutti_composition *c, const tutti_bucket *b)
{
    return b->parts == 1 || c->last >= TUTTI_EACH_TEST;
}

bool tutti_composition_owed(const tutti_composition *c, int rank, int i, tutti_stretch *out)
{
    const tutti_plan *p = c->plan;
    if (i < p->nbuckets) {
        const tutti_bucket *b = &p->buckets[i];
        const int param = p->order[b->first_param];
        *out = (tutti_stretch){b->offset, b->offset + b->count};
        if (b->parts > 1) out->last = b->offset + p->graph->params[param].count;
        if (is_owed_whole(c, b)) return true;
        tutti_plan_part(p, param, rank, &out->first, &out->last);
        out->last += out->first;
        return true;
    }
    *out = (tutti_stretch){p->total, c->nwindows * p->total};
    return i == p->nbuckets && c->nwindows > 1;
}

void tutti_composition_number(tutti_composition *c)
{
    const tutti_plan *p = c->plan;
    int at = TUTTI_COMPOSED_FIRST_MEMORY;
    c->memory_base = TUTTI_ARENA_NEW(&c->arena, int, p->nmemories);
    for (int m = 0; m < p->nmemories; m++) {
        c->memory_base[m] = at;
        at += tutti_composition_copies(c, m);
    }
    c->scratch_base = TUTTI_ARENA_NEW(&c->arena, int, c->nranks * p->nexchanges + 1);
    for (int r = 0; r < c->nranks; r++) {
        int next = tutti_composition_nslots(c, r) + at;
        for (int x = 0; x < p->nexchanges; x++) {
            const tutti_part *part = tutti_composition_part(c, x, r);
            c->scratch_base[r * p->nexchanges + x] = next;
            for (int b = 0; b < part->nbuffers; b++)
                if (part->buffers[b].role == TUTTI_BUFFER_SCRATCH) next += part->buffers[b].banks;
        }
    }
}

/* ---- edges of slices ---- */

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

typedef struct {
    int64_t *at;
    size_t n, capacity;
} edge_list;

static void add_edge(edge_list *e, int64_t at)
{
    if (e->n == e->capacity) {
        e->capacity = e->capacity ? 2 * e->capacity : 256;
        e->at = tutti_realloc(e->at, sizeof *e->at * e->capacity);
    }
    e->at[e->n++] = at;
}

/* Sorts the edges and removes duplicates. It is called after each exchange and rank, so that slices that many ranks
 * share cost no memory. */
static void tidy_edges(edge_list *e)
{
    size_t n = 0;
    qsort(e->at, e->n, sizeof *e->at, by_value);
    for (size_t i = 0; i < e->n; i++)
        if (n == 0 || e->at[n - 1] != e->at[i]) e->at[n++] = e->at[i];
    e->n = n;
}

static void add_part_edges(const tutti_composition *c, const tutti_plan_exchange *x, int place, edge_list *e)
{
    const tutti_part *part = &c->schedules[x->schedule].parts[place];
    const tutti_stretch range = tutti_composition_stretch(c, x->in.memory, x->first, x->count);
    const int64_t n = range.last - range.first;
    for (int i = 0; i < part->nslices; i++) {
        const tutti_slice *s = &part->slices[i];
        add_edge(e, range.first + s->first * n / s->of);
        add_edge(e, range.first + ((int64_t)s->first + s->count) * n / s->of);
    }
    tidy_edges(e);
}

static void add_action_edges(const tutti_plan *p, int rank, edge_list *e)
{
    tutti_arena arena = {0};
    tutti_loop loops[TUTTI_NDRIVERS];
    memcpy(loops, p->loops, sizeof loops);
    if (rank != p->config.rank) tutti_plan_list_loops(p, rank, &arena, loops);
    for (int d = 0; d < TUTTI_NDRIVERS; d++)
        for (int i = 0; i < loops[d].nactions; i++) {
            const tutti_action *a = &loops[d].actions[i];
            if (!tutti_action_row_of(a->kind)->types) continue; /* this kind of action names no elements */
            add_edge(e, a->first);
            add_edge(e, a->first + a->count);
        }
    tidy_edges(e);
    tutti_arena_release(&arena);
}

void tutti_composition_find_edges(tutti_composition *c)
{
    const tutti_plan *p = c->plan;
    edge_list e = {0};
    for (int w = 0; w <= c->nwindows; w++) add_edge(&e, w * p->total);
    for (int i = 0; i < p->control.first_param; i++) add_edge(&e, p->param_offset[p->order[i]]);
    for (int r = 0; r < c->nranks; r++) {
        tutti_stretch owed;
        for (int i = 0; tutti_composition_owed(c, r, i, &owed); i++) add_edge(&e, owed.first), add_edge(&e, owed.last);
        add_action_edges(p, r, &e);
    }
    for (int b = 0; b < p->nbuckets; b++) /* parts of split parameters, which kernels of split layers read and write */
        for (int i = 0; p->buckets[b].parts > 1 && i <= p->buckets[b].parts; i++)
            add_edge(&e, p->buckets[b].offset +
                             p->graph->params[p->order[p->buckets[b].first_param]].count / p->buckets[b].parts * i);
    for (int x = 0; x < p->nexchanges; x++)
        for (int i = 0; i < p->exchanges[x].nmembers; i++) add_part_edges(c, &p->exchanges[x], i, &e);
    c->nedges = (int)e.n;
    c->edges = TUTTI_ARENA_NEW(&c->arena, int64_t, c->nedges);
    memcpy(c->edges, e.at, sizeof *e.at * e.n);
    free(e.at);
}

/* ---- create and release ---- */

tutti_status tutti_composition_create(tutti_composition *c, const tutti_plan *p, int result, tutti_loop_driver last,
                                      tutti_failure *err)
{
    *c = (tutti_composition){
        .plan = p, .result = result, .result_of_zero = -1, .last = last, .nranks = p->config.nranks};
    c->schedules = TUTTI_ARENA_NEW(&c->arena, tutti_composed_schedule, p->nschedules);
    for (int i = 0; i < p->nschedules; i++) take_schedule(c, i);
    find_wire(c);
    tutti_status st = tutti_plan_check_members(p, err);
    for (int i = 0; i < p->nexchanges && !st; i++) st = check_schedule(c, &p->exchanges[i], err);
    if (st) return st;
    lay_out_runs(c);
    find_windows(c);
    tutti_composition_number(c);
    c->head.collective = TUTTI_ALLREDUCE;
    c->head.nranks = c->nranks;
    c->head.slots = p->config.slots;
    /* for fast sums, each schedule has its own order of sums, and its own proof of it */
    c->head.determinism = p->config.slots ? TUTTI_DETERMINISM_CANONICAL : TUTTI_DETERMINISM_PER_SLICE;
    snprintf(c->head.algorithm, sizeof c->head.algorithm, "%d training steps as", c->runs[c->nruns - 1].train_step + 1);
    return TUTTI_OK;
}

void tutti_composition_release(tutti_composition *c)
{
    for (int i = 0; i < c->plan->nschedules; i++)
        for (int r = 0; r < c->schedules[i].nranks; r++) tutti_part_release(&c->schedules[i].parts[r]);
    tutti_arena_release(&c->arena);
}
