/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: reads and writes whole files; writes atomically; makes and removes folders. Writing is all or nothing: a
 * temporary name beside the target, fsync, rename, fsync of the folder. Failures name the path and errno's words.
 * Threads: shared. */
#ifndef TUTTI_BASE_FILE_H
#define TUTTI_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "headway.h"
#include "tutti/failure.h"

/* Opens what a user named, to be read: a regular file, or a pipe without a name (standard input, a shell's
 * `<(command)`), whose writer is there already. A pipe with a name would hold us until somebody writes into it, a
 * device may never end: they are `refused`, as is what is missing. The words do not name the path: the caller puts his
 * place in front (tutti_fail_at). */
tutti_status tutti_file_open(const char *path, tutti_status refused, int *fd, tutti_failure *err);
/* Reads all of it; *bytes is the caller's (free()) and has a '\0' after the last byte. `refused`: the status of what
 * cannot be opened so, and of more than max_bytes. */
tutti_status tutti_file_read(const char *path, size_t max_bytes, tutti_status refused, char **bytes, size_t *nbytes,
                             tutti_failure *err);
/* As tutti_file_read, and says how many bytes have come. */
typedef struct {
    const char *path;
    size_t max_bytes;
    tutti_status refused;
    const tutti_headway *headway; /* may be NULL */
} tutti_file_wish;
tutti_status tutti_file_read_told(const tutti_file_wish *wish, char **bytes, size_t *nbytes, tutti_failure *err);
/* A link stays and the file behind it is replaced. A pipe or a device (/dev/stdout) is written in place, so not all or
 * nothing. */
tutti_status tutti_file_write_atomic(const char *path, const void *bytes, size_t nbytes, tutti_failure *err);
/* As tutti_file_write_atomic; says how many bytes are on the disk, in pieces that are synced one by one, so that a disk
 * that gets on is told from one that hangs. headway may be NULL. */
tutti_status tutti_file_write_told(const char *path, const void *bytes, size_t nbytes, const tutti_headway *headway,
                                   tutti_failure *err);
/* Whether such a write can be: a file is made beside the target under a temporary name and removed again. For what
 * takes minutes before it writes. A link that leads nowhere, a folder and an empty name are failures; what is written
 * in place must allow writing. */
tutti_status tutti_file_try_to_write(const char *path, tutti_failure *err);
/* Opens for writing what a user named: flags as for open(2), of O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NOFOLLOW. A named
 * pipe that nobody reads is a failure at once instead of waiting for somebody. Words name the path. */
tutti_status tutti_file_open_to_write(const char *path, int flags, int *fd, tutti_failure *err);
/* All of it, or a failure that names the path. */
tutti_status tutti_file_write_all(int fd, const char *path, const void *bytes, size_t nbytes, tutti_failure *err);
/* fsync; true too where the file system has none (FUSE, 9p, gVisor, DVS refuse it for folders, /dev/null for all): what
 * is written there lasts as its server sees to it. False: errno. */
bool tutti_file_sync(int fd);
/* Whether the path still leads to the regular file that fd has open: it may have been removed, renamed or replaced.
 * What is no regular file always does. */
bool tutti_file_is_there(int fd, const char *path);
bool tutti_file_is_folder(const char *path); /* or leads to one */
/* mkdir -p. */
tutti_status tutti_file_make_dir(const char *path, tutti_failure *err);
/* mkdir of the last folder alone, which may be there: what leads to it is not made again where somebody has taken it
 * away. */
tutti_status tutti_file_make_dir_in_place(const char *path, tutti_failure *err);
/* tutti_file_sync of a folder, so that renames in it last; one that may not be read is left. */
tutti_status tutti_file_sync_dir(const char *path, tutti_failure *err);
/* rm -r of a path that this program made; a missing path is no failure. Never follows links. */
tutti_status tutti_file_remove_tree(const char *path, tutti_failure *err);
/* "a/b/../job.yaml" -> folder part "a/b/.." ("." if none); the caller frees. */
char *tutti_file_folder(const char *path);
/* The path from the root with links followed as far as there is something, and what is not there yet behind it; the
 * caller frees. NULL: no folder that is there leads to it, or there is no memory. */
char *tutti_file_resolve(const char *path);

#endif
