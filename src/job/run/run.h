/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: parts of a run (tutti/job.h) that a command asks for before it starts: refusals, and words. Threads:
 * shared. */
#ifndef TUTTI_JOB_RUN_H
#define TUTTI_JOB_RUN_H

#include "../job_fields.h"
#include "../session.h"

/* TUTTI_ERR_USAGE if the options ask for something that the job does not have. mark: text before the name of an option
 * in messages, "--" for a command. */
tutti_status tutti_run_check(const tutti_job *job, const tutti_run_options *options, const char *mark,
                             tutti_failure *err);
/* Appends what a user should know about the data, a line each: what was found and left out, and the samples that are
 * left over because an epoch has only whole batches. */
void tutti_run_data_words(const char *before, const tutti_session_data *data, int64_t batch, tutti_strbuf *out);
/* Writes the resolved job, its plan, the seats of its ranks and the memory that is missing there; starts and connects
 * no ranks. If the job is refused, `out` has the text that was written before. notes: tutti_init_notes of the initial
 * weights. */
tutti_status tutti_run_dry(const tutti_job *job, tutti_strbuf *out, tutti_strbuf *notes, tutti_failure *err);
/* Appends that the method's paper uses another rule than the job; nothing if it does not. */
void tutti_run_rule_words(const tutti_job *job, tutti_strbuf *out);

#endif
