/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_async.c: from the actions of a plan to what a worker does before, in and behind a visit, and what a play of that says. */
#include "timeline_async.h"

#include <math.h>

#include "async_run.h"

/* What a worker does in a step before its visit, in it and behind it, and in a step without one. */
static tutti_async_run worker_of(const tutti_async_timeline *p, double load_s)
{
    const tutti_plan *plan = p->costs.plan;
    const tutti_loop *l = &plan->loops[TUTTI_EACH_STEP];
    tutti_async_run r = {.nworkers = plan->config.nranks,
                         .admission = plan->admission,
                         .is_paced = plan->is_paced,
                         .staleness = plan->config.staleness,
                         .period = plan->config.period,
                         .before_s = load_s,
                         .other_s = load_s};
    double *part = &r.before_s;
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        const double seconds = tutti_action_seconds(&p->costs, a) * p->turns;
        if (tutti_action_is_due(a, false)) r.other_s += seconds;
        if (!tutti_action_is_due(a, true)) continue;
        if (a->kind == TUTTI_DO_ENTER) part = &r.visit_s;
        if (a->kind == TUTTI_DO_LEAVE) part = &r.after_s;
        *part += seconds;
    }
    return r;
}

/* Seconds of a step of all workers, of which each computes so long in a step of its own, but for its slowness, and then does something
 * else. They wait for the slowest one, or whoever is faster takes more shares. */
static double step_of_all(const tutti_async_run *r, bool they_wait, double computes_s, double other_s)
{
    double slowest = 1, rate = 0;
    for (int w = 0; w < r->nworkers; w++) {
        const double factor = r->slowness ? r->slowness[w] : 1;
        slowest = fmax(slowest, factor);
        rate += 1 / (factor * computes_s + other_s);
    }
    return they_wait ? slowest * computes_s + other_s : r->nworkers / rate;
}

/* Steps of each worker that are played: of a slow one a few, and where others may be ahead, until they are so in the first quarter. */
static int64_t steps_to_play(const tutti_async_run *r)
{
    enum { NSTEPS = 16, NSLOW = 64, MOST_AHEAD = 256 };
    const int64_t ahead = r->is_paced ? r->staleness : 0;
    if (!r->slowness) return NSTEPS * r->period;
    return NSLOW * r->period + 8 * (ahead < MOST_AHEAD ? ahead : MOST_AHEAD);
}

/* Workers that take steps of their own. On a network they bring a vector, gradients or weights, and take one along: weights or centre. */
void tutti_timeline_async(const tutti_async_timeline *p, double load_s, const tutti_topology *t, const double *slowness,
                          tutti_prediction *out)
{
    const tutti_plan *plan = p->costs.plan;
    const double nbytes = (double)plan->total * sizeof(float), period = (double)plan->config.period;
    tutti_async_run run = worker_of(p, load_s);
    run.slowness = slowness;
    if (p->overlaps) run.network = t, run.brought_bytes = run.taken_bytes = nbytes;
    const tutti_async_time time = tutti_async_run_play(&run, steps_to_play(&run));
    const double alone_s = (run.other_s * (period - 1) + run.before_s + run.after_s) / period;
    const bool in_turn = run.admission == TUTTI_ADMIT_IN_RANK_ORDER;
    *out = (tutti_prediction){.nranks = plan->config.nranks,
                              .ranks_per_core = (int)p->turns,
                              .step_s = time.step_s,
                              .compute_s = step_of_all(&run, in_turn, alone_s, 0),
                              .exchange_s = time.travels_s + run.visit_s / period,
                              .samples_per_s = (double)plan->config.batch / time.step_s,
                              .exchanged_bytes = (int64_t)(nbytes / period),
                              .visits = 1 / period};
    out->exposed_s = fmax(0, out->step_s - out->compute_s);
    out->lower_s = step_of_all(&run, in_turn, alone_s, run.visit_s / period);
    out->upper_s = step_of_all(&run, in_turn || run.is_paced, alone_s, plan->config.nranks * out->exchange_s);
    if (!slowness)
        return; /* what is played ends somewhere: of a slow worker there may be a part of a step too much or too little */
    out->lower_s = fmin(out->lower_s, out->step_s);
    out->upper_s = fmax(out->upper_s, out->step_s);
}
