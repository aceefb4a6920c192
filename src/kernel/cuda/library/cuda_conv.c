/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_conv.c: convolutions on a card by cuDNN, channels last, in the type of the output, with f32 sums (f32 without
 * TF32).
 *
 * Values that have the library's order and type are read and written where they are. Other values are copied into
 * scratch and back: inputs that are row-major or of another type, weights that are multiplied in 16 bits (parameters
 * are f32), their gradients, and values whose channels are filled up. In 16 bits the channels of a group are filled up
 * to a multiple of 8, because the library promises algorithms only for these. If the library has no such algorithm, f32
 * is multiplied. If it has none for f32 with channels last either, all values are copied into row-major order and back.
 *
 * Passes of small f32 convolutions are computed by kernels of our own (small_conv.h).
 *
 * Parameters that are trained have channels last, the order that the library multiplies. Other parameters are read in
 * the order that they have. Bias and ReLU are added in one pass over the output. In the backward pass, the ReLU masks
 * the output's gradient while the bias's gradient is summed. */
#include <stdlib.h>

#include "../cuda_rows.h"
#include "cuda_libraries.h"
#include "cuda_products.h"
#include "cudnn.h"
#include "small_conv.h"

enum { FILL = 8 };

typedef struct {
    const tutti_cuda_products *products;
    tutti_cudnn_plan plan;
    tutti_small_conv small; /* tutti's own kernels for small convolutions; small.cuda is NULL if they compute no pass */
    tutti_dtype type;       /* the type that is multiplied */
    bool rows;              /* true if the library multiplies row-major values, false for channels last */
    tutti_cuda_channels in, out;
    tutti_cuda_weights weights;
    /* true if inputs, outputs or weights do not have the library's type and order, so they must be copied */
    bool copies_in, copies_out, copies_weights;
    tutti_layout out_layout, weights_layout;
    /* offsets in scratch, in bytes: of the copies of inputs, weights and outputs, of sums for the bias's gradient, of
     * the library's workspace */
    size_t at_in, at_weights, at_out, at_columns, at_workspace;
} conv;

/* ---- create ---- */

static tutti_value param_value(const tutti_param_desc *p)
{
    return (tutti_value){.shape = p->shape, .layout = p->layout, .bytes = (size_t)p->elements * sizeof(float)};
}

bool tutti_cuda_conv_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    const tutti_value weights = param_value(&k->params[0]);
    const bool reads_bias = k->nparams < 2 || !k->params[1].layout;
    return tutti_cuda_fits(k, r, pass) && tutti_cuda_reads(&weights) && reads_bias;
}

/* Gives trained weights the order channels last. Weights with one position or one channel have the same bytes in both
 * orders. */
static void order_weights(tutti_kernel *k, const tutti_kernel_request *r, conv *s)
{
    tutti_param_desc *w = &k->params[0];
    const bool chooses = r->training && !r->params_as, differs = w->shape.dim[1] > 1 && w->shape.dim[2] > 1;
    if (chooses && differs) {
        tutti_value v = tutti_value_plain(&w->shape);
        tutti_order_apply(TUTTI_ORDER_NHWC, &v, &s->weights_layout);
        w->layout = v.layout;
        w->elements = tutti_shape_count(&w->shape);
    }
}

static int64_t filled(int64_t channels, int64_t multiple)
{
    return (channels + multiple - 1) / multiple * multiple;
}

typedef struct {
    tutti_dtype type;
    int64_t multiple; /* channels are filled up to a multiple of this number */
    bool rows;
} conv_way;

static void describe(const tutti_kernel *k, conv *s, const conv_way *way)
{
    const tutti_conv_attrs *at = k->attrs;
    const tutti_value weights = param_value(&k->params[0]);
    const int64_t in = k->in[0].shape.dim[1] / at->groups, out = at->out_channels / at->groups;
    s->type = way->type;
    s->rows = way->rows;
    s->in = (tutti_cuda_channels){at->groups, in, filled(in, way->multiple), way->rows};
    s->out = (tutti_cuda_channels){at->groups, out, filled(out, way->multiple), way->rows};
    s->weights = (tutti_cuda_weights){.groups = at->groups,
                                      .filters = out,
                                      .filled_filters = s->out.filled,
                                      .channels = in,
                                      .filled_channels = s->in.filled,
                                      .window = at->kernel * at->kernel,
                                      .is_last = tutti_cuda_is_nhwc(&weights),
                                      .rows = way->rows};
    s->copies_in = !tutti_cuda_channels_same(&s->in, &k->in[0], s->type);
    s->copies_out = !tutti_cuda_channels_same(&s->out, &k->out, s->type);
    s->copies_weights = s->type != TUTTI_F32 || !tutti_cuda_weights_same(&s->weights);
}

static tutti_status plan(const tutti_kernel *k, const tutti_cudnn *cudnn, conv *s, bool training, tutti_failure *err)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    const tutti_cudnn_shape shape = {.batch = in[0],
                                     .in_channels = at->groups * s->in.filled,
                                     .in_height = in[2],
                                     .in_width = in[3],
                                     .out_channels = at->groups * s->out.filled,
                                     .out_height = out[2],
                                     .out_width = out[3],
                                     .kernel = at->kernel,
                                     .stride = at->stride,
                                     .pad = at->pad,
                                     .groups = at->groups,
                                     .type = s->type,
                                     .rows = s->rows,
                                     .training = training};
    const tutti_status st = tutti_cudnn_begin(cudnn, &shape, &s->plan, err);
    bool is_small = false;
    for (int pass = 0; pass < TUTTI_NPASSES && !s->copies_out; pass++)
        is_small = is_small || tutti_small_conv_fits(&shape, (tutti_kernel_pass)pass);
    return st || !is_small ? st : tutti_small_conv_begin(cudnn->cuda, &shape, &s->small, err);
}

/* Tries four ways until the library has algorithms for one. The first multiplies in the output's type; if that has 16
 * bits, channels are filled up. The other three multiply f32: with the channels as they are, with channels filled up,
 * and row-major. */
static tutti_status plan_some_way(const tutti_kernel *k, const tutti_cudnn *cudnn, conv *s, bool training,
                                  tutti_failure *err)
{
    const conv_way ways[] = {
        {k->out.dtype, FILL, false}, {TUTTI_F32, 1, false}, {TUTTI_F32, FILL, false}, {TUTTI_F32, 1, true}};
    tutti_status st = TUTTI_ERR_FAILED;
    for (size_t i = k->out.dtype == TUTTI_F32; i < sizeof ways / sizeof *ways && st; i++) {
        tutti_cudnn_end(&s->plan);
        describe(k, s, &ways[i]);
        st = plan(k, cudnn, s, training, err);
    }
    return st;
}

static void place_scratch(tutti_kernel *k, conv *s, bool training)
{
    const tutti_conv_attrs *at = k->attrs;
    const size_t bytes = tutti_dtype_bytes(s->type);
    size_t workspace = 0;
    for (int pass = 0; pass < TUTTI_NPASSES; pass++) {
        const bool is_small = tutti_small_conv_sums(&s->small, (tutti_kernel_pass)pass);
        const size_t small = is_small && pass == TUTTI_PASS_PARAMS ? tutti_small_conv_scratch(&s->small) : 0,
                     wanted = is_small ? small : s->plan.workspace_bytes[pass];
        if (wanted > workspace) workspace = wanted;
    }
    if (s->copies_in) s->at_in = tutti_cuda_scratch_take(k, tutti_cuda_channels_bytes(&s->in, &k->in[0], s->type));
    if (s->copies_weights)
        s->at_weights = tutti_cuda_scratch_take(k, (size_t)tutti_cuda_weights_filled(&s->weights) * bytes);
    if (s->copies_out) s->at_out = tutti_cuda_scratch_take(k, tutti_cuda_channels_bytes(&s->out, &k->out, s->type));
    if (training && at->bias) s->at_columns = tutti_cuda_scratch_take(k, tutti_cuda_columns_scratch(&k->out));
    s->at_workspace = tutti_cuda_workspace_take(k, workspace);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_conv_attrs *at = k->attrs;
    tutti_cuda *c = tutti_cuda_of(r->device);
    const tutti_cudnn *cudnn = NULL;
    if (!tutti_cuda_conv_fits(k, r, TUTTI_PASS_FORWARD))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "op conv on a card: an input or the weights are in an order of another");
    conv *s = tutti_alloc(sizeof *s);
    k->state = s;
    order_weights(k, r, s);
    tutti_cuda_place_output(k, r, TUTTI_ORDER_NHWC, &s->out_layout);
    tutti_status st = tutti_cuda_products_of(c, &s->products, err);
    if (!st) st = tutti_cudnn_of(c, &cudnn, err);
    if (!st) st = plan_some_way(k, cudnn, s, r->training, err);
    if (st) return st;
    place_scratch(k, s, r->training);
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0u);
    k->writes_dout = k->feeds_data = at->relu;
    return TUTTI_OK;
}

static void destroy(tutti_kernel *k)
{
    conv *s = k->state;
    if (s) tutti_cudnn_end(&s->plan);
    free(s);
}

/* ---- operands in the library's form: where they are, or copied into scratch ---- */

static void *weights_of(const conv *s, const tutti_kernel_args *a)
{
    if (!s->copies_weights) return (void *)(uintptr_t)a->param[0];
    void *to = tutti_cuda_scratch_at(a, s->at_weights);
    tutti_cuda_weights_put(s->products, &s->weights, a->param[0], s->type, to);
    return to;
}

static void *input_of(const tutti_kernel *k, const tutti_kernel_args *a)
{
    const conv *s = k->state;
    void *in = (void *)(uintptr_t)a->in[0], *to = tutti_cuda_scratch_at(a, s->at_in);
    if (!s->copies_in) return in;
    tutti_cuda_channels_put(s->products, &s->in, (tutti_cuda_place){&k->in[0], in}, s->type, to);
    return to;
}

static void *gradient_of(const tutti_kernel *k, const tutti_kernel_args *a)
{
    const conv *s = k->state;
    void *to = tutti_cuda_scratch_at(a, s->at_out);
    if (!s->copies_out) return a->dout;
    tutti_cuda_channels_put(s->products, &s->out, (tutti_cuda_place){&k->out, a->dout}, s->type, to);
    return to;
}

/* ---- passes ---- */

/* Copies the output from the library's form, and applies bias and ReLU. */
static void finish(const tutti_kernel *k, const tutti_kernel_args *a, void *out)
{
    const conv *s = k->state;
    const tutti_conv_attrs *at = k->attrs;
    const tutti_cuda_place to = {&k->out, a->out};
    tutti_cuda_finishing how = {out, s->type, at->bias ? a->param[1] : NULL, at->relu};
    if (s->rows && s->copies_out) {
        tutti_cuda_channels_take(s->products, &s->out, s->type, out, to);
        how.from = a->out;
        how.type = k->out.dtype;
    }
    if (how.from != a->out || at->bias || at->relu) tutti_cuda_finish(s->products, &s->out, &how, to);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const conv *s = k->state;
    const tutti_conv_attrs *at = k->attrs;
    void *out = s->copies_out ? tutti_cuda_scratch_at(a, s->at_out) : a->out;
    const tutti_cudnn_memory m = {input_of(k, a), weights_of(s, a), out, tutti_cuda_workspace(a, s->at_workspace)};
    if (tutti_small_conv_sums(&s->small, TUTTI_PASS_FORWARD)) {
        tutti_small_conv_forward(&s->small, &m, at->bias ? a->param[1] : NULL, at->relu);
        return;
    }
    tutti_cudnn_run(&s->plan, TUTTI_PASS_FORWARD, &m);
    finish(k, a, out);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const conv *s = k->state;
    const tutti_conv_attrs *at = k->attrs;
    const bool wanted = tutti_kernel_params_wanted(k, a);
    const tutti_cuda_columns columns = {at->relu ? a->out : NULL, a->dout, at->bias && wanted ? a->dparam[1] : NULL,
                                        tutti_cuda_scratch_at(a, s->at_columns)};
    if (columns.output || columns.sums) tutti_cuda_columns_sum(s->products, &k->out, &columns);
    if (!wanted) return;
    void *weights = s->copies_weights ? tutti_cuda_scratch_at(a, s->at_weights) : a->dparam[0];
    const tutti_cudnn_memory m = {input_of(k, a), weights, gradient_of(k, a), tutti_cuda_workspace(a, s->at_workspace)};
    if (tutti_small_conv_sums(&s->small, TUTTI_PASS_PARAMS))
        tutti_small_conv_params(&s->small, &m);
    else
        tutti_cudnn_run(&s->plan, TUTTI_PASS_PARAMS, &m);
    if (s->copies_weights) tutti_cuda_weights_take(s->products, &s->weights, s->type, weights, a->dparam[0]);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const conv *s = k->state;
    if (!a->din[0]) return;
    void *in = s->copies_in ? tutti_cuda_scratch_at(a, s->at_in) : a->din[0];
    const tutti_cudnn_memory m = {in, weights_of(s, a), gradient_of(k, a), tutti_cuda_workspace(a, s->at_workspace)};
    if (tutti_small_conv_sums(&s->small, TUTTI_PASS_DATA))
        tutti_small_conv_data(&s->small, &m);
    else
        tutti_cudnn_run(&s->plan, TUTTI_PASS_DATA, &m);
    if (s->copies_in)
        tutti_cuda_channels_take(s->products, &s->in, s->type, in, (tutti_cuda_place){&k->in[0], a->din[0]});
}

const tutti_kernel_row tutti_cuda_conv = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
