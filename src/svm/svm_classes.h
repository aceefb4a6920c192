/* SPDX-License-Identifier: Apache-2.0 */
/* svm_classes.h: the classes of a set, and which rows of this rank belong to which; the same classes in the same order
 * on all ranks. Threads: one at a time. */
#ifndef TUTTI_SVM_CLASSES_H
#define TUTTI_SVM_CLASSES_H

#include "tutti/svm.h"

typedef struct {
    int n;
    int32_t *label;  /* [n] labels in the order of first appearance in the set; if there are only -1 and +1, +1 comes
                      * first (LIBSVM's order) */
    int64_t *count;  /* [n] samples of each class over all ranks */
    int64_t *before; /* [n] samples of each class on lower ranks */
    int64_t *own;    /* [n] samples of each class on this rank */
    int32_t **row;   /* [n][own] rows of the data on this rank, ascending */
} tutti_svm_classes;

/* Collective. Finds the classes. Labels are cut to integers, as LIBSVM does. */
tutti_status tutti_svm_classes_find(tutti_comm *comm, const tutti_svm_data *data, tutti_svm_classes *out,
                                    tutti_failure *err);
void tutti_svm_classes_release(tutti_svm_classes *classes);
/* Collective. Fills in `count` and `before` from the `own` of all ranks. */
tutti_status tutti_svm_classes_count(tutti_comm *comm, tutti_svm_classes *classes, tutti_failure *err);
/* Returns the index of the pair (i, j) of classes, i < j, in LIBSVM's order of pairs: (0, 1), (0, 2), .., (1, 2), .. */
static inline int tutti_svm_pair_number(int i, int j, int nclasses)
{
    return i * nclasses - i * (i + 1) / 2 + j - i - 1;
}

#endif
