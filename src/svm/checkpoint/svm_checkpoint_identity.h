/* SPDX-License-Identifier: Apache-2.0 */
/* svm_checkpoint_identity.h: the identity of a training: all that its result depends on, in lines "name: value", data
 * first. Ranks, threads, the cache, and where and how often checkpoints are saved do not belong to it. Threads:
 * owner. */
#ifndef TUTTI_SVM_CHECKPOINT_IDENTITY_H
#define TUTTI_SVM_CHECKPOINT_IDENTITY_H

#include "../../base/text/strbuf.h"
#include "../svm_training.h"

/* Collective. Writes the same text on all ranks, whatever their number. Cost: one pass over the data. */
tutti_status tutti_svm_identity(tutti_svm_training *t, const tutti_svm_classes *classes, tutti_strbuf *out,
                                tutti_failure *err);

#endif
