/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h: signals that ask a rank to stop or to save: SIGTERM, SIGUSR1, SIGHUP.
 *
 * A thread that does nothing else hears them, so they are heard whatever the others do: read, decode, wait for peers,
 * compute. Until there is something to save, a signal ends the process as it ends any other. From tutti_stop_saves on,
 * the first one asks for an orderly end, and another one ends the process at once; what comes within a second of the
 * first is the same wish (a queue that signals the process group and its leader, who passes it on). One that was
 * ignored when the program began (nohup) still is.
 *
 * Threads: shared but for begin and end. */
#ifndef TUTTI_CLI_STOP_H
#define TUTTI_CLI_STOP_H

#include <stdbool.h>

#include "tutti/job.h"

typedef struct tutti_stop tutti_stop;

/* Blocks the signals in this thread and those that it starts: before there are others. speaks: an end that takes more
 * than a second is told on stderr. command is borrowed. */
tutti_status tutti_stop_begin(const char *command, bool speaks, tutti_stop **out, tutti_failure *err);
/* From now on there is something to save. */
void tutti_stop_saves(tutti_stop *stop);
/* The signal that asked for an orderly end, or 0. */
int tutti_stop_asked(const tutti_stop *stop);
/* The same for a run (tutti/job.h), as long as the stop. */
tutti_stop_wish *tutti_stop_as_wish(tutti_stop *stop);
/* In the thread that began it. Signals do again what they did before. */
void tutti_stop_end(tutti_stop *stop);

#endif
