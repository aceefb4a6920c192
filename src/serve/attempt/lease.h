/* SPDX-License-Identifier: Apache-2.0 */
/* lease.h: the folder of an attempt, by which a keeper and any later server agree whether the attempt lives.
 *
 * lease   locked (flock) by the keeper as long as it lives; {"pid":..,"started":..} asked   how many requests to stop
 * the keeper has passed on exit    {"code":..,"ended":..} once the command has ended log     what the command said
 *
 * The folder appears whole, by renaming, with its lease locked: so of two keepers of one attempt only one begins, and
 * no server sees a lease that is not locked yet. A server that gives an attempt up puts a folder in its place by the
 * same way: then no keeper that is late can begin it. Threads: any, each folder by one thread of a process. */
#ifndef TUTTI_SERVE_LEASE_H
#define TUTTI_SERVE_LEASE_H

#include <stdbool.h>
#include <sys/types.h>

#include "tutti/failure.h"

typedef enum {
    TUTTI_LEASE_NEVER, /* there is no folder: the attempt has not begun */
    TUTTI_LEASE_HELD,  /* the keeper lives */
    TUTTI_LEASE_ENDED, /* `code` and `at` are known */
    TUTTI_LEASE_LOST,  /* the keeper has ended without a word */
} tutti_lease_state;

typedef struct {
    tutti_lease_state state;
    pid_t pid;  /* HELD: the keeper */
    int code;   /* ENDED: exit code, or 128 + signal; -1 = the attempt was given up before it began */
    double at;  /* HELD: when it began; ENDED: when it ended; seconds since 1970 */
    int nasked; /* requests to stop that were passed on */
} tutti_lease_view;

/* Takes an attempt: makes its folder with a locked lease and an empty log. *lease: the descriptor that holds the lock;
 * *taken: false if somebody has taken it before. */
tutti_status tutti_lease_take(const char *folder, int *lease, bool *taken, tutti_failure *err);
/* Gives up an attempt that has not begun, for ever. *revoked: false if it has begun. */
tutti_status tutti_lease_revoke(const char *folder, bool *revoked, tutti_failure *err);
/* Looks at an attempt. TUTTI_ERR_FAILED: its files cannot be read. */
tutti_status tutti_lease_look(const char *folder, tutti_lease_view *out, tutti_failure *err);
/* Sends a signal to the keeper, if it holds the lease at that moment; another process is never hit. *sent: it does. */
tutti_status tutti_lease_signal(const char *folder, int signal_number, bool *sent, tutti_failure *err);
/* Writes that a request to stop was passed on, and how the attempt has ended; for the keeper. */
tutti_status tutti_lease_note_asked(const char *folder, int nasked, tutti_failure *err);
tutti_status tutti_lease_note_end(const char *folder, int code, tutti_failure *err);

#endif
