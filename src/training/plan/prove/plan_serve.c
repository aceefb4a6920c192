/* SPDX-License-Identifier: Apache-2.0 */
/* plan_serve.c: proves the actions that serve a worker of another host: its part of rank 0's loop TUTTI_EACH_ARRIVAL.
 *
 * A worker and its part are two sequences that meet in two exchanges, and nowhere else. A part touches nothing that
 * another part or another loop touches, except the common memories, which it touches in a visit (plan_visits.c). So
 * each pair is proved by itself, as a plan of two ranks: rank 0 with only this part, rank 1 with the worker's loop.
 * Over two consecutive periods no two accesses race and no wait is endless. In each step in which the worker brings a
 * vector, it takes back this vector, as the part has changed it, and not one of an earlier step. No race would show
 * whether the data went to the centre and back, bucket by bucket; this file checks it.
 *
 * Micro-batches are folded into the first before anything is brought, so the pair has only the first. */
#include <stdlib.h>

#include "plan_compose.h"

/* ---- parts, as the method lists them ---- */

enum { NOBODY = -1, OTHER_LOOPS = -2 };

typedef struct {
    const tutti_plan *plan;
    int *owner; /* per memory: the worker whose part touches it; NOBODY: no part does; OTHER_LOOPS: another loop does */
} owners;

static tutti_status own(const owners *o, int memory, int by, tutti_failure *err)
{
    const tutti_plan_memory *m = &o->plan->memories[memory];
    if (m->is_common || o->owner[memory] == by) return TUTTI_OK;
    if (o->owner[memory] == NOBODY) {
        o->owner[memory] = by;
        return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_ERR_FAILED,
                      "rank 0: the part that serves rank %d touches %s, as %s does: nothing orders them",
                      by == OTHER_LOOPS ? o->owner[memory] : by, m->name,
                      by == OTHER_LOOPS || o->owner[memory] == OTHER_LOOPS ? "rank 0's own step" : "another part");
}

static tutti_status own_touched(const owners *o, const tutti_action *a, int by, tutti_failure *err)
{
    int touched[TUTTI_MOST_TOUCHED];
    const int n = tutti_plan_touched(o->plan, a, touched);
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < n && !st; i++) st = own(o, touched[i], by, err);
    if (a->exchange < 0 || by == OTHER_LOOPS) return st;
    const tutti_plan_exchange *x = &o->plan->exchanges[a->exchange];
    return st ? st : own(o, tutti_plan_member(x, 0) ? x->out.memory : x->in.memory, by, err);
}

static bool goes(const tutti_element_flow *flows, int n, int from, int to)
{
    for (int i = 0; i < n; i++)
        if (flows[i].from == from && flows[i].to == to) return true;
    return false;
}

/* Checks that each bucket of the vector that was brought goes to the centre, and that the result comes from the
 * centre. */
static tutti_status check_ways(const tutti_plan *p, int worker, const tutti_loop *part, tutti_failure *err)
{
    const int seat = p->exchanges[tutti_plan_push_of(p, worker)].out.memory;
    const int centre = tutti_plan_find_memory(p, TUTTI_ROLE_CENTRE, 0);
    for (int b = 0; b < p->nbuckets; b++) {
        int there = 0, back = 0;
        for (int i = 0; i < part->nactions; i++) {
            const tutti_action *a = &part->actions[i];
            tutti_element_flow flows[TUTTI_MOST_ACTION_FLOWS];
            const bool whole = a->first == p->buckets[b].offset && a->count == p->buckets[b].count;
            if (a->bucket != b || !whole) continue;
            const int n = tutti_action_flows(p, a, flows);
            there += goes(flows, n, seat, centre);
            back += goes(flows, n, centre, seat);
        }
        if (there != 1 || back != 1)
            return tutti_fail(
                err, TUTTI_ERR_FAILED,
                "rank 0: the part that serves rank %d moves the centre %d times by bucket %d of its seat, "
                "and fills it %d times from the centre: once each is a visit",
                worker, there, b, back);
    }
    return TUTTI_OK;
}

static tutti_status check_part(const owners *o, int worker, const tutti_loop *part, tutti_failure *err)
{
    const tutti_plan *p = o->plan;
    tutti_status st = TUTTI_OK;
    if (tutti_plan_is_far(p, worker) != (part->nactions > 0))
        return tutti_fail(err, TUTTI_ERR_FAILED,
                          part->nactions ? "rank 0 serves rank %d, which is on its host and visits by itself"
                                         : "rank %d is on another host than the centre, and rank 0 does not serve it",
                          worker);
    for (int i = 0; i < part->nactions && !st; i++) {
        if (part->actions[i].worker != worker)
            return tutti_fail(err, TUTTI_ERR_FAILED, "rank 0 serves rank %d in two parts", worker);
        st = own_touched(o, &part->actions[i], worker, err);
    }
    if (st || !part->nactions) return st;
    if (tutti_plan_push_of(p, worker) < 0 || tutti_plan_pull_of(p, worker) < 0)
        return tutti_fail(err, TUTTI_ERR_FAILED, "rank %d has no exchange by which it %s", worker,
                          tutti_plan_push_of(p, worker) < 0 ? "brings something" : "takes something along");
    return check_ways(p, worker, part, err);
}

tutti_status tutti_plan_check_parts(const tutti_plan *p, const tutti_loop loops[TUTTI_NDRIVERS], tutti_failure *err)
{
    const owners o = {p, tutti_alloc(sizeof(int) * (size_t)p->nmemories)};
    tutti_status st = TUTTI_OK;
    for (int m = 0; m < p->nmemories; m++) o.owner[m] = NOBODY;
    for (int d = 0; d < TUTTI_NDRIVERS && tutti_plan_is_async(p); d++)
        for (int i = 0; i < loops[d].nactions && !st && d != TUTTI_EACH_ARRIVAL; i++)
            st = own_touched(&o, &loops[d].actions[i], OTHER_LOOPS, err);
    tutti_loop *parts = tutti_loop_parts(&loops[TUTTI_EACH_ARRIVAL], p->config.nranks);
    for (int r = 0; r < p->config.nranks && !st && tutti_plan_is_async(p); r++) st = check_part(&o, r, &parts[r], err);
    free(parts);
    free(o.owner);
    return st;
}

/* ---- a worker and its part, as a plan of two ranks ---- */

typedef struct {
    tutti_plan plan; /* the first member: a pointer to the plan is one to this struct */
    tutti_loop loops[2];
    tutti_plan_exchange exchanges[2]; /* the push and the pull exchange */
    int number[2];                    /* index in the whole plan of each of the two exchanges */
    bool rarely;                      /* the worker brings something only in the last step of a period */
} pair;

static void list_one(tutti_plan_builder *b)
{
    const pair *both = (const pair *)tutti_builder_plan(b);
    const tutti_loop *l = &both->loops[tutti_builder_rank(b)];
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    for (int i = 0; i < l->nactions; i++) {
        tutti_action a = l->actions[i];
        if (a.dst > 0 || a.src > 0) continue;
        if (a.exchange >= 0) a.exchange = a.exchange == both->number[1];
        tutti_builder_steps(b, tutti_builder_rank(b) ? a.steps
                               : both->rarely        ? TUTTI_IN_LAST_STEP
                                                     : TUTTI_IN_EVERY_STEP);
        tutti_builder_add(b, a);
    }
}

static tutti_status declare_nothing(tutti_plan_builder *b, tutti_failure *err)
{
    (void)b, (void)err;
    return TUTTI_OK;
}

static void make_pair(const tutti_plan *p, int worker, const tutti_loop *part, const tutti_loop *step, pair *out)
{
    static const tutti_emitter lists = {declare_nothing, list_one};
    static const int32_t hosts[2] = {0, 1}, brings[2] = {1, 0};
    *out = (pair){
        .plan = *p, .loops = {*part, *step}, .number = {tutti_plan_push_of(p, worker), tutti_plan_pull_of(p, worker)}};
    for (int i = 0; i < 2; i++) {
        out->exchanges[i] = p->exchanges[out->number[i]];
        out->exchanges[i].members = i ? NULL : brings;
    }
    const int at = tutti_loop_find_start(step, out->number[0]);
    out->rarely = at >= 0 && step->actions[at].steps == TUTTI_IN_LAST_STEP;
    tutti_plan *two = &out->plan;
    two->config.rank = 0;
    two->config.nranks = 2;
    two->config.accumulate = 1;
    two->config.host_of = hosts;
    two->config.method = &lists;
    two->exchanges = out->exchanges;
    two->nexchanges = 2;
    two->other_loops = 0;
}

static tutti_status prove_pair(pair *both, tutti_failure *err)
{
    tutti_composition c;
    tutti_arena arena = {0};
    tutti_plan_list_loops(&both->plan, 0, &arena, both->plan.loops);
    tutti_status st = tutti_composition_create(&c, &both->plan, both->exchanges[1].out.memory, TUTTI_EACH_STEP, err);
    c.head.collective = TUTTI_BROADCAST;
    c.head.root = 1;
    c.result_of_zero = both->exchanges[1].in.memory;
    if (!st) st = tutti_composition_check(&c, err);
    tutti_composition_release(&c);
    tutti_arena_release(&arena);
    return st;
}

tutti_status tutti_plan_check_served(const tutti_plan *p, tutti_failure *err)
{
    tutti_arena kept = {0}, work = {0};
    tutti_loop of_zero[TUTTI_NDRIVERS], loops[TUTTI_NDRIVERS];
    tutti_status st = TUTTI_OK;
    tutti_plan_list_loops(p, 0, &kept, of_zero);
    tutti_loop *parts = tutti_loop_parts(&of_zero[TUTTI_EACH_ARRIVAL], p->config.nranks);
    for (int r = 1; r < p->config.nranks && !st; r++) {
        if (!tutti_plan_is_far(p, r)) continue;
        pair both;
        tutti_plan_list_loops(p, r, &work, loops);
        make_pair(p, r, &parts[r], &loops[TUTTI_EACH_STEP], &both);
        st = prove_pair(&both, err);
        if (st) tutti_fail_at(err, "rank %d (here 1) and what serves it at rank 0", r);
        tutti_arena_reset(&work);
    }
    free(parts);
    tutti_arena_release(&kept), tutti_arena_release(&work);
    return st;
}
