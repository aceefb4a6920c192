/* SPDX-License-Identifier: Apache-2.0 */
/* op_dropout.c: dropout: in training each element is set to 0 with probability `rate`, the others are multiplied by 1 /
 * (1 - rate); in evaluation nothing happens (Srivastava et al., JMLR 2014), as PyTorch's Dropout.
 *
 * Whether an element lives is a pure function of (seed, step, global sample, layer, row-major index within the sample):
 * it does not depend on how the batch is divided among ranks or slots. saved: one byte an element, 1 = lives. */
#include <string.h>

#include "../../base/rng.h"
#include "../kernel_impl.h"

/* The generator's two 64-bit counters hold four numbers: step, sample, layer and element. STEP_BITS and ELEMENT_BITS
 * are the widths of two of them. WORDS: number of random words for one counter value. */
enum { STEP_BITS = 44, ELEMENT_BITS = 28, WORDS = 4 };

static const tutti_field fields[] = {
    {"rate", TUTTI_FIELD_REAL, offsetof(tutti_dropout_attrs, rate), "0.5", NULL, 0, 0.999,
     "probability that an element is dropped"},
};

tutti_status tutti_op_dropout_needs(tutti_kernel *k, tutti_failure *err)
{
    int64_t count = tutti_shape_count(&k->out.shape);
    if (count / k->out.shape.dim[0] >= (int64_t)WORDS << ELEMENT_BITS)
        return tutti_fail(err, TUTTI_ERR_DATA, "a sample of 2^30 elements or more is too large for dropout");
    k->saved_bytes = (size_t)count;
    k->backward_reads = TUTTI_READS_SAVED;
    return TUTTI_OK;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    k->in_place = true;
    return r->training ? tutti_op_dropout_needs(k, err) : TUTTI_OK;
}

tutti_dropout_keys tutti_op_dropout_keys(const tutti_kernel_args *a, int64_t sample)
{
    return (tutti_dropout_keys){(uint64_t)a->layer << STEP_BITS | a->step, (a->first_sample + (uint64_t)sample)
                                                                               << ELEMENT_BITS};
}

static void draw_mask(const tutti_kernel *k, const tutti_kernel_args *a, uint8_t *lives)
{
    const tutti_dropout_attrs *at = k->attrs;
    int64_t batch = k->out.shape.dim[0], per_sample = tutti_shape_count(&k->out.shape) / batch;
    float rate = (float)at->rate;
    for (int64_t b = 0; b < batch; b++) {
        const tutti_dropout_keys keys = tutti_op_dropout_keys(a, b);
        for (int64_t e = 0; e < per_sample; e += WORDS) {
            tutti_random4 drawn =
                tutti_random(a->seed, TUTTI_STREAM_DROPOUT, keys.step, keys.sample | (uint64_t)(e / WORDS));
            for (int64_t i = 0; i < WORDS && e + i < per_sample; i++)
                *lives++ = tutti_random_unit(drawn.word[i]) >= rate;
        }
    }
}

static void apply_mask(const tutti_kernel *k, const uint8_t *lives, const float *from, float *to)
{
    const tutti_dropout_attrs *at = k->attrs;
    int64_t n = tutti_shape_count(&k->out.shape);
    float scale = (float)(1 / (1 - at->rate));
    for (int64_t i = 0; i < n; i++) /* a product instead of a branch, because the processor could not predict it */
        to[i] = from[i] * ((float)lives[i] * scale);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    if (!a->training) {
        if (a->out != a->in[0]) memcpy(a->out, a->in[0], k->out.bytes);
        return;
    }
    draw_mask(k, a, a->saved);
    apply_mask(k, a->saved, a->in[0], a->out);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    apply_mask(k, a->saved, a->dout, a->din[0]);
}

static const tutti_kernel_row reference = {
    .create = create,
    .forward = forward,
    .backward_data = backward_data,
};

const tutti_op_row tutti_op_dropout = {
    .name = "dropout",
    .fields = {fields, sizeof fields / sizeof *fields},
    .attrs_bytes = sizeof(tutti_dropout_attrs),
    .ninputs = 1,
    .random = true,
    .keeps_zeros = true,
    .infer = tutti_op_infer_same,
    .flops = tutti_op_flops_each,
    .reference = &reference,
};
