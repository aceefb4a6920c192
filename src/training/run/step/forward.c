/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c: runs a network forward, and turns the inputs of its loss into probabilities. */
#include "forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/host/memory.h"
#include "../train.h"
#include "sparsity.h"
#include "step_work.h"

enum { ALIGNMENT = 64 };

tutti_status tutti_forward_make(const tutti_graph *like, int64_t batch, tutti_arena *arena, tutti_forward *out,
                                tutti_failure *err)
{
    if (!batch) return TUTTI_OK;
    tutti_graph_config config = like->config;
    config.batch = batch;
    config.training = false;
    config.split = (tutti_split_layers){0};
    config.params_as = like;
    tutti_status st = tutti_graph_build(like->model, &config, &out->graph, err);
    if (st) return st;
    tutti_placement_make(out->graph, arena, &out->placed);
    return TUTTI_OK;
}

void tutti_forward_release(tutti_forward *f)
{
    tutti_graph_destroy(f->graph);
    f->graph = NULL;
}

static void *place(char *memory, const int64_t *offsets, int layer)
{
    return offsets[layer] < 0 ? NULL : memory + offsets[layer];
}

/* Returns where a layer finds its input i. */
static const void *input_of(const tutti_forward *f, const tutti_forward_run_args *a, int layer, int i)
{
    const int from = f->graph->model->layers[layer].in[i];
    return from < 0 ? a->samples : place(a->memory, f->placed.value, from);
}

static void fill(const tutti_forward *f, const tutti_forward_run_args *a, int node, tutti_kernel_args *args)
{
    const tutti_graph *g = f->graph;
    const int l = g->nodes[node].layer;
    for (int p = 0; p < g->nparams; p++)
        if (g->params[p].layer == l) args->param[g->params[p].ordinal] = a->weights + a->param_offset[p];
    for (int i = 0; i < g->model->layers[l].nin; i++) args->in[i] = input_of(f, a, l, i);
    args->out = place(a->memory, f->placed.value, l);
    args->saved = place(a->memory, f->placed.saved, l);
    args->scratch = place(a->memory, f->placed.scratch, node);
    args->layer = (uint32_t)l;
}

void tutti_forward_run(const tutti_forward *f, const tutti_forward_run_args *a, const tutti_staging *staging,
                       float *loss, int32_t *correct)
{
    const tutti_device *d = staging->device;
    tutti_event last = {0};
    for (int t = 0; t < f->graph->nnodes; t++) {
        if (f->graph->nodes[t].layer < 0) continue; /* this node loads samples and has no layer */
        tutti_kernel_work w = {.kernel = &f->graph->kernels[f->graph->nodes[t].layer],
                               .args = {.labels = a->labels, .loss = staging->loss, .correct = staging->correct}};
        fill(f, a, t, &w.args);
        last = tutti_work_launch(d, TUTTI_WORK_FORWARD, &w);
        if (!a->relus) continue;
        const tutti_event counted = tutti_relus_count(a->relus, f->graph->nodes[t].layer, &w, a->zeros, d);
        if (counted.number) last = counted;
    }
    d->wait(d, last);
    d->look(d, loss, staging->loss, sizeof *loss);
    d->look(d, correct, staging->correct, sizeof *correct);
}

/* Turns logits into probabilities in place. The largest is subtracted first, so nothing overflows. */
static int32_t answer(float *logits, int n)
{
    int best = 0;
    double sum = 0;
    for (int i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    const double most = (double)logits[best];
    for (int i = 0; i < n; i++) sum += exp((double)logits[i] - most);
    for (int i = 0; i < n; i++) logits[i] = (float)(exp((double)logits[i] - most) / sum);
    return best;
}

/* Computes answers from the inputs of the loss. The loss is the last node, so its inputs have not been overwritten. */
void tutti_forward_answers(const tutti_forward *f, const tutti_forward_run_args *a, const tutti_device *device,
                           float *probability, int32_t *predicted)
{
    const int loss = f->graph->model->nlayers - 1, n = f->graph->model->nclasses;
    const tutti_value *logits = &f->graph->kernels[loss].in[0];
    const void *at = input_of(f, a, loss, 0);
    void *seen = device->borrow(device, at, logits->bytes);
    tutti_value_to_plain(logits, seen, probability);
    device->give_back(device, at, seen, logits->bytes, false);
    for (int64_t b = 0; b < logits->shape.dim[0]; b++) predicted[b] = answer(probability + b * n, n);
}

tutti_status tutti_train_check_classes(const tutti_model *model, tutti_failure *err)
{
    const char *loss = model->layers[model->nlayers - 1].op->name;
    if (!strcmp(loss, "softmax-cross-entropy")) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "the model ends in %s, which tells no classes apart: there are no probabilities and no "
                      "predictions; a model that ends in softmax-cross-entropy has them",
                      loss);
}

/* ---- one sample at a time ---- */

struct tutti_classifier {
    tutti_forward forward;
    tutti_packed_weights w;
    char *memory;
    tutti_staging staging; /* in the cpu's memory, as the weights are */
    tutti_arena arena;
};

tutti_status tutti_classifier_create(const tutti_packed_weights *w, tutti_classifier **out, tutti_failure *err)
{
    tutti_status st = tutti_train_check_classes(w->like->model, err);
    if (st) return st;
    tutti_classifier *c = tutti_alloc(sizeof *c);
    c->w = *w;
    st = tutti_forward_make(w->like, 1, &c->arena, &c->forward, err);
    if (!st) st = tutti_memory_check(c->forward.placed.bytes, "the network", "use a smaller model", err);
    if (!st) c->memory = tutti_arena_alloc(&c->arena, (size_t)c->forward.placed.bytes + ALIGNMENT);
    if (!st) st = tutti_staging_make(tutti_device_cpu(), 1, &w->like->model->input, &c->staging, err);
    if (st)
        tutti_classifier_destroy(c);
    else
        *out = c;
    return st;
}

int32_t tutti_classify(tutti_classifier *c, const float *sample, float *probability)
{
    const int32_t label = 0; /* any label will do, because the loss is not used */
    float loss;
    int32_t correct, predicted;
    const tutti_forward_run_args a = {c->w.weights, c->w.param_offset, sample, &label, c->memory, NULL, NULL};
    tutti_forward_run(&c->forward, &a, &c->staging, &loss, &correct);
    tutti_forward_answers(&c->forward, &a, c->staging.device, probability, &predicted);
    return predicted;
}

void tutti_classifier_destroy(tutti_classifier *c)
{
    if (!c) return;
    tutti_forward_release(&c->forward);
    tutti_staging_release(&c->staging);
    tutti_arena_release(&c->arena);
    free(c);
}
