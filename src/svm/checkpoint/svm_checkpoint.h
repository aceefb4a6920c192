/* SPDX-License-Identifier: Apache-2.0 */
/* svm_checkpoint.h: checkpoints of a long SVM training: one file, from which any number of ranks goes on with the same
 * bits.
 *
 * Rank 0 keeps the file's image in memory: the identity of the training, and the problems solved so far. A save adds
 * the state of the problem that is being solved, ordered by the samples' numbers. It writes to a temporary name, calls
 * fsync and renames the file. If the configuration names no file, there is no checkpoint, and all functions of this
 * file return at once.
 *
 * Memory on rank 0: 8 bytes for each alpha of a solved problem; during a save, 16 bytes more for each sample of the
 * problem. Memory on all ranks while they resume: the size of the file.
 *
 * Threads: one at a time. */
#ifndef TUTTI_SVM_CHECKPOINT_H
#define TUTTI_SVM_CHECKPOINT_H

#include "../solve/svm_context.h"
#include "../svm_training.h"

/* Collective. Opens the checkpoint. If the file exists, it must belong to this data and these options. If not, it is
 * written now, so that a wrong path is found at once. */
tutti_status tutti_svm_checkpoint_open(tutti_svm_training *t, const tutti_svm_classes *classes, tutti_failure *err);
void tutti_svm_checkpoint_close(tutti_svm_context *context);

/* Collective. Solves a problem, or reads its solution from the file if the file has it. */
tutti_status tutti_svm_checkpoint_solve(tutti_svm_context *context, const tutti_svm_problem *problem, double *alpha,
                                        tutti_svm_pair_result *result, tutti_failure *err);
/* Called before and after the folds of a sigmoid. `begin` returns true if the file holds the sigmoid's a and b: then
 * the folds and `end` are left out. `end` saves them. */
bool tutti_svm_checkpoint_begin_sigmoid(tutti_svm_context *context, double *a, double *b);
void tutti_svm_checkpoint_end_sigmoid(tutti_svm_context *context, double a, double b);

/* Called between two rounds. Returns the wish of this rank: to stop (TUTTI_SVM_WISH_STOP - 1 + *stop), to save, or
 * nothing. */
int tutti_svm_checkpoint_wish(const tutti_svm_context *context);
/* Saves the state of the solver to the checkpoint file. Collective. */
tutti_status tutti_svm_checkpoint_save(tutti_svm_solver *s, tutti_failure *err);
/* Collective. Loads the state in the file into a problem that has just begun, if the state belongs to this problem. */
tutti_status tutti_svm_checkpoint_resume(tutti_svm_solver *s, tutti_failure *err);

#endif
