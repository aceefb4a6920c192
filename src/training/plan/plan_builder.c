/* SPDX-License-Identifier: Apache-2.0 */
/* plan_builder.c: takes down what a method declares and lists.
 *
 * Arrays grow in ordinary memory while they are written and move into the plan's arena when they are done, so that a plan is frozen in
 * one place and is given back at once. */
#include <stdlib.h>
#include <string.h>

#include "plan_impl.h"

const tutti_plan *tutti_builder_plan(const tutti_plan_builder *b)
{
    return b->plan;
}

int tutti_builder_rank(const tutti_plan_builder *b)
{
    return b->rank;
}

/* Room for one more of so many bytes. */
static void *grown(void *array, int n, int *capacity, size_t bytes)
{
    if (n < *capacity) return array;
    *capacity = *capacity ? 2 * *capacity : 16;
    return tutti_realloc(array, bytes * (size_t)*capacity);
}

/* ---- what there is ---- */

int tutti_builder_memory(tutti_plan_builder *b, const tutti_plan_memory *m)
{
    tutti_plan *p = b->plan;
    p->memories = grown(p->memories, p->nmemories, &b->nmemories, sizeof *p->memories);
    p->memories[p->nmemories] = *m;
    p->memories[p->nmemories].name = tutti_arena_strdup(&p->arena, m->name);
    return p->nmemories++;
}

void tutti_builder_answer(tutti_plan_builder *b, int memory)
{
    b->plan->answer = memory;
}

int tutti_builder_exchange(tutti_plan_builder *b, const tutti_plan_exchange *x)
{
    tutti_plan *p = b->plan;
    p->exchanges = grown(p->exchanges, p->nexchanges, &b->nexchanges, sizeof *p->exchanges);
    p->exchanges[p->nexchanges] = *x;
    p->exchanges[p->nexchanges].name = tutti_arena_strdup(&p->arena, x->name);
    return p->nexchanges++;
}

static bool are_equal(const tutti_schedule *a, const tutti_schedule *b)
{
    const tutti_schedule_header *x = tutti_schedule_head(a), *y = tutti_schedule_head(b);
    return x->collective == y->collective && x->in_place == y->in_place && x->slots == y->slots &&
           !strcmp(x->algorithm, y->algorithm);
}

tutti_status tutti_builder_schedule(tutti_plan_builder *b, const tutti_builder_request *r, int *out, tutti_failure *err)
{
    tutti_plan *p = b->plan;
    tutti_prepared made = {0};
    const tutti_status st = tutti_plan_make_schedule(p, r, &made, err);
    if (st) return st;
    for (int i = 0; i < p->nschedules; i++)
        if (are_equal(p->schedules[i].compiled, made.compiled)) {
            tutti_prepared_release(&made);
            *out = i;
            return TUTTI_OK;
        }
    p->schedules = grown(p->schedules, p->nschedules, &b->nschedules, sizeof *p->schedules);
    *out = p->nschedules;
    p->schedules[p->nschedules++] = made;
    return TUTTI_OK;
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
    p->exchanges = settled(&p->arena, p->exchanges, p->nexchanges, sizeof *p->exchanges);
    return st;
}

/* ---- what a rank does ---- */

void tutti_builder_loop(tutti_plan_builder *b, tutti_loop_driver driver)
{
    b->driver = driver;
}

void tutti_builder_add(tutti_plan_builder *b, tutti_action a)
{
    tutti_loop *l = &b->loops[b->driver];
    l->actions = grown(l->actions, l->nactions, &b->capacity[b->driver], sizeof a);
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

static void add_on_elements(tutti_plan_builder *b, tutti_action_kind kind, const tutti_action *what)
{
    tutti_action a = *what;
    a.kind = kind;
    a.node = a.exchange = -1;
    tutti_builder_add(b, a);
}

void tutti_builder_look(tutti_plan_builder *b, const tutti_action *what)
{
    add_on_elements(b, TUTTI_DO_LOOK, what);
}

void tutti_builder_apply(tutti_plan_builder *b, const tutti_action *what)
{
    add_on_elements(b, TUTTI_DO_APPLY, what);
}

int tutti_builder_bucket_in_turn(const tutti_plan_builder *b, int i)
{
    int at = i;
    if (!b->plan->config.by_need) return at;
    for (at = 0; b->plan->buckets[at].turn != i;) at++;
    return at;
}

void tutti_plan_list_loops(const tutti_plan *p, int rank, tutti_arena *arena, tutti_loop out[TUTTI_NDRIVERS])
{
    tutti_plan_builder b = {.plan = (tutti_plan *)p, .rank = rank, .loops = out};
    for (int d = 0; d < TUTTI_NDRIVERS; d++) out[d] = (tutti_loop){.driver = (tutti_loop_driver)d};
    p->config.method->list(&b);
    for (int d = 0; d < TUTTI_NDRIVERS; d++)
        out[d].actions = settled(arena, out[d].actions, out[d].nactions, sizeof *out[d].actions);
}
