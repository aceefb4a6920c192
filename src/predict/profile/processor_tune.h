/* SPDX-License-Identifier: Apache-2.0 */
/* processor_tune.h: fits a processor model to kernels of this machine, or compares it with them. Takes minutes and 1
 * GB. Threads: one at a time. */
#ifndef TUTTI_PROCESSOR_TUNE_H
#define TUTTI_PROCESSOR_TUNE_H

#include "processor_model.h"

typedef struct {
    const struct tutti_device *card;                 /* the card whose kernels are timed; NULL: this processor's, with
                                                      * one thread */
    const char *models;                              /* names of the networks to measure, "M,M"; NULL means all */
    void (*tell)(bool is_result, const char *words); /* gets a line of text: a result of a check, or the name of the
                                                      * work that begins */
} tutti_processor_model_tuning;

/* Adds the lines that tutti_processor_model_fit finds. cache_bytes: size of the last level of cache. */
tutti_status tutti_processor_model_tune(const tutti_processor_model_tuning *t, double cache_bytes, tutti_strbuf *out,
                                        tutti_failure *err);
/* Reports the errors of d for each shipped network and for all. kernels: a line of CSV for each kernel, measured and
 * predicted. */
tutti_status tutti_processor_model_check(const tutti_processor_model_tuning *t, const tutti_processor_model *d,
                                         tutti_strbuf *kernels, tutti_failure *err);

#endif
