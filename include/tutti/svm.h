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
 * Threads: owner, like the communicator; data and models are frozen once made. */
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

/* A block of rows of a set, in compressed rows. Row i holds entries start[i] .. start[i + 1] - 1; indices ascend
 * strictly and are >= 0. Rows of a precomputed kernel begin with 0:number; to the other kernels 0 is an index like any
 * other. */
typedef struct {
    int64_t nrows;  /* here, within int32 */
    int64_t first;  /* number of our first row in the whole set, from 0 */
    int64_t total;  /* rows of the whole set */
    int32_t width;  /* largest index of the whole set (all ranks), 0 if there is none */
    int64_t *start; /* [nrows + 1] */
    int32_t *index; /* [start[nrows]] */
    double *value;  /* [start[nrows]] */
    double *label;  /* [nrows] */
} tutti_svm_data;

typedef struct {
    bool lenient; /* LIBSVM's ways: labels that are cut to integers, trailing blank lines, empty files and one class are
                         accepted; in test data NaN and infinities too */
    bool precomputed; /* 0:number is wanted in front of every row */
    bool unlabelled;  /* test data: a label that is no whole number is no failure */
} tutti_svm_reading;

/* Collective (comm NULL: alone, the whole file): each rank reads its range of bytes, moved to the next line begin.
 * TUTTI_ERR_DATA names file and line, on every rank the same (the first bad line of the file). */
tutti_status tutti_svm_data_read(tutti_comm *comm, const char *path, const tutti_svm_reading *how, tutti_svm_data *out,
                                 tutti_failure *err);
/* The same of a text in memory, alone. name: for failures. */
tutti_status tutti_svm_data_parse(const char *name, const char *text, size_t nbytes, const tutti_svm_reading *how,
                                  tutti_svm_data *out, tutti_failure *err);
void tutti_svm_data_release(tutti_svm_data *data);

/* --- kernels --- */

typedef enum {
    TUTTI_SVM_LINEAR,      /* u'v */
    TUTTI_SVM_POLY,        /* (gamma u'v + coef0)^degree */
    TUTTI_SVM_RBF,         /* exp(-gamma |u - v|^2) */
    TUTTI_SVM_SIGMOID,     /* tanh(gamma u'v + coef0) */
    TUTTI_SVM_PRECOMPUTED, /* entry number(v) of row u */
    TUTTI_SVM_NKERNELS
} tutti_svm_kernel_type;
const char *tutti_svm_kernel_name(tutti_svm_kernel_type t); /* "rbf", as model files have it */

typedef struct {
    tutti_svm_kernel_type type;
    int degree;
    double gamma, coef0; /* gamma 0: 1 / width of the data (LIBSVM's default) */
} tutti_svm_kernel;

/* A bound on the error of f64 values of an rbf or sigmoid kernel, which lie within 1, for these rows (this rank's
 * alone). It grows with gamma and the squared length of the longest row: a column that lies far from 0, such as a time
 * stamp, cancels in |u - v|^2. A model of values that are off by 1e-3 or more is of no use. Other kernels: 0. Cost: one
 * pass over the rows. Threads: any. */
double tutti_svm_kernel_error(const tutti_svm_kernel *kernel, const tutti_svm_data *data);

/* --- models --- */

typedef struct {
    tutti_svm_kernel kernel;
    int nclasses;
    int64_t nsv;
    int32_t *label;          /* [nclasses] */
    int64_t *nsv_of;         /* [nclasses]; support vectors lie class by class */
    double *rho;             /* [nclasses (nclasses - 1) / 2], pairs (0,1) (0,2) .. (1,2) .. */
    double *prob_a, *prob_b; /* as rho, or NULL */
    double *coef;            /* [nclasses - 1][nsv]: y alpha, in LIBSVM's arrangement */
    tutti_svm_data sv;       /* nrows = nsv; labels are not used */
} tutti_svm_model;

/* LIBSVM's text, read back by it; written to a temporary name, fsync, rename. */
tutti_status tutti_svm_model_write(const tutti_svm_model *model, const char *path, tutti_failure *err);
/* Whole or refused: TUTTI_ERR_DATA names file and line of what is missing, truncated or does not fit together. lenient:
 * LIBSVM's ways (what is truncated is taken as far as it goes). svm types other than c_svc are refused by name. */
tutti_status tutti_svm_model_read(const char *path, bool lenient, tutti_svm_model *out, tutti_failure *err);
tutti_status tutti_svm_model_parse(const char *name, const char *text, size_t nbytes, bool lenient,
                                   tutti_svm_model *out, tutti_failure *err);
void tutti_svm_model_release(tutti_svm_model *model);

/* --- training --- */

/* What the time of rounds is spent on. */
typedef enum {
    TUTTI_SVM_CHOOSING,    /* violators among own samples, and who joins the working set */
    TUTTI_SVM_MOVING,      /* collectives, waiting for other ranks included; rows in and out of their messages */
    TUTTI_SVM_ALIKE,       /* what every rank does the same: kernel matrix and pairs of the set, rows laid into lanes */
    TUTTI_SVM_UPDATING,    /* gradients of own active samples */
    TUTTI_SVM_ELIMINATING, /* samples are dropped, their gradients made anew */
    TUTTI_SVM_OTHER,       /* the beginning, events, checkpoints */
    TUTTI_SVM_NWORKS
} tutti_svm_work;
const char *tutti_svm_work_name(tutti_svm_work work); /* "choosing" */

/* What happened in one round, for progress and traces. All of the subproblem over all ranks, but for what is said to be
 * this rank's. */
typedef struct {
    int pair, npairs;        /* which subproblem of how many (folds of a cross validation count) */
    int64_t round;           /* working sets so far, in this subproblem */
    int64_t iterations;      /* pairs of samples optimised so far */
    double gap;              /* b_low - b_up over the active samples */
    int64_t samples, active; /* of the subproblem */
    int64_t eliminated;      /* dropped so far, counting a sample each time */
    int64_t reconstructed;   /* gradients made anew so far */
    int64_t kernel_rows;     /* rows of the kernel matrix computed (over the active samples) */
    int64_t cached_rows;     /* rows found in the cache */
    double seconds;          /* since training began */
    int block;               /* samples of a working set at most */
    int64_t
        row_bytes; /* of rows that every rank needs: new members, and where gradients are made anew. They travel where
                    * there are more ranks than one */
    double spent_s[TUTTI_SVM_NWORKS]; /* of this rank, in this subproblem; the sum is its wall time */
    int64_t collectives, bytes; /* of this rank, in this subproblem; bytes of their results. One rank alone has none */
    bool over;                  /* the subproblem is solved: its last event */
    int stop; /* the largest *stop of all ranks; not 0: the state is saved, and this is the last event */
} tutti_svm_event;

typedef struct {
    const char *name; /* "multi,samples:5%" */
    enum { TUTTI_SVM_KEEP_ALL, TUTTI_SVM_SINGLE, TUTTI_SVM_MULTI } kind;
    int64_t iterations; /* first elimination after so many; 0: by share */
    double share;       /* ... or after this share of the samples, 0 < share <= 1 */
} tutti_svm_elimination;

/* The heuristics from the earliest to the laziest, "none" last; n of them. */
const tutti_svm_elimination *tutti_svm_eliminations(int *n);
/* kind: "none", "single", "multi", NULL = the default's; threshold: "random:N", "samples:P%", NULL = the default's. Any
 * N >= 1 and 0 < P <= 100 will do. */
tutti_status tutti_svm_elimination_parse(const char *kind, const char *threshold, tutti_svm_elimination *out,
                                         tutti_failure *err);

typedef enum { TUTTI_SVM_AUTO, TUTTI_SVM_F32, TUTTI_SVM_F64 } tutti_svm_precision;

typedef struct {
    tutti_svm_kernel kernel;
    double cost;  /* C > 0 */
    double eps;   /* stop at a gap below; > 0 */
    int nweights; /* cost of class weight_label[i] is cost * weight[i] */
    const int32_t *weight_label;
    const double *weight;
    double cache_mb;  /* for rows of the kernel matrix, on each rank */
    bool probability; /* estimate prob_a, prob_b by a cross validation of five folds */
    tutti_svm_elimination elimination;
    tutti_svm_precision precision; /* of kernel values; auto: f64 when eps or the data want it */
    int block;                     /* samples of a working set, even, >= 2; 0: 1024 */
    int nthreads;                  /* of this rank, >= 1 */
    bool lenient;  /* data of one class or none give a model without support vectors, as LIBSVM has it, instead of a
                  * failure */
    uint64_t seed; /* of the folds' permutation */
    void (*on_event)(void *arg, const tutti_svm_event *event); /* on every rank, may be NULL */
    void *arg;
    /* A long training survives: rank 0 writes this file (NULL: none) at the beginning and every checkpoint_s seconds,
     * or after the round that is then running; where it is there at the beginning and belongs to the same data and
     * options, training goes on from it, with any number of ranks and to the same bits; else it is refused
     * (TUTTI_ERR_DATA). Who has the model safe removes it. Not of a cross validation. */
    const char *checkpoint;
    double checkpoint_s;
    volatile const int
        *stop; /* set to nonzero on any rank: a checkpoint is written and training ends with TUTTI_ERR_FAILED; may be
               * NULL */
} tutti_svm_config;

/* LIBSVM's defaults. */
tutti_svm_config tutti_svm_config_default(void);

typedef struct {
    int64_t iterations;
    double objective, rho, nu; /* nu: sum of alpha / (C l), LIBSVM's figure; -1: the classes' costs differ */
    int64_t nsv, nbsv;
    double gap; /* over all samples. Not below eps: iterations or digits ran out first, which is worth a warning */
} tutti_svm_pair_result;

typedef struct {
    int npairs;
    tutti_svm_pair_result *pair; /* [npairs], in the order of rho */
} tutti_svm_summary;
void tutti_svm_summary_release(tutti_svm_summary *summary);

/* Collective. One-vs-one, labels in the order of their first appearance. The model comes to rank 0 (elsewhere *model is
 * empty), the summary to all. Failures are the same on all ranks. */
tutti_status tutti_svm_train(tutti_comm *comm, const tutti_svm_data *data, const tutti_svm_config *config,
                             tutti_svm_model *model, tutti_svm_summary *summary, tutti_failure *err);
/* Collective. Predicted label of each own row when its fold was left out; predicted[data->nrows]. Folds have the same
 * share of each class, but for as many folds as samples, 2 <= nfolds <= data->total: then each sample is left out
 * alone. */
tutti_status tutti_svm_cross_validate(tutti_comm *comm, const tutti_svm_data *data, const tutti_svm_config *config,
                                      int nfolds, double *predicted, tutti_failure *err);

/* --- prediction --- */

/* For each row of data: label[nrows]; decisions (may be NULL): [nrows][npairs]; probabilities (may be NULL; the model
 * must have prob_a): [nrows][nclasses], and then label is that of the largest, as LIBSVM has it. In f64. */
tutti_status tutti_svm_predict(const tutti_svm_model *model, const tutti_svm_data *data, int nthreads, double *label,
                               double *decisions, double *probabilities, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
