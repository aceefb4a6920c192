/* SPDX-License-Identifier: Apache-2.0 */
/* op_lrn.c: local response normalisation across channels, (B, C, ...), as PyTorch's LocalResponseNorm (Krizhevsky et
 * al., NeurIPS 2012). With base[c] = k + alpha / size * sum of in[c']^2 over `size` channels around c, from c - size /
 * 2 on:
 *
 *   out[c] = in[c] * base[c]^-beta
 *
 * Channels that do not exist count as zeros. alpha is divided by `size`, as in Caffe but not in the paper. saved: base
 * of each element, float. Sums in double. */
#include <math.h>

#include "../kernel_impl.h"

static const tutti_field fields[] = {
    {"size", TUTTI_FIELD_INT, offsetof(tutti_lrn_attrs, size), "5", NULL, 1, 32767, "channels summed over"},
    {"alpha", TUTTI_FIELD_REAL, offsetof(tutti_lrn_attrs, alpha), "1e-4", NULL, 0, 1e6, "weight of the squares"},
    {"beta", TUTTI_FIELD_REAL, offsetof(tutti_lrn_attrs, beta), "0.75", NULL, 0, 100, "exponent"},
    {"k", TUTTI_FIELD_REAL, offsetof(tutti_lrn_attrs, k), "1", NULL, 1e-6, 1e6, "added to the sum of squares"},
};

static tutti_status infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err)
{
    (void)attrs, (void)nin;
    *out = in[0];
    if (in->ndims >= 2) return TUTTI_OK;
    char text[96];
    tutti_shape_text(in, text);
    return tutti_fail(err, TUTTI_ERR_DATA, "wants an input (batch, channels, ...), has %s", text);
}

/* Counts, for each element: a square and an addition for each channel of the window, then a power and a product. */
static double flops(const void *attrs, const tutti_shape *in, const tutti_shape *out)
{
    (void)in;
    const tutti_lrn_attrs *at = attrs;
    return (2 * (double)at->size + 3) * (double)tutti_shape_count(out);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)err;
    if (!r->training) return TUTTI_OK;
    k->saved_bytes = k->out.bytes;
    k->backward_reads = TUTTI_READS_INPUT | TUTTI_READS_SAVED;
    return TUTTI_OK;
}

/* A column of channels of one sample: element c lies at c * step. */
typedef struct {
    int64_t channels, step;
    const tutti_lrn_attrs *at;
} column;

static double base_of(const column *w, const float *in, int64_t c)
{
    int64_t first = c - w->at->size / 2, end = first + w->at->size;
    double squares = 0;
    for (int64_t i = first < 0 ? 0 : first; i < end && i < w->channels; i++)
        squares += (double)in[i * w->step] * (double)in[i * w->step];
    return w->at->k + w->at->alpha / (double)w->at->size * squares;
}

static void column_forward(const column *w, const float *in, float *out, float *saved)
{
    for (int64_t c = 0; c < w->channels; c++) {
        double base = base_of(w, in, c);
        out[c * w->step] = (float)((double)in[c * w->step] * pow(base, -w->at->beta));
        if (saved) saved[c * w->step] = (float)base;
    }
}

/* Computes din[c] = dout[c] * base[c]^-beta - 2 alpha beta / size * in[c] * sum of dout[i] in[i] base[i]^(-beta - 1)
 * over the windows i in which c lies */
static void column_backward(const column *w, const float *in, const float *saved, const float *dout, float *din)
{
    const tutti_lrn_attrs *at = w->at;
    for (int64_t c = 0; c < w->channels; c++) {
        int64_t end = c + at->size / 2 + 1, first = end - at->size;
        double sum = 0;
        for (int64_t i = first < 0 ? 0 : first; i < end && i < w->channels; i++)
            sum += (double)dout[i * w->step] * (double)in[i * w->step] * pow((double)saved[i * w->step], -at->beta - 1);
        double straight = (double)dout[c * w->step] * pow((double)saved[c * w->step], -at->beta);
        din[c * w->step] =
            (float)(straight - 2 * at->alpha * at->beta / (double)at->size * (double)in[c * w->step] * sum);
    }
}

static column column_of(const tutti_kernel *k)
{
    const tutti_shape *s = &k->in[0].shape;
    return (column){s->dim[1], tutti_shape_count(s) / s->dim[0] / s->dim[1], k->attrs};
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const column w = column_of(k);
    const float *in = a->in[0];
    float *out = a->out, *saved = k->saved_bytes ? a->saved : NULL;
    for (int64_t b = 0; b < k->in[0].shape.dim[0]; b++)
        for (int64_t e = 0; e < w.step; e++) {
            int64_t at = b * w.channels * w.step + e;
            column_forward(&w, in + at, out + at, saved ? saved + at : NULL);
        }
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const column w = column_of(k);
    const float *in = a->in[0], *saved = a->saved, *dout = a->dout;
    float *din = a->din[0];
    for (int64_t b = 0; b < k->in[0].shape.dim[0]; b++)
        for (int64_t e = 0; e < w.step; e++) {
            int64_t at = b * w.channels * w.step + e;
            column_backward(&w, in + at, saved + at, dout + at, din + at);
        }
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_lrn = {
    .name = "lrn",
    .fields = {fields, sizeof fields / sizeof *fields},
    .attrs_bytes = sizeof(tutti_lrn_attrs),
    .ninputs = 1,
    .keeps_zeros = true,
    .infer = infer,
    .flops = flops,
    .reference = &reference,
};
