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

/* Opens a file that a user named, for reading: a regular file, or a pipe without a name (standard input, a shell's
 * `<(command)`), whose writer exists already. A named pipe would block until somebody writes, and a device may never
 * end: these fail with status `refused`, as a missing file does. The message does not name the path: the caller adds it
 * (tutti_fail_at). */
tutti_status tutti_file_open(const char *path, tutti_status refused, int *fd, tutti_failure *err);
/* Reads the whole file; the caller frees *bytes, which has a '\0' after the last byte. `refused`: the status if the
 * file cannot be opened, as above, or has more than max_bytes. */
tutti_status tutti_file_read(const char *path, size_t max_bytes, tutti_status refused, char **bytes, size_t *nbytes,
                             tutti_failure *err);
/* A tutti_file_wish is a request to read a file. tutti_file_read_told works as tutti_file_read, and reports to headway
 * how many bytes have been read. */
typedef struct {
    const char *path;
    size_t max_bytes;
    tutti_status refused;
    const tutti_headway *headway; /* may be NULL */
} tutti_file_wish;
tutti_status tutti_file_read_told(const tutti_file_wish *wish, char **bytes, size_t *nbytes, tutti_failure *err);
/* Writes a whole file. If path is a link, the link stays and the file behind it is replaced. A pipe or a device
 * (/dev/stdout) is written directly, so not all or nothing. */
tutti_status tutti_file_write_atomic(const char *path, const void *bytes, size_t nbytes, tutti_failure *err);
/* Works as tutti_file_write_atomic, and reports to headway how many bytes are on the disk. It writes pieces and syncs
 * each, so that a slow disk can be told from one that hangs. headway may be NULL. */
tutti_status tutti_file_write_told(const char *path, const void *bytes, size_t nbytes, const tutti_headway *headway,
                                   tutti_failure *err);
/* Checks that tutti_file_write_atomic can succeed: makes a file beside the target under a temporary name and removes
 * it. For work that takes minutes before it writes. A link to nothing, a folder and an empty name are failures; a pipe
 * or device must allow writing. */
tutti_status tutti_file_try_to_write(const char *path, tutti_failure *err);
/* Opens a file that a user named, for writing. flags: as for open(2), of O_CREAT, O_EXCL, O_TRUNC, O_APPEND,
 * O_NOFOLLOW. A named pipe without a reader fails at once instead of waiting. The message names the path. */
tutti_status tutti_file_open_to_write(const char *path, int flags, int *fd, tutti_failure *err);
/* Writes all bytes, or fails with the path in the message. */
tutti_status tutti_file_write_all(int fd, const char *path, const void *bytes, size_t nbytes, tutti_failure *err);
/* Sends all bytes through a socket whose buffer has room for them. False and errno: the socket has ended (no SIGPIPE is
 * raised), or, if it does not block, the buffer was full; a part may have been sent. */
bool tutti_file_send_all(int socket, const void *bytes, size_t nbytes);
/* Calls fsync; true if it succeeds. Also true if the file system has no fsync (FUSE, 9p, gVisor and DVS refuse it for
 * folders, /dev/null always): then the server decides when data are safe. False: see errno. */
bool tutti_file_sync(int fd);
/* True if the path still leads to the regular file that fd has open: false if it was removed, renamed or replaced. For
 * anything but a regular file always true. */
bool tutti_file_is_there(int fd, const char *path);
bool tutti_file_is_folder(const char *path); /* true for a folder, or a link to one */
/* Makes the folder and missing parents, as mkdir -p. */
tutti_status tutti_file_make_dir(const char *path, tutti_failure *err);
/* Makes only the last folder, which may exist already. Its parents are not made again if somebody has removed them. */
tutti_status tutti_file_make_dir_in_place(const char *path, tutti_failure *err);
/* Calls tutti_file_sync on a folder, so that renames in it survive a crash; a folder that may not be read is
 * skipped. */
tutti_status tutti_file_sync_dir(const char *path, tutti_failure *err);
/* Removes a path that this program made, as rm -r; a missing path is no failure. Never follows links. */
tutti_status tutti_file_remove_tree(const char *path, tutti_failure *err);
/* Returns the folder part, "a/b/../job.yaml" -> "a/b/.." ("." if none); the caller frees it. */
char *tutti_file_folder(const char *path);
/* Returns the path from the root, with links followed as far as the path exists, and the rest behind it; the caller
 * frees it. NULL: no existing folder leads to it, or there is no memory. */
char *tutti_file_resolve(const char *path);

#endif
