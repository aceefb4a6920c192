/* SPDX-License-Identifier: Apache-2.0 */
/* rule_impl.h: declarations that the rules share: keys, and the constants of PyTorch's SGD. */
#ifndef TUTTI_RULE_IMPL_H
#define TUTTI_RULE_IMPL_H

#include <math.h>

#include "../../../tensor/relaxed.h"
#include "rule.h"

/* defined in rule_momentum.c */
extern const tutti_rule_key tutti_rule_key_momentum;
/* defined in rule_adamw.c */
extern const tutti_rule_key tutti_rule_key_beta1, tutti_rule_key_beta2, tutti_rule_key_eps;

/* Computes base^n by squaring: the same bits with any C library. */
static inline double tutti_rule_power(double base, int64_t n)
{
    double p = 1;
    for (; n; n /= 2, base *= base)
        if (n % 2) p *= base;
    return p;
}

/* sgd, momentum and nesterov: g = unscale * sum + decay * w (weights only; biases and batch norm's scale and shift are
 * not decayed). */
enum { TUTTI_SGD_UNSCALE, TUTTI_SGD_DECAY, TUTTI_SGD_LR, TUTTI_SGD_MU };
void tutti_rule_prepare_sgd(const tutti_update *u, const tutti_update_step *s, double decay, float *k);

static inline float tutti_rule_sgd_gradient(const float *k, float w, float sum)
{
    return k[TUTTI_SGD_UNSCALE] * sum + k[TUTTI_SGD_DECAY] * w;
}

/* For adamw and lamb: states m and v are averages of g = unscale * sum and of its square. A weight moves by m /
 * (sqrt(v) + eps'). Preparing returns the factor of that quotient at the t-th update, sqrt(1 - beta2^t) / (1 -
 * beta1^t). (rule_adamw.c) */
enum { TUTTI_ADAM_UNSCALE, TUTTI_ADAM_TAKE1, TUTTI_ADAM_TAKE2, TUTTI_ADAM_EPS, TUTTI_ADAM_NUMBERS };
double tutti_rule_prepare_adam(const tutti_update *u, const tutti_update_step *s, float *k);

static inline float tutti_rule_adam_quotient(const float *k, float sum, float *state)
{
    const float g = k[TUTTI_ADAM_UNSCALE] * sum;
    state[0] += k[TUTTI_ADAM_TAKE1] * (g - state[0]);
    state[1] += k[TUTTI_ADAM_TAKE2] * (g * g - state[1]);
    return state[0] / (sqrtf(state[1]) + k[TUTTI_ADAM_EPS]);
}

#endif
