/* SPDX-License-Identifier: Apache-2.0 */
/* svm.h: support vector machines for classification, trained by all ranks of a communicator together.
 *
 * Implemented in src/svm; docs/svm.md tells how. Files are LIBSVM's (data and models), so are kernels, costs, and the
 * meaning of eps. Sample elimination after Vishnu, Narasimhan, Holder, Kerbyson, Hoisie, "Fast and accurate support
 * vector machines on large scale systems", CLUSTER 2015; blocks of pairs after ThunderSVM (Wen et al., JMLR 2018);
 * second-order selection after Fan, Chen, Lin, JMLR 2005.
 *
 * The model has the same bits whatever the number of ranks and threads: choices are exact, ties are broken by index,
 * and every sum runs in an order that depends on the data alone.
 *
 * Threads: one at a time, like the communicator; data and models are frozen once made. */
#ifndef TUTTI_SVM_H
#define TUTTI_SVM_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/comm.h"
#include "tutti/failure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- data --- */

/* A block of rows of a data set, in compressed sparse rows. Row i holds entries start[i] .. start[i + 1] - 1; indices
 * ascend strictly and are >= 0. Rows of a precomputed kernel begin with 0:number; the other kernels treat index 0 like
 * any other. */
typedef struct {
    int64_t nrows;  /* number of rows of this block, which fits into 32 bits */
    int64_t first;  /* number of this rank's first row in the whole set, from 0 */
    int64_t total;  /* number of rows of the whole set */
    int32_t width;  /* largest index of the whole set (all ranks), 0 if there is none */
    int64_t *start; /* nrows + 1 offsets into `index` and `value`, at which the rows begin */
    int32_t *index; /* start[nrows] indices, row after row */
    double *value;  /* start[nrows] values, row after row */
    double *label;  /* nrows labels */
} tutti_svm_data;

typedef struct {
    bool lenient; /* accept what LIBSVM accepts: labels that are cut to integers, trailing blank lines, empty files and
                   * one class; in test data NaN and infinities too */
    bool precomputed; /* require 0:number in front of every row */
    bool unlabelled;  /* test data: a label that is no whole number is no failure */
} tutti_svm_reading;

/* Reads a file. Collective; with comm NULL, this process alone reads the whole file. Otherwise each rank reads its
 * range of bytes, whose ends are moved to the next beginning of a line. TUTTI_ERR_DATA names file and line, the same on
 * every rank (the first bad line of the file). */
tutti_status tutti_svm_data_read(tutti_comm *comm, const char *path, const tutti_svm_reading *how, tutti_svm_data *out,
                                 tutti_failure *err);
/* Reads a text in memory, on this rank alone. `name` appears in failures. */
tutti_status tutti_svm_data_parse(const char *name, const char *text, size_t nbytes, const tutti_svm_reading *how,
                                  tutti_svm_data *out, tutti_failure *err);
void tutti_svm_data_release(tutti_svm_data *data);

/* --- kernels --- */

typedef enum {
    TUTTI_SVM_LINEAR,      /* K(u, v) = u'v */
    TUTTI_SVM_POLY,        /* K(u, v) = (gamma u'v + coef0)^degree */
    TUTTI_SVM_RBF,         /* K(u, v) = exp(-gamma |u - v|^2) */
    TUTTI_SVM_SIGMOID,     /* K(u, v) = tanh(gamma u'v + coef0) */
    TUTTI_SVM_PRECOMPUTED, /* K(u, v) = entry number(v) of row u */
    TUTTI_SVM_NKERNELS
} tutti_svm_kernel_type;
const char *tutti_svm_kernel_name(tutti_svm_kernel_type t); /* returns the name in model files, such as "rbf" */

typedef struct {
    tutti_svm_kernel_type type;
    int degree;
    double gamma, coef0; /* constants of the kernels above; gamma 0 means 1 / width of the data (LIBSVM's default) */
} tutti_svm_kernel;

/* Bounds the error of f64 values of an rbf or sigmoid kernel for the rows of this rank; the values lie within -1 .. 1.
 * The bound grows with gamma and the squared length of the longest row: in |u - v|^2 a column far from 0, such as a
 * time stamp, loses digits by cancellation. A model whose values are off by 1e-3 or more is of no use. Other kernels:
 * 0. Cost: one pass over the rows. Threads: any. */
double tutti_svm_kernel_error(const tutti_svm_kernel *kernel, const tutti_svm_data *data);

/* --- models --- */

typedef struct {
    tutti_svm_kernel kernel;
    int nclasses;
    int64_t nsv;
    int32_t *label;          /* nclasses labels, one for each class */
    int64_t *nsv_of;         /* nclasses numbers of support vectors, which lie class by class */
    double *rho;             /* one number for each pair of classes, in the order (0,1) (0,2) .. (1,2) .. */
    double *prob_a, *prob_b; /* for each pair of classes, in rho's order: the two parameters of its probability
                              * estimate; NULL: none */
    double *coef;            /* [nclasses - 1][nsv]: label * alpha of each support vector, in LIBSVM's arrangement */
    tutti_svm_data sv;       /* nrows = nsv; labels are not used */
} tutti_svm_model;

/* Writes LIBSVM's text, which LIBSVM reads back. Writes to a temporary name, then fsync and rename. */
tutti_status tutti_svm_model_write(const tutti_svm_model *model, const char *path, tutti_failure *err);
/* Reads a whole model or refuses it. TUTTI_ERR_DATA names the file and the line at which data is missing, truncated or
 * contradictory. `lenient` accepts what LIBSVM accepts: a truncated model counts as far as it goes. svm types other
 * than c_svc are refused by name. */
tutti_status tutti_svm_model_read(const char *path, bool lenient, tutti_svm_model *out, tutti_failure *err);
tutti_status tutti_svm_model_parse(const char *name, const char *text, size_t nbytes, bool lenient,
                                   tutti_svm_model *out, tutti_failure *err);
void tutti_svm_model_release(tutti_svm_model *model);

/* --- training --- */

/* The kinds of work on which the rounds of a training spend their time. */
typedef enum {
    TUTTI_SVM_CHOOSING,    /* finding violators among own samples and the samples of the working set */
    TUTTI_SVM_MOVING,      /* collectives with waiting for other ranks, and copying rows into and out of their
                            * messages */
    TUTTI_SVM_ALIKE,       /* work that every rank repeats: kernel matrix and pairs of the working set, rows copied into
                            * vector lanes */
    TUTTI_SVM_UPDATING,    /* computing gradients of this rank's active samples */
    TUTTI_SVM_ELIMINATING, /* eliminating samples, and computing the gradients of eliminated samples again */
    TUTTI_SVM_OTHER,       /* the start of training, events, checkpoints */
    TUTTI_SVM_NWORKS
} tutti_svm_work;
const char *tutti_svm_work_name(tutti_svm_work work); /* returns a name such as "choosing" */

/* The state after one round, for progress and traces. Numbers are sums over all ranks for one subproblem, unless a
 * field's comment says "this rank". */
typedef struct {
    int pair, npairs;        /* number of the subproblem, and number of subproblems (folds of a cross validation
                              * count) */
    int64_t round;           /* number of working sets so far in this subproblem */
    int64_t iterations;      /* number of pairs of samples optimised so far */
    double gap;              /* how far training is from its end: b_low - b_up over the active samples, 0 at the
                              * optimum */
    int64_t samples, active; /* samples: number of samples in the subproblem; active: samples that are not eliminated */
    int64_t eliminated;      /* samples dropped so far; a sample that is dropped twice counts twice */
    int64_t reconstructed;   /* gradients of eliminated samples that were computed again so far */
    int64_t kernel_rows;     /* rows of the kernel matrix that were computed (over the active samples) */
    int64_t cached_rows;     /* kernel rows that were found in the cache instead of being computed */
    double seconds;          /* seconds since training began */
    int block;               /* largest number of samples of a working set */
    int64_t
        row_bytes; /* Bytes of rows that every rank needs: new members of working sets, and rows for which gradients are
                    * computed again. They travel if there is more than one rank. */
    double spent_s[TUTTI_SVM_NWORKS]; /* seconds of this rank in this subproblem for each kind of work; their sum is its
                                       * wall time */
    int64_t collectives, bytes; /* collectives of this rank in this subproblem, and bytes of their results; 0 with one
                                 * rank */
    bool over;                  /* the subproblem is solved, and this is its last event */
    int stop; /* the largest *stop of all ranks; if it is not 0, the state is saved and this is the last event */
} tutti_svm_event;

typedef struct {
    const char *name; /* name of the heuristic, such as "multi,samples:5%" */
    enum { TUTTI_SVM_KEEP_ALL, TUTTI_SVM_SINGLE, TUTTI_SVM_MULTI } kind;
    int64_t iterations; /* the first elimination comes after this number of iterations; 0: `share` says when */
    double share;       /* if `iterations` is 0: the first elimination comes after share * (number of samples)
                         * iterations, 0 < share <= 1 */
} tutti_svm_elimination;

/* Returns the n heuristics of sample elimination, from the one that eliminates earliest to the one that eliminates
 * latest; the last is "none". */
const tutti_svm_elimination *tutti_svm_eliminations(int *n);
/* Parses a heuristic. kind: "none", "single", "multi"; threshold: "random:N", "samples:P%" with any N >= 1 and 0 < P <=
 * 100. NULL means the kind or threshold of the default heuristic. */
tutti_status tutti_svm_elimination_parse(const char *kind, const char *threshold, tutti_svm_elimination *out,
                                         tutti_failure *err);

typedef enum { TUTTI_SVM_AUTO, TUTTI_SVM_F32, TUTTI_SVM_F64 } tutti_svm_precision;

typedef struct {
    tutti_svm_kernel kernel;
    double cost;  /* cost of an error (LIBSVM's C), > 0 */
    double eps;   /* training stops when the gap is below it; > 0 */
    int nweights; /* number of weights: the cost of class weight_label[i] is cost * weight[i] */
    const int32_t *weight_label;
    const double *weight;
    double cache_mb;  /* cache for rows of the kernel matrix, on each rank */
    bool probability; /* estimate prob_a, prob_b by a cross validation of five folds */
    tutti_svm_elimination elimination;
    tutti_svm_precision precision; /* precision of kernel values; auto: f64 if eps or the data need it */
    int block;                     /* samples of a working set, an even number >= 2; 0 means 1024 */
    int nthreads;                  /* threads of this rank, >= 1 */
    bool lenient;  /* data of one class or none give a model without support vectors, as in LIBSVM, instead of a
                    * failure */
    uint64_t seed; /* seed of the permutation that cuts folds */
    void (*on_event)(void *arg, const tutti_svm_event *event); /* called on every rank; may be NULL */
    void *arg;
    /* Checkpoint file, from which an interrupted training can continue; NULL: none. Rank 0 writes it at the beginning
     * and every checkpoint_s seconds, after the round that is then running. If the file exists at the beginning and has
     * the same data and options, training continues from it, with any number of ranks and to the same bits; else it is
     * refused (TUTTI_ERR_DATA). The caller removes it once the model is saved. Cross validations write none. */
    const char *checkpoint;
    double checkpoint_s;
    volatile const int
        *stop; /* if any rank sets *stop to nonzero, a checkpoint is written and training ends with TUTTI_ERR_FAILED;
                * may be NULL */
} tutti_svm_config;

/* Returns LIBSVM's defaults. */
tutti_svm_config tutti_svm_config_default(void);

typedef struct {
    int64_t iterations;
    double objective, rho, nu; /* value of the dual objective; rho; nu: sum of alpha / (C * number of samples), as
                                * LIBSVM prints it, -1: the classes have different costs */
    int64_t nsv, nbsv;
    double gap; /* gap over all samples. A gap that is not below eps means that iterations or digits ran out first,
                 * which deserves a warning */
} tutti_svm_pair_result;

typedef struct {
    int npairs;
    tutti_svm_pair_result *pair; /* npairs results, one for each pair of classes, in the order of rho */
} tutti_svm_summary;
void tutti_svm_summary_release(tutti_svm_summary *summary);

/* Collective. Trains one model for each pair of classes (one-vs-one), with labels in the order of their first
 * appearance. Rank 0 gets the model (elsewhere *model is empty), all ranks get the summary. Failures are the same on
 * all ranks. */
tutti_status tutti_svm_train(tutti_comm *comm, const tutti_svm_data *data, const tutti_svm_config *config,
                             tutti_svm_model *model, tutti_svm_summary *summary, tutti_failure *err);
/* Collective. predicted[data->nrows] gets the predicted label of each own row when its fold was left out. 2 <= nfolds
 * <= data->total. Each fold has the same share of each class; with nfolds = total each sample is left out alone. */
tutti_status tutti_svm_cross_validate(tutti_comm *comm, const tutti_svm_data *data, const tutti_svm_config *config,
                                      int nfolds, double *predicted, tutti_failure *err);

/* --- prediction --- */

/* Predicts each row of data: label[nrows]; decisions (may be NULL): [nrows][npairs]; probabilities (may be NULL; the
 * model must have prob_a): [nrows][nclasses]. With probabilities, label is the one with the largest, as in LIBSVM.
 * Computes in f64. */
tutti_status tutti_svm_predict(const tutti_svm_model *model, const tutti_svm_data *data, int nthreads, double *label,
                               double *decisions, double *probabilities, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
