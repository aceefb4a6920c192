/* SPDX-License-Identifier: Apache-2.0 */
/* rule_lamb.c: the rule lamb: Adam whose steps are as long as each layer's weights (You et al. 2019, arXiv 1904.00962,
 * algorithm 2 with phi(x) = x):
 *
 *   m += (1 - beta1) * (g - m)              exp_avg
 *   v += (1 - beta2) * (g * g - v)          exp_avg_sq
 *   u = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) + decay * w              t: updates, this one included
 *   w -= lr * |w| / |u| * u                 norms of each weight tensor; the ratio is 1 if one of both norms is 0
 *
 * Biases and batch norm's scale and shift are not decayed, and their ratio is 1, as in the authors' program for BERT.
 * As in rule_adamw.c, sqrt(1 - beta2^t) is taken out of the quotient. */
#include "rule_impl.h"

enum { DECAY = TUTTI_ADAM_NUMBERS, CORRECTION, MOVE };

static void prepare(const tutti_update *u, const tutti_update_step *s, double decay, float *k)
{
    k[CORRECTION] = (float)tutti_rule_prepare_adam(u, s, k);
    k[DECAY] = (float)decay;
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
    return k[CORRECTION] * tutti_rule_adam_quotient(k, sum, state) + k[DECAY] * w;
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
    .loops = RULE_LOOPS,
    .trust = trust,
    .measures = RULE_MEASURES,
};
