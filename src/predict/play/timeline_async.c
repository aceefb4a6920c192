/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_async.c: finds from a plan what a worker does before, in and after its visit to the centre, and plays it. */
#include "timeline_async.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "async_run.h"

/* Reads what a worker does in a step before its visit, in it and after it, and in a step without a visit. For a far
 * worker, waiting takes the place of the visit. */
static void read_step(const tutti_async_timeline *p, const tutti_loop *l, double *before_s, double *visit_s,
                      double *after_s, double *other_s)
{
    double *part = before_s;
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        const double seconds = tutti_action_seconds(&p->costs, a) * p->turns;
        if (tutti_action_is_due(a, false)) *other_s += seconds;
        if (!tutti_action_is_due(a, true)) continue;
        if (tutti_action_enters(a)) part = visit_s;
        if (tutti_action_leaves(a) || tutti_action_awaits(a)) part = after_s;
        *part += seconds;
    }
}

/* Reads the first far worker's own step, and the work that rank 0 does for it. All far workers are taken to be like the
 * first. */
static void read_far(const tutti_async_timeline *p, double load_s, tutti_async_far *out)
{
    tutti_arena work = {0};
    tutti_loop loops[TUTTI_NDRIVERS];
    const tutti_plan *plan = p->costs.plan;
    double none = 0, behind = 0;
    int worker = 0;
    while (!tutti_plan_is_far(plan, worker)) worker++;
    out->before_s = out->other_s = load_s;
    tutti_plan_list_loops(plan, worker, &work, loops);
    read_step(p, &loops[TUTTI_EACH_STEP], &out->before_s, &none, &out->after_s, &out->other_s);
    tutti_plan_list_loops(plan, 0, &work, loops);
    const tutti_loop part = tutti_loop_part(&loops[TUTTI_EACH_ARRIVAL], worker);
    double *at = &out->look_s;
    for (int i = 0; i < part.nactions; i++) {
        if (tutti_action_enters(&part.actions[i])) at = &out->visit_s;
        if (tutti_action_leaves(&part.actions[i])) at = &behind;
        *at += tutti_action_seconds(&p->costs, &part.actions[i]) * p->turns;
    }
    tutti_arena_release(&work);
}

static tutti_async_run worker_of(const tutti_async_timeline *p, double load_s)
{
    const tutti_plan *plan = p->costs.plan;
    tutti_async_run r = {.nworkers = plan->config.nranks,
                         .admission = plan->admission,
                         .is_paced = plan->is_paced,
                         .staleness = plan->config.staleness,
                         .period = plan->config.period,
                         .before_s = load_s,
                         .other_s = load_s};
    read_step(p, &plan->loops[TUTTI_EACH_STEP], &r.before_s, &r.visit_s, &r.after_s, &r.other_s);
    return r;
}

/* Returns the seconds of a step of all workers. Each computes computes_s in a step of its own, times its slowness, and
 * does something else for other_s. Either they wait for the slowest worker, or faster workers take more shares. */
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

/* Returns how many steps of each worker are played: few if a worker is slow. The first quarter of the play does not
 * count, so it must be long enough for workers to run as far ahead as they may and, on a network, to drift apart. */
static int64_t steps_to_play(const tutti_async_run *r)
{
    enum { NSTEPS = 16, NSLOW = 64, MOST_AHEAD = 256 };
    const int64_t ahead = r->is_paced ? r->staleness : 0;
    if (!r->slowness) return (r->network && r->nworkers <= TUTTI_ASYNC_FEW ? NSLOW : NSTEPS) * r->period;
    return NSLOW * r->period + 8 * (ahead < MOST_AHEAD ? ahead : MOST_AHEAD);
}

/* Finds the workers whose visits cross links: those on other machines, and cards of one server that do not map each
 * other's memory. The caller frees the array. */
static bool *find_travellers(const tutti_plan *plan, const tutti_topology *t, const bool *is_far)
{
    const int n = plan->config.nranks;
    bool *out = tutti_alloc((size_t)n * sizeof *out);
    int32_t *memory_of = tutti_alloc((size_t)n * sizeof *memory_of);
    tutti_topology_hosts(t, n, memory_of);
    for (int r = 0; r < n; r++) out[r] = is_far[r] || memory_of[r] != memory_of[0];
    free(memory_of);
    return out;
}

/* Predicts workers that take steps of their own. On a network they send a vector (gradients or weights) to the centre,
 * and receive one (weights or the centre). */
void tutti_timeline_async(const tutti_async_timeline *p, double load_s, const tutti_topology *t, const double *slowness,
                          tutti_prediction *out)
{
    const tutti_plan *plan = p->costs.plan;
    const double nbytes = (double)plan->total * sizeof(float), period = (double)plan->config.period;
    tutti_async_run run = worker_of(p, load_s);
    bool *is_far = tutti_alloc((size_t)plan->config.nranks * sizeof *is_far);
    tutti_async_far far = {.is = is_far};
    run.slowness = slowness;
    if (tutti_plan_has_far(plan))
        run.far = &far; /* set only if there are far workers; else a turn includes travelling to the centre and back */
    for (int r = 0; r < plan->config.nranks; r++) is_far[r] = tutti_plan_is_far(plan, r);
    if (tutti_plan_has_far(plan)) read_far(p, load_s, &far);
    run.brings_by_turns = tutti_plan_brings_by_turns(plan);
    bool *travels = find_travellers(plan, t, is_far);
    if (p->overlaps) run.network = t, run.travels = travels, run.brought_bytes = run.taken_bytes = nbytes;
    const tutti_async_time time = tutti_async_run_play(&run, steps_to_play(&run));
    free(travels);
    free(is_far);
    const double alone_s = (run.other_s * (period - 1) + run.before_s + run.after_s) / period;
    const double far_s = (far.other_s * (period - 1) + far.before_s + far.after_s) / period;
    const double least_s = tutti_plan_has_far(plan) ? fmin(alone_s, far_s) : alone_s;
    const bool in_turn = run.admission == TUTTI_ADMIT_IN_RANK_ORDER;
    *out = (tutti_prediction){.nranks = plan->config.nranks,
                              .ranks_per_core = (int)p->turns,
                              .step_s = time.step_s,
                              .compute_s = step_of_all(&run, in_turn, alone_s, 0),
                              .exchange_s = time.travels_s + run.visit_s / period,
                              .samples_per_s = (double)plan->config.batch / time.step_s,
                              .exchanged_bytes = (int64_t)(nbytes / period),
                              .visits = 1 / period,
                              .algorithm = "visits",
                              .bytes_per_rank = (int64_t)(nbytes / period)};
    out->exposed_s = fmax(0, out->step_s - out->compute_s);
    snprintf(out->bottleneck, sizeof out->bottleneck, "%s", out->exposed_s > out->compute_s ? "centre" : "compute");
    out->lower_s = step_of_all(&run, in_turn, least_s, run.visit_s / period);
    out->upper_s = step_of_all(&run, in_turn || run.is_paced, alone_s, plan->config.nranks * out->exchange_s);
    /* with slow workers the play stops in the middle of their steps, so step_s is inexact and may lie outside the
     * bounds */
    if (!slowness) return;
    out->lower_s = fmin(out->lower_s, out->step_s);
    out->upper_s = fmax(out->upper_s, out->step_s);
}
