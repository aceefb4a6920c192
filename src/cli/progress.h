/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h: the progress of a run on the terminal: one line that moves on a TTY, plain lines otherwise. Threads:
 * owner. */
#ifndef TUTTI_CLI_PROGRESS_H
#define TUTTI_CLI_PROGRESS_H

#include "tutti/job.h"

typedef struct {
    bool quiet, tty;
    bool open;           /* true while the last line on the terminal is unfinished */
    double began, drawn; /* times by tutti_clock_s of the beginning and of the latest drawing */
    int64_t first_step;
    double ips;      /* images per second in the last interval */
    const char *dir; /* the folder that is named in notes about saved files */
} tutti_progress;

tutti_progress tutti_progress_begin(bool quiet, const char *dir);
/* Draws an event that rank 0 reports. */
void tutti_progress_event(tutti_progress *p, const tutti_run_event *event);
/* Ends an unfinished line, so that other output begins on a new line. */
void tutti_progress_end(tutti_progress *p);

/* Print parts of a progress line: the bar "[######....]", and a time "1:05" or "2:01:05". */
enum { TUTTI_PROGRESS_BAR = 24 };
void tutti_progress_bar(int64_t done, int64_t all, char out[TUTTI_PROGRESS_BAR + 3]);
void tutti_progress_time(double seconds, char out[24]);

#endif
