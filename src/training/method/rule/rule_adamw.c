/* SPDX-License-Identifier: Apache-2.0 */
/* rule_adamw.c: the rule adamw: Adam with decoupled weight decay (Loshchilov and Hutter 2019), as torch.optim.AdamW
 * without amsgrad:
 *
 *   w *= 1 - lr * decay
 *   m += (1 - beta1) * (g - m)              exp_avg
 *   v += (1 - beta2) * (g * g - v)          exp_avg_sq
 *   w -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)         t: number of updates, this one included
 *
 * Everything that does not depend on the element is computed in double, and sqrt(1 - beta2^t) is taken out of the
 * quotient, so that an element costs one square root and one division. Both averages move by a share of their distance.
 * PyTorch computes v as beta2 * v + (1 - beta2) * g * g; rounded to f32 the two factors do not add up to 1, and an
 * average of equal squares drifts away. */
#include "rule_impl.h"

const tutti_rule_key tutti_rule_key_beta1 = {
    .key = "optimiser.beta1",
    .initial = "0.9",
    .lo = 0,
    .hi = 1,
    .not_hi = true,
    .help = "adamw, lamb: decay of the average of gradients",
    .wants = "one below 1, such as 0.9",
};
const tutti_rule_key tutti_rule_key_beta2 = {
    .key = "optimiser.beta2",
    .initial = "0.999",
    .lo = 0,
    .hi = 1,
    .not_hi = true,
    .help = "adamw, lamb: decay of the average of squared gradients",
    .wants = "one below 1, such as 0.999",
};
/* eps must be above 0: otherwise a weight whose gradients were all 0 would become 0 / 0. */
const tutti_rule_key tutti_rule_key_eps = {
    .key = "optimiser.eps",
    .initial = "1e-8",
    .lo = 1e-30,
    .hi = 1,
    .help = "adamw, lamb: added to the root of that average",
};

double tutti_rule_prepare_adam(const tutti_update *u, const tutti_update_step *s, float *k)
{
    const double b1 = u->value[0], b2 = u->value[1], root = sqrt(1 - tutti_rule_power(b2, s->nupdates));
    k[TUTTI_ADAM_UNSCALE] = (float)s->unscale;
    k[TUTTI_ADAM_TAKE1] = (float)(1 - b1);
    k[TUTTI_ADAM_TAKE2] = (float)(1 - b2);
    k[TUTTI_ADAM_EPS] = (float)(u->value[2] * root);
    return root / (1 - tutti_rule_power(b1, s->nupdates));
}

enum { KEEP = TUTTI_ADAM_NUMBERS, MOVE };

static void prepare(const tutti_update *u, const tutti_update_step *s, double decay, float *k)
{
    k[MOVE] = (float)(s->lr * tutti_rule_prepare_adam(u, s, k));
    k[KEEP] = (float)(1 - s->lr * decay);
}

enum { NSTATES = 2 };
static inline float step(const float *k, float w, float sum, float *state)
{
    return k[KEEP] * w - k[MOVE] * tutti_rule_adam_quotient(k, sum, state);
}
#include "rule_loops.h"

const tutti_rule_row tutti_rule_adamw = {
    .name = "adamw",
    .help = "Adam with decoupled weight decay",
    .nstates = NSTATES,
    .states = {"exp_avg", "exp_avg_sq"},
    .keys = {&tutti_rule_key_beta1, &tutti_rule_key_beta2, &tutti_rule_key_eps},
    .prepare = prepare,
    .loops = RULE_LOOPS,
};
