/* SPDX-License-Identifier: Apache-2.0 */
/* choice.c: chooses algorithm, buckets, update and order of a job by predicting plans; the fastest is taken. */
#include "choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../play/timeline.h"
#include "../profile/profile.h"
#include "choice_impl.h"
#include "contestants.h"

static const double ROUNDING = 1e-3; /* a gain below this part of the step's time counts as no gain */
enum { MODES = 3, FINISHED = 4, LEAST_BUCKET = 1 << 18, ROUGH = 4 };

typedef struct {
    bool by_need, early;
} mode;

/* A contestant (an algorithm, and which ranks update) in a mode (order, and when the update runs), with the time of its
 * best plan so far. */
typedef struct {
    const tutti_contestant *way;
    mode mode;
    tutti_plan_costs costs; /* costs of this contestant's exchanges; the costs of the layers are taken from the base
                             * plan */
    double step_s;
} entry;

typedef struct {
    const tutti_choice_question *q;
    tutti_profile profile; /* seconds of the step graph's nodes; on one host without the times of kernels */
    tutti_layer_time *layers;
    tutti_choice_memory *memory;
    tutti_plan *base; /* the plan that the fixed rule makes, with the costs of layers */
    tutti_exchange_choice *out;
} search;

static bool is_host(const tutti_choice_question *q)
{
    return q->topology->kind == TUTTI_TOPOLOGY_HOST;
}

/* ---- one plan: build it, play it, keep it if it is faster ---- */

static void take(search *s, const tutti_plan *p, double step_s)
{
    tutti_exchange_choice *c = s->out;
    const tutti_plan_config *config = &p->config;
    snprintf(c->algorithm, sizeof c->algorithm, "%s", config->algorithm);
    c->bucket_bytes = config->bucket_bytes == TUTTI_BUCKET_SOONEST ? TUTTI_BUCKET_CUT : config->bucket_bytes;
    c->by_need = config->by_need, c->replicated = config->replicated, c->early = config->early;
    c->step_s = step_s;
    c->nbuckets = p->nbuckets;
    c->cut.n = 0;
    c->largest = 0;
    for (int b = 0; b < p->nbuckets; b++) {
        if (c->bucket_bytes == TUTTI_BUCKET_CUT) c->cut.values[c->cut.n++] = p->buckets[b].nparams;
        const int64_t bytes = p->buckets[b].count * (int64_t)sizeof(float);
        c->largest = bytes > c->largest ? bytes : c->largest;
    }
}

/* Plays the plan of a configuration. Returns the predicted seconds of the step, or INFINITY if there is no such
 * plan. */
static double play(search *s, const tutti_plan_config *config)
{
    tutti_plan *plan = NULL;
    tutti_prediction p = {0};
    if (tutti_plan_build(s->q->graph, config, &plan, NULL)) return INFINITY;
    s->memory->times.plan = plan;
    s->out->nplayed++;
    const bool can = !tutti_timeline_compare(&s->memory->times, &s->profile, &p, NULL) &&
                     (!s->q->most_fan_in || p.fan_in <= s->q->most_fan_in);
    if (can && p.step_s < s->out->step_s * (1 - ROUNDING)) take(s, plan, p.step_s);
    tutti_plan_destroy(plan);
    return can ? p.step_s : (double)INFINITY;
}

static tutti_plan_config config_of(const search *s, const entry *e)
{
    tutti_plan_config c = s->q->config;
    c.algorithm = e->way->algorithm;
    c.replicated = e->way->replicated;
    c.by_need = e->mode.by_need;
    c.early = e->mode.early;
    c.prove_later = c.is_draft = true;
    c.shelf = &s->memory->shelf;
    c.costs = NULL;
    return c;
}

/* ---- contestants in their modes: configurations and costs ---- */

static int list_modes(const search *s, bool replicated, mode out[MODES])
{
    static const mode all[MODES] = {{false, false}, {true, false}, {true, true}};
    const tutti_choice_question *q = s->q;
    int n = 0;
    for (int i = 0; i < MODES; i++) {
        tutti_plan_config c = q->config;
        c.by_need = all[i].by_need, c.early = all[i].early, c.replicated = replicated;
        if (!q->open.update_when && all[i].early != q->config.early) continue;
        if (!q->open.order && !all[i].early && all[i].by_need != q->config.by_need) continue;
        if (is_host(q) && q->open.order && q->open.update_when && i > 0)
            continue; /* on one host no exchange is hidden behind kernels, so one order is enough */
        if (!q->method->accept(&c, NULL)) out[n++] = all[i];
    }
    return n;
}

/* Builds a plan for the entry, and finds what its exchanges cost at sizes up to the whole vector. */
static tutti_status find_costs(search *s, entry *e, tutti_failure *err)
{
    tutti_plan_config c = config_of(s, e);
    tutti_plan *plan = NULL;
    tutti_status st = tutti_plan_build(s->q->graph, &c, &plan, err);
    if (st) return st;
    s->memory->times.plan = plan;
    st = tutti_predict_costs_by(&s->memory->times, &s->profile, &e->costs, err);
    tutti_plan_destroy(plan);
    return st;
}

/* Plays plans whose buckets are merged by costs: once with the overlap that the costs give, and once as if computing
 * could hide all exchanges. */
static void play_merged(search *s, entry *e)
{
    const double hidden = e->costs.overlap;
    tutti_plan_config c = config_of(s, e);
    c.costs = &e->costs;
    c.bucket_bytes = TUTTI_BUCKET_SOONEST;
    e->step_s = fmin(e->step_s, play(s, &c));
    if (is_host(s->q) || hidden == 1) return;
    e->costs.overlap = 1;
    e->step_s = fmin(e->step_s, play(s, &c));
    e->costs.overlap = hidden;
}

/* Plays plans with buckets of one size, each size twice the one before, and then the neighbours of the best size. */
static void play_sizes(search *s, entry *e)
{
    tutti_plan_config c = config_of(s, e);
    const int64_t total = s->base->total * (int64_t)sizeof(float);
    double best_s = INFINITY;
    int64_t best = total;
    for (int64_t n = LEAST_BUCKET; n < total; n *= 2) {
        c.bucket_bytes = n;
        const double step_s = play(s, &c);
        if (step_s < best_s) best_s = step_s, best = n;
    }
    static const double near[] = {0.7, 0.85, 1.2, 1.4};
    for (int i = 0; i < 4; i++) {
        c.bucket_bytes = (int64_t)((double)best * near[i]) >> 16 << 16;
        if (c.bucket_bytes > 0 && c.bucket_bytes < total) best_s = fmin(best_s, play(s, &c));
    }
    c.bucket_bytes = TUTTI_BUCKET_ALL;
    e->step_s = fmin(e->step_s, fmin(best_s, play(s, &c)));
}

static void play_way(search *s, entry *e, bool rough)
{
    tutti_plan_config c = config_of(s, e);
    if (!s->q->open.buckets) {
        if (rough) e->step_s = play(s, &c);
    } else if (!rough) {
        play_sizes(s, e);
    } else {
        play_merged(s, e);
        for (int64_t parts = 3, i = 0; i < ROUGH; parts *= 4, i++) {
            c.bucket_bytes = s->base->total * (int64_t)sizeof(float) / parts;
            e->step_s = fmin(e->step_s, play(s, &c));
        }
    }
}

/* ---- the search ---- */

/* Plays plans of every contestant in every mode with a few bucket sizes, then those of the fastest few with all
 * sizes. */
static void play_ways(search *s, const tutti_contestants *ways)
{
    entry entries[TUTTI_MOST_CONTESTANTS * MODES];
    int n = 0;
    for (int w = 0; w < ways->n; w++) {
        mode modes[MODES];
        const int nmodes = list_modes(s, ways->list[w].replicated, modes);
        for (int m = 0; m < nmodes; m++) {
            entry *e = &entries[n];
            *e = (entry){.way = &ways->list[w], .mode = modes[m], .step_s = INFINITY};
            if (s->q->open.buckets && find_costs(s, e, NULL)) continue;
            play_way(s, e, true);
            n++;
        }
    }
    for (int k = 0; k < FINISHED && k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (entries[i].step_s < entries[best].step_s) best = i;
        const entry taken = entries[best];
        entries[best] = entries[k], entries[k] = taken;
        if (isfinite(entries[k].step_s)) play_way(s, &entries[k], false);
    }
    for (int i = 0; i < n; i++) tutti_plan_costs_release(&entries[i].costs);
}

/* Copies the profile into the search. On one host, kernels take the same time whatever is chosen, so their times are
 * left out. The seconds of an update then follow from the host's rate of adding. */
static void take_profile(search *s)
{
    const tutti_choice_question *q = s->q;
    s->profile = *q->profile;
    if (!is_host(q)) return;
    s->layers = tutti_alloc(sizeof *s->layers * (size_t)(q->profile->nlayers + 1));
    s->profile.layers = s->layers;
    s->profile.load_s_per_sample = 0;
    s->profile.update_s_per_element = 20 / q->topology->figure[TUTTI_FIGURE_ADD];
}

/* Returns plan costs that have the times of layers only, so that a plan made with them knows when its gradients are
 * ready. */
static tutti_plan_costs layer_costs(const search *s)
{
    const tutti_profile *p = &s->profile;
    const int n = p->nlayers;
    tutti_plan_costs c = {.ranks = s->q->config.nranks, .threads = s->q->config.nthreads};
    c.exchange_bytes = (tutti_reals){TUTTI_ARENA_NEW(&c.arena, double, 1), 1};
    c.exchange_s = (tutti_reals){TUTTI_ARENA_NEW(&c.arena, double, 1), 1};
    c.exchange_bytes.values[0] = LEAST_BUCKET;
    c.params_s = (tutti_reals){TUTTI_ARENA_NEW(&c.arena, double, n), n};
    c.data_s = (tutti_reals){TUTTI_ARENA_NEW(&c.arena, double, n), n};
    c.sum_s = (tutti_reals){TUTTI_ARENA_NEW(&c.arena, double, n), n};
    for (int l = 0; l < n; l++) {
        c.params_s.values[l] = p->layers[l].params_s;
        c.data_s.values[l] = p->layers[l].data_s;
        c.sum_s.values[l] = p->layers[l].sum_s;
    }
    return c;
}

static tutti_status make_base(search *s, tutti_failure *err)
{
    const tutti_plan_config *q = &s->q->config;
    tutti_contestant way = {.replicated = q->replicated};
    const entry rule = {.way = &way, .mode = {q->by_need, q->early}};
    tutti_plan_costs costs = layer_costs(s);
    snprintf(way.algorithm, sizeof way.algorithm, "%s", q->algorithm);
    tutti_plan_config c = config_of(s, &rule);
    c.costs = &costs;
    const tutti_status st = tutti_plan_build(s->q->graph, &c, &s->base, err);
    tutti_plan_costs_release(&costs);
    if (st) return st;
    c.costs = NULL;
    s->out->step_s = INFINITY;
    (void)play(s, &c); /* play returns INFINITY if the plan has more messages than may be simulated */
    return TUTTI_OK;
}

static bool is_open(const tutti_open_keys *open)
{
    return open->algorithm || open->buckets || open->order || open->update || open->update_when || open->layers;
}

static tutti_status find(search *s, bool brief, tutti_failure *err)
{
    tutti_exchange_choice rule;
    tutti_contestants ways;
    tutti_status st = make_base(s, err);
    if (st || brief || tutti_plan_is_async(s->base)) return st;
    if (!tutti_plan_is_between_all(s->base) && !s->q->graph->nsplit) return st;
    rule = *s->out; /* keeps the choice by the fixed rule, whose buckets never need a list of cuts */
    tutti_contestants_find(s->q, s->base, s->memory, &ways);
    play_ways(s, &ways);
    s->out->nsimulated = ways.nsimulated;
    s->out->is_chosen = isfinite(s->out->step_s);
    if (isfinite(rule.step_s) && s->out->step_s > rule.step_s * (1 - s->q->margin)) {
        rule.nplayed = s->out->nplayed, rule.nsimulated = s->out->nsimulated;
        rule.cut.values = s->out->cut.values; /* keep the pointer to the list of cuts, so that its memory is released
                                               * later */
        rule.is_chosen = true;
        *s->out = rule;
    }
    return TUTTI_OK;
}

void tutti_choice_memory_release(tutti_choice_memory *m)
{
    tutti_contestants_forget(m);
    tutti_exchange_times_release(&m->times);
    tutti_plan_shelf_release(&m->shelf);
    *m = (tutti_choice_memory){0};
}

/* Empties the memory if its contents are of another machine, or of sums of another kind. */
static void recall(search *s)
{
    const tutti_choice_question *q = s->q;
    const tutti_plan_config *now = &q->config;
    tutti_choice_memory *m = s->memory;
    const tutti_plan_config *was = &m->config;
    if (memcmp(&m->topology, q->topology, sizeof m->topology) || m->most_fan_in != q->most_fan_in ||
        was->nranks != now->nranks || was->slots != now->slots || was->sent != now->sent ||
        was->rounds_each != now->rounds_each)
        tutti_choice_memory_release(m);
    memcpy(&m->topology, q->topology, sizeof m->topology);
    m->most_fan_in = q->most_fan_in;
    m->config = (tutti_plan_config){
        .nranks = now->nranks, .slots = now->slots, .sent = now->sent, .rounds_each = now->rounds_each};
    m->times.topology = &m->topology;
    m->times.by_lines = true;
}

tutti_status tutti_choice_search(const tutti_choice_question *q, bool brief, tutti_exchange_choice *out,
                                 tutti_failure *err)
{
    search s = {.q = q, .memory = q->memory, .out = out};
    *out = (tutti_exchange_choice){0};
    out->cut.values = tutti_alloc(sizeof *out->cut.values * (size_t)(q->graph->nparams + 1));
    take_profile(&s);
    recall(&s);
    const tutti_status st = find(&s, brief, err);
    tutti_plan_destroy(s.base);
    free(s.layers);
    if (st) tutti_exchange_choice_release(out);
    return st;
}

tutti_status tutti_choose_exchange(const tutti_choice_question *q, tutti_exchange_choice *out, tutti_failure *err)
{
    tutti_choice_memory own = {0};
    tutti_choice_question remembering = *q;
    *out = (tutti_exchange_choice){0};
    tutti_status st = tutti_topology_fits(q->topology, q->config.nranks, err);
    if (st || q->config.nranks == 1 || q->graph->nsplit || q->method->is_async || !is_open(&q->open)) return st;
    if (!q->memory) remembering.memory = &own;
    st = tutti_choice_search(&remembering, false, out, err);
    if (!st && q->open.layers && out->is_chosen) tutti_choice_share(&remembering, out);
    tutti_choice_memory_release(&own);
    return st;
}

void tutti_exchange_choice_release(tutti_exchange_choice *c)
{
    free(c->cut.values);
    free(c->shared);
    *c = (tutti_exchange_choice){0};
}
