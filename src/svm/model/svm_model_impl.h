/* SPDX-License-Identifier: Apache-2.0 */
/* svm_model_impl.h: prints and parses a model as text in memory. Threads: shared. */
#ifndef TUTTI_SVM_MODEL_IMPL_H
#define TUTTI_SVM_MODEL_IMPL_H

#include <stddef.h>

#include "tutti/svm.h"

/* LIBSVM's bytes; the caller frees. Numbers have a point whatever the locale is. */
char *tutti_svm_model_print(const tutti_svm_model *model, size_t *nbytes);

#endif
