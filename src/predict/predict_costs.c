/* SPDX-License-Identifier: Apache-2.0 */
/* predict_costs.c: costs of a plan's exchanges from simulated schedules. */
#include "predict_costs.h"

#include "../collective/simulate/simulate.h"

enum { FIRST_BYTES = 4096, GROWTH = 4 };

tutti_status tutti_predict_exchange(const tutti_plan *plan, int schedule, int64_t n, const tutti_topology *t,
                                    double *seconds, double *lower_s, tutti_failure *err)
{
    const bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    const tutti_prepared *s = &plan->schedules[schedule];
    tutti_simulation simulated = {0};
    tutti_status st = TUTTI_OK;
    if (plan->config.nranks > 1) st = tutti_simulate_schedule(host ? s->lowered : s->compiled, t, n, &simulated, err);
    *seconds = simulated.seconds;
    *lower_s = simulated.lower_s;
    return st;
}

/* Whether the exchange is told to be ready while the backward pass runs: before the rule is applied to anything. */
static bool is_early(const tutti_loop *l, int exchange)
{
    for (int i = 0; i < l->nactions && l->actions[i].kind != TUTTI_DO_APPLY; i++)
        if (l->actions[i].exchange == exchange && l->actions[i].when & TUTTI_WHEN_READY) return true;
    return false;
}

static bool tells_ready(const tutti_loop *beside, int exchange)
{
    for (int i = 0; i < beside->nactions; i++)
        if (beside->actions[i].exchange == exchange && beside->actions[i].kind == TUTTI_DO_TELL) return true;
    return false;
}

static bool is_started(const tutti_loop *l, int exchange)
{
    for (int i = 0; i < l->nactions; i++)
        if (l->actions[i].exchange == exchange && l->actions[i].kind == TUTTI_DO_START) return true;
    return false;
}

double tutti_predict_share(const tutti_plan *plan, int exchange)
{
    if (is_started(&plan->loops[TUTTI_EACH_STEP], exchange)) return 1;
    return is_started(&plan->loops[TUTTI_EACH_PERIOD], exchange) ? 1 / (double)plan->config.period : 0;
}

/* All buckets travel alike: the first stands for all. */
tutti_status tutti_predict_bucket(const tutti_plan *plan, int64_t n, const tutti_topology *t, tutti_bucket_time *out,
                                  tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    *out = (tutti_bucket_time){0};
    for (int x = 0; x < plan->nexchanges && !st; x++) {
        double seconds = 0, lower_s = 0;
        const double a_step = tutti_predict_share(plan, x);
        if (plan->exchanges[x].bucket != 0 || a_step == 0) continue;
        st = tutti_predict_exchange(plan, plan->exchanges[x].schedule, n, t, &seconds, &lower_s, err);
        out->all_s += seconds * a_step;
        if (is_early(&plan->loops[TUTTI_EACH_STEP], x) || tells_ready(&plan->loops[TUTTI_EACH_END], x))
            out->early_s += seconds;
    }
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
    tutti_bucket_time time = {0};
    tutti_status st = TUTTI_OK;
    c.exchange_bytes.values = TUTTI_ARENA_NEW(&c.arena, double, TUTTI_MAX_COST_POINTS);
    c.exchange_s.values = TUTTI_ARENA_NEW(&c.arena, double, TUTTI_MAX_COST_POINTS);
    choose_sizes(plan->total * TUTTI_ELEMENT_BYTES, &c.exchange_bytes);
    for (; c.exchange_s.n < c.exchange_bytes.n && !st; c.exchange_s.n++) {
        const int64_t n = (int64_t)c.exchange_bytes.values[c.exchange_s.n] / TUTTI_ELEMENT_BYTES;
        st = tutti_predict_bucket(plan, n, t, &time, err);
        c.exchange_s.values[c.exchange_s.n] = time.all_s;
    }
    if (t->kind != TUTTI_TOPOLOGY_HOST && time.all_s > 0)
        c.overlap = plan->config.by_need ? 1 : time.early_s / time.all_s;
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
