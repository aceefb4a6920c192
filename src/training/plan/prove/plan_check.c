/* SPDX-License-Identifier: Apache-2.0 */
/* plan_check.c: proves a plan (tutti_plan_check): the checker of schedules proves the composition of loops and
 * exchanges; then plan_check_arena.c checks the private arena by itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../collective/schedule/part_builder.h"
#include "plan_alike.h"

typedef struct {
    const tutti_composition *c;
    int rank;
    tutti_part_builder *b;
    tutti_unrolled loop;
    tutti_arena arena;
} composer;

static int edge(const tutti_composition *c, int64_t at)
{
    int lo = 0, hi = c->nedges - 1;
    while (lo < hi) {
        const int mid = (lo + hi) / 2;
        if (c->edges[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static tutti_slice slice_of(const tutti_composition *c, int rank, int buffer, int64_t first, int64_t last)
{
    const int lo = edge(c, first);
    return (tutti_slice){rank, buffer, lo, edge(c, last) - lo, c->nedges - 1};
}

/* ---- buffers ---- */

static void add_buffer(composer *k, const char *name, int number, tutti_buffer_role role, int ordinal)
{
    tutti_buffer b = {.role = role, .ordinal = ordinal, .banks = 1, .nleaves = 1};
    const int slots = k->c->plan->config.slots;
    if (number < 0)
        snprintf(b.name, sizeof b.name, "%.8s", name);
    else
        snprintf(b.name, sizeof b.name, "%.5s%d", name, number);
    b.window = (tutti_slice){k->rank, k->b->part.nbuffers, 0, 1, 1};
    b.leaf = role != TUTTI_BUFFER_IN ? 0
             : slots                 ? (int)((int64_t)slots * k->rank / k->c->nranks) + ordinal
                                     : k->rank * tutti_composition_nslots(k->c, k->rank) + ordinal;
    tutti_part_buffer(k->b, &b);
}

static void add_buffers(composer *k)
{
    const tutti_composition *c = k->c;
    const tutti_plan *p = c->plan;
    for (int i = 0; i < tutti_composition_nslots(c, k->rank); i++) add_buffer(k, "slot", i, TUTTI_BUFFER_IN, i);
    add_buffer(k, "result", -1, TUTTI_BUFFER_OUT, 0);
    int n = 0;
    add_buffer(k, "seen", -1, TUTTI_BUFFER_SCRATCH, n++);
    add_buffer(k, "group", -1, TUTTI_BUFFER_SCRATCH, n++);
    for (int m = 0; m < p->nmemories; m++)
        for (int i = 0; i < tutti_composition_copies(c, m); i++, n++)
            add_buffer(k, p->memories[m].name, n, TUTTI_BUFFER_SCRATCH, n);
    for (int x = 0; x < p->nexchanges; x++) {
        const tutti_part *part = tutti_composition_part(c, x, k->rank);
        for (int b = 0; b < part->nbuffers; b++)
            for (int j = 0; part->buffers[b].role == TUTTI_BUFFER_SCRATCH && j < part->buffers[b].banks; j++, n++)
                add_buffer(k, "inbox", n, TUTTI_BUFFER_SCRATCH, n);
    }
}

/* ---- exchanges ---- */

/* Returns the composition's buffer for buffer b of the part at `place`, in this invocation. */
static int composed_buffer(const tutti_composition *c, int exchange, int place, int b, int invocation)
{
    const tutti_plan_exchange *x = &c->plan->exchanges[exchange];
    const tutti_part *part = &c->schedules[x->schedule].parts[place];
    const int rank = tutti_plan_member(x, place);
    const tutti_buffer *buffer = &part->buffers[b];
    if (buffer->role == TUTTI_BUFFER_IN)
        return tutti_composition_copy(c, rank, x->in.memory, x->in.copy + buffer->ordinal);
    if (buffer->role == TUTTI_BUFFER_OUT) return tutti_composition_copy(c, rank, x->out.memory, x->out.copy);
    int at = c->scratch_base[rank * c->plan->nexchanges + exchange];
    for (int i = 0; i < b; i++)
        if (part->buffers[i].role == TUTTI_BUFFER_SCRATCH) at += part->buffers[i].banks;
    return at + invocation % buffer->banks;
}

/* Empties a slice of a class's vector if none of the class's elements lie there. */
static tutti_slice of_class(const tutti_composition *c, tutti_slice s)
{
    const tutti_refutation *r = c->refutation;
    if (!r || !r->leaves_others || !r->owed.of) return s;
    const int64_t of = r->owed.of, first = r->owed.first, last = first + r->owed.count;
    if (((int64_t)s.first + s.count) * of <= first * s.of || s.first * of >= last * s.of) s.count = 0;
    return s;
}

static tutti_slice composed_slice(const tutti_composition *c, int exchange, int invocation, const tutti_slice *s)
{
    const tutti_plan_exchange *x = &c->plan->exchanges[exchange];
    const int buffer = composed_buffer(c, exchange, s->rank, s->buffer, invocation);
    if (c->loops) /* the exchange's vector is one of `count` parts */
        return of_class(c, (tutti_slice){tutti_plan_member(x, s->rank), buffer, (int32_t)x->first * s->of + s->first,
                                         s->count, (int32_t)x->count * s->of});
    const tutti_stretch range = tutti_composition_stretch(c, x->in.memory, x->first, x->count);
    const int64_t n = range.last - range.first, first = range.first + s->first * n / s->of;
    const int64_t last = range.first + ((int64_t)s->first + s->count) * n / s->of;
    return slice_of(c, tutti_plan_member(x, s->rank), buffer, first, last);
}

/* Adds the loop's steps that must be done before a step of an exchange may start: the steps that tell the exchange that
 * it is ready and free. Before its first step also: the step that waited for the invocation before, or, if that wait
 * was beside the loop, the step that starts this invocation. */
static void add_conditions(composer *k, int exchange, int invocation, const tutti_step *s, bool first)
{
    const tutti_unrolled *l = &k->loop;
    const int at = tutti_composition_at(k->c, invocation, exchange), before = at - k->c->plan->nexchanges;
    const int base = l->nexchange_steps;
    if (s->when & TUTTI_WHEN_READY) tutti_part_dep(k->b, base + l->ready[at]);
    if (s->when & TUTTI_WHEN_FREE) tutti_part_dep(k->b, base + l->is_free[at]);
    if (!first || !invocation || l->waited[before] < 0) return;
    tutti_part_dep(k->b, base + (l->steps[l->waited[before]].part ? l->begun[at] : l->waited[before]));
}

static void add_exchange(composer *k, int exchange, int invocation)
{
    const tutti_composition *c = k->c;
    const tutti_part *part = tutti_composition_part(c, exchange, k->rank);
    const int n = c->plan->nexchanges, first_step = k->b->part.nsteps;
    bool *begun = tutti_alloc(sizeof(bool) * (size_t)c->nsequences);
    for (int i = 0; i < part->nsteps; i++) {
        tutti_step s = part->steps[i];
        const unsigned when = s.when;
        s.stage = 0;
        s.when = 0;
        s.hint = 0;
        s.sequence = 1 + exchange * c->nsequences + part->steps[i].sequence;
        if (s.channel >= 0) s.channel = s.channel * n + exchange;
        if (s.peer >= 0) s.peer = tutti_plan_member(&c->plan->exchanges[exchange], s.peer);
        tutti_part_step(k->b, &s);
        for (int j = 0; j < s.nins; j++) {
            const tutti_slice slice = composed_slice(c, exchange, invocation, &part->slices[s.first_in + j]);
            if (s.kind == TUTTI_STEP_REDUCE)
                tutti_part_fold(k->b, slice, part->folds[s.first_fold + j]);
            else
                tutti_part_in(k->b, slice);
        }
        for (int j = 0; j < s.nouts; j++)
            tutti_part_out(k->b, composed_slice(c, exchange, invocation, &part->slices[s.first_out + j]));
        for (int j = 0; j < s.ndeps; j++) tutti_part_dep(k->b, first_step + part->deps[s.first_dep + j]);
        s.when = when;
        add_conditions(k, exchange, invocation, &s, !begun[part->steps[i].sequence]);
        begun[part->steps[i].sequence] = true;
    }
    free(begun);
}

/* ---- the loop ---- */

/* Adds waits for the last step of each sequence of an exchange. */
static void add_wait(composer *k, const tutti_loop_step *s)
{
    const tutti_composition *c = k->c;
    const tutti_part *part = tutti_composition_part(c, s->exchange, k->rank);
    const int base = k->loop.first_step[tutti_composition_at(c, s->invocation, s->exchange)];
    for (int q = 0; q < c->nsequences; q++) {
        int last = -1;
        for (int i = 0; i < part->nsteps; i++)
            if (part->steps[i].sequence == q) last = i;
        if (last >= 0) tutti_part_dep(k->b, base + last);
    }
}

static tutti_slice touched_slice(const tutti_composition *c, int rank, int buffer, const tutti_loop_step *s)
{
    if (!s->of) return slice_of(c, rank, buffer, s->first, s->last);
    return of_class(c, (tutti_slice){rank, buffer, (int32_t)s->first, (int32_t)(s->last - s->first), s->of});
}

static void add_loop_step(composer *k, const tutti_loop_step *s)
{
    const int sequence = s->part ? k->c->plan->nexchanges * k->c->nsequences + s->part : 0;
    const tutti_step step = tutti_local_step(s->kind, sequence, 0, s->when);
    tutti_part_step(k->b, &step);
    for (int i = 0; i < 2 && s->from[i] >= 0; i++) {
        const bool is_peers = s->peer >= 0 && (i == 1 || s->from[1] < 0);
        const tutti_slice slice = touched_slice(k->c, is_peers ? s->peer : k->rank, s->from[i], s);
        if (s->kind == TUTTI_STEP_REDUCE)
            tutti_part_fold(k->b, slice, i);
        else
            tutti_part_in(k->b, slice);
    }
    if (s->to >= 0) tutti_part_out(k->b, touched_slice(k->c, k->rank, s->to, s));
    if (s->exchange >= 0) add_wait(k, s);
    if (s->after >= 0) tutti_part_dep(k->b, k->loop.nexchange_steps + s->after);
}

static void composed_part(const void *owner, int32_t rank, tutti_part *out)
{
    const tutti_composition *c = owner;
    tutti_part_builder builder;
    composer k = {.c = c, .rank = rank, .b = &builder};
    tutti_part_begin(&builder, rank);
    if (c->loops)
        k.loop = c->loops[rank];
    else
        tutti_composition_unroll(c, rank, &k.arena, &k.loop, NULL); /* this cannot fail, as the check has made sure */
    add_buffers(&k);
    for (int i = 0; i < c->most_invocations; i++)
        for (int x = 0; x < c->plan->nexchanges; x++)
            if (i < c->ninvocations[x]) add_exchange(&k, x, i);
    for (int i = 0; i < k.loop.nsteps; i++) add_loop_step(&k, &k.loop.steps[i]);
    tutti_part_finish(&builder, out);
    tutti_arena_release(&k.arena);
}

static bool owed(const void *owner, int32_t rank, int32_t i, tutti_slice *out)
{
    const tutti_composition *c = owner;
    tutti_stretch stretch;
    if (c->owes_nothing || (c->loops && i > 0)) return false;
    if (c->refutation && c->refutation->owed.of) {
        *out = c->refutation->owed;
        out->rank = rank;
        return true;
    }
    if (c->loops) {
        *out = (tutti_slice){rank, 0, c->owed_parts > 1 ? tutti_plan_position(c->plan, rank) : 0, 1, c->owed_parts};
        return true;
    }
    if (!tutti_composition_owed(c, rank, i, &stretch)) return false;
    *out = slice_of(c, rank, 0, stretch.first, stretch.last);
    return true;
}

tutti_status tutti_composition_check(tutti_composition *c, tutti_failure *err)
{
    tutti_arena arena = {0};
    tutti_status st = TUTTI_OK;
    if (!c->loops && !c->edges) tutti_composition_find_edges(c);
    for (int r = 0; r < c->nranks && st == TUTTI_OK && !c->loops; r++) {
        tutti_unrolled loop;
        st = tutti_composition_unroll(c, r, &arena, &loop, err);
        tutti_arena_reset(&arena);
    }
    const tutti_part_source source = {.head = &c->head,
                                      .part = composed_part,
                                      .release = tutti_part_release,
                                      .owner = c,
                                      .headway = c->headway,
                                      .sums_wrong = c->refutation ? &c->refutation->sums_wrong : NULL,
                                      .races = c->refutation ? &c->refutation->races : NULL,
                                      .leaves_a_rank = tutti_plan_naccumulated(&c->plan->config),
                                      .inputs_are_symbols = c->plan->graph->nsplit > 0,
                                      .owed = c->plan->graph->nsplit || c->owes_nothing ? owed : NULL,
                                      .describe_step = tutti_plan_describe_step,
                                      .describe_cell = tutti_plan_describe_cell};
    tutti_check_report report = {0};
    if (st == TUTTI_OK) st = tutti_check_source(&source, &report, err);
    if (st == TUTTI_OK && !report.agree && c->head.collective == TUTTI_ALLREDUCE)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: ranks hold sums of the same numbers in different orders",
                        c->plan->memories[c->result].name);
    tutti_arena_release(&arena);
    return st;
}

/* Proves that `memory` holds what the method declares. The proof also covers everything that is the same for any choice
 * of `memory`, such as races. */
static tutti_status check_result(const tutti_plan *p, int memory, tutti_loop_driver last, tutti_proved_keys *proved,
                                 tutti_failure *err)
{
    tutti_composition c;
    tutti_status st = tutti_composition_create(&c, p, memory, last, err);
    c.headway = proved->headway;
    proved->err = err;
    if (!st && !tutti_composition_prove_alike(&c, proved))
        st = proved->is_refuted ? TUTTI_ERR_FAILED : tutti_composition_check(&c, err);
    tutti_composition_release(&c);
    return st;
}

/* Checks that nothing writes frozen parameters, which lie behind the packed vector: no exchange and no update may reach
 * that far. So their readers need not wait for anything. */
static tutti_status check_frozen(const tutti_plan *p, tutti_failure *err)
{
    tutti_arena arena = {0};
    tutti_status st = TUTTI_OK;
    for (int x = 0; x < p->nexchanges && !st; x++) {
        const tutti_plan_exchange *e = &p->exchanges[x];
        const tutti_memory_role role = p->memories[e->out.memory].role;
        if (role != TUTTI_ROLE_NUMBERS && role != TUTTI_ROLE_TRAVELLING && e->first + e->count > p->total)
            st = tutti_fail(err, TUTTI_ERR_FAILED,
                            "%s: goes to element %" PRId64 ", frozen parameters begin at %" PRId64, e->name,
                            e->first + e->count, p->total);
    }
    for (int r = 0; r < p->config.nranks && !st; r++) {
        tutti_loop loops[TUTTI_NDRIVERS];
        tutti_plan_list_loops(p, r, &arena, loops);
        if (r == p->config.rank) memcpy(loops, p->loops, sizeof loops);
        for (int d = 0; d < TUTTI_NDRIVERS; d++)
            for (int i = 0; i < loops[d].nactions && !st; i++)
                if (loops[d].actions[i].first + loops[d].actions[i].count > p->total)
                    st = tutti_fail(err, TUTTI_ERR_FAILED,
                                    "rank %d: an update of bucket %d goes beyond element %" PRId64
                                    ", where frozen parameters begin",
                                    r, loops[d].actions[i].bucket, p->total);
        tutti_arena_reset(&arena);
    }
    tutti_arena_release(&arena);
    return st;
}

tutti_status tutti_plan_check(const tutti_plan *p, tutti_failure *err)
{
    return tutti_plan_check_told(p, NULL, err);
}

tutti_status tutti_plan_check_told(const tutti_plan *p, const tutti_headway *headway, tutti_failure *err)
{
    tutti_proved_keys proved = {.headway = headway};
    tutti_status st = tutti_plan_check_arena(p, err);
    if (!st) st = check_frozen(p, err);
    if (!st) st = tutti_plan_check_all_visits(p, err);
    if (!st) st = tutti_plan_check_split(p, err);
    if (!st) st = tutti_plan_check_served(p, err);
    for (int m = 0; m < p->nmemories && !st; m++) {
        if (p->memories[m].holds != TUTTI_HOLDS_ALL || p->memories[m].role == TUTTI_ROLE_NUMBERS) continue;
        st = check_result(p, m, TUTTI_EACH_PERIOD, &proved, err);
        for (int d = TUTTI_EACH_TEST; d < TUTTI_NDRIVERS && !st; d++)
            if (tutti_plan_has_loop(p, (tutti_loop_driver)d))
                st = check_result(p, m, (tutti_loop_driver)d, &proved, err);
    }
    free(proved.keys);
    if (!st) st = tutti_plan_check_types(p, err);
    return st ? st : tutti_plan_check_looks(p, err);
}
