/* SPDX-License-Identifier: Apache-2.0 */
/* action_meet.c: the action meet: moves a worker and the centre towards each other. Applies the elastic rule between
 * one worker and the centre: elements of the centre `to`, from the worker's weights in `from`. `other` gets the old
 * values of the centre, and may be `from`. (The asynchronous and the original EASGD: Zhang, Choromanska and LeCun
 * 2015.) In the order of the centre's changes:
 *   C   <- C + alpha * (W_i - C);  W_i <- rule(W_i, g_i) - alpha * (W_i - C), by the C from before
 * For running statistics each worker adds its part of their mean. Other workers may do the same to the same elements at
 * the same time: then one of both moves is lost. The proof treats the result as a value of the centre, and does not
 * distinguish the value before the visit's change from the value after it. */
#include <string.h>

#include "../../../tensor/relaxed.h"
#include "element_loop.h"

/* Moves the centre towards w, and writes its old values to `seen`. Each element of the centre is read once, because
 * other workers may change it meanwhile. */
TUTTI_ELEMENTS apart(float alpha, float *c, const float *restrict w, float *restrict seen, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float old = tutti_relaxed_read(&c[i]);
        tutti_relaxed_write(&c[i], old + alpha * (w[i] - old));
        seen[i] = old;
    }
}

/* Does the same for any `seen`. If seen == w, the old values of the centre replace the weights that the worker has
 * brought. */
TUTTI_ELEMENTS meet(float alpha, float *c, const float *w, float *seen, int64_t n)
{
    enum { BLOCK = 1024 };
    float old[BLOCK];
    if (seen != w) apart(alpha, c, w, seen, n);
    for (int64_t at = 0; at < n && seen == w; at += BLOCK) {
        const int64_t m = n - at < BLOCK ? n - at : BLOCK;
        apart(alpha, c + at, w + at, old, m);
        memcpy(seen + at, old, sizeof *old * (size_t)m);
    }
}

#define LOOP(isa, target)                                                                                              \
    target static void meet_##isa(const tutti_elements *e)                                                             \
    {                                                                                                                  \
        meet(e->alpha, e->to, e->from, e->other, e->n);                                                                \
    }
TUTTI_ISA_EACH(LOOP)
static const tutti_element_loop loop = {"meet", TUTTI_ISA_LIST(meet)};

const tutti_action_row tutti_action_meet = {
    .words = "meet the centre with",
    .types = TUTTI_ON_F32,
    .flows = {{TUTTI_FLOW_CHANGES, TUTTI_AT_FROM, TUTTI_AT_TO}, {TUTTI_FLOW_WRITES, TUTTI_AT_TO, TUTTI_AT_OTHER}},
    .loop = &loop,
    .statistics = &loop,
};
