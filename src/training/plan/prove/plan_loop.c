/* SPDX-License-Identifier: Apache-2.0 */
/* plan_loop.c: unrolls one rank's loops over several training steps as steps of a schedule (see plan_compose.h). */
#include <stdlib.h>
#include <string.h>

#include "plan_compose.h"

typedef struct {
    const tutti_composition *c;
    tutti_unrolled *out;
    int rank, capacity;
    int run, action; /* the run of the loop, and the action in it, that is being translated */
    int part;        /* part of the loop EACH_END; 0 = another loop */
    int awaited;     /* the exchange that the part began with */
    int *started;    /* per exchange: invocations so far */
    /* per exchange: the exchange that is made ready by the part that waits for it, or NO_FOLLOWER, NO_PART */
    int *follower;
    int restarted; /* an exchange that was started while it was still running; -1 = none */
} writer;
enum { NO_PART = -1, NO_FOLLOWER = -2 };

static tutti_loop_step *add(writer *w, tutti_step_kind kind)
{
    tutti_unrolled *l = w->out;
    l->steps = tutti_grow(l->steps, l->nsteps, &w->capacity, sizeof *l->steps);
    tutti_loop_step *s = &l->steps[l->nsteps++];
    *s = (tutti_loop_step){.kind = kind,
                           .part = w->part,
                           .run = w->run,
                           .action = w->action,
                           .param = -1,
                           .exchange = -1,
                           .after = -1,
                           .from = {-1, -1},
                           .to = -1,
                           .peer = -1};
    return s;
}

static tutti_loop_step *add_copy(writer *w, int from, int to, tutti_stretch range)
{
    tutti_loop_step *s = add(w, TUTTI_STEP_COPY);
    s->from[0] = from;
    s->to = to;
    s->first = range.first;
    s->last = range.last;
    return s;
}

static int seen(const writer *w)
{
    return tutti_composition_nslots(w->c, w->rank) + TUTTI_COMPOSED_SEEN;
}

static int group(const writer *w)
{
    return tutti_composition_nslots(w->c, w->rank) + TUTTI_COMPOSED_GROUP;
}

static int copy_of(const writer *w, int memory, int copy)
{
    return tutti_composition_copy(w->c, w->rank, memory, copy);
}

static tutti_stretch all_of(const writer *w, int memory)
{
    return tutti_composition_stretch(w->c, memory, 0, w->c->plan->total);
}

/* ---- kernels ---- */

/* Returns the range of a parameter and of its padding, which belongs to no other parameter; for a split layer, the
 * range of the rank's part. */
static tutti_stretch param_range(const writer *w, int param, int memory)
{
    const tutti_plan *p = w->c->plan;
    int64_t first = p->param_offset[param], last = p->total;
    if (tutti_graph_split_of(p->graph, p->graph->params[param].layer) >= 0) {
        tutti_plan_part(p, param, w->rank, &first, &last);
        return tutti_composition_stretch(w->c, memory, first, last);
    }
    for (int i = 0; i < p->control.first_param; i++) {
        const int64_t other = p->param_offset[p->order[i]];
        if (other > first && other < last) last = other;
    }
    return tutti_composition_stretch(w->c, memory, first, last - first);
}

static void add_gradients(writer *w, const tutti_node *n, const tutti_action *a)
{
    for (int i = 0; i < n->nwrites; i++) {
        if (n->writes[i].kind != TUTTI_DATUM_PARAM_GRAD) continue;
        const int param = n->writes[i].index, memory = tutti_plan_gradient_memory(w->c->plan, param);
        const bool of_group = tutti_graph_split_of(w->c->plan->graph, w->c->plan->graph->params[param].layer) >= 0;
        add_copy(w, of_group ? group(w) : a->slot, copy_of(w, memory, a->dst), param_range(w, param, memory))->param =
            param;
    }
}

/* Touches the whole memory of exchanged data. */
static void touch_travelling(writer *w, const tutti_node *n)
{
    for (int i = 0; i < n->nreads + n->nwrites; i++) {
        const tutti_datum d = i < n->nreads ? n->reads[i] : n->writes[i - n->nreads];
        if (d.kind != TUTTI_DATUM_SPLIT) continue;
        const int memory = tutti_plan_split_memory(w->c->plan, d.index), at = copy_of(w, memory, 0);
        add_copy(w, i < n->nreads ? at : 0, i < n->nreads ? seen(w) : at, all_of(w, memory));
    }
}

/* Notes that the rank has received the inputs of all members of its group: from here on the gradients that it computes
 * hold the leaves of all members. */
static void meet_group(writer *w)
{
    const tutti_plan *p = w->c->plan;
    const int parts = tutti_graph_parts(p->graph), first = tutti_plan_group(p, w->rank) * parts;
    for (int i = 0; i < parts; i++) {
        tutti_loop_step *s = add(w, i ? TUTTI_STEP_REDUCE : TUTTI_STEP_COPY);
        s->from[0] = i ? group(w) : 0; /* buffer 0 of the member `peer`: its own input */
        s->from[1] = i ? 0 : -1;
        s->peer = first + i;
        s->to = group(w);
        s->first = 0;
        s->last = p->total;
    }
}

static void add_kernel(writer *w, const tutti_action *a)
{
    const tutti_graph *g = w->c->plan->graph;
    const tutti_node *n = &g->nodes[a->node];
    for (int i = 0; i < n->nreads; i++) {
        if (n->reads[i].kind != TUTTI_DATUM_PARAM) continue;
        const int param = n->reads[i].index, memory = tutti_plan_value_memory(w->c->plan, param);
        if (g->params[param].is_frozen) continue; /* nothing writes it: tutti_plan_check has checked that */
        add_copy(w, copy_of(w, memory, 0), seen(w), param_range(w, param, memory))->param = param;
    }
    add_gradients(w, n, a);
    touch_travelling(w, n);
    /* the first forward kernel of a slot also counts as the writer of @stop, which is written when samples are
     * loaded */
    for (int i = 0; i < a->node && n->kind == TUTTI_NODE_FORWARD; i++)
        if (g->nodes[i].kind == TUTTI_NODE_FORWARD) return;
    for (int i = 0; i < a->node && n->kind == TUTTI_NODE_FORWARD; i++)
        if (g->nodes[i].kind == TUTTI_NODE_LOAD) add_gradients(w, &g->nodes[i], a);
}

/* ---- exchanges ---- */

/* True if the loop has started the exchange, and not more often than the exchange's spokesman does. */
static bool is_known(const writer *w, int exchange)
{
    return w->started[exchange] > 0 && w->started[exchange] <= w->c->ninvocations[exchange];
}

static void tell(writer *w, int exchange, unsigned when)
{
    const int at = tutti_composition_at(w->c, w->started[exchange] - 1, exchange), position = w->out->nsteps;
    add(w, TUTTI_STEP_NOP);
    if (!is_known(w, exchange)) return;
    if (w->part && when & TUTTI_WHEN_READY) w->follower[w->awaited] = exchange;
    if (when & TUTTI_WHEN_READY && w->out->ready[at] < 0) w->out->ready[at] = position;
    if (when & TUTTI_WHEN_FREE && w->out->is_free[at] < 0) w->out->is_free[at] = position;
}

/* True if the loop knows that the exchange's last invocation has ended: the loop has waited for it or, if a part of
 * EACH_END waits for it, for the same invocation of the exchange that the part makes ready. */
static bool is_over(const writer *w, int exchange)
{
    const int last = w->started[exchange] - 1, next = w->follower[exchange];
    if (w->out->waited[tutti_composition_at(w->c, last, exchange)] < 0 || next == NO_FOLLOWER) return false;
    return next == NO_PART || (w->follower[next] == NO_PART && w->started[next] > last &&
                               w->out->waited[tutti_composition_at(w->c, last, next)] >= 0);
}

static void start(writer *w, int exchange)
{
    if (is_known(w, exchange) && !is_over(w, exchange)) w->restarted = exchange;
    w->started[exchange]++;
    if (is_known(w, exchange))
        w->out->begun[tutti_composition_at(w->c, w->started[exchange] - 1, exchange)] = w->out->nsteps;
}

static void wait_for(writer *w, int exchange)
{
    const int at = tutti_composition_at(w->c, w->started[exchange] - 1, exchange), position = w->out->nsteps;
    tutti_loop_step *s = add(w, TUTTI_STEP_NOP);
    if (w->part) w->follower[exchange] = NO_FOLLOWER;
    if (!is_known(w, exchange) || w->out->waited[at] >= 0) return;
    s->exchange = exchange;
    s->invocation = w->started[exchange] - 1;
    w->out->waited[at] = position;
    const tutti_plan_exchange *x = &w->c->plan->exchanges[exchange];
    if (x->is_travel && w->c->plan->graph->nodes[x->node].hop == TUTTI_HOP_GATHER_INPUTS) meet_group(w);
}

/* Adds a wait until another loop has told the exchange all these conditions. */
static void wait_told(writer *w, int exchange, unsigned when)
{
    const int at = tutti_composition_at(w->c, w->started[exchange] - 1, exchange);
    if (!is_known(w, exchange)) return;
    if (when & TUTTI_WHEN_READY) add(w, TUTTI_STEP_NOP)->after = w->out->ready[at];
    if (when & TUTTI_WHEN_FREE) add(w, TUTTI_STEP_NOP)->after = w->out->is_free[at];
}

/* Adds a wait. In the loop EACH_END, a wait for the end of an exchange begins the next part. */
static void wait_in_turn(writer *w, const tutti_action *a)
{
    if (a->when) {
        wait_told(w, a->exchange, a->when);
        return;
    }
    if (w->part && w->action) w->part++;
    w->awaited = a->exchange;
    wait_for(w, a->exchange);
}

/* ---- all other actions ---- */

/* Adds a step for a flow of the row: a copy, or a sum of two. */
static void add_flow(writer *w, const tutti_element_flow *f)
{
    const bool is_read = f->to < 0;
    const tutti_stretch range = tutti_composition_stretch(w->c, is_read ? f->from : f->to, f->first, f->count);
    const int from = f->from < 0 ? 0 : copy_of(w, f->from, f->from_copy); /* a source with any value is buffer 0 */
    const int to = is_read ? seen(w) : copy_of(w, f->to, f->to_copy);
    tutti_loop_step *s = add_copy(w, from, to, range);
    if (f->kind != TUTTI_FLOW_ADDS) return;
    s->kind = TUTTI_STEP_REDUCE;
    s->from[0] = to;
    s->from[1] = from;
}

/* Adds the steps of any other action. Visits, and waits for other workers, have no steps: plan_visits.c proves them. */
static void add_action(writer *w, const tutti_action *a)
{
    tutti_element_flow flows[TUTTI_MOST_ACTION_FLOWS];
    const int nflows = tutti_action_flows(w->c->plan, a, flows);
    if (a->node >= 0) add_kernel(w, a);
    if (tutti_action_starts(a)) start(w, a->exchange);
    if (tutti_action_tells(a)) tell(w, a->exchange, a->when);
    if (tutti_action_awaits(a)) wait_in_turn(w, a);
    for (int i = 0; i < nflows; i++) add_flow(w, &flows[i]);
}

/* ---- properties that no race would show ---- */

/* Where a loop gets its verdict about gradients: flag: the memory into which the actions `look` count; asked: index of
 * the last such action before the verdict is asked for; known: index of the action after which the verdict is known; -1
 * = none. */
typedef struct {
    int flag, asked, known;
} verdict_path;

static verdict_path find_verdict(const tutti_plan *p, const tutti_loop *l, int verdict)
{
    verdict_path v = {verdict, -1, -1};
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        /* if no exchange sums verdicts, each rank decides by its own verdict */
        if (tutti_action_looks(a) && a->to == verdict) v.asked = v.known = i;
        if (a->exchange < 0 || p->exchanges[a->exchange].out.memory != verdict) continue;
        v.flag = p->exchanges[a->exchange].in.memory;
        if (tutti_action_starts(a)) v.asked = i;
        if (tutti_action_awaits(a)) v.known = i;
    }
    return v;
}

static bool was_looked_at(tutti_norms norms, const tutti_loop *l, const tutti_action *apply, const verdict_path *v)
{
    for (int i = 0; i <= v->asked; i++) {
        const tutti_action *a = &l->actions[i];
        if (tutti_action_looks(a) && a->from == apply->from && a->to == v->flag && a->first <= apply->first &&
            a->first + a->count >= apply->first + apply->count &&
            (norms != TUTTI_NORMS_OF_TENSORS || a->weights == apply->to))
            return true;
    }
    return false;
}

/* Checks that everything that a rule changes by a verdict is looked at before the verdict is asked for, and changed
 * after it is known. */
static tutti_status check_verdicts(const tutti_composition *c, int rank, const tutti_loop *l, tutti_failure *err)
{
    const tutti_plan *p = c->plan;
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        if (!tutti_action_updates(a) || (a->verdict < 0 && !p->config.only_finite && !p->config.norms)) continue;
        const verdict_path v = find_verdict(p, l, a->verdict);
        const char *wrong = a->verdict < 0 || v.asked < 0 ? "is updated without the verdict"
                            : !was_looked_at(p->config.norms, l, a, &v)
                                ? "is not looked at before the verdict is asked for"
                            : v.known < v.asked || i < v.known ? "is updated before the verdict is known"
                                                               : NULL;
        if (wrong) return tutti_fail(err, TUTTI_ERR_FAILED, "rank %d: bucket %d %s", rank, a->bucket, wrong);
    }
    return TUTTI_OK;
}

static tutti_status check_told(const tutti_composition *c, int rank, const tutti_unrolled *l, const int *started,
                               tutti_failure *err)
{
    for (int i = 0; i < c->plan->nexchanges; i++) {
        const tutti_plan_exchange *x = &c->plan->exchanges[i];
        /* a rank that is no member does nothing with the exchange: tutti_plan_check_actions has checked that */
        if (tutti_plan_place(x, rank) < 0) continue;
        if (started[i] != c->ninvocations[i])
            return tutti_fail(err, TUTTI_ERR_FAILED, "rank %d starts the exchange of %s %d times, rank %d %d times",
                              rank, x->name, started[i], tutti_plan_spokesman(c->plan, x), c->ninvocations[i]);
        for (int k = 0; k < c->ninvocations[i]; k++) {
            const int at = tutti_composition_at(c, k, i);
            if (l->ready[at] < 0 || l->is_free[at] < 0)
                return tutti_fail(err, TUTTI_ERR_FAILED, "rank %d: the exchange of %s is never told that it is %s",
                                  rank, x->name, l->ready[at] < 0 ? "ready" : "free");
        }
    }
    return TUTTI_OK;
}

/* ---- the whole loop ---- */

static void lay_out_exchanges(const tutti_composition *c, int rank, tutti_unrolled *l)
{
    for (int k = 0; k < c->most_invocations; k++)
        for (int x = 0; x < c->plan->nexchanges; x++) {
            l->first_step[tutti_composition_at(c, k, x)] = l->nexchange_steps;
            if (k < c->ninvocations[x]) l->nexchange_steps += tutti_composition_part(c, x, rank)->nsteps;
        }
}

void tutti_composition_tables(const tutti_composition *c, int rank, tutti_arena *arena, tutti_unrolled *out)
{
    const int n = c->most_invocations * c->plan->nexchanges;
    int *const tables = TUTTI_ARENA_NEW(arena, int, 5 * n + 1);
    for (int i = 0; i < 5 * n; i++) tables[i] = -1;
    out->ready = tables, out->is_free = tables + n, out->waited = tables + 2 * n, out->first_step = tables + 3 * n;
    out->begun = tables + 4 * n;
    lay_out_exchanges(c, rank, out);
}

static void add_begin(writer *w)
{
    const tutti_plan *p = w->c->plan;
    add(w, TUTTI_STEP_NOP)->when = TUTTI_WHEN_READY | TUTTI_WHEN_FREE;
    const bool sees_states = p->config.norms == TUTTI_NORMS_OF_TENSORS;
    /* Writes first values: initial weights and centre may have any value. States begin as zeros, and only norms of
     * tensors read them before they are written. Exchanged data are read as a whole, even before they are exchanged. */
    for (int m = 0; m < p->nmemories; m++)
        if ((p->memories[m].is_lasting && (p->memories[m].role != TUTTI_ROLE_STATE || sees_states)) ||
            p->memories[m].role == TUTTI_ROLE_TRAVELLING)
            add_copy(w, 0, copy_of(w, m, 0), all_of(w, m));
}

static void add_end(writer *w)
{
    const tutti_composition *c = w->c;
    const int out = tutti_composition_nslots(c, w->rank) + TUTTI_COMPOSED_OUT;
    for (int x = 0; x < c->plan->nexchanges; x++)
        if (w->started[x]) wait_for(w, x);
    const int result = w->rank == 0 && c->result_of_zero >= 0 ? c->result_of_zero : c->result;
    add_copy(w, copy_of(w, result, 0), out, all_of(w, result));
    for (int m = 0; m < c->plan->nmemories; m++)
        if (c->window[m] && c->plan->memories[m].holds == TUTTI_HOLDS_ALL)
            add_copy(w, copy_of(w, m, 0), out, all_of(w, m));
}

static tutti_status unroll(writer *w, const tutti_loop loops[TUTTI_NDRIVERS], tutti_failure *err)
{
    const tutti_composition *c = w->c;
    add_begin(w);
    for (w->run = 0; w->run < c->nruns; w->run++) {
        const tutti_loop *l = &loops[c->runs[w->run].driver];
        w->part = l->driver == TUTTI_EACH_END;
        for (w->action = 0; w->action < l->nactions; w->action++)
            if (tutti_action_is_due(&l->actions[w->action], c->runs[w->run].ends_period))
                add_action(w, &l->actions[w->action]);
    }
    w->action = -1;
    w->part = 0;
    w->run--;
    if (w->restarted >= 0)
        return tutti_fail(err, TUTTI_ERR_FAILED,
                          "rank %d: the exchange of %s is started again before it was waited for", w->rank,
                          c->plan->exchanges[w->restarted].name);
    add_end(w);
    for (int d = 0; d < TUTTI_NDRIVERS; d++) {
        const tutti_status st = check_verdicts(c, w->rank, &loops[d], err);
        if (st) return st;
    }
    return check_told(c, w->rank, w->out, w->started, err);
}

tutti_status tutti_composition_unroll(const tutti_composition *c, int rank, tutti_arena *arena, tutti_unrolled *out,
                                      tutti_failure *err)
{
    tutti_loop loops[TUTTI_NDRIVERS];
    *out = (tutti_unrolled){0};
    writer w = {.c = c,
                .out = out,
                .rank = rank,
                .action = -1,
                .restarted = -1,
                .started = TUTTI_ARENA_NEW(arena, int, c->plan->nexchanges + 1),
                .follower = TUTTI_ARENA_NEW(arena, int, c->plan->nexchanges + 1)};
    for (int x = 0; x < c->plan->nexchanges; x++) w.follower[x] = NO_PART;
    tutti_composition_tables(c, rank, arena, out);
    memcpy(loops, c->plan->loops, sizeof loops);
    if (rank != c->plan->config.rank) tutti_plan_list_loops(c->plan, rank, arena, loops);
    tutti_status st = tutti_plan_check_actions(c->plan, rank, loops, err);
    if (!st) st = unroll(&w, loops, err);
    tutti_loop_step *steps = TUTTI_ARENA_NEW(arena, tutti_loop_step, out->nsteps);
    if (out->nsteps) memcpy(steps, out->steps, sizeof *steps * (size_t)out->nsteps);
    free(out->steps);
    out->steps = steps;
    return st;
}
