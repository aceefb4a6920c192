/* SPDX-License-Identifier: Apache-2.0 */
/* pretend.c: kernels that only wait, for runs that pretend to compute, each for a given time. All else is what it is in
 * any run: the plan, its exchanges, visits, updates. So one can see on a few cores what links make of more ranks than
 * these could compute for.
 *
 * The rank sleeps, so that its core is others' meanwhile. What it has slept too long it sleeps less the next time, and
 * very short waits are put together: a step takes what its kernels take, whatever the clock of the system does. */
#include "../../../base/clock.h"
#include "step_impl.h"

static const double LEAST_S = 200e-6; /* a sleep that is shorter is mostly going to sleep and waking up */

static double seconds_of(const tutti_pretended_layer *layer, tutti_node_kind kind)
{
    switch (kind) {
    case TUTTI_NODE_FORWARD: return layer->forward_s;
    case TUTTI_NODE_BACKWARD_PARAMS: return layer->params_s;
    case TUTTI_NODE_BACKWARD_DATA: return layer->data_s;
    case TUTTI_NODE_SUM: return layer->sum_s;
    default: return 0;
    }
}

void tutti_pretend(tutti_stepping *s, const tutti_node *node)
{
    s->owed_s += seconds_of(&s->config->pretended[node->layer], node->kind);
    if (s->owed_s < LEAST_S) return;
    const double until = tutti_clock_s() + s->owed_s;
    tutti_clock_sleep_s(s->owed_s);
    s->owed_s = until - tutti_clock_s();
}
