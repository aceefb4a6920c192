/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.c: the table of candidates (candidate.h), one line for each row that can compute an op, and the rules that
 * estimate their seconds.
 *
 * The rates in these rules were measured on one thread of an EPYC (Zen 4). The reference's rates come from LeNet's
 * layers. The rate of the vector loops (lanes/) comes from values that are larger than the caches. */
#include "candidate.h"

#include <stdio.h>
#include <string.h>

#include "../../device/device_row.h"
#include "../cuda/cuda_rows.h"
#include "../cuda/library/cuda_libraries.h"
#include "../lanes/lane_value.h"
#include "dense_ways.h"

static const double REFERENCE_FLOPS = 1e9, REFERENCE_BYTES = 2e9, LANE_BYTES = 8e9;

double tutti_candidate_flops(const tutti_kernel *k)
{
    tutti_shape in[TUTTI_MAX_OP_INPUTS];
    for (int i = 0; i < k->ninputs; i++) in[i] = k->in[i].shape;
    return k->op->flops ? k->op->flops(k->attrs, in, &k->out.shape) : 0;
}

double tutti_candidate_bytes(const tutti_kernel *k)
{
    double bytes = (double)k->out.bytes;
    for (int i = 0; i < k->ninputs; i++) bytes += (double)k->in[i].bytes;
    for (int p = 0; p < k->nparams; p++) bytes += (double)k->params[p].elements * sizeof(float);
    return bytes;
}

/* True if all parameters are row-major. The reference's plain loops cannot read an order that another row chose. */
static bool reference_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)r, (void)pass;
    for (int p = 0; p < k->nparams; p++)
        if (k->params[p].layout) return false;
    return true;
}

static double reference_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)r, (void)pass;
    return tutti_candidate_flops(k) / REFERENCE_FLOPS + tutti_candidate_bytes(k) / REFERENCE_BYTES;
}

static double lane_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)pass;
    return tutti_candidate_bytes(k) / LANE_BYTES / (r->nthreads > 1 ? r->nthreads : 1);
}

/* True if the input has an order of memory_order.h. The row has no rule for its seconds, because they depend on the
 * number of zeros, which the shape does not show. So the row is taken only if a job names it, or by sparse_switch.h,
 * which counts zeros. */
static bool sparse_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)r, (void)pass;
    return tutti_order_of(&k->in[0]) != TUTTI_ORDER_NONE;
}

/* Values of the columns device, threads and isa. OURS is for rows in plain C, SPLIT for rows of a library, ON_CARD for
 * rows on a card. */
#define OURS    TUTTI_DEVICE_CPU, TUTTI_THREADS_ALIKE, TUTTI_ISA_GENERIC
#define SPLIT   TUTTI_DEVICE_CPU, TUTTI_THREADS_SPLIT, TUTTI_ISA_GENERIC
#define ON_CARD TUTTI_DEVICE_CUDA, TUTTI_THREADS_ALIKE, TUTTI_ISA_GENERIC
/* Rows of lanes/ read every order and type. If an input cannot be read after all, creating the kernel fails. */
#define LANES(op, row) LANES_OF(op, OURS, row)
#define LANES_OF(op, columns, row)                                                                                     \
    {                                                                                                                  \
        "lanes", op, TUTTI_DOES_ALL, TUTTI_IN_ANY, columns, TUTTI_SUMS_LIBRARY, false, tutti_lane_fits, lane_seconds,  \
            &row                                                                                                       \
    }
#define ONEDNN(op, precision, row)                                                                                     \
    {                                                                                                                  \
        "onednn", op, TUTTI_DOES_ALL, precision, SPLIT, TUTTI_SUMS_LIBRARY, true, tutti_onednn_fits,                   \
            tutti_onednn_seconds, &row                                                                                 \
    }
/* On a card these rows do all passes, and no other rows run there. */
#define CUDA(op, row)                                                                                                  \
    {                                                                                                                  \
        "cuda", op, TUTTI_DOES_ALL, TUTTI_IN_ANY, ON_CARD, TUTTI_SUMS_LIBRARY, false, tutti_cuda_fits,                 \
            tutti_cuda_seconds, &row                                                                                   \
    }
#define DENSE_WAY(name, seconds, row)                                                                                  \
    {                                                                                                                  \
        name, "dense", TUTTI_DOES_FORWARD, TUTTI_IN_F32, SPLIT, TUTTI_SUMS_LIBRARY, true, tutti_dense_ways_fit,        \
            seconds, &row                                                                                              \
    }

static const tutti_kernel_candidate rows[] = {
    ONEDNN("conv", TUTTI_IN_F32, tutti_onednn_conv),
    ONEDNN("conv", TUTTI_IN_BF16, tutti_onednn_bf16_conv),
    {"lanes", "conv", TUTTI_DOES_ALL, TUTTI_IN_F32 | TUTTI_IN_BF16, SPLIT, TUTTI_SUMS_LIBRARY, true,
     tutti_conv_lanes_fits, tutti_conv_lanes_seconds, &tutti_conv_lanes},
    {"tiles", "conv", TUTTI_DOES_PARAMS, TUTTI_IN_BF16, TUTTI_DEVICE_CPU, TUTTI_THREADS_SPLIT, TUTTI_ISA_AVX512,
     TUTTI_SUMS_LIBRARY, true, tutti_conv_tiles_fits, tutti_conv_tiles_seconds, &tutti_conv_tiles},
    {"winograd", "conv", TUTTI_DOES_ALL, TUTTI_IN_F32, OURS, TUTTI_SUMS_WINOGRAD, true, tutti_winograd_fits,
     tutti_winograd_seconds, &tutti_winograd_conv},
    {"winograd5-wide", "conv", TUTTI_DOES_ALL, TUTTI_IN_F32, OURS, TUTTI_SUMS_WINOGRAD, true, tutti_winograd5_wide_fits,
     tutti_winograd5_wide_seconds, &tutti_winograd5_wide_conv},
    {"winograd5", "conv", TUTTI_DOES_ALL, TUTTI_IN_F32, OURS, TUTTI_SUMS_WINOGRAD, true, tutti_winograd5_fits,
     tutti_winograd5_seconds, &tutti_winograd5_conv},
    {"gemm", "conv", TUTTI_DOES_ALL, TUTTI_IN_F32 | TUTTI_IN_BF16, OURS, TUTTI_SUMS_BLOCKED, true, tutti_gemm_conv_fits,
     tutti_gemm_conv_seconds, &tutti_gemm_conv},
    {"implicit", "conv", TUTTI_DOES_ALL, TUTTI_IN_F32 | TUTTI_IN_BF16, OURS, TUTTI_SUMS_BLOCKED, true,
     tutti_implicit_conv_fits, tutti_implicit_conv_seconds, &tutti_implicit_conv},
    {"sparse", "conv", TUTTI_DOES_ALL, TUTTI_IN_F32, OURS, TUTTI_SUMS_SPARSE, true, sparse_fits, NULL,
     &tutti_sparse_conv},
    ONEDNN("dense", TUTTI_IN_F32, tutti_onednn_dense),
    ONEDNN("dense", TUTTI_IN_BF16, tutti_onednn_bf16_dense),
    DENSE_WAY("nt", tutti_dense_nt_seconds, tutti_dense_nt),
    DENSE_WAY("tnn", tutti_dense_tnn_seconds, tutti_dense_tnn),
    {"gemm", "dense", TUTTI_DOES_ALL, TUTTI_IN_F32 | TUTTI_IN_BF16, OURS, TUTTI_SUMS_BLOCKED, true,
     tutti_dense_gemm_fits, tutti_dense_gemm_seconds, &tutti_dense_gemm},
    LANES("relu", tutti_lane_eltwise),
    LANES("sigmoid", tutti_lane_eltwise),
    LANES("tanh", tutti_lane_eltwise),
    LANES("max-pool", tutti_lane_pool),
    LANES("avg-pool", tutti_lane_pool),
    LANES("global-avg-pool", tutti_lane_global_pool),
    LANES("lrn", tutti_lane_lrn),
    LANES_OF("batch-norm", SPLIT, tutti_lane_norm),
    LANES("add", tutti_lane_add_row),
    LANES("concat", tutti_lane_concat),
    LANES("dropout", tutti_lane_dropout),
    CUDA("relu", tutti_cuda_eltwise),
    CUDA("sigmoid", tutti_cuda_eltwise),
    CUDA("tanh", tutti_cuda_eltwise),
    CUDA("add", tutti_cuda_add),
    CUDA("concat", tutti_cuda_concat),
    CUDA("flatten", tutti_cuda_flatten),
    CUDA("dropout", tutti_cuda_dropout),
    CUDA("softmax-cross-entropy", tutti_cuda_loss),
    CUDA("batch-norm", tutti_cuda_norm),
    CUDA("max-pool", tutti_cuda_pool),
    CUDA("avg-pool", tutti_cuda_pool),
    CUDA("global-avg-pool", tutti_cuda_global_pool),
    CUDA("lrn", tutti_cuda_lrn),
    {"cudnn", "conv", TUTTI_DOES_ALL, TUTTI_IN_ANY, ON_CARD, TUTTI_SUMS_LIBRARY, false, tutti_cuda_conv_fits,
     tutti_cuda_product_seconds, &tutti_cuda_conv},
    {"cublaslt", "dense", TUTTI_DOES_ALL, TUTTI_IN_ANY, ON_CARD, TUTTI_SUMS_LIBRARY, false, tutti_cuda_dense_fits,
     tutti_cuda_product_seconds, &tutti_cuda_dense},
    {"cuda-tnn", "dense", TUTTI_DOES_ALL, TUTTI_IN_F32, ON_CARD, TUTTI_SUMS_LIBRARY, false, tutti_cuda_dense_tnn_fits,
     NULL, &tutti_cuda_dense_tnn},
    {"reference", NULL, TUTTI_DOES_ALL, TUTTI_IN_F32, OURS, TUTTI_SUMS_PLAIN, true, reference_fits, reference_seconds,
     NULL},
};
enum { NROWS = sizeof rows / sizeof *rows };

tutti_candidate_table tutti_candidates(void)
{
    return (tutti_candidate_table){rows, NROWS};
}

const char *tutti_candidate_name_at(int i)
{
    for (int r = 0; r < NROWS; r++) {
        bool seen = false;
        for (int before = 0; before < r; before++) seen = seen || !strcmp(rows[before].name, rows[r].name);
        if (!seen && i-- == 0) return rows[r].name;
    }
    return NULL;
}

const tutti_kernel_candidate *tutti_candidate_find(const char *name, const char *op, tutti_precision precision)
{
    for (int i = 0; i < NROWS; i++)
        if (!strcmp(rows[i].name, name) && (!rows[i].op || !strcmp(rows[i].op, op)) &&
            rows[i].precisions >> precision & 1)
            return &rows[i];
    return NULL;
}
