/* SPDX-License-Identifier: Apache-2.0 */
/* answers.c: derives further answers from predicted steps: nodes, hours and cost of a whole run, memory that fits. */
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../job/job_fields.h"
#include "advise.h"

tutti_status tutti_predict_count_samples(const tutti_job *job, int64_t *out, tutti_failure *err)
{
    const tutti_dataset_config config = tutti_job_data_config(job);
    tutti_dataset *data = NULL;
    tutti_failure why = {0};
    *out = job->data.train_samples;
    if (*out > 0) return TUTTI_OK;
    if (tutti_dataset_open(&config, TUTTI_SPLIT_TRAIN, &data, &why))
        return tutti_fail(err, why.status, "%s; --samples N says how many samples an epoch has", why.text);
    *out = tutti_dataset_count(data);
    tutti_dataset_destroy(data);
    return TUTTI_OK;
}

int tutti_predict_nodes_of(const tutti_topology *topology, const tutti_predict_answers *a, int nranks)
{
    if (a->ranks_per_node) return (nranks + a->ranks_per_node - 1) / a->ranks_per_node;
    int32_t *host_of = tutti_alloc(sizeof *host_of * (size_t)nranks);
    int n = 0;
    tutti_topology_machines(topology, nranks, host_of);
    for (int r = 0; r < nranks; r++) n += host_of[r] == r;
    free(host_of);
    return n;
}

tutti_status tutti_predict_answers_find(const tutti_predict_question *q, tutti_predict_answers *a, tutti_failure *err)
{
    tutti_predict_options options = q->options;
    for (int i = 0; i < q->nranks; i++) {
        const int nranks = q->predicted[i].nranks;
        a->seats[i] = (tutti_run_seats){.batch = q->job->plan.batch * (q->options.weak ? nranks : 1),
                                        .nnodes = tutti_predict_nodes_of(&q->topology, a, nranks)};
    }
    if (a->plans) tutti_run_plan_rows(&a->plan, q->predicted, a->seats, q->nranks, a->rows);
    options.save_profile = NULL;
    tutti_status st = tutti_predict_changes_find(q, a, err);
    if (!st && a->advises) {
        a->advised = tutti_alloc(sizeof *a->advised);
        st = tutti_predict_advise(q, &options, a->advised, err);
    }
    options.at = NULL; /* the predictions below report no progress; only those for advice do */
    if (!st && !a->is_other)
        st = tutti_job_view_step(q->job, &q->topology, &options, tutti_predict_last(q)->nranks, &a->step, err);
    return st;
}

void tutti_predict_answers_release(tutti_predict_answers *a)
{
    tutti_step_view_release(&a->step);
    free(a->changes);
    free(a->advised);
    free(a->measured);
    tutti_predict_memory_destroy(a->memory);
}

bool tutti_predict_fits(const tutti_predict_answers *a, const tutti_prediction *p)
{
    return !a->device_bytes || p->memory.all <= a->device_bytes;
}
