/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h: the one way from a job to what a rank runs: job -> model -> step graph -> plan. Used by train, graph, plan
 * and predict alike, so that what is shown and proved is what runs. Threads: owner; the parts are frozen. */
#ifndef TUTTI_RESOLVE_H
#define TUTTI_RESOLVE_H

#include "../collective/group/group.h"
#include "../training/plan/plan.h"
#include "tutti/job.h"

/* Measured times that kernels are chosen by (job_tuned.c), as long as there are graphs of them. */
typedef struct tutti_job_times tutti_job_times;
/* text NULL = the job's file, which is refused where it is damaged or of another processor. *out NULL: the job has
 * none. */
tutti_status tutti_job_open_times(const tutti_job *job, const char *text, tutti_job_times **out, tutti_failure *err);
const struct tutti_tuned *tutti_job_times_tuned(const tutti_job_times *t);
void tutti_job_times_close(tutti_job_times *t);
/* Collective: the text of rank 0's, which it has looked at so, on every rank; the caller frees it. NULL: the job has
 * none. Where rank 0 fails the others do with empty words. */
tutti_status tutti_job_share_times(const tutti_job *job, tutti_group *group, char **text, tutti_failure *err);

typedef struct {
    tutti_job_times *times;     /* NULL = calibrated rules */
    tutti_model *model, *fused; /* as the file has it; as it is run, NULL = so too */
    tutti_graph *graph;
    tutti_plan *plan;
    const struct tutti_device *device; /* that its kernels run on (device/device_row.h) */
    char *why_cpu; /* why 'device: auto' took the cpu, where a card might have been; NULL = nothing to say */
} tutti_resolved;

/* Whose plan it is. */
typedef struct {
    int rank, nranks;       /* nranks 0: the job's own count */
    const int32_t *host_of; /* the host of each rank, NULL = one */
    bool prove_later;       /* see tutti_plan_config */
    const char *times;      /* what tutti_job_share_times has given; NULL = the job's file is read here */
    bool on_device; /* kernels run where the job's `device` says; false: on the cpu, which predictions are made for */
} tutti_job_seat;

/* Buckets of rule `auto` are merged up to 1 MiB until tutti_resolved_replan is told what exchanges cost (job_costs.h).
 * A batch that does not divide is TUTTI_ERR_USAGE and names the nearest that does. */
tutti_status tutti_job_resolve(const tutti_job *job, const tutti_job_seat *seat, tutti_resolved *out,
                               tutti_failure *err);
/* Plans r anew by a configuration. On failure r keeps its plan. */
tutti_status tutti_resolved_plan(tutti_resolved *r, const tutti_plan_config *config, tutti_failure *err);
/* Makes the plan again, now that it is known what exchanges cost. */
tutti_status tutti_resolved_replan(tutti_resolved *r, const tutti_plan_costs *costs, tutti_failure *err);
void tutti_resolved_release(tutti_resolved *r);
/* The name of the device that runs its kernels, for people: "NVIDIA H200", "cpu". The text lives as long as r. */
const char *tutti_resolved_device(const tutti_resolved *r);
/* What tutti_job_resolve plans with; strings are the job's. */
tutti_plan_config tutti_job_plan_config(const tutti_job *job, const tutti_job_seat *seat);

#endif
