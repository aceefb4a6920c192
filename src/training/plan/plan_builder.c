/* SPDX-License-Identifier: Apache-2.0 */
/* plan_builder.c: records the memories and exchanges that a method declares, and the actions that it lists.
 *
 * While arrays are written they grow in ordinary memory; complete arrays move into the plan's arena. So a frozen plan
 * lies in one place and is released at once. */
#include <stdlib.h>
#include <string.h>

#include "../../collective/compile/algorithms.h"
#include "plan_impl.h"

const tutti_plan *tutti_builder_plan(const tutti_plan_builder *b)
{
    return b->plan;
}

int tutti_builder_rank(const tutti_plan_builder *b)
{
    return b->rank;
}

/* ---- declaring memories and exchanges ---- */

void *tutti_builder_keep(tutti_plan_builder *b, size_t size)
{
    void *own = tutti_arena_alloc(&b->plan->arena, size);
    if (!b->plan->kept) b->plan->kept = own;
    return own;
}

void *tutti_builder_kept(const tutti_plan_builder *b)
{
    return b->plan->kept;
}

int tutti_builder_memory(tutti_plan_builder *b, const tutti_plan_memory *m)
{
    tutti_plan *p = b->plan;
    p->memories = tutti_grow(p->memories, p->nmemories, &b->nmemories, sizeof *p->memories);
    p->memories[p->nmemories] = *m;
    p->memories[p->nmemories].name = tutti_arena_strdup(&p->arena, m->name);
    return p->nmemories++;
}

bool tutti_builder_rounds_groups(const tutti_plan_builder *b)
{
    return tutti_plan_rounds_groups(&b->plan->config);
}

void tutti_builder_answer(tutti_plan_builder *b, int memory)
{
    b->plan->answer = memory;
}

void tutti_builder_admit(tutti_plan_builder *b, tutti_admission admission)
{
    b->plan->admission = admission;
}

static bool are_all(const tutti_plan *p, const int32_t *members, int n)
{
    for (int i = 0; members && i < n; i++)
        if (members[i] != i) return false;
    return !members || n == p->config.nranks;
}

/* Stores the members; a list of all ranks in order becomes NULL. */
static void take_members(tutti_plan *p, tutti_plan_exchange *x)
{
    const int32_t *given = x->members;
    if (are_all(p, given, x->nmembers)) {
        x->members = NULL;
        x->nmembers = p->config.nranks;
        return;
    }
    int32_t *own = TUTTI_ARENA_NEW(&p->arena, int32_t, x->nmembers);
    for (int i = 0; i < x->nmembers; i++) own[i] = given[i];
    x->members = own;
}

/* Returns the type of the values that an exchange keeps in scratch: that of its inputs, or the 16-bit type to which
 * groups of ranks round their sums. If each sum is rounded, everything has the memory's type. */
static tutti_dtype sent_by(const tutti_plan *p, const tutti_plan_exchange *x)
{
    const tutti_dtype in = p->memories[x->in.memory].type, sent = p->config.sent;
    const tutti_schedule_header *h = tutti_schedule_head(p->schedules[x->schedule].compiled);
    if (!tutti_plan_sums_once(&p->config) || !tutti_collective_reduces(h->collective)) return TUTTI_F32;
    return in == sent || (tutti_plan_rounds_groups(&p->config) && tutti_algorithm_find(h->algorithm)->sums_groups)
               ? sent
               : TUTTI_F32;
}

int tutti_builder_exchange(tutti_plan_builder *b, const tutti_plan_exchange *x)
{
    tutti_plan *p = b->plan;
    p->exchanges = tutti_grow(p->exchanges, p->nexchanges, &b->nexchanges, sizeof *p->exchanges);
    p->exchanges[p->nexchanges] = *x;
    tutti_plan_exchange *own = &p->exchanges[p->nexchanges];
    own->name = tutti_arena_strdup(&p->arena, x->name);
    own->schedule = tutti_plan_schedule_of_size(p, x->schedule,
                                                x->count * (int64_t)tutti_dtype_bytes(p->memories[x->in.memory].type));
    take_members(p, own);
    own->sent = sent_by(p, own);
    return p->nexchanges++;
}

static bool are_equal(const tutti_schedule *a, const tutti_schedule *b)
{
    const tutti_schedule_header *x = tutti_schedule_head(a), *y = tutti_schedule_head(b);
    return x->collective == y->collective && x->nranks == y->nranks && x->in_place == y->in_place &&
           x->slots == y->slots && !strcmp(x->algorithm, y->algorithm);
}

/* True if both schedules were lowered for ranks that are placed on hosts in the same way. */
static bool fit_alike(const tutti_schedule *a, const tutti_schedule *b)
{
    const tutti_schedule_header *x = tutti_schedule_head(a), *y = tutti_schedule_head(b);
    return x->wire == y->wire &&
           (!x->host_of || !memcmp(x->host_of, y->host_of, sizeof *x->host_of * (size_t)x->nranks));
}

tutti_status tutti_builder_schedule(tutti_plan_builder *b, const tutti_builder_request *r, int *out, tutti_failure *err)
{
    return tutti_builder_schedule_among(b, r, NULL, b->plan->config.nranks, out, err);
}

static tutti_status add_schedule(tutti_plan_builder *b, const tutti_builder_request *r, const int32_t *members,
                                 int nmembers, int *out, tutti_failure *err)
{
    tutti_plan *p = b->plan;
    tutti_prepared made = {0};
    const tutti_status st = tutti_plan_take_schedule(p, r, members, nmembers, &made, err);
    if (st) return st;
    for (int i = 0; i < p->nschedules; i++)
        if (are_equal(p->schedules[i].compiled, made.compiled) && fit_alike(p->schedules[i].lowered, made.lowered)) {
            if (!p->config.shelf) tutti_prepared_release(&made);
            *out = i;
            return TUTTI_OK;
        }
    p->schedules = tutti_grow(p->schedules, p->nschedules, &b->nschedules, sizeof *p->schedules);
    *out = p->nschedules;
    p->schedules[p->nschedules++] = made;
    return TUTTI_OK;
}

/* Adds two schedules of an algorithm that depends on the size of exchanges. The method need not know it: it gets one
 * number, and each exchange with that number finds its own schedule. */
static void add_pair(tutti_plan_builder *b, tutti_size_pair pair)
{
    tutti_plan *p = b->plan;
    for (int i = 0; i < p->npairs; i++)
        if (p->pairs[i].small == pair.small) return;
    p->pairs = tutti_grow(p->pairs, p->npairs, &b->npairs, sizeof *p->pairs);
    p->pairs[p->npairs++] = pair;
}

tutti_status tutti_builder_schedule_among(tutti_plan_builder *b, const tutti_builder_request *r, const int32_t *members,
                                          int nmembers, int *out, tutti_failure *err)
{
    char rows[2][TUTTI_ALGORITHM_TEXT];
    const int nrows = r->algorithm ? 0 : tutti_plan_algorithms(b->plan->config.algorithm, rows);
    const int64_t ring_from = tutti_plan_ring_from(b->plan, r, members, nmembers);
    const int64_t from = nrows == 2 ? b->plan->config.hybrid_bytes : ring_from;
    tutti_builder_request one = *r;
    int large;
    if (nrows) one.algorithm = rows[0];
    tutti_status st = add_schedule(b, &one, members, nmembers, out, err);
    if (st || from == INT64_MAX) return st;
    one.algorithm = nrows == 2 ? rows[1] : "ring";
    st = add_schedule(b, &one, members, nmembers, &large, err);
    if (!st) add_pair(b, (tutti_size_pair){*out, large, from});
    return st;
}

static void *settled(tutti_arena *arena, void *array, int n, size_t bytes)
{
    void *out = tutti_arena_alloc(arena, bytes * (size_t)(n + 1));
    if (n) memcpy(out, array, bytes * (size_t)n);
    free(array);
    return out;
}

tutti_status tutti_plan_declare(tutti_plan *p, tutti_failure *err)
{
    tutti_plan_builder b = {.plan = p, .rank = p->config.rank};
    const tutti_status st = p->config.method->declare(&b, err);
    p->memories = settled(&p->arena, p->memories, p->nmemories, sizeof *p->memories);
    p->schedules = settled(&p->arena, p->schedules, p->nschedules, sizeof *p->schedules);
    p->pairs = settled(&p->arena, p->pairs, p->npairs, sizeof *p->pairs);
    p->exchanges = settled(&p->arena, p->exchanges, p->nexchanges, sizeof *p->exchanges);
    return st ? st : tutti_plan_check_members(p, err);
}

/* ---- listing the loops of a rank ---- */

void tutti_builder_loop(tutti_plan_builder *b, tutti_loop_driver driver)
{
    b->driver = driver;
    b->worker = 0;
    b->steps = TUTTI_IN_EVERY_STEP;
}

void tutti_builder_on_travel(tutti_plan_builder *b, void (*travel)(tutti_plan_builder *b, int node))
{
    b->travel = travel;
}

void tutti_builder_part(tutti_plan_builder *b, int worker)
{
    tutti_builder_loop(b, TUTTI_EACH_ARRIVAL);
    b->worker = worker;
}

void tutti_builder_steps(tutti_plan_builder *b, tutti_action_steps steps)
{
    b->steps = steps;
}

void tutti_builder_add(tutti_plan_builder *b, tutti_action a)
{
    tutti_loop *l = &b->loops[b->driver];
    a.steps = b->steps;
    a.worker = b->worker;
    if (b->plan->config.period == 1) {
        if (a.steps == TUTTI_IN_OTHER_STEPS) return;
        a.steps = TUTTI_IN_EVERY_STEP;
    }
    l->actions = tutti_grow(l->actions, l->nactions, &b->capacity[b->driver], sizeof a);
    l->actions[l->nactions++] = a;
}

static void add_for_exchange(tutti_plan_builder *b, tutti_action_kind kind, int exchange, unsigned when)
{
    tutti_builder_add(b, (tutti_action){.kind = kind,
                                        .node = -1,
                                        .bucket = b->plan->exchanges[exchange].bucket,
                                        .exchange = exchange,
                                        .when = when});
}

void tutti_builder_start(tutti_plan_builder *b, int exchange, unsigned when)
{
    add_for_exchange(b, TUTTI_DO_START, exchange, when);
}

void tutti_builder_tell(tutti_plan_builder *b, int exchange, unsigned when)
{
    add_for_exchange(b, TUTTI_DO_TELL, exchange, when);
}

void tutti_builder_wait(tutti_plan_builder *b, int exchange)
{
    add_for_exchange(b, TUTTI_DO_WAIT, exchange, 0);
}

void tutti_builder_wait_told(tutti_plan_builder *b, int exchange, unsigned when)
{
    add_for_exchange(b, TUTTI_DO_WAIT, exchange, when);
}

void tutti_builder_do(tutti_plan_builder *b, const tutti_action *what)
{
    tutti_action a = *what;
    a.node = a.exchange = -1;
    if (!tutti_action_row_of(a.kind)->types) a.bucket = TUTTI_NO_BUCKET;
    tutti_builder_add(b, a);
}

int tutti_builder_bucket_in_turn(const tutti_plan_builder *b, int i)
{
    int at = i;
    if (!b->plan->config.by_need) return at;
    for (at = 0; b->plan->buckets[at].turn != i;) at++;
    return at;
}

static void list_loops(tutti_plan_builder *b, tutti_arena *arena)
{
    tutti_loop *out = b->loops;
    for (int d = 0; d < TUTTI_NDRIVERS; d++) out[d] = (tutti_loop){.driver = (tutti_loop_driver)d};
    b->plan->config.method->list(b);
    for (int d = 0; d < TUTTI_NDRIVERS; d++)
        out[d].actions = settled(arena, out[d].actions, out[d].nactions, sizeof *out[d].actions);
}

void tutti_plan_list_loops(const tutti_plan *p, int rank, tutti_arena *arena, tutti_loop out[TUTTI_NDRIVERS])
{
    list_loops(&(tutti_plan_builder){.plan = (tutti_plan *)p, .rank = rank, .loops = out}, arena);
}

void tutti_plan_list_without_kernels(const tutti_plan *p, int rank, tutti_arena *arena, tutti_loop out[TUTTI_NDRIVERS])
{
    list_loops(&(tutti_plan_builder){.plan = (tutti_plan *)p, .rank = rank, .loops = out, .leaves_kernels = true},
               arena);
}
