/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: trains: plays a plan step by step on one rank, with tests, metrics, checkpoints and orderly ends.
 *
 * It names no algorithm and no model, and prints nothing: the caller gets events (on_event). The folder DIR holds
 *   lock                      held while a run uses the folder; a second run is refused
 *   job.yaml                  the resolved job
 *   plan.proof                says that the plan was proved, see proof.c
 *   checkpoints/              see checkpoint.h
 *   trace.json, layers.txt    see tracing.h
 *   metrics.jsonl, events.out.tfevents.*    see docs/metrics.md
 *
 * The plan is proved before the first step; a wrong plan is TUTTI_ERR_USAGE, with a counter-example. Threads: one at a
 * time of the group. */
#ifndef TUTTI_TRAIN_H
#define TUTTI_TRAIN_H

#include "../../collective/group/group.h"
#include "../../data/dataset.h"
#include "../method/centre.h"
#include "../method/method.h"
#include "../method/rule/rule.h"
#include "../plan/plan.h"
#include "keep/checkpoint.h"
#include "keep/init.h"

typedef enum {
    TUTTI_TRAIN_NOTE,      /* text: something that a person should know (a torn checkpoint was skipped) */
    TUTTI_TRAIN_INIT,      /* text: the weights from elsewhere that the run begins at */
    TUTTI_TRAIN_PROVED,    /* text: how long the proof of the plan took, or that a kept proof was found */
    TUTTI_TRAIN_PLAN,      /* before the first step; text: what the plan does, in ten words (tutti_method_say) */
    TUTTI_TRAIN_BEGIN,     /* step: where the run begins or continues; text: how it computes, "bf16 (AMX)" */
    TUTTI_TRAIN_COPIES,    /* where lost ranks are replaced; text: what copies of the state cost, and what losing a rank
                            * costs */
    TUTTI_TRAIN_RESTARTED, /* after the first step of a later group epoch; text: from which step, which copy or
                            * checkpoint */
    TUTTI_TRAIN_BEARS,     /* from this event on the run continues if another rank is lost */
    TUTTI_TRAIN_BUSY,      /* a host computes much longer than the others; rank: a rank of it */
    TUTTI_TRAIN_STEP,      /* after each step; logged: true if the interval's figures were computed anew */
    TUTTI_TRAIN_EVAL,
    TUTTI_TRAIN_SAVED,  /* text: path of the checkpoint */
    TUTTI_TRAIN_TRACED, /* text: the traced steps, and the files */
    TUTTI_TRAIN_COST,   /* at the end; text: a table of how the time was spent */
    /* at the end, where ranks took steps of their own; text: how stale the centre was when workers visited it */
    TUTTI_TRAIN_VISITS,
} tutti_train_event_kind;

typedef struct {
    tutti_train_event_kind kind;
    int64_t step, nsteps; /* steps that are done; steps of the whole run */
    double epoch;         /* passes over the training set that are done */
    double loss, lr;
    /* images per second; milliseconds of a step; milliseconds of a step's exchanges during which nothing was computed;
     * means of the interval */
    double ips, step_ms, comm_ms;
    double loss_scale;
    int64_t skipped; /* steps skipped because gradients were not finite */
    double accuracy; /* TUTTI_TRAIN_EVAL: accuracy of the test */
    bool logged;
    int rank; /* TUTTI_TRAIN_BUSY */
    const char *text;
} tutti_train_event;

/* Delays a rank on purpose, so that people can see how a method copes with it. */
typedef struct {
    double slowness; /* factor by which the rank's computing takes longer; 0 or 1 = none */
    double stall_s;  /* the rank stops once for this long, after its first step that is stall_step or later */
    int64_t stall_step;
} tutti_handicap;

/* For a run that only pretends to compute: how long the kernels of a layer wait. */
typedef struct {
    double forward_s, params_s, data_s, sum_s;
} tutti_pretended_layer;

typedef struct {
    const tutti_plan *plan;
    const struct tutti_device *device; /* holds the plan's memories and computes everything */
    const tutti_dataset *train, *test; /* the training set and the test set; test may be NULL */
    int data_threads;                  /* threads that load batches */
    tutti_rate rate;
    tutti_update update;
    /* pairs of a pattern of parameters and a number: a factor of the rate; a decay that replaces that of `update` */
    tutti_texts group_rates, group_decays;
    tutti_centre centre;         /* figures of the centre's rule, for methods with a centre */
    tutti_loss_scale loss_scale; /* a dynamic scale needs a plan with only_finite */
    uint64_t seed;
    tutti_init_config init; /* where a run's first weights come from; not used if it resumes */
    int64_t nsteps, steps_per_epoch;
    double eval_every_epochs;       /* epochs between two tests; 0 = only at the end */
    int64_t eval_points;            /* fewest tests of a run; 0 = as eval_every_epochs gives */
    int64_t checkpoint_every_steps; /* steps between two checkpoints; 0 = at ends of epochs; always at the end too */
    /* also saves when rank 0 has not saved for this long; 0 = no saves by the clock. Not with record or replay */
    double checkpoint_every_minutes;
    int checkpoint_keep;
    int64_t log_every;
    bool tensorboard; /* also writes the steps and tests of metrics.jsonl as event files. Needs dir */
    /* traces trace_steps steps after trace_warmup others; 0 steps = no trace. Needs dir */
    int64_t trace_warmup, trace_steps;
    const char *dir; /* folder for results, seen by all ranks; NULL = nothing is kept */
    const char *job_text, *model_text;
    const tutti_method_row *method; /* the method of the plan; NULL = the method is not reported */
    /* identity of the data (data/identity.h), as text, from rank 0. NULL: the data are not compared with those of a
     * checkpoint */
    const char *data_text;
    const char *bound;            /* how ranks were bound to cores and memory, for people; NULL = they were not bound */
    const char *const *free_keys; /* keys of the job that may differ from a checkpoint's; ends with NULL */
    /* Returns the job of an earlier version as this version would print it (the caller frees it). Returns NULL if the
     * text is no such job. The pointer may be NULL. */
    char *(*renew_job)(const char *text);
    /* For ranks that take steps of their own and visit one at a time. record: a file that is written at the end, with
     * the rank that took each share and the rank of each visit. replay: such a file to follow, which gives the same
     * bits. NULL = none. */
    const char *record, *replay;
    tutti_handicap handicap; /* handicap of this rank */
    /* Per layer of the graph: kernels wait this long instead of computing; everything else is done as usual. Nothing is
     * learned, losses are NaN, nothing is saved; a folder with checkpoints is refused. `test` is NULL then. NULL =
     * kernels compute. */
    const tutti_pretended_layer *pretended;
    /* outlives_nan: the run continues when its loss or weights are not finite any more. if_diverged: advice for the
     * message about a run that has diverged, NULL = none. */
    bool outlives_nan;
    const char *if_diverged;
    /* For a run whose lost ranks are replaced (keep/copies.h). copies: descriptor of the memory file for copies of the
     * state; 0 or less = none. copy_every: steps between two copies; 0 = as often as costs at most a hundredth of the
     * time. leave_out: a host that computes leave_out times as long as the others is reported (TUTTI_TRAIN_BUSY); 0 =
     * none is. epoch: number of the group's epoch, 0 or 1 = the first; in a later one `lost` is the rank that was lost
     * at lost_ns (tutti_clock_ns). */
    int copies;
    int64_t copy_every;
    double leave_out;
    uint32_t epoch;
    int lost;
    int64_t lost_ns;
    bool fresh; /* do not resume: remove what an earlier run left in the folder */
    /* Gets each event; called on rank 0 only; may be NULL. */
    void (*on_event)(void *arg, const tutti_train_event *event);
    void *on_event_arg;
    /* clock_ns when this rank began to prepare; 0 = now. Only used to report how long initialisation took */
    int64_t began_ns;
    /* Called once in each step and once in each block of a test. Returns the signal that asks this rank for an orderly
     * end, 0 = none; may be NULL. */
    int (*stop_asked)(void *arg);
    void *stop_arg;
} tutti_train_config;

/* Samples that could not be read and were replaced by others (on_bad_sample: skip). */
typedef struct {
    int64_t n;
    char first[240]; /* message about one of these samples */
} tutti_replaced;

typedef struct {
    int64_t step;          /* steps done */
    double loss, accuracy; /* last training loss; last test accuracy (NaN if none) */
    double seconds;        /* time of training only */
    uint64_t weights_hash;
    tutti_replaced replaced; /* replaced samples of all ranks, since this process began */
    bool was_done;           /* the run had been completed before: no step was left */
    /* the signal with which one of the ranks was asked to stop; a checkpoint was saved if there is a folder. 0 = ran to
     * the end */
    int stop_signal;
} tutti_train_result;

/* Returns the bytes of host memory that rank 0 needs beside the plan's memories to save checkpoints: a file, and the
 * copy from which a thread writes. Where ranks have vectors of their own there is no copy. */
int64_t tutti_saving_bytes(const tutti_plan *plan);

/* Trains. If rank 0 finds a failure for all ranks (a locked folder, another job's checkpoint, a run that has diverged),
 * the other ranks fail with an empty message, so that it is printed once. */
tutti_status tutti_train(tutti_group *group, const tutti_train_config *config, tutti_train_result *out,
                         tutti_failure *err);

/* Returns TUTTI_ERR_USAGE if the set's samples do not have the shape that the model reads, or its labels are not the
 * model's classes. The message has both. */
tutti_status tutti_train_check_data(const tutti_model *model, const tutti_dataset *data, tutti_failure *err);

/* Packed weights, borrowed. `like`: a graph of the model. The weights lie in its orders of parameters, param_offset is
 * indexed by its parameters, and its engine, threads and precision are used to compute. */
typedef struct {
    const tutti_graph *like;
    const float *weights;
    const int64_t *param_offset;
} tutti_packed_weights;

/* Test accuracy and loss of packed weights, on this rank alone. */
typedef struct {
    int64_t nsamples, correct;
    double loss; /* mean over the samples */
    tutti_replaced replaced;
    int32_t stopped; /* the signal that ended the test early, or 0 */
} tutti_eval_result;
/* The answer for one sample of the set: a probability for each class, and the class with the largest logit (of equal
 * classes the lowest). If this class is the label, the test counts the answer as correct. */
typedef struct {
    int64_t index; /* index of the sample in the set */
    int32_t label, predicted;
    int nclasses;
    const float *probability;
} tutti_answer;
typedef struct {
    void (*take)(void *arg, const tutti_answer *answer); /* gets each answer, in the order of the set */
    void *arg;
} tutti_answer_listener;
/* Tests packed weights. listener: gets each answer, NULL = no listener; with a listener, a model whose loss has no
 * classes is TUTTI_ERR_USAGE. */
tutti_status tutti_evaluate(const tutti_packed_weights *w, const tutti_dataset *data,
                            const tutti_answer_listener *listener, tutti_eval_result *out, tutti_failure *err);
/* Returns TUTTI_ERR_USAGE if the model's last loss has no classes. */
tutti_status tutti_train_check_classes(const tutti_model *model, tutti_failure *err);

/* Answers for samples that are in no set, one at a time, so that no answer depends on the other samples. What w points
 * to is borrowed until destroy. Threads: one at a time. */
typedef struct tutti_classifier tutti_classifier;
tutti_status tutti_classifier_create(const tutti_packed_weights *w, tutti_classifier **out, tutti_failure *err);
/* Returns the class of the largest logit; probability: one number for each class. */
int32_t tutti_classify(tutti_classifier *c, const float *sample, float *probability);
void tutti_classifier_destroy(tutti_classifier *c); /* NULL is accepted */

#endif
