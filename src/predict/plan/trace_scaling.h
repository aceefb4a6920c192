/* SPDX-License-Identifier: Apache-2.0 */
/* trace_scaling.h: predicts the training of an SVM on more ranks from its trace on one rank: times, the work that they
 * are spent on, and what bounds them. The trace of a real run on more ranks may be compared. Threads: one at a time. */
#ifndef TUTTI_PREDICT_TRACE_SCALING_H
#define TUTTI_PREDICT_TRACE_SCALING_H

#include "../svm_scaling.h"
#include "planning.h"

typedef struct {
    /* the question: path of the trace, and of a second trace to compare with */
    const char *path, *check; /* the two paths; check: of the second trace, or NULL */
    tutti_topology topology;
    int n, ranks[TUTTI_PREDICT_MAX_RANKS];
    /* the answer: the load of the trace, and of the second trace */
    tutti_svm_load one, checked; /* checked.nranks is 0 if there is nothing to compare with */
    tutti_svm_scaling at[TUTTI_PREDICT_MAX_RANKS];
} tutti_trace_question;

/* Answers the question. TUTTI_ERR_DATA: a bad trace, or two traces of different trainings; TUTTI_ERR_USAGE: the run to
 * compare with has a rank count that was not asked for. */
tutti_status tutti_trace_scaling_predict(tutti_trace_question *q, tutti_failure *err);
/* Print the answers for people; as JSON, one object on a line for each rank count; and as a picture (SVG). */
void tutti_trace_scaling_print(const tutti_trace_question *q, tutti_strbuf *out);
void tutti_trace_scaling_print_json(const tutti_trace_question *q, tutti_strbuf *out);
void tutti_trace_scaling_draw(const tutti_trace_question *q, tutti_strbuf *out);

#endif
