/* SPDX-License-Identifier: Apache-2.0 */
/* advice.h: picks the best of several predictions. What is compared was predicted; here it is only chosen from.
 * Threads: shared (pure). */
#ifndef TUTTI_ADVICE_H
#define TUTTI_ADVICE_H

#include "tutti/predict.h"

/* The largest rank count that is worth having: every smaller one of these trains fewer samples a second, and its
 * efficiency is 50 % or more; 0: none is. */
int tutti_advice_useful(const tutti_prediction *predicted, int n);

/* One way to do it. */
typedef struct {
    const char *value; /* of the key */
    bool can;
    double samples_per_s, step_s; /* where it can */
    char refusal[200];            /* where it cannot */
} tutti_alternative;
/* The one with the most samples a second; of those within a thousandth of it the first. -1: none can. */
int tutti_advice_best(const tutti_alternative *list, int n);

/* The least whole x of lo .. hi for which it holds, where it holds for all above too; hi + 1: it holds for none. Asks
 * about log2(hi - lo) times; the first failure ends it. */
typedef tutti_status tutti_advice_holds(void *arg, int64_t x, bool *holds, tutti_failure *err);
tutti_status tutti_advice_least(tutti_advice_holds *ask, void *arg, int64_t lo, int64_t hi, int64_t *out,
                                tutti_failure *err);

#endif
