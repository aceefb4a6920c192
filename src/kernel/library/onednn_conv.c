/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_conv.c: convolution by oneDNN, direct algorithm, of f32 and, on processors that multiply bf16 (AVX512-BF16,
 * AMX), of bf16: products of bf16, sums in f32, rounded once.
 *
 * Activations get the order of the rule (order_rule.h) if the library has fast loops for it. Otherwise it would fall
 * back on its plain loops, which are hundreds of times slower; so another order is used for which it has fast loops,
 * and inputs and outputs are copied. Gradients are computed in the forward pass's orders. The library itself would
 * choose other orders for gradients, and then three activations would have to be reordered. Input gradients of strided
 * convolutions, ResNet-50's 128 x 3 x 3 at batch 16: 34 ms in blocks, 47 ms with channels innermost, reorders not
 * counted.
 *
 * f32 weights that are trained lie in the order that the forward pass wants. With activations in blocks the weight
 * gradient wants the same order. The input gradient wants its blocks transposed and has no fast kernel for any other
 * order, so the weights are reordered in scratch once a call (ResNet-50, batch 16: at most 3 % of the pass, 0.7 ms of
 * 26 ms at 512 x 512 x 3 x 3). With groups, weights have one dim more than a layout can hold, so they stay row-major.
 * Weights that are multiplied in bf16 stay row-major too; they are rounded and reordered once a call, and their
 * gradient is f32. A merged ReLU is a post-op of the forward primitive. In the backward pass it masks the output's
 * gradient in place, before the weights' gradient is computed.
 *
 * On a processor that does not multiply bf16, the library computes the same results by f32 instructions, four times
 * slower than f32 itself. There the row fits no request (onednn_engine.c); only tests use it. */
#include <string.h>

#include "../choose/order_rule.h"
#include "onednn_impl.h"

/* The orders of input and output in which a primitive is to compute. */
typedef struct {
    dnnl_memory_desc_t in, out;
} orders;

typedef struct {
    dnnl_data_type_t type; /* the type of activations and of weights as they are multiplied */
    /* orders in which weights and bias are stored; bias is NULL if there is none */
    const_dnnl_memory_desc_t weights, bias;
    dnnl_memory_desc_t any_weights, any_gradient;
    dnnl_dims_t strides, dilates, pad;
    orders asked; /* the orders for which the forward primitive was found */
    tutti_order wanted;
} conv_desc;

tutti_order tutti_onednn_wanted_order(const tutti_kernel *k, const tutti_kernel_request *r)
{
    tutti_order_vote vote;
    if (r->order != TUTTI_ORDER_NONE) return r->order;
    tutti_order_vote_of(k->op, k->attrs, &k->in[0].shape, &k->out.shape, &vote);
    return tutti_order_rule(r->engine, r->precision, &vote, 1);
}

static conv_desc describe(tutti_kernel *k, const tutti_kernel_request *r, dnnl_data_type_t type)
{
    const tutti_conv_attrs *at = k->attrs;
    const tutti_shape *weights = &k->params[0].shape;
    const int64_t groups = at->groups > 1 ? at->groups : 0;
    tutti_onednn_state *s = k->state;
    return (conv_desc){
        .type = type,
        .weights = tutti_onednn_typed(s, dnnl_f32, weights, groups, groups ? dnnl_abcde : dnnl_abcd),
        .bias = at->bias ? tutti_onednn_plain(s, &k->params[1].shape) : NULL,
        .any_weights = tutti_onednn_typed(s, type, weights, groups, dnnl_format_tag_any),
        .any_gradient = tutti_onednn_typed(s, dnnl_f32, weights, groups, dnnl_format_tag_any),
        .strides = {at->stride, at->stride},
        .pad = {at->pad, at->pad},
        .wanted = tutti_onednn_wanted_order(k, r),
    };
}

/* Returns the library's descriptions of input and output in this order. With TUTTI_ORDER_NONE the library chooses both.
 * The library also chooses the order of an image, whose few channels do not fill a block. */
static orders in_order(tutti_kernel *k, const conv_desc *d, tutti_order order)
{
    enum { FEW = 8 };
    const bool any = order == TUTTI_ORDER_NONE, blocked = order != TUTTI_ORDER_NHWC;
    const tutti_shape *in = &k->in[0].shape, *out = &k->out.shape;
    const dnnl_memory_desc_t any_in = tutti_onednn_typed(k->state, d->type, in, 0, dnnl_format_tag_any);
    if (any) return (orders){any_in, tutti_onednn_typed(k->state, d->type, out, 0, dnnl_format_tag_any)};
    return (orders){blocked && in->dim[1] < FEW ? any_in : tutti_onednn_ordered(k->state, d->type, in, order),
                    tutti_onednn_ordered(k->state, d->type, out, order)};
}

/* Type of the functions that find a primitive which computes in these orders. */
typedef dnnl_status_t find_fn(tutti_onednn_state *s, const conv_desc *d, const orders *o, dnnl_primitive_desc_t *pd);

static dnnl_status_t find_training(tutti_onednn_state *s, const conv_desc *d, const orders *o,
                                   dnnl_primitive_desc_t *pd)
{
    return dnnl_convolution_forward_primitive_desc_create(pd, s->engine, dnnl_forward_training, dnnl_convolution_direct,
                                                          o->in, d->any_weights, d->bias, o->out, d->strides,
                                                          d->dilates, d->pad, d->pad, s->forward_attr);
}

static dnnl_status_t find_inference(tutti_onednn_state *s, const conv_desc *d, const orders *o,
                                    dnnl_primitive_desc_t *pd)
{
    return dnnl_convolution_forward_primitive_desc_create(
        pd, s->engine, dnnl_forward_inference, dnnl_convolution_direct, o->in, d->any_weights, d->bias, o->out,
        d->strides, d->dilates, d->pad, d->pad, s->forward_attr);
}

static dnnl_status_t find_weight_gradient(tutti_onednn_state *s, const conv_desc *d, const orders *o,
                                          dnnl_primitive_desc_t *pd)
{
    return dnnl_convolution_backward_weights_primitive_desc_create(pd, s->engine, dnnl_convolution_direct, o->in,
                                                                   d->any_gradient, d->bias, o->out, d->strides,
                                                                   d->dilates, d->pad, d->pad, s->forward_pd, s->attr);
}

static dnnl_status_t find_input_gradient(tutti_onednn_state *s, const conv_desc *d, const orders *o,
                                         dnnl_primitive_desc_t *pd)
{
    return dnnl_convolution_backward_data_primitive_desc_create(pd, s->engine, dnnl_convolution_direct, o->in,
                                                                d->any_weights, o->out, d->strides, d->dilates, d->pad,
                                                                d->pad, s->forward_pd, s->attr);
}

/* Finds a primitive for the first of these orders for which the library has more than plain loops. If there is none,
 * returns any primitive for the last order. *taken becomes the index of the order. */
static dnnl_primitive_desc_t find_first(tutti_onednn_state *s, const conv_desc *d, find_fn *find, const orders *tried,
                                        int n, orders *taken)
{
    for (int i = 0; i < n && s->failed == dnnl_success; i++) {
        dnnl_primitive_desc_t pd = NULL;
        *taken = tried[i];
        if (find(s, d, &tried[i], &pd) == dnnl_success && (i == n - 1 || !tutti_onednn_is_plain_loops(pd))) return pd;
        dnnl_primitive_desc_destroy(pd);
    }
    return NULL;
}

/* False for row-major and for blocks of 32, because no primitive computes in them. These orders exist only for
 * tests. */
static bool is_computed(tutti_order order)
{
    return order == TUTTI_ORDER_NHWC || order == TUTTI_ORDER_NCHW16C || order == TUTTI_ORDER_NCHW8C;
}

/* Finds the orders of all arguments, and a forward primitive for them. */
static void find_forward(tutti_kernel *k, conv_desc *d, const tutti_kernel_request *r)
{
    tutti_onednn_state *s = k->state;
    const tutti_order preferred = tutti_order_preferred(r->engine, r->precision);
    orders tried[4];
    int n = 0;
    if (is_computed(d->wanted)) tried[n++] = in_order(k, d, d->wanted);
    if (preferred != d->wanted) tried[n++] = in_order(k, d, preferred);
    tried[n++] = in_order(k, d, TUTTI_ORDER_NHWC);
    tried[n++] = in_order(k, d, TUTTI_ORDER_NONE);
    s->forward_pd = find_first(s, d, r->training ? find_training : find_inference, tried, n, &d->asked);
    if (!s->forward_pd) tutti_onednn_ok(s, dnnl_unimplemented, "find a convolution");
    if (s->failed != dnnl_success) return;
    const tutti_order left = tutti_onednn_order_of(s, tutti_onednn_wants(s->forward_pd, DNNL_ARG_DST), &k->out.shape);
    const bool follows =
        r->order != TUTTI_ORDER_NONE || tutti_order_forced() != TUTTI_ORDER_NONE || left == TUTTI_ORDER_NONE;
    tutti_onednn_set_out(k, follows ? d->wanted : left, tutti_precision_dtype(r->precision));
    if (d->type == dnnl_f32)
        d->weights = tutti_onednn_param_order(k, r, 0, tutti_onednn_wants(s->forward_pd, DNNL_ARG_WEIGHTS), d->weights);
}

/* Finds a primitive for a gradient: in the orders of the forward pass, else with channels last, else in the orders that
 * the library prefers. */
static dnnl_primitive_desc_t find_gradient(tutti_kernel *k, const conv_desc *d, find_fn *find, const char *what)
{
    tutti_onednn_state *s = k->state;
    orders taken;
    if (s->failed != dnnl_success) return NULL;
    const orders forward = {(dnnl_memory_desc_t)(uintptr_t)tutti_onednn_wants(s->forward_pd, DNNL_ARG_SRC),
                            (dnnl_memory_desc_t)(uintptr_t)tutti_onednn_wants(s->forward_pd, DNNL_ARG_DST)};
    const orders tried[] = {forward, in_order(k, d, TUTTI_ORDER_NHWC), in_order(k, d, TUTTI_ORDER_NONE)};
    dnnl_primitive_desc_t pd = find_first(s, d, find, tried, 3, &taken);
    if (!pd) tutti_onednn_ok(s, dnnl_unimplemented, what);
    return pd;
}

/* Builds the pass of the weights' gradient by the library. With channels last, a step of our own sums the bias's
 * gradient first (onednn_conv_bias.c). */
static void build_backward_params(tutti_kernel *k, conv_desc *d)
{
    tutti_onednn_state *s = k->state;
    if (d->type == dnnl_f32 && tutti_onednn_sums_bias(k)) {
        tutti_onednn_add_bias_sum(k);
        d->bias = NULL;
    }
    dnnl_primitive_desc_t pd = find_gradient(k, d, find_weight_gradient, "find a convolution's weight gradient");
    tutti_onednn_add_weight_gradient(s, pd, d->weights, d->bias);
}

static void build_backward_data(tutti_kernel *k, conv_desc *d)
{
    tutti_onednn_state *s = k->state;
    dnnl_primitive_desc_t pd = find_gradient(k, d, find_input_gradient, "find a convolution's input gradient");
    tutti_onednn_add_input_gradient(s, pd, d->weights);
}

static void build_by_library(tutti_kernel *k, conv_desc *d, const tutti_kernel_request *r)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_add_product(s, d->weights, d->bias);
    if (r->training) build_backward_params(k, d);
    if (r->training) build_backward_data(k, d);
}

/* Functions that add our own steps in place of the library's primitives. The steps keep the library's orders. NULL if
 * the row does not compute that pass. */
typedef void add_step(tutti_kernel *k, const_dnnl_memory_desc_t weights);
typedef struct {
    add_step *forward, *params, *data;
} own_steps;

static void build_by_steps(tutti_kernel *k, const own_steps *own, const conv_desc *d, const tutti_kernel_request *r)
{
    tutti_onednn_state *s = k->state;
    const bool innermost = tutti_onednn_channels_lie_innermost(k);
    if (!tutti_onednn_ok(s, innermost ? dnnl_success : dnnl_unimplemented, "find channels innermost")) return;
    if (own->forward) own->forward(k, d->weights);
    if (r->training && own->params) own->params(k, d->weights);
    if (r->training && own->data) own->data(k, d->weights);
}

/* Creates the kernel. `own` is NULL if the library computes all passes. */
static tutti_status create_with(tutti_kernel *k, const tutti_kernel_request *r, const own_steps *own,
                                tutti_failure *err)
{
    const tutti_conv_attrs *at = k->attrs;
    const bool halves = r->precision == TUTTI_PRECISION_BF16;
    if (halves && k->params[0].layout)
        return tutti_fail(err, TUTTI_ERR_USAGE, "weights of op %s lie in an order that bf16 does not read",
                          k->op->name);
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    k->backward_reads = TUTTI_READS_INPUT;
    if (at->relu) tutti_onednn_merge_relu(k);
    if (s->failed != dnnl_success) return tutti_onednn_finish(k, err);
    conv_desc d = describe(k, r, halves ? dnnl_bf16 : dnnl_f32);
    find_forward(k, &d, r);
    if (r->training && at->relu) tutti_onednn_mask_dout(k);
    if (s->failed == dnnl_success && own) build_by_steps(k, own, &d, r);
    if (s->failed == dnnl_success && !own) build_by_library(k, &d, r);
    return tutti_onednn_finish(k, err);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create_with(k, r, NULL, err);
}

static tutti_status create_lanes(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    static const own_steps steps = {tutti_onednn_add_lane_product, tutti_onednn_add_lane_gradient,
                                    tutti_onednn_add_lane_spread};
    return create_with(k, r, &steps, err);
}

static tutti_status create_tiles(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    static const own_steps steps = {NULL, tutti_onednn_add_tile_gradient, NULL};
    return create_with(k, r, &steps, err);
}

#define ROW(made, reads_halves)                                                                                        \
    {                                                                                                                  \
        .fuses = true, .takes_halves = reads_halves, .create = made, .destroy = tutti_onednn_close,                    \
        .forward = tutti_onednn_forward, .backward_params = tutti_onednn_backward_params,                              \
        .backward_data = tutti_onednn_backward_data                                                                    \
    }
const tutti_kernel_row tutti_onednn_conv = ROW(create, false), tutti_onednn_bf16_conv = ROW(create, true),
                       tutti_conv_lanes = ROW(create_lanes, true), tutti_conv_tiles = ROW(create_tiles, true);
