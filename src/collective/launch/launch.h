/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h: starts the ranks of one host by fork and exec of this program, watches them, and says how they ended.
 *
 * The launcher stays one thread without OpenMP, oneDNN or handlers: signals are blocked and waited for. Ranks find each
 * other by torchrun's variables; rank 0 inherits the listening socket, so no port can be lost to a neighbour in
 * between. They die with the launcher (PR_SET_PDEATHSIG) and live in a process group of their own, so that Ctrl-C
 * reaches them once, through us.
 *
 * Threads: owner; the process must have one thread. */
#ifndef TUTTI_LAUNCH_H
#define TUTTI_LAUNCH_H

#include <stdbool.h>

#include "tutti/failure.h"

typedef struct {
    int nranks;
    double grace_s;      /* after the first failure the other ranks may end by themselves this long; 0 = 5 s */
    const char *program; /* NULL = this program (/proc/self/exe) */
    /* Called in the process of each rank before it becomes the program, to bind it or to tell it more; a failure's
     * words go to stderr and its status is how the rank ends. NULL = nothing. */
    tutti_status (*prepare)(void *arg, int rank, tutti_failure *err);
    void *prepare_arg;
} tutti_launch_options;

/* Rank 0 tells the launcher that started it, if one did, that from now on the others are no longer needed: the run is
 * what rank 0 makes of it, and how another rank ends changes neither the exit code nor who is waited for; but if it
 * ends with 2 or 3, for what all were given. */
void tutti_launch_tell_borne(void);

typedef struct {
    /* rank 0's, if it has told that the others' ends are borne; else of the first failure in time (128 + n for signal
     * n); 0 = all ranks ended with 0. A rank that ended with 4 because it lost a peer is the cause only when nobody
     * ended otherwise. */
    int exit_code;
    char *words; /* one line a rank that failed, first failure first; "" when none; free() */
    char *lost;  /* the same of ranks whose failure was borne; NULL when none; free() */
} tutti_launch_result;

/* argv: of the ranks, NULL at the end. Returns when no rank is left. SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGQUIT and
 * SIGHUP are forwarded to all ranks; a second SIGINT kills them. Failure: the ranks could not be started (none is left
 * then). */
tutti_status tutti_launch(const tutti_launch_options *options, char *const *argv, tutti_launch_result *out,
                          tutti_failure *err);

#endif
