/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: runs the layers of a step graph on made-up values and takes the time of each node. Values of a real batch would
 * not change the times: no kernel of ours looks at what it adds up. */
#include "profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/rng.h"
#include "../base/sort.h"
#include "../data/dataset.h"
#include "../tensor/convert.h"
#include "../training/method/rule.h"

enum { WARM_UPS = 2, MIN_RUNS = 7, LONG_RUNS = 3, MAX_RUNS = 300, NPHASES = 4 };
static const double BUDGET_S = 0.3; /* of a thread */

typedef struct {
    tutti_graph *graph;
    tutti_arena arena;
    tutti_kernel_args *args; /* a layer */
    float **grads;           /* a gradient of the graph */
    float **velocity;        /* a layer: of its parameters, one after the other */
    double *times;           /* [(run * nlayers + layer) * NPHASES + phase] */
    double updates[MAX_RUNS];
    int nruns;
    double load_s;
} runner;

static void *filled(runner *r, size_t nbytes, uint64_t key)
{
    float *values = tutti_arena_alloc(&r->arena, nbytes + 64);
    for (size_t i = 0; i < nbytes / sizeof(float); i++)
        values[i] = tutti_random_unit(tutti_random(1, TUTTI_STREAM_TEST, key, i / 4).word[i % 4]) - 0.5f;
    return values;
}

/* Activations of a value: their dtype says what bits mean. */
static void *filled_value(runner *r, const tutti_value *v, uint64_t key)
{
    const size_t n = v->bytes / tutti_dtype_bytes(v->dtype);
    void *wide = filled(r, n * sizeof(float), key), *values = tutti_arena_alloc(&r->arena, v->bytes + 64);
    tutti_convert_from_f32(v->dtype, wide, values, (int64_t)n);
    return values;
}

static size_t param_bytes(const tutti_param_desc *d)
{
    return (size_t)d->elements * sizeof(float);
}

/* What a kernel makes of the gradient that it is given lies in the same memory. */
static void grads_prepare(runner *r)
{
    const tutti_graph *g = r->graph;
    r->grads = TUTTI_ARENA_NEW(&r->arena, float *, g->ngrads);
    for (int i = 0; i < g->ngrads; i++)
        if (!g->grads[i].changed || g->layer_grads[g->grads[i].layer].takes_parts)
            r->grads[i] = filled_value(r, &g->kernels[g->grads[i].layer].out, (uint64_t)i + 1000000);
    for (int l = 0; l < g->model->nlayers; l++)
        if (g->layer_grads[l].out >= 0) r->grads[g->layer_grads[l].changed] = r->grads[g->layer_grads[l].out];
}

/* Nobody wants the gradients of a layer that is frozen as a whole. */
static void leave_out_frozen(const tutti_graph *g, int l, tutti_kernel_args *a)
{
    for (int p = 0; p < g->nparams; p++)
        if (g->params[p].layer == l && g->params[p].is_frozen && tutti_graph_unwanted_at(g, p) < 0)
            a->dparam[g->params[p].ordinal] = NULL;
}

static void args_prepare(runner *r, int l, float *input)
{
    const tutti_graph *g = r->graph;
    const tutti_kernel *k = &g->kernels[l];
    const tutti_layer_grads *own = &g->layer_grads[l];
    tutti_kernel_args *a = &r->args[l];
    uint64_t key = (uint64_t)l * 16 + 16;
    if (k->out.bytes) a->out = filled_value(r, &k->out, key);
    if (own->out >= 0) a->dout = r->grads[own->out];
    a->ndout_parts = own->takes_parts ? own->nparts : 0;
    for (int i = 0; i < a->ndout_parts; i++) a->dout_parts[i] = r->grads[own->parts[i]];
    a->saved = filled(r, k->saved_bytes, key + 2);
    a->scratch = filled(r, k->scratch_bytes, key + 3);
    for (int i = 0; i < k->ninputs; i++) {
        int from = g->model->layers[l].in[i];
        a->in[i] = from < 0 ? input : r->args[from].out;
        if (tutti_graph_split_of(g, l) >= 0) a->in[i] = filled_value(r, &k->in[i], key + 7);
        if (own->in[i] >= 0 && !(k->passes_gradient >> i & 1)) a->din[i] = r->grads[own->in[i]];
        if (a->din[i] && tutti_graph_split_of(g, l) >= 0) a->din[i] = filled_value(r, &k->in[i], key + 8);
    }
    size_t nbytes = 0;
    for (int i = 0; i < k->nparams; i++) nbytes += param_bytes(&k->params[i]);
    r->velocity[l] = filled(r, nbytes, key + 6);
    for (int i = 0; i < k->nparams; i++) {
        a->param[i] = filled(r, param_bytes(&k->params[i]), key + 4);
        a->dparam[i] = filled(r, param_bytes(&k->params[i]), key + 5);
    }
    leave_out_frozen(g, l, a);
}

/* Memory of every value, gradient and parameter; nothing is shared but what one layer hands to the next. */
static void runner_prepare(runner *r)
{
    const tutti_graph *g = r->graph;
    int nlayers = g->model->nlayers;
    r->args = TUTTI_ARENA_NEW(&r->arena, tutti_kernel_args, nlayers);
    r->velocity = TUTTI_ARENA_NEW(&r->arena, float *, nlayers);
    float *loss = filled(r, sizeof *loss, 0);
    int32_t *correct = filled(r, sizeof *correct, 0);
    int32_t *labels = tutti_arena_alloc(&r->arena, (size_t)g->config.batch * sizeof *labels);
    for (int64_t i = 0; i < g->config.batch; i++) labels[i] = (int32_t)(i % g->model->nclasses);
    float *input = filled_value(r, &g->kernels[0].in[0], 1);
    grads_prepare(r);
    for (int l = 0; l < nlayers; l++) {
        r->args[l] = (tutti_kernel_args){.training = true,
                                         .seed = 1,
                                         .layer = (uint32_t)g->model->layers[l].number,
                                         .labels = labels,
                                         .loss = loss,
                                         .loss_scale = 1.0f / (float)g->config.batch,
                                         .correct = correct};
        args_prepare(r, l, input);
    }
}

static void gradients_sum(runner *r, int l)
{
    const tutti_layer_grads *own = &r->graph->layer_grads[l];
    const void *parts[TUTTI_MAX_SUM_PARTS];
    for (int i = 0; i < own->nparts; i++) parts[i] = r->grads[own->parts[i]];
    if (own->nparts && !own->takes_parts)
        tutti_value_sum(&r->graph->kernels[l].out, parts, own->nparts, r->grads[own->out], r->graph->config.nthreads);
}

/* One step; times: nlayers * NPHASES, or NULL. */
static void runner_step(runner *r, double *times)
{
    tutti_graph *g = r->graph;
    int nlayers = g->model->nlayers;
    for (int l = 0; l < nlayers; l++) {
        tutti_kernel *k = &g->kernels[l];
        double start = tutti_clock_s();
        k->row->forward(k, &r->args[l]);
        if (times) times[l * NPHASES] = tutti_clock_s() - start;
    }
    for (int l = nlayers - 1; l >= 0; l--) {
        tutti_kernel *k = &g->kernels[l];
        double begin = tutti_clock_s();
        gradients_sum(r, l);
        double start = tutti_clock_s();
        if (g->runs_params[l]) k->row->backward_params(k, &r->args[l]);
        double middle = tutti_clock_s();
        if (g->needs_input_grad[l]) k->row->backward_data(k, &r->args[l]);
        if (!times) continue;
        times[l * NPHASES + 2] = tutti_clock_s() - middle;
        times[l * NPHASES + 1] = middle - start;
        times[l * NPHASES + 3] = start - begin;
    }
}

/* All parameters updated by a rule with one state, when the step's kernels have pushed them out of the nearest caches, as they do in a
 * real step: seconds for all of them. */
static double runner_update(runner *r)
{
    const tutti_update update = tutti_update_to_time();
    const tutti_update_step step = {.lr = 1e-6, .unscale = 1, .trust = 1, .nupdates = 1};
    double start = tutti_clock_s();
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
    return tutti_clock_s() - start;
}

/* What a loader does for one sample of the model's size: an index, and a table lookup a byte. */
static double load_time(runner *r)
{
    enum { SAMPLES = 64, RUNS = 9 };
    const tutti_dataset_config config = {.set = "digits", .seed = 1, .train_samples = SAMPLES};
    tutti_dataset *d = NULL;
    if (tutti_dataset_open(&config, TUTTI_SPLIT_TRAIN, &d, NULL)) return 0;
    tutti_shape shape = tutti_dataset_shape(d);
    int64_t floats = tutti_shape_count(&shape);
    float *sample = filled(r, (size_t)floats * sizeof *sample, 6);
    tutti_reader *reader = tutti_reader_create(d);
    double times[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double start = tutti_clock_s();
        int32_t label;
        for (int64_t k = 0; k < SAMPLES; k++)
            tutti_reader_read(reader, (tutti_pass){1, i}, tutti_order_at(1, i, 60000, true, k) % SAMPLES, sample,
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
    double start = tutti_clock_s();
    runner_step(r, NULL);
    const bool is_long = tutti_clock_s() - start > BUDGET_S;
    for (int i = 1; i < WARM_UPS && !is_long; i++) runner_step(r, NULL);
    start = tutti_clock_s();
    while (r->nruns < (is_long ? LONG_RUNS : MIN_RUNS) || (r->nruns < MAX_RUNS && tutti_clock_s() - start < BUDGET_S)) {
        runner_step(r, r->times + (int64_t)r->nruns * nlayers * NPHASES);
        r->updates[r->nruns++] = runner_update(r);
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

/* Mean over threads of the lower quartile of each node: what it takes when nobody disturbs it. */
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

tutti_status tutti_profile_measure(tutti_graph *const *graphs, int nbusy, tutti_profile *out, tutti_failure *err)
{
    runner runners[TUTTI_MAX_BUSY] = {0};
    pthread_t threads[TUTTI_MAX_BUSY];
    int nstarted = 0, rc = 0;
    for (; nstarted < nbusy && !rc; nstarted += !rc) {
        runners[nstarted].graph = graphs[nstarted];
        rc = pthread_create(&threads[nstarted], NULL, runner_run, &runners[nstarted]);
    }
    for (int i = 0; i < nstarted; i++) pthread_join(threads[i], NULL);
    if (!rc) profile_fill(runners, nbusy, out);
    for (int i = 0; i < nstarted; i++) tutti_arena_release(&runners[i].arena);
    return rc ? tutti_fail(err, TUTTI_ERR_FAILED, "profile: cannot start %d threads: %s", nbusy, strerror(rc))
              : TUTTI_OK;
}

void tutti_profile_stretch(tutti_profile *p, double factor)
{
    for (int l = 0; l < p->nlayers; l++) {
        tutti_layer_time *time = &p->layers[l];
        time->forward_s *= factor;
        time->params_s *= factor;
        time->data_s *= factor;
        time->sum_s *= factor;
    }
    p->update_s_per_element *= factor;
    p->load_s_per_sample *= factor;
}

void tutti_profile_release(tutti_profile *p)
{
    tutti_arena_release(&p->arena);
    *p = (tutti_profile){0};
}
