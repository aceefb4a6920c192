/* SPDX-License-Identifier: Apache-2.0 */
/* predict_costs.c: costs of a plan's exchanges from simulated schedules. */
#include "predict_costs.h"

#include "../collective/simulate/simulate.h"

enum { FIRST_BYTES = 4096, GROWTH = 4 };

tutti_status tutti_predict_exchange(const tutti_plan *plan, int64_t n, const tutti_topology *t,
                                    tutti_exchange_time *out, tutti_failure *err)
{
    const bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    const tutti_bucket *b = &plan->buckets[0]; /* all buckets travel by the same two schedules */
    tutti_simulation reduce = {0}, gather = {0};
    tutti_status st = TUTTI_OK;
    if (plan->config.nranks > 1) {
        st = tutti_simulate_schedule(host ? b->reduce_scatter_mapped : b->reduce_scatter, t, n, &reduce, err);
        if (!st) st = tutti_simulate_schedule(host ? b->all_gather_mapped : b->all_gather, t, n, &gather, err);
    }
    *out = (tutti_exchange_time){reduce.seconds, gather.seconds, reduce.lower_s + gather.lower_s};
    return st;
}

tutti_status tutti_predict_gate(const tutti_plan *plan, const tutti_topology *t, double *seconds, tutti_failure *err)
{
    const bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    tutti_simulation s = {0};
    tutti_status st = TUTTI_OK;
    if (plan->config.gated && plan->config.nranks > 1)
        st = tutti_simulate_schedule(host ? plan->gate.allreduce_mapped : plan->gate.allreduce, t, 1, &s, err);
    *seconds = s.seconds;
    return st;
}

/* The sizes at which exchanges are timed: rising, the last one the whole vector. */
static void choose_sizes(int64_t total_bytes, tutti_reals *out)
{
    for (int64_t bytes = FIRST_BYTES; bytes < total_bytes && out->n < TUTTI_MAX_COST_POINTS - 1; bytes *= GROWTH)
        out->values[out->n++] = (double)bytes;
    out->values[out->n++] = (double)total_bytes;
}

tutti_status tutti_predict_costs(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                 tutti_plan_costs *out, tutti_failure *err)
{
    tutti_plan_costs c = {.ranks = plan->config.nranks, .threads = plan->config.nthreads};
    tutti_exchange_time time = {0};
    tutti_status st = TUTTI_OK;
    c.exchange_bytes.values = TUTTI_ARENA_NEW(&c.arena, double, TUTTI_MAX_COST_POINTS);
    c.exchange_s.values = TUTTI_ARENA_NEW(&c.arena, double, TUTTI_MAX_COST_POINTS);
    choose_sizes(plan->total * TUTTI_ELEMENT_BYTES, &c.exchange_bytes);
    for (; c.exchange_s.n < c.exchange_bytes.n && !st; c.exchange_s.n++) {
        const int64_t n = (int64_t)c.exchange_bytes.values[c.exchange_s.n] / TUTTI_ELEMENT_BYTES;
        st = tutti_predict_exchange(plan, n, t, &time, err);
        c.exchange_s.values[c.exchange_s.n] = time.reduce_s + time.gather_s;
    }
    const double whole_s = time.reduce_s + time.gather_s;
    if (t->kind != TUTTI_TOPOLOGY_HOST && whole_s > 0) c.overlap = plan->config.by_need ? 1 : time.reduce_s / whole_s;
    c.params_s = (tutti_reals){TUTTI_ARENA_NEW(&c.arena, double, profile->nlayers), profile->nlayers};
    c.data_s = (tutti_reals){TUTTI_ARENA_NEW(&c.arena, double, profile->nlayers), profile->nlayers};
    c.sum_s = (tutti_reals){TUTTI_ARENA_NEW(&c.arena, double, profile->nlayers), profile->nlayers};
    for (int l = 0; l < profile->nlayers; l++) {
        c.sum_s.values[l] = profile->layers[l].sum_s;
        c.params_s.values[l] = profile->layers[l].params_s;
        c.data_s.values[l] = profile->layers[l].data_s;
    }
    if (st)
        tutti_plan_costs_release(&c);
    else
        *out = c;
    return st;
}
