/* SPDX-License-Identifier: Apache-2.0 */
/* action_cost.h: predicts how long an action of a plan computes, from the profile of a rank's share. Exchanges take no
 * time here. Threads: any (pure functions). */
#ifndef TUTTI_ACTION_COST_H
#define TUTTI_ACTION_COST_H

#include "../../training/plan/plan.h"
#include "../profile/profile.h"

typedef struct {
    const tutti_plan *plan;
    const tutti_profile *profile;
} tutti_action_costs;

double tutti_action_seconds(const tutti_action_costs *p, const tutti_action *a);

#endif
