/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_times.c: keeps how long each exchange of a plan takes on a topology, as lines over sizes. */
#include "exchange_times.h"

#include <stdlib.h>
#include <string.h>

#include "../collective/simulate/events/flows.h"

typedef struct tutti_exchange_line {
    const tutti_schedule *schedule; /* the compiled schedule, before lowering */
    int nmembers;
    int32_t *members; /* the members of the exchange, copied; NULL means all ranks */
    tutti_time_line line;
} exchange_line;

/* Writes the topology as the members of an exchange see it: each on its own seat. If seats cannot be listed, all are
 * alike. */
static tutti_status seat_members(const tutti_topology *t, const tutti_plan_exchange *x, tutti_topology *out,
                                 tutti_failure *err)
{
    int32_t seat[TUTTI_MAX_SEATS_LISTED];
    *out = *t;
    if (!x->members || !tutti_topology_has_place(t, TUTTI_PLACE_LIST)) return TUTTI_OK;
    if (x->nmembers > TUTTI_MAX_SEATS_LISTED)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "%s: %d ranks of more exchange something, and seats of at most %d are known one by one",
                          x->name, x->nmembers, TUTTI_MAX_SEATS_LISTED);
    for (int i = 0; i < x->nmembers; i++) seat[i] = tutti_topology_seat_of(t, x->members[i]);
    tutti_topology_place(out, x->nmembers, seat);
    return TUTTI_OK;
}

/* True if some members map each other's memory on the topology, so that the lowered schedule must be timed. */
static bool maps_memory(const tutti_schedule_header *lowered, const tutti_topology *t)
{
    bool maps = false, agrees = lowered->wire == TUTTI_WIRE_MAPPED || lowered->host_of;
    const int nranks = lowered->nranks;
    int32_t *sits = tutti_alloc((size_t)nranks * sizeof *sits), *first = tutti_alloc((size_t)nranks * sizeof *first);
    tutti_topology_hosts(t, nranks, sits);
    for (int r = nranks - 1; r >= 0; r--) first[lowered->host_of ? lowered->host_of[r] : 0] = r;
    for (int r = 0; r < nranks && agrees; r++) {
        maps |= sits[r] != r;
        agrees = sits[r] == sits[first[lowered->host_of ? lowered->host_of[r] : 0]];
    }
    free(sits);
    free(first);
    return maps && agrees;
}

/* Returns the schedule that runs on the topology. Members that map no memory of each other run the compiled schedule,
 * which takes as long as the lowered one. */
static const tutti_schedule *what_runs(const tutti_prepared *s, const tutti_topology *t)
{
    if (t->kind == TUTTI_TOPOLOGY_HOST || maps_memory(tutti_schedule_head(s->lowered), t)) return s->lowered;
    return s->compiled;
}

static bool has_members(const exchange_line *l, const tutti_plan_exchange *x)
{
    if (!l->members || !x->members) return l->members == x->members;
    return l->nmembers == x->nmembers && !memcmp(l->members, x->members, sizeof *x->members * (size_t)x->nmembers);
}

static const tutti_time_line *find_line(const tutti_exchange_times *times, const tutti_schedule *s,
                                        const tutti_plan_exchange *x)
{
    for (int i = 0; i < times->nlines; i++)
        if (times->lines[i].schedule == s && has_members(&times->lines[i], x)) return &times->lines[i].line;
    return NULL;
}

static tutti_status add_line(tutti_exchange_times *times, const tutti_prepared *s, const tutti_plan_exchange *x,
                             const tutti_topology *seated, const tutti_time_line **out, tutti_failure *err)
{
    if (times->nlines == times->room) {
        times->room = times->room ? 2 * times->room : 16;
        times->lines = tutti_realloc(times->lines, sizeof *times->lines * (size_t)times->room);
    }
    exchange_line *l = &times->lines[times->nlines];
    *l = (exchange_line){.schedule = s->compiled, .nmembers = x->nmembers};
    const tutti_status st = tutti_simulate_line(what_runs(s, seated), seated, &l->line, err);
    if (st) return st;
    const size_t nbytes = sizeof *l->members * (size_t)x->nmembers;
    if (x->members) l->members = memcpy(tutti_alloc(nbytes), x->members, nbytes);
    times->nlines++;
    *out = &l->line;
    return TUTTI_OK;
}

tutti_status tutti_exchange_times_at(tutti_exchange_times *times, int exchange, int64_t n, tutti_simulation *out,
                                     tutti_failure *err)
{
    const tutti_plan *plan = times->plan;
    const tutti_plan_exchange *x = &plan->exchanges[exchange];
    const int64_t sent = (int64_t)tutti_dtype_bytes(x->sent ? x->sent : plan->memories[x->in.memory].type);
    const int schedule = tutti_plan_schedule_of_size(plan, x->schedule, n * TUTTI_ELEMENT_BYTES);
    const tutti_prepared *s = &plan->schedules[schedule];
    const int64_t travels = n * sent / TUTTI_ELEMENT_BYTES;
    const tutti_time_line *line = find_line(times, s->compiled, x);
    *out = (tutti_simulation){.bottleneck = -1};
    if (!line) {
        tutti_topology seated;
        tutti_status st = tutti_topology_fits(times->topology, plan->config.nranks, err);
        if (!st) st = seat_members(times->topology, x, &seated, err);
        if (st || plan->config.nranks == 1) return st;
        if (x->nmembers <= TUTTI_EXACT_RANKS && !times->by_lines)
            return tutti_simulate_schedule(what_runs(s, &seated), &seated, travels, out, err);
        st = add_line(times, s, x, &seated, &line, err);
        if (st) return st;
    }
    tutti_time_line_at(line, travels, out);
    return TUTTI_OK;
}

void tutti_exchange_times_release(tutti_exchange_times *times)
{
    for (int i = 0; i < times->nlines; i++) free(times->lines[i].members);
    free(times->lines);
    times->lines = NULL;
    times->nlines = times->room = 0;
}
