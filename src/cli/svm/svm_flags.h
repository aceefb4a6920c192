/* SPDX-License-Identifier: Apache-2.0 */
/* svm_flags.h: the flags of svm-train and svm-predict: LIBSVM's letters ("-c 1", "-w-1 2.5"), and our long flags.
 * Threads: one at a time. */
#ifndef TUTTI_CLI_SVM_FLAGS_H
#define TUTTI_CLI_SVM_FLAGS_H

#include "../cli.h"
#include "tutti/svm.h"

enum { TUTTI_SVM_MOST_WEIGHTS = 1024 };

typedef struct {
    char letter;
    const char *argument; /* word for the letter's value; NULL = switch */
    const char *help;
} tutti_svm_letter;

/* The command line: letters in the order in which they were given, long flags parsed by their table. */
typedef struct {
    int n;
    struct {
        char letter;
        const char *suffix; /* text behind the letter: "-1" for -w-1 */
        const char *value;
    } given[TUTTI_SVM_MOST_WEIGHTS];
    tutti_flags long_ones; /* the long flags; `rest` has the arguments that are not flags */
} tutti_svm_words;

/* Splits the command line: --NAME flags by the table `flags`, letters by `letters`; an unknown flag is
 * TUTTI_ERR_USAGE. */
tutti_status tutti_svm_words_split(int argc, char **argv, const tutti_svm_letter *letters, int nletters,
                                   const tutti_flag *flags, int nflags, tutti_svm_words *out, tutti_failure *err);
void tutti_svm_words_help(const char *usage, const char *about, const tutti_svm_letter *letters, int nletters,
                          const tutti_flag *flags, int nflags);
/* Reads a number after a letter; TUTTI_ERR_USAGE names the letter. */
tutti_status tutti_svm_letter_real(char letter, const char *text, double *out, tutti_failure *err);
tutti_status tutti_svm_letter_whole(char letter, const char *text, long lo, long hi, long *out, tutti_failure *err);
/* Reads --threads; 0 = not given. */
tutti_status tutti_svm_threads(const tutti_flags *f, int *out, tutti_failure *err);
/* Returns the threads of each rank if the user asked for none: its share of the cores that the ranks of a machine have
 * together, at most the cores that it may use itself, at least 1. */
int tutti_svm_threads_share(int nranks, int ncores);

/* Prints a warning on stderr if kernel values are off by `error` (tutti_svm_kernel_error) and that is too much. */
void tutti_svm_warn_of_cancelling(const char *command, double error);

/* Everything that the command line of svm-train asks for. */
typedef struct {
    tutti_svm_config config;
    tutti_svm_reading reading;
    int nfolds;         /* number of folds of a cross-validation; 0 = train a model */
    int nranks, ncores; /* nranks: number of ranks; ncores: cores to use; 0 = not given */
    bool quiet, progress, help;
    const char *data, *model, *trace; /* paths of the data file, of the model file, and of the trace; trace NULL = no
                                       * trace */
    char model_name[4096];            /* memory of `model` if the user gave no name */
    int32_t weight_label[TUTTI_SVM_MOST_WEIGHTS];
    double weight[TUTTI_SVM_MOST_WEIGHTS];
} tutti_svm_order;

/* Reads the command line. out->config points into *out, so *out must not move. */
tutti_status tutti_svm_order_read(int argc, char **argv, tutti_svm_order *out, tutti_failure *err);

#endif
