/* SPDX-License-Identifier: Apache-2.0 */
/* gradients.c: lists the gradients of layers' outputs in a step, and which nodes write and read each.
 *
 * Layers are visited from the last to the first, as backward runs. The gradient of a layer's output comes from the
 * layers that read the output. A single reader leaves the whole gradient. Several readers leave parts, which are added
 * in the order of the readers, so that the bits of the sum depend on nothing else. For each of its inputs a layer
 * leaves a gradient of its own or, if its kernel passes gradients on (add), the gradient that it was given.
 *
 * So one gradient may have several readers, and a kernel that changes its gradient in place (a mask) spoils it for
 * later readers. `unread` counts them: if it is not zero, that kernel gets a copy, made by a sum of one part. The
 * changed gradient counts as another gradient in the same memory, so that the two cannot be confused. */
#include <string.h>

#include "graph_impl.h"

typedef struct {
    tutti_graph *graph;
    bool *learns;  /* per layer: the layer, or a layer that it reads from, has learned parameters */
    bool *has_own; /* per layer: the layer itself has learned parameters */
    int *unread;   /* per gradient: number of nodes that have not read it yet */
    int *nreaders; /* per layer: number of inputs that read its output and need a gradient */
} sorting;

static bool is_wanted(const sorting *s, int from)
{
    return from >= 0 && s->learns[from];
}

static void find_learners(sorting *s)
{
    const tutti_graph *g = s->graph;
    for (int i = 0; i < g->nparams; i++)
        if (g->params[i].layer >= 0 && tutti_param_is_learned(&g->params[i]))
            s->learns[g->params[i].layer] = s->has_own[g->params[i].layer] = true;
    for (int l = 0; l < g->model->nlayers; l++)
        for (int i = 0; i < g->model->layers[l].nin; i++)
            if (is_wanted(s, g->model->layers[l].in[i])) s->learns[l] = true;
}

static int add_grad(sorting *s, tutti_grad grad)
{
    tutti_graph *g = s->graph;
    g->grads[g->ngrads] = grad;
    return g->ngrads++;
}

/* Lists the gradient of layer l's output: the sum of the parts that its readers leave, or their only part. */
static void take_out(sorting *s, int l)
{
    tutti_graph *g = s->graph;
    const tutti_kernel *k = &g->kernels[l];
    tutti_layer_grads *own = &g->layer_grads[l];
    own->out = -1;
    for (int i = 0; i < own->nparts; i++) s->unread[own->parts[i]]--;
    if (own->nparts) own->out = own->parts[0];
    if (own->nparts == 1 && !(k->writes_dout && s->unread[own->out])) own->nparts = 0;
    own->takes_parts = own->nparts && k->writes_dout && own->nparts <= k->max_dout_parts;
    if (own->nparts && !own->takes_parts) own->out = add_grad(s, (tutti_grad){.layer = l, .reader = -1});
    own->changed = own->out;
    if (own->out >= 0 && k->writes_dout)
        own->changed = add_grad(s, (tutti_grad){.layer = l, .reader = -1, .changed = true});
    if (own->takes_parts) own->out = own->changed;
}

/* Lists the gradients that layer l leaves for its inputs. This function sees the readers of a layer's output in
 * backward order, so it fills the parts of that output's gradient from the last place to the first; the parts then lie
 * in the readers' order. */
static void give_in(sorting *s, int l)
{
    tutti_graph *g = s->graph;
    const tutti_layer *layer = &g->model->layers[l];
    tutti_layer_grads *own = &g->layer_grads[l];
    bool any = false, all_passed = true;
    for (int i = layer->nin - 1; i >= 0; i--) {
        const int from = layer->in[i];
        own->in[i] = -1;
        if (!is_wanted(s, from)) continue;
        const bool passed = g->kernels[l].passes_gradient >> i & 1;
        const bool alone = s->nreaders[from] == 1;
        own->in[i] = passed ? own->changed : add_grad(s, (tutti_grad){.layer = from, .reader = alone ? -1 : l});
        s->unread[own->in[i]]++;
        tutti_layer_grads *source = &g->layer_grads[from];
        source->parts[s->nreaders[from] - ++source->nparts] = own->in[i];
        any = true;
        all_passed &= passed;
    }
    const tutti_kernel *k = &g->kernels[l];
    g->runs_params[l] = s->has_own[l] || (any && k->feeds_data);
    /* backward_data is not needed if all gradients are passed on. If the kernel changes them first (writes_dout), that
     * holds only where backward_params runs, which then makes the change. */
    const bool joint = k->joint_backward && g->runs_params[l];
    g->needs_input_grad[l] = any && !joint && !(all_passed && (!k->writes_dout || g->runs_params[l]));
}

static int count_readers(sorting *s)
{
    const tutti_model *m = s->graph->model;
    int total = 0;
    for (int l = 0; l < m->nlayers; l++)
        for (int i = 0; i < m->layers[l].nin; i++)
            if (is_wanted(s, m->layers[l].in[i])) s->nreaders[m->layers[l].in[i]]++, total++;
    return total;
}

void tutti_graph_list_grads(tutti_graph *g)
{
    const int n = g->model->nlayers;
    tutti_arena work = {0};
    sorting s = {.graph = g,
                 .learns = TUTTI_ARENA_NEW(&work, bool, n),
                 .has_own = TUTTI_ARENA_NEW(&work, bool, n),
                 .nreaders = TUTTI_ARENA_NEW(&work, int, n)};
    find_learners(&s);
    const int most = count_readers(&s) + 2 * n;
    s.unread = TUTTI_ARENA_NEW(&work, int, most);
    g->grads = TUTTI_ARENA_NEW(&g->arena, tutti_grad, most);
    g->layer_grads = TUTTI_ARENA_NEW(&g->arena, tutti_layer_grads, n);
    g->runs_params = TUTTI_ARENA_NEW(&g->arena, bool, n);
    g->needs_input_grad = TUTTI_ARENA_NEW(&g->arena, bool, n);
    for (int l = 0; l < n; l++) g->layer_grads[l].parts = TUTTI_ARENA_NEW(&g->arena, int, s.nreaders[l]);
    for (int l = n - 1; l >= 0; l--) {
        take_out(&s, l);
        give_in(&s, l);
    }
    tutti_arena_release(&work);
}
