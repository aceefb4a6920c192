/* SPDX-License-Identifier: Apache-2.0 */
/* svm_model_impl.h: prints and parses a model as text in memory. Threads: any. */
#ifndef TUTTI_SVM_MODEL_IMPL_H
#define TUTTI_SVM_MODEL_IMPL_H

#include <stddef.h>

#include "tutti/svm.h"

/* Prints a model as LIBSVM does; the caller frees the text. Numbers have a point in every locale. */
char *tutti_svm_model_print(const tutti_svm_model *model, size_t *nbytes);

#endif
