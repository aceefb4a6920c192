/* SPDX-License-Identifier: Apache-2.0 */
/* svm_trace.h: a training as JSON lines: one for the ranks and threads, then one an event, "round" or (the last of a
 * subproblem) "solved"; keys are the fields of tutti_svm_event, times spent "choosing_s" ... One table writes and
 * reads. Threads: owner. */
#ifndef TUTTI_SVM_TRACE_H
#define TUTTI_SVM_TRACE_H

#include "../metrics/metrics.h"
#include "tutti/svm.h"

typedef struct {
    int nranks, nthreads; /* the trace is rank 0's */
    tutti_svm_event *events;
    int64_t n;
} tutti_svm_trace;

tutti_status tutti_svm_trace_begin(tutti_metrics *to, int nranks, int nthreads, tutti_failure *err);
tutti_status tutti_svm_trace_event(tutti_metrics *to, const tutti_svm_event *event, tutti_failure *err);

/* Whether the file looks like one: it begins as JSON lines of ours do. */
bool tutti_svm_trace_is(const char *path);
/* A torn last line (the run was killed) is passed over. TUTTI_ERR_DATA names the line that is none of a trace; a trace
 * has an event. */
tutti_status tutti_svm_trace_read(const char *path, tutti_svm_trace *out, tutti_failure *err);
void tutti_svm_trace_release(tutti_svm_trace *trace);

#endif
