/* SPDX-License-Identifier: Apache-2.0 */
/* action_outer.c: the action outer: moves a centre by an outer rule. Applies the outer rule to elements of the centre
 * `to`, from the mean of all workers' weights in `from`, which then get the centre's values; `other` is the momentum
 * (DiLoCo: Douillard et al. 2023, arXiv 2311.08105), as torch.optim.SGD with nesterov=True on the gradient C - mean of
 * W_i:
 *   d = C - mean;  v <- momentum * v + d;  C <- C - rate * (d + momentum * v);  W_i <- C
 * The centre's running statistics become the mean. The action reads and writes 24 bytes for each element. */
#include "element_loop.h"

TUTTI_ELEMENTS outer(float rate, float momentum, float *restrict c, float *restrict v, float *restrict w, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float d = c[i] - w[i];
        v[i] = momentum * v[i] + d;
        c[i] -= rate * (d + momentum * v[i]);
        w[i] = c[i];
    }
}

#define LOOP(isa, target)                                                                                              \
    target static void outer_##isa(const tutti_elements *e)                                                            \
    {                                                                                                                  \
        outer((float)e->rule.outer_rate, (float)e->rule.outer_mu, e->to, e->other, e->from, e->n);                     \
    }
TUTTI_ISA_EACH(LOOP)
static const tutti_element_loop loop = {"outer", TUTTI_ISA_LIST(outer)};

const tutti_action_row tutti_action_outer = {
    .words = "outer step of",
    .types = TUTTI_ON_F32,
    .flows = {{TUTTI_FLOW_CHANGES, TUTTI_AT_FROM, TUTTI_AT_TO},
              {TUTTI_FLOW_CHANGES, TUTTI_AT_FROM, TUTTI_AT_OTHER},
              {TUTTI_FLOW_WRITES, TUTTI_AT_TO, TUTTI_AT_FROM}},
    .loop = &loop,
    .statistics = &tutti_loop_read,
};
