/* SPDX-License-Identifier: Apache-2.0 */
/* predict_costs.h: what a plan's exchanges cost on a machine that need not be there, as a plan wants it to merge by.
 *
 * Times of exchanges are simulated on the plan's own schedules at sizes from 4 KiB to the whole vector; times of layers are
 * the profile's. overlap is 0 on a host (the ranks' own cores move the bytes); on a star it is the reduce-scatter's share of
 * an exchange: the all-gather follows the update, which follows the backward pass; but 1 where the plan goes by need: gathers
 * then have the next forward pass to hide behind. Threads: shared (pure). */
#ifndef TUTTI_PREDICT_COSTS_H
#define TUTTI_PREDICT_COSTS_H

#include "../training/plan/plan.h"
#include "profile.h"
#include "tutti/topology.h"

tutti_status tutti_predict_costs(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                 tutti_plan_costs *out, tutti_failure *err);
/* Seconds of the reduce-scatter and of the all-gather of n elements by the plan's schedules; 0 on one rank. */
typedef struct {
    double reduce_s, gather_s;
    double lower_s; /* no run of both is shorter */
} tutti_exchange_time;
tutti_status tutti_predict_exchange(const tutti_plan *plan, int64_t n, const tutti_topology *t,
                                    tutti_exchange_time *out, tutti_failure *err);

/* Seconds of a gated plan's allreduce of one number; 0 without a gate and on one rank. */
tutti_status tutti_predict_gate(const tutti_plan *plan, const tutti_topology *t, double *seconds, tutti_failure *err);

#endif
