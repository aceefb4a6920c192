/* SPDX-License-Identifier: Apache-2.0 */
/* bench_primitives.c: what a training step costs at least on one thread: each oneDNN primitive that it needs, timed
 * alone, in the memory order that the primitive likes best, on warm buffers; and their sum. No reorders, no loader, no
 * loss, no dropout, no update. usage: bench_primitives MODEL BATCH f32|bf16 REPEATS [--layers]
 *
 * A ReLU is part of the convolution, dense layer, batch norm or addition before it (forward as a post-op); its backward
 * pass is a primitive, but in batch norm's case. A value that several layers read has its gradients summed. What the
 * input alone reaches needs no gradient. Prints a line a layer with --layers (forward, weight gradient, input gradient
 * and sums, ms) and the sum in ms as the last line. Equal primitives are timed once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel_impl.h"
#include "primitive_timer.h"
#include "training/model/model.h"

enum { FORWARD, WEIGHTS, DATA, NPARTS };

typedef struct {
    dnnl_memory_desc_t order; /* as its maker likes it; NULL = none has chosen */
    bool needs_grad;          /* something learned lies above */
    int nreaders;
} value; /* a layer's output */

typedef struct {
    const tutti_model *model;
    int64_t batch;
    tutti_shape *shapes; /* of the layers' outputs */
    value *values;
    primitive_timer timer;
    dnnl_data_type_t dtype;
    double part[NPARTS]; /* of the layer at hand, ms */
} bench;

static void take_time(bench *b, int part, dnnl_primitive_desc_t taken)
{
    b->part[part] += primitive_timer_ms(&b->timer, taken);
}

/* --- descriptions; a few bytes each, kept to the end --- */

static dnnl_memory_desc_t describe(const tutti_shape *shape, dnnl_data_type_t type, dnnl_format_tag_t order)
{
    dnnl_dims_t dims = {0};
    for (int d = 0; d < shape->ndims; d++) dims[d] = shape->dim[d];
    dnnl_memory_desc_t md = NULL;
    TRY(dnnl_memory_desc_create_with_tag(&md, shape->ndims, dims, type, order));
    return md;
}

static dnnl_memory_desc_t any(const bench *b, const tutti_shape *shape)
{
    return describe(shape, b->dtype, dnnl_format_tag_any);
}

static dnnl_memory_desc_t keep_order(const_dnnl_primitive_desc_t pd, int arg)
{
    dnnl_memory_desc_t md = NULL;
    TRY(dnnl_memory_desc_clone(&md, dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg)));
    return md;
}

static tutti_shape input_shape(const bench *b, int layer)
{
    tutti_shape s = b->model->input, with_batch = {s.ndims + 1, {b->batch}};
    if (layer >= 0) return b->shapes[layer];
    for (int d = 0; d < s.ndims; d++) with_batch.dim[d + 1] = s.dim[d];
    return with_batch;
}

static dnnl_memory_desc_t input_order(const bench *b, int layer)
{
    static const dnnl_format_tag_t row_major[] = {dnnl_a, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd};
    tutti_shape s = input_shape(b, layer);
    if (layer >= 0 && b->values[layer].order) return b->values[layer].order;
    return describe(&s, b->dtype, row_major[s.ndims]);
}

/* What times the layers of an op. */
typedef struct {
    const tutti_op_row *op;
    void (*time)(bench *b, int l);
    bool takes_relu; /* a ReLU behind it is a part of it */
} row;
static const row *row_of(const tutti_op_row *op);

/* Whether the layer's one reader is a ReLU, which then is a part of it. */
static bool has_relu(const bench *b, int l)
{
    const tutti_model *m = b->model;
    const row *kind = row_of(m->layers[l].op);
    if (!kind || !kind->takes_relu) return false;
    for (int r = l + 1; r < m->nlayers && b->values[l].nreaders == 1; r++)
        if (m->layers[r].in[0] == l) return m->layers[r].op == &tutti_op_relu;
    return false;
}

static dnnl_primitive_attr_t relu_after(bool wanted)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    TRY(dnnl_primitive_attr_create(&attr));
    TRY(dnnl_post_ops_create(&ops));
    if (wanted) TRY(dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0));
    TRY(dnnl_primitive_attr_set_post_ops(attr, ops));
    dnnl_post_ops_destroy(ops);
    return attr;
}

/* --- layers --- */

static void time_eltwise(bench *b, dnnl_memory_desc_t order, dnnl_alg_kind_t alg, bool forward)
{
    dnnl_primitive_desc_t pd = NULL, back = NULL;
    TRY(dnnl_eltwise_forward_primitive_desc_create(&pd, b->timer.engine, dnnl_forward_training, alg, order, order, 0, 0,
                                                   NULL));
    TRY(dnnl_eltwise_backward_primitive_desc_create(&back, b->timer.engine, alg, order, order, order, 0, 0, pd, NULL));
    take_time(b, DATA, back);
    if (forward)
        take_time(b, FORWARD, pd);
    else
        dnnl_primitive_desc_destroy(pd);
}

static void time_conv(bench *b, int l)
{
    const tutti_layer *layer = &b->model->layers[l];
    const tutti_conv_attrs *at = layer->attrs;
    tutti_shape in = input_shape(b, layer->in[0]), bias_shape = {1, {at->out_channels}};
    dnnl_dims_t grouped = {at->groups, at->out_channels / at->groups, in.dim[1] / at->groups, at->kernel, at->kernel};
    dnnl_dims_t strides = {at->stride, at->stride}, dilates = {0}, pad = {at->pad, at->pad};
    dnnl_memory_desc_t src = any(b, &in), dst = any(b, &b->shapes[l]), weights = NULL, dweights = NULL;
    dnnl_memory_desc_t bias = at->bias ? describe(&bias_shape, dnnl_f32, dnnl_a) : NULL;
    int first = at->groups == 1; /* leave the groups' dimension out */
    TRY(dnnl_memory_desc_create_with_tag(&weights, 5 - first, grouped + first, b->dtype, dnnl_format_tag_any));
    TRY(dnnl_memory_desc_create_with_tag(&dweights, 5 - first, grouped + first, dnnl_f32, dnnl_format_tag_any));
    dnnl_primitive_attr_t attr = relu_after(has_relu(b, l));
    dnnl_primitive_desc_t pd = NULL, by_weights = NULL, by_data = NULL;
    TRY(dnnl_convolution_forward_primitive_desc_create(&pd, b->timer.engine, dnnl_forward_training,
                                                       dnnl_convolution_auto, src, weights, bias, dst, strides, dilates,
                                                       pad, pad, attr));
    b->values[l].order = keep_order(pd, DNNL_ARG_DST);
    TRY(dnnl_convolution_backward_weights_primitive_desc_create(&by_weights, b->timer.engine, dnnl_convolution_auto,
                                                                src, dweights, bias, dst, strides, dilates, pad, pad,
                                                                pd, NULL));
    take_time(b, WEIGHTS, by_weights);
    if (layer->in[0] >= 0 && b->values[layer->in[0]].needs_grad) {
        TRY(dnnl_convolution_backward_data_primitive_desc_create(&by_data, b->timer.engine, dnnl_convolution_auto, src,
                                                                 weights, dst, strides, dilates, pad, pad, pd, NULL));
        take_time(b, DATA, by_data);
    }
    if (has_relu(b, l)) time_eltwise(b, b->values[l].order, dnnl_eltwise_relu_use_dst_for_bwd, false);
    take_time(b, FORWARD, pd);
    dnnl_primitive_attr_destroy(attr);
}

static void time_dense(bench *b, int l)
{
    const tutti_layer *layer = &b->model->layers[l];
    const tutti_dense_attrs *at = layer->attrs;
    tutti_shape in = input_shape(b, layer->in[0]), wide = in, bias_shape = {1, {at->units}};
    wide.dim[0] = at->units;
    dnnl_memory_desc_t src = any(b, &in), dst = any(b, &b->shapes[l]), weights = any(b, &wide);
    dnnl_memory_desc_t dweights = describe(&wide, dnnl_f32, dnnl_format_tag_any);
    dnnl_memory_desc_t bias = at->bias ? describe(&bias_shape, dnnl_f32, dnnl_a) : NULL;
    dnnl_primitive_attr_t attr = relu_after(has_relu(b, l));
    dnnl_primitive_desc_t pd = NULL, by_weights = NULL, by_data = NULL;
    TRY(dnnl_inner_product_forward_primitive_desc_create(&pd, b->timer.engine, dnnl_forward_training, src, weights,
                                                         bias, dst, attr));
    b->values[l].order = keep_order(pd, DNNL_ARG_DST);
    TRY(dnnl_inner_product_backward_weights_primitive_desc_create(&by_weights, b->timer.engine, src, dweights, bias,
                                                                  dst, pd, NULL));
    take_time(b, WEIGHTS, by_weights);
    if (layer->in[0] >= 0 && b->values[layer->in[0]].needs_grad) {
        TRY(dnnl_inner_product_backward_data_primitive_desc_create(&by_data, b->timer.engine, src, weights, dst, pd,
                                                                   NULL));
        take_time(b, DATA, by_data);
    }
    if (has_relu(b, l)) time_eltwise(b, b->values[l].order, dnnl_eltwise_relu_use_dst_for_bwd, false);
    take_time(b, FORWARD, pd);
    dnnl_primitive_attr_destroy(attr);
}

static void time_batch_norm(bench *b, int l)
{
    const tutti_layer *layer = &b->model->layers[l];
    const tutti_batch_norm_attrs *at = layer->attrs;
    dnnl_memory_desc_t order = b->values[l].order = input_order(b, layer->in[0]);
    unsigned flags = dnnl_use_scale | dnnl_use_shift | (has_relu(b, l) ? dnnl_fuse_norm_relu : 0);
    dnnl_primitive_desc_t pd = NULL, back = NULL;
    TRY(dnnl_batch_normalization_forward_primitive_desc_create(&pd, b->timer.engine, dnnl_forward_training, order,
                                                               order, (float)at->eps, flags, NULL));
    TRY(dnnl_batch_normalization_backward_primitive_desc_create(&back, b->timer.engine, dnnl_backward, order, order,
                                                                order, (float)at->eps, flags, pd, NULL));
    take_time(b, FORWARD, pd);
    take_time(b, DATA, back);
}

static void time_pool(bench *b, int l)
{
    const tutti_layer *layer = &b->model->layers[l];
    dnnl_alg_kind_t alg = layer->op == &tutti_op_max_pool ? dnnl_pooling_max : dnnl_pooling_avg_include_padding;
    tutti_shape in = input_shape(b, layer->in[0]), *out = &b->shapes[l];
    tutti_pool_attrs at = {.kernel = in.dim[2], .stride = 1};
    if (layer->op != &tutti_op_global_avg_pool) at = tutti_op_pool_window(layer->attrs);
    dnnl_dims_t kernel = {at.kernel, at.kernel}, strides = {at.stride, at.stride}, dilates = {0},
                begin = {at.pad, at.pad};
    dnnl_dims_t end = {0};
    tutti_shape drawn = {4, {out->dim[0], out->dim[1], 1, 1}};
    for (int d = 0; d < 2; d++) {
        if (out->ndims == 4) drawn.dim[d + 2] = out->dim[d + 2];
        end[d] = (drawn.dim[d + 2] - 1) * at.stride + at.kernel - in.dim[d + 2] - at.pad;
        if (end[d] < 0) end[d] = 0; /* the last elements are in no window */
    }
    dnnl_memory_desc_t src = input_order(b, layer->in[0]), dst = any(b, &drawn);
    dnnl_primitive_desc_t pd = NULL, back = NULL;
    TRY(dnnl_pooling_forward_primitive_desc_create(&pd, b->timer.engine, dnnl_forward_training, alg, src, dst, strides,
                                                   kernel, dilates, begin, end, NULL));
    dnnl_memory_desc_t order = keep_order(pd, DNNL_ARG_DST);
    if (out->ndims == 4) b->values[l].order = order;
    TRY(dnnl_pooling_backward_primitive_desc_create(&back, b->timer.engine, alg, src, order, strides, kernel, dilates,
                                                    begin, end, pd, NULL));
    take_time(b, DATA, back);
    take_time(b, FORWARD, pd);
}

static void time_lrn(bench *b, int l)
{
    const tutti_layer *layer = &b->model->layers[l];
    const tutti_lrn_attrs *at = layer->attrs;
    dnnl_memory_desc_t order = b->values[l].order = input_order(b, layer->in[0]);
    float alpha = (float)at->alpha, beta = (float)at->beta, k = (float)at->k;
    dnnl_primitive_desc_t pd = NULL, back = NULL;
    TRY(dnnl_lrn_forward_primitive_desc_create(&pd, b->timer.engine, dnnl_forward_training, dnnl_lrn_across_channels,
                                               order, order, at->size, alpha, beta, k, NULL));
    TRY(dnnl_lrn_backward_primitive_desc_create(&back, b->timer.engine, dnnl_lrn_across_channels, order, order, order,
                                                at->size, alpha, beta, k, pd, NULL));
    take_time(b, FORWARD, pd);
    take_time(b, DATA, back);
}

/* Two summands by one pass, with the ReLU behind them; the gradient of each is the sum's. */
static void time_add(bench *b, int l)
{
    const tutti_layer *layer = &b->model->layers[l];
    dnnl_memory_desc_t order = b->values[l].order = input_order(b, layer->in[0]);
    dnnl_primitive_attr_t attr = relu_after(has_relu(b, l));
    for (int i = 1; i < layer->nin; i++) {
        dnnl_primitive_desc_t pd = NULL;
        TRY(dnnl_binary_primitive_desc_create(&pd, b->timer.engine, dnnl_binary_add, order, order, order,
                                              i == layer->nin - 1 ? attr : NULL));
        take_time(b, FORWARD, pd);
    }
    if (has_relu(b, l)) time_eltwise(b, order, dnnl_eltwise_relu_use_dst_for_bwd, false);
    dnnl_primitive_attr_destroy(attr);
}

/* Backward: each input's part is copied out. */
static void time_concat(bench *b, int l)
{
    const tutti_layer *layer = &b->model->layers[l];
    dnnl_memory_desc_t inputs[TIMER_MAX_SOURCES];
    for (int i = 0; i < layer->nin; i++) inputs[i] = input_order(b, layer->in[i]);
    dnnl_primitive_desc_t pd = NULL;
    TRY(dnnl_concat_primitive_desc_create(&pd, b->timer.engine, NULL, layer->nin, 1, (const_dnnl_memory_desc_t *)inputs,
                                          NULL));
    b->values[l].order = keep_order(pd, DNNL_ARG_DST);
    dnnl_dims_t first = {0}; /* the copies cost the same wherever they begin */
    for (int i = 0; i < layer->nin; i++) {
        tutti_shape in = input_shape(b, layer->in[i]);
        dnnl_dims_t dims = {in.dim[0], in.dim[1], in.dim[2], in.dim[3]};
        dnnl_memory_desc_t view = NULL;
        dnnl_primitive_desc_t copy = NULL;
        TRY(dnnl_memory_desc_create_submemory(&view, b->values[l].order, dims, first));
        TRY(dnnl_reorder_primitive_desc_create(&copy, view, b->timer.engine, inputs[i], b->timer.engine, NULL));
        take_time(b, DATA, copy);
    }
    take_time(b, FORWARD, pd);
}

/* Gradients of a value that several layers read. */
static void time_gradient_sum(bench *b, int l)
{
    dnnl_memory_desc_t all[TIMER_MAX_SOURCES];
    int n = b->values[l].nreaders < TIMER_MAX_SOURCES ? b->values[l].nreaders : TIMER_MAX_SOURCES;
    float scales[TIMER_MAX_SOURCES];
    if (n < 2 || !b->values[l].needs_grad || !b->values[l].order) return;
    for (int i = 0; i < n; i++) {
        all[i] = b->values[l].order;
        scales[i] = 1;
    }
    dnnl_primitive_desc_t pd = NULL;
    TRY(dnnl_sum_primitive_desc_create(&pd, b->timer.engine, b->values[l].order, n, scales,
                                       (const_dnnl_memory_desc_t *)all, NULL));
    take_time(b, DATA, pd);
}

/* The order of a layer that moves nothing: what it reads. */
static void pass_order(bench *b, int l)
{
    const tutti_layer *layer = &b->model->layers[l];
    tutti_shape in = input_shape(b, layer->in[0]);
    if (tutti_shape_equal(&in, &b->shapes[l])) b->values[l].order = input_order(b, layer->in[0]);
}

static void time_function(bench *b, int l)
{
    const tutti_layer *layer = &b->model->layers[l];
    bool is_relu = layer->op == &tutti_op_relu;
    pass_order(b, l);
    if (is_relu && layer->in[0] >= 0 && has_relu(b, layer->in[0])) return;
    time_eltwise(b, b->values[l].order,
                 is_relu                       ? dnnl_eltwise_relu_use_dst_for_bwd
                 : layer->op == &tutti_op_tanh ? dnnl_eltwise_tanh_use_dst_for_bwd
                                               : dnnl_eltwise_logistic_use_dst_for_bwd,
                 true);
}

static const row rows[] = {
    {&tutti_op_conv, time_conv, true},
    {&tutti_op_dense, time_dense, true},
    {&tutti_op_batch_norm, time_batch_norm, true},
    {&tutti_op_add, time_add, true},
    {&tutti_op_max_pool, time_pool, false},
    {&tutti_op_avg_pool, time_pool, false},
    {&tutti_op_global_avg_pool, time_pool, false},
    {&tutti_op_lrn, time_lrn, false},
    {&tutti_op_concat, time_concat, false},
    {&tutti_op_relu, time_function, false},
    {&tutti_op_sigmoid, time_function, false},
    {&tutti_op_tanh, time_function, false},
    {&tutti_op_dropout, pass_order, false},
};

static const row *row_of(const tutti_op_row *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op) return &rows[i];
    return NULL; /* flatten, the loss */
}

static void find_readers(bench *b)
{
    const tutti_model *m = b->model;
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *layer = &m->layers[l];
        b->values[l].needs_grad = layer->op->params != NULL;
        for (int i = 0; i < layer->nin; i++) {
            if (layer->in[i] < 0) continue;
            b->values[l].needs_grad = b->values[l].needs_grad || b->values[layer->in[i]].needs_grad;
            b->values[layer->in[i]].nreaders++;
        }
    }
}

static double time_model(bench *b, bool show_layers)
{
    const tutti_model *m = b->model;
    double total = 0;
    if (show_layers) printf("%-32s %10s %10s %10s\n", "layer, ms", "forward", "d weights", "d input");
    for (int l = 0; l < m->nlayers; l++) {
        memset(b->part, 0, sizeof b->part);
        const row *kind = row_of(m->layers[l].op);
        if (kind) kind->time(b, l);
        time_gradient_sum(b, l);
        double sum = b->part[FORWARD] + b->part[WEIGHTS] + b->part[DATA];
        total += sum;
        if (show_layers && sum > 0)
            printf("%-32s %10.3f %10.3f %10.3f\n", m->layers[l].name, b->part[FORWARD], b->part[WEIGHTS],
                   b->part[DATA]);
    }
    return total;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: bench_primitives MODEL BATCH f32|bf16 REPEATS [--layers]\n");
        return TUTTI_ERR_USAGE;
    }
    tutti_failure err = {0};
    tutti_model *m = NULL;
    bench *b = calloc(1, sizeof *b);
    if (tutti_model_load(argv[1], ".", &m, &err) != TUTTI_OK) {
        fprintf(stderr, "bench_primitives: %s\n", err.text);
        return (int)err.status;
    }
    b->model = m;
    b->batch = strtoll(argv[2], NULL, 10);
    b->dtype = strcmp(argv[3], "bf16") == 0 ? dnnl_bf16 : dnnl_f32;
    int repeats = (int)strtol(argv[4], NULL, 10);
    b->values = calloc((size_t)m->nlayers, sizeof *b->values);
    b->shapes = calloc((size_t)m->nlayers, sizeof *b->shapes);
    if (repeats < 1 || tutti_model_infer(m, b->batch, b->shapes, &err) != TUTTI_OK) {
        fprintf(stderr, "bench_primitives: %s\n", err.text);
        return TUTTI_ERR_USAGE;
    }
    primitive_timer_open(&b->timer, repeats);
    find_readers(b);
    printf("%.3f\n", time_model(b, argc > 5 && strcmp(argv[5], "--layers") == 0));
    return 0;
}
