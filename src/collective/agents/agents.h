/* SPDX-License-Identifier: Apache-2.0 */
/* agents.h: the agents of a run on several hosts. An agent is the launcher of one host (../launch/launch.h); together
 * the agents decide which ranks form the next epoch of the group.
 *
 * One agent leads. The others report to it what their ranks do, and follow its orders. Agents carry no tensor. The
 * leader numbers the ranks: its own host comes first, then the others in the order in which they joined.
 *
 *   a rank was lost        all ranks leave the epoch; the lost rank's agent starts a new process for it
 *   a host was lost        the group goes on with fewer ranks, or waits for another agent if they are too few
 *   another agent joins    ranks save the step and end; the group goes on with more ranks
 *   a host is busy         its agent leaves, if rank 0 says so and the others suffice; then as when a host was lost
 *   the leader was lost    the next host in the leader's last table leads
 *
 * Only one side of a broken network goes on: the side with more than half of the hosts of the last epoch; with exactly
 * half, the side whose leader holds the lock of the run's folder. So no two epochs have the same number.
 *
 * Paper: no voting on values is needed as in Raft (Ongaro and Ousterhout 2014), because an agent follows one leader at
 * a time and an epoch needs a majority of the epoch before. Threads: one at a time. */
#ifndef TUTTI_AGENTS_H
#define TUTTI_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "../launch/launch.h"
#include "tutti/failure.h"

typedef struct {
    bool leads;          /* true for the agent that the others join at the start */
    const char *address; /* leader: where to listen, "" = on all interfaces; others: where the leader listens */
    int port;            /* port at that address; leader: 0 = any */
    uint64_t cookie;     /* number of the run: agents with another number are refused */
    uint64_t job;        /* hash of the job's text: agents with another hash are refused */
    int nlocal;          /* the most ranks that this host starts, at least 1 */
    int min, max;        /* the fewest ranks with which the run may go on; the most ranks that it may have */
    int max_restarts;    /* number of losses of ranks or hosts after which the run may still go on */
    /* seconds of silence after which an agent counts as lost; also the most seconds of a wait for agents that have not
     * come */
    double deadline_s;
    const char *lock_path; /* a file in the run's folder, which the leader locks and puts its join text into; NULL =
                            * no lock */
    int listener;          /* leader: a socket that listens already, which the agents close; -1 = open one */
    /* True if the job can run with this number of ranks. */
    bool (*permits)(void *arg, int nranks);
    void (*tell)(void *arg, const char *words); /* called with one line of text about each change of the group; NULL =
                                                 * not called */
    void *arg;                                  /* first argument of permits and of tell */
} tutti_agents_options;

typedef struct tutti_agents tutti_agents;

/* Begins to listen, and for agents that do not lead, reaches the leader within the deadline. Texts of options must stay
 * until tutti_agents_close. TUTTI_ERR_RENDEZVOUS: cannot listen, or the leader is not reached. TUTTI_ERR_USAGE: another
 * agent leads a run in the folder of lock_path. */
tutti_status tutti_agents_open(const tutti_agents_options *options, tutti_agents **out, tutti_failure *err);
/* The function for tutti_launch_options.decide; agents: a tutti_agents. */
void tutti_agents_decide(void *agents, const tutti_launch_facts *facts, tutti_launch_order *order);
/* Writes the value of --join by which other agents join this one while this one leads: "10.0.0.7:29500/1f2e3d". */
enum { TUTTI_AGENTS_TEXT = 320 };
void tutti_agents_join_text(const tutti_agents *a, char out[TUTTI_AGENTS_TEXT]);
/* Reads such a text into address (of TUTTI_AGENTS_TEXT bytes), port and cookie. TUTTI_ERR_USAGE: the text has another
 * form. */
tutti_status tutti_agents_read_text(const char *text, char address[TUTTI_AGENTS_TEXT], int *port, uint64_t *cookie,
                                    tutti_failure *err);
void tutti_agents_close(tutti_agents *a); /* NULL is accepted */

#endif
