/* SPDX-License-Identifier: Apache-2.0 */
/* predictions.h: writes the answers for all samples of a set to a file: CSV, JSON lines, or NumPy's array format.
 * Threads: one at a time. */
#ifndef TUTTI_PREDICTIONS_H
#define TUTTI_PREDICTIONS_H

#include "../../../base/text/strbuf.h"
#include "../train.h"

typedef struct tutti_predictions_form tutti_predictions_form;
typedef struct {
    const tutti_predictions_form *form;
    tutti_strbuf bytes;
} tutti_predictions;

/* Finds the form that the path's ending names; TUTTI_ERR_USAGE if there is none. */
tutti_status tutti_predictions_find(const char *path, const tutti_predictions_form **out, tutti_failure *err);
/* Begins an empty file for `nsamples` samples, in memory; TUTTI_ERR_FAILED if it would not fit. */
tutti_status tutti_predictions_begin(const tutti_predictions_form *form, int64_t nsamples, int nclasses,
                                     tutti_predictions *out, tutti_failure *err);
void tutti_predictions_add(tutti_predictions *p, const tutti_answer *answer);
tutti_status tutti_predictions_write(const tutti_predictions *p, const char *path, tutti_failure *err);
void tutti_predictions_release(tutti_predictions *p);

#endif
