/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_impl.h: declarations that the files of src/kernel share: attributes of the ops, their rows, layouts, adapters.
 *
 * The attributes are declared here and not in the op files because other rows (onednn_conv.c) read them too. */
#ifndef TUTTI_KERNEL_IMPL_H
#define TUTTI_KERNEL_IMPL_H

#include "kernel.h"

/* --- attributes, as the field tables of the op files fill them --- */

typedef struct {
    int64_t out_channels, kernel, stride, pad, groups;
    int init;        /* how weights are initialised: TUTTI_CONV_UNIFORM or TUTTI_CONV_HE */
    bool bias, relu; /* bias: a bias is added; relu: out = max(0, sum), the same as a ReLU behind the op */
} tutti_conv_attrs;
enum { TUTTI_CONV_UNIFORM, TUTTI_CONV_HE };

typedef struct {
    int64_t units;
    bool bias, relu;
} tutti_dense_attrs;

typedef struct {
    int64_t kernel, stride, pad; /* stride 0 means the same as kernel */
    bool ceil;                   /* true if output sizes are rounded up, false if down */
} tutti_pool_attrs;

typedef struct {
    int64_t size;
    double alpha, beta, k;
} tutti_lrn_attrs;

typedef struct {
    double eps, momentum, scale_init;
    /* true if a ReLU follows: of the normalised input, or of its sum with the second input if there is one */
    bool relu;
} tutti_batch_norm_attrs;

typedef struct {
    double rate;
} tutti_dropout_attrs;

typedef struct {
    double weight, label_smoothing;
} tutti_loss_attrs;

/* Ops that files other than op_table.c name. */
extern const tutti_op_row tutti_op_conv, tutti_op_dense, tutti_op_relu, tutti_op_sigmoid, tutti_op_tanh,
    tutti_op_max_pool, tutti_op_avg_pool, tutti_op_global_avg_pool, tutti_op_lrn, tutti_op_batch_norm, tutti_op_dropout,
    tutti_op_flatten, tutti_op_add, tutti_op_concat, tutti_op_softmax_cross_entropy;

/* --- shape rules that several ops share (op_table.c) --- */

/* Gives the output the input's shape. */
tutti_status tutti_op_infer_same(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out,
                                 tutti_failure *err);
/* Counts one operation for each element of the output. */
double tutti_op_flops_each(const void *attrs, const tutti_shape *in, const tutti_shape *out);
/* Computes (B, C, H, W) -> (B, channels, H', W') for sliding windows: floor((n + 2 pad - kernel) / stride) + 1. With
 * `ceil` the quotient rounds up, but the last window must begin inside the input or inside the padding before it. */
tutti_status tutti_op_infer_window(const tutti_pool_attrs *window, int64_t channels, const tutti_shape *in,
                                   tutti_shape *out, tutti_failure *err);
/* Returns the attributes with the real stride: a stride of 0 becomes the kernel's size. */
tutti_pool_attrs tutti_op_pool_window(const tutti_pool_attrs *attrs);
tutti_status tutti_op_pool_infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out,
                                 tutti_failure *err);
double tutti_op_pool_flops(const void *attrs, const tutti_shape *in, const tutti_shape *out);
enum { TUTTI_OP_POOL_NFIELDS = 4 };
extern const tutti_field tutti_op_pool_fields[TUTTI_OP_POOL_NFIELDS];
/* Sets which values the backward pass of batch norm reads. Fails if a channel has fewer than two elements in
 * training. */
tutti_status tutti_op_batch_norm_needs(tutti_kernel *k, tutti_failure *err);

/* Sets the saved bytes of dropout, one byte for each element. Fails if samples are too large. */
tutti_status tutti_op_dropout_needs(tutti_kernel *k, tutti_failure *err);
/* The two counters of tutti_random for a sample. The second one grows by one every four elements. */
typedef struct {
    uint64_t step, sample;
} tutti_dropout_keys;
tutti_dropout_keys tutti_op_dropout_keys(const tutti_kernel_args *a, int64_t sample);

/* Output positions [first, end) of one dimension: those at which element k of the window lies inside the input. */
typedef struct {
    int64_t first, end;
} tutti_window_span;
tutti_window_span tutti_op_window_span(int64_t k, int64_t stride, int64_t pad, int64_t nin, int64_t nout);

/* True if a backward pass reads input i. */
static inline bool tutti_kernel_reads_again(const tutti_kernel *k, int i)
{
    return k->backward_reads & TUTTI_READS_INPUT && !(k->unread_inputs >> i & 1);
}

/* True if the caller uses the gradients of the parameters. */
static inline bool tutti_kernel_params_wanted(const tutti_kernel *k, const tutti_kernel_args *a)
{
    for (int i = 0; i < k->nparams; i++)
        if (k->params[i].kind != TUTTI_PARAM_STATISTIC && a->dparam[i]) return true;
    return false;
}

/* --- layouts --- */

/* A blocked memory order. Dims are split into blocks, and the inner blocks of all dims lie together (oneDNN's nChw16c
 * has one inner block: 16 of dim 1). Each coordinate adds a part to the address, independently of the others. */
enum { TUTTI_MAX_INNER_BLOCKS = 8 };
typedef struct tutti_layout {
    int64_t stride[TUTTI_MAX_DIMS]; /* for each dim: distance in elements from one outer block to the next */
    int64_t padded[TUTTI_MAX_DIMS]; /* the dims, rounded up to whole blocks; elements beyond the shape are zero */
    int ninner;
    int64_t inner_block[TUTTI_MAX_INNER_BLOCKS]; /* inner blocks, the outermost first */
    int inner_dim[TUTTI_MAX_INNER_BLOCKS];
    /* The shape whose order this is, if that is not the tensor's own shape. The shape has as many elements as the
     * tensor, in the same row-major order: the weights of a dense layer that reads planes are (N, C, H, W). No dims
     * means the tensor's shape. */
    tutti_shape view;
    void *described; /* the library's own description of a parameter, owned by the kernel that made the layout */
} tutti_layout;

/* Returns the offset, in elements, that coordinate x of dim d adds to an element's place. */
int64_t tutti_layout_offset(const tutti_layout *l, int d, int64_t x);

/* --- the library (onednn_engine.c, or onednn_absent.c in a build without it: those rows fit nothing) --- */

extern const tutti_kernel_row tutti_onednn_conv, tutti_onednn_dense;
/* Rows that multiply bf16 without widening it to f32. */
extern const tutti_kernel_row tutti_onednn_bf16_conv, tutti_onednn_bf16_dense;
/* Rows for convolutions with channels innermost, by tutti's own loops on the library's memory orders: f32 and bf16 by
 * the loops of lanes/; gradients of bf16 weights by tiles of AMX. */
extern const tutti_kernel_row tutti_conv_lanes, tutti_conv_tiles;
/* The function `fits` of the library's candidates (candidate.h). */
bool tutti_onednn_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_onednn_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
bool tutti_conv_lanes_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
bool tutti_conv_tiles_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_conv_lanes_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_conv_tiles_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
/* Returns the name of the instructions that multiply 16-bit values on this processor, such as "AMX"; NULL if there are
 * none. */
const char *tutti_onednn_multiplies(tutti_precision precision);
/* Returns the order that the library's convolutions prefer for activations. The order holds if channels fill its
 * blocks. */
tutti_order tutti_onednn_prefers(tutti_precision precision);
/* Writes the library's version; "" if it is not in this build. */
void tutti_onednn_describe(char out[96]);

/* --- adapters --- */

/* Computes an op with a merged ReLU by a row that can only compute the op without it. */
extern const tutti_kernel_row tutti_kernel_fused_adapter;
/* Tutti's own rows for ops whose speed memory bounds, for every order of activations, every type and any number of
 * threads. They refuse inputs of several types, and batch norms whose addend has another order; adapters handle
 * those. */
extern const tutti_kernel_row tutti_lane_norm, tutti_lane_eltwise, tutti_lane_add_row, tutti_lane_concat,
    tutti_lane_pool, tutti_lane_global_pool, tutti_lane_lrn, tutti_lane_dropout;
/* Convolutions of f32 that skip zeros (sparse_impl.h): any shape, groups, order and number of threads. */
extern const tutti_kernel_row tutti_sparse_conv;
/* Chooses which zeros are skipped when a kernel of this row computes the weights' gradient: those of the output
 * gradient, or those of the input. */
void tutti_sparse_conv_skip_outputs(tutti_kernel *k, bool outputs);
/* 3 x 3 convolutions by Winograd's products, f32 (winograd_row.c). */
extern const tutti_kernel_row tutti_winograd_conv;
bool tutti_winograd_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_winograd_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
/* 5 x 5 convolutions by Winograd's products. `wide` is for channels that fill vectors, the other row for other
 * channels. */
extern const tutti_kernel_row tutti_winograd5_wide_conv;
bool tutti_winograd5_wide_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_winograd5_wide_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
extern const tutti_kernel_row tutti_winograd5_conv;
bool tutti_winograd5_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_winograd5_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
/* 1 x 1 convolutions by tutti's own matrix products (gemm_conv.c). */
extern const tutti_kernel_row tutti_gemm_conv;
bool tutti_gemm_conv_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_gemm_conv_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
/* Convolutions of any size by products of windows that are never written to memory (implicit_conv.c). */
extern const tutti_kernel_row tutti_implicit_conv;
bool tutti_implicit_conv_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_implicit_conv_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
/* Runs an op's reference row on inputs that are not row-major. */
extern const tutti_kernel_row tutti_kernel_plain_adapter;
/* Makes k by the op's reference row. The `create` of another row calls it for shapes that this row cannot compute. */
tutti_status tutti_kernel_fall_back(tutti_kernel *k, const struct tutti_kernel_request *r, tutti_failure *err);
/* Computes activations of 16 bits by a row that computes in f32. */
extern const tutti_kernel_row tutti_kernel_half_adapter;
/* Runs each pass by the row that request->by names for it. */
extern const tutti_kernel_row tutti_kernel_joined_adapter;
/* Begins a kernel: fills in all fields but those that the row's create fills in. */
tutti_status tutti_kernel_begin(const struct tutti_kernel_request *r, tutti_kernel *made, tutti_failure *err);
/* Creates a kernel as tutti_kernel_create does, but by this row. */
tutti_status tutti_kernel_create_by(const tutti_kernel_row *row, const struct tutti_kernel_request *r, tutti_kernel *k,
                                    tutti_failure *err);

#endif
