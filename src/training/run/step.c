/* SPDX-License-Identifier: Apache-2.0 */
/* step.c: plays the actions of a loop. The plan has decided everything; here pointers are filled in and calls are made.
 *
 * Invariants (proved by tutti_plan_check from the same actions): whoever reads or writes a memory does so when nobody else may write it,
 * and a wait stands before whatever needs the end of an exchange. */
#include <math.h>
#include <string.h>

#include "../../tensor/convert.h"
#include "../../tensor/elementwise.h"
#include "../../tensor/squares.h"
#include "train_impl.h"

/* What all actions of one step share. */
typedef struct {
    const tutti_batch *batch;
    tutti_update_step update;
    bool stop; /* this rank was asked to */
    bool ends_period;
    bool skips;  /* some rank has seen a gradient that is not finite: no update */
    double clip; /* what gradients are multiplied by, to be no longer than asked for; 0 = not known yet */
    char *arena;
} step_play;

/* Of a value, a gradient, a saved state; i < 0: there is none. */
static void *place(const step_play *play, const int64_t *offsets, int i)
{
    return i < 0 || offsets[i] < 0 ? NULL : play->arena + offsets[i];
}

/* Where a slot's part of a parameter's gradient goes. */
static float *gradient(const tutti_trainer *t, int copy, int param)
{
    return tutti_shared_vector(&t->shared, tutti_plan_gradient_memory(t->plan, param), copy) +
           t->plan->param_offset[param];
}

static float *value(const tutti_trainer *t, int param)
{
    return tutti_shared_vector(&t->shared, tutti_plan_value_memory(t->plan, param), 0) + t->plan->param_offset[param];
}

/* Where the kernel leaves the gradient of a frozen parameter: in its scratch, or nowhere. */
static float *unwanted(const tutti_graph *g, int param, void *scratch)
{
    const int64_t at = tutti_graph_unwanted_at(g, param);
    return at < 0 || !scratch ? NULL : (float *)(void *)((char *)scratch + at);
}

static void fill_params(const tutti_trainer *t, int layer, int copy, tutti_kernel_args *args)
{
    const tutti_graph *g = t->plan->graph;
    for (int p = 0; p < g->nparams; p++) {
        if (g->params[p].layer != layer) continue;
        int64_t first, n;
        tutti_plan_part(t->plan, p, t->rank, &first, &n);
        first -= t->plan->param_offset[p];
        args->param[g->params[p].ordinal] = value(t, p) + first;
        args->dparam[g->params[p].ordinal] =
            g->params[p].is_frozen ? unwanted(g, p, args->scratch) : gradient(t, copy, p) + first;
    }
}

static void fill_values(const tutti_trainer *t, const step_play *play, const tutti_action *a, tutti_kernel_args *args)
{
    const tutti_plan *plan = t->plan;
    const int l = plan->graph->nodes[a->node].layer;
    const tutti_layer *layer = &plan->graph->model->layers[l];
    const tutti_shape sample = plan->graph->model->input;
    const float *samples = play->batch->samples + a->slot * plan->samples_per_call * tutti_shape_count(&sample);
    const tutti_layer_grads *grads = &plan->graph->layer_grads[l];
    const unsigned passed = plan->graph->kernels[l].passes_gradient;
    for (int i = 0; i < layer->nin; i++) {
        args->in[i] = layer->in[i] < 0 ? samples : place(play, plan->value_offset, layer->in[i]);
        args->din[i] = passed >> i & 1 ? NULL : place(play, plan->grad_offset, grads->in[i]);
    }
    args->out = place(play, plan->value_offset, l);
    args->dout = place(play, plan->grad_offset, grads->out);
    args->ndout_parts = grads->takes_parts ? grads->nparts : 0;
    for (int i = 0; i < args->ndout_parts; i++) args->dout_parts[i] = place(play, plan->grad_offset, grads->parts[i]);
    args->saved = place(play, plan->saved_offset, l);
    args->scratch = place(play, plan->scratch_offset, a->node);
}

/* The main loss counts right answers; whether this rank asks to stop rides along. */
static void finish_loss(const tutti_trainer *t, const step_play *play, const tutti_action *a, int32_t correct)
{
    *gradient(t, a->dst, t->correct) = (float)correct;
    *gradient(t, a->dst, t->stop) = play->stop ? 1 : 0;
}

static void run_kernel(tutti_trainer *t, const step_play *play, const tutti_action *a)
{
    static const tutti_doing doing[TUTTI_NNODE_KINDS] = {[TUTTI_NODE_FORWARD] = TUTTI_DID_FORWARD,
                                                         [TUTTI_NODE_BACKWARD_PARAMS] = TUTTI_DID_BACKWARD_PARAMS,
                                                         [TUTTI_NODE_BACKWARD_DATA] = TUTTI_DID_BACKWARD_DATA};
    const tutti_plan *plan = t->plan;
    const tutti_node *node = &plan->graph->nodes[a->node];
    tutti_kernel *k = &plan->graph->kernels[node->layer];
    int32_t correct = 0;
    tutti_kernel_args args = {.training = true,
                              .seed = t->config->seed,
                              .step = (uint64_t)play->batch->step,
                              .first_sample = (uint64_t)(play->batch->first + a->slot * plan->samples_per_call),
                              .layer = (uint32_t)plan->graph->model->layers[node->layer].number,
                              .labels = play->batch->labels + a->slot * plan->samples_per_call,
                              .loss_scale = (float)(t->scale.scale / (double)plan->config.batch),
                              .loss = k->op->is_loss ? gradient(t, a->dst, t->loss) +
                                                           tutti_graph_loss_number(plan->graph, node->layer)
                                                     : NULL,
                              .correct = &correct};
    fill_values(t, play, a, &args);
    fill_params(t, node->layer, a->dst, &args);
    if (tutti_graph_split_of(plan->graph, node->layer) >= 0) tutti_split_bind(t, node, &args);
    switch (node->kind) {
    case TUTTI_NODE_FORWARD: k->row->forward(k, &args); break;
    case TUTTI_NODE_BACKWARD_PARAMS: k->row->backward_params(k, &args); break;
    default: k->row->backward_data(k, &args); break;
    }
    if (node->kind == TUTTI_NODE_FORWARD && node->layer == plan->graph->model->nlayers - 1)
        finish_loss(t, play, a, correct);
    tutti_did(&t->account, doing[node->kind], node->layer);
    tutti_exchange_progress(t->group); /* what travels meanwhile gets its turn */
    tutti_did(&t->account, TUTTI_DID_EXCHANGE, 0);
}

static void sum_gradients(tutti_trainer *t, const step_play *play, int layer)
{
    const tutti_plan *plan = t->plan;
    const tutti_layer_grads *own = &plan->graph->layer_grads[layer];
    const void *parts[TUTTI_MAX_SUM_PARTS];
    for (int i = 0; i < own->nparts; i++) parts[i] = place(play, plan->grad_offset, own->parts[i]);
    tutti_value_sum(&plan->graph->kernels[layer].out, parts, own->nparts, place(play, plan->grad_offset, own->out),
                    plan->config.nthreads);
    tutti_did(&t->account, TUTTI_DID_SUM, layer);
}

static void move(tutti_trainer *t, const step_play *play, const tutti_action *a)
{
    const tutti_node *node = &t->plan->graph->nodes[a->node];
    tutti_kernel_args activations = {.training = true};
    fill_values(t, play, a, &activations);
    tutti_split_move(t, node, &activations);
    tutti_did(&t->account, TUTTI_DID_MOVE, node->layer);
}

static void fold(tutti_trainer *t, const tutti_action *a)
{
    const tutti_plan *plan = t->plan;
    const tutti_bucket *b = a->bucket == TUTTI_CONTROL_BUCKET ? &plan->control : &plan->buckets[a->bucket];
    const int memory = tutti_plan_gradient_memory(plan, plan->order[b->first_param]);
    tutti_elementwise_add(tutti_shared_vector(&t->shared, memory, a->dst) + b->offset,
                          tutti_shared_vector(&t->shared, memory, a->src) + b->offset, b->count);
    tutti_did(&t->account, TUTTI_DID_FOLD, a->bucket == TUTTI_CONTROL_BUCKET ? plan->nbuckets : a->bucket);
}

/* ---- the rule: a look, an update ---- */

/* Elements [*first, *end) of the packed vector that belong to parameter p; false if there are none. */
static bool cut_to_param(const tutti_plan *plan, int p, int64_t *first, int64_t *end)
{
    const int64_t begin = plan->param_offset[p], last = begin + plan->graph->params[p].desc.elements;
    if (*first < begin) *first = begin;
    if (*end > last) *end = last;
    return *first < *end;
}

/* Elements of the weights with their states, and with the gradients in a->from. */
static tutti_update_slice slice_at(const tutti_trainer *t, const tutti_action *a, int weights, int64_t first, int64_t n)
{
    tutti_update_slice slice = {.w = tutti_shared_vector(&t->shared, weights, 0) + first,
                                .sum = tutti_shared_vector(&t->shared, a->from, 0) + first,
                                .n = n};
    for (int i = 0; i < t->plan->config.nstates; i++)
        slice.state[i] = tutti_shared_of_role(&t->shared, TUTTI_ROLE_STATE, i) + first;
    return slice;
}

/* The rule as it is for this parameter. */
static tutti_update rule_of(const tutti_trainer *t, int p)
{
    tutti_update u = t->config->update;
    u.weight_decay = t->groups[p].decay;
    return u;
}

static bool look_at_tensor(const tutti_trainer *t, const tutti_update_step *update, const tutti_action *a, int p,
                           int64_t first, int64_t n)
{
    const tutti_update_slice slice = slice_at(t, a, a->weights, first, n);
    tutti_update_step step = *update;
    step.unscale *= a->share;
    const tutti_update rule = rule_of(t, p);
    return tutti_update_look(&rule, &step, &slice,
                             tutti_shared_numbers(&t->shared, a->to) + tutti_plan_norms_of(t->plan, p));
}

/* Of norms that are no numbers nothing is made. */
static double trust_of(const tutti_trainer *t, const tutti_update_step *step, const tutti_action *a, int p)
{
    const int64_t at = t->plan->config.norms == TUTTI_NORMS_OF_TENSORS ? tutti_plan_norms_of(t->plan, p) : -1;
    const int64_t *seen = at < 0 ? NULL : tutti_shared_numbers(&t->shared, a->norm);
    const tutti_update rule = rule_of(t, p);
    return !seen || seen[0] ? 1 : tutti_update_trust(&rule, step, seen + at);
}

/* Statistics are looked at like gradients: what an overflow makes of running averages would never go away. */
static void look(tutti_trainer *t, const step_play *play, const tutti_action *a)
{
    const tutti_plan *plan = t->plan;
    const tutti_bucket *bucket = &plan->buckets[a->bucket];
    const float *sums = tutti_shared_vector(&t->shared, a->from, 0);
    int64_t *seen = tutti_shared_numbers(&t->shared, a->to);
    const bool norms = plan->config.norms == TUTTI_NORMS_OF_TENSORS;
    bool finite = true;
    if (a->begins) memset(seen, 0, sizeof *seen * (size_t)plan->memories[a->to].elements);
    for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams; i++) {
        const int p = plan->order[i];
        const bool counts =
            plan->config.norms == TUTTI_NORM_OF_ALL && plan->graph->params[p].desc.kind != TUTTI_PARAM_STATISTIC;
        int64_t first = a->first, end = a->first + a->count;
        if (!cut_to_param(plan, p, &first, &end)) continue;
        if (norms && tutti_plan_norms_of(plan, p) > 0)
            finite &= look_at_tensor(t, &play->update, a, p, first, end - first);
        else
            finite &= counts ? tutti_squares_add(sums + first, end - first, seen + 1)
                             : tutti_elementwise_is_finite(sums + first, end - first);
    }
    *seen += !finite;
    tutti_did(&t->account, TUTTI_DID_UPDATE, a->bucket);
}

/* As torch.nn.utils.clip_grad_norm_, of the gradients as the rule gets them. Nothing is clipped by a norm that is no number. */
static double clip_of(const tutti_trainer *t, const step_play *play, const tutti_action *a)
{
    if (t->plan->config.norms != TUTTI_NORM_OF_ALL) return 1;
    const int64_t *seen = tutti_shared_numbers(&t->shared, a->norm);
    const double norm = sqrt(tutti_squares_value(seen + 1)) * play->update.unscale * a->share;
    const double clip = t->config->update.clip_norm / (norm + 1e-6);
    return seen[0] == 0 && clip < 1 ? clip : 1;
}

static void update_param(const tutti_trainer *t, const tutti_update_step *update, double clip, const tutti_action *a,
                         int p)
{
    const tutti_plan *plan = t->plan;
    const tutti_param *param = &plan->graph->params[p];
    int64_t first = a->first, end = a->first + a->count;
    if (!cut_to_param(plan, p, &first, &end)) return;
    tutti_update_slice slice = slice_at(t, a, a->to, first, end - first);
    if (param->desc.kind == TUTTI_PARAM_STATISTIC) {
        const int nslots = plan->config.slots ? plan->config.slots
                                              : plan->config.nranks * tutti_plan_naccumulated(&plan->config) / a->share;
        tutti_update_statistic(param->desc.take, nslots, slice.w, slice.sum, slice.n);
    } else {
        slice.alpha = a->pulled ? tutti_centre_alpha(&t->config->centre, update->lr) : 0;
        if (slice.alpha != 0) slice.centre = tutti_shared_vector(&t->shared, a->centre, 0) + first;
        tutti_update_step step = *update;
        step.unscale *= a->share * clip; /* the loss was divided by the samples of the whole batch */
        step.trust = trust_of(t, &step, a, p);
        step.lr *= t->groups[p].rate;
        const tutti_update rule = rule_of(t, p);
        tutti_update_apply(&rule, &step, param->desc.kind, &slice);
    }
}

void tutti_step_update(const tutti_trainer *t, const tutti_update_step *update, double clip, const tutti_action *apply)
{
    const tutti_bucket *bucket = &t->plan->buckets[apply->bucket];
    for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams; i++)
        update_param(t, update, clip, apply, t->plan->order[i]);
}

static void apply(tutti_trainer *t, step_play *play, const tutti_action *a)
{
    if (t->plan->config.only_finite && *tutti_shared_numbers(&t->shared, a->verdict) > 0) play->skips = true;
    if (play->clip == 0) play->clip = a->norm >= 0 ? clip_of(t, play, a) : 1;
    const bool is_common = t->plan->memories[a->to].is_common;
    const int64_t begun = is_common ? tutti_visits_change_begin(t->visits, a->bucket) : 0;
    if (!play->skips) tutti_step_update(t, &play->update, play->clip, a);
    if (is_common) tutti_visits_change_end(t->visits, a->bucket, begun);
    tutti_did(&t->account, is_common ? TUTTI_DID_CENTRE : TUTTI_DID_UPDATE, a->bucket);
}

/* ---- the centre ---- */

static void move_param(const tutti_trainer *t, const step_play *play, const tutti_action *a, int p)
{
    const tutti_plan *plan = t->plan;
    const tutti_centre *rule = &t->config->centre;
    int64_t first = a->first, end = a->first + a->count;
    if (!cut_to_param(plan, p, &first, &end)) return;
    float *centre = tutti_shared_vector(&t->shared, a->to, 0) + first;
    float *from = tutti_shared_vector(&t->shared, a->from, 0) + first;
    const bool counts = plan->graph->params[p].desc.kind != TUTTI_PARAM_STATISTIC;
    if (a->kind == TUTTI_DO_MEET) /* running statistics: each worker brings its part of their mean */
        tutti_centre_meet(counts ? tutti_centre_alpha(rule, play->update.lr) : 1 / (float)plan->config.nranks, centre,
                          from, tutti_shared_vector(&t->shared, a->centre, 0) + first, end - first);
    else if (a->kind == TUTTI_DO_OUTER && counts)
        tutti_centre_outer(rule, centre, tutti_shared_of_role(&t->shared, TUTTI_ROLE_CENTRE, 1) + first, from,
                           end - first);
    else if (a->kind == TUTTI_DO_OUTER)
        tutti_centre_mean(1, centre, from, end - first);
    else if (counts)
        tutti_centre_elastic(tutti_centre_alpha(rule, play->update.lr), plan->config.nranks, centre, from, end - first);
    else
        tutti_centre_mean(plan->config.nranks, centre, from, end - first);
}

/* Workers that skip a step are not pulled in it, so the centre stays too: what one end gives the other gets. */
static void move_centre(tutti_trainer *t, const step_play *play, const tutti_action *a)
{
    const tutti_bucket *bucket = &t->plan->buckets[a->bucket];
    const bool stays = play->skips && a->kind == TUTTI_DO_ELASTIC;
    for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams && !stays; i++)
        move_param(t, play, a, t->plan->order[i]);
    tutti_did(&t->account, TUTTI_DID_CENTRE, a->bucket);
}

static void meet_centre(tutti_trainer *t, const step_play *play, const tutti_action *a)
{
    const int64_t begun = tutti_visits_change_begin(t->visits, a->bucket);
    move_centre(t, play, a);
    tutti_visits_change_end(t->visits, a->bucket, begun);
}

static void copy(tutti_trainer *t, const tutti_action *a)
{
    tutti_centre_read(tutti_shared_vector(&t->shared, a->from, 0) + a->first,
                      tutti_shared_vector(&t->shared, a->to, 0) + a->first, a->count);
    tutti_did(&t->account, TUTTI_DID_CENTRE, a->bucket);
}

/* One of the two is f32. */
static void convert(tutti_trainer *t, const tutti_action *a)
{
    const tutti_dtype from = t->plan->memories[a->from].type, to = t->plan->memories[a->to].type;
    const char *in = t->shared.memory[a->from] + (size_t)a->first * tutti_dtype_bytes(from);
    char *out = t->shared.memory[a->to] + (size_t)a->first * tutti_dtype_bytes(to);
    if (to == TUTTI_F32)
        tutti_convert_to_f32(from, in, (float *)(void *)out, a->count);
    else
        tutti_convert_from_f32(to, (const float *)(const void *)in, out, a->count);
    tutti_did(&t->account, TUTTI_DID_CONVERT, a->bucket);
}

/* The rule's states lie with the centre and have seen all visits, or they are the rank's own. */
static int64_t count_updates(const tutti_trainer *t)
{
    const int state = tutti_plan_find_memory(t->plan, TUTTI_ROLE_STATE, 0);
    const bool is_common = state >= 0 && t->plan->memories[state].is_common;
    return t->earlier_updates +
           (is_common ? t->first_step * t->nranks + tutti_visits_count(t->visits) : t->local_steps);
}

/* Whoever is let in knows how often the states that lie there were updated before. */
static tutti_status wait_to_visit(tutti_trainer *t, step_play *play, tutti_action_kind kind, tutti_failure *err)
{
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    const tutti_status st =
        kind == TUTTI_DO_PACE ? tutti_visits_pace(t->visits, err) : tutti_visits_enter(t->visits, err);
    tutti_did(&t->account, TUTTI_DID_VISIT, 0);
    if (!st && kind == TUTTI_DO_ENTER) play->update.nupdates = count_updates(t) + 1;
    return st;
}

/* ---- actions ---- */

static tutti_status wait_for(tutti_trainer *t, int x, tutti_failure *err)
{
    if (!t->shared.in_flight[x]) return TUTTI_OK;
    const tutti_status st = tutti_shared_wait(&t->shared, x, err);
    tutti_did(&t->account, TUTTI_DID_WAIT, x);
    if (st) return st;
    tutti_travelled(&t->account, x, t->shared.exchange[x]);
    tutti_beside_ended(t, x);
    return TUTTI_OK;
}

tutti_status tutti_step_wait_all(tutti_trainer *t, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    for (int x = 0; x < t->plan->nexchanges && !st; x++) st = wait_for(t, x, err);
    return st;
}

static void run_node(tutti_trainer *t, const step_play *play, const tutti_action *a)
{
    const tutti_node *node = &t->plan->graph->nodes[a->node];
    if (node->kind == TUTTI_NODE_SUM)
        sum_gradients(t, play, node->layer);
    else if (node->kind == TUTTI_NODE_MOVE)
        move(t, play, a);
    else
        run_kernel(t, play, a);
}

static tutti_status play_action(tutti_trainer *t, step_play *play, const tutti_action *a, tutti_failure *err)
{
    switch (a->kind) {
    case TUTTI_DO_KERNEL: run_node(t, play, a); break;
    case TUTTI_DO_FOLD: fold(t, a); break;
    case TUTTI_DO_START:
        tutti_beside_starts(t, a->exchange, &play->update);
        tutti_shared_start(&t->shared, a->exchange, a->when);
        tutti_did(&t->account, TUTTI_DID_EXCHANGE, 0);
        break;
    case TUTTI_DO_TELL:
        tutti_exchange_tell(t->shared.exchange[a->exchange], a->when);
        tutti_did(&t->account, TUTTI_DID_EXCHANGE, 0);
        break;
    case TUTTI_DO_WAIT: return wait_for(t, a->exchange, err);
    case TUTTI_DO_LOOK: look(t, play, a); break;
    case TUTTI_DO_APPLY: apply(t, play, a); break;
    case TUTTI_DO_ELASTIC:
    case TUTTI_DO_OUTER: move_centre(t, play, a); break;
    case TUTTI_DO_PACE:
    case TUTTI_DO_ENTER: return wait_to_visit(t, play, a->kind, err);
    case TUTTI_DO_LEAVE: tutti_visits_leave(t->visits); break;
    case TUTTI_DO_MEET: meet_centre(t, play, a); break;
    case TUTTI_DO_COPY: copy(t, a); break;
    case TUTTI_DO_CONVERT: convert(t, a); break;
    case TUTTI_NACTIONS: break;
    }
    return TUTTI_OK;
}

static tutti_status play_loop(tutti_trainer *t, tutti_loop_driver driver, step_play *play, tutti_failure *err)
{
    const tutti_loop *l = &t->plan->loops[driver];
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < l->nactions && !st; i++)
        if (tutti_action_is_due(&l->actions[i], play->ends_period)) st = play_action(t, play, &l->actions[i], err);
    return st;
}

tutti_status tutti_step_load(tutti_trainer *t, const tutti_batch **out, tutti_failure *err)
{
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    const tutti_status st = tutti_loader_next(t->loader, out, err);
    tutti_did(&t->account, TUTTI_DID_LOAD, 0);
    if (st || !*out) return st;
    tutti_loaded(&t->account, *out);
    tutti_replaced_add(&t->replaced, (*out)->nreplaced, (*out)->why);
    return TUTTI_OK;
}

static char *activations(const tutti_trainer *t)
{
    return t->shared.memory[tutti_plan_find_memory(t->plan, TUTTI_ROLE_ACTIVATIONS, 0)];
}

tutti_status tutti_step_play_served(tutti_trainer *t, const tutti_update_step *update, const tutti_action *actions,
                                    int nactions, tutti_failure *err)
{
    step_play play = {.update = *update};
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < nactions && !st; i++) st = play_action(t, &play, &actions[i], err);
    return st;
}

tutti_status tutti_step_play_share(tutti_trainer *t, const tutti_batch *batch, tutti_failure *err)
{
    const tutti_train_config *c = t->config;
    const tutti_plan *p = t->plan;
    step_play play = {.batch = batch,
                      .update = {.lr = tutti_rate_at(&c->rate, batch->step, c->steps_per_epoch, c->nsteps),
                                 .unscale = 1 / t->scale.scale,
                                 .nupdates = count_updates(t) + 1},
                      .ends_period = (t->local_steps + 1) % p->config.period == 0,
                      .arena = activations(t)};
    const int64_t computed_ns = t->account.cost.ns[TUTTI_COST_COMPUTE];
    const tutti_status st = play_loop(t, TUTTI_EACH_STEP, &play, err);
    if (st) return st;
    tutti_step_hold_up(t, batch->step, computed_ns);
    double loss = 0;
    const float *losses = gradient(t, 0, t->loss);
    for (int i = 0; i < tutti_graph_losses(p->graph); i++) loss += (double)losses[i];
    t->local_steps++;
    tutti_visits_end(t->visits, loss);
    return TUTTI_OK;
}

tutti_status tutti_step_play(tutti_trainer *t, tutti_failure *err)
{
    const tutti_train_config *c = t->config;
    if (!t->my_signal && c->stop_asked) t->my_signal = c->stop_asked(c->stop_arg);
    const tutti_batch *batch;
    tutti_status st = tutti_step_load(t, &batch, err);
    if (st) return st;
    step_play play = {.batch = batch,
                      .update = {.lr = tutti_rate_at(&c->rate, t->step, c->steps_per_epoch, c->nsteps),
                                 .unscale = 1 / t->scale.scale,
                                 .nupdates = t->earlier_updates + t->step + 1 - t->scale.skipped},
                      .stop = t->my_signal != 0,
                      .ends_period = (t->step + 1) % t->plan->config.period == 0,
                      .arena = activations(t)};
    const int64_t computed_ns = t->account.cost.ns[TUTTI_COST_COMPUTE];
    st = play_loop(t, TUTTI_EACH_STEP, &play, err);
    if (!st) tutti_step_hold_up(t, t->step, computed_ns);
    if (!st && play.ends_period) st = play_loop(t, TUTTI_EACH_PERIOD, &play, err);
    if (st) return st;
    t->step++;
    tutti_loss_scale_step(&c->loss_scale, play.skips, &t->scale);
    return TUTTI_OK;
}

tutti_status tutti_step_play_between(tutti_trainer *t, tutti_loop_driver driver, tutti_failure *err)
{
    return play_loop(t, driver, &(step_play){.ends_period = (t->step + 1) % t->plan->config.period == 0}, err);
}

/* The step's last action has waited for the sums over all samples of the batch. */
void tutti_step_settle(tutti_trainer *t)
{
    double sum = 0;
    for (int i = 0; i < tutti_graph_losses(t->plan->graph); i++) sum += (double)value(t, t->loss)[i];
    t->last_loss = sum / (double)t->plan->config.batch;
    t->asked_to_stop = *value(t, t->stop) > 0;
}
