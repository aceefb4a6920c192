/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: reads and writes whole files; writes atomically; makes and removes folders. Writing is all or nothing: it
 * writes a file with a temporary name beside the target, calls fsync, renames the file, and calls fsync on the folder.
 * Failures name the path and errno's words. Threads: any. */
#ifndef TUTTI_BASE_FILE_H
#define TUTTI_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "headway.h"
#include "tutti/failure.h"

/* Opens a file that a user named, for reading: a regular file, or a pipe without a name (standard input, a shell's
 * `<(command)`), whose writer exists already. A named pipe could block until somebody writes, and a device may never
 * end. Both fail with status `refused`, as a missing file does. The message does not name the path: the caller adds it
 * (tutti_fail_at). */
tutti_status tutti_file_open(const char *path, tutti_status refused, int *fd, tutti_failure *err);
/* Reads the whole file. The caller frees *bytes, which has a '\0' after the last byte. refused: the status if the file
 * cannot be opened (see tutti_file_open) or has more than max_bytes. */
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
 * (/dev/stdout) is written directly, so a part of the bytes may be written before a failure. */
tutti_status tutti_file_write_atomic(const char *path, const void *bytes, size_t nbytes, tutti_failure *err);
/* Works as tutti_file_write_atomic, and reports to headway how many bytes are on the disk. The function writes pieces
 * and syncs each, so that the reports show whether a disk is slow or hangs. headway may be NULL. */
tutti_status tutti_file_write_told(const char *path, const void *bytes, size_t nbytes, const tutti_headway *headway,
                                   tutti_failure *err);
/* Checks that tutti_file_write_atomic can succeed: makes a file beside the target under a temporary name and removes
 * it. Call it before work that takes minutes and writes only at its end. A link to nothing, a folder and an empty name
 * are failures; a pipe or device must allow writing. */
tutti_status tutti_file_try_to_write(const char *path, tutti_failure *err);
/* Opens a file that a user named, for writing. flags: any of open(2)'s O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NOFOLLOW.
 * A named pipe without a reader fails at once instead of waiting. The message names the path. */
tutti_status tutti_file_open_to_write(const char *path, int flags, int *fd, tutti_failure *err);
/* Writes all bytes, or fails with the path in the message. */
tutti_status tutti_file_write_all(int fd, const char *path, const void *bytes, size_t nbytes, tutti_failure *err);
/* Sends all bytes through a socket. Returns false, with errno, if the other side has ended the connection (no SIGPIPE
 * is raised), or if the socket does not block and its buffer is full; then a part may have been sent. */
bool tutti_file_send_all(int socket, const void *bytes, size_t nbytes);
/* Calls fsync and returns true if it succeeds. Returns true as well if the file system has no fsync: FUSE, 9p, gVisor
 * and DVS refuse it for folders, and /dev/null always does. Then the server decides when data are safe. False: see
 * errno. */
bool tutti_file_sync(int fd);
/* True if the path still leads to the regular file that fd has open, false if that file was removed, renamed or
 * replaced. Always true if fd is no regular file. */
bool tutti_file_is_there(int fd, const char *path);
bool tutti_file_is_folder(const char *path); /* true for a folder, or a link to one */
/* Makes the folder and missing parents, as mkdir -p. */
tutti_status tutti_file_make_dir(const char *path, tutti_failure *err);
/* Makes the folder, which may exist already, but not its parents: if somebody has removed these, it fails. */
tutti_status tutti_file_make_dir_in_place(const char *path, tutti_failure *err);
/* Calls tutti_file_sync on a folder, so that renames in it survive a crash. A folder that this process may not read is
 * skipped. */
tutti_status tutti_file_sync_dir(const char *path, tutti_failure *err);
/* Removes a file or folder that this program made, with all its content, as rm -r. A missing path is no failure. Links
 * are never followed. */
tutti_status tutti_file_remove_tree(const char *path, tutti_failure *err);
/* Returns the folder part of a path, "a/b/../job.yaml" -> "a/b/..", or "." if there is none. The caller frees it. */
char *tutti_file_folder(const char *path);
/* Returns FOLDER/NAME. The caller frees it. */
char *tutti_file_in(const char *folder, const char *name);
/* Returns the absolute path. Links are followed in the part of the path that exists, and the rest is appended. The
 * caller frees the result. NULL: no part of the path exists, or there is no memory. */
char *tutti_file_resolve(const char *path);

#endif
