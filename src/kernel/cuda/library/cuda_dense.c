/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_dense.c: dense layers on a card by cuBLASLt, in the type of the output, with f32 sums (f32 without TF32): three
 * products; the forward product adds bias and ReLU. Gradients of weights are f32 in all cases.
 *
 * A sample is read as a row of elements, whatever its order. If the input is planes with channels last, it is not
 * reordered; instead weights that are trained get its order, described as (units, C, H, W). Weights in another order
 * are copied into that order in scratch, and so are weights of 16 bits.
 *
 * A second row, tnn, transposes the weights first, so that the forward product reads both matrices along their rows.
 * Which of the two rows is faster depends on the shape (Shi, Xu and Chu, 2017). */
#include <stdlib.h>

#include "../cuda_rows.h"
#include "cublaslt.h"
#include "cuda_libraries.h"
#include "cuda_products.h"

enum { MOST_ALIGNED = 64 };

typedef struct {
    const tutti_cuda_products *products;
    tutti_cublaslt_plan plan[TUTTI_NPASSES];
    int64_t m, n, k;
    tutti_dtype type;     /* the type that is multiplied */
    tutti_dtype din_type; /* the type in which the product leaves the input's gradient */
    tutti_cuda_weights weights;
    bool copies_in, copies_weights, permutes, transposes;
    bool finishes; /* true if a launch of its own applies bias and ReLU after the product */
    tutti_layout weights_layout;
    /* offsets in scratch, in bytes: of the copied input, weights and bias, of sums for the bias's gradient, of the
     * library's workspace. The copies of gradients use the same places */
    size_t at_in, at_weights, at_bias, at_columns, at_workspace;
} dense;

/* ---- orders of weights ---- */

/* A row of the weights: a number of positions, each with a number of channels side by side. */
typedef struct {
    int64_t channels, plane;
} row_form;

/* Reads the order of the weights: row-major, or (units, C, H, W) with channels last. Returns false for another
 * order. */
static bool read_order(const tutti_param_desc *w, bool *is_last, row_form *form)
{
    *is_last = w->layout != NULL;
    *form = (row_form){w->shape.dim[1], 1};
    if (!w->layout) return true;
    tutti_layout bare = *w->layout;
    tutti_value v = {.shape = bare.view, .layout = &bare, .bytes = (size_t)w->elements * sizeof(float)};
    bare.view.ndims = 0;
    if (v.shape.ndims != 4 || tutti_order_of(&v) != TUTTI_ORDER_NHWC) return false;
    *form = (row_form){v.shape.dim[1], v.shape.dim[2] * v.shape.dim[3]};
    return true;
}

bool tutti_cuda_dense_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    bool is_last;
    row_form form;
    const bool reads_bias = k->nparams < 2 || !k->params[1].layout;
    return tutti_cuda_fits(k, r, pass) && read_order(&k->params[0], &is_last, &form) && reads_bias;
}

static bool chooses(const tutti_kernel_request *r)
{
    return r->training && !r->params_as;
}

bool tutti_cuda_dense_tnn_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    const bool is_alike = chooses(r) || (!k->params[0].layout && !tutti_cuda_is_nhwc(&k->in[0]));
    return k->in[0].dtype == TUTTI_F32 && is_alike && tutti_cuda_dense_fits(k, r, pass);
}

double tutti_cuda_product_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    /* rough rates of cards with stacked memory: operations a second in f32 and in 16 bits, bytes a second */
    static const double F32_FLOPS = 4e13, HALF_FLOPS = 4e14, BYTES = 2e12;
    (void)pass;
    return tutti_candidate_flops(k) / (r->precision == TUTTI_PRECISION_F32 ? F32_FLOPS : HALF_FLOPS) +
           tutti_candidate_bytes(k) / BYTES;
}

/* If the input has channels last, gives weights that are trained the same order. */
static void order_weights(tutti_kernel *k, const tutti_kernel_request *r, dense *s)
{
    tutti_param_desc *w = &k->params[0];
    if (!chooses(r) || !tutti_cuda_is_nhwc(&k->in[0])) return;
    tutti_value like = tutti_value_plain(&k->in[0].shape);
    like.shape.dim[0] = s->n;
    tutti_order_apply(TUTTI_ORDER_NHWC, &like, &s->weights_layout);
    s->weights_layout.view = like.shape;
    w->layout = like.layout;
    w->elements = s->n * s->k;
}

/* Describes the copy of weights from the parameter's order to the input's order. A copy from channels last to row-major
 * is described as a copy from row-major to channels last in which channels and positions change places: both transpose
 * the same two dims. */
static void describe_weights(const tutti_kernel *k, dense *s)
{
    const tutti_shape *in = &k->in[0].shape;
    const bool in_last = tutti_cuda_is_nhwc(&k->in[0]);
    bool is_last;
    row_form form;
    read_order(&k->params[0], &is_last, &form);
    if (in_last) form = (row_form){in->dim[1], in->dim[2] * in->dim[3]};
    if (is_last && !in_last) form = (row_form){form.plane, form.channels};
    s->weights = (tutti_cuda_weights){.groups = 1,
                                      .filters = s->n,
                                      .filled_filters = s->n,
                                      .channels = form.channels,
                                      .filled_channels = form.channels,
                                      .window = form.plane,
                                      .is_last = is_last && in_last};
    s->permutes = !tutti_cuda_weights_same(&s->weights);
    s->copies_weights = s->type != TUTTI_F32 || s->permutes;
}

/* ---- products ---- */

/* Returns the alignment in bytes that every value of a series has, if such values lie one behind the other in
 * memory. */
static int64_t alignment_of(const tutti_value *v)
{
    int64_t bytes = 1;
    while (bytes < MOST_ALIGNED && v->bytes % (size_t)(2 * bytes) == 0) bytes *= 2;
    return bytes;
}

static tutti_status plan_forward(const tutti_kernel *k, const tutti_cublaslt *c, dense *s, tutti_failure *err)
{
    const tutti_dense_attrs *at = k->attrs;
    tutti_cublaslt_product p = {.m = s->m,
                                .n = s->n,
                                .k = s->k,
                                .transpose_b = !s->transposes,
                                .type = s->type,
                                .type_c = s->type,
                                .bias = at->bias,
                                .relu = at->relu,
                                .alignment_a = s->copies_in ? 0 : alignment_of(&k->in[0])};
    tutti_status st = tutti_cublaslt_begin(c, &p, &s->plan[TUTTI_PASS_FORWARD], err);
    if (!st || !(at->bias || at->relu)) return st;
    tutti_cublaslt_end(&s->plan[TUTTI_PASS_FORWARD]);
    p.bias = p.relu = false;
    s->finishes = true;
    return tutti_cublaslt_begin(c, &p, &s->plan[TUTTI_PASS_FORWARD], err);
}

static tutti_status plan_gradients(const tutti_kernel *k, const tutti_cublaslt *c, dense *s, tutti_failure *err)
{
    const tutti_cublaslt_product params = {.m = s->n,
                                           .n = s->k,
                                           .k = s->m,
                                           .transpose_a = true,
                                           .type = s->type,
                                           .type_c = TUTTI_F32,
                                           .alignment_b = s->copies_in ? 0 : alignment_of(&k->in[0])},
                                 data = {.m = s->m,
                                         .n = s->k,
                                         .k = s->n,
                                         .type = s->type,
                                         .type_c = s->din_type,
                                         .alignment_c = s->din_type == k->in[0].dtype ? alignment_of(&k->in[0]) : 0};
    const tutti_status st = tutti_cublaslt_begin(c, &params, &s->plan[TUTTI_PASS_PARAMS], err);
    return st ? st : tutti_cublaslt_begin(c, &data, &s->plan[TUTTI_PASS_DATA], err);
}

static void place_scratch(tutti_kernel *k, dense *s, bool training)
{
    const tutti_dense_attrs *at = k->attrs;
    const size_t bytes = tutti_dtype_bytes(s->type), in = (size_t)(s->m * s->k) * bytes;
    const bool copies_din = s->din_type != k->in[0].dtype;
    const size_t weights = (size_t)(s->n * s->k) * (training && s->permutes ? sizeof(float) : bytes);
    size_t workspace = 0;
    for (int pass = 0; pass < TUTTI_NPASSES; pass++)
        if (s->plan[pass].workspace_bytes > workspace) workspace = s->plan[pass].workspace_bytes;
    if (s->copies_in || copies_din) s->at_in = tutti_cuda_scratch_take(k, in);
    if (s->copies_weights || s->transposes) s->at_weights = tutti_cuda_scratch_take(k, weights);
    if (at->bias) s->at_bias = tutti_cuda_scratch_take(k, (size_t)s->n * bytes);
    if (training && at->bias) s->at_columns = tutti_cuda_scratch_take(k, tutti_cuda_columns_scratch(&k->out));
    s->at_workspace = tutti_cuda_workspace_take(k, workspace);
}

static tutti_status create_some(tutti_kernel *k, const tutti_kernel_request *r, bool transposes, tutti_failure *err)
{
    const tutti_dense_attrs *at = k->attrs;
    tutti_cuda *c = tutti_cuda_of(r->device);
    const tutti_cublaslt *cublaslt = NULL;
    if (!(transposes ? tutti_cuda_dense_tnn_fits : tutti_cuda_dense_fits)(k, r, TUTTI_PASS_FORWARD))
        return tutti_fail(err, TUTTI_ERR_USAGE, "op dense on a card: no such product for these orders or types");
    dense *s = tutti_alloc(sizeof *s);
    const tutti_dtype in = k->in[0].dtype, type = tutti_precision_dtype(r->precision);
    *s = (dense){.m = k->out.shape.dim[0], .n = at->units, .k = k->params[0].shape.dim[1], .type = type};
    k->state = s;
    tutti_cuda_place_output(k, r, TUTTI_ORDER_NCHW, NULL);
    s->transposes = transposes;
    s->copies_in = in != type;
    s->din_type = in == TUTTI_F32 ? in : type;
    order_weights(k, r, s);
    describe_weights(k, s);
    tutti_status st = tutti_cuda_products_of(c, &s->products, err);
    if (!st) st = tutti_cublaslt_of(c, &cublaslt, err);
    if (!st) st = plan_forward(k, cublaslt, s, err);
    if (!st && r->training) st = plan_gradients(k, cublaslt, s, err);
    if (st) return st;
    place_scratch(k, s, r->training);
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0u);
    k->writes_dout = k->feeds_data = at->relu;
    return TUTTI_OK;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create_some(k, r, false, err);
}

static tutti_status create_tnn(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create_some(k, r, true, err);
}

static void destroy(tutti_kernel *k)
{
    dense *s = k->state;
    for (int pass = 0; pass < TUTTI_NPASSES && s; pass++) tutti_cublaslt_end(&s->plan[pass]);
    free(s);
}

/* ---- operands of the products: where they are, or copied into scratch ---- */

/* Returns the description of v, the input or its gradient, with another element type and the same order. */
static tutti_value retyped(const tutti_value *v, tutti_dtype type)
{
    tutti_value other = *v;
    other.dtype = type;
    other.bytes = (size_t)tutti_value_elements(v) * tutti_dtype_bytes(type);
    return other;
}

static const void *input_of(const tutti_kernel *k, const tutti_kernel_args *a)
{
    const dense *s = k->state;
    if (!s->copies_in) return a->in[0];
    const tutti_value copy = retyped(&k->in[0], s->type);
    void *to = tutti_cuda_scratch_at(a, s->at_in);
    tutti_cuda_value_move(s->products->cuda, s->products->values,
                          (tutti_cuda_place){&k->in[0], (void *)(uintptr_t)a->in[0]}, (tutti_cuda_place){&copy, to});
    return to;
}

/* Returns the weights in the order and type that the product reads. If it reads 16 bits, the launch that rounds the
 * weights also rounds the bias. */
static const float *weights_of(const dense *s, const tutti_kernel_args *a, const tutti_cuda_bias *bias)
{
    void *to = tutti_cuda_scratch_at(a, s->at_weights);
    const tutti_cuda_bias weights = {a->param[0], to, s->copies_weights && !s->permutes ? s->n * s->k : 0};
    if (s->permutes) tutti_cuda_weights_put(s->products, &s->weights, a->param[0], s->type, to);
    if (weights.n || bias->from) tutti_cuda_weights_round(s->products, &weights, bias, s->type);
    return s->copies_weights ? to : a->param[0];
}

/* Transposes weights (units, inputs) into (inputs, units). */
static const float *transposed(const dense *s, const tutti_kernel_args *a)
{
    const tutti_shape shape = {4, {1, s->n, s->k, 1}};
    tutti_value rows = tutti_value_plain(&shape), columns = rows;
    tutti_layout layout;
    tutti_order_apply(TUTTI_ORDER_NHWC, &columns, &layout);
    float *to = tutti_cuda_scratch_at(a, s->at_weights);
    tutti_cuda_value_move(s->products->cuda, s->products->values,
                          (tutti_cuda_place){&rows, (void *)(uintptr_t)a->param[0]}, (tutti_cuda_place){&columns, to});
    return to;
}

/* ---- passes ---- */

static void finish(const tutti_kernel *k, const tutti_kernel_args *a)
{
    const dense *s = k->state;
    const tutti_dense_attrs *at = k->attrs;
    const tutti_cuda_channels units = {.groups = 1, .channels = s->n, .filled = s->n};
    tutti_cuda_finish(s->products, &units,
                      &(tutti_cuda_finishing){a->out, s->type, at->bias ? a->param[1] : NULL, at->relu},
                      (tutti_cuda_place){&k->out, a->out});
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const dense *s = k->state;
    const tutti_dense_attrs *at = k->attrs;
    const bool rounds = at->bias && !s->finishes && s->type != TUTTI_F32;
    const tutti_cuda_bias bias = {rounds ? a->param[1] : NULL, tutti_cuda_scratch_at(a, s->at_bias), s->n};
    const tutti_cublaslt_memory m = {.a = input_of(k, a),
                                     .b = s->transposes ? transposed(s, a) : weights_of(s, a, &bias),
                                     .bias = rounds     ? bias.to
                                             : at->bias ? a->param[1]
                                                        : NULL,
                                     .c = a->out,
                                     .workspace = tutti_cuda_workspace(a, s->at_workspace)};
    tutti_cublaslt_run(&s->plan[TUTTI_PASS_FORWARD], &m);
    if (s->finishes) finish(k, a);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const dense *s = k->state;
    const tutti_dense_attrs *at = k->attrs;
    const bool wanted = tutti_kernel_params_wanted(k, a);
    const tutti_cuda_columns columns = {at->relu ? a->out : NULL, a->dout, at->bias && wanted ? a->dparam[1] : NULL,
                                        tutti_cuda_scratch_at(a, s->at_columns)};
    if (columns.output || columns.sums) tutti_cuda_columns_sum(s->products, &k->out, &columns);
    if (!wanted) return;
    void *to = s->permutes ? tutti_cuda_scratch_at(a, s->at_weights) : a->dparam[0];
    tutti_cublaslt_run(
        &s->plan[TUTTI_PASS_PARAMS],
        &(tutti_cublaslt_memory){
            .a = a->dout, .b = input_of(k, a), .c = to, .workspace = tutti_cuda_workspace(a, s->at_workspace)});
    if (s->permutes) tutti_cuda_weights_take(s->products, &s->weights, TUTTI_F32, to, a->dparam[0]);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const dense *s = k->state;
    const bool copies = s->din_type != k->in[0].dtype;
    if (!a->din[0]) return;
    void *din = copies ? tutti_cuda_scratch_at(a, s->at_in) : a->din[0];
    tutti_cublaslt_run(&s->plan[TUTTI_PASS_DATA],
                       &(tutti_cublaslt_memory){.a = a->dout,
                                                .b = weights_of(s, a, &(tutti_cuda_bias){0}),
                                                .c = din,
                                                .workspace = tutti_cuda_workspace(a, s->at_workspace)});
    const tutti_value copy = retyped(&k->in[0], s->din_type);
    if (copies)
        tutti_cuda_value_move(s->products->cuda, s->products->values, (tutti_cuda_place){&copy, din},
                              (tutti_cuda_place){&k->in[0], a->din[0]});
}

const tutti_kernel_row tutti_cuda_dense = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};

const tutti_kernel_row tutti_cuda_dense_tnn = {
    .fuses = true,
    .takes_halves = true,
    .create = create_tnn,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
