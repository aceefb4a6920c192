/* SPDX-License-Identifier: Apache-2.0 */
/* predict_svm.h: `tutti predict TRACE` of svm-train: a training of an SVM on more ranks. Threads: owner. */
#ifndef TUTTI_CLI_PREDICT_SVM_H
#define TUTTI_CLI_PREDICT_SVM_H

#include "../cli.h"

/* f: the flags of `tutti predict`, of which those about jobs are refused; f->rest[0]: the trace. */
tutti_status tutti_predict_svm(const tutti_flags *f, tutti_failure *err);

#endif
