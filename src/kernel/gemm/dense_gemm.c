/* SPDX-License-Identifier: Apache-2.0 */
/* dense_gemm.c: dense by tutti's own matrix products (gemm.h): all three passes, in f32, and in bf16 if a row of gemm.h
 * multiplies bf16 on this processor. The weights of bf16 products are f32 and are rounded as they are packed. Bias and
 * ReLU are part of the product. Weights are packed block by block in the order in which they lie, so a B^T costs as
 * much as a B.
 *
 * A sample is read as a row of elements, whatever its order. If the input is planes in blocks or with channels last, it
 * is not reordered. Instead weights that are trained get the input's order, one output's weights after the other's,
 * described as (units, C, H, W). */
#include <stdlib.h>
#include <string.h>

#include "../choose/dense_ways.h"
#include "../choose/memory_order.h"
#include "../lanes/lane_value.h"
#include "gemm.h"

typedef struct {
    tutti_gemm_plan plan[TUTTI_NPASSES];
    int64_t m, n, k;
    int nthreads;
    tutti_layout weights_layout;
} dense_gemm;

/* Describes weights in the order of the input. Returns false if that order has a block that is not full, or if the
 * order is unknown. */
static bool describe_weights(const tutti_kernel *k, tutti_param_desc *weights, tutti_layout *layout)
{
    const tutti_value *in = &k->in[0];
    const int64_t count = tutti_shape_count(&in->shape), units = weights->shape.dim[0];
    const tutti_order order = tutti_order_of(in);
    tutti_value like = {.shape = in->shape, .dtype = TUTTI_F32};
    weights->layout = NULL;
    if (!in->layout) return true;
    if (order == TUTTI_ORDER_NONE || tutti_value_elements(in) != count) return false;
    like.shape.dim[0] = units;
    tutti_order_apply(order, &like, layout);
    layout->view = like.shape;
    weights->layout = like.layout;
    weights->elements = count / in->shape.dim[0] * units;
    return true;
}

bool tutti_dense_gemm_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    const tutti_dtype type = tutti_precision_dtype(r->precision);
    tutti_param_desc wanted = k->params[0];
    tutti_layout layout;
    (void)pass;
    if (k->in[0].dtype != type || !tutti_gemm_multiplies(type) || !describe_weights(k, &wanted, &layout)) return false;
    const bool chooses = r->training && !r->params_as;
    return chooses || tutti_param_order_hash(&wanted) == tutti_param_order_hash(&k->params[0]);
}

static tutti_status plan_passes(dense_gemm *g, const tutti_kernel *k, tutti_dtype type, bool training,
                                tutti_failure *err)
{
    const tutti_dense_attrs *at = k->attrs;
    const tutti_gemm forward = {.m = g->m,
                                .n = g->n,
                                .k = g->k,
                                .transpose_b = true,
                                .type_a = type,
                                .type_c = type,
                                .multiplied = type,
                                .bias = at->bias ? TUTTI_GEMM_BIAS_OF_COLUMNS : TUTTI_GEMM_NO_BIAS,
                                .map = at->relu ? TUTTI_GEMM_RELU : TUTTI_GEMM_AS_IS,
                                .nthreads = g->nthreads},
                     params = {.m = g->n,
                               .n = g->k,
                               .k = g->m,
                               .transpose_a = true,
                               .type_a = type,
                               .type_b = type,
                               .multiplied = type,
                               .nthreads = g->nthreads},
                     data = {.m = g->m,
                             .n = g->k,
                             .k = g->n,
                             .type_a = type,
                             .type_c = type,
                             .multiplied = type,
                             .nthreads = g->nthreads};
    tutti_status st = tutti_gemm_plan_make(&forward, &g->plan[TUTTI_PASS_FORWARD], err);
    if (!st && training) st = tutti_gemm_plan_make(&params, &g->plan[TUTTI_PASS_PARAMS], err);
    if (!st && training) st = tutti_gemm_plan_make(&data, &g->plan[TUTTI_PASS_DATA], err);
    return st;
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_dense_attrs *at = k->attrs;
    const tutti_dtype type = tutti_precision_dtype(r->precision);
    if (!tutti_dense_gemm_fits(k, r, TUTTI_PASS_FORWARD))
        return tutti_fail(err, TUTTI_ERR_USAGE, "op dense has no such product for these orders or types");
    dense_gemm *g = tutti_alloc(sizeof *g);
    k->state = g;
    describe_weights(k, &k->params[0], &g->weights_layout);
    g->m = k->out.shape.dim[0];
    g->n = k->out.shape.dim[1];
    g->k = k->params[0].shape.dim[1];
    g->nthreads = r->nthreads < 1 ? 1 : r->nthreads;
    const tutti_status st = plan_passes(g, k, type, r->training, err);
    if (st) return st;
    for (int pass = 0; pass < TUTTI_NPASSES; pass++)
        if (g->plan[pass].workspace_bytes > k->scratch_bytes) k->scratch_bytes = g->plan[pass].workspace_bytes;
    k->out.dtype = type;
    k->out.bytes = (size_t)(g->m * g->n) * tutti_dtype_bytes(type);
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0u);
    k->writes_dout = k->feeds_data = at->relu;
    return TUTTI_OK;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const dense_gemm *g = k->state;
    const tutti_dense_attrs *at = k->attrs;
    tutti_gemm_run(
        &g->plan[TUTTI_PASS_FORWARD],
        &(tutti_gemm_operands){.a = a->in[0], .b = a->param[0], .bias = at->bias ? a->param[1] : NULL, .c = a->out},
        a->scratch);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const dense_gemm *g = k->state;
    const tutti_dense_attrs *at = k->attrs;
    const tutti_dtype type = k->out.dtype;
    if (at->relu) tutti_lane_mask_dout(k, a, g->nthreads);
    if (!tutti_kernel_params_wanted(k, a)) return;
    tutti_gemm_run(&g->plan[TUTTI_PASS_PARAMS], &(tutti_gemm_operands){.a = a->dout, .b = a->in[0], .c = a->dparam[0]},
                   a->scratch);
    if (!at->bias) return;
    memset(a->dparam[1], 0, (size_t)g->n * sizeof(float));
    tutti_lane_sum_rows(type, a->dout, g->m, g->n, a->dparam[1]);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const dense_gemm *g = k->state;
    if (!a->din[0]) return;
    tutti_gemm_run(&g->plan[TUTTI_PASS_DATA], &(tutti_gemm_operands){.a = a->dout, .b = a->param[0], .c = a->din[0]},
                   a->scratch);
}

const tutti_kernel_row tutti_dense_gemm = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_lane_free_state,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
