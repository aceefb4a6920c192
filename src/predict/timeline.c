/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c: plays the actions of a plan against measured node times and simulated exchanges.
 *
 * Star: a bucket's reduce-scatter enters the exchange lane when its gradients are ready and the lane is free; the update waits
 * for it; the all-gather follows, and the next step's first reader waits for that. Several steps are played, the last one
 * counts (the first has nothing to wait for).
 * Host: the rank's own thread moves the bytes, so exchanges take the compute lane; ranks that share a core take turns:
 * compute counts once for each of them (the simulator already shares cores for exchanges). Loading runs on a thread of its
 * own and costs only where ranks leave no core free. */
#include "timeline.h"

#include <math.h>
#include <stdlib.h>

#include "predict_costs.h"

enum { NSTEPS = 4 };

typedef struct {
    double reduce_s, gather_s;
    double update_s, fold_s, check_s;
    double reduced, gathered, freed; /* clock: when they end; when this rank's weights may be overwritten */
    bool gathering;
} bucket_state;

typedef struct {
    const tutti_plan *plan;
    const tutti_profile *profile;
    bool overlaps;
    double turns; /* ranks on this core */
    bucket_state *buckets;
    double now, lane; /* clock of the compute lane; when the exchange lane is free */
    double busy;      /* of compute, in this step */
    double gate_s;    /* its allreduce */
} player;

static double action_cost(const player *p, const tutti_action *a)
{
    const tutti_layer_time *time = a->layer >= 0 ? &p->profile->layers[a->layer] : NULL;
    switch (a->kind) {
    case TUTTI_DO_FORWARD: return time->forward_s;
    case TUTTI_DO_BACKWARD_PARAMS: return time->params_s;
    case TUTTI_DO_BACKWARD_DATA: return time->data_s;
    case TUTTI_DO_SUM: return time->sum_s;
    case TUTTI_DO_FOLD: return p->buckets[a->bucket].fold_s;
    case TUTTI_DO_CHECK: return p->buckets[a->bucket].check_s;
    case TUTTI_DO_UPDATE: return p->buckets[a->bucket].update_s;
    case TUTTI_DO_GATE:
    case TUTTI_DO_READY:
    case TUTTI_DO_FREE:
    case TUTTI_DO_WAIT_WEIGHTS:
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

static void action_play(player *p, const tutti_action *a)
{
    bucket_state *b = a->bucket >= 0 ? &p->buckets[a->bucket] : NULL;
    switch (a->kind) {
    case TUTTI_DO_WAIT_WEIGHTS:
        p->now = fmax(p->now, b->gathered);
        b->gathering = false;
        break;
    case TUTTI_DO_READY: b->reduced = exchange(p, p->now, b->reduce_s); break;
    case TUTTI_DO_FREE: /* the last slice can come only now, if the all-gather has begun already */
        b->freed = p->now;
        if (b->gathering) b->gathered = fmax(b->gathered, p->now + b->gather_s);
        break;
    case TUTTI_DO_CHECK:
        p->now = fmax(p->now, b->reduced);
        compute(p, action_cost(p, a));
        break;
    case TUTTI_DO_GATE: p->now = exchange(p, p->now, p->gate_s); break; /* nothing goes on beside it */
    case TUTTI_DO_UPDATE:
        p->now = fmax(p->now, b->reduced);
        compute(p, action_cost(p, a));
        b->gathered = exchange(p, p->now, b->gather_s);
        b->gathering = true;
        break;
    case TUTTI_DO_FORWARD:
    case TUTTI_DO_BACKWARD_PARAMS:
    case TUTTI_DO_BACKWARD_DATA:
    case TUTTI_DO_SUM:
    case TUTTI_DO_FOLD: compute(p, action_cost(p, a)); break;
    case TUTTI_NACTIONS: break;
    }
}

static tutti_status buckets_prepare(player *p, const tutti_topology *t, tutti_prediction *out, tutti_failure *err)
{
    const tutti_plan *plan = p->plan;
    for (int i = 0; i < plan->nbuckets; i++) {
        bucket_state *s = &p->buckets[i];
        const tutti_bucket *b = &plan->buckets[i];
        tutti_exchange_time time;
        tutti_status status = tutti_predict_exchange(plan, b->count, t, &time, err);
        if (status) return status;
        s->reduce_s = time.reduce_s;
        s->gather_s = time.gather_s;
        double own = ceil((double)b->count / plan->config.nranks);
        /* The profile's update moves five f32: it reads three and writes two. A rule with other states moves others, a fold reads two
         * and writes one, a look reads one: all are scaled by bytes, which is what such loops take. */
        s->update_s = own * p->profile->update_s_per_element * (3 + 2 * plan->config.nstates) / 5;
        s->fold_s = (double)b->count * p->profile->update_s_per_element * 3 / 5;
        s->check_s = own * p->profile->update_s_per_element / 5;
        out->exchange_s += s->reduce_s + s->gather_s;
        out->lower_s += time.lower_s;
        out->nexchanges += 2;
    }
    out->nexchanges += plan->config.gated;
    tutti_status status = tutti_predict_gate(plan, t, &p->gate_s, err);
    out->exchange_s += p->gate_s;
    out->lower_s += p->gate_s;
    return status;
}

static void steps_play(player *p, double load_s, tutti_prediction *out)
{
    double begin = 0;
    for (int step = 0; step < NSTEPS; step++) {
        begin = p->now;
        p->busy = 0;
        compute(p, load_s);
        for (int i = 0; i < p->plan->nactions; i++) action_play(p, &p->plan->actions[i]);
    }
    out->step_s = p->now - begin;
    out->compute_s = p->busy;
}

tutti_status tutti_timeline_predict(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                    tutti_prediction *out, tutti_failure *err)
{
    bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    int nranks = plan->config.nranks;
    double cores = host ? t->figure[TUTTI_FIGURE_CORES] : nranks + 1.0;
    bucket_state *buckets = tutti_alloc((size_t)plan->nbuckets * sizeof *buckets);
    *out = (tutti_prediction){.nranks = nranks, .ranks_per_core = (int)ceil(nranks / cores)};
    player p = {.plan = plan, .profile = profile, .overlaps = !host, .turns = out->ranks_per_core, .buckets = buckets};
    tutti_status status = buckets_prepare(&p, t, out, err);
    if (!status) {
        double load_s = nranks >= cores ? (double)plan->my_nsamples * profile->load_s_per_sample : 0;
        steps_play(&p, load_s, out);
        out->exposed_s = fmax(0, out->step_s - out->compute_s);
        out->lower_s = host ? out->compute_s + out->lower_s : fmax(out->compute_s, out->lower_s);
        out->upper_s = out->compute_s + out->exchange_s;
        out->samples_per_s = (double)plan->config.batch / out->step_s;
        out->exchanged_bytes = plan->total * (int64_t)sizeof(float);
    }
    free(buckets);
    return status;
}
