/* SPDX-License-Identifier: Apache-2.0 */
/* home.h: the folder of a job server: who may use it, its lock, its tokens, and the file that tells its address.
 *
 *   lock           locked by the server, with its process number
 *   store.sqlite   jobs, attempts and events
 *   token          the token that may do everything, token-read: one that may only read; made at the first start
 *   address        "http://127.0.0.1:7117" while a server runs
 *   jobs/ID/       what belongs to a job
 * Threads: one at a time. */
#ifndef TUTTI_SERVE_HOME_H
#define TUTTI_SERVE_HOME_H

#include <stdbool.h>

#include "tutti/failure.h"

typedef struct {
    char *path; /* absolute, links followed */
    int lock;   /* the descriptor that holds the lock */
} tutti_serve_home;

/* True if files of this type are kept by another machine, where SQLite's locks do not hold. magic: f_type of statfs;
 * kind: the type in /proc/self/mountinfo, which tells kinds of FUSE apart ("fuse.sshfs"). */
bool tutti_serve_home_is_remote(long magic, const char *kind);
/* Makes the folder (mode 0700) and takes its lock. TUTTI_ERR_USAGE: another server has it, which the message names, or
 * it lies on a network file system. */
tutti_status tutti_serve_home_open(const char *path, tutti_serve_home *out, tutti_failure *err);
/* Removes the address and gives the lock back. */
void tutti_serve_home_close(tutti_serve_home *home);
/* Returns "HOME/NAME"; the caller frees it. */
char *tutti_serve_home_file(const tutti_serve_home *home, const char *name);
/* Reads the token in HOME/NAME, or draws it and writes the file (mode 0600). token: of `room` bytes. */
tutti_status tutti_serve_home_token(const tutti_serve_home *home, const char *name, char *token, int room,
                                    tutti_failure *err);
/* Reads a token from a file that a user names: its first line, of at least 32 characters. */
tutti_status tutti_serve_read_token(const char *path, char *token, int room, tutti_failure *err);
/* Writes HOME/address. */
tutti_status tutti_serve_home_tell(const tutti_serve_home *home, const char *address, tutti_failure *err);

#endif
