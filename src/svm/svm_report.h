/* SPDX-License-Identifier: Apache-2.0 */
/* report_svm.h: `tutti report FILE` of a trace of svm-train. Threads: owner. */
#ifndef TUTTI_CLI_REPORT_SVM_H
#define TUTTI_CLI_REPORT_SVM_H

#include "tutti/failure.h"

/* Reads the JSON lines at `path`, draws active samples and gap over time as SVG at `picture` (NULL: path with .svg for .jsonl), prints
 * a summary. TUTTI_ERR_DATA: not such a trace. */
tutti_status tutti_report_svm(const char *path, const char *picture, tutti_failure *err);

#endif
