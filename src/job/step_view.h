/* SPDX-License-Identifier: Apache-2.0 */
/* step_view.h: one predicted step of a job in detail: what a rank does when, the longest chain, the busiest link, with
 * the names of layers and exchanges. Threads: one at a time. */
#ifndef TUTTI_STEP_VIEW_H
#define TUTTI_STEP_VIEW_H

#include "../base/arena.h"
#include "../predict/play/timeline.h"
#include "../predict/profile/profile.h"
#include "tutti/predict.h"

typedef struct {
    int nranks;
    tutti_prediction predicted;
    tutti_step_log log; /* log of the step; n = 0: workers take steps of their own, so there is no common step */
    tutti_step_stretch *path;
    int npath;
    tutti_busiest_link busiest;
    const char **layers, **exchanges; /* names of the model's layers, of the plan's exchanges */
    int nlayers, nexchanges;
    int64_t period; /* number of steps in the log */
    tutti_arena arena;
} tutti_step_view;

/* Predicts like tutti_predict_job for one rank count. The caller releases *out, also after a failure. */
tutti_status tutti_job_view_step(const tutti_job *job, const tutti_topology *t, const tutti_predict_options *options,
                                 int nranks, tutti_step_view *out, tutti_failure *err);
void tutti_step_view_release(tutti_step_view *view);
/* Returns the name of the layer or exchange that a stretch of the step is about: "conv1", "gradients of bucket 2"; "" =
 * it has no name. */
const char *tutti_step_view_name(const tutti_step_view *view, tutti_stretch_kind kind, int what);
/* Appends the path in one line: "forward 12.1 ms (conv1 to fc), backward 20.3 ms (fc to conv1), exchange 8.2 ms
 * (gradients of bucket 0)"; for more than a few stretches, the sum of each kind. */
void tutti_step_view_words(const tutti_step_view *view, tutti_strbuf *out);

/* tutti_job_look calls a function of this type with the plan and times of a rank count, which it may read until it
 * returns. */
typedef tutti_status tutti_job_look_at(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                       const double *slowness, void *arg, tutti_failure *err);
tutti_status tutti_job_look(const tutti_job *job, const tutti_topology *t, const tutti_predict_options *options,
                            int nranks, tutti_job_look_at *look, void *arg, tutti_failure *err);

#endif
