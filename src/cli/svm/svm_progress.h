/* SPDX-License-Identifier: Apache-2.0 */
/* svm_progress.h: the progress of an SVM training on the terminal and in a trace. Threads: one at a time. */
#ifndef TUTTI_CLI_SVM_PROGRESS_H
#define TUTTI_CLI_SVM_PROGRESS_H

#include "../../metrics/metrics.h"
#include "tutti/svm.h"

typedef struct {
    bool shown, tty;
    bool open;                   /* true while the last line on the terminal is unfinished */
    double eps, first_gap;       /* current subproblem: eps, at which it ends, and its first gap (largest violation of
                                  * optimality) */
    double drawn;                /* time of the latest drawing, by tutti_clock_s */
    tutti_metrics *trace;        /* writes the file of --trace; NULL = no trace */
    tutti_failure trace_failure; /* the first failure to write, reported at the end */
} tutti_svm_progress;

/* Begins the progress. shown: --progress was given; path: --trace or NULL; nranks, and the threads of config, are
 * written to the trace. */
tutti_status tutti_svm_progress_begin(bool shown, const tutti_svm_config *config, const char *path, int nranks,
                                      tutti_svm_progress *out, tutti_failure *err);
/* The function for tutti_svm_config.on_event; arg is the tutti_svm_progress. */
void tutti_svm_progress_event(void *arg, const tutti_svm_event *event);
/* Ends the progress. Returns TUTTI_ERR_FAILED if the trace could not be written. */
tutti_status tutti_svm_progress_end(tutti_svm_progress *p, tutti_failure *err);

#endif
