/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: profiles a step graph: runs its nodes on made-up values and takes the time of each. Values of a real batch
 * would not change the times, because the time of our kernels does not depend on values.
 *
 * Activations, their gradients, saved state and scratch lie as in a plan (placement.h), so a profile takes the memory
 * of a training step. What a kernel reads is as near in the caches as in training: its input where the kernel before
 * has left it, all else where the rest of the step has left it. */
#include "profile.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../base/host/memory.h"
#include "../../base/rng.h"
#include "../../base/sort.h"
#include "../../data/dataset.h"
#include "../../device/device_row.h"
#include "../../tensor/convert.h"
#include "../../training/method/rule/rule.h"
#include "../../training/plan/placement.h"

enum { WARM_UPS = 2, MIN_RUNS = 7, LONG_RUNS = 3, MAX_RUNS = 300, NPHASES = 4 };
static const double BUDGET_S = 0.3; /* seconds for which each thread measures */

typedef struct {
    tutti_graph *graph;
    tutti_arena arena;
    tutti_arena activations; /* memory of all activations in one block, as large as needed */
    tutti_placement placed;
    char *memory;            /* address of the block of activations */
    tutti_kernel_args *args; /* arguments of each layer's kernel; the scratch is set before each node */
    float **velocity;        /* for each layer: memory of its parameters' states (velocities) */
    double *times;           /* measured seconds: [(run * nlayers + layer) * NPHASES + phase] */
    double updates[MAX_RUNS];
    int nruns;
    double load_s;
    const struct tutti_device *card; /* the card that the kernels run on; NULL means the CPU */
    void **taken;                    /* pieces of the card's memory, ntaken of them, to be freed at the end */
    int ntaken;
    bool lacks_memory; /* true if the card's memory did not suffice, so that nothing is run */
} runner;

static float *drawn(runner *r, size_t nbytes, uint64_t key)
{
    float *values = tutti_arena_alloc(&r->arena, nbytes + 64);
    for (size_t i = 0; i < nbytes / sizeof(float); i++)
        values[i] = tutti_random_unit(tutti_random(1, TUTTI_STREAM_TEST, key, i / 4).word[i % 4]) - 0.5f;
    return values;
}

/* Returns memory of the card with a copy of the nbytes at `host` (NULL: zeros); without a card, `host` itself. */
static void *take(runner *r, void *host, size_t nbytes)
{
    const struct tutti_device *card = r->card;
    if (!card) return host;
    char *at = card->allocate(card, nbytes);
    r->taken = tutti_realloc(r->taken, sizeof *r->taken * (size_t)(r->ntaken + 1));
    if (at) r->taken[r->ntaken++] = at;
    if (!at) r->lacks_memory = true;
    if (at && host) card->copy(card, &at, 1, host, nbytes, false);
    return at;
}

static void *filled(runner *r, size_t nbytes, uint64_t key)
{
    return take(r, drawn(r, nbytes, key), nbytes);
}

/* Returns memory with made-up activations of a value, in its element type. */
static void *filled_value(runner *r, const tutti_value *v, uint64_t key)
{
    const size_t n = v->bytes / tutti_dtype_bytes(v->dtype);
    void *wide = drawn(r, n * sizeof(float), key), *values = tutti_arena_alloc(&r->arena, v->bytes + 64);
    tutti_convert_from_f32(v->dtype, wide, values, (int64_t)n);
    return take(r, values, v->bytes);
}

static size_t param_bytes(const tutti_param_desc *d)
{
    return (size_t)d->elements * sizeof(float);
}

/* Returns where a value, a gradient, a saved state or scratch lies; NULL if i < 0. */
static void *place(const runner *r, const int64_t *offsets, int i)
{
    return i < 0 || offsets[i] < 0 ? NULL : r->memory + offsets[i];
}

/* Removes the gradients of a layer whose parameters are all frozen, so that they are not computed. */
static void leave_out_frozen(const tutti_graph *g, int l, tutti_kernel_args *a)
{
    for (int p = 0; p < g->nparams; p++)
        if (g->params[p].layer == l && g->params[p].is_frozen && tutti_graph_unwanted_at(g, p) < 0)
            a->dparam[g->params[p].ordinal] = NULL;
}

/* Gives the inputs and outputs of a split layer memory of their own: moving them between ranks is not a kernel's
 * work. */
static void *place_or_fill(runner *r, const int64_t *offsets, int i, bool is_split, const tutti_value *v, uint64_t key)
{
    void *at = is_split ? NULL : place(r, offsets, i);
    return at || i < 0 ? at : filled_value(r, v, key);
}

static void values_prepare(runner *r, int l, float *input)
{
    const tutti_graph *g = r->graph;
    const tutti_kernel *k = &g->kernels[l];
    const tutti_layer_grads *own = &g->layer_grads[l];
    const bool is_split = tutti_graph_split_of(g, l) >= 0;
    const uint64_t key = (uint64_t)l * 16 + 16;
    tutti_kernel_args *a = &r->args[l];
    if (k->out.bytes) a->out = place_or_fill(r, r->placed.value, l, is_split, &k->out, key);
    a->dout = place_or_fill(r, r->placed.grad, own->out, is_split, &k->out, key + 1);
    a->ndout_parts = own->takes_parts ? own->nparts : 0;
    for (int i = 0; i < a->ndout_parts; i++) a->dout_parts[i] = place(r, r->placed.grad, own->parts[i]);
    a->saved = place(r, r->placed.saved, l);
    for (int i = 0; i < k->ninputs; i++) {
        const int from = g->model->layers[l].in[i];
        const bool apart = is_split || (from >= 0 && tutti_graph_split_of(g, from) >= 0);
        a->in[i] = from < 0 && !apart
                       ? input
                       : place_or_fill(r, r->placed.value, from < 0 ? l : from, apart, &k->in[i], key + 7);
        if (!(k->passes_gradient >> i & 1))
            a->din[i] = place_or_fill(r, r->placed.grad, own->in[i], apart, &k->in[i], key + 8);
    }
}

static void params_prepare(runner *r, int l)
{
    const tutti_kernel *k = &r->graph->kernels[l];
    const uint64_t key = (uint64_t)l * 16 + 16;
    tutti_kernel_args *a = &r->args[l];
    size_t nbytes = 0;
    for (int i = 0; i < k->nparams; i++) nbytes += param_bytes(&k->params[i]);
    r->velocity[l] = filled(r, nbytes, key + 6);
    for (int i = 0; i < k->nparams; i++) {
        a->param[i] = filled(r, param_bytes(&k->params[i]), key + 4);
        a->dparam[i] = filled(r, param_bytes(&k->params[i]), key + 5);
    }
    leave_out_frozen(r->graph, l, a);
}

/* Lays out memory as a step does: activations by life time; each parameter with its gradient and a state. */
static void runner_prepare(runner *r)
{
    const tutti_graph *g = r->graph;
    int nlayers = g->model->nlayers;
    r->args = TUTTI_ARENA_NEW(&r->arena, tutti_kernel_args, nlayers);
    r->velocity = TUTTI_ARENA_NEW(&r->arena, float *, nlayers);
    tutti_placement_make(g, &r->arena, &r->placed);
    r->memory =
        r->card ? take(r, NULL, (size_t)r->placed.bytes) : tutti_arena_alloc(&r->activations, (size_t)r->placed.bytes);
    float *loss = filled(r, sizeof *loss, 0);
    int32_t *correct = filled(r, sizeof *correct, 0);
    int32_t *labels = tutti_arena_alloc(&r->arena, (size_t)g->config.batch * sizeof *labels);
    for (int64_t i = 0; i < g->config.batch; i++) labels[i] = (int32_t)(i % g->model->nclasses);
    labels = take(r, labels, (size_t)g->config.batch * sizeof *labels);
    float *input = filled_value(r, &g->kernels[0].in[0], 1);
    for (int l = 0; l < nlayers; l++) {
        r->args[l] = (tutti_kernel_args){.training = true,
                                         .seed = 1,
                                         .layer = (uint32_t)g->model->layers[l].number,
                                         .labels = labels,
                                         .loss = loss,
                                         .loss_scale = 1.0f / (float)g->config.batch,
                                         .correct = correct};
        values_prepare(r, l, input);
        params_prepare(r, l);
    }
}

int64_t tutti_profile_bytes(const tutti_graph *g)
{
    enum { COPIES = 3 }; /* copies of each parameter: the parameter, its gradient, and a state */
    tutti_arena work = {0};
    tutti_placement placed;
    tutti_placement_make(g, &work, &placed);
    int64_t nbytes = placed.bytes + 2 * (int64_t)g->kernels[0].in[0].bytes;
    for (int l = 0; l < g->model->nlayers; l++)
        for (int i = 0; i < g->kernels[l].nparams; i++)
            nbytes += COPIES * (int64_t)param_bytes(&g->kernels[l].params[i]);
    tutti_arena_release(&work);
    return nbytes;
}

static void gradients_sum(runner *r, int l)
{
    const tutti_layer_grads *own = &r->graph->layer_grads[l];
    const void *parts[TUTTI_MAX_SUM_PARTS];
    for (int i = 0; i < own->nparts; i++) parts[i] = place(r, r->placed.grad, own->parts[i]);
    tutti_value_sum(&r->graph->kernels[l].out, parts, own->nparts, place(r, r->placed.grad, own->out),
                    r->graph->config.nthreads);
}

/* Returns the phase of a node, or -1 if the node only moves values that others wait for. */
static int phase_of(const tutti_node *n)
{
    switch (n->kind) {
    case TUTTI_NODE_FORWARD: return 0;
    case TUTTI_NODE_BACKWARD_PARAMS: return 1;
    case TUTTI_NODE_BACKWARD_DATA: return 2;
    case TUTTI_NODE_SUM: return 3;
    default: return -1;
    }
}

/* Returns the clock for a node. A kernel of one thread is timed by processor time, because on a busy machine others
 * take turns on its core. */
static double node_clock(const runner *r)
{
    return r->graph->config.nthreads == 1 && !r->card ? tutti_clock_thread_s() : tutti_clock_s();
}

/* ---- on a card: a pass is queued CARD_RUNS times, so that the cost of waiting is divided among them ---- */

enum { CARD_RUNS = 10 };

typedef struct {
    tutti_kernel *kernel;
    int64_t phase;
    tutti_kernel_args args;
} card_pass;

static void run_pass(const struct tutti_device *d, const void *work, const void *varying)
{
    const card_pass *p = work;
    tutti_kernel_args a = p->args;
    (void)d;
    a.drawn = varying;
    (p->phase == 0   ? p->kernel->row->forward
     : p->phase == 1 ? p->kernel->row->backward_params
                     : p->kernel->row->backward_data)(p->kernel, &a);
}

static double time_on_card(const runner *r, tutti_kernel *k, const tutti_kernel_args *a, int phase)
{
    static const tutti_queue_work passing = {"pass", run_pass, sizeof(card_pass), offsetof(card_pass, args.seed),
                                             3 * sizeof(uint64_t)};
    const card_pass pass = {k, phase, *a};
    /* phases above 2 add up gradients; the fit of a processor model needs no samples of such sums */
    if (phase > 2) return 0;
    r->card->finish(r->card);
    const double start = tutti_clock_s();
    for (int i = 0; i < CARD_RUNS; i++) r->card->launch(r->card, &passing, &pass);
    r->card->finish(r->card);
    return (tutti_clock_s() - start) / CARD_RUNS;
}

/* Runs one step in order. times: nlayers * NPHASES entries, or NULL. */
static void runner_step(runner *r, double *times)
{
    const tutti_graph *g = r->graph;
    for (int t = 0; t < g->nnodes; t++) {
        const tutti_node *n = &g->nodes[t];
        const int phase = phase_of(n);
        tutti_kernel *k = &g->kernels[n->layer < 0 ? 0 : n->layer];
        if (phase < 0) continue;
        tutti_kernel_args *a = &r->args[n->layer];
        a->scratch = place(r, r->placed.scratch, t);
        if (r->card) {
            const double seconds = time_on_card(r, k, a, phase);
            if (times) times[n->layer * NPHASES + phase] = seconds;
            continue;
        }
        const double start = node_clock(r);
        switch (phase) {
        case 0: k->row->forward(k, a); break;
        case 1: k->row->backward_params(k, a); break;
        case 2: k->row->backward_data(k, a); break;
        default: gradients_sum(r, n->layer); break;
        }
        if (times) times[n->layer * NPHASES + phase] = node_clock(r) - start;
    }
}

/* Updates all parameters by a rule with one state. This comes after the step's kernels, which have pushed the
 * parameters out of the nearest caches, as in a real step. Returns the seconds for all parameters. */
static double runner_update(runner *r)
{
    const tutti_update update = tutti_update_to_time();
    const tutti_update_step step = {.lr = 1e-6, .unscale = 1, .trust = 1, .nupdates = 1};
    double start = node_clock(r);
    for (int l = 0; l < r->graph->model->nlayers; l++) {
        const tutti_kernel *k = &r->graph->kernels[l];
        float *velocity = r->velocity[l];
        for (int i = 0; i < k->nparams; i++) {
            int64_t n = k->params[i].elements;
            if (!r->args[l].dparam[i]) continue;
            const tutti_update_slice slice = {
                .w = (float *)(uintptr_t)r->args[l].param[i], .state = {velocity}, .sum = r->args[l].dparam[i], .n = n};
            tutti_update_apply(&update, &step, TUTTI_PARAM_WEIGHT, &slice);
            velocity += n;
        }
    }
    return node_clock(r) - start;
}

/* Returns the seconds in which a loader makes one sample of the model's size: an index, and a table lookup for each
 * byte. */
static double load_time(runner *r)
{
    enum { SAMPLES = 64, RUNS = 9 };
    const tutti_dataset_config config = {.set = "digits", .seed = 1, .train_samples = SAMPLES};
    tutti_dataset *d = NULL;
    if (tutti_dataset_open(&config, TUTTI_SPLIT_TRAIN, &d, NULL)) return 0;
    tutti_shape shape = tutti_dataset_shape(d);
    int64_t floats = tutti_shape_count(&shape);
    float *sample = drawn(r, (size_t)floats * sizeof *sample, 6);
    tutti_reader *reader = tutti_reader_create(d);
    double times[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double start = tutti_clock_s();
        int32_t label;
        for (int64_t k = 0; k < SAMPLES; k++)
            tutti_reader_read(reader, (tutti_pass){1, i}, tutti_sample_order_at(1, i, 60000, true, k) % SAMPLES, sample,
                              &label, NULL);
        times[i] = (tutti_clock_s() - start) / SAMPLES;
    }
    tutti_reader_destroy(reader);
    tutti_dataset_destroy(d);
    tutti_sort_doubles(times, RUNS);
    return times[RUNS / 2] * (double)tutti_shape_count(&r->graph->model->input) / (double)floats;
}

static void *runner_run(void *arg)
{
    runner *r = arg;
    int nlayers = r->graph->model->nlayers;
    runner_prepare(r);
    r->times = TUTTI_ARENA_NEW(&r->arena, double, (int64_t)MAX_RUNS *nlayers *NPHASES);
    if (r->lacks_memory) return NULL;
    double start = tutti_clock_s();
    runner_step(r, NULL);
    const bool is_long = tutti_clock_s() - start > BUDGET_S;
    for (int i = 1; i < WARM_UPS && !is_long; i++) runner_step(r, NULL);
    start = tutti_clock_s();
    while (r->nruns < (is_long ? LONG_RUNS : MIN_RUNS) || (r->nruns < MAX_RUNS && tutti_clock_s() - start < BUDGET_S)) {
        runner_step(r, r->times + (int64_t)r->nruns * nlayers * NPHASES);
        r->updates[r->nruns++] = r->card ? 0 : runner_update(r);
    }
    r->load_s = load_time(r);
    return NULL;
}

static double quartile_of(const runner *r, int layer, int phase)
{
    double all[MAX_RUNS];
    int nlayers = r->graph->model->nlayers;
    for (int i = 0; i < r->nruns; i++) all[i] = r->times[((int64_t)i * nlayers + layer) * NPHASES + phase];
    tutti_sort_doubles(all, (size_t)r->nruns);
    return all[r->nruns / 4];
}

/* Fills in the profile: the lower quartile of each node's times, which is its undisturbed time, averaged over
 * threads. */
static void profile_fill(runner *runners, int nbusy, tutti_profile *out)
{
    const tutti_graph *g = runners[0].graph;
    *out = (tutti_profile){.samples_per_call = g->config.batch,
                           .precision = g->config.precision,
                           .nbusy = nbusy,
                           .parts = tutti_graph_parts(g),
                           .nlayers = g->model->nlayers};
    out->layers = TUTTI_ARENA_NEW(&out->arena, tutti_layer_time, out->nlayers);
    for (int l = 0; l < out->nlayers; l++) {
        tutti_layer_time *time = &out->layers[l];
        time->name = tutti_arena_strdup(&out->arena, g->model->layers[l].name);
        for (int i = 0; i < nbusy; i++) {
            time->forward_s += quartile_of(&runners[i], l, 0) / nbusy;
            time->params_s += quartile_of(&runners[i], l, 1) / nbusy;
            time->data_s += quartile_of(&runners[i], l, 2) / nbusy;
            time->sum_s +=
                g->layer_grads[l].nparts && !g->layer_grads[l].takes_parts ? quartile_of(&runners[i], l, 3) / nbusy : 0;
        }
    }
    int64_t nelements = 0;
    for (int l = 0; l < out->nlayers; l++)
        for (int i = 0; i < g->kernels[l].nparams; i++)
            nelements += runners[0].args[l].dparam[i] ? g->kernels[l].params[i].elements : 0;
    for (int i = 0; i < nbusy; i++) {
        runner *r = &runners[i];
        tutti_sort_doubles(r->updates, (size_t)r->nruns);
        if (nelements) out->update_s_per_element += r->updates[r->nruns / 4] / (double)nelements / nbusy;
        out->load_s_per_sample += runners[i].load_s / nbusy;
    }
}

static tutti_status check_card(const runner *r, tutti_failure *err)
{
    if (!r->card) return TUTTI_OK;
    if (r->lacks_memory)
        return tutti_fail(err, TUTTI_ERR_FAILED, "profile: %s has too little memory for %s with %lld samples",
                          r->card->about, r->graph->model->name, (long long)r->graph->config.batch);
    return r->card->check(r->card, err);
}

tutti_status tutti_profile_measure(tutti_graph *const *graphs, int nbusy, tutti_profile *out, tutti_failure *err)
{
    runner runners[TUTTI_MAX_BUSY] = {0};
    pthread_t threads[TUTTI_MAX_BUSY];
    int nstarted = 0, rc = 0;
    char what[160];
    snprintf(what, sizeof what, "measuring the kernels of %.60s with %lld samples, %d at a time",
             graphs[0]->model->name, (long long)graphs[0]->config.batch, nbusy);
    tutti_status st =
        tutti_memory_check(nbusy * tutti_profile_bytes(graphs[0]), what,
                           "take a smaller batch, fewer ranks of this host, or times from --trace or --profile", err);
    if (!st) st = tutti_graph_prepare_threads(graphs[0], err);
    if (st) return st;
    for (; nstarted < nbusy && !rc; nstarted += !rc) {
        const struct tutti_device *device = graphs[nstarted]->config.device;
        runners[nstarted].graph = graphs[nstarted];
        runners[nstarted].card = device && !device->shares_host ? device : NULL;
        rc = pthread_create(&threads[nstarted], NULL, runner_run, &runners[nstarted]);
    }
    for (int i = 0; i < nstarted; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < nstarted && !st; i++) st = check_card(&runners[i], err);
    if (!rc && !st) profile_fill(runners, nbusy, out);
    for (int i = 0; i < nstarted; i++) {
        tutti_arena_release(&runners[i].arena);
        tutti_arena_release(&runners[i].activations);
        for (int k = 0; k < runners[i].ntaken; k++) runners[i].card->release(runners[i].card, runners[i].taken[k], 1);
        free(runners[i].taken);
    }
    return rc ? tutti_fail(err, TUTTI_ERR_FAILED, "profile: cannot start %d threads: %s", nbusy, strerror(rc)) : st;
}

void tutti_profile_resize(tutti_profile *p, double factor)
{
    for (int l = 0; l < p->nlayers; l++) {
        tutti_layer_time *time = &p->layers[l];
        time->forward_s *= factor;
        time->params_s *= factor;
        time->data_s *= factor;
        time->sum_s *= factor;
    }
    p->load_s_per_sample *= factor;
}

void tutti_profile_stretch(tutti_profile *p, double factor)
{
    tutti_profile_resize(p, factor);
    p->update_s_per_element *= factor;
}

void tutti_profile_release(tutti_profile *p)
{
    tutti_arena_release(&p->arena);
    *p = (tutti_profile){0};
}

void tutti_profile_copy(const tutti_profile *p, tutti_profile *out)
{
    *out = *p;
    out->arena = (tutti_arena){0};
    out->layers = TUTTI_ARENA_NEW(&out->arena, tutti_layer_time, p->nlayers + 1);
    memcpy(out->layers, p->layers, sizeof *p->layers * (size_t)p->nlayers);
    for (int l = 0; l < p->nlayers; l++)
        if (p->layers[l].name) out->layers[l].name = tutti_arena_strdup(&out->arena, p->layers[l].name);
}
