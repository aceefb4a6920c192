/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h: list scheduling of one rank's loop on two lanes, compute and exchange. Ranks are alike, so one stands for all.
 * Threads: shared (pure). */
#ifndef TUTTI_TIMELINE_H
#define TUTTI_TIMELINE_H

#include "../../training/plan/plan.h"
#include "../exchange_times.h"
#include "../profile/profile.h"
#include "../step_log.h"
#include "tutti/predict.h"

/* Fills *out from the plan's own actions and schedules. slowness: by what the computing of each worker takes longer that takes steps of its
 * own; others' is in the profile. NULL = nothing. */
tutti_status tutti_timeline_predict(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                    const double *slowness, tutti_prediction *out, tutti_failure *err);
/* And what the rank that counts does when, in the step or period that counts; log NULL: nothing. Nothing of workers that take steps of
 * their own. */
tutti_status tutti_timeline_record(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                   const double *slowness, tutti_step_log *log, tutti_prediction *out,
                                   tutti_failure *err);
/* times->plan alone, in which ranks take all steps together, by times that are kept; of sizes that it has not nothing is said. */
tutti_status tutti_timeline_compare(tutti_exchange_times *times, const tutti_profile *profile, tutti_prediction *out,
                                    tutti_failure *err);

#endif
