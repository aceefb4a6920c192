/* SPDX-License-Identifier: Apache-2.0 */
/* step_update.c: updates weights: launches the rule on a bucket's parameters, after the looks at gradients and norms.
 * Parameters are many and mostly short, so several are launched together (tutti_update_work). A device compares
 * launches with those of an earlier step byte by byte, so padding in them must be zero. */
#include <math.h>
#include <string.h>

#include "../../../tensor/squares.h"
#include "step_impl.h"

/* ---- results of checks of gradients ---- */

static void look_at_numbers(const tutti_stepping *s, const int64_t *at, int n, int64_t *numbers)
{
    s->device->look(s->device, numbers, at, sizeof *numbers * (size_t)n);
}

int64_t tutti_step_count_bad(const tutti_stepping *s, int memory)
{
    int64_t bad;
    look_at_numbers(s, tutti_shared_numbers(&s->shared, memory), 1, &bad);
    return bad;
}

bool tutti_step_cut(const tutti_plan *plan, int p, int64_t *first, int64_t *end)
{
    const int64_t begin = plan->param_offset[p], last = begin + plan->graph->params[p].desc.elements;
    if (*first < begin) *first = begin;
    if (*end > last) *end = last;
    return *first < *end;
}

/* Returns a slice of the weights with their states, and with the gradients in a->from. */
static tutti_update_slice slice_at(const tutti_stepping *s, const tutti_action *a, int weights, int64_t first,
                                   int64_t n)
{
    tutti_update_slice slice;
    memset(&slice, 0, sizeof slice);
    slice.w = tutti_shared_vector(&s->shared, weights, 0) + first;
    slice.sum = tutti_shared_vector(&s->shared, a->from, 0) + first;
    slice.n = n;
    for (int i = 0; i < s->plan->config.nstates; i++)
        slice.state[i] = tutti_shared_of_role(&s->shared, TUTTI_ROLE_STATE, i) + first;
    return slice;
}

/* Returns the rule with the values for this parameter. */
static tutti_update rule_of(const tutti_stepping *s, int p)
{
    tutti_update u = s->config->update;
    u.weight_decay = s->groups[p].decay;
    return u;
}

/* ---- checks and norms of gradients and weights ---- */

static void look_at_tensor(tutti_stepping *s, const tutti_update_step *update, const tutti_action *a, int p,
                           int64_t first, int64_t n)
{
    int64_t *seen = tutti_shared_numbers(&s->shared, a->to);
    tutti_norms_work w = {.rule = s->config->update.rule,
                          .slice = slice_at(s, a, a->weights, first, n),
                          .squares = seen + tutti_plan_norms_of(s->plan, p),
                          .bad = seen};
    const tutti_update rule = rule_of(s, p);
    tutti_update_step step = *update;
    step.unscale *= a->share;
    tutti_update_prepare(&rule, &step, TUTTI_PARAM_WEIGHT, w.numbers);
    tutti_step_launch(s, TUTTI_WORK_NORMS, &w);
}

/* Returns the trust of a tensor: 1 if a norm is not finite. */
static double trust_of(const tutti_stepping *s, const tutti_update_step *step, const tutti_action *a, int p)
{
    const int64_t at = s->plan->config.norms == TUTTI_NORMS_OF_TENSORS ? tutti_plan_norms_of(s->plan, p) : -1;
    if (at < 0 || tutti_step_count_bad(s, a->norm)) return 1;
    int64_t seen[TUTTI_RULE_LOOKED];
    look_at_numbers(s, tutti_shared_numbers(&s->shared, a->norm) + at, TUTTI_RULE_LOOKED, seen);
    const tutti_update rule = rule_of(s, p);
    return tutti_update_trust(&rule, step, seen);
}

static void launch_looks(tutti_stepping *s, tutti_finite_work *w)
{
    const tutti_finite_work none = {.squares = w->squares, .bad = w->bad};
    if (w->nvectors) tutti_step_launch(s, TUTTI_WORK_FINITE, w);
    *w = none;
}

static void look_at_vector(tutti_stepping *s, tutti_finite_work *w, const float *x, int64_t n)
{
    w->x[w->nvectors] = x;
    w->n[w->nvectors++] = n;
    if (w->nvectors == TUTTI_WORK_TOGETHER) launch_looks(s, w);
}

/* Checks the elements of a look. Running statistics are checked like gradients, because an overflow in running averages
 * would never go away. */
void tutti_step_look(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a)
{
    const tutti_plan *plan = s->plan;
    const tutti_bucket *bucket = &plan->buckets[a->bucket];
    const float *sums = tutti_shared_vector(&s->shared, a->from, 0);
    int64_t *seen = tutti_shared_numbers(&s->shared, a->to);
    const bool norms = plan->config.norms == TUTTI_NORMS_OF_TENSORS;
    const tutti_clear_work clear = {seen, plan->memories[a->to].elements};
    tutti_finite_work plain = {.bad = seen}, counted = {.squares = seen + 1, .bad = seen};
    if (a->begins) tutti_step_launch(s, TUTTI_WORK_CLEAR, &clear);
    for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams; i++) {
        const int p = plan->order[i];
        const bool counts =
            plan->config.norms == TUTTI_NORM_OF_ALL && plan->graph->params[p].desc.kind != TUTTI_PARAM_STATISTIC;
        int64_t first = a->first, end = a->first + a->count;
        if (!tutti_step_cut(plan, p, &first, &end)) continue;
        if (norms && tutti_plan_norms_of(plan, p) > 0)
            look_at_tensor(s, &play->update, a, p, first, end - first);
        else
            look_at_vector(s, counts ? &counted : &plain, sums + first, end - first);
    }
    launch_looks(s, &plain), launch_looks(s, &counted);
    tutti_did(&s->account, TUTTI_DID_UPDATE, a->bucket);
}

/* Clips as torch.nn.utils.clip_grad_norm_ does, by the norm of the gradients as the rule gets them. If the norm is not
 * finite, nothing is clipped. */
double tutti_step_clip(const tutti_stepping *s, const tutti_step_common *play, const tutti_action *a)
{
    if (s->plan->config.norms != TUTTI_NORM_OF_ALL) return 1;
    int64_t seen[1 + TUTTI_SQUARES_LIMBS];
    look_at_numbers(s, tutti_shared_numbers(&s->shared, a->norm), 1 + TUTTI_SQUARES_LIMBS, seen);
    const double norm = sqrt(tutti_squares_value(seen + 1)) * play->update.unscale * a->share;
    const double clip = s->config->update.clip_norm / (norm + 1e-6);
    return seen[0] == 0 && clip < 1 ? clip : 1;
}

/* ---- updates ---- */

/* Updates that are collected until they are launched together. */
typedef struct {
    tutti_update_work updates;
    tutti_statistic_work statistics;
    tutti_event last;
} updating;

static void launch_updates(const tutti_stepping *s, updating *u)
{
    if (u->updates.nslices) u->last = tutti_work_launch(s->device, TUTTI_WORK_UPDATE, &u->updates);
    memset(&u->updates, 0, sizeof u->updates);
}

static void launch_statistics(const tutti_stepping *s, updating *u)
{
    if (u->statistics.nslices) u->last = tutti_work_launch(s->device, TUTTI_WORK_STATISTIC, &u->statistics);
    memset(&u->statistics, 0, sizeof u->statistics);
}

static void update_statistic(const tutti_stepping *s, updating *u, const tutti_action *a, double take,
                             const tutti_update_slice *slice)
{
    const tutti_plan_config *c = &s->plan->config;
    tutti_statistic_work *w = &u->statistics;
    w->nslots = c->slots ? c->slots : c->nranks * tutti_plan_naccumulated(c) / a->share;
    w->slices[w->nslices++] = (tutti_statistic_slice){take, slice->w, slice->sum, slice->n};
    if (w->nslices == TUTTI_WORK_TOGETHER) launch_statistics(s, u);
}

/* Adds the update of parameter p to those that are launched together. step: numbers of the step, with p's rate. */
static void update_param(const tutti_stepping *s, updating *u, const tutti_update_step *step, const tutti_action *a,
                         int p, const tutti_update_slice *slice)
{
    tutti_update_work *w = &u->updates;
    const int i = w->nslices++;
    w->rule = s->config->update.rule;
    w->slices[i] = *slice;
    w->varying[i].alpha = a->pulled ? tutti_centre_alpha(&s->config->centre, step->lr) : 0;
    if (w->varying[i].alpha != 0)
        w->slices[i].centre =
            tutti_shared_vector(&s->shared, a->other, 0) + (slice->w - tutti_shared_vector(&s->shared, a->to, 0));
    tutti_update_step own = *step;
    own.trust = trust_of(s, step, a, p);
    own.lr *= s->groups[p].rate;
    const tutti_update rule = rule_of(s, p);
    tutti_update_prepare(&rule, &own, s->plan->graph->params[p].desc.kind, w->varying[i].numbers);
    if (w->nslices == TUTTI_WORK_TOGETHER) launch_updates(s, u);
}

tutti_event tutti_step_update(const tutti_stepping *s, const tutti_update_step *update, double clip,
                              const tutti_action *apply)
{
    const tutti_bucket *bucket = &s->plan->buckets[apply->bucket];
    tutti_update_step step = *update;
    step.unscale *= apply->share * clip; /* the gradients are sums over one of `share` parts of the batch, but the loss
                                          * was divided by the samples of the whole batch */
    updating u;
    memset(&u, 0, sizeof u); /* a device compares launches with earlier ones, padding included */
    for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams; i++) {
        const int p = s->plan->order[i];
        const tutti_param_desc *desc = &s->plan->graph->params[p].desc;
        int64_t first = apply->first, end = apply->first + apply->count;
        if (!tutti_step_cut(s->plan, p, &first, &end)) continue;
        const tutti_update_slice slice = slice_at(s, apply, apply->to, first, end - first);
        if (desc->kind == TUTTI_PARAM_STATISTIC)
            update_statistic(s, &u, apply, desc->take, &slice);
        else
            update_param(s, &u, &step, apply, p, &slice);
    }
    launch_updates(s, &u), launch_statistics(s, &u);
    return u.last;
}
