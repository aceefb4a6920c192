/* SPDX-License-Identifier: Apache-2.0 */
/* refused_groups.h: a line of optimiser.groups behind a job's first lines, that must be refused with these words. */
#ifndef TUTTI_REFUSED_GROUPS_H
#define TUTTI_REFUSED_GROUPS_H

#include "job/job_fields.h"

static inline void expect_groups_refused(const char *job_lines, const char *groups, const char *words)
{
    char text[500];
    tutti_job *job = NULL;
    tutti_failure err = {0};
    snprintf(text, sizeof text, "%soptimiser:\n  lr: 0.1\n  groups:\n    %s\n", job_lines, groups);
    tutti_status st = tutti_job_parse("j.yaml", text, strlen(text), NULL, 0, &job, &err);
    tutti_resolved r = {0};
    if (!st) st = tutti_job_resolve(job, &(tutti_job_seat){0}, &r, &err);
    if (st != TUTTI_ERR_USAGE || !strstr(err.text, words)) fail_msg("expected '%s' in: %s", words, err.text);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
}

#endif
