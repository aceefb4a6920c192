/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: trains: plays a plan step by step on one rank, with tests, metrics, checkpoints and orderly ends.
 *
 * Names no algorithm and no model, and prints nothing: who wants to see it listens (on_event). DIR holds
 *   lock           held while a run uses the folder; the second run is refused
 *   job.yaml       the resolved job             metrics.jsonl, events.out.tfevents.*   see docs/metrics.md
 *   checkpoints/   see checkpoint.h                  trace.json, layers.txt   see tracing.h
 *   plan.proof     that the plan is proved, see proof.c
 *
 * The plan is proved before anything is begun; one that is not right is TUTTI_ERR_USAGE, with a counter-example.
 * Threads: owner of the group. */
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
    TUTTI_TRAIN_NOTE,   /* text: something that a person should know (a torn checkpoint was passed over) */
    TUTTI_TRAIN_INIT,   /* text: what weights from elsewhere it begins at */
    TUTTI_TRAIN_PROVED, /* text: how long the proof of the plan took, or that it was kept */
    TUTTI_TRAIN_PLAN,   /* before it begins; text: what its plan does, in ten words (tutti_method_say) */
    TUTTI_TRAIN_BEGIN,  /* step: where it goes on; text: how it computes, "bf16 (AMX)" */
    TUTTI_TRAIN_BEARS,  /* from now on other ranks may be lost, and the run goes on */
    TUTTI_TRAIN_STEP,   /* after each step; logged: the interval's figures are fresh */
    TUTTI_TRAIN_EVAL,
    TUTTI_TRAIN_SAVED,  /* text: path of the checkpoint */
    TUTTI_TRAIN_TRACED, /* text: which steps, and where */
    TUTTI_TRAIN_COST,   /* at the end; text: a table of where the time went */
    TUTTI_TRAIN_VISITS, /* at the end, where ranks took steps of their own; text: how stale what they saw was */
} tutti_train_event_kind;

typedef struct {
    tutti_train_event_kind kind;
    int64_t step, nsteps; /* steps done, of all */
    double epoch;         /* passes over the training set done */
    double loss, lr;
    double ips, step_ms,
        comm_ms; /* images a second; a step, and of that exchanges that nothing hid; means of the interval */
    double loss_scale;
    int64_t skipped; /* steps, for want of finite gradients */
    double accuracy; /* eval */
    bool logged;
    const char *text;
} tutti_train_event;

/* What holds a rank up on purpose, so that one can see what a method makes of it. */
typedef struct {
    double slowness; /* by what its computing takes longer; 0 or 1 = nothing */
    double stall_s; /* it stands still once for so long, after the first of its steps that is this one or a later one */
    int64_t stall_step;
} tutti_handicap;

/* How long the kernels of a layer take that only wait. */
typedef struct {
    double forward_s, params_s, data_s, sum_s;
} tutti_pretended_layer;

typedef struct {
    const tutti_plan *plan;
    const struct tutti_device *device; /* where the plan's memories lie, and all is computed */
    const tutti_dataset *train, *test; /* test may be NULL */
    int data_threads;                  /* that load batches */
    tutti_rate rate;
    tutti_update update;
    tutti_texts group_rates,
        group_decays; /* patterns of parameters and numbers by turns: factors of the rate, decays instead of update's */
    tutti_centre centre;         /* where the method has one */
    tutti_loss_scale loss_scale; /* dynamic only with a plan of only_finite */
    uint64_t seed;
    tutti_init_config init; /* where nothing is resumed */
    int64_t nsteps, steps_per_epoch;
    double eval_every_epochs;        /* 0 = only at the end */
    int64_t eval_points;             /* tests of a run, at least; 0 = as many as that makes */
    int64_t checkpoint_every_steps;  /* 0 = at ends of epochs; always at the end */
    double checkpoint_every_minutes; /* besides, when rank 0 has not saved for so long; 0 = not by the clock. Not with
                                   * record or replay */
    int checkpoint_keep;
    int64_t log_every;
    bool tensorboard;                  /* what metrics.jsonl says of steps and tests, as event files too. Needs dir */
    int64_t trace_warmup, trace_steps; /* trace so many steps after so many others; 0 steps = no trace. Needs dir */
    const char *dir;                   /* results, seen by all ranks; NULL = keep nothing */
    const char *job_text, *model_text;
    const tutti_method_row *method; /* whose plan it is; NULL: nothing is said of that */
    const char
        *data_text;    /* data/identity.h; rank 0's counts. NULL: data are not compared with those of a checkpoint */
    const char *bound; /* how ranks were bound to cores and memory, for people; NULL = they were not */
    const char *const *free_keys; /* NULL-ended: keys of the job that may differ from a checkpoint's */
    /* A job of an earlier version as this one would print it (the caller frees), NULL = it is none; may be NULL. */
    char *(*renew_job)(const char *text);
    /* Where ranks take steps of their own, one at a time in visits: a file that takes down who took which share and who
     * visited when, at the end; a file of that kind to go by, which gives the same bits. NULL = none. */
    const char *record, *replay;
    tutti_handicap handicap; /* this rank's */
    /* A layer of the graph: kernels wait for so long instead of computing, and all else is done as ever. Nothing is
     * learned, losses are NaN, nothing is saved; a folder with checkpoints is refused. test is NULL then. NULL =
     * kernels compute. */
    const tutti_pretended_layer *pretended;
    /* Whether the run goes on when its loss or its weights are not finite any more; what else could be done then, for
     * people, NULL = nothing. */
    bool outlives_nan;
    const char *if_diverged;
    bool fresh; /* do not resume: remove what the folder holds of an earlier run */
    /* Rank 0 only; may be NULL. */
    void (*on_event)(void *arg, const tutti_train_event *event);
    void *on_event_arg;
    int64_t began_ns; /* clock_ns when this rank began to prepare; 0 = now. Only says how long initialisation took */
    /* Asked once a step, and once a block of a test: number of a signal that asks this rank for an orderly end, 0 =
     * none; may be NULL. */
    int (*stop_asked)(void *arg);
    void *stop_arg;
} tutti_train_config;

/* Samples in whose place others stand because they could not be read (on_bad_sample: skip). */
typedef struct {
    int64_t n;
    char first[240]; /* words of one of them */
} tutti_replaced;

typedef struct {
    int64_t step;          /* steps done */
    double loss, accuracy; /* last training loss; last test accuracy (NaN if none) */
    double seconds;        /* training only */
    uint64_t weights_hash;
    tutti_replaced replaced; /* of all ranks, since this process began */
    bool was_done;           /* nothing was left to do */
    int stop_signal; /* asked for by one of the ranks; a checkpoint was saved if there is a folder. 0 = ran to the
                      * end */
} tutti_train_result;

/* A failure that rank 0 has found for all (a locked folder, another job's checkpoint, a run that has diverged) comes
 * with an empty text on the other ranks: it is said once. */
tutti_status tutti_train(tutti_group *group, const tutti_train_config *config, tutti_train_result *out,
                         tutti_failure *err);

/* Samples of the set must be what the model reads, its labels what it tells apart: TUTTI_ERR_USAGE with both. */
tutti_status tutti_train_check_data(const tutti_model *model, const tutti_dataset *data, tutti_failure *err);

/* Packed weights, borrowed. `like`: a graph of the model; the weights lie in its orders of parameters, param_offset is
 * by its indices; its engine, threads and precision compute. */
typedef struct {
    const tutti_graph *like;
    const float *weights;
    const int64_t *param_offset;
} tutti_packed_weights;

/* Test accuracy and loss of packed weights, this rank alone. */
typedef struct {
    int64_t nsamples, correct;
    double loss; /* mean */
    tutti_replaced replaced;
    int32_t stopped; /* the signal that ended it early, or 0 */
} tutti_eval_result;
/* What came out for one sample of the set: a probability a class, and the class of the largest logit, the first of
 * equals, which `correct` counts. */
typedef struct {
    int64_t index; /* in the set */
    int32_t label, predicted;
    int nclasses;
    const float *probability;
} tutti_answer;
typedef struct {
    void (*take)(void *arg, const tutti_answer *answer); /* in the order of the set */
    void *arg;
} tutti_answer_listener;
/* listener: NULL = nobody; else a model whose loss tells no classes apart is TUTTI_ERR_USAGE. */
tutti_status tutti_evaluate(const tutti_packed_weights *w, const tutti_dataset *data,
                            const tutti_answer_listener *listener, tutti_eval_result *out, tutti_failure *err);
/* TUTTI_ERR_USAGE: the loss that the model ends in knows no classes. */
tutti_status tutti_train_check_classes(const tutti_model *model, tutti_failure *err);

/* Answers for samples of no set, one at a time, so that none depends on which others there are. What w points to is
 * borrowed until destroy. Threads: owner. */
typedef struct tutti_classifier tutti_classifier;
tutti_status tutti_classifier_create(const tutti_packed_weights *w, tutti_classifier **out, tutti_failure *err);
/* The class of the largest logit; probability: one a class. */
int32_t tutti_classify(tutti_classifier *c, const float *sample, float *probability);
void tutti_classifier_destroy(tutti_classifier *c); /* NULL is accepted */

#endif
