/* SPDX-License-Identifier: Apache-2.0 */
/* job.h: what to train, as a value: read from YAML, --set and flags through one option table (src/job/job_table.c), printed
 * back in full. Threads: frozen after load. */
#ifndef TUTTI_JOB_H
#define TUTTI_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tutti_job tutti_job;

/* overrides: "key=value" texts. Status TUTTI_ERR_USAGE with file and line. */
tutti_status tutti_job_load(const char *path, const char *const *overrides, int noverrides, tutti_job **out,
                            tutti_failure *err);
tutti_status tutti_job_parse(const char *name, const char *text, size_t nbytes, const char *const *overrides,
                             int noverrides, tutti_job **out, tutti_failure *err);
void tutti_job_destroy(tutti_job *job);
/* The resolved job as YAML, every key; reading it gives the same job. The text is the caller's (free()). */
char *tutti_job_print(const tutti_job *job);

#ifdef __cplusplus
}
#endif
#endif
