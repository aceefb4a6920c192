/* SPDX-License-Identifier: Apache-2.0 */
/* tell.h: reports and traces of a run.
 *
 *   report.c    metrics and events
 *   tracing.c   spans of some steps, as files
 *   diverge.c   what happens when the loss or weights are not finite
 *   distance.c  how far workers are from the centre
 *   busy.c      which host computes much longer than the others
 *
 * Threads: one at a time for each group. */
#ifndef TUTTI_TELL_H
#define TUTTI_TELL_H

#include "../../../metrics/metrics.h"
#include "../keep/keep.h"
#include "../step/evaluate.h"
#include "../step/step.h"

struct tutti_tracing;

typedef struct {
    const tutti_stepping *run;      /* the run that is reported */
    tutti_writing *writing;         /* the checkpoint that is written beside the training; NULL: the run has none */
    tutti_metrics *metrics;         /* the file metrics.jsonl; NULL except on rank 0 of a run with a folder */
    tutti_tensorboard *tensorboard; /* TensorBoard's event files; NULL = off */
    struct tutti_tracing *tracing;  /* traces of steps; NULL = off */
    double seconds, resumed_at;     /* seconds of training only; resumed_at: start of the running stretch */
    /* seconds of tests; metrics report the sum of `seconds` and eval_seconds: the time it takes to know an accuracy */
    double eval_seconds;
    double logged_seconds, logged_exchange_seconds;
    int64_t logged_step;
    bool has_restarted; /* the restart of this epoch was reported */
    bool has_diverged;  /* the run has diverged, and that was reported */
    bool has_odd_test;  /* a test's loss was not finite although the weights are; that was reported */
} tutti_telling;

/* Opens the metrics and the trace at the step at which the run is. writing: see tutti_telling; borrowed until close.
 * resumed: the run was resumed. */
tutti_status tutti_telling_open(tutti_telling *t, const tutti_stepping *run, tutti_writing *writing, bool resumed,
                                tutti_failure *err);
void tutti_telling_close(tutti_telling *t);
void tutti_telling_resume(tutti_telling *t); /* time counts as training from now on */
void tutti_telling_tick(tutti_telling *t);   /* adds the time since the last call to the training time */

void tutti_report_note(const tutti_telling *t, const char *text);

/* The state that tutti_busy_look keeps from one step to the next; all 0 at first. */
typedef struct {
    int64_t step, compute_ns; /* when it looked last; how long this rank had computed then */
    int rank, nlooks;         /* rank 0: a rank of the host that was the longest in the last nlooks comparisons */
} tutti_busy;
/* Collective, after each step: compares the hosts when it is time, and reports one that is busy (elastic.leave_out).
 * Does nothing on one host, and where workers take steps of their own or lost ranks are not replaced. b: changed.
 * t: the reports. */
tutti_status tutti_busy_look(tutti_busy *b, const tutti_telling *t, tutti_failure *err);

/* Reports that the run has diverged. ends: the caller of the run gets the words as the failure. */
tutti_status tutti_report_diverged(const tutti_telling *t, const char *words, bool ends, tutti_failure *err);
/* Reports the plan, the cost of copies in memory (copies: NULL = none are taken), and whether kernels only wait, unless
 * the run was complete already. For a new run, reports also which convolutions skip zeros before the first test. */
tutti_status tutti_report_begin(const tutti_telling *t, const tutti_copies *copies, bool was_done, bool is_new,
                                tutti_failure *err);
bool tutti_report_is_due(const tutti_telling *t); /* true if a line is due after the step just played; the same on all
                                                   * ranks */
tutti_status tutti_report_step(tutti_telling *t, tutti_failure *err);
tutti_status tutti_report_eval(const tutti_telling *t, const tutti_eval_result *r, tutti_failure *err);
/* A worker's weights beside the centre: the Euclidean distance, and their point in the plane of distance.c. */
typedef struct {
    int rank;
    double distance, x, y;
} tutti_worker_place;
tutti_status tutti_report_worker(const tutti_telling *t, const tutti_worker_place *w, tutti_failure *err);
tutti_status tutti_report_centre(const tutti_telling *t, double x, double y, tutti_failure *err);
/* Reports one line for each ReLU, from a test of `nsamples` samples. */
tutti_status tutti_report_sparsity(const tutti_telling *t, const tutti_evaluator *e, int64_t nsamples,
                                   tutti_failure *err);
/* Decides by the same test, on every rank, which convolutions skip zeros from now on, and reports it if that has
 * changed. */
tutti_status tutti_report_skips(const tutti_telling *t, const tutti_evaluator *e, int64_t nsamples, tutti_failure *err);
tutti_status tutti_report_visits(const tutti_telling *t, const tutti_staleness *s, const char *text,
                                 tutti_failure *err);
tutti_status tutti_report_lost(const tutti_telling *t, int rank, int64_t played, const char *text, tutti_failure *err);
/* Reports, after the first step of a later epoch of the group, from which step the run continues, and from what: a copy
 * in memory, a checkpoint, or the beginning. */
tutti_status tutti_report_restart(tutti_telling *t, const tutti_start *start, tutti_failure *err);
void tutti_report_bears(const tutti_telling *t);
void tutti_report_saved(const tutti_telling *t, int64_t step); /* reports that the checkpoint of `step` is on disk */
/* Ends the checkpoint that is written beside the training, if there is one, and reports it. waits false: only if its
 * thread has nothing more to do. Returns the failure to write it. Call it before the checkpoints are listed. */
tutti_status tutti_report_written(const tutti_telling *t, bool waits, tutti_failure *err);
void tutti_report_traced(const tutti_telling *t, int64_t first, int64_t last);
/* Reports how long each part of the run took, as mean over all ranks, and what rank 0 knows besides. */
tutti_status tutti_report_cost(const tutti_telling *t, const double seconds[TUTTI_NCOSTS], const tutti_cost_more *more,
                               tutti_failure *err);
/* Reports the end of the run. nlost: number of ranks that were lost. */
tutti_status tutti_report_end(const tutti_telling *t, const tutti_train_result *r, int nlost, tutti_failure *err);

/* distance.c: true if the run reports how far its workers are from a centre: workers take steps together, each has a
 * copy of the centre, and there is a folder. The answer is the same on all ranks. */
bool tutti_distance_is_told(const tutti_stepping *s);
/* Collective, after a step of s, the run that t reports: waits for the centre, measures, and rank 0 writes a line for
 * the centre and one for each rank. */
tutti_status tutti_distance_tell(const tutti_telling *t, tutti_stepping *s, tutti_failure *err);

/* diverge.c: each function finds on all ranks after the same step whether the run has diverged, and does nothing if it
 * has not. Otherwise it reports that once and, unless the job says that the run goes on, fails: rank 0 with a message,
 * the other ranks without one. The caller need not report the failure again (t->has_diverged). */
tutti_status tutti_diverge_after_step(tutti_telling *t, tutti_failure *err);
tutti_status tutti_diverge_after_test(tutti_telling *t, double loss, tutti_failure *err);
/* Collective. Checks the weights of a checkpoint. lent: the checkpoint that would be saved, with vectors that the host
 * can read. *is_bad: true if it must not be saved. */
tutti_status tutti_diverge_before_saving(tutti_telling *t, const tutti_checkpoint *lent, bool *is_bad,
                                         tutti_failure *err);

#endif
