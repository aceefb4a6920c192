/* SPDX-License-Identifier: Apache-2.0 */
/* plan_visits.c: proves visits: what workers that take steps of their own do to memories that all of them touch.
 *
 * The order of visits is unknown, so no order is assumed. Any two visits of two ranks must be right in either order:
 * each begins and ends with all its accesses in between (tutti_admission says whether other workers are kept out
 * meanwhile). No visit waits for anything, so every visit ends, and a rank that waits to be let in is let in. In rank
 * order a rank that visits less often than another would delay all: all visit equally often, in every step of a period.
 *
 * A worker on another host visits through its part of rank 0's loop TUTTI_EACH_ARRIVAL (plan_serve.c). Exchanges
 * between such a worker and rank 0 run outside of visits. Exchanges between all ranks run when all have met before a
 * test or a checkpoint; then no rank visits. */
#include <stdlib.h>

#include "../plan_impl.h"

int tutti_plan_touched(const tutti_plan *p, const tutti_action *a, int out[TUTTI_MOST_TOUCHED])
{
    tutti_element_flow flows[TUTTI_MOST_ACTION_FLOWS];
    const int nflows = tutti_action_flows(p, a, flows);
    int n = 0;
    if (a->node >= 0) { /* the action is a kernel */
        out[n++] = tutti_plan_find_memory(p, TUTTI_ROLE_WEIGHTS, 0);
        out[n++] = tutti_plan_find_memory(p, TUTTI_ROLE_GRADIENTS, 0);
    }
    for (int i = 0; i < nflows; i++) {
        if (flows[i].from >= 0) out[n++] = flows[i].from;
        if (flows[i].to >= 0) out[n++] = flows[i].to;
    }
    return n;
}

/* True if an action touches a memory that other ranks touch too. */
static bool touches_common(const tutti_plan *p, const tutti_action *a)
{
    int touched[TUTTI_MOST_TOUCHED];
    const int n = tutti_plan_touched(p, a, touched);
    for (int i = 0; i < n; i++)
        if (p->memories[touched[i]].is_common) return true;
    return false;
}

tutti_status tutti_plan_refuse(const tutti_plan *p, int rank, tutti_loop_driver driver, const tutti_action *a,
                               const char *why, tutti_failure *err)
{
    tutti_strbuf words = {0};
    if (a) tutti_plan_print_action(p, a, &words);
    tutti_fail(err, TUTTI_ERR_FAILED, "rank %d, %s: %s%s%s%s", rank, tutti_loop_driver_name(driver), a ? "'" : "",
               a ? words.text : "", a ? "' " : "", why);
    tutti_strbuf_release(&words);
    return TUTTI_ERR_FAILED;
}

/* True if the exchange is between two ranks that take turns, or runs where all ranks have met. */
static bool may_exchange(const tutti_plan *p, int rank, tutti_loop_driver driver, const tutti_action *a)
{
    const int with = driver == TUTTI_EACH_ARRIVAL ? a->worker : rank;
    if (driver == TUTTI_EACH_TEST || driver == TUTTI_EACH_SAVE) return true;
    return tutti_plan_is_far(p, with) &&
           (a->exchange == tutti_plan_push_of(p, with) || a->exchange == tutti_plan_pull_of(p, with));
}

/* Checks the loop as it is played in the last step of a period (ends_period), or in another step. *nvisits: the number
 * of visits. */
static tutti_status check_loop(const tutti_plan *p, int rank, const tutti_loop *l, bool ends_period, int *nvisits,
                               tutti_failure *err)
{
    const bool is_far = l->driver == TUTTI_EACH_STEP && tutti_plan_is_far(p, rank);
    bool inside = false;
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        const char *wrong = NULL;
        if (!tutti_action_is_due(a, ends_period)) continue;
        if (tutti_action_enters(a) && !tutti_plan_is_async(p))
            wrong = "has nobody who admits it: ranks go step by step together";
        else if (is_far && (tutti_action_enters(a) || tutti_action_paces(a) || touches_common(p, a)))
            wrong = "wants what lies on another host, at rank 0";
        else if (inside && tutti_action_row_of(a->kind)->waits)
            wrong = "waits inside a visit, which then may never end for others";
        else if (tutti_action_leaves(a) && !inside)
            wrong = "ends a visit that nobody began";
        else if (!inside && touches_common(p, a))
            wrong = "touches a memory that others visit, outside a visit";
        else if (tutti_plan_is_async(p) && a->exchange >= 0 && !may_exchange(p, rank, l->driver, a))
            wrong = "exchanges between ranks that take steps of their own";
        else if (inside && a->exchange >= 0)
            wrong = "exchanges inside a visit, which others wait for";
        if (wrong) return tutti_plan_refuse(p, rank, l->driver, a, wrong, err);
        *nvisits += tutti_action_enters(a);
        inside = tutti_action_enters(a) || (inside && !tutti_action_leaves(a));
    }
    return inside ? tutti_plan_refuse(p, rank, l->driver, NULL, "a visit is not ended", err) : TUTTI_OK;
}

/* Checks each part by itself: no other order of the parts is assumed. */
static tutti_status check_arrivals(const tutti_plan *p, const tutti_loop *arrivals, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    tutti_loop *parts = tutti_loop_parts(arrivals, p->config.nranks);
    for (int r = 0; r < p->config.nranks && !st && arrivals->nactions; r++) {
        int n = 0;
        st = check_loop(p, 0, &parts[r], true, &n, err);
    }
    free(parts);
    return st;
}

static tutti_status check_rank(const tutti_plan *p, int rank, const tutti_loop loops[TUTTI_NDRIVERS], int nvisits[2],
                               tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    nvisits[0] = nvisits[1] = 0;
    for (int d = 0; d < TUTTI_NDRIVERS && !st; d++)
        for (int last = 0; last < 2 && !st && d != TUTTI_EACH_ARRIVAL; last++)
            st = check_loop(p, rank, &loops[d], last, &nvisits[last], err);
    return st ? st : check_arrivals(p, &loops[TUTTI_EACH_ARRIVAL], err);
}

tutti_status tutti_plan_check_visits(const tutti_plan *p, int rank, const tutti_loop loops[TUTTI_NDRIVERS],
                                     tutti_failure *err)
{
    int nvisits[2];
    tutti_status st = check_rank(p, rank, loops, nvisits, err);
    if (!st && rank && loops[TUTTI_EACH_ARRIVAL].nactions)
        st = tutti_plan_refuse(p, rank, TUTTI_EACH_ARRIVAL, loops[TUTTI_EACH_ARRIVAL].actions,
                               "serves a visit, and what is visited lies at rank 0", err);
    return st || rank ? st : tutti_plan_check_parts(p, loops, err);
}

/* Counts the visits that rank 0 makes for the worker `rank` of another host, which brings something once or more often
 * in a step. nvisits[1]: in a step that ends a period; nvisits[0]: in any other step. */
static void count_served(const tutti_plan *p, int rank, const tutti_loop *step, const tutti_loop *part, int nvisits[2])
{
    int each = 0;
    for (int i = 0; i < part->nactions; i++) each += tutti_action_enters(&part->actions[i]);
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < step->nactions; i++) {
            const tutti_action *a = &step->actions[i];
            if (tutti_action_starts(a) && a->exchange == tutti_plan_push_of(p, rank) && tutti_action_is_due(a, last))
                nvisits[last] += each;
        }
}

tutti_status tutti_plan_check_all_visits(const tutti_plan *p, tutti_failure *err)
{
    tutti_arena work = {0}, kept = {0};
    tutti_loop of_zero[TUTTI_NDRIVERS], loops[TUTTI_NDRIVERS];
    int first[2] = {0}, own[2];
    tutti_status st = TUTTI_OK;
    tutti_plan_list_loops(p, 0, &kept, of_zero);
    tutti_loop *parts = tutti_loop_parts(&of_zero[TUTTI_EACH_ARRIVAL], p->config.nranks);
    for (int r = 0; r < p->config.nranks && !st && tutti_plan_is_async(p); r++) {
        tutti_plan_list_loops(p, r, &work, loops);
        st = tutti_plan_check_visits(p, r, loops, err);
        if (!st) st = check_rank(p, r, loops, r ? own : first, err);
        if (r && !st) count_served(p, r, &loops[TUTTI_EACH_STEP], &parts[r], own);
        for (int last = 0; last < 2 && r && !st && p->admission == TUTTI_ADMIT_IN_RANK_ORDER; last++)
            if (own[last] != first[last])
                st = tutti_fail(err, TUTTI_ERR_FAILED,
                                "rank %d visits %d times a step, rank 0 %d times: in rank order all would wait for one",
                                r, own[last], first[last]);
        tutti_arena_reset(&work);
    }
    free(parts);
    tutti_arena_release(&work), tutti_arena_release(&kept);
    return st;
}
