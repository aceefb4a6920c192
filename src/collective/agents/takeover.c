/* SPDX-License-Identifier: Apache-2.0 */
/* takeover.c: an agent whose leader was lost goes through the table of the last epoch until it finds a host that leads,
 * or is itself the next host of the table.
 *
 * A host that refuses the connection has no agent any more, so the next one is tried at once. A host that does not
 * answer is tried until the deadline: the network to it may be broken, and then the majority decides
 * (leader_form.c). */
#include <stdio.h>
#include <string.h>

#include "../../base/clock.h"
#include "agents_impl.h"

static const double ATTEMPT_S = 0.2;

/* Makes the candidate this agent's leader. */
static void follow_candidate(tutti_agents *a, const char *address)
{
    a->role = TUTTI_AGENT_FOLLOWS;
    snprintf(a->leader_address, sizeof a->leader_address, "%s", address);
    a->last = (tutti_launch_order){.kind = TUTTI_ORDER_WAIT, .listener = -1, .lost = -1};
    tutti_agents_greet(a, &a->leader);
}

static void give_up(tutti_agents *a, tutti_launch_order *order)
{
    a->last = (tutti_launch_order){.kind = TUTTI_ORDER_END, .code = TUTTI_ERR_PEER, .is_hard = true, .listener = -1};
    a->role = TUTTI_AGENT_FOLLOWS; /* it follows its own last order, which is END */
    *order = a->last;
}

void tutti_agents_seek(tutti_agents *a, const tutti_launch_facts *facts, tutti_launch_order *order)
{
    (void)facts;
    *order = (tutti_launch_order){.kind = TUTTI_ORDER_WAIT, .listener = -1, .lost = -1};
    if (!a->epoch) { /* there is no table yet, so no agent knows the others */
        tutti_agents_say(a,
                         "no group had formed yet, so nobody can lead: the run ends here (the leading agent does not "
                         "answer an agent of another build, either)");
        give_up(a, order);
        return;
    }
    if (!a->sought_at) a->sought_at = tutti_clock_s(), a->candidate++;
    if (a->candidate >= a->newest.n) {
        tutti_agents_say(a, "this host is not in the last group, and no host of it leads: the run ends here");
        give_up(a, order);
        return;
    }
    const tutti_agent_entry *e = &a->newest.entry[a->candidate];
    bool refused = false;
    if (e->id == a->id) {
        tutti_agents_begin_to_lead(a, true);
        return;
    }
    if (tutti_agent_connect(e->address, e->port, ATTEMPT_S, &a->leader, &refused)) {
        follow_candidate(a, e->address);
        return;
    }
    if (refused || tutti_clock_s() - a->sought_at > a->options.deadline_s) a->sought_at = 0;
}
