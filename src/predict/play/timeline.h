/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h: the timeline of one rank's loop on two lanes, computing and exchanges. Ranks are alike, so one rank
 * represents all. Threads: any (pure functions). */
#ifndef TUTTI_TIMELINE_H
#define TUTTI_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../metrics/trace.h"
#include "../../training/plan/plan.h"
#include "../exchange_times.h"
#include "../profile/profile.h"
#include "tutti/predict.h"
#include "tutti/topology.h"

/* Log of a rank in a predicted step. A stretch is a time in which the rank does one thing: it computes or exchanges.
 * The log tells which parts of the exchanges are exposed, and which chain of stretches determines the length of the
 * step. Threads: one at a time. */

typedef enum {
    TUTTI_STRETCH_LOAD,     /* loading a batch, if no core is free for it */
    TUTTI_STRETCH_FORWARD,  /* kernels of a layer */
    TUTTI_STRETCH_BACKWARD, /* kernels that compute the gradients of a layer */
    TUTTI_STRETCH_UPDATE,   /* updates: rules, sums and copies of weights, gradients and states */
    TUTTI_STRETCH_BESIDE,   /* on the exchange lane: an update of the loop TUTTI_EACH_END, between two exchanges */
    TUTTI_STRETCH_EXCHANGE, /* an exchange on the wire; on a host, by the rank's own core */
    TUTTI_STRETCH_WAIT,     /* in paths only: time in which this rank neither computes nor exchanges */
    TUTTI_NSTRETCHES
} tutti_stretch_kind;
const char *tutti_stretch_name(tutti_stretch_kind k); /* "forward" */

typedef struct {
    tutti_stretch_kind kind;
    int what; /* index of a layer of the model, or of an exchange of the plan; -1 for other stretches */
    int last; /* in a path that joins several stretches: the layer or exchange of the last one; else equal to `what` */
    double begin_s, end_s;
} tutti_step_stretch;

typedef struct {
    tutti_step_stretch *list; /* stretches in the order in which they were played */
    int n, capacity;
    double begin_s, end_s; /* begin and end of the predicted step (with a period: of the predicted period) */
} tutti_step_log;

/* Adds a stretch. Does nothing if log is NULL. Neighbours of one kind and layer become one. Stretches of no length are
 * left out. */
void tutti_step_log_add(tutti_step_log *log, tutti_stretch_kind kind, int what, double begin_s, double end_s);
void tutti_step_log_release(tutti_step_log *log);
/* Keeps the part of each stretch within [begin_s, end_s), and moves times so that begin_s becomes 0. */
void tutti_step_log_cut(tutti_step_log *log, double begin_s, double end_s);

/* Returns the seconds in [a, b) in which the rank's compute lane is busy, without exchanges. */
double tutti_step_log_computing(const tutti_step_log *log, double a, double b);
/* Splits an exchange's stretch of the log into parts that are hidden behind computing and parts that are exposed.
 * Writes at most `most` parts and returns their number; exposed[i] says which part i is. */
int tutti_step_log_split(const tutti_step_log *log, const tutti_step_stretch *exchange, tutti_step_stretch *out,
                         bool *exposed, int most);

/* Finds the critical path: a chain of stretches up to the step's end, each of which could begin only when the one
 * before it had ended. Writes the chain in order into *out, which the caller frees; neighbours of one kind are merged.
 * Returns the number of stretches. */
int tutti_step_log_path(const tutti_step_log *log, tutti_step_stretch **out);

/* Fills in *out from the plan's own actions and schedules. slowness: for workers that take steps of their own, the
 * factor on each worker's computing (for others it is in the profile); NULL means none. */
tutti_status tutti_timeline_predict(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                    const double *slowness, tutti_prediction *out, tutti_failure *err);
/* Predicts as tutti_timeline_predict does, and logs what the slowest rank does in the step or period that is the
 * prediction. log may be NULL. Workers that take steps of their own log nothing. */
typedef struct {
    const tutti_plan *plan;
    const tutti_profile *profile;
    const tutti_topology *topology;
    const double *slowness;
} tutti_timeline_question;
tutti_status tutti_timeline_record(const tutti_timeline_question *q, tutti_step_log *log, tutti_prediction *out,
                                   tutti_failure *err);
/* Predicts times->plan, whose ranks take all steps together, from the times that are kept. It predicts neither the
 * times of other bucket sizes nor the algorithm, the busiest link and what a rank sends. */
tutti_status tutti_timeline_compare(tutti_exchange_times *times, const tutti_profile *profile, tutti_prediction *out,
                                    tutti_failure *err);

/* Finds the link that the exchanges of a step keep busy longest. Of each exchange only its fullest link counts, at its
 * full rate, so a link that is second in several exchanges can be missed. Threads: any (pure functions). */

typedef struct {
    char name[32];     /* such as "up(3)"; on a host "core(0)" or "memory"; "" if nothing moves, or if workers visit a
                        * centre */
    double busy_s;     /* seconds in a step in which the link is busy */
    double exchange_s; /* seconds of all exchanges of a step, one after the other */
} tutti_busiest_link;

/* Finds the busiest link of a plan on a topology. Cost: that of tutti_exchange_times_at for each exchange. */
tutti_status tutti_predict_busiest(const tutti_plan *plan, const tutti_topology *t, tutti_busiest_link *out,
                                   tutti_failure *err);

/* The factor by which computing takes longer for ranks that wait for each other than for one rank on the mean.
 *
 * If F is the fraction of one rank's steps that take at most x, and each rank's step is a draw of its own, all of P
 * ranks are done by x with chance F(x)^P. Half of all steps take longer than the typical step, so there the chance is
 * 1/2:
 *
 *   F^-1(0.5^(1/P))          P = 1: the median; 2: what 71 % of the steps stay below; 8: 92 %; 64: 98.9 %
 *
 * F is what a layer trace kept of its steps (metrics/trace.h): nothing is slower than its slowest step, however many
 * ranks there are. Ranks that wait once in n steps wait for the slowest sum of n draws. The mean of such a sum is n
 * times that of one draw, and it strays sqrt(n) times as far, so the distance of F^-1 from the mean is divided by
 * sqrt(n). This is exact for normal steps, and for many steps of any kind. Where ranks take turns on a core, the ranks
 * of one core count as one waiting rank, whose time is the sum of one draw for each of them. If ranks are slow by
 * factors of their own, the answer is the largest, over the factors s, of s times the typical step of the ranks that
 * are as slow or slower. This is exact where factors are alike or far apart; elsewhere it may be too low, but is never
 * too high.
 *
 * Draws are taken to be independent. A disturbance of all ranks of a machine at once makes the answer too high. A
 * disturbance of one rank for many steps makes it too low. Threads: any (pure functions). */

typedef struct {
    int nranks;
    int nlanes;             /* most ranks that compute at the same time: on a host its number of cores */
    int64_t period;         /* number of steps of a rank from one wait for others to the next */
    const double *slowness; /* for each rank: factor (>= 1) by which its computing is slower; NULL means that none is
                             * slow */
} tutti_waiting_ranks;

/* Returns the factor on the mean computing of a step. If the spread is unknown, it is the largest slowness, or 1. Cost:
 * nranks^2 with slowness. */
double tutti_slowest_rank(const tutti_step_spread *spread, const tutti_waiting_ranks *ranks);

#endif
