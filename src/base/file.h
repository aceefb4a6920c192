/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: whole files in, whole files out. Writing is all or nothing: a temporary name beside the target,
 * fsync, rename, fsync of the folder. Failures name the path and errno's words. Threads: shared. */
#ifndef TUTTI_BASE_FILE_H
#define TUTTI_BASE_FILE_H

#include <stddef.h>

#include "tutti/failure.h"

/* Reads a whole file (at most max_bytes, else TUTTI_ERR_DATA); *bytes is the caller's (free()) and has a '\0'
 * after the last byte. A missing file is `missing_status`. */
tutti_status tutti_file_read(const char *path, size_t max_bytes, tutti_status missing_status, char **bytes,
                             size_t *nbytes, tutti_failure *err);
/* A link, a pipe or a device (/dev/stdout) stays what it is and is written in place, so not all or nothing. */
tutti_status tutti_file_write_atomic(const char *path, const void *bytes, size_t nbytes, tutti_failure *err);
/* mkdir -p. */
tutti_status tutti_file_make_dir(const char *path, tutti_failure *err);
/* fsync of a folder, so that renames in it last. */
tutti_status tutti_file_sync_dir(const char *path, tutti_failure *err);
/* rm -r of a path that this program made; a missing path is no failure. Never follows links. */
tutti_status tutti_file_remove_tree(const char *path, tutti_failure *err);
/* "a/b/../job.yaml" -> folder part "a/b/.." ("." if none); the caller frees. */
char *tutti_file_folder(const char *path);

#endif
