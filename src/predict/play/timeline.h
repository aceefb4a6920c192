/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h: the timeline of one rank's loop on two lanes, compute and exchange. Ranks are alike, so one stands for
 * all. Threads: shared (pure). */
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

/* What a rank does when in a predicted step: stretches of computing and of exchanges as the timeline has played them,
 * what of the exchanges is exposed, and the chain of stretches that makes the step as long as it is. Threads: owner. */

typedef enum {
    TUTTI_STRETCH_LOAD,     /* of a batch, where no core is free for it */
    TUTTI_STRETCH_FORWARD,  /* kernels of a layer */
    TUTTI_STRETCH_BACKWARD, /* ... and of its gradients */
    TUTTI_STRETCH_UPDATE,   /* what moves weights, gradients and states: rules, sums, copies */
    TUTTI_STRETCH_BESIDE,   /* the same beside the others, on the way of an exchange */
    TUTTI_STRETCH_EXCHANGE, /* on the wire; on a host by the rank's own core */
    TUTTI_STRETCH_WAIT,     /* of a path: what nobody is seen to do */
    TUTTI_NSTRETCHES
} tutti_stretch_kind;
const char *tutti_stretch_name(tutti_stretch_kind k); /* "forward" */

typedef struct {
    tutti_stretch_kind kind;
    int what; /* a layer of the model; of an exchange: which of the plan; else -1 */
    int last; /* of a path: the layer or exchange that it ends with; else = what */
    double begin_s, end_s;
} tutti_step_stretch;

typedef struct {
    tutti_step_stretch *list; /* in the order in which they were played */
    int n, capacity;
    double begin_s, end_s; /* the step, or period, that counts */
} tutti_step_log;

/* NULL is accepted: nothing is kept then. Neighbours of one kind and layer become one. Stretches of no length are left
 * out. */
void tutti_step_log_add(tutti_step_log *log, tutti_stretch_kind kind, int what, double begin_s, double end_s);
void tutti_step_log_release(tutti_step_log *log);
/* Only what lies in [begin_s, end_s), cut to it, with times from 0. */
void tutti_step_log_cut(tutti_step_log *log, double begin_s, double end_s);

/* Computes in [a, b): the rank's lane, without exchanges. */
double tutti_step_log_computing(const tutti_step_log *log, double a, double b);
/* Parts of an exchange's stretch, one of the log's list, by turns: hidden behind computing, exposed. Into out, at most
 * `most`, times as the stretch's; returns how many. exposed[i]: part i is. */
int tutti_step_log_split(const tutti_step_log *log, const tutti_step_stretch *exchange, tutti_step_stretch *out,
                         bool *exposed, int most);

/* The chain that ends with the step: each stretch could begin only when the one before it had ended. From the first to
 * the last, into *out (free()); neighbours of one kind are one. Returns how many. */
int tutti_step_log_path(const tutti_step_log *log, tutti_step_stretch **out);

/* Fills *out from the plan's own actions and schedules. slowness: by what the computing of each worker takes longer
 * that takes steps of its own; others' is in the profile. NULL = nothing. */
tutti_status tutti_timeline_predict(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                    const double *slowness, tutti_prediction *out, tutti_failure *err);
/* And what the rank that counts does when, in the step or period that counts; log NULL: nothing. Nothing of workers
 * that take steps of their own. */
typedef struct {
    const tutti_plan *plan;
    const tutti_profile *profile;
    const tutti_topology *topology;
    const double *slowness;
} tutti_timeline_question;
tutti_status tutti_timeline_record(const tutti_timeline_question *q, tutti_step_log *log, tutti_prediction *out,
                                   tutti_failure *err);
/* times->plan alone, in which ranks take all steps together, by times that are kept; of sizes that it has not nothing
 * is said. */
tutti_status tutti_timeline_compare(tutti_exchange_times *times, const tutti_profile *profile, tutti_prediction *out,
                                    tutti_failure *err);

/* Which link the exchanges of a step keep busy longest. Of each exchange its fullest link counts, at its full rate;
 * what an exchange leaves on other links is not seen, so the busiest of all may be one that is second in several.
 * Threads: shared (pure). */

typedef struct {
    char name[32];     /* "up(3)"; of a host "core(0)" or "memory"; "" = nothing moves, or workers visit a centre */
    double busy_s;     /* in a step */
    double exchange_s; /* of all exchanges of a step, one after the other */
} tutti_busiest_link;

/* Cost: as tutti_exchange_times_at of each exchange. */
tutti_status tutti_predict_busiest(const tutti_plan *plan, const tutti_topology *t, tutti_busiest_link *out,
                                   tutti_failure *err);

/* By what the computing of ranks that wait for each other takes longer than that of one rank on the mean.
 *
 * If F is the share of one rank's steps that take at most x, and each rank's step is a draw of its own, all of P ranks
 * are done by x with chance F(x)^P. The typical step, of which half take longer, is where that is 1/2:
 *
 *   F^-1(0.5^(1/P))          P = 1: the median; 2: what 71 % of the steps stay below; 8: 92 %; 64: 98.9 %
 *
 * F is what a layer trace kept of its steps (metrics/trace.h): nothing is slower than its slowest step, however many
 * ranks there are. Ranks that wait once in n steps wait for the slowest sum of n draws. Its mean is n times that of
 * one, it strays sqrt(n) times as far, so what F^-1 is away from the mean is divided by sqrt(n): exact for normal
 * steps, and for many of any kind. Where ranks take turns on a core, those of a core are one party that draws once for
 * each of them. Ranks that are slow by a factor of their own are waited for by the others: the largest, over the
 * factors s, of s times the typical step of those that are as slow or slower. That is the step where factors are alike
 * or far apart, and never more.
 *
 * Draws are taken to be independent. What holds up all ranks of a machine at once, or one of them for many steps, is
 * not so: of that the answer is too high, or too low. Threads: shared (pure). */

typedef struct {
    int nranks;
    int nlanes;             /* ranks that compute at once, at most: on a host its cores */
    int64_t period;         /* steps that a rank takes between two waits */
    const double *slowness; /* of each rank, >= 1; NULL: of none */
} tutti_waiting_ranks;

/* By what the mean computing of a step is multiplied. Of a spread that is not known: the largest slowness, or 1. Cost:
 * with slowness nranks^2. */
double tutti_slowest_rank(const tutti_step_spread *spread, const tutti_waiting_ranks *ranks);

#endif
