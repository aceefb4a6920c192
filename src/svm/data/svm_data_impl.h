/* SPDX-License-Identifier: Apache-2.0 */
/* svm_data_impl.h: declarations that the files of the reader share: turning lines into rows, and agreeing on the first
 * error over all parts of a file.
 *
 * A rank scans the lines of its part, one after the other, until one is bad. Line numbers count from 1 within the part;
 * the numbers of lines in the parts before give the line number in the file. A line that begins with '#' is a comment,
 * as scikit-learn writes them, and has no row. An empty line is bad if a row comes after it, in this part or a later
 * one: until then it is pending.
 *
 * Threads: one at a time. */
#ifndef TUTTI_SVM_DATA_IMPL_H
#define TUTTI_SVM_DATA_IMPL_H

#include "svm_text.h"

typedef struct {
    const tutti_svm_reading *how;
    tutti_svm_growing rows;
    int64_t lines; /* lines that were read */
    int64_t blank; /* the first empty line without a row after it; 0 if there is none */
    int64_t bad;   /* the line that was refused; 0 if there is none */
} tutti_svm_scan;  /* to be zero-initialised but for `how` */

/* Scans one line of nbytes, '\n' included. */
tutti_status tutti_svm_scan_line(tutti_svm_scan *scan, const char *line, int64_t nbytes, tutti_failure *err);

/* The report of a part to the other ranks. It travels as bytes. */
typedef struct {
    int64_t status, lines, rows, blank, bad, width;
    int64_t file_bytes; /* size of the file as this rank sees it */
    char words[sizeof((tutti_failure *)0)->text];
} tutti_svm_report;

/* Makes a report. st and err: how scanning ended. */
tutti_svm_report tutti_svm_report_of(const tutti_svm_scan *scan, tutti_status st, const tutti_failure *err);
/* Collective (comm NULL: one rank alone). Hands out the rows of the scan if no rank found an error. Otherwise releases
 * the rows and names the first error of the file on every rank. */
tutti_status tutti_svm_data_agree(tutti_comm *comm, const char *name, tutti_svm_scan *scan, tutti_svm_report *own,
                                  tutti_svm_data *out, tutti_failure *err);

#endif
