/* SPDX-License-Identifier: Apache-2.0 */
/* predict_costs.h: what a plan's exchanges cost on a machine that need not be there, as a plan wants it to merge by.
 *
 * Times of exchanges are simulated on the plan's own schedules at sizes from 4 KiB to the whole vector; times of layers are
 * the profile's. overlap is 0 on a host (the ranks' own cores move the bytes); on a star it is the share of those of a bucket's
 * exchanges that are told to be ready before the rule is applied; but 1 where the plan goes by need: what comes later then has the next
 * forward pass to hide behind. Threads: shared (pure). */
#ifndef TUTTI_PREDICT_COSTS_H
#define TUTTI_PREDICT_COSTS_H

#include "exchange_times.h"
#include "profile/profile.h"

/* The same of times->plan, by times that are kept. */
tutti_status tutti_predict_costs_by(tutti_exchange_times *times, const tutti_profile *profile, tutti_plan_costs *out,
                                    tutti_failure *err);
tutti_status tutti_predict_costs(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                 tutti_plan_costs *out, tutti_failure *err);
/* tutti_exchange_times_at of one exchange of n elements alone, with all that is simulated; on one rank zeros, and no bottleneck. */
tutti_status tutti_predict_simulate(const tutti_plan *plan, int exchange, int64_t n, const tutti_topology *t,
                                    tutti_simulation *out, tutti_failure *err);
/* How often it is started in a step: 1, 1 / period, or 0: it is for tests and checkpoints. */
double tutti_predict_share(const tutti_plan *plan, int exchange);
/* Seconds of all that a bucket of n elements exchanges in a step, and of what of it is ready before the rule is applied: on the rank
 * that takes part in the most of it. */
typedef struct {
    double all_s, early_s;
} tutti_bucket_time;
tutti_status tutti_predict_bucket(tutti_exchange_times *times, int64_t n, tutti_bucket_time *out, tutti_failure *err);

/* What a rank does for a split layer in a step (-1: for all of them): exchanges that are waited for at once and those of its parameters, by the
 * seconds of each of the plan's exchanges; what it receives by them. */
typedef struct {
    double travel_s, params_s;
    int64_t received_bytes;
} tutti_split_time;
tutti_split_time tutti_predict_split(const tutti_plan *plan, int rank, int layer, const double *seconds);

#endif
