/* SPDX-License-Identifier: Apache-2.0 */
/* async_run.h: predicts asynchronous steps, whose workers visit a centre. The run is played as events, worker by
 * worker.
 *
 * A worker computes, visits the centre, and computes again. The plan's admission says which worker may visit when.
 * Workers differ only in their speeds.
 *
 * On a host a visit moves nothing but memory. On a network it has three parts: the worker's vector travels to rank 0,
 * the centre is visited, and the answer travels back. Messages that use a link at the same time share its rate by
 * max-min fairness. In rank order all three parts are one turn, as in the original method; otherwise workers come, are
 * served and leave as they can. Vectors of rank 0's own host do not travel. If `far` is given, only the vectors of far
 * workers travel and a turn is the visit alone, as in tutti train between hosts. In rank order, far workers then send
 * in turn, too: rank 0 tells the next worker when the vector of the worker before has arrived.
 *
 * Cost: a heap operation for each local step that is played: 4,096 workers of 64 steps each take well under a second;
 * on a network also the fair rates of all messages, computed again for each message. Threads: any (pure functions). */
#ifndef TUTTI_ASYNC_RUN_H
#define TUTTI_ASYNC_RUN_H

#include "../../training/plan/plan.h"
#include "tutti/topology.h"

/* Workers on other hosts than the centre's. Rank 0 checks the vectors that these workers send, and then visits the
 * centre in their place. */
typedef struct {
    const bool *is; /* for each worker: true if it runs on another host than the centre */
    double before_s, look_s, visit_s, after_s, other_s;
} tutti_async_far;

/* Up to this number of workers, messages that began earlier get more of a link's rate (flows.h), so that workers do not
 * stay in step. With more workers, playing this would take minutes. */
enum { TUTTI_ASYNC_FEW = 64 };

typedef struct {
    int nworkers;
    tutti_admission admission;
    bool is_paced;
    int64_t staleness;                 /* if is_paced: number of local steps by which a worker may be ahead of the
                                        * slowest one */
    int64_t period;                    /* a worker visits in the last of every `period` local steps */
    double before_s, visit_s, after_s; /* seconds of a step with a visit: before the visit, in it, and after it */
    double other_s;                    /* seconds of a step without a visit */
    const double *slowness;            /* for each worker: the factor by which it computes longer; NULL means 1 */
    const tutti_topology *network;     /* the network that vectors travel on, with room for all workers; NULL means one
                                        * host */
    const tutti_async_far *far;        /* the far workers. NULL: all workers visit by themselves, and on a network their
                                        * vectors travel */
    const bool *travels;  /* for each worker: true if its vectors cross links. NULL: those of all far workers do, or of
                           * all workers if `far` is NULL */
    bool brings_by_turns; /* if not in rank order: true if far workers send their vectors one after the other, in the
                           * order in which they are ready */
    double brought_bytes, taken_bytes; /* bytes that a visit brings to the centre, and that it takes back */
} tutti_async_run;

typedef struct {
    double step_s;      /* mean seconds in which the workers together do as many local steps as there are workers */
    double waits_s;     /* seconds of step_s in which the mean worker waits for its visit, or for a worker that is
                         * behind */
    double travels_s;   /* seconds of step_s in which the mean worker's vectors travel */
    int64_t most_ahead; /* most local steps by which the first worker was ahead of the last */
} tutti_async_time;

/* Plays `nsteps` local steps of each worker. The first quarter does not count, so that the times are those of the
 * steady state. */
tutti_async_time tutti_async_run_play(const tutti_async_run *run, int64_t nsteps);

#endif
