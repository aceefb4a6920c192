/* SPDX-License-Identifier: Apache-2.0 */
/* rule_impl.h: keys that rules share, and the numbers of PyTorch's SGD. */
#ifndef TUTTI_RULE_IMPL_H
#define TUTTI_RULE_IMPL_H

#include "../../tensor/relaxed.h"
#include "rule.h"

extern const tutti_rule_key tutti_rule_key_momentum;                                        /* rule_momentum.c */
extern const tutti_rule_key tutti_rule_key_beta1, tutti_rule_key_beta2, tutti_rule_key_eps; /* rule_adamw.c */

/* base^n by squaring: the same bits with any C library. */
static inline double tutti_rule_power(double base, int64_t n)
{
    double p = 1;
    for (; n; n /= 2, base *= base)
        if (n % 2) p *= base;
    return p;
}

/* sgd, momentum and nesterov: g = unscale * sum + decay * w (weights only; biases and batch norm's scale and shift are not decayed). */
enum { TUTTI_SGD_UNSCALE, TUTTI_SGD_DECAY, TUTTI_SGD_LR, TUTTI_SGD_MU };
void tutti_rule_prepare_sgd(const tutti_update *u, const tutti_update_step *s, double decay, float *k);

static inline float tutti_rule_sgd_gradient(const float *k, float w, float sum)
{
    return k[TUTTI_SGD_UNSCALE] * sum + k[TUTTI_SGD_DECAY] * w;
}

#endif
