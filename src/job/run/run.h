/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: parts of a run (tutti/job.h) that a command asks for before it starts: refusals, and words. Threads: shared.
 * */
#ifndef TUTTI_JOB_RUN_H
#define TUTTI_JOB_RUN_H

#include "../job_fields.h"
#include "../session.h"

/* TUTTI_ERR_USAGE: the options ask for what the job does not have. mark: stands before the name of an option in words,
 * "--" of a command. */
tutti_status tutti_run_check(const tutti_job *job, const tutti_run_options *options, const char *mark,
                             tutti_failure *err);
/* What a user should know of the data, a line each: what was found and left out, and the samples that an epoch has no
 * whole batch for. */
void tutti_run_data_words(const char *before, const tutti_session_data *data, int64_t batch, tutti_strbuf *out);
/* The resolved job, what the plan is, who would sit where and what the memory there lacks; nothing is run or connected.
 * What has been found out stands in out even where it is refused. notes: of the initial weights, tutti_init_notes. */
tutti_status tutti_run_dry(const tutti_job *job, tutti_strbuf *out, tutti_strbuf *notes, tutti_failure *err);
/* That the method's paper has another rule than the job; nothing if it has not. */
void tutti_run_rule_words(const tutti_job *job, tutti_strbuf *out);

#endif
