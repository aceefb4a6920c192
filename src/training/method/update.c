/* SPDX-License-Identifier: Apache-2.0 */
/* update.c: picks a rule's loop and hands it a slice.
 *
 * Invariant: each element is computed by the same multiplications and additions in the same order wherever a slice begins
 * (the build forbids contraction into fused multiply-adds), so cutting a vector into slices in another way, that is, another
 * rank count, gives the same bits. */
#include <string.h>

#include "../../tensor/elementwise.h"
#include "rule.h"

static const tutti_rule_loop *loop_here(const tutti_rule_row *rule)
{
    for (int i = 0; i < rule->nloops; i++)
        if (strcmp(rule->loops[i].isa, tutti_elementwise_isa()) == 0) return &rule->loops[i];
    return &rule->loops[rule->nloops - 1];
}

void tutti_update_apply(const tutti_update *u, const tutti_update_step *s, tutti_param_kind kind,
                        const tutti_update_slice *slice)
{
    float numbers[TUTTI_RULE_MAX_NUMBERS] = {0};
    u->rule->prepare(u, s, kind == TUTTI_PARAM_WEIGHT ? u->weight_decay : 0, numbers);
    loop_here(u->rule)->apply(numbers, slice);
}

/* A momentum of 1 takes nothing of the old value, not even a NaN times 0. */
void tutti_update_statistic(double momentum, int nslots, float *w, const float *sum, int64_t n)
{
    const float keep = (float)(1 - momentum), take = (float)momentum, slots = (float)nslots;
    if (momentum == 1)
        for (int64_t i = 0; i < n; i++) w[i] = sum[i] / slots;
    else
        for (int64_t i = 0; i < n; i++) w[i] = keep * w[i] + take * (sum[i] / slots);
}
