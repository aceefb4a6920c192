/* SPDX-License-Identifier: Apache-2.0 */
/* advice.h: picks the best of several given predictions. Threads: any (pure functions). */
#ifndef TUTTI_ADVICE_H
#define TUTTI_ADVICE_H

#include "tutti/predict.h"

/* Returns the largest useful rank count: every smaller one trains fewer samples a second, and its efficiency is at
 * least 50 %. 0 if there is none. */
int tutti_advice_useful(const tutti_prediction *predicted, int n);

/* One of several values of a key, and what was predicted with it. */
typedef struct {
    const char *value; /* the value of the key */
    bool can;
    double samples_per_s, step_s; /* predicted samples a second, and seconds of a step; set only if the value is
                                   * possible */
    char refusal[200];            /* why the value is impossible; set only in that case */
} tutti_alternative;
/* Returns the index of the alternative with the most samples a second, or of the first within a thousandth of it; -1 if
 * none is possible. */
int tutti_advice_best(const tutti_alternative *list, int n);

/* Finds the least whole x in lo .. hi for which `holds` is true, if it is true for all larger x, too; hi + 1 if it
 * holds for none. Asks about log2(hi - lo) times; the first failure ends the search. */
typedef tutti_status tutti_advice_holds(void *arg, int64_t x, bool *holds, tutti_failure *err);
tutti_status tutti_advice_least(tutti_advice_holds *ask, void *arg, int64_t lo, int64_t hi, int64_t *out,
                                tutti_failure *err);

#endif
