/* SPDX-License-Identifier: Apache-2.0 */
/* svm_training.h: trains models of many classes by two-class problems: one-vs-one, folds, probabilities.
 *
 * Threads: one at a time. All functions that take a training are collective. */
#ifndef TUTTI_SVM_TRAINING_H
#define TUTTI_SVM_TRAINING_H

#include "solve/svm_solve.h"
#include "svm_classes.h"

typedef struct {
    tutti_comm *comm;
    const tutti_svm_data *data;
    const tutti_svm_config *config;
    tutti_svm_context *context;
    int solved, nproblems; /* number of solved problems, and of all problems, for events */
} tutti_svm_training;

/* Checks the configuration, finds the classes (at least two), makes the context. After a failure there is nothing to
 * end. */
tutti_status tutti_svm_training_begin(tutti_comm *comm, const tutti_svm_data *data, const tutti_svm_config *config,
                                      tutti_svm_training *t, tutti_svm_classes *classes, tutti_failure *err);
void tutti_svm_training_end(tutti_svm_training *t, tutti_svm_classes *classes);

/* This rank's part of a solved problem of the classes i < j; class i has y = +1. */
typedef struct {
    int64_t n;
    int32_t *row;
    int8_t *y;
    double *alpha;
    tutti_svm_pair_result result;
} tutti_svm_part;
/* Trains a pair of classes. Both must have samples on some rank. */
tutti_status tutti_svm_part_train(tutti_svm_training *t, const tutti_svm_classes *classes, int i, int j,
                                  tutti_svm_part *out, tutti_failure *err);
void tutti_svm_part_release(tutti_svm_part *part);
/* Writes decision[ntargets], the decisions of a solved part for own rows: sum of y alpha K - rho. */
tutti_status tutti_svm_part_decide(tutti_svm_training *t, const tutti_svm_part *part, int64_t ntargets,
                                   const int32_t *target, double *decision, tutti_failure *err);

/* svm_folds.c: splits each class evenly into folds. The fold of a sample depends on the seed, its class and its number
 * in the class alone. With as many folds as rows, it depends on the row, and each row is a fold of its own. */
typedef struct {
    uint64_t seed;
    int nfolds;
} tutti_svm_split;
typedef struct {
    tutti_svm_classes kept; /* the samples of the other folds */
    int64_t nleft;
    int32_t *left; /* [nleft] own rows of this fold, ascending */
} tutti_svm_fold;
tutti_status tutti_svm_fold_make(tutti_svm_training *t, const tutti_svm_classes *classes, tutti_svm_split split,
                                 int fold, tutti_svm_fold *out, tutti_failure *err);
void tutti_svm_fold_release(tutti_svm_fold *fold);

/* svm_platt.c: fits P(y = +1 | f) = 1 / (1 + exp(a f + b)) for the pair (i, j), from decisions on left-out folds. */
typedef struct {
    double a, b;
} tutti_svm_sigmoid;
tutti_status tutti_svm_platt_fit(tutti_svm_training *t, const tutti_svm_classes *classes, int i, int j,
                                 tutti_svm_sigmoid *out, tutti_failure *err);
enum { TUTTI_SVM_PLATT_FOLDS = 5 };

/* svm_gather.c: gathers the model on rank 0. coef: [nclasses - 1][data->nrows], in LIBSVM's arrangement, for own
 * rows. */
tutti_status tutti_svm_model_gather(tutti_svm_training *t, const tutti_svm_classes *classes, const double *coef,
                                    tutti_svm_model *model, tutti_failure *err);

/* Returns the cost of a class: its weight times C. */
double tutti_svm_cost_of(const tutti_svm_config *config, int32_t label);

#endif
