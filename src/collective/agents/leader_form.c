/* SPDX-License-Identifier: Apache-2.0 */
/* leader_form.c: the leading agent forms an epoch of the group: it checks that this side of the network may go on,
 * decides how many ranks there are, and shares them out among the hosts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../launch/reach.h"
#include "agents_impl.h"

/* Seconds that a new leader still waits for the remaining hosts of the last epoch when enough of them are here. */
static const double LATECOMER_S = 0.5;

/* ---- who may go on ---- */

/* True if this side of the network may form the next epoch. False: not yet, or the run has been ended. */
static bool may_go_on(tutti_agents *a)
{
    const double passed = tutti_clock_s() - a->began_at;
    if (!a->epoch) return true;
    /* the hosts above this one in the table would lead if they were here, so this leader does not wait for them */
    const int awaited = a->newest.n - a->candidate;
    if (tutti_agents_suffice(a))
        return !a->gathers || tutti_agents_count_here(a, &a->newest) >= awaited || passed > LATECOMER_S;
    if (!a->gathers || passed > a->options.deadline_s) tutti_agents_end_side(a);
    return false;
}

/* ---- how many ranks ---- */

static int capacity(const tutti_agents *a)
{
    int64_t total = 0;
    for (int i = 0; i < a->nknown; i++) total += a->hosts[i].is_lost ? 0 : a->hosts[i].nlocal;
    return total > a->options.max ? a->options.max : (int)total;
}

/* Returns the largest number of ranks with which the job can run on the hosts that are here; 0 = none. */
static int most_ranks(const tutti_agents *a)
{
    int n = capacity(a);
    while (n >= a->options.min && !a->options.permits(a->options.arg, n)) n--;
    return n >= a->options.min ? n : 0;
}

bool tutti_agents_can_spare(tutti_agents *a, tutti_agent_host *h)
{
    h->is_lost = true;
    const bool can = a->left > 0 && most_ranks(a) > 0 && tutti_agents_suffice(a);
    h->is_lost = false;
    return can;
}

/* Returns the number of ranks of the next epoch; 0 = more hosts may still come, or the run has been ended. */
static int choose_ranks(tutti_agents *a)
{
    const int n = most_ranks(a);
    const double patience = a->options.deadline_s;
    if (n && (a->epoch || n == a->options.max)) return n;
    if (tutti_clock_s() - a->began_at < patience) return 0;
    if (!n)
        tutti_agents_end(a, TUTTI_ERR_PEER,
                         "hosts for %d ranks are here, and the job needs %d: no other agent has come within %g s",
                         capacity(a), a->options.min, patience);
    return n;
}

/* ---- forming ---- */

static void share_out(tutti_agents *a, int world)
{
    int base = 0;
    for (int i = 0; i < a->nknown; i++) {
        tutti_agent_host *h = &a->hosts[i];
        h->in_epoch = !h->is_lost;
        if (!h->in_epoch) continue;
        h->base = base;
        h->nranks = h->nlocal < world - base ? h->nlocal : world - base;
        base += h->nranks;
    }
    a->world = world;
}

/* Opens the socket on which rank 0 will listen. */
static bool open_listener(tutti_agents *a)
{
    bool wants_six = false;
    for (int i = 0; i < a->nknown; i++) wants_six |= strchr(a->hosts[i].address, ':') != NULL;
    if (a->listener >= 0) close(a->listener);
    a->listener = tutti_reach_listen(wants_six ? TUTTI_REACH_ALL_SIX : TUTTI_REACH_ALL, &a->rank_port);
    if (a->listener >= 0) return true;
    tutti_agents_end(a, TUTTI_ERR_FAILED, "agents: rank 0 cannot listen: %s", strerror(errno));
    return false;
}

/* Sends a table to all other agents. */
static void send_table(tutti_agents *a, const tutti_agent_table *table, bool is_before)
{
    for (int t = 0; t < table->n; t++) {
        const tutti_agent_entry *e = &table->entry[t];
        tutti_agent_message m = {.kind = TUTTI_AGENT_HOST,
                                 .id = e->id,
                                 .port = e->port,
                                 .index = t,
                                 .nhosts = table->n,
                                 .is_before = is_before,
                                 .epoch = a->epoch};
        memcpy(m.address, e->address, sizeof m.address);
        for (int i = 0; i < a->nknown; i++)
            if (!a->hosts[i].is_here) tutti_agent_send(a, &a->hosts[i].talk, &m);
    }
}

/* Writes the table of the hosts that are in the new epoch, with the address and the port of each. */
static void make_table(tutti_agents *a)
{
    tutti_agents_begin_table(a, a->nknown);
    tutti_agent_table *table = &a->newest;
    table->n = 0;
    for (int i = 0; i < a->nknown; i++) {
        const tutti_agent_host *h = &a->hosts[i];
        if (!h->in_epoch) continue;
        tutti_agent_entry *e = &table->entry[table->n++];
        *e = (tutti_agent_entry){.id = h->id, .port = h->port};
        memcpy(e->address, h->address, sizeof e->address);
    }
}

void tutti_agents_form(tutti_agents *a)
{
    if (!may_go_on(a)) return;
    const int before = a->world, world = choose_ranks(a);
    if (!world) return;
    if (a->broken && a->epoch && a->left-- == 0) {
        tutti_agents_end(a, TUTTI_ERR_PEER, "no replacement is left (--max-restarts): the run ends");
        return;
    }
    share_out(a, world);
    if (!open_listener(a)) return;
    make_table(a);
    a->epoch++;
    a->formed = true;
    tutti_agents_record(a);
    send_table(a, &a->before, true);
    send_table(a, &a->newest, false);
    if (!a->broken) a->lost_ns = 0, a->lost = -1;
    if (a->epoch > 1 || a->newest.n > 1)
        tutti_agents_say(a, "group epoch %u: %d rank%s on %d host%s; %d replacement%s left", a->epoch, world,
                         world == 1 ? "" : "s", a->newest.n, a->newest.n == 1 ? "" : "s", a->left,
                         a->left == 1 ? "" : "s");
    if (before && world < before)
        tutti_agents_say(a, "the run goes on with fewer ranks: %d before, %d now", before, world);
    a->broken = a->hard = a->saving = a->gathers = a->lets_go = false;
}

/* Returns the ranks of the epoch whose hosts are here. They are fewer than there were if rank 0 goes on without lost
 * ones. */
static int count_ranks(const tutti_agents *a)
{
    int n = 0;
    for (int i = 0; i < a->nknown; i++) n += a->hosts[i].in_epoch && !a->hosts[i].is_lost ? a->hosts[i].nranks : 0;
    return n;
}

void tutti_agents_grow(tutti_agents *a)
{
    for (int i = 0; i < a->nknown; i++) {
        const tutti_agent_host *h = &a->hosts[i];
        const bool plays = h->facts.epoch == a->epoch && h->facts.plays;
        if (h->in_epoch && !h->is_lost && h->nranks && !plays) return;
    }
    const int world = most_ranks(a), before = count_ranks(a);
    if (world <= before) return;
    tutti_agents_say(a, "the group grows from %d to %d ranks: all ranks save the step", before, world);
    a->saving = true;
    a->began_at = tutti_clock_s();
}
