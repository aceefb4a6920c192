/* SPDX-License-Identifier: Apache-2.0 */
/* job_spec.h: what a client submits: a job to train, or a command to run. The store keeps it as JSON of the same form,
 * so later edits of the client's files change nothing. Threads: one at a time. */
#ifndef TUTTI_SERVE_JOB_SPEC_H
#define TUTTI_SERVE_JOB_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "../base/arena.h"
#include "../base/text/json.h"
#include "tutti/failure.h"

/* {"name","kind":"train","job":YAML,"model":YAML,"ranks":{"min","max"},"threads","priority","max_restarts"}, or
 * {"kind":"command","argv":[..],"folder":ABSOLUTE,..}. */
typedef struct {
    const char *name;
    bool is_train; /* else a command */
    const char *job;
    const char *model;       /* text of the model file that the job names as model.yaml beside itself; NULL = none */
    const char *const *argv; /* of a command; ends with NULL */
    int nargv;
    const char *folder;
    int least, most; /* ranks */
    int threads, priority, max_restarts;
} tutti_job_spec;

/* Reads and checks a submission. TUTTI_ERR_USAGE: what is wrong, for the client. Texts belong to the arena. */
tutti_status tutti_job_spec_read(const char *text, size_t nbytes, tutti_arena *arena, tutti_job_spec *out,
                                 tutti_failure *err);
/* Writes it as JSON that reads back to the same submission. */
void tutti_job_spec_print(const tutti_job_spec *spec, tutti_strbuf *out);
const char *tutti_job_spec_kind(const tutti_job_spec *spec); /* "train" or "command" */

#endif
