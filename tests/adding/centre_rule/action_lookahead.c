/* SPDX-License-Identifier: Apache-2.0 */
/* action_lookahead.c: the slow step of Lookahead (Zhang et al. 2019, arXiv 1907.08610) to elements of the centre `to`,
 * from the mean of all workers' weights in `from`, which become the centre's:
 *   C <- C + rate * (mean of W_i - C);  W_i <- C
 * The centre's running statistics are the mean that came. It reads and writes 16 bytes an element. */
#include "element_loop.h"

TUTTI_ELEMENTS lookahead(float rate, float *restrict c, float *restrict w, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        c[i] += rate * (w[i] - c[i]);
        w[i] = c[i];
    }
}

#define LOOP(isa, target)                                                                                              \
    target static void lookahead_##isa(const tutti_elements *e)                                                        \
    {                                                                                                                  \
        lookahead((float)e->rule.outer_rate, e->to, e->from, e->n);                                                    \
    }
TUTTI_ISA_EACH(LOOP)
static const tutti_element_loop loop = {"lookahead", TUTTI_ISA_LIST(lookahead)};

const tutti_action_row tutti_action_lookahead = {
    .words = "slow step of",
    .types = TUTTI_ON_F32,
    .flows = {{TUTTI_FLOW_CHANGES, TUTTI_AT_FROM, TUTTI_AT_TO}, {TUTTI_FLOW_WRITES, TUTTI_AT_TO, TUTTI_AT_FROM}},
    .loop = &loop,
    .statistics = &tutti_loop_read,
};
