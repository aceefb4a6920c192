/* SPDX-License-Identifier: Apache-2.0 */
/* advice.c: picks the best of several predictions. */
#include "advice.h"

#include <math.h>

int tutti_advice_useful(const tutti_prediction *predicted, int n)
{
    int useful = 0;
    for (int i = 0; i < n; i++) {
        const tutti_prediction *p = &predicted[i];
        bool faster = p->efficiency >= 0.5;
        for (int k = 0; k < n; k++)
            faster &= predicted[k].nranks >= p->nranks || predicted[k].samples_per_s < p->samples_per_s;
        if (faster && p->nranks > useful) useful = p->nranks;
    }
    return useful;
}

int tutti_advice_best(const tutti_alternative *list, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        if (list[i].can) most = fmax(most, list[i].samples_per_s);
    for (int i = 0; i < n; i++)
        if (list[i].can && list[i].samples_per_s >= most * (1 - 1e-3)) return i;
    return -1;
}

tutti_status tutti_advice_least(tutti_advice_holds *ask, void *arg, int64_t lo, int64_t hi, int64_t *out,
                                tutti_failure *err)
{
    int64_t end = hi + 1; /* the least x for which `holds` is known to be true */
    tutti_status st = TUTTI_OK;
    while (lo < end && !st) {
        const int64_t middle = lo + (end - lo) / 2;
        bool holds = false;
        st = ask(arg, middle, &holds, err);
        if (holds)
            end = middle;
        else
            lo = middle + 1;
    }
    *out = end;
    return st;
}
