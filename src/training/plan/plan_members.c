/* SPDX-License-Identifier: Apache-2.0 */
/* plan_members.c: finds the ranks that an exchange of a plan is between, and what each rank may do with it. */
#include <stdlib.h>

#include "plan_impl.h"

int tutti_plan_place(const tutti_plan_exchange *x, int rank)
{
    if (!x->members) return rank < x->nmembers ? rank : -1;
    for (int i = 0; i < x->nmembers; i++)
        if (x->members[i] == rank) return i;
    return -1;
}

int tutti_plan_spokesman(const tutti_plan *p, const tutti_plan_exchange *x)
{
    return tutti_plan_place(x, p->config.rank) >= 0 ? p->config.rank : tutti_plan_member(x, 0);
}

bool tutti_plan_is_between_all(const tutti_plan *p)
{
    for (int x = 0; x < p->nexchanges; x++)
        if (p->exchanges[x].members) return false;
    return true;
}

void tutti_plan_print_members(const tutti_plan_exchange *x, tutti_strbuf *sb)
{
    tutti_strbuf_puts(sb, x->nmembers == 1 ? "rank" : "ranks");
    for (int i = 0; i < x->nmembers; i++) tutti_strbuf_printf(sb, "%s %d", i ? "," : "", (int)tutti_plan_member(x, i));
}

static int between(const tutti_plan *p, int from, int to, int seat_of)
{
    for (int i = 0; i < p->nexchanges; i++) {
        const tutti_plan_exchange *x = &p->exchanges[i];
        const int seat = seat_of == to ? x->in.memory : x->out.memory;
        if (x->nmembers == 2 && tutti_plan_member(x, 0) == from && tutti_plan_member(x, 1) == to &&
            p->memories[seat].role == TUTTI_ROLE_SEAT)
            return i;
    }
    return -1;
}

int tutti_plan_push_of(const tutti_plan *p, int worker)
{
    return between(p, worker, 0, worker);
}

int tutti_plan_pull_of(const tutti_plan *p, int worker)
{
    return between(p, 0, worker, worker);
}

/* True if vectors that are sent to rank 0 at once could overflow the buffer of the switch's port to its host, which
 * holds a MiB at best (docs/topologies.md). Up to that size, vectors may be sent when they are ready, because a turn
 * costs a round trip. */
bool tutti_plan_brings_by_turns(const tutti_plan *p)
{
    enum { HELD = 1 << 20 };
    int nfar = 0;
    for (int r = 0; r < p->config.nranks; r++) nfar += tutti_plan_is_far(p, r);
    return nfar > 1 && p->admission != TUTTI_ADMIT_IN_RANK_ORDER && p->total * (int64_t)sizeof(float) > HELD;
}

/* ---- refusals ---- */

static tutti_status check_list(const tutti_plan *p, const tutti_plan_exchange *x, int *place_of, tutti_failure *err)
{
    const int nranks = p->config.nranks, wanted = tutti_schedule_head(p->schedules[x->schedule].lowered)->nranks;
    if (x->nmembers != wanted)
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: its schedule is for %d ranks, and %d are its members", x->name,
                          wanted, x->nmembers);
    for (int r = 0; r < nranks; r++) place_of[r] = -1;
    for (int i = 0; i < x->nmembers; i++) {
        const int rank = tutti_plan_member(x, i);
        if (rank < 0 || rank >= nranks)
            return tutti_fail(err, TUTTI_ERR_FAILED, "%s: its member %d is rank %d; there are ranks 0 to %d", x->name,
                              i, rank, nranks - 1);
        if (place_of[rank] >= 0)
            return tutti_fail(err, TUTTI_ERR_FAILED, "%s: rank %d is its member %d and its member %d", x->name, rank,
                              place_of[rank], i);
        place_of[rank] = i;
    }
    return TUTTI_OK;
}

tutti_status tutti_plan_check_members(const tutti_plan *p, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    int *place_of = tutti_alloc(sizeof *place_of * (size_t)p->config.nranks);
    for (int x = 0; x < p->nexchanges && !st; x++) st = check_list(p, &p->exchanges[x], place_of, err);
    free(place_of);
    return st;
}

tutti_status tutti_plan_check_actions(const tutti_plan *p, int rank, const tutti_loop loops[TUTTI_NDRIVERS],
                                      tutti_failure *err)
{
    for (int d = 0; d < TUTTI_NDRIVERS; d++)
        for (int i = 0; i < loops[d].nactions; i++) {
            const tutti_action *a = &loops[d].actions[i];
            if (a->exchange < 0 || tutti_plan_place(&p->exchanges[a->exchange], rank) >= 0) continue;
            tutti_strbuf action = {0}, members = {0};
            tutti_plan_print_action(p, a, &action);
            tutti_plan_print_members(&p->exchanges[a->exchange], &members);
            tutti_fail(err, TUTTI_ERR_FAILED,
                       "rank %d takes no part in the exchange of %s, which is between %s: action %d of %s is '%s'",
                       rank, p->exchanges[a->exchange].name, members.text, i,
                       tutti_loop_driver_name((tutti_loop_driver)d), action.text);
            tutti_strbuf_release(&action), tutti_strbuf_release(&members);
            return TUTTI_ERR_FAILED;
        }
    return TUTTI_OK;
}

/* ---- in which loops exchanges start ---- */

/* Notes in which loop each exchange is started first. An exchange that only last steps of periods start counts as one
 * of the period. started: per exchange, false at first. */
static void note_starts(tutti_plan *p, int rank, const tutti_loop *l, bool *started)
{
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        if (!tutti_action_starts(a) || started[a->exchange]) continue;
        started[a->exchange] = true;
        tutti_plan_exchange *x = &p->exchanges[a->exchange];
        const bool rarely = a->steps == TUTTI_IN_LAST_STEP;
        if (tutti_plan_spokesman(p, x) == rank) x->drivers |= 1u << (rarely ? TUTTI_EACH_PERIOD : l->driver);
    }
}

static void note_drivers(tutti_plan *p, int rank, const tutti_loop loops[TUTTI_NDRIVERS])
{
    for (int d = 0; d < TUTTI_NDRIVERS; d++) {
        bool *started = tutti_alloc((size_t)p->nexchanges + 1);
        note_starts(p, rank, &loops[d], started);
        free(started);
    }
}

bool *tutti_plan_find_spokesmen(const tutti_plan *p, tutti_arena *arena)
{
    bool *found = TUTTI_ARENA_NEW(arena, bool, p->config.nranks);
    for (int x = 0; x < p->nexchanges; x++) found[tutti_plan_spokesman(p, &p->exchanges[x])] = true;
    found[p->config.rank] = true;
    return found;
}

void tutti_plan_find_drivers(tutti_plan *p)
{
    tutti_arena work = {0};
    tutti_loop loops[TUTTI_NDRIVERS];
    note_drivers(p, p->config.rank, p->loops);
    loops[TUTTI_EACH_STEP] = p->loops[TUTTI_EACH_STEP];
    /* for a worker of another host, rank 0 waits for the slowest worker */
    if (tutti_plan_is_far(p, p->config.rank)) tutti_plan_list_loops(p, 0, &work, loops);
    for (int i = 0; i < loops[TUTTI_EACH_STEP].nactions; i++)
        p->is_paced |= tutti_action_paces(&loops[TUTTI_EACH_STEP].actions[i]);
    tutti_arena_release(&work);
    if (tutti_plan_is_between_all(p)) return;
    tutti_arena kept = {0};
    const bool *spokesmen = tutti_plan_find_spokesmen(p, &kept);
    for (int r = 0; r < p->config.nranks; r++) {
        /* ranks that share layers all have the same loops, with exchanges of their own groups */
        if (r == p->config.rank || (p->graph->nsplit && !spokesmen[r])) continue;
        tutti_plan_list_without_kernels(p, r, &work, loops);
        for (int d = 0; d < TUTTI_NDRIVERS; d++) p->other_loops |= (unsigned)(loops[d].nactions > 0) << d;
        note_drivers(p, r, loops);
        tutti_arena_reset(&work);
    }
    tutti_arena_release(&work);
    tutti_arena_release(&kept);
}
