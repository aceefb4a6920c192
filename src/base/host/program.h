/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: runs helper programs, such as a solver. Each call starts one process, which reads and writes files.
 * Threads: any. */
#ifndef TUTTI_BASE_PROGRAM_H
#define TUTTI_BASE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "tutti/failure.h"

/* True if the program (a path, or a name on $PATH) exists and may be run. */
bool tutti_program_exists(const char *name);
/* Returns the program's path from the root, as a shell would find it; the caller frees it. If the program is a link, it
 * stays one, because a program may ask by which name it was called. NULL: it does not exist or may not be run. */
char *tutti_program_find(const char *name);
/* Finds another program that comes with this one: beside it, as in a build; or where an installation has it, helpers in
 * libexec/tutti and programs in bin. False: it is at none of these places, and `out` is unchanged. */
bool tutti_program_beside(const char *name, char out[PATH_MAX]);
/* Runs argv[0] with the arguments argv (the last entry is NULL) in `folder` (NULL = the current one) and waits for its
 * end. Its output is discarded. TUTTI_ERR_FAILED: the program was not found, ended with another code than 0, or was
 * killed after limit_s seconds (0 < limit_s <= 86400). */
tutti_status tutti_program_run(const char *const *argv, const char *folder, double limit_s, tutti_failure *err);
/* Makes a new empty folder under $TMPDIR or /tmp. The caller frees the path; tutti_file_remove_tree removes the
 * folder. */
tutti_status tutti_program_folder(char **path, tutti_failure *err);

#endif
