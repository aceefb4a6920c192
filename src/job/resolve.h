/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h: the one way from a job to what a rank runs: job -> model -> step graph -> plan. train, graph, plan and
 * predict all use it, so that what is shown and proved is what runs. Threads: one at a time; the parts are frozen. */
#ifndef TUTTI_RESOLVE_H
#define TUTTI_RESOLVE_H

#include "../collective/group/group.h"
#include "../training/plan/plan.h"
#include "tutti/job.h"

/* Measured times by which kernels are chosen (job_tuned.c). They must live as long as graphs that use them. */
typedef struct tutti_job_times tutti_job_times;
/* Opens the times. text NULL = read the job's file, which is refused if it is damaged or of another processor. *out
 * NULL: the job has no tune file. */
tutti_status tutti_job_open_times(const tutti_job *job, const char *text, tutti_job_times **out, tutti_failure *err);
const struct tutti_tuned *tutti_job_times_tuned(const tutti_job_times *t);
void tutti_job_times_close(tutti_job_times *t);
/* Collective: gives every rank the text of rank 0's file, which rank 0 has checked as tutti_job_open_times does; the
 * caller frees it. NULL: the job has no such file. If rank 0 fails, the others fail with empty messages. */
tutti_status tutti_job_share_times(const tutti_job *job, tutti_group *group, char **text, tutti_failure *err);

typedef struct {
    tutti_job_times *times;     /* NULL = calibrated rules choose the kernels */
    tutti_model *model, *fused; /* model: as the file has it; fused: as it is run, NULL = the same */
    tutti_graph *graph;
    tutti_plan *plan;
    const struct tutti_device *device; /* the device that the graph's kernels run on (device/device_row.h) */
    char *why_cpu; /* why 'device: auto' chose the cpu although a card was possible; NULL = no reason to report */
} tutti_resolved;

/* The rank that the plan is for. */
typedef struct {
    int rank, nranks;       /* nranks 0: the job's own count */
    const int32_t *host_of; /* the host of each rank, NULL = one host */
    bool prove_later;       /* true: schedules are proved later (tutti_plan_config) */
    const char *times;      /* text of the tune file (tutti_job_share_times); NULL = the file that the job names is read
                             * here */
    bool on_device;         /* kernels run on the job's `device`; false: on the cpu, for which predictions are made */
} tutti_job_seat;

/* Makes the model, step graph and plan of a job. With `exchange.buckets: auto`, buckets are merged up to 1 MiB until
 * tutti_resolved_replan is given the costs of exchanges (job_costs.h). A batch that ranks cannot share equally is
 * TUTTI_ERR_USAGE; the message names the nearest batches that they can share. */
tutti_status tutti_job_resolve(const tutti_job *job, const tutti_job_seat *seat, tutti_resolved *out,
                               tutti_failure *err);
/* Makes r's plan again with a configuration. On failure r keeps its plan. */
tutti_status tutti_resolved_plan(tutti_resolved *r, const tutti_plan_config *config, tutti_failure *err);
/* Makes r's plan again with the costs of exchanges. */
tutti_status tutti_resolved_replan(tutti_resolved *r, const tutti_plan_costs *costs, tutti_failure *err);
/* Replaces r->graph by a graph in which ranks share the layers that the job names. If these are the layers that are
 * shared now, r->graph stays the same pointer. Else the caller owns the earlier graph and makes the plan again. */
tutti_status tutti_resolved_share(tutti_resolved *r, const tutti_job *job, tutti_failure *err);
void tutti_resolved_release(tutti_resolved *r);
/* Returns the name of the device that runs r's kernels, for people: "NVIDIA H200", "cpu". The text lives as long as
 * r. */
const char *tutti_resolved_device(const tutti_resolved *r);
/* Returns the configuration that tutti_job_resolve plans with; strings belong to the job. */
tutti_plan_config tutti_job_plan_config(const tutti_job *job, const tutti_job_seat *seat);

#endif
