/* SPDX-License-Identifier: Apache-2.0 */
/* process.h: starts a child process, looks at it, sends it signals and waits for its end: the only place that forks. No
 * other file forks or waits.
 *
 * Threads: shared, each child by one thread at a time; a watch is for a process of one thread. */
#ifndef TUTTI_BASE_PROCESS_H
#define TUTTI_BASE_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tutti/failure.h"

/* The path of this very program. */
#define TUTTI_PROCESS_SELF "/proc/self/exe"

enum { TUTTI_STREAM_SAME = 0, TUTTI_STREAM_NOTHING = -1 };

/* How a child begins. What is 0 or NULL is as in this process. */
typedef struct {
    const char *const *argv;        /* ends with NULL */
    const char *program;            /* a path, or a name on $PATH; NULL: argv[0] */
    const char *const *environment; /* changes, NULL at the end: "NAME=value" sets, "NAME" takes away */
    const char *folder;             /* where the child works */
    int in, out, err;               /* TUTTI_STREAM_..., or a file descriptor above 2, which stays the caller's */
    const int *inherited;           /* descriptors that stay open in the child though they have O_CLOEXEC: ninherited */
    int ninherited;
    bool own_group; /* the child joins the process group `group`, where 0 is a new one with the child's number */
    pid_t group;
    const sigset_t *mask; /* signals that are blocked in the child */
    int dies_with;        /* a signal that the child gets when the thread that started it ends; 0 = none */
    /* Called in the child last of all, before it becomes the program. The child ends with the returned code if that is
     * not 0. For a process of one thread: other threads may hold locks that the child needs. */
    int (*prepare)(void *arg);
    void *prepare_arg;
} tutti_process_options;

typedef struct {
    pid_t pid;  /* 0 = never started */
    bool runs;  /* until its end has been seen */
    int code;   /* then: the exit code, or 128 + signal; -1 = not known, because somebody else waited for it */
    int signal; /* that has ended it; 0 = none */
} tutti_process;

/* Returns when the child is the program. TUTTI_ERR_FAILED, and no child: no process was left, the folder or the program
 * cannot be used; the words name it. */
tutti_status tutti_process_start(const tutti_process_options *options, tutti_process *out, tutti_failure *err);
/* The first of n children in the list whose end had not been seen; waits limit_s for one (0 = not at all, INFINITY =
 * for ever). -1: none of those that run has ended, or none runs. */
int tutti_process_wait_any(tutti_process *list, int n, double limit_s);
/* Waits limit_s for its end. False: it still runs. */
bool tutti_process_wait(tutti_process *p, double limit_s);
void tutti_process_signal(const tutti_process *p, int signal); /* nothing where it does not run */
void tutti_process_kill(tutti_process *p);                     /* and waits for its end */
/* How it ended: "ended with 7", "was killed by signal 9 (Killed)". */
enum { TUTTI_PROCESS_WORDS = 80 };
void tutti_process_words(const tutti_process *p, char words[TUTTI_PROCESS_WORDS]);
/* The status that a child which is a program of ours ended with. TUTTI_ERR_FAILED if its code is no status, or if a
 * signal ended it. */
tutti_status tutti_process_status(const tutti_process *p);

/* Ends of children and signals to this process, heard in turn by its one thread: they are blocked, and waited for. */
typedef struct {
    sigset_t watched, before; /* before: the mask for children */
    struct sigaction child_before;
} tutti_process_watch;

void tutti_process_watch_begin(const int *signals, int nsignals, tutti_process_watch *out);
/* Waits limit_s. The number of a signal that has come; 0: a child has ended, or the time is over. */
int tutti_process_watch_next(const tutti_process_watch *w, double limit_s);
void tutti_process_watch_end(const tutti_process_watch *w);

#endif
