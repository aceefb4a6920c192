/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h: starts the ranks of one host by fork and exec of this program, watches them, and says how they ended.
 *
 * The launcher stays one thread without OpenMP, oneDNN or handlers; it blocks signals and waits for them. Ranks find
 * each other by torchrun's variables. Rank 0 inherits the listening socket, so that no other program can take the port
 * in between. Ranks die with the launcher (PR_SET_PDEATHSIG). They live in a process group of their own, so that Ctrl-C
 * reaches them once, through the launcher.
 *
 * Threads: one at a time; the process must have one thread. */
#ifndef TUTTI_LAUNCH_H
#define TUTTI_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/failure.h"

/* The state of the ranks of this host, where several hosts decide together about a run. */
typedef struct {
    uint32_t epoch; /* the epoch of the group in which the ranks are; 0 = no rank was started yet */
    bool plays;     /* true if each running rank has done its first step of the epoch */
    bool broken;    /* true if a rank was lost, or ranks here blame one */
    bool left;      /* true if no rank is in the epoch any more: each has ended, or waits for the next epoch */
    bool done;      /* true if rank 0 of the group was here and has ended well: the run is over */
    bool idle;      /* true if no rank runs here */
    bool bears;     /* true if rank 0 is here, and goes on without ranks that are lost (tutti_launch_tell_borne) */
    int busy;       /* 1 + a rank of a host that computes too long, as rank 0 says, which is here; 0 = none does */
    int lost;       /* broken: the number in the group of the lost rank; -1 = unknown */
    int code;       /* exit code of a rank that has failed by itself, which ends the run; 0 = none has */
} tutti_launch_facts;

typedef enum {
    TUTTI_ORDER_WAIT,   /* nothing is to be done */
    TUTTI_ORDER_BREAK,  /* ranks leave the epoch, because a rank was lost */
    TUTTI_ORDER_SAVE,   /* ranks save the step and end, because the group will get more ranks */
    TUTTI_ORDER_NEXT,   /* ranks form the next epoch */
    TUTTI_ORDER_FINISH, /* rank 0 has finished: the loss of another rank no longer matters */
    TUTTI_ORDER_END,    /* the launcher ends with `code` */
} tutti_order_kind;

/* An order to the launcher of this host. The same order may be given again until the facts show its effect. NEXT,
 * BREAK, SAVE and END before a member name the kinds of orders (TUTTI_ORDER_NEXT and so on) that use it. */
typedef struct {
    tutti_order_kind kind;
    bool is_hard;        /* BREAK: ranks are killed, because they would not notice the loss by themselves */
    bool bears;          /* rank 0 goes on without lost ranks; the end of another rank does not fail the run */
    uint32_t epoch;      /* NEXT, BREAK, SAVE: the epoch that is formed, or that ends */
    int base, nranks;    /* NEXT: number in the group of this host's first rank; number of ranks of this host */
    int world;           /* NEXT: number of ranks of the group */
    const char *address; /* NEXT: where rank 0 listens, as this host reaches it; valid until the next decide */
    int port;            /* NEXT: the port of that address */
    int listener;        /* NEXT, on rank 0's host: the socket that listens there; the launcher copies it; -1 = none */
    int lost;            /* BREAK, NEXT: the rank whose loss ended the epoch before; -1 = unknown or none */
    int64_t lost_ns;     /* NEXT: when that rank was lost, on this host's clock (tutti_clock_ns); 0 = no rank was */
    int code;            /* END: the exit code */
} tutti_launch_order;

typedef struct {
    int nranks;          /* ranks to start; with `decide`: the most that this host starts */
    double grace_s;      /* seconds that the other ranks have to end by themselves after the first failure; 0 = 5 */
    const char *program; /* program that the ranks run; NULL = this program (/proc/self/exe) */
    /* Called in each rank's process before this becomes the program, to bind the process or to set its environment. If
     * `prepare` fails, the failure's words go to stderr and the rank ends with its status. NULL = nothing is called. */
    tutti_status (*prepare)(void *arg, int rank, tutti_failure *err);
    void *prepare_arg;
    /* number of times that ranks may be lost and replaced (link.h); 0 = the first loss ends the run */
    int max_restarts;
    /* seconds that a rank may take to leave an epoch that is over, before it is killed and replaced; 0 = 60 */
    double deadline_s;
    /* called with a line of text about each loss; NULL = not called */
    void (*tell)(void *arg, const char *words);
    void *tell_arg;
    /* Where several hosts run the ranks together (../agents/agents.h): called at least ten times a second. `decide`
     * says what this host's ranks are to do, and counts losses instead of max_restarts. cookie: number of the run, the
     * same on all hosts. NULL = all ranks are here. */
    void (*decide)(void *arg, const tutti_launch_facts *facts, tutti_launch_order *order);
    void *decide_arg;
    uint64_t cookie;
} tutti_launch_options;

/* Rank 0 tells the launcher that started it, if there is one, that it no longer needs the others. From then on rank 0's
 * end is the run's end, and the end of another rank changes neither the exit code nor the ranks that are waited for.
 * Exception: exit codes 2 and 3, which concern arguments and data of all ranks. */
void tutti_launch_tell_borne(void);

/* Rank 0 tells the launcher that started it, if that replaces lost ranks, that a host computes much longer than the
 * others. epoch: of the group; rank: a rank of that host. */
void tutti_launch_tell_busy(uint32_t epoch, int rank);

typedef struct {
    /* exit code of rank 0, if it has told that it no longer needs the others; else that of the first failure in time
     * (128 + n for signal n); 0 = all ranks ended with 0. A rank that ended with 4 because it lost a peer is the cause
     * only if no rank ended otherwise. */
    int exit_code;
    char *words; /* one line for each rank that failed, first failure first; "" when there is none; the caller gives it
                  * to free() */
    char *lost;  /* the same as `words`, for ranks that rank 0 no longer needed; NULL when there is none; the caller
                  * gives it to free() */
} tutti_launch_result;

/* Starts the ranks and returns when none is left. argv: arguments of the ranks, NULL at the end. SIGTERM, SIGINT,
 * SIGUSR1, SIGUSR2, SIGQUIT and SIGHUP are forwarded to all ranks; a second SIGINT kills them. If one was forwarded,
 * these signals are still blocked on return. It fails if the ranks could not be started; none is left then. */
tutti_status tutti_launch(const tutti_launch_options *options, char *const *argv, tutti_launch_result *out,
                          tutti_failure *err);

#endif
