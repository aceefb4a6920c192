/* SPDX-License-Identifier: Apache-2.0 */
/* plan_visits.c: the proof of visits: what ranks that take steps of their own do to memories that all of them touch.
 *
 * Nobody knows in which order visits come, so no order is assumed: whatever two visits of two ranks do is right in either one, because
 * each begins and ends with all its accesses in between (tutti_admission says whether others are kept out meanwhile). Nobody waits for
 * anything in a visit, so every visit ends, and who is let in one at a time is let in. In rank order a rank that visits less often than
 * another would hold up all: they visit equally often, in every step of a period. */
#include <stdlib.h>

#include "plan_impl.h"

static bool is_common(const tutti_plan *p, int memory)
{
    return memory >= 0 && p->memories[memory].is_common;
}

static bool has_common_state(const tutti_plan *p)
{
    return is_common(p, tutti_plan_find_memory(p, TUTTI_ROLE_STATE, 0));
}

/* Whether an action touches a memory that others touch too. */
static bool touches_common(const tutti_plan *p, const tutti_action *a)
{
    switch (a->kind) {
    case TUTTI_DO_APPLY:
        return is_common(p, a->to) || is_common(p, a->from) || has_common_state(p) ||
               (a->pulled && is_common(p, a->centre));
    case TUTTI_DO_MEET: return is_common(p, a->to) || is_common(p, a->from) || is_common(p, a->centre);
    case TUTTI_DO_LOOK:
        if (p->config.norms == TUTTI_NORMS_OF_TENSORS && (is_common(p, a->weights) || has_common_state(p))) return true;
        return is_common(p, a->to) || is_common(p, a->from);
    case TUTTI_DO_ELASTIC:
    case TUTTI_DO_OUTER:
    case TUTTI_DO_COPY:
    case TUTTI_DO_CONVERT: return is_common(p, a->to) || is_common(p, a->from);
    case TUTTI_DO_KERNEL:
        return is_common(p, tutti_plan_find_memory(p, TUTTI_ROLE_WEIGHTS, 0)) ||
               is_common(p, tutti_plan_find_memory(p, TUTTI_ROLE_GRADIENTS, 0));
    default: return false;
    }
}

static bool waits(const tutti_action *a)
{
    return a->kind == TUTTI_DO_WAIT || a->kind == TUTTI_DO_PACE || a->kind == TUTTI_DO_ENTER;
}

static tutti_status refuse(const tutti_plan *p, int rank, const tutti_loop *l, const tutti_action *a, const char *why,
                           tutti_failure *err)
{
    tutti_strbuf words = {0};
    if (a) tutti_plan_print_action(p, a, &words);
    tutti_fail(err, TUTTI_ERR_FAILED, "rank %d, %s: %s%s%s%s", rank, tutti_loop_driver_name(l->driver), a ? "'" : "",
               a ? words.text : "", a ? "' " : "", why);
    tutti_strbuf_release(&words);
    return TUTTI_ERR_FAILED;
}

/* As the loop is gone through in the last step of a period, or in another one. *nvisits: how many there are. */
static tutti_status check_loop(const tutti_plan *p, int rank, const tutti_loop *l, bool ends_period, int *nvisits,
                               tutti_failure *err)
{
    bool inside = false;
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        if (!tutti_action_is_due(a, ends_period)) continue;
        if (a->kind == TUTTI_DO_ENTER && !tutti_plan_is_async(p))
            return refuse(p, rank, l, a, "has nobody who admits it: ranks go step by step together", err);
        if (inside && waits(a))
            return refuse(p, rank, l, a, "waits inside a visit, which then may never end for others", err);
        if (a->kind == TUTTI_DO_LEAVE && !inside) return refuse(p, rank, l, a, "ends a visit that nobody began", err);
        if (!inside && touches_common(p, a))
            return refuse(p, rank, l, a, "touches a memory that others visit, outside a visit", err);
        if (tutti_plan_is_async(p) && a->exchange >= 0)
            return refuse(p, rank, l, a, "exchanges between ranks that take steps of their own", err);
        *nvisits += a->kind == TUTTI_DO_ENTER;
        inside = a->kind == TUTTI_DO_ENTER || (inside && a->kind != TUTTI_DO_LEAVE);
    }
    return inside ? refuse(p, rank, l, NULL, "a visit is not ended", err) : TUTTI_OK;
}

static tutti_status check_rank(const tutti_plan *p, int rank, const tutti_loop loops[TUTTI_NDRIVERS], int nvisits[2],
                               tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    nvisits[0] = nvisits[1] = 0;
    for (int d = 0; d < TUTTI_NDRIVERS && !st; d++)
        for (int last = 0; last < 2 && !st; last++) st = check_loop(p, rank, &loops[d], last, &nvisits[last], err);
    return st;
}

tutti_status tutti_plan_check_visits(const tutti_plan *p, int rank, const tutti_loop loops[TUTTI_NDRIVERS],
                                     tutti_failure *err)
{
    int nvisits[2];
    return check_rank(p, rank, loops, nvisits, err);
}

tutti_status tutti_plan_check_all_visits(const tutti_plan *p, tutti_failure *err)
{
    tutti_arena work = {0};
    int first[2] = {0}, own[2];
    tutti_status st = TUTTI_OK;
    for (int r = 0; r < p->config.nranks && !st && tutti_plan_is_async(p); r++) {
        tutti_loop loops[TUTTI_NDRIVERS];
        tutti_plan_list_loops(p, r, &work, loops);
        st = check_rank(p, r, loops, r ? own : first, err);
        for (int last = 0; last < 2 && r && !st && p->admission == TUTTI_ADMIT_IN_RANK_ORDER; last++)
            if (own[last] != first[last])
                st = tutti_fail(err, TUTTI_ERR_FAILED,
                                "rank %d visits %d times a step, rank 0 %d times: in rank order all would wait for one",
                                r, own[last], first[last]);
        tutti_arena_reset(&work);
    }
    tutti_arena_release(&work);
    return st;
}
