/* SPDX-License-Identifier: Apache-2.0 */
/* update.c: the local rules, after PyTorch's torch.optim.SGD (dampening 0):
 *
 *   g = unscale * sum + decay * w     (weights only; biases and batch norm's scale and shift are not decayed)
 *   v = mu * v + g          w = w - lr * v               momentum
 *                           w = w - lr * (g + mu * v)    nesterov
 *
 * Invariant: each element is computed by the same multiplications and additions in the same order wherever a slice begins
 * (the build forbids contraction into fused multiply-adds), so cutting a vector into slices in another way, that is, another
 * rank count, gives the same bits. */
#include <string.h>

#include "../../tensor/elementwise.h"
#include "update_impl.h"

static const tutti_update_row *row_here(void)
{
    for (int i = 0; i < tutti_update_nrows; i++)
        if (strcmp(tutti_update_rows[i]->name, tutti_elementwise_isa()) == 0) return tutti_update_rows[i];
    return tutti_update_rows[tutti_update_nrows - 1];
}

void tutti_update_apply(const tutti_update *u, tutti_param_kind kind, float lr, float unscale, float *w, float *v,
                        const float *sum, int64_t n)
{
    row_here()->apply(&(tutti_update_call){.rule = u->rule,
                                           .decay = kind == TUTTI_PARAM_WEIGHT ? (float)u->weight_decay : 0,
                                           .mu = (float)u->momentum,
                                           .lr = lr,
                                           .unscale = unscale,
                                           .w = w,
                                           .v = v,
                                           .sum = sum,
                                           .n = n});
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
