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
#include "method.h"

static void apply_plain(float decay, float lr, float unscale, float *restrict w, const float *restrict sum, int64_t n)
{
    for (int64_t i = 0; i < n; i++) w[i] -= lr * (unscale * sum[i] + decay * w[i]);
}

static void apply_momentum(float decay, float mu, float lr, float unscale, float *restrict w, float *restrict v,
                           const float *restrict sum, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        v[i] = mu * v[i] + (unscale * sum[i] + decay * w[i]);
        w[i] -= lr * v[i];
    }
}

static void apply_nesterov(float decay, float mu, float lr, float unscale, float *restrict w, float *restrict v,
                           const float *restrict sum, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float g = unscale * sum[i] + decay * w[i];
        v[i] = mu * v[i] + g;
        w[i] -= lr * (g + mu * v[i]);
    }
}

void tutti_update_apply(const tutti_update *u, tutti_param_kind kind, float lr, float unscale, float *w, float *v,
                        const float *sum, int64_t n)
{
    const float decay = kind == TUTTI_PARAM_WEIGHT ? (float)u->weight_decay : 0, mu = (float)u->momentum;
    switch (u->rule) {
    case TUTTI_RULE_SGD: apply_plain(decay, lr, unscale, w, sum, n); break;
    case TUTTI_RULE_MOMENTUM: apply_momentum(decay, mu, lr, unscale, w, v, sum, n); break;
    case TUTTI_RULE_NESTEROV: apply_nesterov(decay, mu, lr, unscale, w, v, sum, n); break;
    }
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
