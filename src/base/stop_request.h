/* SPDX-License-Identifier: Apache-2.0 */
/* stop_request.h: decides what a signal means to a run that saves before it ends: the signal may be the first one, or a
 * repetition.
 *
 * Batch systems send the same signal several times: to the job step, to the batch script and to every process, and each
 * of them forwards it. They also warn by SIGUSR1, SIGUSR2 or SIGHUP long before they send SIGTERM. So repetitions
 * within a second are one request, and the first SIGTERM after such a warning does not end the saving. A person presses
 * Ctrl-C again to end a run at once.
 *
 * Threads: one at a time for each request. */
#ifndef TUTTI_BASE_STOP_REQUEST_H
#define TUTTI_BASE_STOP_REQUEST_H

#include <signal.h>
#include <stdbool.h>

/* The signals that mean "save, then end": SIGTERM, SIGUSR1, SIGUSR2, SIGHUP. */
enum { TUTTI_NSTOP_SIGNALS = 4 };
extern const int tutti_stop_signals[TUTTI_NSTOP_SIGNALS];

/* Seconds within which several signals are one request. */
#define TUTTI_ONE_REQUEST_S 1.0

typedef struct {
    int first;     /* the first signal; 0 = none has come */
    bool had_term; /* true if SIGTERM has come */
    double at;     /* time in seconds at which the first signal came, or later the first SIGTERM */
} tutti_stop_request;

typedef enum {
    TUTTI_STOP_ASKED, /* the first signal: save, then end with 128 + its number */
    TUTTI_STOP_SAME,  /* a repetition of the same request: continue saving */
    TUTTI_STOP_NOW,   /* end at once, without saving */
} tutti_stop_meaning;

/* Notes a signal that has come `now` (seconds of one monotonic clock; calls come in order) and returns its meaning. If
 * the first signal is SIGINT, the caller wants to save at Ctrl-C too. Every other SIGINT means TUTTI_STOP_NOW. */
tutti_stop_meaning tutti_stop_request_take(tutti_stop_request *r, int signal_number, double now);

#endif
