/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_loss.c: softmax and cross entropy on a card, one launch a pass. saved: a sample's largest logit and sums of
 * exponentials; the backward pass reads the logits again.
 *
 * The samples' losses are added up in double by one tree, not in sample order: every run gives the same bits. The
 * rounded sum has the bits of sample order except where that sum lies next to the middle between two floats. */
#include "cuda_rows.h"

enum { MOST_THREADS = 512, QUAD = 4 };

/* These repeat the declarations of loss.cu. */
typedef struct {
    double sum, others;
    float largest, by;
} sample_sums;

typedef struct {
    double loss;
    int32_t correct, unused;
} sample_loss;

typedef struct {
    const void *logits;
    const int32_t *labels;
    sample_sums *kept;
    sample_loss *losses;
    float *loss;
    int32_t *correct;
    uint32_t *ended;
    int64_t batch, classes;
    double weight, smoothing;
    int32_t type;
} forward_args;

typedef struct {
    const void *logits;
    const int32_t *labels;
    const sample_sums *kept;
    void *gradient;
    int64_t batch, classes, n;
    double smoothing;
    float scale;
    int32_t type;
} backward_args;

typedef struct {
    tutti_cuda *cuda;
    const tutti_device *device;
    tutti_cuda_function forward, backward;
    uint32_t *ended; /* address in the card's memory of the number of samples that a forward pass has done; 0 between
                      * passes */
    uint32_t threads;
} loss;

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    loss *s = tutti_alloc(sizeof *s);
    const int64_t batch = k->in[0].shape.dim[0], classes = k->in[0].shape.dim[1];
    k->state = s;
    s->device = r->device;
    s->cuda = tutti_cuda_of(r->device);
    const tutti_status st = tutti_cuda_check(k, r, err);
    if (st) return st;
    for (s->threads = 32; s->threads < MOST_THREADS && s->threads * QUAD < classes;) s->threads *= 2;
    k->scratch_bytes = (size_t)batch * sizeof(sample_loss);
    if (r->training) {
        k->saved_bytes = (size_t)batch * sizeof(sample_sums);
        k->backward_reads = TUTTI_READS_SAVED | TUTTI_READS_INPUT;
    }
    s->ended = s->device->allocate(s->device, sizeof *s->ended);
    if (!s->ended) return tutti_fail(err, TUTTI_ERR_FAILED, "op %s: the card has no memory left", k->op->name);
    const tutti_cuda_wanted wanted[] = {{"loss_forward", &s->forward}, {"loss_backward", &s->backward}};
    return tutti_cuda_find_all(s->cuda, tutti_kernel_texts, "loss", wanted, sizeof wanted / sizeof *wanted, err);
}

static void destroy(tutti_kernel *k)
{
    loss *s = k->state;
    if (s) s->device->release(s->device, s->ended, sizeof *s->ended);
    tutti_cuda_free_state(k);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const loss *s = k->state;
    const tutti_loss_attrs *at = k->attrs;
    forward_args f = {.logits = a->in[0],
                      .labels = a->labels,
                      .kept = k->saved_bytes ? a->saved : NULL,
                      .losses = a->scratch,
                      .loss = a->loss,
                      .correct = a->correct,
                      .ended = s->ended,
                      .batch = k->in[0].shape.dim[0],
                      .classes = k->in[0].shape.dim[1],
                      .weight = at->weight,
                      .smoothing = at->label_smoothing,
                      .type = (int32_t)k->in[0].dtype};
    tutti_cuda_run(s->cuda, s->forward, (tutti_cuda_grid){{(uint32_t)f.batch}, {s->threads}, 0}, (void *[]){&f});
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const loss *s = k->state;
    const tutti_loss_attrs *at = k->attrs;
    const int64_t batch = k->in[0].shape.dim[0], classes = k->in[0].shape.dim[1];
    backward_args b = {.logits = a->in[0],
                       .labels = a->labels,
                       .kept = a->saved,
                       .gradient = a->din[0],
                       .batch = batch,
                       .classes = classes,
                       .n = batch * ((classes + QUAD - 1) / QUAD),
                       .smoothing = at->label_smoothing,
                       .scale = (float)at->weight * a->loss_scale,
                       .type = (int32_t)k->in[0].dtype};
    if (b.gradient) tutti_cuda_run(s->cuda, s->backward, tutti_cuda_cover(b.n, TUTTI_CUDA_THREADS, 1), (void *[]){&b});
}

const tutti_kernel_row tutti_cuda_loss = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_data = backward_data,
};
