/* SPDX-License-Identifier: Apache-2.0 */
/* rule_nesterov.c: the rule nesterov: v = mu * v + g, w -= lr * (g + mu * v): PyTorch's torch.optim.SGD with
 * nesterov=True. */
#include "rule_impl.h"

enum { NSTATES = 1 };
static inline float step(const float *k, float w, float sum, float *state)
{
    const float g = tutti_rule_sgd_gradient(k, w, sum);
    *state = k[TUTTI_SGD_MU] * *state + g;
    return w - k[TUTTI_SGD_LR] * (g + k[TUTTI_SGD_MU] * *state);
}
#include "rule_loops.h"

extern const tutti_rule_row tutti_rule_sgd;
const tutti_rule_row tutti_rule_nesterov = {
    .name = "nesterov",
    .help = "v = momentum * v + g; w -= lr * (g + momentum * v)",
    .plain = &tutti_rule_sgd,
    .nstates = NSTATES,
    .states = {"momentum"},
    .keys = {&tutti_rule_key_momentum},
    .prepare = tutti_rule_prepare_sgd,
    .loops = RULE_LOOPS,
};
