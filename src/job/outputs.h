/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.h: checks that files to write are not files that are read, and can be written; also for runs, checkpoints and
 * folders of data. Both are looked at before the work begins: an output that is also an input would be gone, and one
 * without a place would be told of after minutes. Threads: shared. */
#ifndef TUTTI_JOB_OUTPUTS_H
#define TUTTI_JOB_OUTPUTS_H

#include <stdbool.h>

#include "tutti/failure.h"

/* A file that a command reads or writes; what is read may be a folder: a run's, a checkpoint or one with data. */
typedef struct {
    const char *what;     /* "the data", "--trace" */
    const char *path;     /* NULL: it does not */
    bool written, is_run; /* is_run: the folder of a run that is written */
} tutti_output;
/* TUTTI_ERR_USAGE: one that is written has no name, or is one that is read, or another that is written. */
tutti_status tutti_outputs_check(const tutti_output *files, int n, tutti_failure *err);
/* TUTTI_ERR_USAGE: one that is written has no place: no such folder, one that cannot be written to, a folder of that
 * name. */
tutti_status tutti_outputs_try(const tutti_output *files, int n, tutti_failure *err);
/* The first of two files alone. */
tutti_status tutti_outputs_meet(const tutti_output *out, const tutti_output *other, tutti_failure *err);
/* Whether both name one regular file, or would if they were made. */
bool tutti_outputs_same(const char *a, const char *b);

#endif
