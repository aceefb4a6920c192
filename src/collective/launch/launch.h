/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h: starts the ranks of one host by fork and exec of this program, watches them, and says how they ended.
 *
 * The launcher stays one thread without OpenMP, oneDNN or handlers; it blocks signals and waits for them. Ranks find
 * each other by torchrun's variables. Rank 0 inherits the listening socket, so that no other program can take the port
 * in between. Ranks die with the launcher (PR_SET_PDEATHSIG). They live in a process group of their own, so that Ctrl-C
 * reaches them once, through the launcher.
 *
 * Threads: owner; the process must have one thread. */
#ifndef TUTTI_LAUNCH_H
#define TUTTI_LAUNCH_H

#include <stdbool.h>

#include "tutti/failure.h"

typedef struct {
    int nranks;
    double grace_s;      /* seconds that the other ranks have to end by themselves after the first failure; 0 = 5 */
    const char *program; /* program that the ranks run; NULL = this program (/proc/self/exe) */
    /* Called in the process of each rank before it becomes the program, to bind it or to pass it more. If it fails, its
     * words go to stderr and the rank ends with its status. NULL = nothing. */
    tutti_status (*prepare)(void *arg, int rank, tutti_failure *err);
    void *prepare_arg;
    /* max_restarts: number of times that ranks may be lost and replaced (link.h); 0 = the first loss ends the run.
     * deadline_s: seconds that a rank may take to leave an epoch that is over before it is killed and replaced; 0 = 60.
     * tell: gets a line about each loss; NULL = nobody does. */
    int max_restarts;
    double deadline_s;
    void (*tell)(void *arg, const char *words);
    void *tell_arg;
} tutti_launch_options;

/* Rank 0 tells the launcher that started it, if there is one, that it no longer needs the others. From then on rank 0's
 * end is the run's end, and the end of another rank changes neither the exit code nor the ranks that are waited for.
 * Exception: exit codes 2 and 3, which concern arguments and data of all ranks. */
void tutti_launch_tell_borne(void);

typedef struct {
    /* exit code of rank 0, if it has told that it no longer needs the others; else that of the first failure in time
     * (128 + n for signal n); 0 = all ranks ended with 0. A rank that ended with 4 because it lost a peer is the cause
     * only if no rank ended otherwise. */
    int exit_code;
    char *words; /* one line for each rank that failed, first failure first; "" when none; free() */
    char *lost;  /* the same as `words`, for ranks that rank 0 no longer needed; NULL when none; free() */
} tutti_launch_result;

/* Starts the ranks and returns when none is left. argv: arguments of the ranks, NULL at the end. SIGTERM, SIGINT,
 * SIGUSR1, SIGUSR2, SIGQUIT and SIGHUP are forwarded to all ranks; a second SIGINT kills them. If one was forwarded,
 * these signals are still blocked on return. It fails if the ranks could not be started; none is left then. */
tutti_status tutti_launch(const tutti_launch_options *options, char *const *argv, tutti_launch_result *out,
                          tutti_failure *err);

#endif
