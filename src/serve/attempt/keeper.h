/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h: a keeper starts the command of one attempt, stays beside it, and writes down how it has ended.
 *
 * `tutti-server keep --gentle|--blunt FOLDER WORKING-FOLDER -- PROGRAM ARGUMENTS` is a process of its own session, so
 * that the attempt outlives the server. Signals that ask to save or to report go on to the command's process group. A
 * second SIGTERM, at least a second after the first one, kills a command (not tutti train, which knows itself what it
 * means). Threads: the process has one. */
#ifndef TUTTI_SERVE_KEEPER_H
#define TUTTI_SERVE_KEEPER_H

#include <stdbool.h>

#include "tutti/failure.h"

typedef struct {
    const char *folder;      /* of the attempt (lease.h) */
    const char *working;     /* the command's working folder */
    const char *const *argv; /* the command; ends with NULL */
    bool is_blunt;           /* a second SIGTERM kills the command's process group */
} tutti_keeper_options;

/* Keeps the attempt until its command has ended. TUTTI_OK, too, if somebody else has taken it. */
tutti_status tutti_keeper_run(const tutti_keeper_options *options, tutti_failure *err);

#endif
