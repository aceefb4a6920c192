/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: plays a plan step by step on one rank, with evaluation, metrics, checkpoints and orderly ends.
 * Names no algorithm and no model. Threads: owner of the group. */
#ifndef TUTTI_TRAIN_H
#define TUTTI_TRAIN_H

#include "../../collective/group/group.h"
#include "../../data/dataset.h"
#include "../method/method.h"
#include "../plan/plan.h"

typedef struct {
    const tutti_plan *plan;
    const tutti_dataset *train, *test; /* test may be NULL */
    tutti_rate rate;
    tutti_update update;
    uint64_t seed;
    int64_t nsteps, steps_per_epoch;
    double eval_every_epochs;       /* 0 = only at the end */
    int64_t checkpoint_every_steps; /* 0 = at ends of epochs */
    int checkpoint_keep;
    int64_t log_every;
    const char *dir; /* results; NULL = keep nothing */
    const char *job_text, *model_text;
    bool fresh; /* do not resume */
    bool quiet;
    bool progress_bar;               /* rank 0 on a TTY */
    const volatile int *stop_signal; /* number of a signal that asks for an orderly end, 0 = none; may be NULL */
} tutti_train_config;

typedef struct {
    int64_t step;          /* steps done */
    double loss, accuracy; /* last training loss; last test accuracy (NaN if none) */
    double seconds;        /* training only */
    uint64_t weights_hash;
    bool stopped; /* by a signal: a checkpoint was saved */
    int stop_signal;
} tutti_train_result;

tutti_status tutti_train(tutti_group *group, const tutti_train_config *config, tutti_train_result *out,
                         tutti_failure *err);

/* Test accuracy and loss of packed weights, this rank alone. */
typedef struct {
    int64_t nsamples, correct;
    double loss; /* mean */
} tutti_eval_result;
tutti_status tutti_evaluate(const tutti_model *model, const float *weights, const int64_t *param_offset,
                            const tutti_dataset *data, const char *engine, int nthreads, tutti_eval_result *out,
                            tutti_failure *err);

#endif
