/* SPDX-License-Identifier: Apache-2.0 */
/* svm_report.h: reports on a training from its trace, which svm-train writes. Threads: one at a time. */
#ifndef TUTTI_SVM_REPORT_H
#define TUTTI_SVM_REPORT_H

#include "../base/text/strbuf.h"
#include "svm_trace.h"

/* Reads the JSON lines at `path`; adds a summary to text, and a picture of active samples and gap over time to svg.
 * TUTTI_ERR_DATA if the file is not such a trace. */
tutti_status tutti_svm_trace_report(const char *path, tutti_strbuf *text, tutti_strbuf *svg, tutti_failure *err);

#endif
