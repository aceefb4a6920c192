/* SPDX-License-Identifier: Apache-2.0 */
/* svm_text.h: reads numbers and rows of index:value, as LIBSVM's data and model files have them.
 *
 * All functions read from a pointer into a line that ends in '\n', and never past the '\n'. Their messages name no file
 * and line; the caller adds these.
 *
 * Threads: one at a time. */
#ifndef TUTTI_SVM_TEXT_H
#define TUTTI_SVM_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/svm.h"

/* Reads the number at p, with the bits that strtod gives in the C locale (so nan, inf and 0x1p3 are numbers). Returns
 * where it ends, or NULL if there is none at p. Blanks are not skipped. Cost: some nanoseconds for up to 19 digits and
 * exponents within +-27. */
const char *tutti_svm_number(const char *p, double *out);
/* Reads a whole number within int32 at p, and returns where it ends. NULL if there is none or if it is out of range. */
const char *tutti_svm_whole(const char *p, int32_t *out);

static inline const char *tutti_svm_skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

/* True at the end of a line: '\n' or "\r\n". */
static inline bool tutti_svm_at_end(const char *p)
{
    return *p == '\n' || (*p == '\r' && p[1] == '\n');
}

/* True where a word or number may end. */
static inline bool tutti_svm_at_gap(const char *p)
{
    return *p == ' ' || *p == '\t' || tutti_svm_at_end(p);
}

/* The word at p as failures quote it: up to 40 bytes, with '?' for a character that cannot be printed. */
typedef struct {
    char text[48];
} tutti_svm_word;
tutti_svm_word tutti_svm_word_at(const char *p);

/* Rows being built. data holds the finished rows; start[nrows] is where the current row begins; width is the width of
 * all rows so far. */
typedef struct {
    tutti_svm_data data;
    int64_t nentries; /* entries of finished rows and of the current row */
    int64_t row_room, entry_room;
} tutti_svm_growing; /* to be zero-initialised; released by tutti_svm_data_release(&data) */

/* Makes room for one more row that a line of nbytes can hold. TUTTI_ERR_FAILED if there is no memory. */
tutti_status tutti_svm_growing_reserve(tutti_svm_growing *g, int64_t nbytes, tutti_failure *err);
/* Adds the entries from p to the end of the line, or to a comment (" # ..."), to the current row, for which room was
 * reserved. After a failure, the row has the entries before the bad entry. */
tutti_status tutti_svm_growing_entries(tutti_svm_growing *g, const char *p, const tutti_svm_reading *how,
                                       tutti_failure *err);
void tutti_svm_growing_end_row(tutti_svm_growing *g, double label);
/* Hands the rows over, in arrays of just their size; g is empty afterwards. first and total of the result are set as if
 * these rows were the whole set. */
tutti_svm_data tutti_svm_growing_finish(tutti_svm_growing *g);

#endif
