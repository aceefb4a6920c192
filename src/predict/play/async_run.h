/* SPDX-License-Identifier: Apache-2.0 */
/* async_run.h: predicts asynchronous steps, whose workers visit a centre: a play of events, worker by worker.
 *
 * A worker computes, visits, computes on; who is let in when is the plan's admission. Workers are alike but for their
 * speeds.
 *
 * On a host a visit moves nothing but memory. On a network it has three parts: what the worker brings travels to rank
 * 0, there the centre is visited, and what the worker takes along travels back, each over the links of its way, shared
 * max-min with the others'. In rank order all three are one turn, as the original goes about it; else they come, are
 * served and leave as they may. Rank 0's own lie there, and where it is said who is far, those of all others that are
 * not; then a turn is the visit alone, as tutti train goes about it between hosts, where in rank order those who are
 * far bring in turn, too: the next one sets out when rank 0 has told it that what the one before has brought is there.
 *
 * Cost: a heap operation for each share that is played: 4,096 workers of 64 shares each take well under a second; on a
 * network a solution of shares for each message. Threads: shared (pure). */
#ifndef TUTTI_ASYNC_RUN_H
#define TUTTI_ASYNC_RUN_H

#include "../../training/plan/plan.h"
#include "tutti/topology.h"

/* Workers of other hosts than the centre's. Rank 0 visits with what they bring, and looks at it before. */
typedef struct {
    const bool *is; /* for each worker */
    double before_s, look_s, visit_s, after_s, other_s;
} tutti_async_far;

/* Up to this number of workers, messages that began earlier get more of a link (flows.h), so that workers drift apart.
 * For more workers that would take minutes to play. */
enum { TUTTI_ASYNC_FEW = 64 };

typedef struct {
    int nworkers;
    tutti_admission admission;
    bool is_paced;
    int64_t staleness;                 /* if paced: local steps that a worker may be ahead of the slowest one */
    int64_t period;                    /* there is a visit in the last of every `period` local steps */
    double before_s, visit_s, after_s; /* parts of a step with a visit */
    double other_s;                    /* a step without a visit */
    const double *slowness;            /* for each worker: factor on its computing; NULL means 1 */
    const tutti_topology *network;     /* NULL means one host. It must have room for all workers */
    const tutti_async_far *far;        /* NULL: all workers visit by themselves, and their vectors travel if there is a
                                 * network */
    const bool *travels;  /* for each worker: its vectors cross links; NULL: those of all far workers do, or of all */
    bool brings_by_turns; /* not in rank order: far workers bring one after the other, in the order in which they are
                           * ready */
    double brought_bytes, taken_bytes; /* bytes of a visit, each way */
} tutti_async_run;

typedef struct {
    double step_s;      /* of a step of all workers: as many shares as there are workers */
    double waits_s;     /* the part of it in which the mean worker waits to visit, or for a worker that is behind */
    double travels_s;   /* the part of it in which its vectors travel */
    int64_t most_ahead; /* most local steps between the first and the last worker */
} tutti_async_time;

/* Plays `nsteps` local steps of each worker. The first quarter does not count, so that the times are those of the
 * steady state. */
tutti_async_time tutti_async_run_play(const tutti_async_run *run, int64_t nsteps);

#endif
