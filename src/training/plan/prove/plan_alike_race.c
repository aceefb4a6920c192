/* SPDX-License-Identifier: Apache-2.0 */
/* plan_alike_race.c: decides whether two accesses that race in a class race in the whole, too (plan_alike.h).
 *
 * The whole has more waits than a class: those of all other zones' exchanges. So the class gets these exchanges, each
 * replaced by a meeting: every member says to the first one that the exchange is ready and free, and then hears from
 * the first one that all are. A meeting has no memory and four steps a member, and it orders whatever the exchange
 * could order: its end comes after everything that any member did before it was ready and free. So two accesses that
 * meetings leave unordered are unordered in the whole. If meetings order them, only the whole knows. Meetings deadlock
 * nowhere, because tutti_alike_all_end has ended each exchange in the same way. */
#include <stdlib.h>
#include <string.h>

#include "../../../collective/schedule/part_builder.h"
#include "plan_alike.h"

/* A copy of the tutti_alikes that a class belongs to, with meetings in place of the exchanges of other zones. */
typedef struct {
    tutti_alikes alikes;
    tutti_composition whole;
    tutti_plan plan;
    tutti_composed_schedule *schedules; /* the plan's schedules; behind them meetings, by number of members */
    int nschedules;
    tutti_arena arena;
} meetings;

static void add_step(tutti_part_builder *b, tutti_step_kind kind, int peer, unsigned when)
{
    tutti_step s = tutti_local_step(kind, 0, 0, when);
    s.peer = peer;
    if (peer >= 0) s.channel = 0;
    tutti_part_step(b, &s);
}

static void make_part(int place, int nmembers, tutti_part *out)
{
    enum { BOTH = TUTTI_WHEN_READY | TUTTI_WHEN_FREE };
    tutti_part_builder b;
    tutti_part_begin(&b, place);
    if (place > 0) {
        add_step(&b, TUTTI_STEP_SIGNAL, 0, BOTH);
        add_step(&b, TUTTI_STEP_WAIT, 0, 0);
    } else {
        add_step(&b, TUTTI_STEP_NOP, -1, BOTH);
        for (int i = 1; i < nmembers; i++) add_step(&b, TUTTI_STEP_WAIT, i, 0);
        for (int i = 1; i < nmembers; i++) add_step(&b, TUTTI_STEP_SIGNAL, i, 0);
    }
    tutti_part_finish(&b, out);
}

/* Returns the schedule of a meeting, which stands for an exchange: its members wait for each other and move no data. */
static int meeting_of(meetings *m, const tutti_plan_exchange *x)
{
    const int at = m->nschedules + x->nmembers;
    tutti_composed_schedule *s = &m->schedules[at];
    if (s->parts) return at;
    *s = m->schedules[x->schedule];
    s->nranks = x->nmembers;
    s->nsequences = s->nbanks = 1;
    s->parts = TUTTI_ARENA_NEW(&m->arena, tutti_part, x->nmembers);
    for (int i = 0; i < x->nmembers; i++) make_part(i, x->nmembers, &s->parts[i]);
    return at;
}

/* Adds meetings to the zone of the class. */
static void begin_meetings(meetings *m, const tutti_alikes *a, const tutti_alike *k)
{
    const tutti_plan *p = a->c->plan;
    *m = (meetings){.alikes = *a, .whole = *a->c, .plan = *p, .nschedules = p->nschedules};
    m->alikes.c = &m->whole;
    m->whole.plan = &m->plan;
    m->whole.schedules = m->schedules =
        TUTTI_ARENA_NEW(&m->arena, tutti_composed_schedule, p->nschedules + a->c->nranks + 1);
    memcpy(m->schedules, a->c->schedules, sizeof *m->schedules * (size_t)p->nschedules);
    m->plan.exchanges = TUTTI_ARENA_NEW(&m->arena, tutti_plan_exchange, p->nexchanges + 1);
    memcpy(m->plan.exchanges, p->exchanges, sizeof *p->exchanges * (size_t)p->nexchanges);
    m->alikes.zones = TUTTI_ARENA_NEW(&m->arena, tutti_zone, a->nzones);
    memcpy(m->alikes.zones, a->zones, sizeof *a->zones * (size_t)a->nzones);
    tutti_zone *z = &m->alikes.zones[k->zone];
    const tutti_zone own = *z;
    z->exchanges = TUTTI_ARENA_NEW(&m->arena, int, p->nexchanges + 1);
    memcpy(z->exchanges, own.exchanges, sizeof *own.exchanges * (size_t)own.nexchanges);
    for (int i = 0; i < p->nexchanges; i++) {
        tutti_plan_exchange *x = &m->plan.exchanges[i];
        if (tutti_zone_place(&own, i) >= 0) continue;
        z->exchanges[z->nexchanges++] = i;
        x->schedule = meeting_of(m, x);
        x->first = z->first, x->count = z->last - z->first;
    }
}

static void end_meetings(meetings *m, int nranks)
{
    for (int n = 0; n <= nranks; n++) {
        tutti_composed_schedule *s = &m->schedules[m->nschedules + n];
        for (int i = 0; s->parts && i < n; i++) tutti_part_release(&s->parts[i]);
    }
    tutti_arena_release(&m->arena);
}

/* Gives a zone of numbers, and its class, the range of the index space that they have in the composition of the whole
 * plan. */
static void place_numbers(const tutti_alikes *a, const tutti_zone *z, tutti_composition *own, tutti_stretch *class)
{
    int m = 0;
    if (!z->window) return;
    while (a->window[m] != z->window) m++;
    *class = own->zone = tutti_composition_stretch(a->c, m, z->first, z->last - z->first);
}

bool tutti_alike_find_race(const tutti_alikes *a, const tutti_alike *k, tutti_failure *err)
{
    const tutti_zone *z = &a->zones[k->zone];
    const bool is_whole = k->first == z->first && k->last == z->last;
    meetings m;
    tutti_plan plan;
    tutti_composition own;
    tutti_failure words = {0};
    tutti_refutation result = {.class = {k->first, k->last}};
    if (z->shared && !is_whole) return false;
    begin_meetings(&m, a, k);
    tutti_alike_compose(&m.alikes, k, &plan, &own);
    place_numbers(a, z, &own, &result.class);
    own.refutation = &result;
    result.leaves_others = true;
    if (!z->shared && !z->window) result.owed = tutti_alike_parts(z, k);
    own.owes_nothing = true;
    const bool found = tutti_composition_check(&own, &words) && result.races && !result.misses;
    tutti_arena_release(&own.arena);
    end_meetings(&m, a->c->nranks);
    if (found) tutti_fail(err, TUTTI_ERR_FAILED, "%s", words.text);
    return found;
}
