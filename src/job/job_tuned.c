/* SPDX-License-Identifier: Apache-2.0 */
/* job_tuned.c: opens the tune file of a job's kernels, and sends rank 0's text to all ranks. Rank 0 reads the file and
 * checks that it is of rank 0's processor. All ranks choose kernels by rank 0's text, so that they choose alike
 * whatever files their hosts have. */
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../kernel/tune/tune_file.h"
#include "job_fields.h"
#include "resolve.h"

struct tutti_job_times {
    tutti_tune_file file;
    tutti_tuned tuned;
};

/* Reads the tune file; failures begin with the key. */
static tutti_status read_text(const tutti_job *job, char **text, tutti_failure *err)
{
    const char *path = job->kernels.tuned;
    const tutti_tune_place here = tutti_tune_here((int)job->threads);
    tutti_tune_file file = {0};
    size_t nbytes = 0;
    tutti_status st = tutti_file_read(path, TUTTI_TUNE_MAX_BYTES, TUTTI_ERR_USAGE, text, &nbytes, err);
    if (!st) st = tutti_tune_file_parse(path, *text, nbytes, &file, err);
    if (!st) st = tutti_tune_file_check(path, &file, &here, err);
    tutti_tune_file_release(&file);
    if (st) {
        free(*text);
        *text = NULL;
        tutti_fail_at(err, "kernels.tuned");
    }
    return st;
}

tutti_status tutti_job_share_times(const tutti_job *job, tutti_group *group, char **text, tutti_failure *err)
{
    *text = NULL;
    if (!job->kernels.tuned) return TUTTI_OK;
    const bool reads = tutti_group_rank(group) == 0;
    const tutti_status own = reads ? read_text(job, text, err) : TUTTI_OK;
    /* number of bytes, or the negative status of the failure */
    int64_t said = own ? -(int64_t)own : reads ? (int64_t)strlen(*text) + 1 : 0;
    tutti_status st = tutti_group_broadcast(group, "tune file", 0, &said, sizeof said, own ? NULL : err);
    if (own) return own;
    if (!st && said < 0) return tutti_fail(err, (tutti_status)-said, "%s", ""); /* rank 0 has the message */
    if (!st && !reads) *text = tutti_alloc((size_t)said);
    return st ? st : tutti_group_broadcast(group, "tune file", 0, *text, (size_t)said, err);
}

tutti_status tutti_job_open_times(const tutti_job *job, const char *text, tutti_job_times **out, tutti_failure *err)
{
    char *own = NULL;
    *out = NULL;
    if (!job->kernels.tuned) return TUTTI_OK;
    tutti_status st = text ? TUTTI_OK : read_text(job, &own, err);
    if (st) return st;
    tutti_job_times *t = tutti_alloc(sizeof *t);
    const char *from = text ? text : own;
    st = tutti_tune_file_parse(job->kernels.tuned, from, strlen(from), &t->file, err);
    free(own);
    t->tuned = tutti_tune_file_tuned(&t->file);
    if (st)
        tutti_job_times_close(t);
    else
        *out = t;
    return st;
}

const tutti_tuned *tutti_job_times_tuned(const tutti_job_times *t)
{
    return t ? &t->tuned : NULL;
}

void tutti_job_times_close(tutti_job_times *t)
{
    if (t) tutti_tune_file_release(&t->file);
    free(t);
}
