/* SPDX-License-Identifier: Apache-2.0 */
/* svm_trace.h: a training as JSON lines. The first line has the numbers of ranks and threads. One line for each event
 * follows, "round" or (the last of a subproblem) "solved"; keys are the fields of tutti_svm_event; times of kinds of
 * work have keys such as "choosing_s". One table serves writing and reading. Threads: one at a time. */
#ifndef TUTTI_SVM_TRACE_H
#define TUTTI_SVM_TRACE_H

#include "../metrics/metrics.h"
#include "tutti/svm.h"

typedef struct {
    int nranks, nthreads; /* numbers of ranks, and of threads of each; the trace itself is written by rank 0 */
    tutti_svm_event *events;
    int64_t n;
} tutti_svm_trace;

tutti_status tutti_svm_trace_begin(tutti_metrics *to, int nranks, int nthreads, tutti_failure *err);
tutti_status tutti_svm_trace_event(tutti_metrics *to, const tutti_svm_event *event, tutti_failure *err);

/* True if the file begins as our JSON lines of a training do. */
bool tutti_svm_trace_is(const char *path);
/* Reads a trace. A torn last line (the run was killed) is skipped. TUTTI_ERR_DATA names the line that does not belong
 * to a trace; a trace has at least one event. */
tutti_status tutti_svm_trace_read(const char *path, tutti_svm_trace *out, tutti_failure *err);
void tutti_svm_trace_release(tutti_svm_trace *trace);

#endif
