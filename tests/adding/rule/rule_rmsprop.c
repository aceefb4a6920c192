/* SPDX-License-Identifier: Apache-2.0 */
/* rule_rmsprop.c: gradients by the root of an average of their squares (Tieleman and Hinton 2012), as
 * torch.optim.RMSprop:
 *
 *   g = sum + decay * w
 *   v = alpha * v + (1 - alpha) * g * g          square_avg
 *   w -= lr * g / (sqrt(v) + 1e-8) */
#include <math.h>

#include "rule_impl.h"

static const tutti_rule_key alpha = {
    .key = "optimiser.alpha",
    .initial = "0.99",
    .lo = 0,
    .hi = 1,
    .not_hi = true,
    .help = "rmsprop: decay of the average of squared gradients",
    .wants = "one below 1, such as 0.99",
};

enum { UNSCALE, DECAY, LR, TAKE };

static void prepare(const tutti_update *u, const tutti_update_step *s, double decay, float *k)
{
    k[UNSCALE] = (float)s->unscale;
    k[DECAY] = (float)decay;
    k[LR] = (float)s->lr;
    k[TAKE] = (float)(1 - u->value[0]);
}

enum { NSTATES = 1 };
static inline float step(const float *k, float w, float sum, float *state)
{
    const float g = k[UNSCALE] * sum + k[DECAY] * w;
    *state += k[TAKE] * (g * g - *state);
    return w - k[LR] * (g / (sqrtf(*state) + 1e-8f));
}
#include "rule_loops.h"

const tutti_rule_row tutti_rule_rmsprop = {
    .name = "rmsprop",
    .help = "gradients by the root of an average of their squares",
    .nstates = NSTATES,
    .states = {"square_avg"},
    .keys = {&alpha},
    .prepare = prepare,
    .loops = RULE_LOOPS,
};
