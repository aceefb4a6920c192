/* SPDX-License-Identifier: Apache-2.0 */
/* rule_sgd.c: the rule sgd: w -= lr * g: PyTorch's torch.optim.SGD without momentum. */
#include "rule_impl.h"

void tutti_rule_prepare_sgd(const tutti_update *u, const tutti_update_step *s, double decay, float *k)
{
    k[TUTTI_SGD_UNSCALE] = (float)s->unscale;
    k[TUTTI_SGD_DECAY] = (float)decay;
    k[TUTTI_SGD_LR] = (float)s->lr;
    k[TUTTI_SGD_MU] = (float)u->value[0]; /* value of momentum; sgd has no keys */
}

enum { NSTATES = 0 };
static inline float step(const float *k, float w, float sum, float *state)
{
    (void)state;
    return w - k[TUTTI_SGD_LR] * tutti_rule_sgd_gradient(k, w, sum);
}
#include "rule_loops.h"

const tutti_rule_row tutti_rule_sgd = {
    .name = "sgd",
    .help = "w -= lr * g",
    .ignored = {&tutti_rule_key_momentum}, /* jobs may set momentum with sgd, as they always could */
    .prepare = tutti_rule_prepare_sgd,
    .loops = RULE_LOOPS,
};
