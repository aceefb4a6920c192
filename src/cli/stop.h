/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h: signals that ask a rank to save and to end: SIGTERM, SIGUSR1, SIGUSR2, SIGHUP.
 *
 * A thread of its own receives them, so that they are noticed whatever the other threads do: read, decode, wait for
 * peers, compute. Before tutti_stop_saves is called, a signal ends the process as usual. After that the first signal
 * asks for an orderly end; base/stop_request.h decides what a further signal means. A signal that was ignored when the
 * program began (nohup) stays ignored.
 *
 * Threads: any, except begin and end. */
#ifndef TUTTI_CLI_STOP_H
#define TUTTI_CLI_STOP_H

#include <stdbool.h>

#include "tutti/job.h"

typedef struct tutti_stop tutti_stop;

/* Blocks the signals in this thread and those that it starts: call it before there are other threads. speaks: an end
 * that takes more than a second is announced on stderr. command is borrowed. */
tutti_status tutti_stop_begin(const char *command, bool speaks, tutti_stop **out, tutti_failure *err);
/* Call it once there is something to save: from now on a signal asks for an orderly end. */
void tutti_stop_saves(tutti_stop *stop);
/* Returns the signal that asked for an orderly end, or 0. */
int tutti_stop_asked(const tutti_stop *stop);
/* Returns this request in the form that a run wants (tutti/job.h); valid as long as `stop`. */
tutti_stop_wish *tutti_stop_as_wish(tutti_stop *stop);
/* Ends the receiving of signals, in the thread that began it. Signals then do what they did before. If a signal has
 * asked for an end, they stay blocked instead: the process is about to end, and a repetition must not change its exit
 * code. */
void tutti_stop_end(tutti_stop *stop);

#endif
