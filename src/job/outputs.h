/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.h: checks that the files that a command writes are not files that it reads, and can be written. Files that
 * are read may be runs, checkpoints and folders of data. Both checks come before the work begins. Otherwise an output
 * that is also an input would be lost, and a path that cannot be written would be reported only after minutes. Threads:
 * shared. */
#ifndef TUTTI_JOB_OUTPUTS_H
#define TUTTI_JOB_OUTPUTS_H

#include <stdbool.h>

#include "tutti/failure.h"

/* A file that a command reads or writes. A file that is read may be a folder: of a run, of a checkpoint or of data. */
typedef struct {
    const char *what;     /* name in messages: "the data", "--trace" */
    const char *path;     /* NULL = the command has no such file */
    bool written, is_run; /* written: the command writes it; is_run: it is the folder of a run that the command
                           * writes */
} tutti_output;
/* TUTTI_ERR_USAGE if a file that is written has an empty name, or is also read, or is written twice. */
tutti_status tutti_outputs_check(const tutti_output *files, int n, tutti_failure *err);
/* TUTTI_ERR_USAGE if a file that is written has no place: its folder is missing or cannot be written to, or a folder
 * has its name. */
tutti_status tutti_outputs_try(const tutti_output *files, int n, tutti_failure *err);
/* Does the check of tutti_outputs_check for two files. */
tutti_status tutti_outputs_meet(const tutti_output *out, const tutti_output *other, tutti_failure *err);
/* True if both paths name the same regular file, or would if they were made. */
bool tutti_outputs_same(const char *a, const char *b);

#endif
