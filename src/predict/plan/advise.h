/* SPDX-License-Identifier: Apache-2.0 */
/* advise.h: advice for a job: which algorithm, buckets, order, method, rank count and share of samples would be faster.
 * Each alternative is predicted. Threads: one at a time. */
#ifndef TUTTI_PREDICT_ADVISE_H
#define TUTTI_PREDICT_ADVISE_H

#include "../advice.h"
#include "planning_parts.h"

enum { TUTTI_ADVISE_MAX = 32, TUTTI_ADVISE_GROUPS = 7 };

/* A key of the job, and the values that were tried for it. */
typedef struct {
    const char *key; /* "exchange.algorithm" */
    bool learns;     /* true if another value of the key changes what the network learns; then the value is shown but
                      * not recommended */
    char with[96];   /* another override that this value needs; "" = none */
    tutti_alternative list[TUTTI_ADVISE_MAX];
    int n, best; /* number of values, and the index of the best; best is -1 if no value is possible */
} tutti_advised_key;

struct tutti_advised {
    int nranks;
    double step_s, samples_per_s; /* the prediction with the job's own values */
    tutti_advised_key keys[TUTTI_ADVISE_GROUPS];
    int nkeys;
    /* Overrides that are faster than the job's values, "exchange.order=priority". */
    char together[2 * TUTTI_ADVISE_GROUPS][96];
    int ntogether;
    double together_step_s, together_samples_per_s;
    int64_t samples; /* samples of a rank in a step */
    int64_t fewest;  /* the fewest samples of a rank with which it computes for half of a step; 0 if the most samples
                      * that were tried are not enough */
    int useful;      /* the largest useful rank count (advice.h) among those that were asked for */
};

/* Finds the advice for the last of the rank counts. Cost: one prediction for each alternative. */
tutti_status tutti_predict_advise(const tutti_predict_question *q, const tutti_predict_options *options,
                                  tutti_advised *out, tutti_failure *err);
void tutti_predict_add_advice(const tutti_advised *a, tutti_strbuf *out);
void tutti_predict_add_advice_json(const tutti_advised *a, tutti_strbuf *out);

#endif
