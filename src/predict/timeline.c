/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c: plays the actions of a plan against measured node times and simulated exchanges.
 *
 * Methods with a period: whole periods are played, and the mean of the last one's steps counts.
 * Star: an exchange enters the exchange lane when it is told to be ready and the lane is free; who waits for it waits until it has
 * ended. Several steps are played, the last one counts (the first has nothing to wait for).
 * Host: the rank's own thread moves the bytes, so exchanges take the compute lane; ranks that share a core take turns:
 * compute counts once for each of them (the simulator already shares cores for exchanges). Loading runs on a thread of its
 * own and costs only where ranks leave no core free. */
#include "timeline.h"

#include <math.h>
#include <stdlib.h>

#include "predict_costs.h"

enum { NPERIODS = 4 };

typedef struct {
    double seconds, ends; /* how long it takes; clock: when it ends */
    bool is_ready;        /* it has begun, and what it writes to may not be free everywhere yet */
} exchange_state;

typedef struct {
    const tutti_plan *plan;
    const tutti_profile *profile;
    bool overlaps;
    double turns; /* ranks on this core */
    exchange_state *exchanges;
    double now, lane; /* clock of the compute lane; when the exchange lane is free */
    double busy;      /* of compute, in this step */
} player;

static double kernel_cost(const player *p, const tutti_node *n)
{
    const tutti_layer_time *time = &p->profile->layers[n->layer];
    switch (n->kind) {
    case TUTTI_NODE_FORWARD: return time->forward_s;
    case TUTTI_NODE_BACKWARD_PARAMS: return time->params_s;
    case TUTTI_NODE_BACKWARD_DATA: return time->data_s;
    case TUTTI_NODE_SUM: return time->sum_s;
    default: return 0;
    }
}

/* Of what moves so many f32 an element. The profile's update moves five: it reads three and writes two. A rule with other states
 * moves others, a fold reads two and writes one, a look reads one: all are scaled by bytes, which is what such loops take. */
static double moving_cost(const player *p, int64_t elements, int moved)
{
    return (double)elements * p->profile->update_s_per_element * moved / 5;
}

static double action_cost(const player *p, const tutti_action *a)
{
    switch (a->kind) {
    case TUTTI_DO_KERNEL: return kernel_cost(p, &p->plan->graph->nodes[a->node]);
    case TUTTI_DO_FOLD: return a->bucket < 0 ? 0 : moving_cost(p, p->plan->buckets[a->bucket].count, 3);
    case TUTTI_DO_LOOK: return moving_cost(p, a->count, 1);
    case TUTTI_DO_APPLY: return moving_cost(p, a->count, 3 + 2 * p->plan->config.nstates);
    case TUTTI_DO_START:
    case TUTTI_DO_TELL:
    case TUTTI_DO_WAIT:
    case TUTTI_NACTIONS: break;
    }
    return 0;
}

static void compute(player *p, double seconds)
{
    p->now += seconds * p->turns;
    p->busy += seconds * p->turns;
}

/* An exchange of `seconds` that may begin at `from`; returns when it ends. */
static double exchange(player *p, double from, double seconds)
{
    if (!p->overlaps) return p->now = fmax(p->now, from) + seconds;
    return p->lane = fmax(p->lane, from) + seconds;
}

static void tell(player *p, exchange_state *x, unsigned when)
{
    if (when & TUTTI_WHEN_READY) {
        x->ends = exchange(p, p->now, x->seconds);
        x->is_ready = !(when & TUTTI_WHEN_FREE);
    } else if (x->is_ready) { /* the last slice can come only now */
        x->ends = fmax(x->ends, p->now + x->seconds);
    }
}

static void action_play(player *p, const tutti_action *a)
{
    exchange_state *x = a->exchange >= 0 ? &p->exchanges[a->exchange] : NULL;
    switch (a->kind) {
    case TUTTI_DO_START:
    case TUTTI_DO_TELL: tell(p, x, a->when); break;
    case TUTTI_DO_WAIT:
        p->now = fmax(p->now, x->ends);
        x->is_ready = false;
        break;
    default: compute(p, action_cost(p, a)); break;
    }
}

static tutti_status exchanges_prepare(player *p, const tutti_topology *t, tutti_prediction *out, tutti_failure *err)
{
    const tutti_plan *plan = p->plan;
    double started = 0;
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < plan->nexchanges && !st; i++) {
        const tutti_plan_exchange *x = &plan->exchanges[i];
        const double a_step = tutti_predict_share(plan, i);
        double lower_s = 0;
        if (a_step == 0) continue;
        st = tutti_predict_exchange(plan, x->schedule, x->count, t, &p->exchanges[i].seconds, &lower_s, err);
        out->exchange_s += p->exchanges[i].seconds * a_step;
        out->lower_s += lower_s * a_step;
        started += a_step;
    }
    out->nexchanges = (int)lround(started);
    return st;
}

static void loop_play(player *p, const tutti_loop *l)
{
    for (int i = 0; i < l->nactions; i++) action_play(p, &l->actions[i]);
}

static void steps_play(player *p, double load_s, tutti_prediction *out)
{
    const tutti_plan *plan = p->plan;
    const int64_t period = plan->loops[TUTTI_EACH_PERIOD].nactions ? plan->config.period : 1;
    double begin = 0;
    for (int n = 0; n < NPERIODS; n++) {
        begin = p->now;
        p->busy = 0;
        for (int64_t step = 0; step < period; step++) {
            compute(p, load_s);
            loop_play(p, &plan->loops[TUTTI_EACH_STEP]);
        }
        loop_play(p, &plan->loops[TUTTI_EACH_PERIOD]);
    }
    out->step_s = (p->now - begin) / (double)period;
    out->compute_s = p->busy / (double)period;
}

tutti_status tutti_timeline_predict(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                    tutti_prediction *out, tutti_failure *err)
{
    bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    int nranks = plan->config.nranks;
    double cores = host ? t->figure[TUTTI_FIGURE_CORES] : nranks + 1.0;
    exchange_state *exchanges = tutti_alloc((size_t)plan->nexchanges * sizeof *exchanges);
    *out = (tutti_prediction){.nranks = nranks, .ranks_per_core = (int)ceil(nranks / cores)};
    player p = {
        .plan = plan, .profile = profile, .overlaps = !host, .turns = out->ranks_per_core, .exchanges = exchanges};
    tutti_status status = exchanges_prepare(&p, t, out, err);
    if (!status) {
        double load_s = nranks >= cores ? (double)plan->my_nsamples * profile->load_s_per_sample : 0;
        steps_play(&p, load_s, out);
        out->exposed_s = fmax(0, out->step_s - out->compute_s);
        out->lower_s = host ? out->compute_s + out->lower_s : fmax(out->compute_s, out->lower_s);
        out->upper_s = out->compute_s + out->exchange_s;
        out->samples_per_s = (double)plan->config.batch / out->step_s;
        out->exchanged_bytes = plan->total * (int64_t)sizeof(float) / plan->config.period;
    }
    free(exchanges);
    return status;
}
