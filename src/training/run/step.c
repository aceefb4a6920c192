/* SPDX-License-Identifier: Apache-2.0 */
/* step.c: plays the actions of one step. The plan has decided everything; here pointers are filled in and calls are made.
 *
 * Invariants (proved by tutti_plan_check from the same actions):
 *   - a kernel that reads weights runs after wait-weights of their bucket;
 *   - a reduce-scatter starts when the last writer of its gradients is done (ready); it waits in update, or before the gate;
 *   - an all-gather may write here only after `free`, and starts to send after the own slice was updated. */
#include "../../tensor/elementwise.h"
#include "train_impl.h"

/* What all actions of one step share. */
typedef struct {
    const tutti_batch *batch;
    tutti_update_step update;
    bool stop;    /* this rank was asked to */
    bool strange; /* gated: this rank has seen a gradient that is not finite */
    bool skips;   /* some rank has: no update */
} step_play;

/* Of a value, a gradient, a saved state; i < 0: there is none. */
static void *place(const tutti_trainer *t, const int64_t *offsets, int i)
{
    return i < 0 || offsets[i] < 0 ? NULL : t->memory + offsets[i];
}

/* Gradients of a slot: one packed vector a root buffer. */
static float *gradient(const tutti_trainer *t, int root, int param)
{
    return t->shared.grads + root * t->plan->total + t->plan->param_offset[param];
}

static void fill_params(const tutti_trainer *t, const tutti_action *a, tutti_kernel_args *args)
{
    const tutti_graph *g = t->plan->graph;
    for (int p = 0; p < g->nparams; p++) {
        if (g->params[p].layer != a->layer) continue;
        args->param[g->params[p].ordinal] = t->shared.weights + t->plan->param_offset[p];
        args->dparam[g->params[p].ordinal] = gradient(t, a->root_dst, p);
    }
}

static void fill_values(const tutti_trainer *t, const step_play *play, const tutti_action *a, tutti_kernel_args *args)
{
    const tutti_plan *plan = t->plan;
    const tutti_layer *layer = &plan->graph->model->layers[a->layer];
    const tutti_shape sample = plan->graph->model->input;
    const float *samples = play->batch->samples + a->slot * plan->samples_per_call * tutti_shape_count(&sample);
    const tutti_layer_grads *grads = &plan->graph->layer_grads[a->layer];
    const unsigned passed = plan->graph->kernels[a->layer].passes_gradient;
    for (int i = 0; i < layer->nin; i++) {
        args->in[i] = layer->in[i] < 0 ? samples : place(t, plan->value_offset, layer->in[i]);
        args->din[i] = passed >> i & 1 ? NULL : place(t, plan->grad_offset, grads->in[i]);
    }
    args->out = place(t, plan->value_offset, a->layer);
    args->dout = place(t, plan->grad_offset, grads->out);
    args->ndout_parts = grads->takes_parts ? grads->nparts : 0;
    for (int i = 0; i < args->ndout_parts; i++) args->dout_parts[i] = place(t, plan->grad_offset, grads->parts[i]);
    args->saved = place(t, plan->saved_offset, a->layer);
    args->scratch = place(t, plan->scratch_offset, a->node);
}

/* The main loss counts right answers; whether this rank asks to stop rides along. */
static void finish_loss(const tutti_trainer *t, const step_play *play, const tutti_action *a, int32_t correct)
{
    *gradient(t, a->root_dst, t->correct) = (float)correct;
    *gradient(t, a->root_dst, t->stop) = play->stop ? 1 : 0;
}

static tutti_doing kernel_kind(tutti_action_kind kind)
{
    return kind == TUTTI_DO_FORWARD           ? TUTTI_DID_FORWARD
           : kind == TUTTI_DO_BACKWARD_PARAMS ? TUTTI_DID_BACKWARD_PARAMS
                                              : TUTTI_DID_BACKWARD_DATA;
}

static void run_kernel(tutti_trainer *t, const step_play *play, const tutti_action *a)
{
    const tutti_plan *plan = t->plan;
    tutti_kernel *k = &plan->graph->kernels[a->layer];
    const bool is_loss = k->op->is_loss;
    int32_t correct = 0;
    tutti_kernel_args args = {
        .training = true,
        .seed = t->config->seed,
        .step = (uint64_t)t->step,
        .first_sample = (uint64_t)(plan->my_first_sample + a->slot * plan->samples_per_call),
        .layer = (uint32_t)plan->graph->model->layers[a->layer].number,
        .labels = play->batch->labels + a->slot * plan->samples_per_call,
        .loss_scale = (float)(t->scale.scale / (double)plan->config.batch),
        .loss = is_loss ? gradient(t, a->root_dst, t->loss) + tutti_graph_loss_number(plan->graph, a->layer) : NULL,
        .correct = &correct};
    fill_params(t, a, &args);
    fill_values(t, play, a, &args);
    switch (a->kind) {
    case TUTTI_DO_FORWARD: k->row->forward(k, &args); break;
    case TUTTI_DO_BACKWARD_PARAMS: k->row->backward_params(k, &args); break;
    default: k->row->backward_data(k, &args); break;
    }
    if (a->kind == TUTTI_DO_FORWARD && a->layer == plan->graph->model->nlayers - 1) finish_loss(t, play, a, correct);
    tutti_did(&t->account, kernel_kind(a->kind), a->layer);
    tutti_exchange_progress(t->group); /* what travels meanwhile gets its turn */
    tutti_did(&t->account, TUTTI_DID_EXCHANGE, 0);
}

static void sum_gradients(tutti_trainer *t, const tutti_action *a)
{
    const tutti_plan *plan = t->plan;
    const tutti_layer_grads *own = &plan->graph->layer_grads[a->layer];
    const void *parts[TUTTI_MAX_SUM_PARTS];
    for (int i = 0; i < own->nparts; i++) parts[i] = place(t, plan->grad_offset, own->parts[i]);
    tutti_value_sum(&plan->graph->kernels[a->layer].out, parts, own->nparts, place(t, plan->grad_offset, own->out),
                    plan->config.nthreads);
    tutti_did(&t->account, TUTTI_DID_SUM, a->layer);
}

/* ---- the own slice: a look, the gate, the update ---- */

/* Elements [*first, *end) of the packed vector that belong to parameter p; false if there are none. */
static bool cut_to_param(const tutti_plan *plan, int p, int64_t *first, int64_t *end)
{
    const int64_t begin = plan->param_offset[p], last = begin + plan->graph->params[p].desc.elements;
    if (*first < begin) *first = begin;
    if (*end > last) *end = last;
    return *first < *end;
}

static bool is_control(const tutti_param *p)
{
    return p->layer < 0;
}

static tutti_status wait_sums(tutti_trainer *t, int b, tutti_failure *err)
{
    tutti_status st = tutti_exchange_wait(t->shared.reduce_scatter[b], err);
    tutti_did(&t->account, TUTTI_DID_WAIT_SUMS, b);
    if (!st) tutti_travelled(&t->account, TUTTI_BESIDE_SUMS, b, t->shared.reduce_scatter[b]);
    return st;
}

/* Statistics are looked at like gradients: what an overflow makes of running averages would never go away. */
static tutti_status check_bucket(tutti_trainer *t, step_play *play, int b, tutti_failure *err)
{
    const tutti_bucket *bucket = &t->plan->buckets[b];
    int64_t own, count;
    tutti_status st = wait_sums(t, b, err);
    if (st) return st;
    tutti_plan_own_slice(t->plan, b, t->rank, &own, &count);
    for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams; i++) {
        const int p = t->plan->order[i];
        int64_t first = own, end = own + count;
        if (is_control(&t->plan->graph->params[p]) || !cut_to_param(t->plan, p, &first, &end)) continue;
        play->strange |= !tutti_elementwise_is_finite(t->shared.grads + first, end - first);
    }
    tutti_did(&t->account, TUTTI_DID_UPDATE, b);
    return TUTTI_OK;
}

static tutti_status pass_gate(tutti_trainer *t, step_play *play, tutti_failure *err)
{
    *t->shared.flag = play->strange;
    tutti_exchange_start(t->shared.gate, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    tutti_status st = tutti_exchange_wait(t->shared.gate, err);
    if (!st) play->skips = *t->shared.verdict > 0;
    tutti_did(&t->account, TUTTI_DID_GATE, 0);
    return st;
}

static void update_param(const tutti_trainer *t, const step_play *play, int p, int64_t first, int64_t end)
{
    const tutti_plan *plan = t->plan;
    const tutti_param *param = &plan->graph->params[p];
    if (!cut_to_param(plan, p, &first, &end) || (play->skips && !is_control(param))) return;
    float *w = t->shared.weights + first;
    const float *sum = t->shared.grads + first;
    if (param->desc.kind == TUTTI_PARAM_STATISTIC) {
        const int nslots = plan->config.slots ? plan->config.slots : plan->config.nranks;
        tutti_update_statistic(param->desc.momentum, nslots, w, sum, end - first);
    } else {
        tutti_update_slice slice = {.w = w, .sum = sum, .n = end - first};
        for (int i = 0; i < t->shared.nstates; i++) slice.state[i] = t->shared.state[i] + first;
        tutti_update_apply(&t->config->update, &play->update, param->desc.kind, &slice);
    }
}

static tutti_status update_bucket(tutti_trainer *t, const step_play *play, int b, tutti_failure *err)
{
    const tutti_bucket *bucket = &t->plan->buckets[b];
    int64_t first, count;
    tutti_status st = t->plan->config.gated ? TUTTI_OK : wait_sums(t, b, err);
    if (st) return st;
    tutti_plan_own_slice(t->plan, b, t->rank, &first, &count);
    for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams; i++)
        update_param(t, play, t->plan->order[i], first, first + count);
    tutti_did(&t->account, TUTTI_DID_UPDATE, b);
    tutti_exchange_tell(t->shared.all_gather[b], TUTTI_WHEN_READY);
    tutti_did(&t->account, TUTTI_DID_EXCHANGE, 0);
    return TUTTI_OK;
}

static void start(tutti_trainer *t, tutti_exchange *x, unsigned when)
{
    tutti_exchange_start(x, when);
    tutti_did(&t->account, TUTTI_DID_EXCHANGE, 0);
}

static tutti_status wait_weights(tutti_trainer *t, int b, tutti_failure *err)
{
    if (!t->shared.gathering[b]) return TUTTI_OK;
    tutti_status st = tutti_shared_wait_weights(&t->shared, b, err);
    tutti_did(&t->account, TUTTI_DID_WAIT_WEIGHTS, b);
    if (!st) tutti_travelled(&t->account, TUTTI_BESIDE_WEIGHTS, b, t->shared.all_gather[b]);
    return st;
}

tutti_status tutti_step_wait_all_weights(tutti_trainer *t, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    for (int b = 0; b < t->plan->nbuckets && !st; b++) st = wait_weights(t, b, err);
    return st;
}

static void fold_bucket(tutti_trainer *t, const tutti_action *a)
{
    const tutti_bucket *bucket = &t->plan->buckets[a->bucket];
    float *first = t->shared.grads + bucket->offset;
    tutti_elementwise_add(first + a->root_dst * t->plan->total, first + a->root_src * t->plan->total, bucket->count);
    tutti_did(&t->account, TUTTI_DID_FOLD, a->bucket);
}

static tutti_status play_action(tutti_trainer *t, step_play *play, const tutti_action *a, tutti_failure *err)
{
    tutti_shared *s = &t->shared;
    switch (a->kind) {
    case TUTTI_DO_SUM: sum_gradients(t, a); return TUTTI_OK;
    case TUTTI_DO_FOLD: fold_bucket(t, a); return TUTTI_OK;
    case TUTTI_DO_READY: start(t, s->reduce_scatter[a->bucket], TUTTI_WHEN_READY | TUTTI_WHEN_FREE); return TUTTI_OK;
    case TUTTI_DO_FREE:
        start(t, s->all_gather[a->bucket], TUTTI_WHEN_FREE);
        s->gathering[a->bucket] = true;
        return TUTTI_OK;
    case TUTTI_DO_CHECK: return check_bucket(t, play, a->bucket, err);
    case TUTTI_DO_GATE: return pass_gate(t, play, err);
    case TUTTI_DO_UPDATE: return update_bucket(t, play, a->bucket, err);
    case TUTTI_DO_WAIT_WEIGHTS: return wait_weights(t, a->bucket, err);
    default: run_kernel(t, play, a); return TUTTI_OK;
    }
}

tutti_status tutti_step_play(tutti_trainer *t, tutti_failure *err)
{
    const tutti_train_config *c = t->config;
    if (!t->my_signal && c->stop_asked) t->my_signal = c->stop_asked(c->stop_arg);
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    const tutti_batch *batch;
    tutti_status st = tutti_loader_next(t->loader, &batch, err);
    tutti_did(&t->account, TUTTI_DID_LOAD, 0);
    if (st) return st;
    tutti_loaded(&t->account, batch);
    tutti_replaced_add(&t->replaced, batch->nreplaced, batch->why);
    step_play play = {.batch = batch,
                      .update = {.lr = tutti_rate_at(&c->rate, t->step, c->steps_per_epoch, c->nsteps),
                                 .unscale = 1 / t->scale.scale,
                                 .nupdates = t->step + 1 - t->scale.skipped},
                      .stop = t->my_signal != 0};
    for (int i = 0; i < t->plan->nactions && !st; i++) st = play_action(t, &play, &t->plan->actions[i], err);
    if (st) return st;
    t->step++;
    tutti_loss_scale_step(&c->loss_scale, play.skips, &t->scale);
    return TUTTI_OK;
}

/* Control numbers ride in the last bucket, with the weights that the next step reads first: waiting for them here costs
 * nothing. Their "weights" are means over slots: see TUTTI_PARAM_STATISTIC. */
tutti_status tutti_step_settle(tutti_trainer *t, tutti_failure *err)
{
    const tutti_plan *plan = t->plan;
    const int nslots = plan->config.slots ? plan->config.slots : plan->config.nranks;
    tutti_status st = wait_weights(t, plan->nbuckets - 1, err);
    if (st) return st;
    double mean = 0;
    for (int i = 0; i < tutti_graph_losses(plan->graph); i++)
        mean += (double)t->shared.weights[plan->param_offset[t->loss] + i];
    t->last_loss = mean * nslots / (double)plan->config.batch;
    t->asked_to_stop = t->shared.weights[plan->param_offset[t->stop]] > 0;
    return TUTTI_OK;
}
