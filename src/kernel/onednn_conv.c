/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_conv.c: convolution by oneDNN, direct algorithm. Weights that are trained lie in the order that the forward pass
 * wants. With activations in blocks the weight gradient wants the same; the input gradient wants its blocks transposed and
 * has no fast kernel for any other order, so they are reordered in scratch once a call (ResNet-50, batch 16: at most 3 % of
 * the pass, 0.7 ms of 26 ms at 512 x 512 x 3 x 3). Weights in groups have a dim more than a layout: they stay row-major.
 *
 * Activations lie in the order that the library prefers, blocks of 16 channels with AVX-512, unless rounding channels up to
 * whole blocks would add a quarter to the arithmetic: then channels lie innermost (NHWC) and nothing is added. LeNet's second
 * convolution, 20 -> 50 channels, batch 64, one thread of an EPYC: all three passes 11.5 ms in blocks, 8.3 ms innermost.
 * The rule looks at shapes and the instruction set only, so all ranks choose alike. Gradients with channels innermost may be
 * steps of our own, see onednn_conv_gemm.c. */
#include <string.h>

#include "onednn_impl.h"

enum { BLOCK = 16 };

typedef struct {
    const_dnnl_memory_desc_t weights, bias; /* as they lie in the regions; bias NULL = none */
    dnnl_memory_desc_t pick_in, pick_out, any_weights;
    dnnl_dims_t strides, dilates, pad;
} conv_desc;

static conv_desc describe(tutti_kernel *k, tutti_onednn_state *s)
{
    const tutti_conv_attrs *at = k->attrs;
    const tutti_shape *weights = &k->params[0].shape;
    bool grouped = at->groups > 1;
    conv_desc d = {
        .weights = grouped ? tutti_onednn_grouped(s, weights, at->groups, dnnl_abcde) : tutti_onednn_plain(s, weights),
        .bias = at->bias ? tutti_onednn_plain(s, &k->params[1].shape) : NULL,
        .pick_in = tutti_onednn_any(s, &k->in[0].shape),
        .pick_out = tutti_onednn_any(s, &k->out.shape),
        .any_weights =
            grouped ? tutti_onednn_grouped(s, weights, at->groups, dnnl_format_tag_any) : tutti_onednn_any(s, weights),
        .strides = {at->stride, at->stride},
        .pad = {at->pad, at->pad},
    };
    return d;
}

/* What whole blocks cost: arithmetic with padded channels over arithmetic without. Few input channels (an image's) are not
 * blocked. */
static double blocking_waste(int64_t channels)
{
    return (double)((channels + BLOCK - 1) / BLOCK * BLOCK) / (double)channels;
}

static bool wants_channels_innermost(const tutti_kernel *k)
{
    const tutti_conv_attrs *at = k->attrs;
    int64_t in = k->in[0].shape.dim[1] / at->groups, out = k->out.shape.dim[1] / at->groups;
    bool has_avx512 = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
    double waste = blocking_waste(out) * (in < BLOCK / 2 ? 1 : blocking_waste(in));
    return has_avx512 && (in == 1 || in >= BLOCK / 2) && waste > 1.25;
}

static bool find_forward(tutti_onednn_state *s, conv_desc *d, bool training)
{
    dnnl_prop_kind_t prop = training ? dnnl_forward_training : dnnl_forward_inference;
    return dnnl_convolution_forward_primitive_desc_create(&s->forward_pd, s->engine, prop, dnnl_convolution_direct,
                                                          d->pick_in, d->any_weights, d->bias, d->pick_out, d->strides,
                                                          d->dilates, d->pad, d->pad, s->forward_attr) == dnnl_success;
}

/* Plain loops are not taken: then the order that the library prefers is. */
static void choose_order(tutti_kernel *k, tutti_onednn_state *s, conv_desc *d, bool training)
{
    if (wants_channels_innermost(k)) {
        conv_desc innermost = *d;
        innermost.pick_in = tutti_onednn_innermost(s, &k->in[0].shape);
        innermost.pick_out = tutti_onednn_innermost(s, &k->out.shape);
        if (find_forward(s, &innermost, training) && !tutti_onednn_is_plain_loops(s->forward_pd)) {
            *d = innermost;
            return;
        }
        dnnl_primitive_desc_destroy(s->forward_pd);
        s->forward_pd = NULL;
    }
    if (!find_forward(s, d, training)) tutti_onednn_ok(s, dnnl_unimplemented, "find a convolution");
}

static void build_forward(tutti_kernel *k, tutti_onednn_state *s, conv_desc *d, const tutti_kernel_request *r)
{
    choose_order(k, s, d, r->training);
    if (s->failed != dnnl_success) return;
    d->weights = tutti_onednn_param_order(k, r, 0, tutti_onednn_wants(s->forward_pd, DNNL_ARG_WEIGHTS), d->weights);
    tutti_onednn_set_out(k, tutti_onednn_wants(s->forward_pd, DNNL_ARG_DST));
    tutti_onednn_add_product(s, d->weights, d->bias);
}

static bool find_weight_gradient(tutti_onednn_state *s, const conv_desc *d, const_dnnl_memory_desc_t in,
                                 const_dnnl_memory_desc_t out, dnnl_primitive_desc_t *pd)
{
    return dnnl_convolution_backward_weights_primitive_desc_create(
               pd, s->engine, dnnl_convolution_direct, in, d->any_weights, d->bias, out, d->strides, d->dilates, d->pad,
               d->pad, s->forward_pd, s->attr) == dnnl_success;
}

static bool find_input_gradient(tutti_onednn_state *s, const conv_desc *d, const_dnnl_memory_desc_t in,
                                const_dnnl_memory_desc_t out, dnnl_primitive_desc_t *pd)
{
    return dnnl_convolution_backward_data_primitive_desc_create(pd, s->engine, dnnl_convolution_direct, in,
                                                                d->any_weights, out, d->strides, d->dilates, d->pad,
                                                                d->pad, s->forward_pd, s->attr) == dnnl_success;
}

/* With the orders of the forward pass if the library has more for them than plain loops. Left to itself it asks for others, and
 * three activations would be reordered: input gradients of strided convolutions, ResNet-50's 128 x 3 x 3 at batch 16: 34 ms
 * in blocks, 47 ms with channels innermost, reorders not counted. */
static dnnl_primitive_desc_t find_gradient(tutti_onednn_state *s, const conv_desc *d,
                                           bool (*find)(tutti_onednn_state *, const conv_desc *,
                                                        const_dnnl_memory_desc_t, const_dnnl_memory_desc_t,
                                                        dnnl_primitive_desc_t *),
                                           const char *what)
{
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return NULL;
    if (find(s, d, tutti_onednn_wants(s->forward_pd, DNNL_ARG_SRC), tutti_onednn_wants(s->forward_pd, DNNL_ARG_DST),
             &pd) &&
        !tutti_onednn_is_plain_loops(pd))
        return pd;
    dnnl_primitive_desc_destroy(pd);
    pd = NULL;
    if (!find(s, d, d->pick_in, d->pick_out, &pd)) tutti_onednn_ok(s, dnnl_unimplemented, what);
    return pd;
}

static void build_backward_params(tutti_kernel *k, conv_desc *d)
{
    tutti_onednn_state *s = k->state;
    if (tutti_onednn_sums_bias(k)) {
        tutti_onednn_add_bias_sum(k);
        d->bias = NULL;
    }
    if (tutti_onednn_multiplies_windows(k)) {
        tutti_onednn_add_weight_product(k, d->weights);
        return;
    }
    dnnl_primitive_desc_t pd = find_gradient(s, d, find_weight_gradient, "find a convolution's weight gradient");
    tutti_onednn_add_weight_gradient(s, pd, d->weights, d->bias);
}

static void build_backward_data(tutti_kernel *k, conv_desc *d)
{
    tutti_onednn_state *s = k->state;
    if (tutti_onednn_multiplies_windows(k)) {
        tutti_onednn_add_input_product(k, d->weights);
        return;
    }
    dnnl_primitive_desc_t pd = find_gradient(s, d, find_input_gradient, "find a convolution's input gradient");
    tutti_onednn_add_input_gradient(s, pd, d->weights);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_conv_attrs *at = k->attrs;
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    conv_desc d = describe(k, s);
    k->backward_reads = TUTTI_READS_INPUT;
    if (at->relu) tutti_onednn_merge_relu(k);
    if (s->failed == dnnl_success) build_forward(k, s, &d, r);
    if (r->training && at->relu) tutti_onednn_mask_dout(k);
    if (r->training) build_backward_params(k, &d);
    if (r->training) build_backward_data(k, &d);
    return tutti_onednn_finish(k, err);
}

const tutti_kernel_row tutti_onednn_conv = {
    .engine = "onednn",
    .fuses = true,
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_params = tutti_onednn_backward_params,
    .backward_data = tutti_onednn_backward_data,
};
