/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.c: tests a model: accuracy and loss on a test set, forward only.
 *
 * The set is cut into blocks of MOST_SAMPLES samples, or fewer if samples are large. The last block may be smaller and
 * has its own kernels. Blocks, not samples, are dealt to ranks, and a block's sums are whole numbers and floats added
 * in double, so the results do not depend on the number of ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../base/arena.h"
#include "../../../base/host/memory.h"
#include "evaluate.h"
#include "forward.h"
#include "sparsity.h"
#include "step_work.h"

enum { MOST_SAMPLES = 100, MOST_BYTES = 8 << 20 }; /* limits of a block's input */

struct tutti_evaluator {
    const tutti_dataset *data;
    tutti_reader *reader;
    int64_t block;
    tutti_forward whole, rest;
    tutti_staging staging;
    char *memory; /* the device's memory, for either size of block */
    size_t memory_bytes;
    float *samples;
    int32_t labels[MOST_SAMPLES];
    tutti_arena arena;
    int (*stop_asked)(void *arg); /* asks whether to end the test early; may be NULL */
    void *stop_arg;
    tutti_headway headway;
    int64_t wanted;                 /* number of samples that the current run tests */
    tutti_answer_listener listener; /* gets the answers; its `take` may be NULL */
    float *probability;             /* probabilities for one block, if there is a listener */
    tutti_relus relus;
    int64_t *zeros, *counted; /* per ReLU: zeros: zeros of the current run, in the device's memory; counted: zeros of
                               * the last run */
};

static int64_t samples_of_a_block(const tutti_shape *sample)
{
    const int64_t fit = MOST_BYTES / (tutti_shape_count(sample) * (int64_t)sizeof(float));
    return fit < 1 ? 1 : fit < MOST_SAMPLES ? fit : MOST_SAMPLES;
}

tutti_status tutti_train_check_data(const tutti_model *model, const tutti_dataset *data, tutti_failure *err)
{
    const tutti_shape have = tutti_dataset_shape(data);
    char a[96], b[96];
    const int first = tutti_dataset_first_label(data), nclasses = tutti_dataset_nclasses(data);
    if (nclasses > model->nclasses && first > 0 && nclasses - first <= model->nclasses)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "labels are %d to %d, the model has %d classes: label 0 never occurs, so they probably count "
                          "from %d: write 'first_label: %d' under data:, and they are 0 to %d",
                          first, nclasses - 1, model->nclasses, first, first, nclasses - 1 - first);
    const char *at = tutti_dataset_largest_label(data);
    if (nclasses > model->nclasses)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "the data has %d classes, the model %d: it needs at least as many, 'classes: %d' in its file%s%s%s",
            nclasses, model->nclasses, nclasses, *at ? " (" : "", at, *at ? ")" : "");
    if (tutti_shape_equal(&have, &model->input)) return TUTTI_OK;
    tutti_shape_text(&have, a);
    tutti_shape_text(&model->input, b);
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "samples are %s, the model's input is %s; for 'set: images' data.size makes them so, for 'noise' data.shape", a,
        b);
}

static size_t zeros_bytes(const tutti_evaluator *e)
{
    return sizeof *e->zeros * (size_t)(e->relus.n + 1);
}

static tutti_status make_memory(tutti_evaluator *e, const tutti_device *device, const tutti_shape *sample,
                                tutti_failure *err)
{
    const int64_t bytes = e->whole.placed.bytes > e->rest.placed.bytes ? e->whole.placed.bytes : e->rest.placed.bytes;
    tutti_status st = tutti_memory_check(bytes, "a test of the weights", "use a smaller model", err);
    if (!st) st = tutti_staging_make(device, e->block, sample, &e->staging, err);
    if (st) return st;
    e->zeros = device->allocate(device, zeros_bytes(e));
    e->memory_bytes = (size_t)bytes;
    e->memory = device->allocate(device, e->memory_bytes);
    if (e->memory && e->zeros) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "no memory for %zu bytes of a test of the weights on %s", e->memory_bytes,
                      device->name);
}

tutti_status tutti_evaluator_create(const tutti_graph *like, const tutti_dataset *data, const tutti_device *device,
                                    tutti_evaluator **out, tutti_failure *err)
{
    const tutti_model *model = like->model;
    tutti_status st = tutti_train_check_data(model, data, err);
    if (!st) st = tutti_step_prepare(device, NULL, err);
    if (st) return st;
    tutti_evaluator *e = tutti_alloc(sizeof *e);
    const int64_t n = tutti_dataset_count(data);
    e->data = data;
    e->reader = tutti_reader_create(data);
    e->block = samples_of_a_block(&model->input);
    e->samples = tutti_arena_alloc(&e->arena, (size_t)(e->block * tutti_shape_count(&model->input)) * sizeof(float));
    st = tutti_forward_make(like, n >= e->block ? e->block : 0, &e->arena, &e->whole, err);
    if (!st) st = tutti_forward_make(like, n % e->block, &e->arena, &e->rest, err);
    if (!st) tutti_relus_find(e->whole.graph ? e->whole.graph : e->rest.graph, &e->arena, &e->relus);
    e->counted = TUTTI_ARENA_NEW(&e->arena, int64_t, e->relus.n + 1);
    if (!st) st = make_memory(e, device, &model->input, err);
    if (st)
        tutti_evaluator_destroy(e);
    else
        *out = e;
    return st;
}

void tutti_evaluator_watch(tutti_evaluator *e, int (*stop_asked)(void *arg), void *arg, tutti_headway headway)
{
    e->stop_asked = stop_asked;
    e->stop_arg = arg;
    e->headway = headway;
}

tutti_status tutti_evaluator_listen(tutti_evaluator *e, const tutti_answer_listener *listener, tutti_failure *err)
{
    const tutti_model *model = (e->whole.graph ? e->whole.graph : e->rest.graph)->model;
    const int64_t floats = e->block * model->nclasses;
    tutti_status st = tutti_train_check_classes(model, err);
    if (!st)
        st = tutti_memory_check(floats * (int64_t)sizeof(float), "the probabilities of a block", "use fewer classes",
                                err);
    if (st) return st;
    e->probability = TUTTI_ARENA_NEW(&e->arena, float, floats);
    e->listener = *listener;
    return TUTTI_OK;
}

const tutti_relus *tutti_evaluator_relus(const tutti_evaluator *e, int64_t **zeros)
{
    *zeros = e->counted;
    return &e->relus;
}

void tutti_evaluator_destroy(tutti_evaluator *e)
{
    if (!e) return;
    tutti_forward_release(&e->whole);
    tutti_forward_release(&e->rest);
    tutti_reader_destroy(e->reader);
    if (e->memory) e->staging.device->release(e->staging.device, e->memory, e->memory_bytes);
    if (e->zeros) e->staging.device->release(e->staging.device, e->zeros, zeros_bytes(e));
    tutti_staging_release(&e->staging);
    tutti_arena_release(&e->arena);
    free(e);
}

static void tell(tutti_evaluator *e, const tutti_forward *b, const tutti_forward_run_args *a, int64_t first, int64_t n)
{
    int32_t predicted[MOST_SAMPLES];
    const int nclasses = b->graph->model->nclasses;
    tutti_forward_answers(b, a, e->staging.device, e->probability, predicted);
    for (int64_t i = 0; i < n; i++) {
        const tutti_answer answer = {first + i, e->labels[i], predicted[i], nclasses, e->probability + i * nclasses};
        e->listener.take(e->listener.arg, &answer);
    }
}

static tutti_status run_block(tutti_evaluator *e, int64_t block, const tutti_packed_weights *w, tutti_eval_result *sum,
                              tutti_failure *err)
{
    const int64_t first = block * e->block, left = tutti_dataset_count(e->data) - first;
    const int64_t n = left < e->block ? left : e->block;
    const tutti_forward *b = n == e->block ? &e->whole : &e->rest;
    const int64_t sample_floats = tutti_shape_count(&b->graph->model->input);
    for (int64_t i = 0; i < n; i++) {
        float *sample = e->samples + i * sample_floats;
        tutti_status st = tutti_reader_read(e->reader, (tutti_pass){0}, first + i, sample, &e->labels[i], err);
        if (st) return st;
        /* reported after each block, because a sample may be a large picture */
        (void)tutti_headway_tell(&e->headway, sum->nsamples, e->wanted);
    }
    float loss = 0;
    int32_t correct = 0;
    tutti_forward_run_args a = {.weights = w->weights,
                                .param_offset = w->param_offset,
                                .memory = e->memory,
                                .relus = &e->relus,
                                .zeros = e->zeros};
    tutti_staging_show(&e->staging, e->samples, e->labels, n, &a.samples, &a.labels);
    tutti_forward_run(b, &a, &e->staging, &loss, &correct);
    if (e->listener.take) tell(e, b, &a, first, n);
    sum->nsamples += n;
    sum->correct += correct;
    sum->loss += (double)loss;
    return TUTTI_OK;
}

tutti_status tutti_evaluator_run(tutti_evaluator *e, const tutti_packed_weights *w, int part, int nparts,
                                 tutti_eval_result *out, tutti_failure *err)
{
    const int64_t nblocks = (tutti_dataset_count(e->data) + e->block - 1) / e->block;
    tutti_status st = TUTTI_OK;
    *out = (tutti_eval_result){0};
    const tutti_device *d = e->staging.device;
    const tutti_clear_work clear = {e->zeros, e->relus.n};
    tutti_work_launch(d, TUTTI_WORK_CLEAR, &clear);
    const char *why;
    const int64_t before = tutti_reader_nreplaced(e->reader, &why);
    const int64_t first = nblocks * part / nparts, end = nblocks * (part + 1) / nparts;
    const int64_t rest = end == nblocks ? nblocks * e->block - tutti_dataset_count(e->data) : 0;
    e->wanted = (end - first) * e->block - (end > first ? rest : 0);
    for (int64_t block = first; block < end && !st; block++) {
        if (e->stop_asked) out->stopped = e->stop_asked(e->stop_arg);
        if (out->stopped || !tutti_headway_tell(&e->headway, out->nsamples, e->wanted)) break;
        st = run_block(e, block, w, out, err);
    }
    d->look(d, e->counted, e->zeros, zeros_bytes(e)); /* every block was waited for, so no wait is needed */
    tutti_replaced_add(&out->replaced, tutti_reader_nreplaced(e->reader, &why) - before, why);
    return st;
}

tutti_status tutti_evaluate(const tutti_packed_weights *w, const tutti_dataset *data,
                            const tutti_answer_listener *listener, tutti_eval_result *out, tutti_failure *err)
{
    tutti_evaluator *e;
    tutti_status st = tutti_evaluator_create(w->like, data, tutti_device_cpu(), &e, err);
    if (st) return st;
    tutti_eval_result r;
    if (listener) st = tutti_evaluator_listen(e, listener, err);
    if (!st) st = tutti_evaluator_run(e, w, 0, 1, &r, err);
    tutti_evaluator_destroy(e);
    if (st) return st;
    r.loss /= (double)r.nsamples;
    *out = r;
    return TUTTI_OK;
}

void tutti_replaced_add(tutti_replaced *sum, int64_t n, const char *why)
{
    if (n && !sum->n) snprintf(sum->first, sizeof sum->first, "%s", why);
    sum->n += n;
}

/* ---- when to test ---- */

bool tutti_evaluator_is_due(const tutti_train_config *c, int64_t step)
{
    double interval = c->eval_every_epochs > 0 ? c->eval_every_epochs * (double)c->steps_per_epoch : INFINITY;
    if (c->eval_points) interval = fmin(interval, (double)c->nsteps / (double)c->eval_points);
    return floor((double)step / interval) > floor((double)(step - 1) / interval);
}
