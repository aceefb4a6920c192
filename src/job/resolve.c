/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c: job -> model -> step graph -> plan. Every rank does this for itself and gets the same, but for its own
 * share: nothing of it is sent, only hashes are compared. */
#include "resolve.h"

#include "job_impl.h"

tutti_plan_config tutti_job_plan_config(const tutti_job *job, int rank, int nranks)
{
    return (tutti_plan_config){.rank = rank,
                               .nranks = nranks ? nranks : (int)job->ranks,
                               .batch = job->batch,
                               .slots = job->reduction == TUTTI_REDUCTION_CANONICAL ? (int)job->slots : 0,
                               .algorithm = job->exchange.algorithm,
                               .bucket_bytes = job->exchange.bucket_bytes,
                               .engine = job->kernels,
                               .nthreads = (int)job->threads};
}

tutti_status tutti_job_resolve(const tutti_job *job, int rank, int nranks, tutti_resolved *out, tutti_failure *err)
{
    const tutti_plan_config config = tutti_job_plan_config(job, rank, nranks);
    tutti_resolved r = {0};
    int64_t samples;
    tutti_status st = tutti_plan_samples_per_call(&config, &samples, err);
    if (!st) st = tutti_model_load(job->model, job->folder, &r.model, err);
    const tutti_graph_config graph = {
        .batch = samples, .engine = config.engine, .nthreads = config.nthreads, .training = true};
    if (!st) st = tutti_graph_build(r.model, &graph, &r.graph, err);
    if (!st) st = tutti_plan_build(r.graph, &config, &r.plan, err);
    if (st)
        tutti_resolved_release(&r);
    else
        *out = r;
    return st;
}

void tutti_resolved_release(tutti_resolved *r)
{
    tutti_plan_destroy(r->plan);
    tutti_graph_destroy(r->graph);
    tutti_model_destroy(r->model);
    *r = (tutti_resolved){0};
}
