/* SPDX-License-Identifier: Apache-2.0 */
/* confusion.h: which class was taken for which: accuracy by class and the confusion matrix, as text and as a picture. Where classes are
 * many, the worst are shown. Threads: owner. */
#ifndef TUTTI_CONFUSION_H
#define TUTTI_CONFUSION_H

#include <stdint.h>

#include "../../base/text/strbuf.h"

/* So many classes are shown all; of more the worst few. */
enum { TUTTI_CONFUSION_ALL = 50, TUTTI_CONFUSION_WORST = 20 };

typedef struct {
    int nclasses;
    const char *const *name; /* of the first nnames classes; may be NULL */
    int nnames;
    int64_t *seen, *right; /* a class, by labels; the caller's, zero at first */
    int64_t *count;        /* nclasses x nclasses, labels by predictions; NULL = accuracy by class alone */
} tutti_confusion;

void tutti_confusion_add(tutti_confusion *c, int label, int predicted);
/* A line a class, the worst first; classes of no samples are left out, in a line that says so. */
void tutti_confusion_accuracy(const tutti_confusion *c, tutti_strbuf *out);
/* Rows are labels, columns predictions; of many classes those of the most frequent mistakes, and a column for all others. */
void tutti_confusion_text(const tutti_confusion *c, tutti_strbuf *out);
void tutti_confusion_svg(const tutti_confusion *c, tutti_strbuf *out);

#endif
