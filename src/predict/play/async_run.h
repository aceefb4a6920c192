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

/* Workers of other hosts than the centre's: what they bring is visited with by rank 0, which looks at it before. */
typedef struct {
    const bool *is; /* a worker */
    double before_s, look_s, visit_s, after_s, other_s;
} tutti_async_far;

/* Up to so many workers messages that began earlier have more of a link (flows.h), so that workers move apart; to play
 * that for more takes minutes. */
enum { TUTTI_ASYNC_FEW = 64 };

typedef struct {
    int nworkers;
    tutti_admission admission;
    bool is_paced;
    int64_t staleness;                 /* where paced: local steps that a worker may be ahead of the slowest */
    int64_t period;                    /* a visit is in the last of so many local steps */
    double before_s, visit_s, after_s; /* of a step with a visit */
    double other_s;                    /* a step without one */
    const double *slowness;            /* a worker: by what its computing is multiplied; NULL = 1 */
    const tutti_topology *network;     /* NULL = a host. All workers fit it */
    const tutti_async_far *far; /* NULL: all visit by themselves, and what they bring travels if there is a network */
    const bool
        *travels; /* a worker: what it brings and takes along crosses links there; NULL: that of all who are far, or of
                  * all */
    bool brings_by_turns; /* not in rank order: those who are far bring one after the other, who is ready first first */
    double brought_bytes, taken_bytes; /* there: of a visit */
} tutti_async_run;

typedef struct {
    double step_s;      /* of a step of all workers: as many shares as there are workers */
    double waits_s;     /* of that, mean of a worker: to be let in, or for who is behind */
    double travels_s;   /* and what it brings and takes along is on its way */
    int64_t most_ahead; /* local steps between the first and the last worker */
} tutti_async_time;

/* In its steady state: the first quarter of `nsteps` local steps of each worker does not count. */
tutti_async_time tutti_async_run_play(const tutti_async_run *run, int64_t nsteps);

#endif
