/* SPDX-License-Identifier: Apache-2.0 */
/* rule_lamb.c: Adam whose steps are as long as each layer's weights (You et al. 2019, arXiv 1904.00962, algorithm 2 with phi(x) = x):
 *
 *   m += (1 - beta1) * (g - m)              exp_avg
 *   v += (1 - beta2) * (g * g - v)          exp_avg_sq
 *   u = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) + decay * w              t: updates with this one
 *   w -= lr * |w| / |u| * u                 of each weight tensor; the ratio is 1 where one of both norms is 0
 *
 * Biases and batch norm's scale and shift are not decayed, and their ratio is 1, as in the authors' program for BERT. As in rule_adamw.c
 * sqrt(1 - beta2^t) is taken out of the quotient. */
#include <math.h>

#include "rule_impl.h"

enum { UNSCALE, DECAY, TAKE1, TAKE2, CORRECTION, EPS, MOVE };

static void prepare(const tutti_update *u, const tutti_update_step *s, double decay, float *k)
{
    const double b1 = u->value[0], b2 = u->value[1];
    const double correction1 = 1 - tutti_rule_power(b1, s->nupdates),
                 correction2 = sqrt(1 - tutti_rule_power(b2, s->nupdates));
    k[UNSCALE] = (float)s->unscale;
    k[DECAY] = (float)decay;
    k[TAKE1] = (float)(1 - b1);
    k[TAKE2] = (float)(1 - b2);
    k[CORRECTION] = (float)(correction2 / correction1);
    k[EPS] = (float)(u->value[2] * correction2);
    k[MOVE] = (float)(s->lr * s->trust);
}

static double trust(const tutti_update *u, double weights, double direction)
{
    (void)u;
    return weights / direction;
}

enum { NSTATES = 2 };
static inline float measure(const float *k, float w, float sum, float *state)
{
    const float g = k[UNSCALE] * sum;
    state[0] += k[TAKE1] * (g - state[0]);
    state[1] += k[TAKE2] * (g * g - state[1]);
    return k[CORRECTION] * (state[0] / (sqrtf(state[1]) + k[EPS])) + k[DECAY] * w;
}
static inline float step(const float *k, float w, float sum, float *state)
{
    return w - k[MOVE] * measure(k, w, sum, state);
}
#define MEASURES
#include "rule_loops.h"

const tutti_rule_row tutti_rule_lamb = {
    .name = "lamb",
    .help = "Adam with steps as long as each layer's weights",
    .nstates = NSTATES,
    .states = {"exp_avg", "exp_avg_sq"},
    .keys = {&tutti_rule_key_beta1, &tutti_rule_key_beta2, &tutti_rule_key_eps},
    .prepare = prepare,
    .loops = loops,
    .nloops = NLOOPS,
    .trust = trust,
    .measures = measures,
};
