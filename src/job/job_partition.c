/* SPDX-License-Identifier: Apache-2.0 */
/* job_partition.c: sets ranks and threads from the key `partition`: one rank for each group, and a thread for each core
 * of the smallest group. The machine on which the job is read decides both numbers, as the build decides `kernels:
 * auto`; the printed job has the numbers. */

#include "../partition/partition.h"
#include "job_fields.h"

static tutti_status fill_in(tutti_job *job, const tutti_job_source *source, int nlocal, const tutti_partition *p,
                            tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (!tutti_job_is_given(source, "ranks")) {
        job->ranks = p->ngroups;
        job->ranks_by_partition = true;
    }
    const int here = nlocal ? nlocal : (int)job->ranks;
    if (tutti_job_is_given(source, "threads")) return TUTTI_OK;
    st = tutti_partition_fits(p, here, err);
    if (!st) job->threads = tutti_partition_threads(p, here, tutti_cores_quota().cores);
    /* the same limit as for a number of threads that the job gives */
    if (job->threads > TUTTI_JOB_MAX_THREADS) job->threads = TUTTI_JOB_MAX_THREADS;
    return st;
}

tutti_status tutti_job_share_out(tutti_job *job, const tutti_job_source *source, int nlocal, tutti_failure *err)
{
    tutti_partition_rule rule;
    tutti_partition p;
    tutti_core_set given;
    job->said_partition = tutti_job_said(source, "partition", &job->arena);
    if (!job->partition) job->partition = "";
    tutti_status st = tutti_partition_parse(job->partition, &rule, err);
    const bool asks = !tutti_job_is_given(source, "ranks") || !tutti_job_is_given(source, "threads");
    if (!st && (rule.kind == TUTTI_PARTITION_NONE || !asks)) return TUTTI_OK;
    if (!st) st = tutti_partition_here(job->partition, &given, &p, err);
    if (!st) {
        st = fill_in(job, source, nlocal, &p, err);
        tutti_partition_release(&p);
    }
    return st ? tutti_fail_at(err, "%s", job->said_partition) : TUTTI_OK;
}
