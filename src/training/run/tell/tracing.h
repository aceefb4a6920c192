/* SPDX-License-Identifier: Apache-2.0 */
/* tracing.h: traces some steps of a run: records on every rank, gathers on rank 0, which writes trace.json
 * (chrome_trace.h) and layers.txt (metrics/trace.h) into the folder. Threads: owner of the group. */
#ifndef TUTTI_TRACING_H
#define TUTTI_TRACING_H

#include "tell.h"

typedef struct tutti_tracing tutti_tracing;

/* The steps [first, end), counted from 0, that are traced: config's steps after its warm-up, counted from where the run
 * stands; a run that is too short for both has less warm-up. */
void tutti_tracing_window(int64_t step, int64_t nsteps, int64_t warmup, int64_t steps, int64_t *first, int64_t *end);

/* NULL if the job asks for no trace. Memory for all spans is taken here. */
tutti_tracing *tutti_tracing_create(const tutti_stepping *s);
void tutti_tracing_destroy(tutti_tracing *tr);

/* Removes the files of an earlier run's trace. */
tutti_status tutti_tracing_remove(const char *dir, tutti_failure *err);

/* Around each step of s, on all ranks alike (no tracing: nothing). After the last traced one the trace is written, and
 * told of: collective. */
void tutti_tracing_step_begin(tutti_tracing *tr, tutti_stepping *s);
tutti_status tutti_tracing_step_end(const tutti_telling *t, tutti_stepping *s, tutti_failure *err);

#endif
