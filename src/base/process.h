/* SPDX-License-Identifier: Apache-2.0 */
/* process.h: starts a child process, checks whether it runs, sends it signals and waits for its end. No other file
 * forks or waits for processes.
 *
 * Threads: any, but one at a time for each child. A watch is for a process with a single thread. */
#ifndef TUTTI_BASE_PROCESS_H
#define TUTTI_BASE_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tutti/failure.h"

/* The path of this program's own executable. */
#define TUTTI_PROCESS_SELF "/proc/self/exe"

enum { TUTTI_STREAM_SAME = 0, TUTTI_STREAM_NOTHING = -1 };

/* How a child is started. For a member that is 0 or NULL, the child inherits this process's own. */
typedef struct {
    const char *const *argv; /* the program's arguments; the last entry is NULL */
    const char *program;     /* a path, or a name on $PATH; NULL: argv[0] */
    /* changes of the environment: "NAME=value" sets a variable, "NAME" removes it; the last entry is NULL */
    const char *const *environment;
    const char *folder; /* the folder in which the child runs */
    int in, out, err;   /* the child's standard streams: TUTTI_STREAM_..., or a file descriptor above 2,
                                     * which the caller still owns */
    /* `ninherited` descriptors that stay open in the child although they have O_CLOEXEC */
    const int *inherited;
    int ninherited;
    /* true if the child joins the process group `group`; group 0 means a new group with the child's number */
    bool own_group;
    pid_t group;
    const sigset_t *mask; /* signals that are blocked in the child */
    int dies_with;        /* a signal that the child gets when the thread that started it ends; 0 = none */
    /* Called in the child, just before it becomes the program. If it returns a code other than 0, the child ends with
     * that code. Only for a process with one thread: other threads may hold locks that the child needs. */
    int (*prepare)(void *arg);
    void *prepare_arg;
} tutti_process_options;

typedef struct {
    pid_t pid;  /* number of the process; 0 = never started */
    bool runs;  /* true until a wait has seen the child's end */
    int code;   /* after its end: the exit code, or 128 + signal; -1 = unknown, because somebody else waited for it */
    int signal; /* the signal that ended the child; 0 = none */
} tutti_process;

/* Starts a child and returns when it has become the program. TUTTI_ERR_FAILED, without a child: no process was left, or
 * the folder or the program cannot be used; the message names it. */
tutti_status tutti_process_start(const tutti_process_options *options, tutti_process *out, tutti_failure *err);
/* Waits up to limit_s seconds for the end of a child in the list (0 = do not wait, INFINITY = for ever). Returns the
 * index of the first child whose end is new, that is, was not reported before; -1: no running child has ended, or none
 * runs. */
int tutti_process_wait_any(tutti_process *list, int n, double limit_s);
/* Waits up to limit_s seconds for the child's end. Returns false if it still runs. */
bool tutti_process_wait(tutti_process *p, double limit_s);
void tutti_process_signal(const tutti_process *p, int signal); /* does nothing if the child does not run */
void tutti_process_kill(tutti_process *p);                     /* sends SIGKILL and waits for the child's end */
/* tutti_process_words writes how a child ended: "ended with 7", "was killed by signal 9 (Killed)". */
enum { TUTTI_PROCESS_WORDS = 80 };
void tutti_process_words(const tutti_process *p, char words[TUTTI_PROCESS_WORDS]);
/* Returns the status with which a child that runs this program ended. TUTTI_ERR_FAILED if its code is no status, or if
 * a signal ended it. */
tutti_status tutti_process_status(const tutti_process *p);

/* A watch lets a process with one thread wait for ends of children and for signals at the same time. The signals stay
 * blocked as long as the watch exists. */
typedef struct {
    /* watched: the signals of the watch; before: the process's signal mask before the watch began, to be used for
     * children */
    sigset_t watched, before;
    struct sigaction child_before;
} tutti_process_watch;

void tutti_process_watch_begin(const int *signals, int nsignals, tutti_process_watch *out);
/* Waits up to limit_s seconds. Returns the number of a signal that has arrived; 0: a child has ended, or the time is
 * over. */
int tutti_process_watch_next(const tutti_process_watch *w, double limit_s);
void tutti_process_watch_end(const tutti_process_watch *w);

#endif
