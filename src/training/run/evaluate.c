/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.c: accuracy and loss on a test set, forward only, with the kernels and placement of an inference graph.
 *
 * The set is cut into blocks, of fewer samples where samples are large; the last block may be smaller and has its own kernels.
 * Blocks, not samples, are dealt to ranks, and a block's sums are whole numbers and floats added in double, so the figures
 * do not depend on the rank count. */
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../base/memory.h"
#include "../plan/placement.h"
#include "train_impl.h"

enum { MOST_SAMPLES = 100, MOST_BYTES = 8 << 20, ALIGNMENT = 64 }; /* of a block's input */

/* Kernels for one block size. */
typedef struct {
    tutti_graph *graph; /* NULL = this size does not occur */
    tutti_placement placed;
} block_kernels;

struct tutti_evaluator {
    const tutti_dataset *data;
    tutti_reader *reader;
    int64_t block;
    block_kernels whole, rest;
    char *memory; /* of either */
    float *samples;
    int32_t labels[MOST_SAMPLES];
    tutti_arena arena;
    int (*stop_asked)(void *arg); /* may be NULL */
    void *stop_arg;
};

static tutti_status make_kernels(const tutti_graph *like, int64_t batch, tutti_arena *arena, block_kernels *out,
                                 tutti_failure *err)
{
    if (!batch) return TUTTI_OK;
    tutti_graph_config config = like->config;
    config.batch = batch;
    config.training = false;
    config.params_as = like;
    tutti_status st = tutti_graph_build(like->model, &config, &out->graph, err);
    if (st) return st;
    tutti_placement_make(out->graph, arena, &out->placed);
    return TUTTI_OK;
}

static int64_t samples_of_a_block(const tutti_shape *sample)
{
    const int64_t fit = MOST_BYTES / (tutti_shape_count(sample) * (int64_t)sizeof(float));
    return fit < 1 ? 1 : fit < MOST_SAMPLES ? fit : MOST_SAMPLES;
}

tutti_status tutti_train_check_data(const tutti_model *model, const tutti_dataset *data, tutti_failure *err)
{
    const tutti_shape have = tutti_dataset_shape(data);
    char a[96], b[96];
    if (tutti_dataset_nclasses(data) > model->nclasses)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "the data has %d classes, the model %d: it needs at least as many, 'classes: %d' in its file",
                          tutti_dataset_nclasses(data), model->nclasses, tutti_dataset_nclasses(data));
    if (tutti_shape_equal(&have, &model->input)) return TUTTI_OK;
    tutti_shape_text(&have, a);
    tutti_shape_text(&model->input, b);
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "samples are %s, the model's input is %s; for 'set: images' data.size makes them so, for 'noise' data.shape", a,
        b);
}

tutti_status tutti_evaluator_create(const tutti_graph *like, const tutti_dataset *data, tutti_evaluator **out,
                                    tutti_failure *err)
{
    const tutti_model *model = like->model;
    tutti_status st = tutti_train_check_data(model, data, err);
    if (st) return st;
    tutti_evaluator *e = tutti_alloc(sizeof *e);
    const int64_t n = tutti_dataset_count(data);
    e->data = data;
    e->reader = tutti_reader_create(data);
    e->block = samples_of_a_block(&model->input);
    e->samples = tutti_arena_alloc(&e->arena, (size_t)(e->block * tutti_shape_count(&model->input)) * sizeof(float));
    st = make_kernels(like, n >= e->block ? e->block : 0, &e->arena, &e->whole, err);
    if (!st) st = make_kernels(like, n % e->block, &e->arena, &e->rest, err);
    const int64_t bytes = e->whole.placed.bytes > e->rest.placed.bytes ? e->whole.placed.bytes : e->rest.placed.bytes;
    if (!st) st = tutti_memory_check(bytes, "a test of the weights", "use a smaller model", err);
    if (!st) e->memory = tutti_arena_alloc(&e->arena, (size_t)bytes + ALIGNMENT);
    if (st)
        tutti_evaluator_destroy(e);
    else
        *out = e;
    return st;
}

void tutti_evaluator_watch(tutti_evaluator *e, int (*stop_asked)(void *arg), void *arg)
{
    e->stop_asked = stop_asked;
    e->stop_arg = arg;
}

void tutti_evaluator_destroy(tutti_evaluator *e)
{
    if (!e) return;
    tutti_graph_destroy(e->whole.graph);
    tutti_graph_destroy(e->rest.graph);
    tutti_reader_destroy(e->reader);
    tutti_arena_release(&e->arena);
    free(e);
}

static void *place(const tutti_evaluator *e, const int64_t *offsets, int layer)
{
    return offsets[layer] < 0 ? NULL : e->memory + offsets[layer];
}

static void run_node(const tutti_evaluator *e, const block_kernels *b, int node, tutti_kernel_args *args)
{
    const int l = b->graph->nodes[node].layer;
    const tutti_layer *layer = &b->graph->model->layers[l];
    for (int i = 0; i < layer->nin; i++)
        args->in[i] = layer->in[i] < 0 ? e->samples : place(e, b->placed.value, layer->in[i]);
    args->out = place(e, b->placed.value, l);
    args->saved = place(e, b->placed.saved, l);
    args->scratch = place(e, b->placed.scratch, node);
    args->layer = (uint32_t)l;
    b->graph->kernels[l].row->forward(&b->graph->kernels[l], args);
}

static tutti_status run_block(tutti_evaluator *e, int64_t block, const float *weights, const int64_t *param_offset,
                              tutti_eval_result *sum, tutti_failure *err)
{
    const int64_t first = block * e->block, left = tutti_dataset_count(e->data) - first;
    const int64_t n = left < e->block ? left : e->block;
    const block_kernels *b = n == e->block ? &e->whole : &e->rest;
    const int64_t sample_floats = tutti_shape_count(&b->graph->model->input);
    for (int64_t i = 0; i < n; i++) {
        float *sample = e->samples + i * sample_floats;
        tutti_status st = tutti_reader_read(e->reader, (tutti_pass){0}, first + i, sample, &e->labels[i], err);
        if (st) return st;
    }
    float loss = 0;
    int32_t correct = 0;
    for (int t = 0; t < b->graph->nnodes; t++) {
        const int l = b->graph->nodes[t].layer;
        if (l < 0) continue; /* load */
        tutti_kernel_args args = {.labels = e->labels, .loss = &loss, .correct = &correct};
        for (int p = 0; p < b->graph->nparams; p++)
            if (b->graph->params[p].layer == l) args.param[b->graph->params[p].ordinal] = weights + param_offset[p];
        run_node(e, b, t, &args);
    }
    sum->nsamples += n;
    sum->correct += correct;
    sum->loss += (double)loss;
    return TUTTI_OK;
}

tutti_status tutti_evaluator_run(tutti_evaluator *e, const float *weights, const int64_t *param_offset, int part,
                                 int nparts, tutti_eval_result *out, tutti_failure *err)
{
    const int64_t nblocks = (tutti_dataset_count(e->data) + e->block - 1) / e->block;
    tutti_status st = TUTTI_OK;
    *out = (tutti_eval_result){0};
    const char *why;
    const int64_t before = tutti_reader_nreplaced(e->reader, &why);
    for (int64_t block = nblocks * part / nparts; block < nblocks * (part + 1) / nparts && !st; block++) {
        if (e->stop_asked) out->stopped = e->stop_asked(e->stop_arg);
        if (out->stopped) break;
        st = run_block(e, block, weights, param_offset, out, err);
    }
    tutti_replaced_add(&out->replaced, tutti_reader_nreplaced(e->reader, &why) - before, why);
    return st;
}

tutti_status tutti_evaluate(const tutti_graph *like, const float *weights, const int64_t *param_offset,
                            const tutti_dataset *data, tutti_eval_result *out, tutti_failure *err)
{
    tutti_evaluator *e;
    tutti_status st = tutti_evaluator_create(like, data, &e, err);
    if (st) return st;
    tutti_eval_result r;
    st = tutti_evaluator_run(e, weights, param_offset, 0, 1, &r, err);
    tutti_evaluator_destroy(e);
    if (st) return st;
    r.loss /= (double)r.nsamples;
    *out = r;
    return TUTTI_OK;
}
