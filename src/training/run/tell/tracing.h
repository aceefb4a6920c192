/* SPDX-License-Identifier: Apache-2.0 */
/* tracing.h: traces some steps of a run. Every rank records; rank 0 gathers and writes trace.json and layers.txt
 * (both metrics/trace.h) into the folder. Threads: one at a time for each group. */
#ifndef TUTTI_TRACING_H
#define TUTTI_TRACING_H

#include "tell.h"

typedef struct tutti_tracing tutti_tracing;

/* Computes the traced steps [first, end), counted from 0: `steps` steps after `warmup` others, counted from the current
 * step of the run. If the run is too short for both, the warm-up is shorter. */
void tutti_tracing_window(int64_t step, int64_t nsteps, int64_t warmup, int64_t steps, int64_t *first, int64_t *end);

/* Returns NULL if the job asks for no trace. Allocates the memory for all spans. */
tutti_tracing *tutti_tracing_create(const tutti_stepping *s);
void tutti_tracing_destroy(tutti_tracing *tr);

/* Removes the files of an earlier run's trace. */
tutti_status tutti_tracing_remove(const char *dir, tutti_failure *err);

/* Call _begin before and _end after each step of s, on all ranks alike (without tracing they do nothing). After the
 * last traced step the trace is written and reported: collective. */
void tutti_tracing_step_begin(tutti_tracing *tr, tutti_stepping *s);
tutti_status tutti_tracing_step_end(const tutti_telling *t, tutti_stepping *s, tutti_failure *err);

#endif
