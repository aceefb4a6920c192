/* SPDX-License-Identifier: Apache-2.0 */
/* svm_flags.h: the flags of svm-train and svm-predict: LIBSVM's letters ("-c 1", "-w-1 2.5"), and long ones of ours.
 * Threads: owner. */
#ifndef TUTTI_CLI_SVM_FLAGS_H
#define TUTTI_CLI_SVM_FLAGS_H

#include "../cli.h"
#include "tutti/svm.h"

enum { TUTTI_SVM_MOST_WEIGHTS = 1024 };

typedef struct {
    char letter;
    const char *argument; /* NULL = switch */
    const char *help;
} tutti_svm_letter;

/* What the command line said: letters in the order in which they stood, long flags parsed by their table. */
typedef struct {
    int n;
    struct {
        char letter;
        const char *suffix; /* "-1" of -w-1 */
        const char *value;
    } given[TUTTI_SVM_MOST_WEIGHTS];
    tutti_flags long_ones; /* and what is no flag: rest */
} tutti_svm_words;

/* -- NAME flags go by the table `flags`; letters by `letters`; an unknown one is TUTTI_ERR_USAGE. */
tutti_status tutti_svm_words_split(int argc, char **argv, const tutti_svm_letter *letters, int nletters,
                                   const tutti_flag *flags, int nflags, tutti_svm_words *out, tutti_failure *err);
void tutti_svm_words_help(const char *usage, const char *about, const tutti_svm_letter *letters, int nletters,
                          const tutti_flag *flags, int nflags);
/* A number of a letter; TUTTI_ERR_USAGE names the letter. */
tutti_status tutti_svm_letter_real(char letter, const char *text, double *out, tutti_failure *err);
tutti_status tutti_svm_letter_whole(char letter, const char *text, long lo, long hi, long *out, tutti_failure *err);
/* --threads; 0: not given. */
tutti_status tutti_svm_threads(const tutti_flags *f, int *out, tutti_failure *err);
/* For each rank, where nothing was said: its share of the cores that the ranks of a machine have together, no more than
 * it may use itself; 1 at least. */
int tutti_svm_threads_share(int nranks, int ncores);

/* A warning on stderr where kernel values are off by `error` (tutti_svm_kernel_error), and that is too much. */
void tutti_svm_warn_of_cancelling(const char *command, double error);

/* All that svm-train was asked for. */
typedef struct {
    tutti_svm_config config;
    tutti_svm_reading reading;
    int nfolds;         /* 0: train a model */
    int nranks, ncores; /* ncores 0: nothing was said */
    bool quiet, progress, help;
    const char *data, *model, *trace; /* trace may be NULL */
    char model_name[4096];            /* of LIBSVM's default */
    int32_t weight_label[TUTTI_SVM_MOST_WEIGHTS];
    double weight[TUTTI_SVM_MOST_WEIGHTS];
} tutti_svm_order;

/* out->config points into *out: it must not move. */
tutti_status tutti_svm_order_read(int argc, char **argv, tutti_svm_order *out, tutti_failure *err);

#endif
