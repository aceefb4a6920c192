/* SPDX-License-Identifier: Apache-2.0 */
/* svm_data_impl.h: what the files of the reader share: lines to rows, and the verdict over all parts of a file.
 *
 * A rank scans the lines of its part, one after the other, until one is bad. Line numbers count within the part, from
 * 1; only the parts before say what they are in the file. A line that begins with '#' is a comment, as scikit-learn
 * writes them, and has no row. An empty line is bad if a row comes after it, in this part or a later one: until then it
 * is pending.
 *
 * Threads: owner. */
#ifndef TUTTI_SVM_DATA_IMPL_H
#define TUTTI_SVM_DATA_IMPL_H

#include "svm_text.h"

typedef struct {
    const tutti_svm_reading *how;
    tutti_svm_growing rows;
    int64_t lines; /* seen */
    int64_t blank; /* the first empty line with no row after it so far, 0: none */
    int64_t bad;   /* the line that was refused, 0: none */
} tutti_svm_scan;  /* zero-initialise but for how */

/* One line of nbytes, its '\n' included. */
tutti_status tutti_svm_scan_line(tutti_svm_scan *scan, const char *line, int64_t nbytes, tutti_failure *err);

/* What a part has to say to the others. Travels as bytes. */
typedef struct {
    int64_t status, lines, rows, blank, bad, width;
    int64_t file_bytes; /* of the file as this rank sees it */
    char words[sizeof((tutti_failure *)0)->text];
} tutti_svm_report;

/* st, err: how scanning ended. */
tutti_svm_report tutti_svm_report_of(const tutti_svm_scan *scan, tutti_status st, const tutti_failure *err);
/* Collective (comm NULL: alone): hands out the rows of the scan, or releases them and says on every rank what is the
 * first thing wrong in the file. */
tutti_status tutti_svm_data_agree(tutti_comm *comm, const char *name, tutti_svm_scan *scan, tutti_svm_report *own,
                                  tutti_svm_data *out, tutti_failure *err);

#endif
