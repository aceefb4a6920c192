/* SPDX-License-Identifier: Apache-2.0 */
/* plan_compose.c: what a composition needs to know of all ranks before any part can be made: the parts of all lowered
 * schedules, how memory is numbered, and at which elements slices begin and end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../collective/schedule/part_builder.h"
#include "plan_compose.h"

int tutti_composition_nslots(const tutti_composition *c, int rank)
{
    const int64_t slots = c->plan->config.slots, p = c->nranks;
    return slots ? (int)(slots * (rank + 1) / p - slots * rank / p) : 1;
}

static int add_exchange(tutti_composition *c, const tutti_schedule *s)
{
    for (int i = 0; i < c->nexchanges; i++)
        if (c->exchanges[i].schedule == s) return i;
    tutti_composed_exchange *x = &c->exchanges[c->nexchanges];
    x->schedule = s;
    x->nbanks = x->nsequences = 1;
    x->parts = TUTTI_ARENA_NEW(&c->arena, tutti_part, c->nranks);
    for (int r = 0; r < c->nranks; r++) {
        tutti_part *part = &x->parts[r];
        tutti_schedule_part(s, r, part);
        int32_t nsequences = tutti_part_nsequences(part);
        if (nsequences > x->nsequences) x->nsequences = nsequences;
        for (int i = 0; i < part->nbuffers; i++)
            if (part->buffers[i].banks > x->nbanks) x->nbanks = part->buffers[i].banks;
    }
    if (x->nsequences > c->nsequences) c->nsequences = x->nsequences;
    if (x->nbanks + 1 > c->ntrain_steps) c->ntrain_steps = x->nbanks + 1;
    return c->nexchanges++;
}

static void number_memory(tutti_composition *c)
{
    const int n = c->nbound;
    c->scratch_base = TUTTI_ARENA_NEW(&c->arena, int, c->nranks *n);
    for (int r = 0; r < c->nranks; r++) {
        int at = tutti_composition_buffer(c, r, tutti_composition_state(c, c->plan->config.nstates));
        for (int i = 0; i < n; i++) {
            const tutti_part *part = &c->exchanges[c->exchange_of[i]].parts[r];
            c->scratch_base[r * n + i] = at;
            for (int b = 0; b < part->nbuffers; b++)
                if (part->buffers[b].role == TUTTI_BUFFER_SCRATCH) at += part->buffers[b].banks;
        }
    }
}

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

/* Sorted, each once. Called whenever the list has doubled, so that slices that many ranks share cost no memory. */
static void tidy_edges(edge_list *e)
{
    size_t n = 0;
    qsort(e->at, e->n, sizeof *e->at, by_value);
    for (size_t i = 0; i < e->n; i++)
        if (n == 0 || e->at[n - 1] != e->at[i]) e->at[n++] = e->at[i];
    e->n = n;
}

static void find_edges(tutti_composition *c)
{
    const tutti_plan *p = c->plan;
    edge_list e = {0};
    add_edge(&e, 0);
    add_edge(&e, p->total);
    for (int i = 0; i < p->graph->nparams; i++) add_edge(&e, p->param_offset[i]);
    for (int x = 0; x < c->nbound; x++)
        for (int r = 0; r < c->nranks; r++) {
            const tutti_part *part = &c->exchanges[c->exchange_of[x]].parts[r];
            const tutti_bucket range = tutti_composition_range(c, x);
            add_edge(&e, range.offset + r * range.count / c->nranks); /* own slices */
            add_edge(&e, range.offset + (r + 1) * range.count / c->nranks);
            for (int i = 0; i < part->nslices; i++) {
                const tutti_slice *s = &part->slices[i];
                add_edge(&e, range.offset + s->first * range.count / s->of);
                add_edge(&e, range.offset + ((int64_t)s->first + s->count) * range.count / s->of);
            }
            tidy_edges(&e);
        }
    c->nedges = (int)e.n;
    c->edges = TUTTI_ARENA_NEW(&c->arena, int64_t, c->nedges);
    memcpy(c->edges, e.at, sizeof *e.at * e.n);
    free(e.at);
}

tutti_status tutti_composition_create(tutti_composition *c, const tutti_plan *p, tutti_failure *err)
{
    const int n = p->nbuckets * TUTTI_NEXCHANGES + p->config.gated;
    *c = (tutti_composition){
        .plan = p, .nranks = p->config.nranks, .nbuckets = p->nbuckets, .ntrain_steps = 2, .nbound = n};
    c->exchanges = TUTTI_ARENA_NEW(&c->arena, tutti_composed_exchange, n);
    c->exchange_of = TUTTI_ARENA_NEW(&c->arena, int, n);
    for (int b = 0; b < p->nbuckets; b++) {
        c->exchange_of[b * TUTTI_NEXCHANGES + TUTTI_REDUCES] = add_exchange(c, p->buckets[b].reduce_scatter_mapped);
        c->exchange_of[b * TUTTI_NEXCHANGES + TUTTI_GATHERS] = add_exchange(c, p->buckets[b].all_gather_mapped);
    }
    if (p->config.gated) c->exchange_of[n - 1] = add_exchange(c, p->gate.allreduce_mapped);
    const tutti_schedule_header *first = tutti_schedule_head(p->buckets[0].reduce_scatter_mapped);
    for (int i = 0; i < n; i++) {
        const tutti_schedule_header *h = tutti_schedule_head(c->exchanges[c->exchange_of[i]].schedule);
        const bool is_gate = tutti_composition_kind(c, i) == TUTTI_GATES;
        if (h->nranks != c->nranks || h->wire == TUTTI_WIRE_TWO_SIDED || h->wire != first->wire ||
            h->in_place == is_gate)
            return tutti_fail(err, TUTTI_ERR_FAILED, "%s %d: the %s is not lowered for %s memory of %d ranks, %s",
                              is_gate ? "gate" : "bucket", i / TUTTI_NEXCHANGES, tutti_collective_name(h->collective),
                              tutti_wire_class_name(first->wire), c->nranks,
                              is_gate ? "from flag to verdict" : "in place");
    }
    number_memory(c);
    find_edges(c);
    c->head = (tutti_schedule_header){.collective = TUTTI_ALLREDUCE,
                                      .nranks = c->nranks,
                                      .slots = p->config.slots,
                                      .wire = first->wire,
                                      .host_of = first->host_of,
                                      .determinism = first->determinism};
    snprintf(c->head.algorithm, sizeof c->head.algorithm, "%d training steps as", c->ntrain_steps);
    return TUTTI_OK;
}

void tutti_composition_release(tutti_composition *c)
{
    for (int i = 0; i < c->nexchanges; i++)
        for (int r = 0; r < c->nranks; r++) tutti_part_release(&c->exchanges[i].parts[r]);
    tutti_arena_release(&c->arena);
}
