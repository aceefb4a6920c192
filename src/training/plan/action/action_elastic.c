/* SPDX-License-Identifier: Apache-2.0 */
/* action_elastic.c: the action elastic: moves a centre. Applies the elastic rule to elements of the centre `to`, from
 * the sum of all workers' weights in `from` (Zhang, Choromanska and LeCun 2015; You, Buluc and Demmel 2017, arXiv
 * 1708.02983), alpha = rate * rho:
 *   W_i <- rule(W_i, g_i) - alpha * (W_i - C)      in the rule's pass (rule.h): an apply with `pulled`
 *   C   <- C + alpha * (sum of W_i - P * C)        all right-hand sides are the values from before
 * No rule changes running statistics: the centre's are the mean of the workers'. Workers that skip a step are not
 * pulled in it, so the centre stays too: what one side gains the other loses. The pull adds one read (4 bytes) for each
 * element to the rule's pass; the move reads and writes 12 bytes for each element. */
#include "element_loop.h"

TUTTI_ELEMENTS elastic(float alpha, float nworkers, float *restrict c, const float *restrict sum, int64_t n)
{
    for (int64_t i = 0; i < n; i++) c[i] += alpha * (sum[i] - nworkers * c[i]);
}

#define LOOP(isa, target)                                                                                              \
    target static void elastic_##isa(const tutti_elements *e)                                                          \
    {                                                                                                                  \
        elastic(e->alpha, (float)e->nworkers, e->to, e->from, e->n);                                                   \
    }
TUTTI_ISA_EACH(LOOP)
static const tutti_element_loop loop = {"elastic", TUTTI_ISA_LIST(elastic)};

const tutti_action_row tutti_action_elastic = {
    .words = "move the centre of",
    .types = TUTTI_ON_F32,
    .flows = {{TUTTI_FLOW_CHANGES, TUTTI_AT_FROM, TUTTI_AT_TO}},
    .loop = &loop,
    .statistics = &tutti_loop_mean,
    .stays = true,
};
