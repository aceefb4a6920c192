/* SPDX-License-Identifier: Apache-2.0 */
/* launch_told.c: the launcher of one host among several: it says what its ranks do and follows the orders that it gets.
 *
 * Ranks that keep their number in a group of the same size stay; they get the message that the next epoch gathers.
 * Otherwise their plan would be another one, so all ranks of this host are ended and started anew. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch_impl.h"

static tutti_launch_facts facts_of(const tutti_launcher *l)
{
    const tutti_launch_epochs *e = &l->epochs;
    return (tutti_launch_facts){.epoch = e->epoch,
                                .plays = l->nrunning > 0 && tutti_epochs_all_play(l),
                                .broken = e->broken,
                                .left = e->epoch == 0 || ((e->broken || e->saving) && tutti_epochs_all_left(l)),
                                .done = tutti_epochs_zero_is_done(l),
                                .idle = l->nrunning == 0,
                                .bears = l->base == 0 && l->bears,
                                .busy = e->busy,
                                .lost = e->lost,
                                .code = l->interrupts > 1 ? 128 + SIGINT : e->own_code};
}

static void follow_break(tutti_launcher *l, const tutti_launch_order *o)
{
    if (o->epoch != l->epochs.epoch) return;
    tutti_epochs_break(l, o->lost);
    if (o->is_hard) tutti_launch_kill_all(l);
}

/* Asks the ranks once to save and end. */
static void follow_save(tutti_launcher *l, const tutti_launch_order *o)
{
    if (o->epoch != l->epochs.epoch || l->epochs.saving || l->epochs.broken) return;
    l->epochs.saving = true;
    tutti_launch_send_all(l, SIGUSR1);
}

/* True if ranks keep their number and the address at which they meet. */
static bool is_same_place(const tutti_launcher *l, const tutti_launch_order *o)
{
    return l->epochs.epoch && l->base == o->base && l->nranks == o->nranks && l->world == o->world &&
           !strcmp(l->address, o->address);
}

static void take_place(tutti_launcher *l, const tutti_launch_order *o)
{
    tutti_launch_epochs *e = &l->epochs;
    if (l->listener >= 0) close(l->listener);
    l->listener = o->listener < 0 ? -1 : fcntl(o->listener, F_DUPFD_CLOEXEC, 3);
    l->port = o->port;
    l->base = o->base;
    l->nranks = o->nranks;
    l->world = o->world;
    snprintf(l->address, sizeof l->address, "%s", o->address);
    e->epoch = o->epoch;
    e->lost = o->lost;
    e->lost_ns = o->lost_ns;
    e->broken = e->saving = false;
    e->busy = 0;
    tutti_launch_hear_zero(l); /* reads what rank 0 of the epoch before has said */
    l->bears = false;
    e->blamed_at = 0;
    for (int r = 0; r < l->nranks; r++) l->ends[r] = (tutti_rank_end){0};
    l->nfailed = 0; /* with the ends that it counts */
    l->kill_at = 0;
}

static bool follow_next(tutti_launcher *l, const tutti_launch_order *o, tutti_failure *err)
{
    if (o->epoch <= l->epochs.epoch) return true;
    if (!is_same_place(l, o) && l->nrunning) { /* the running ranks are ended first; the order comes again after that */
        l->epochs.broken = true;
        tutti_launch_kill_all(l);
        return true;
    }
    take_place(l, o);
    return tutti_epochs_gather(l, err) == TUTTI_OK;
}

static void follow_end(tutti_launcher *l, const tutti_launch_order *o)
{
    if (l->epochs.told_end) return;
    l->epochs.told_end = true;
    l->epochs.told_code = o->code;
    tutti_epochs_give_up(l);
    if (o->is_hard) tutti_launch_kill_all(l);
    if (l->nrunning) tutti_launch_hurry(l);
}

bool tutti_told_advance(tutti_launcher *l, tutti_failure *err)
{
    if (l->base == 0) tutti_launch_hear_zero(l);
    const tutti_launch_facts facts = facts_of(l);
    tutti_launch_order o = {.kind = TUTTI_ORDER_WAIT, .listener = -1, .lost = -1};
    l->options->decide(l->options->decide_arg, &facts, &o);
    if (l->base > 0) l->bears = o.bears;
    switch (o.kind) {
    case TUTTI_ORDER_BREAK: follow_break(l, &o); break;
    case TUTTI_ORDER_SAVE: follow_save(l, &o); break;
    case TUTTI_ORDER_NEXT: return follow_next(l, &o, err);
    case TUTTI_ORDER_FINISH: l->epochs.finishing = true; break;
    case TUTTI_ORDER_END: follow_end(l, &o); break;
    case TUTTI_ORDER_WAIT: break;
    }
    return true;
}

bool tutti_told_goes_on(const tutti_launcher *l)
{
    return l->options->decide && !l->epochs.told_end;
}
