/* SPDX-License-Identifier: Apache-2.0 */
/* step_kernels.c: the part of a step that computes gradients: for each node of the graph, sets the pointers that its
 * kernel needs from the plan's offsets. */
#include "step_impl.h"

/* Returns the address of a value, a gradient or a saved state; i < 0: NULL. */
static void *place(const tutti_step_common *play, const int64_t *offsets, int i)
{
    return i < 0 || offsets[i] < 0 ? NULL : play->arena + offsets[i];
}

float *tutti_step_gradient(const tutti_stepping *s, int copy, int param)
{
    return tutti_shared_vector(&s->shared, tutti_plan_gradient_memory(s->plan, param), copy) +
           s->plan->param_offset[param];
}

float *tutti_step_value(const tutti_stepping *s, int param)
{
    return tutti_shared_vector(&s->shared, tutti_plan_value_memory(s->plan, param), 0) + s->plan->param_offset[param];
}

/* Returns where the kernel writes the gradient of a frozen parameter: in its scratch, or nowhere. */
static float *unwanted(const tutti_graph *g, int param, void *scratch)
{
    const int64_t at = tutti_graph_unwanted_at(g, param);
    return at < 0 || !scratch ? NULL : (float *)(void *)((char *)scratch + at);
}

static void fill_params(const tutti_stepping *s, int layer, int copy, tutti_kernel_args *args)
{
    const tutti_graph *g = s->plan->graph;
    for (int p = 0; p < g->nparams; p++) {
        if (g->params[p].layer != layer) continue;
        int64_t first, n;
        tutti_plan_part(s->plan, p, s->rank, &first, &n);
        first -= s->plan->param_offset[p];
        args->param[g->params[p].ordinal] = tutti_step_value(s, p) + first;
        args->dparam[g->params[p].ordinal] =
            g->params[p].is_frozen ? unwanted(g, p, args->scratch) : tutti_step_gradient(s, copy, p) + first;
    }
}

static void fill_values(const tutti_stepping *s, const tutti_step_common *play, const tutti_action *a,
                        tutti_kernel_args *args)
{
    const tutti_plan *plan = s->plan;
    const int l = plan->graph->nodes[a->node].layer;
    const tutti_layer *layer = &plan->graph->model->layers[l];
    const tutti_shape sample = plan->graph->model->input;
    const float *samples = play->samples + a->slot * plan->samples_per_call * tutti_shape_count(&sample);
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

/* Writes the control numbers after the main loss: the number of right answers, and the value that this rank adds to
 * @stop. */
static void finish_loss(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a)
{
    const tutti_control_work w = {.correct = s->staging.correct,
                                  .counted = tutti_step_gradient(s, a->dst, s->correct),
                                  .stops = tutti_step_gradient(s, a->dst, s->stop),
                                  .stop = play->stop};
    tutti_step_launch(s, TUTTI_WORK_CONTROL, &w);
}

static void compute(tutti_stepping *s, tutti_node_kind kind, const tutti_kernel_work *w)
{
    switch (kind) {
    case TUTTI_NODE_FORWARD: tutti_step_launch(s, TUTTI_WORK_FORWARD, w); break;
    case TUTTI_NODE_BACKWARD_PARAMS: tutti_step_launch(s, TUTTI_WORK_PARAMS, w); break;
    default: tutti_step_launch(s, TUTTI_WORK_DATA, w); break;
    }
}

/* Waits instead of running the node's kernel. A loss that was not computed becomes NaN. */
static void pretend(tutti_stepping *s, const tutti_node *node, float *loss)
{
    tutti_pretend(s, node);
    if (loss) tutti_step_launch(s, TUTTI_WORK_NO_LOSS, &loss);
}

static void run_kernel(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a)
{
    static const tutti_doing doing[TUTTI_NNODE_KINDS] = {[TUTTI_NODE_FORWARD] = TUTTI_DID_FORWARD,
                                                         [TUTTI_NODE_BACKWARD_PARAMS] = TUTTI_DID_BACKWARD_PARAMS,
                                                         [TUTTI_NODE_BACKWARD_DATA] = TUTTI_DID_BACKWARD_DATA};
    const tutti_plan *plan = s->plan;
    const tutti_node *node = &plan->graph->nodes[a->node];
    tutti_kernel *k = &plan->graph->kernels[node->layer];
    tutti_kernel_work w = {.kernel = k,
                           .args = {.training = true,
                                    .seed = s->config->seed,
                                    .step = (uint64_t)play->batch->step,
                                    .first_sample = (uint64_t)(play->batch->first + a->slot * plan->samples_per_call),
                                    .layer = (uint32_t)plan->graph->model->layers[node->layer].number,
                                    .labels = play->labels + a->slot * plan->samples_per_call,
                                    .loss_scale = (float)(s->scale.scale / (double)plan->config.batch),
                                    .loss = k->op->is_loss ? tutti_step_gradient(s, a->dst, s->loss) +
                                                                 tutti_graph_loss_number(plan->graph, node->layer)
                                                           : NULL,
                                    .correct = s->staging.correct}};
    fill_values(s, play, a, &w.args);
    fill_params(s, node->layer, a->dst, &w.args);
    if (tutti_graph_split_of(plan->graph, node->layer) >= 0) tutti_split_bind(s, node, &w.args);
    if (s->config->pretended)
        pretend(s, node, w.args.loss);
    else
        compute(s, node->kind, &w);
    if (node->kind == TUTTI_NODE_FORWARD && node->layer == plan->graph->model->nlayers - 1) finish_loss(s, play, a);
    tutti_did(&s->account, doing[node->kind], node->layer);
    tutti_exchange_progress(s->group); /* lets exchanges progress meanwhile */
    tutti_did(&s->account, TUTTI_DID_EXCHANGE, 0);
}

static void sum_gradients(tutti_stepping *s, const tutti_step_common *play, const tutti_node *node)
{
    const int layer = node->layer;
    const tutti_plan *plan = s->plan;
    const tutti_layer_grads *own = &plan->graph->layer_grads[layer];
    tutti_sum_work w = {0}; /* zeroed, because a device compares sequences of launches byte by byte, padding included */
    w.value = &plan->graph->kernels[layer].out;
    w.out = place(play, plan->grad_offset, own->out);
    w.nparts = own->nparts;
    w.nthreads = plan->config.nthreads;
    for (int i = 0; i < own->nparts; i++) w.parts[i] = place(play, plan->grad_offset, own->parts[i]);
    if (s->config->pretended)
        tutti_pretend(s, node);
    else
        tutti_step_launch(s, TUTTI_WORK_SUM, &w);
    tutti_did(&s->account, TUTTI_DID_SUM, layer);
}

static void move(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a)
{
    const tutti_node *node = &s->plan->graph->nodes[a->node];
    tutti_kernel_args activations = {.training = true};
    fill_values(s, play, a, &activations);
    tutti_split_move(s, node, &activations);
    tutti_did(&s->account, TUTTI_DID_MOVE, node->layer);
}

void tutti_step_fold(tutti_stepping *s, const tutti_action *a)
{
    const tutti_plan *plan = s->plan;
    const tutti_bucket *b = a->bucket == TUTTI_CONTROL_BUCKET ? &plan->control : &plan->buckets[a->bucket];
    const int memory = tutti_plan_gradient_memory(plan, plan->order[b->first_param]);
    char *sum = (char *)(tutti_shared_vector(&s->shared, memory, a->dst) + b->offset);
    const char *in[] = {sum, (const char *)(tutti_shared_vector(&s->shared, memory, a->src) + b->offset)};
    const tutti_device_reduction how = {.in = TUTTI_F32, .out = TUTTI_F32, .op = TUTTI_SUM};
    s->device->reduce(s->device, &how, &(tutti_operands){&sum, 1, in, 2}, b->count);
    tutti_did(&s->account, TUTTI_DID_FOLD, a->bucket == TUTTI_CONTROL_BUCKET ? plan->nbuckets : a->bucket);
}

void tutti_step_run_node(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a)
{
    const tutti_node *node = &s->plan->graph->nodes[a->node];
    if (node->kind == TUTTI_NODE_SUM)
        sum_gradients(s, play, node);
    else if (node->kind == TUTTI_NODE_MOVE)
        move(s, play, a);
    else
        run_kernel(s, play, a);
}
