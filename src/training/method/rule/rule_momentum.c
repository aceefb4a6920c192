/* SPDX-License-Identifier: Apache-2.0 */
/* rule_momentum.c: the rule momentum: v = mu * v + g, w -= lr * v: PyTorch's torch.optim.SGD with momentum (dampening
 * 0). Its momentum_buffer has the name that our checkpoints have always used. */
#include "rule_impl.h"

const tutti_rule_key tutti_rule_key_momentum = {
    .key = "optimiser.momentum",
    .initial = "0.9",
    .lo = 0,
    .hi = 1,
    .not_lo = true,
    .not_hi = true,
    .help = "momentum, nesterov, lars: share of the last move that goes on",
    .wants = "one above 0 and below 1, such as 0.9",
};

enum { NSTATES = 1 };
static inline float step(const float *k, float w, float sum, float *state)
{
    *state = k[TUTTI_SGD_MU] * *state + tutti_rule_sgd_gradient(k, w, sum);
    return w - k[TUTTI_SGD_LR] * *state;
}
#include "rule_loops.h"

extern const tutti_rule_row tutti_rule_sgd;
const tutti_rule_row tutti_rule_momentum = {
    .name = "momentum",
    .help = "v = momentum * v + g; w -= lr * v",
    .plain = &tutti_rule_sgd,
    .nstates = NSTATES,
    .states = {"momentum"},
    .keys = {&tutti_rule_key_momentum},
    .prepare = tutti_rule_prepare_sgd,
    .loops = RULE_LOOPS,
};
