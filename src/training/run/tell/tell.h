/* SPDX-License-Identifier: Apache-2.0 */
/* tell.h: reports and traces of a run.
 *
 *   report.c    metrics and events                        tracing.c   spans of some steps, as files
 *   diverge.c   loss or weights that are no numbers any more
 *
 * Threads: owner of the group. */
#ifndef TUTTI_TELL_H
#define TUTTI_TELL_H

#include "../../../metrics/metrics.h"
#include "../keep/keep.h"
#include "../step/evaluate.h"
#include "../step/step.h"

struct tutti_tracing;

typedef struct {
    const tutti_stepping *run;      /* that is told of */
    tutti_metrics *metrics;         /* rank 0 with a folder */
    tutti_tensorboard *tensorboard; /* NULL = off */
    struct tutti_tracing *tracing;  /* NULL = off */
    double seconds, resumed_at;     /* training only; start of the running stretch */
    double eval_seconds;            /* metrics say the sum of both: what it takes to know an accuracy */
    double logged_seconds, logged_exchange_seconds;
    int64_t logged_step;
    bool has_diverged; /* and was told */
    bool has_odd_test; /* a test had a loss that is not finite, by weights that are: it was told */
} tutti_telling;

/* Metrics and what is traced, from where the run stands; was it resumed? */
tutti_status tutti_telling_open(tutti_telling *t, const tutti_stepping *run, bool resumed, tutti_failure *err);
void tutti_telling_close(tutti_telling *t);
void tutti_telling_resume(tutti_telling *t); /* from now on it is training */
void tutti_telling_tick(tutti_telling *t);   /* up to now it was training */

void tutti_report_note(const tutti_telling *t, const char *text);
/* ends: whoever asked for the run hears the words as its failure. */
tutti_status tutti_report_diverged(const tutti_telling *t, const char *words, bool ends, tutti_failure *err);
/* Its plan and that its kernels only wait, unless it was done; of a new run which convolutions skip zeros before
 * anything has been tested. */
tutti_status tutti_report_begin(const tutti_telling *t, bool was_done, bool is_new, tutti_failure *err);
tutti_status tutti_report_step(tutti_telling *t, tutti_failure *err);
tutti_status tutti_report_eval(const tutti_telling *t, const tutti_eval_result *r, tutti_failure *err);
/* A line a ReLU, of a test of so many samples. */
tutti_status tutti_report_sparsity(const tutti_telling *t, const tutti_evaluator *e, int64_t nsamples,
                                   tutti_failure *err);
/* Decides by the same test which convolutions skip zeros from now on, on every rank, and says it where that has
 * changed. */
tutti_status tutti_report_skips(const tutti_telling *t, const tutti_evaluator *e, int64_t nsamples, tutti_failure *err);
tutti_status tutti_report_visits(const tutti_telling *t, const tutti_staleness *s, const char *text,
                                 tutti_failure *err);
tutti_status tutti_report_lost(const tutti_telling *t, int rank, int64_t played, const char *text, tutti_failure *err);
void tutti_report_bears(const tutti_telling *t);
void tutti_report_saved(const tutti_telling *t);
void tutti_report_traced(const tutti_telling *t, int64_t first, int64_t last);
/* What each part of the run took, mean of all ranks; of it, what rank 0 did for workers of other hosts, the sum. */
tutti_status tutti_report_cost(const tutti_telling *t, const double seconds[TUTTI_NCOSTS], double served,
                               tutti_failure *err);
/* nlost: ranks. */
tutti_status tutti_report_end(const tutti_telling *t, const tutti_train_result *r, int nlost, tutti_failure *err);

/* diverge.c: all ranks find that the run has diverged after the same step, say so once and, unless it goes on, fail:
 * rank 0 with the words, the others without any. Nobody need be told then (t->has_diverged). Nothing where it has
 * not. */
tutti_status tutti_diverge_after_step(tutti_telling *t, tutti_failure *err);
tutti_status tutti_diverge_after_test(tutti_telling *t, double loss, tutti_failure *err);
/* Collective. lent: what is to be saved, where the host reads it. *is_bad: it must not be. */
tutti_status tutti_diverge_before_saving(tutti_telling *t, const tutti_checkpoint *lent, bool *is_bad,
                                         tutti_failure *err);

#endif
