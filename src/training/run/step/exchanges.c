/* SPDX-License-Identifier: Apache-2.0 */
/* exchanges.c: allocates the memories of a plan, and creates its exchanges on them. Nothing is copied in order to be
 * sent.
 *
 * All memories of numbers, and of data that ranks of shared layers send each other, lie in one region; all seats lie in
 * another. Fewer regions are better, because each region costs all ranks a round of messages. */
#include <assert.h>
#include <stdlib.h>

#include "../../../base/arena.h"
#include "../../../collective/exchange/device_regions.h"
#include "exchanges.h"

enum { ALIGNMENT = 64 };

/* ---- memories ---- */

static int rank_of(const tutti_shared *s)
{
    return tutti_group_rank(s->group);
}

/* Makes a memory with a region of its own. from: the rank whose copy of the memory this rank will use. */
static tutti_status create_region(tutti_shared *s, int m, int from, tutti_failure *err)
{
    const tutti_plan_memory *what = &s->plan->memories[m];
    const size_t mine = from == rank_of(s) ? (size_t)tutti_plan_memory_bytes(what) : 0;
    tutti_status st = tutti_device_create_region(s->device, s->group, what->name, mine, &s->place[m].region, err);
    if (!st) s->memory[m] = tutti_region_base(s->place[m].region, from);
    return st;
}

/* True if the memory shares a region with others. seats true: asks about the region of the seats, which are all at rank
 * 0. seats false: asks about the region of numbers and of data that ranks of shared layers exchange. */
static bool is_together(const tutti_plan_memory *m, bool seats)
{
    const bool is_seat = m->role == TUTTI_ROLE_SEAT;
    return m->is_region &&
           (is_seat ? seats : !seats && (m->role == TUTTI_ROLE_NUMBERS || m->role == TUTTI_ROLE_TRAVELLING));
}

static tutti_status create_together(tutti_shared *s, bool seats, tutti_failure *err)
{
    const tutti_plan *plan = s->plan;
    const bool has_own = !seats || rank_of(s) == 0;
    tutti_region **region = seats ? &s->seats : &s->numbers;
    int64_t nbytes = 0;
    for (int m = 0; m < plan->nmemories; m++)
        if (is_together(&plan->memories[m], seats)) {
            s->place[m].offset = (size_t)nbytes;
            nbytes += (tutti_plan_memory_bytes(&plan->memories[m]) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    if (!nbytes) return TUTTI_OK;
    const tutti_status st = tutti_device_create_region(s->device, s->group, seats ? "seats" : "numbers",
                                                       has_own ? (size_t)nbytes : 0, region, err);
    char *own = st ? NULL : tutti_region_base(*region, rank_of(s));
    for (int m = 0; m < plan->nmemories && !st; m++)
        if (is_together(&plan->memories[m], seats)) {
            s->place[m].region = *region;
            s->memory[m] = has_own ? own + s->place[m].offset : NULL;
        }
    return st;
}

/* True if this rank holds the memory itself. Only rank 0 holds a common memory; but a rank of another host also holds
 * the memory that is tested, because it gets the values to test. */
static bool has_own(const tutti_shared *s, int m)
{
    const int rank = rank_of(s);
    return !s->plan->memories[m].is_common || rank == 0 || (m == s->plan->answer && tutti_plan_is_far(s->plan, rank));
}

static tutti_status create_memory(tutti_shared *s, int m, tutti_failure *err)
{
    const tutti_plan_memory *what = &s->plan->memories[m];
    const int64_t nbytes = tutti_plan_memory_bytes(what);
    if (is_together(what, false) || is_together(what, true)) return TUTTI_OK;
    if (what->is_common || what->is_region) return create_region(s, m, has_own(s, m) ? rank_of(s) : 0, err);
    s->memory[m] = s->device->allocate(s->device, (size_t)nbytes);
    if (s->memory[m]) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "no memory for %lld bytes of %s on %s", (long long)nbytes, what->name,
                      s->device->name);
}

/* ---- exchanges ---- */

static bool starts(const tutti_plan *plan, tutti_loop_driver driver, int exchange)
{
    return tutti_loop_find_start(&plan->loops[driver], exchange) >= 0;
}

/* Requests for all exchanges of this rank, which are made together, in as many rounds of messages as a single exchange
 * needs. All ranks take part, members of an exchange or not. */
typedef struct {
    tutti_exchange_request *requests;
    int *which; /* indices of these exchanges in the plan */
    int n;
    tutti_place *places;
} order;

static tutti_place place_of(const tutti_shared *s, tutti_operand at, int copy, int64_t first)
{
    const tutti_plan_memory *m = &s->plan->memories[at.memory];
    const int64_t elements = (at.copy + copy) * m->elements + first;
    tutti_place place = s->place[at.memory];
    place.offset += (size_t)elements * tutti_dtype_bytes(m->type);
    return place;
}

static void want(order *o, const tutti_shared *s, int exchange)
{
    const tutti_plan *plan = s->plan;
    const tutti_plan_exchange *x = &plan->exchanges[exchange];
    const tutti_plan_memory *in = &plan->memories[x->in.memory], *out = &plan->memories[x->out.memory];
    const tutti_collective collective = tutti_schedule_head(plan->schedules[x->schedule].lowered)->collective;
    const int nin = tutti_collective_reduces(collective) && in->copies > 1 ? plan->nins : 1;
    const bool own_blocks = collective == TUTTI_ALL_TO_ALL; /* for an all-to-all: the rank's blocks in the matrix of all
                                                             * ranks' blocks */
    const bool moves = tutti_schedule_head(plan->schedules[x->schedule].lowered)->in_place &&
                       (x->in.memory != x->out.memory || x->in.copy != x->out.copy);
    tutti_place *places = o->places + (size_t)o->n * (size_t)plan->nins;
    for (int k = 0; k < nin; k++) places[k] = place_of(s, x->in, k, x->first);
    o->which[o->n] = exchange;
    o->requests[o->n++] = (tutti_exchange_request){plan->schedules[x->schedule].lowered,
                                                   {.name = x->name,
                                                    .n = x->count,
                                                    .members = x->members,
                                                    .nmembers = x->nmembers,
                                                    .type = out->type,
                                                    .sent = x->sent,
                                                    .taken = in->type,
                                                    .op = x->op,
                                                    .in = places,
                                                    .nin = nin,
                                                    .out = place_of(s, x->out, 0, x->first),
                                                    .in_window = own_blocks,
                                                    .out_window = own_blocks,
                                                    .moves = moves,
                                                    .device = s->device,
                                                    .priority = x->turn}};
}

static tutti_status bind_all(tutti_shared *s, bool saves, tutti_failure *err)
{
    const tutti_plan *plan = s->plan;
    const size_t n = (size_t)plan->nexchanges;
    order o = {.requests = tutti_alloc(n * sizeof *o.requests),
               .which = tutti_alloc(n * sizeof *o.which),
               .places = tutti_alloc(n * (size_t)plan->nins * sizeof *o.places)};
    tutti_exchange **made = tutti_alloc(n * sizeof *made);
    const unsigned played = saves ? ~0u : ~(1u << TUTTI_EACH_SAVE);
    for (int x = 0; x < plan->nexchanges; x++)
        if (plan->exchanges[x].drivers & played) want(&o, s, x);
    const tutti_status st = tutti_exchange_create_all(s->group, o.requests, o.n, made, err);
    for (int i = 0; i < o.n && !st; i++) s->exchange[o.which[i]] = made[i];
    free(made), free(o.requests), free(o.which), free(o.places);
    return st;
}

/* ---- create and destroy ---- */

/* True if the memory is the first of several that share a region. */
static bool is_first(const tutti_shared *s, int memory)
{
    const tutti_region *region = s->place[memory].region;
    for (int m = 0; m < memory; m++)
        if (s->place[m].region == region) return false;
    return region;
}

static tutti_status enrol_regions(tutti_shared *s, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int m = 0; m < s->plan->nmemories && !st; m++) {
        if (!is_first(s, m)) continue;
        st = tutti_device_enrol_region(s->device, s->group, s->place[m].region, false, err);
        if (!st) s->enrolled = m + 1;
    }
    return st;
}

static void forget_regions(const tutti_shared *s)
{
    for (int m = 0; m < s->enrolled; m++)
        if (is_first(s, m)) tutti_device_forget_region(s->device, s->group, s->place[m].region);
}

tutti_status tutti_shared_create(tutti_group *group, const tutti_device *device, const tutti_plan *plan, bool saves,
                                 tutti_shared *out, tutti_failure *err)
{
    const size_t nmemories = (size_t)plan->nmemories, nexchanges = (size_t)plan->nexchanges;
    *out = (tutti_shared){.group = group,
                          .device = device,
                          .plan = plan,
                          .place = tutti_alloc(nmemories * sizeof *out->place),
                          .memory = tutti_alloc(nmemories * sizeof *out->memory),
                          .exchange = tutti_alloc(nexchanges * sizeof *out->exchange),
                          .in_flight = tutti_alloc(nexchanges * sizeof *out->in_flight)};
    tutti_status st = TUTTI_OK;
    for (int m = 0; m < plan->nmemories && !st; m++) st = create_memory(out, m, err);
    if (!st) st = create_together(out, false, err);
    if (!st) st = create_together(out, true, err);
    if (!st) st = enrol_regions(out, err);
    return st ? st : bind_all(out, saves, err);
}

void tutti_shared_destroy(tutti_shared *s)
{
    const tutti_plan *plan = s->plan;
    for (int x = 0; plan && x < plan->nexchanges; x++) tutti_exchange_destroy(s->exchange[x]);
    forget_regions(s);
    for (int m = plan ? plan->nmemories - 1 : -1; m >= 0; m--) {
        if (!plan->memories[m].is_region)
            s->device->release(s->device, s->memory[m], (size_t)tutti_plan_memory_bytes(&plan->memories[m]));
        else if (s->place[m].region && s->place[m].region != s->numbers && s->place[m].region != s->seats)
            tutti_region_destroy(s->place[m].region);
    }
    tutti_region_destroy(s->numbers), tutti_region_destroy(s->seats);
    free(s->place), free(s->memory), free(s->exchange), free(s->in_flight);
    *s = (tutti_shared){0};
}

/* ---- using memories and exchanges ---- */

float *tutti_shared_vector(const tutti_shared *s, int memory, int copy)
{
    return (float *)(void *)s->memory[memory] + copy * s->plan->memories[memory].elements;
}

int64_t *tutti_shared_numbers(const tutti_shared *s, int memory)
{
    assert(s->plan->memories[memory].type == TUTTI_I64);
    return (int64_t *)(void *)s->memory[memory];
}

float *tutti_shared_of_role(const tutti_shared *s, tutti_memory_role role, int n)
{
    return tutti_shared_vector(s, tutti_plan_find_memory(s->plan, role, n), 0);
}

void tutti_shared_start(tutti_shared *s, int exchange, unsigned when)
{
    s->in_flight[exchange] = true;
    tutti_exchange_start(s->exchange[exchange], when);
}

tutti_status tutti_shared_wait(tutti_shared *s, int exchange, const atomic_bool *done, tutti_failure *err)
{
    s->in_flight[exchange] = false;
    return tutti_exchange_wait_for(s->exchange[exchange], done, err);
}

double tutti_shared_exchange_seconds(const tutti_shared *s, int exchange)
{
    tutti_exchange_stats stats = {0};
    if (s->exchange[exchange]) tutti_exchange_stats_read(s->exchange[exchange], &stats);
    return stats.wait_s + stats.work_s;
}

int64_t tutti_shared_crossed_bytes(const tutti_shared *s)
{
    int64_t bytes = 0;
    for (int x = 0; x < s->plan->nexchanges; x++) {
        tutti_exchange_stats stats = {0};
        if (!s->exchange[x] || !(starts(s->plan, TUTTI_EACH_STEP, x) || starts(s->plan, TUTTI_EACH_PERIOD, x)))
            continue;
        tutti_exchange_stats_read(s->exchange[x], &stats);
        bytes += stats.invocations * stats.bytes_crossed;
    }
    return bytes;
}

double tutti_shared_seconds(const tutti_shared *s)
{
    double sum = 0;
    for (int x = 0; x < s->plan->nexchanges; x++)
        if (starts(s->plan, TUTTI_EACH_STEP, x) || starts(s->plan, TUTTI_EACH_PERIOD, x))
            sum += tutti_shared_exchange_seconds(s, x);
    return sum;
}

void tutti_shared_time(tutti_shared *s, bool on)
{
    for (int x = 0; x < s->plan->nexchanges; x++)
        if (s->exchange[x]) tutti_exchange_time(s->exchange[x], on);
}
