/* SPDX-License-Identifier: Apache-2.0 */
/* plan_alike_prove.c: proves one class of elements, and that all ranks come to an end (plan_alike.h). */
#include <stdlib.h>
#include <string.h>

#include "plan_alike.h"

/* ---- a class as a composition of its own ---- */

/* True if the rank tells the zone's exchanges something at this position, or waits for them. */
static bool tells(const tutti_rank_loop *r, const tutti_zone *z, int position)
{
    for (int t = position >= 0 ? r->head[position] : -1; t >= 0; t = r->told[t].next)
        if (tutti_zone_place(z, r->told[t].exchange) >= 0) return true;
    return false;
}

/* Converts the step's range to fractions of the zone's vector; false: the step does not touch the class. */
static bool take_step(const tutti_alikes *a, const tutti_alike *k, int rank, const tutti_loop_step *s,
                      tutti_loop_step *out)
{
    int window;
    *out = *s;
    if (s->to < 0 || !tutti_alike_place(a, rank, s, &window)) return false;
    const tutti_touched touched = tutti_alike_touched(a, k, s, window);
    out->of = touched.of;
    out->first = touched.first;
    out->last = touched.last;
    return touched.last > 0;
}

static void take_tables(const tutti_alikes *a, const tutti_composition *own, const tutti_zone *z, int rank,
                        const int *place_of, tutti_unrolled *out)
{
    const tutti_unrolled *l = &a->ranks[rank].loop;
    for (int i = 0; i < own->most_invocations; i++)
        for (int x = 0; x < z->nexchanges; x++) {
            const int at = tutti_composition_at(own, i, x), from = tutti_composition_at(a->c, i, z->exchanges[x]);
            out->begun[at] = l->begun[from] < 0 ? -1 : place_of[l->begun[from]];
            out->ready[at] = l->ready[from] < 0 ? -1 : place_of[l->ready[from]];
            out->is_free[at] = l->is_free[from] < 0 ? -1 : place_of[l->is_free[from]];
            out->waited[at] = l->waited[from] < 0 ? -1 : place_of[l->waited[from]];
        }
}

/* Copies to *out, in their order, the steps of the rank's loop that touch the class `k`, tell the zone's exchanges
 * conditions, or wait for these exchanges. It leaves out all other steps but the first. */
static void take_loop(const tutti_alikes *a, const tutti_alike *k, tutti_composition *own, int rank,
                      tutti_unrolled *out)
{
    const tutti_rank_loop *r = &a->ranks[rank];
    const tutti_zone *z = &a->zones[k->zone];
    int *place_of = tutti_alloc(sizeof *place_of * (size_t)(r->loop.nsteps + 1)), capacity = 0;
    tutti_loop_step *steps = NULL, step;
    *out = (tutti_unrolled){0};
    tutti_composition_tables(own, rank, &own->arena, out);
    for (int i = 0; i < r->loop.nsteps; i++) {
        const tutti_loop_step *s = &r->loop.steps[i];
        place_of[i] = -1;
        if (!take_step(a, k, rank, s, &step) && i && !tells(r, z, i) && !tells(r, z, s->after)) continue;
        step.exchange = step.exchange < 0 ? -1 : tutti_zone_place(z, step.exchange);
        step.after = step.after < 0 ? -1 : place_of[step.after];
        place_of[i] = out->nsteps;
        steps = tutti_grow(steps, out->nsteps, &capacity, sizeof *steps);
        steps[out->nsteps++] = step;
    }
    take_tables(a, own, z, rank, place_of, out);
    out->steps = TUTTI_ARENA_NEW(&own->arena, tutti_loop_step, out->nsteps + 1);
    memcpy(out->steps, steps, sizeof *steps * (size_t)out->nsteps);
    free(steps);
    free(place_of);
}

/* Expresses the exchange's vector in parts of the zone's vector: x->count becomes the number of parts, x->first the
 * number of the part. */
static void place_vector(const tutti_alikes *a, const tutti_zone *z, tutti_plan_exchange *x)
{
    const int64_t first = x->first - z->first, count = x->count;
    const bool is_part = z->shared && !a->window[x->in.memory];
    x->first = is_part ? first / count : 0;
    x->count = is_part ? (z->last - z->first) / count : 1;
}

void tutti_alike_compose(const tutti_alikes *a, const tutti_alike *k, tutti_plan *plan, tutti_composition *own)
{
    const tutti_zone *z = &a->zones[k->zone];
    const tutti_composition *c = a->c;
    *plan = *c->plan;
    *own = *c;
    own->arena = (tutti_arena){0};
    own->plan = plan;
    own->named = c->plan;
    plan->nexchanges = z->nexchanges;
    plan->exchanges = TUTTI_ARENA_NEW(&own->arena, tutti_plan_exchange, z->nexchanges + 1);
    own->ninvocations = TUTTI_ARENA_NEW(&own->arena, int, z->nexchanges + 1);
    own->most_invocations = 0;
    for (int i = 0; i < z->nexchanges; i++) {
        plan->exchanges[i] = c->plan->exchanges[z->exchanges[i]];
        place_vector(a, z, &plan->exchanges[i]);
        own->ninvocations[i] = c->ninvocations[z->exchanges[i]];
        if (own->ninvocations[i] > own->most_invocations) own->most_invocations = own->ninvocations[i];
    }
    tutti_composition_number(own);
    tutti_unrolled *loops = TUTTI_ARENA_NEW(&own->arena, tutti_unrolled, c->nranks);
    for (int r = 0; r < c->nranks; r++) take_loop(a, k, own, r, &loops[r]);
    own->loops = loops;
    own->zone = (tutti_stretch){z->first, z->last};
    own->owes_nothing = !z->is_owed;
    own->owed_parts = z->shared && c->last < TUTTI_EACH_TEST ? z->shared : 1;
}

bool tutti_alike_prove(const tutti_alikes *a, const tutti_alike *k)
{
    tutti_plan plan;
    tutti_composition own;
    tutti_alike_compose(a, k, &plan, &own);
    const bool holds = tutti_composition_check(&own, NULL) == TUTTI_OK;
    tutti_arena_release(&own.arena);
    return holds;
}

/* True if in the whole composition, too, each rank must end with correct sums: of all elements of the class or, if
 * `parts` is not 1, of the rank's part of the zone. */
static bool is_owed(const tutti_alikes *a, const tutti_alike *k, int parts)
{
    const tutti_zone *z = &a->zones[k->zone];
    const int64_t n = z->last - z->first;
    bool all = true;
    for (int r = 0; r < a->c->nranks && all; r++) {
        const int part = tutti_plan_position(a->c->plan, r);
        const int64_t first = parts > 1 ? z->first + part * n / parts : k->first;
        const int64_t last = parts > 1 ? z->first + (part + 1) * n / parts : k->last;
        tutti_stretch owed;
        all = false;
        for (int i = 0; !all && tutti_composition_owed(a->c, r, i, &owed); i++)
            all = owed.first <= first && last <= owed.last;
    }
    return all;
}

tutti_slice tutti_alike_parts(const tutti_zone *z, const tutti_alike *k)
{
    const int64_t n = z->last - z->first, of = z->nparts;
    int64_t first = 0, last = of;
    while ((first + 1) * n / of <= k->first - z->first) first++;
    while ((last - 1) * n / of >= k->last - z->first) last--;
    return (tutti_slice){0, 0, (int32_t)first, (int32_t)(last - first), (int32_t)of};
}

bool tutti_alike_refute(const tutti_alikes *a, const tutti_alike *k, tutti_failure *err)
{
    const tutti_zone *z = &a->zones[k->zone];
    const bool is_whole = k->first == z->first && k->last == z->last;
    tutti_plan plan;
    tutti_composition own;
    tutti_failure words = {0};
    tutti_refutation result = {.class = {k->first, k->last}};
    if (z->window || (z->shared && !is_whole)) return false;
    tutti_alike_compose(a, k, &plan, &own);
    if (!z->shared) result.owed = tutti_alike_parts(z, k);
    own.refutation = &result;
    bool refuted =
        is_owed(a, k, own.owed_parts) && tutti_composition_check(&own, &words) && result.sums_wrong && !result.misses;
    own.refutation = NULL;
    own.owes_nothing = true; /* now the check only looks for races */
    refuted = refuted && !tutti_composition_check(&own, NULL);
    tutti_arena_release(&own.arena);
    if (refuted) tutti_fail(err, TUTTI_ERR_FAILED, "%s", words.text);
    return refuted;
}

/* ---- no rank waits for ever ---- */

typedef struct {
    int rank, part, at; /* at: the next position; nsteps at the end */
} runner;

typedef struct {
    const tutti_alikes *a;
    runner *runners;
    int nrunners;
    bool **passed; /* per rank and position: the rank has passed the position */
    int *told;     /* per invocation and exchange: how many times the exchange was told something */
    int *ended;    /* per exchange: invocations that have ended */
} play;

static void skip(const play *y, runner *r)
{
    const tutti_unrolled *l = &y->a->ranks[r->rank].loop;
    while (r->at < l->nsteps && l->steps[r->at].part != r->part) r->at++;
}

/* Adds the rank's sequences: its loop, and each part of the loop EACH_END. */
static void add_runners(play *y, int rank, int *capacity)
{
    const tutti_unrolled *l = &y->a->ranks[rank].loop;
    int nparts = 0;
    for (int i = 0; i < l->nsteps; i++)
        if (l->steps[i].part > nparts) nparts = l->steps[i].part;
    for (int p = 0; p <= nparts; p++) {
        y->runners = tutti_grow(y->runners, y->nrunners, capacity, sizeof *y->runners);
        y->runners[y->nrunners] = (runner){rank, p, 0};
        skip(y, &y->runners[y->nrunners++]);
    }
}

/* Notes a message to an exchange. When all members have begun an invocation and told it both conditions, it ends, once
 * the invocations before it have ended. */
static void tell(play *y, const tutti_told *t)
{
    const tutti_composition *c = y->a->c;
    if (t->kind == TUTTI_TOLD_WAITED) return;
    y->told[tutti_composition_at(c, t->invocation, t->exchange)]++;
    int *ended = &y->ended[t->exchange];
    while (*ended < c->ninvocations[t->exchange] &&
           y->told[tutti_composition_at(c, *ended, t->exchange)] == 3 * c->plan->exchanges[t->exchange].nmembers)
        ++*ended;
}

static bool advance(play *y, runner *r)
{
    const tutti_rank_loop *l = &y->a->ranks[r->rank];
    bool moved = false;
    while (r->at < l->loop.nsteps) {
        const tutti_loop_step *s = &l->loop.steps[r->at];
        if (s->exchange >= 0 && y->ended[s->exchange] <= s->invocation) break;
        if (s->after >= 0 && !y->passed[r->rank][s->after]) break;
        y->passed[r->rank][r->at] = moved = true;
        for (int t = l->head[r->at]; t >= 0; t = l->told[t].next) tell(y, &l->told[t]);
        r->at++;
        skip(y, r);
    }
    return moved;
}

bool tutti_alike_all_end(const tutti_alikes *a)
{
    const tutti_plan *p = a->c->plan;
    tutti_arena work = {0};
    int capacity = 0;
    play y = {.a = a,
              .passed = TUTTI_ARENA_NEW(&work, bool *, a->c->nranks),
              .told = TUTTI_ARENA_NEW(&work, int, a->c->most_invocations * p->nexchanges + 1),
              .ended = TUTTI_ARENA_NEW(&work, int, p->nexchanges + 1)};
    for (int r = 0; r < a->c->nranks; r++) {
        y.passed[r] = TUTTI_ARENA_NEW(&work, bool, a->ranks[r].loop.nsteps + 1);
        add_runners(&y, r, &capacity);
    }
    bool moved = true, all = true;
    while (moved) {
        moved = false;
        for (int i = 0; i < y.nrunners; i++) moved |= advance(&y, &y.runners[i]);
    }
    for (int i = 0; i < y.nrunners; i++) all &= y.runners[i].at == a->ranks[y.runners[i].rank].loop.nsteps;
    free(y.runners);
    tutti_arena_release(&work);
    return all;
}
