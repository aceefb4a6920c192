/* SPDX-License-Identifier: Apache-2.0 */
/* visits_enter.c: lets workers in to the centre, and makes fast workers wait for the slowest (staleness). A wait spins
 * for a moment, then yields its core, then sleeps. It looks for deaths all the while; if the group survives the death
 * of a rank, waits for that rank end. */
#include <sched.h>
#include <stdio.h>

#include "../../../../base/clock.h"
#include "visits_impl.h"

enum { SPINS = 200, YIELDS = 2000 };
static const double NAP_S = 50e-6;

/* Returns the rank that a wait is for, while it has to last; -1 = it is over. */
typedef int awaited_rank(const tutti_visits *v);

static tutti_status give_up(const tutti_visits *v, const char *what, int rank, tutti_failure *err)
{
    tutti_failure why = {0};
    tutti_fail(&why, TUTTI_ERR_PEER, "%s waits %s %s%s; the deadline of %.4g s has passed",
               tutti_group_describe(v->group, v->rank), what, tutti_group_describe(v->group, rank),
               v->of ? "" : tutti_group_condition(v->group, rank), tutti_group_deadline(v->group));
    tutti_group_abort(v->group, why.text);
    return tutti_fail(err, TUTTI_ERR_PEER, "%s", why.text);
}

/* Looks for reasons to stop waiting. The owner of the group looks for deaths; a stand-in looks whether the group has
 * ended, or its worker is gone. In these cases the vector that the worker brought does not change the centre. */
static tutti_status look_around(const tutti_visits *v, tutti_failure *err)
{
    if (!v->of) return tutti_group_poll(v->group, err);
    if (tutti_group_is_gone(v->group, v->rank)) return tutti_fail(err, TUTTI_ERR_PEER, "its worker is gone");
    return tutti_group_is_over(v->group) ? tutti_fail(err, TUTTI_ERR_PEER, "the group is over") : TUTTI_OK;
}

/* Waits as long as `awaited` returns a rank. what: words for the message if the deadline passes. NULL: this wait has no
 * deadline, because other waits check it. */
static tutti_status await(const tutti_visits *v, awaited_rank *awaited, const char *what, tutti_failure *err)
{
    tutti_group_wait wait = {0};
    char doing[100];
    double looked = tutti_clock_s();
    snprintf(doing, sizeof doing, "waits %s", what ? what : "");
    int rank;
    for (int64_t i = 0; (rank = awaited(v)) >= 0; i++) {
        if (i < SPINS) continue;
        if (i < YIELDS)
            sched_yield();
        else
            tutti_clock_sleep_s(NAP_S);
        const double now = tutti_clock_s();
        if (now - looked < 1e-3) continue;
        looked = now;
        const tutti_status st = look_around(v, err);
        if (st) return st;
        if (!what) continue;
        if (tutti_group_waited(v->group, &wait, rank) > tutti_group_deadline(v->group))
            return give_up(v, what, rank, err);
        if (!v->of) tutti_group_wait_notice(v->group, &wait, doing, rank);
    }
    return TUTTI_OK;
}

/* Returns a rank that is too far behind this rank; -1 = none. A rank that plays nothing more before the stop does not
 * count. */
static int slowest_behind(const tutti_visits *v)
{
    for (int r = 0; r < v->nranks; r++)
        if (atomic_load(&v->board->ranks[r].played) < v->played - v->plan->config.staleness &&
            !tutti_turns_is_out(&v->turns, r))
            return r;
    return -1;
}

tutti_status tutti_visits_pace(tutti_visits *v, tutti_failure *err)
{
    return await(v, slowest_behind, "for the worker that is the furthest behind,", err);
}

/* Returns the rank that is visiting the centre; in rank order a ticket names its rank. */
static int who_is_in(const tutti_visits *v)
{
    return tutti_turns_awaited(&v->turns, v->ticket);
}

/* Returns a rank that keeps the centre busy; -1 = the centre is free. If no rank is gone, any rank will do, so the rank
 * that was let in last is returned without a search. */
static int somebody_is_in(const tutti_visits *v)
{
    if (tutti_group_ngone(v->group)) return tutti_turns_drawn_by(&v->turns, v->ticket);
    return atomic_load(&v->turns.board->head) == v->ticket ? -1 : atomic_load(&v->board->holder);
}

/* Returns, in a run that follows a record, the rank whose turn it was in the record. */
static int who_was_in(const tutti_visits *v)
{
    const int64_t head = atomic_load(&v->turns.board->head);
    return head == v->ticket ? -1 : head < v->order.nvisits ? v->order.visits[head] : v->rank;
}

tutti_status tutti_visits_enter(tutti_visits *v, tutti_failure *err)
{
    static const char in_turn[] = "for its turn to visit the centre, after";
    const tutti_admission how = v->plan->admission;
    tutti_status st = TUTTI_OK;
    if (v->follows) {
        v->ticket = v->own_visits[v->own_turns++];
        st = await(v, who_was_in, in_turn, err);
    } else if (how == TUTTI_ADMIT_BY_ARRIVAL) {
        v->ticket = tutti_turns_draw(&v->turns);
        st = await(v, somebody_is_in, "to visit the centre, where before it was", err);
    } else if (how == TUTTI_ADMIT_IN_RANK_ORDER) {
        v->ticket = tutti_turns_next(&v->turns);
        st = await(v, who_is_in, in_turn, err);
    }
    if (st) return st;
    if (v->visits && how != TUTTI_ADMIT_EVERYBODY) atomic_store(&v->visits[atomic_load(&v->board->count)], v->rank);
    atomic_store(&v->board->holder, v->rank);
    const int64_t stale = v->left_at < 0 ? 0 : atomic_load(&v->board->count) - v->left_at;
    tutti_staleness *s = &v->staleness;
    s->nvisits++;
    s->sum += stale;
    s->most = stale > s->most ? stale : s->most;
    s->bin[stale < TUTTI_STALENESS_BINS - 1 ? stale : TUTTI_STALENESS_BINS - 1]++;
    return TUTTI_OK;
}

void tutti_visits_leave(tutti_visits *v)
{
    v->left_at = atomic_fetch_add(&v->board->count, 1) + 1;
    if (v->plan->admission != TUTTI_ADMIT_EVERYBODY) tutti_turns_leave(&v->turns, v->ticket);
}

static int who_brings_before(const tutti_visits *v)
{
    const int64_t ticket = tutti_turns_next(&v->turns);
    for (int r = 0; r < v->nranks; r++)
        if (tutti_plan_is_far(v->plan, r) && tutti_turns_is_to_bring(&v->turns, r, ticket)) return r;
    return -1;
}

/* Waits, in rank order, for the worker's turn to send. It has no deadline of its own: the worker may still be
 * computing, and the deadline for the worker, and that of ranks that wait for its turn, cover this wait. */
tutti_status tutti_visits_bring_begin(const tutti_visits *v, tutti_failure *err)
{
    if (v->plan->admission != TUTTI_ADMIT_IN_RANK_ORDER) return TUTTI_OK;
    return await(v, who_brings_before, NULL, err);
}

void tutti_visits_bring_end(const tutti_visits *v)
{
    if (v->plan->admission == TUTTI_ADMIT_IN_RANK_ORDER) tutti_turns_bring(&v->turns, tutti_turns_next(&v->turns));
}

int64_t tutti_visits_change_begin(const tutti_visits *v, int bucket)
{
    return atomic_load(&v->changes[bucket]);
}

void tutti_visits_change_end(tutti_visits *v, int bucket, int64_t begun)
{
    v->staleness.nlost += atomic_fetch_add(&v->changes[bucket], 1) != begun;
}
