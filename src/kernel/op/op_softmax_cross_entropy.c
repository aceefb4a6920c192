/* SPDX-License-Identifier: Apache-2.0 */
/* op_softmax_cross_entropy.c: the loss of a classifier, logits (B, N) and one label a sample, as PyTorch's
 * CrossEntropyLoss:
 *
 *   target[n] = (1 - label_smoothing) * (n == label) + label_smoothing / N
 *   loss = weight * sum over samples of log(sum over n of exp(logit[n])) - sum over n of target[n] * logit[n]
 *   gradient of a logit = weight * (softmax[n] - target[n]) * loss_scale
 *
 * Label smoothing: Szegedy et al., CVPR 2016. The weight is that of an auxiliary head beside the main one (Szegedy et
 * al., CVPR 2015: 0.3). The largest logit is subtracted from all first, so exp() cannot overflow, and log() keeps its
 * precision beside large logits. `loss` is the sum, not the mean: the caller divides by the global batch, which this
 * rank does not see. saved: softmax - target, float. Sums in double. */
#include <assert.h>
#include <math.h>

#include "../kernel_impl.h"

static const tutti_field fields[] = {
    {"weight", TUTTI_FIELD_REAL, offsetof(tutti_loss_attrs, weight), "1", NULL, 0, 1e6,
     "multiplies the loss and its gradient"},
    {"label_smoothing", TUTTI_FIELD_REAL, offsetof(tutti_loss_attrs, label_smoothing), "0", NULL, 0, 1,
     "share of the target that is spread over all classes alike"},
};

static tutti_status infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err)
{
    (void)attrs, (void)nin;
    *out = (tutti_shape){0};
    if (in->ndims == 2) return TUTTI_OK;
    char text[96];
    tutti_shape_text(in, text);
    return tutti_fail(err, TUTTI_ERR_DATA, "wants logits (batch, classes), has %s: put a dense layer before it", text);
}

static double flops(const void *attrs, const tutti_shape *in, const tutti_shape *out)
{
    (void)attrs, (void)out;
    return 5 * (double)tutti_shape_count(in); /* operations an element: compare, subtract, exp, add, scale */
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)err;
    if (!r->training) return TUTTI_OK;
    k->saved_bytes = k->in[0].bytes;
    k->backward_reads = TUTTI_READS_SAVED;
    return TUTTI_OK;
}

/* Returns the index of the largest logit, the first of equals. */
static int64_t largest(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_loss_attrs *at = k->attrs;
    int64_t batch = k->in[0].shape.dim[0], n = k->in[0].shape.dim[1];
    double loss = 0, smoothing = at->label_smoothing;
    int32_t correct = 0;
    for (int64_t b = 0; b < batch; b++) {
        const float *logits = (const float *)a->in[0] + b * n;
        int32_t label = a->labels[b];
        assert(label >= 0 && label < n);
        int64_t best = largest(logits, n);
        double sum = 0, below = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += exp((double)logits[i] - (double)logits[best]);
            below += ((double)logits[best] - (double)logits[i]) / (double)n;
        }
        loss += log(sum) + (1 - smoothing) * ((double)logits[best] - (double)logits[label]) + smoothing * below;
        correct += best == label;
        if (!k->saved_bytes) continue;
        float *saved = (float *)a->saved + b * n;
        for (int64_t i = 0; i < n; i++)
            saved[i] = (float)(exp((double)logits[i] - (double)logits[best]) / sum - smoothing / (double)n -
                               (i == label ? 1 - smoothing : 0));
    }
    *a->loss = (float)(at->weight * loss);
    *a->correct = correct;
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_loss_attrs *at = k->attrs;
    const float *saved = a->saved, scale = (float)at->weight * a->loss_scale;
    float *din = a->din[0];
    int64_t n = tutti_shape_count(&k->in[0].shape);
    for (int64_t i = 0; i < n; i++) din[i] = saved[i] * scale;
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_softmax_cross_entropy = {
    .name = "softmax-cross-entropy",
    .fields = {fields, sizeof fields / sizeof *fields},
    .attrs_bytes = sizeof(tutti_loss_attrs),
    .ninputs = 1,
    .is_loss = true,
    .infer = infer,
    .flops = flops,
    .reference = &reference,
};
