/* SPDX-License-Identifier: Apache-2.0 */
/* plan_loop.c: one rank's actions of several training steps as steps of a schedule (see plan_compose.h). */
#include <stdlib.h>
#include <string.h>

#include "plan_compose.h"

typedef struct {
    const tutti_composition *c;
    tutti_loop *out;
    int rank, capacity;
    int train_step, action; /* what is being translated */
} writer;

static tutti_loop_step *add(writer *w, tutti_step_kind kind)
{
    tutti_loop *l = w->out;
    if (l->nsteps == w->capacity) {
        w->capacity = w->capacity ? 2 * w->capacity : 64;
        l->steps = tutti_realloc(l->steps, sizeof *l->steps * (size_t)w->capacity);
    }
    tutti_loop_step *s = &l->steps[l->nsteps++];
    *s = (tutti_loop_step){.kind = kind,
                           .train_step = w->train_step,
                           .action = w->action,
                           .bucket = -1,
                           .param = -1,
                           .waits_bucket = -1,
                           .from = {-1, -1},
                           .to = -1};
    return s;
}

static void add_copy(writer *w, int from, int to, int64_t first, int64_t last)
{
    tutti_loop_step *s = add(w, TUTTI_STEP_COPY);
    s->from[0] = from;
    s->to = to;
    s->first = first;
    s->last = last;
}

static int memory(const writer *w, int which)
{
    return tutti_composition_buffer(w->c, w->rank, which);
}

/* A parameter with the padding behind it, which belongs to nobody else. */
static void param_range(const tutti_plan *p, int param, int64_t *first, int64_t *last)
{
    *first = p->param_offset[param];
    *last = p->total;
    for (int i = 0; i < p->graph->nparams; i++)
        if (p->param_offset[i] > *first && p->param_offset[i] < *last) *last = p->param_offset[i];
}

static void add_gradients(writer *w, const tutti_node *n, const tutti_action *a)
{
    const tutti_plan *p = w->c->plan;
    for (int i = 0; i < n->nwrites; i++) {
        if (n->writes[i].kind != TUTTI_DATUM_PARAM_GRAD) continue;
        int64_t first, last;
        param_range(p, n->writes[i].index, &first, &last);
        add_copy(w, a->slot, memory(w, TUTTI_MEMORY_GRADS + a->root_dst), first, last);
        w->out->steps[w->out->nsteps - 1].param = n->writes[i].index;
    }
}

static void add_kernel(writer *w, const tutti_action *a)
{
    const tutti_plan *p = w->c->plan;
    const tutti_node *n = &p->graph->nodes[a->node];
    for (int i = 0; i < n->nreads; i++) {
        if (n->reads[i].kind != TUTTI_DATUM_PARAM) continue;
        int64_t first, last;
        param_range(p, n->reads[i].index, &first, &last);
        add_copy(w, memory(w, TUTTI_MEMORY_WEIGHTS), memory(w, TUTTI_MEMORY_SEEN), first, last);
        w->out->steps[w->out->nsteps - 1].param = n->reads[i].index;
    }
    add_gradients(w, n, a);
    /* what loading writes (@stop) is written with the first kernel of a slot */
    for (int i = 0; i < p->graph->nnodes && a->kind == TUTTI_DO_FORWARD; i++) {
        if (p->graph->nodes[i].kind == TUTTI_NODE_FORWARD && p->graph->nodes[i].layer == a->layer) break;
        if (p->graph->nodes[i].kind == TUTTI_NODE_FORWARD) return;
        if (p->graph->nodes[i].kind == TUTTI_NODE_LOAD) add_gradients(w, &p->graph->nodes[i], a);
    }
}

static void add_fold(writer *w, const tutti_action *a)
{
    const tutti_bucket *b = &w->c->plan->buckets[a->bucket];
    tutti_loop_step *s = add(w, TUTTI_STEP_REDUCE);
    s->bucket = a->bucket;
    s->from[0] = s->to = memory(w, TUTTI_MEMORY_GRADS + a->root_dst);
    s->from[1] = memory(w, TUTTI_MEMORY_GRADS + a->root_src);
    s->first = b->offset;
    s->last = b->offset + b->count;
}

static int add_wait(writer *w, int bucket, tutti_exchange_kind kind, int train_step)
{
    tutti_loop_step *s = add(w, TUTTI_STEP_NOP);
    s->bucket = bucket;
    if (train_step < 0) return w->out->nsteps - 1;
    s->waits_bucket = bucket;
    s->waits_kind = kind;
    s->waits_step = train_step;
    return w->out->nsteps - 1;
}

static int add_update(writer *w, int bucket)
{
    int64_t first, count;
    tutti_plan_own_slice(w->c->plan, bucket, w->rank, &first, &count);
    for (int i = 0; i <= w->c->plan->config.nstates; i++) {
        const bool is_last =
            i == w->c->plan->config.nstates; /* the weights: what waits for the update waits for them */
        const int to = is_last ? TUTTI_MEMORY_WEIGHTS : tutti_composition_state(w->c, i);
        add_copy(w, memory(w, TUTTI_MEMORY_GRADS), memory(w, to), first, first + count);
        w->out->steps[w->out->nsteps - 1].bucket = bucket;
    }
    return w->out->nsteps - 1;
}

/* Looks at what the reduce-scatter left in the own slice. */
static int add_look(writer *w, int bucket)
{
    int64_t first, count;
    tutti_plan_own_slice(w->c->plan, bucket, w->rank, &first, &count);
    add_copy(w, memory(w, TUTTI_MEMORY_GRADS), memory(w, TUTTI_MEMORY_SEEN), first, first + count);
    w->out->steps[w->out->nsteps - 1].bucket = bucket;
    return w->out->nsteps - 1;
}

static void add_gate(writer *w)
{
    const int64_t total = w->c->plan->total;
    add_copy(w, 0, memory(w, TUTTI_MEMORY_FLAG), 0, total); /* any value */
    w->out->gate_told[w->train_step] = add_wait(w, -1, TUTTI_GATES, -1);
    w->out->gate_passed[w->train_step] = add_wait(w, w->c->nbuckets, TUTTI_REDUCES, w->train_step);
    add_copy(w, memory(w, TUTTI_MEMORY_VERDICT), memory(w, TUTTI_MEMORY_SEEN), 0, total);
}

static void add_action(writer *w, const tutti_action *a)
{
    const int at = w->train_step * w->c->nbuckets + a->bucket;
    switch (a->kind) {
    case TUTTI_DO_FORWARD:
    case TUTTI_DO_BACKWARD_PARAMS:
    case TUTTI_DO_BACKWARD_DATA: add_kernel(w, a); break;
    case TUTTI_DO_SUM: break; /* touches nothing that ranks share */
    case TUTTI_DO_FOLD: add_fold(w, a); break;
    case TUTTI_DO_READY: w->out->ready[at] = add_wait(w, a->bucket, TUTTI_REDUCES, -1); break;
    case TUTTI_DO_FREE: w->out->is_free[at] = add_wait(w, a->bucket, TUTTI_GATHERS, -1); break;
    case TUTTI_DO_CHECK:
        add_wait(w, a->bucket, TUTTI_REDUCES, w->train_step);
        w->out->checked[at] = add_look(w, a->bucket);
        break;
    case TUTTI_DO_GATE: add_gate(w); break;
    case TUTTI_DO_UPDATE:
        add_wait(w, a->bucket, TUTTI_REDUCES, w->train_step);
        w->out->updated[at] = add_update(w, a->bucket);
        break;
    case TUTTI_DO_WAIT_WEIGHTS: w->out->waited[at] = add_wait(w, a->bucket, TUTTI_GATHERS, w->train_step - 1); break;
    case TUTTI_NACTIONS: break;
    }
}

/* What a gate promises and no race would show: all slices are looked at before it, and all updates come after it. */
static const char *wrong_with_gate(const tutti_composition *c, const tutti_loop *l, int at)
{
    const int told = l->gate_told[at / c->nbuckets];
    if (!c->plan->config.gated) return NULL;
    if (told < 0) return "is updated without the gate";
    if (l->checked[at] < 0 || l->checked[at] > told) return "is not looked at before the gate";
    return l->updated[at] < l->gate_passed[at / c->nbuckets] ? "is updated before the gate" : NULL;
}

static tutti_status all_told(const tutti_composition *c, int rank, const tutti_loop *l, tutti_failure *err)
{
    for (int i = 0; i < c->ntrain_steps * c->nbuckets; i++) {
        const char *wrong = l->ready[i] < 0     ? "is never ready"
                            : l->is_free[i] < 0 ? "is never free"
                            : l->updated[i] < 0 ? "is never updated"
                                                : wrong_with_gate(c, l, i);
        if (wrong) return tutti_fail(err, TUTTI_ERR_FAILED, "rank %d: bucket %d %s", rank, i % c->nbuckets, wrong);
    }
    return TUTTI_OK;
}

static void lay_out_exchanges(const tutti_composition *c, int rank, tutti_loop *l)
{
    for (int i = 0; i < c->ntrain_steps * c->nbound; i++) {
        l->first_step[i] = l->nexchange_steps;
        l->nexchange_steps += c->exchanges[c->exchange_of[i % c->nbound]].parts[rank].nsteps;
    }
}

static void make_tables(const tutti_composition *c, tutti_arena *arena, tutti_loop *out)
{
    const int n = c->ntrain_steps * c->nbuckets, ntables = 5 * n + 2 * c->ntrain_steps;
    int *const tables = TUTTI_ARENA_NEW(arena, int, ntables);
    for (int i = 0; i < ntables; i++) tables[i] = -1;
    out->ready = tables, out->is_free = tables + n, out->checked = tables + 2 * n;
    out->updated = tables + 3 * n, out->waited = tables + 4 * n;
    out->gate_told = tables + 5 * n, out->gate_passed = out->gate_told + c->ntrain_steps;
    out->first_step = TUTTI_ARENA_NEW(arena, int, c->ntrain_steps * c->nbound);
}

tutti_status tutti_composition_loop(const tutti_composition *c, int rank, tutti_arena *arena, tutti_loop *out,
                                    tutti_failure *err)
{
    *out = (tutti_loop){0};
    writer w = {.c = c, .out = out, .rank = rank, .action = -1};
    make_tables(c, arena, out);
    lay_out_exchanges(c, rank, out);

    tutti_action *actions = c->plan->actions;
    int nactions = c->plan->nactions;
    if (rank != c->plan->config.rank) tutti_plan_list_actions(c->plan, rank, arena, &actions, &nactions);
    add(&w, TUTTI_STEP_NOP)->when = TUTTI_WHEN_READY | TUTTI_WHEN_FREE;
    add_copy(&w, 0, memory(&w, TUTTI_MEMORY_WEIGHTS), 0, c->plan->total); /* start weights: any value */
    for (; w.train_step < c->ntrain_steps; w.train_step++)
        for (w.action = 0; w.action < nactions; w.action++) add_action(&w, &actions[w.action]);
    w.action = -1;
    w.train_step--;
    for (int b = 0; b < c->nbuckets; b++) add_wait(&w, b, TUTTI_GATHERS, c->ntrain_steps - 1);
    add_copy(&w, memory(&w, TUTTI_MEMORY_WEIGHTS), memory(&w, TUTTI_MEMORY_OUT), 0, c->plan->total);

    tutti_loop_step *steps = TUTTI_ARENA_NEW(arena, tutti_loop_step, out->nsteps);
    memcpy(steps, out->steps, sizeof *steps * (size_t)out->nsteps);
    free(out->steps);
    out->steps = steps;
    return all_told(c, rank, out, err);
}
