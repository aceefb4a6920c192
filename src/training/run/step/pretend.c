/* SPDX-License-Identifier: Apache-2.0 */
/* pretend.c: kernels that only wait for a given time, for runs that only pretend to compute. Everything else is as in
 * any run: the plan, its exchanges, visits, updates. So a few cores are enough to see how links behave with more ranks
 * than the cores could compute for.
 *
 * The rank sleeps, so that other ranks can use its core. If it slept too long, it sleeps less the next time, and very
 * short waits are added up: a step takes as long as its kernels should, whatever the system's clock does. */
#include "../../../base/clock.h"
#include "step_impl.h"

static const double LEAST_S = 200e-6; /* a shorter sleep consists mostly of falling asleep and waking up */

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
