/* SPDX-License-Identifier: Apache-2.0 */
/* confusion_impl.h: declarations that tables and picture of the confusion matrix share: which classes are shown, and
 * their names. */
#ifndef TUTTI_CONFUSION_IMPL_H
#define TUTTI_CONFUSION_IMPL_H

#include <stdbool.h>

#include "chart.h"

typedef struct {
    bool all; /* true if all classes are shown; false: a last column counts the predictions of all other classes */
    int n, class_number[TUTTI_CONFUSION_ALL];
} tutti_confusion_shown;

void tutti_confusion_choose(const tutti_confusion *c, tutti_confusion_shown *out);
/* Returns the samples with this label that were predicted as a class that is not shown. */
int64_t tutti_confusion_others(const tutti_confusion *c, const tutti_confusion_shown *shown, int label);
/* Appends "7 truck", or "7". */
void tutti_confusion_name(const tutti_confusion *c, int class_number, tutti_strbuf *out);

#endif
