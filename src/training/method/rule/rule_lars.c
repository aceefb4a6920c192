/* SPDX-License-Identifier: Apache-2.0 */
/* rule_lars.c: the rule lars: SGD with momentum with a rate for each layer (You, Gitman and Ginsburg 2017, arXiv
 * 1708.03888):
 *
 *   local = trust * |w| / (|g| + decay * |w|)            norms of each weight tensor; 1 if one of both norms is 0, and
 *                                                        for biases and batch norm's scale and shift, which are not
 *                                                        decayed either
 *   v = momentum * v + lr * local * (g + decay * w);  w -= v             scaled_momentum: as in the paper
 *   v = momentum * v +      local * (g + decay * w);  w -= lr * v        otherwise: as in PyTorch's SGD
 *
 * Both are equal while lr does not change; after lr falls, the first form still moves for a while at the old rate. */
#include "rule_impl.h"

static const tutti_rule_key trust_key = {
    .key = "optimiser.trust",
    .initial = "0.001",
    .lo = 0,
    .hi = 1e3,
    .not_lo = true,
    .help = "lars: a step's length by that of a layer's weights",
    .wants = "one above 0, such as 0.001",
};
static const tutti_rule_key scaled_key = {
    .key = "optimiser.scaled_momentum",
    .initial = "true",
    .hi = 1,
    .is_switch = true,
    .help = "lars: the rate goes into the momentum; else it is outside",
};

enum { MOMENTUM, TRUST, IS_SCALED };                   /* indices of the rule's keys */
enum { UNSCALE, DECAY, MU, INTO_MOMENTUM, OUT_OF_IT }; /* indices of the constants that are prepared for a step */

static void prepare(const tutti_update *u, const tutti_update_step *s, double decay, float *k)
{
    const bool is_scaled = u->value[IS_SCALED] != 0;
    k[UNSCALE] = (float)s->unscale;
    k[DECAY] = (float)decay;
    k[MU] = (float)u->value[MOMENTUM];
    k[INTO_MOMENTUM] = (float)(is_scaled ? s->lr * s->trust : s->trust);
    k[OUT_OF_IT] = (float)(is_scaled ? 1 : s->lr);
}

static double trust(const tutti_update *u, double weights, double gradients)
{
    return u->value[TRUST] * weights / (gradients + u->weight_decay * weights);
}

enum { NSTATES = 1 };
static inline float step(const float *k, float w, float sum, float *state)
{
    const float g = k[UNSCALE] * sum + k[DECAY] * w;
    *state = k[MU] * *state + k[INTO_MOMENTUM] * g;
    return w - k[OUT_OF_IT] * *state;
}
#include "rule_loops.h"

const tutti_rule_row tutti_rule_lars = {
    .name = "lars",
    .help = "momentum with a rate of its own for each layer",
    .nstates = NSTATES,
    .states = {"momentum"},
    .keys = {&tutti_rule_key_momentum, &trust_key, &scaled_key},
    .prepare = prepare,
    .loops = RULE_LOOPS,
    .trust = trust,
};
