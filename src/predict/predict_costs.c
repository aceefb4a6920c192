/* SPDX-License-Identifier: Apache-2.0 */
/* predict_costs.c: predicts the costs of a plan's exchanges from simulated schedules. */
#include "profile/profile.h"

enum { FIRST_BYTES = 4096, GROWTH = 4 };

/* True if the exchange becomes ready while the backward pass runs, before the update rule is applied to anything. */
static bool is_early(const tutti_loop *l, int exchange)
{
    for (int i = 0; i < l->nactions && !tutti_action_updates(&l->actions[i]); i++)
        if (l->actions[i].exchange == exchange && l->actions[i].when & TUTTI_WHEN_READY) return true;
    return false;
}

static bool tells_ready(const tutti_loop *beside, int exchange)
{
    for (int i = 0; i < beside->nactions; i++)
        if (beside->actions[i].exchange == exchange && tutti_action_tells(&beside->actions[i])) return true;
    return false;
}

double tutti_predict_share(const tutti_plan *plan, int exchange)
{
    const unsigned drivers = plan->exchanges[exchange].drivers;
    if (drivers >> TUTTI_EACH_STEP & 1) return 1;
    return drivers >> TUTTI_EACH_PERIOD & 1 ? 1 / (double)plan->config.period : 0;
}

/* True if the exchange is one of the first bucket's. The exchanges of all buckets are alike, so the first bucket
 * represents all. */
static bool is_of_first(const tutti_plan *plan, int exchange)
{
    const int first = tutti_plan_common_bucket(plan);
    return first >= 0 && plan->exchanges[exchange].bucket == first && tutti_predict_share(plan, exchange) > 0;
}

static tutti_bucket_time add_up(const tutti_plan *plan, int rank, const tutti_loop *loops, const double *seconds)
{
    tutti_bucket_time out = {0};
    for (int x = 0; x < plan->nexchanges; x++) {
        if (!is_of_first(plan, x) || tutti_plan_place(&plan->exchanges[x], rank) < 0) continue;
        out.all_s += seconds[x] * tutti_predict_share(plan, x);
        if (is_early(&loops[TUTTI_EACH_STEP], x) || tells_ready(&loops[TUTTI_EACH_END], x)) out.early_s += seconds[x];
    }
    return out;
}

tutti_status tutti_predict_bucket(tutti_exchange_times *times, int64_t n, tutti_bucket_time *out, tutti_failure *err)
{
    const tutti_plan *plan = times->plan;
    tutti_simulation simulated;
    tutti_status st = TUTTI_OK;
    tutti_arena work = {0};
    double *seconds = TUTTI_ARENA_NEW(&work, double, plan->nexchanges + 1);
    for (int x = 0; x < plan->nexchanges && !st; x++) {
        if (!is_of_first(plan, x)) continue;
        st = tutti_exchange_times_at(times, x, n, &simulated, err);
        seconds[x] = simulated.seconds;
    }
    *out = st ? (tutti_bucket_time){0} : add_up(plan, plan->config.rank, plan->loops, seconds);
    /* true if the exchanges of all ranks are alike; also if groups share layers: the buckets of the other layers are
     * alike */
    const bool are_alike = tutti_plan_is_between_all(plan) || plan->graph->nsplit;
    for (int r = 0; r < plan->config.nranks && !st && !are_alike; r++) {
        tutti_loop loops[TUTTI_NDRIVERS];
        tutti_plan_list_loops(plan, r, &work, loops);
        const tutti_bucket_time own = add_up(plan, r, loops, seconds);
        if (own.all_s > out->all_s) *out = own;
    }
    tutti_arena_release(&work);
    return st;
}

/* Returns the split layer that an exchange is for, or -1. */
static int split_layer_of(const tutti_plan *plan, const tutti_plan_exchange *x)
{
    if (x->is_travel) return plan->graph->nodes[x->node].layer;
    if (x->bucket < 0 || plan->buckets[x->bucket].parts == 1) return -1;
    return plan->graph->params[plan->order[plan->buckets[x->bucket].first_param]].layer;
}

tutti_split_time tutti_predict_split(const tutti_plan *plan, int rank, int layer, const double *seconds)
{
    tutti_split_time out = {0};
    for (int i = 0; i < plan->nexchanges; i++) {
        const tutti_plan_exchange *x = &plan->exchanges[i];
        const int of = split_layer_of(plan, x);
        const double share = tutti_predict_share(plan, i);
        if (of < 0 || (layer >= 0 && of != layer) || share == 0 || tutti_plan_place(x, rank) < 0) continue;
        const bool swaps = tutti_schedule_head(plan->schedules[x->schedule].compiled)->collective == TUTTI_ALL_TO_ALL;
        const int64_t n = x->count / (swaps ? x->nmembers : 1);
        *(x->is_travel ? &out.travel_s : &out.params_s) += seconds[i] * share;
        out.received_bytes += n / x->nmembers * (x->nmembers - 1) * TUTTI_ELEMENT_BYTES;
    }
    return out;
}

/* Chooses the sizes at which exchanges are timed, in ascending order; the last is the whole vector. */
static void choose_sizes(int64_t total_bytes, tutti_reals *out)
{
    for (int64_t bytes = FIRST_BYTES; bytes < total_bytes && out->n < TUTTI_MAX_COST_POINTS - 1; bytes *= GROWTH)
        out->values[out->n++] = (double)bytes;
    out->values[out->n++] = (double)total_bytes;
}

tutti_status tutti_predict_costs_by(tutti_exchange_times *times, const tutti_profile *profile, tutti_plan_costs *out,
                                    tutti_failure *err)
{
    const tutti_plan *plan = times->plan;
    tutti_plan_costs c = {.ranks = plan->config.nranks, .threads = plan->config.nthreads};
    tutti_bucket_time time = {0};
    tutti_status st = TUTTI_OK;
    c.exchange_bytes.values = TUTTI_ARENA_NEW(&c.arena, double, TUTTI_MAX_COST_POINTS);
    c.exchange_s.values = TUTTI_ARENA_NEW(&c.arena, double, TUTTI_MAX_COST_POINTS);
    choose_sizes(plan->total * TUTTI_ELEMENT_BYTES, &c.exchange_bytes);
    for (; c.exchange_s.n < c.exchange_bytes.n && !st; c.exchange_s.n++) {
        const int64_t n = (int64_t)c.exchange_bytes.values[c.exchange_s.n] / TUTTI_ELEMENT_BYTES;
        st = tutti_predict_bucket(times, n, &time, err);
        c.exchange_s.values[c.exchange_s.n] = time.all_s;
    }
    if (times->topology->kind != TUTTI_TOPOLOGY_HOST && time.all_s > 0)
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

tutti_status tutti_predict_costs(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                 tutti_plan_costs *out, tutti_failure *err)
{
    tutti_exchange_times times = {.plan = plan, .topology = t};
    const tutti_status st = tutti_predict_costs_by(&times, profile, out, err);
    tutti_exchange_times_release(&times);
    return st;
}
