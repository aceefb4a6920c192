/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_impl.h: what the oneDNN rows share: a kernel's passes as short lists of primitives, built once.
 *
 * A row creates primitive descriptors and says for each argument where it lies (a place) and in which memory order it
 * is there. tutti_onednn_add compares that with the order that the primitive wants and puts a reorder before or after
 * it through scratch where they differ. Running a pass then sets pointers and executes; nothing is allocated here.
 *
 * Failures stick: after the first one the builders do nothing and tutti_onednn_finish tells it. Threads: owner. */
#ifndef TUTTI_ONEDNN_IMPL_H
#define TUTTI_ONEDNN_IMPL_H

#include <oneapi/dnnl/dnnl.h>

#include "../choose/memory_order.h"

typedef enum {
    TUTTI_AT_IN,
    TUTTI_AT_OUT,
    TUTTI_AT_DOUT,
    TUTTI_AT_DIN,
    TUTTI_AT_PARAM,
    TUTTI_AT_DPARAM,
    TUTTI_AT_SAVED,
    TUTTI_AT_SCRATCH,
} tutti_onednn_where;

typedef struct {
    tutti_onednn_where where;
    size_t number; /* of the input or parameter; offset in saved or scratch, bytes */
} tutti_onednn_place;

static inline tutti_onednn_place tutti_onednn_at(tutti_onednn_where where, size_t number)
{
    return (tutti_onednn_place){where, number};
}

typedef struct {
    int arg; /* DNNL_ARG_SRC, ... */
    tutti_onednn_place place;
    const_dnnl_memory_desc_t order; /* in which it lies there; NULL = as the primitive wants it */
    bool written;                   /* by the primitive */
} tutti_onednn_arg;

enum { TUTTI_ONEDNN_STEPS = 12, TUTTI_ONEDNN_MEMORIES = 40, TUTTI_ONEDNN_ARGS = 12, TUTTI_ONEDNN_OWNED = 64 };

/* What a step of our own needs to know of a convolution with channels innermost (onednn_conv_bias.c,
 * onednn_conv_lanes.c). */
typedef struct {
    int64_t channels, height, width; /* of the input */
    int64_t out_channels, out_height, out_width, kernel, pad, stride;
    int64_t rows;               /* of outputs, of all samples */
    int64_t size;               /* of a window, floats */
    int64_t tile;               /* sums of the bias: positions that are added at once */
    size_t tile_at, product_at; /* in scratch, bytes */
    /* Of loops in lanes: types of the input and of all else; in scratch, words of pairs of bf16. */
    tutti_dtype in_type, type;
    size_t weights_at, pairs_at, gradients_at, left_at;
    int nthreads;    /* that share the samples; each has its own of what lies at tile_at, pairs_at, gradients_at, and of
                   * gradients' sums */
    int64_t nleft;   /* output channels that lanes of taps compute */
    bool relu, bias; /* forward: merged; there is one */
} tutti_onednn_windows;

typedef void tutti_onednn_own_step(const tutti_onednn_windows *w, const tutti_kernel_args *a);

typedef struct {
    dnnl_primitive_t primitive; /* NULL: `own` runs */
    tutti_onednn_own_step *own;
    tutti_onednn_windows windows;
    dnnl_exec_arg_t args[TUTTI_ONEDNN_ARGS];
    int nargs;
    int gradient_of;    /* writes the gradient of this input alone and is left out if nobody wants that; -1 = always
                      * runs */
    bool holds_signals; /* no handler may run on the threads that compute it */
} tutti_onednn_step;

typedef struct {
    tutti_onednn_step steps[TUTTI_ONEDNN_STEPS];
    int nsteps;
    dnnl_memory_t memories[TUTTI_ONEDNN_MEMORIES];
    tutti_onednn_place places[TUTTI_ONEDNN_MEMORIES];
    int nmemories;
    size_t scratch_bytes;
} tutti_onednn_pass;

typedef struct {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr;         /* scratchpad is the caller's */
    dnnl_primitive_attr_t forward_attr; /* the same, with the ReLU that is merged into the op, if one is */
    int nthreads;
    tutti_onednn_pass forward, backward_params, backward_data;
    int nfeeding; /* so many steps of backward_params come first that backward_data goes on from */
    dnnl_memory_desc_t owned[TUTTI_ONEDNN_OWNED];
    int nowned;
    dnnl_primitive_desc_t forward_pd; /* hint of the backward passes */
    dnnl_memory_desc_t in, out;       /* orders of the two activations */
    tutti_layout out_layout, param_layout[TUTTI_MAX_OP_PARAMS];
    dnnl_status_t failed; /* sticks */
    const char *failed_at;
} tutti_onednn_state;

/* Life: open, then build, then finish; close at any time. */
tutti_onednn_state *tutti_onednn_open(tutti_kernel *k, int nthreads);
tutti_status tutti_onednn_finish(tutti_kernel *k, tutti_failure *err);
void tutti_onednn_close(tutti_kernel *k);

/* Notes a failure once; true if all is well so far. */
bool tutti_onednn_ok(tutti_onednn_state *s, dnnl_status_t status, const char *at);
/* Memory descriptions, owned by the state. */
dnnl_memory_desc_t tutti_onednn_plain(tutti_onednn_state *s, const tutti_shape *shape);
dnnl_memory_desc_t tutti_onednn_any(tutti_onednn_state *s, const tutti_shape *shape);
dnnl_memory_desc_t tutti_onednn_innermost(tutti_onednn_state *s, const tutti_shape *shape); /* channels, four dims */
/* In a named order. groups > 0: weights (N, C, K, K) as (groups, N / groups, C, K, K), which is the same row-major. */
dnnl_memory_desc_t tutti_onednn_typed(tutti_onednn_state *s, dnnl_data_type_t type, const tutti_shape *shape,
                                      int64_t groups, dnnl_format_tag_t order);
/* An activation's; and which of our orders a description is, NONE if it is none of them. */
dnnl_memory_desc_t tutti_onednn_ordered(tutti_onednn_state *s, dnnl_data_type_t type, const tutti_shape *shape,
                                        tutti_order order);
tutti_order tutti_onednn_order_of(tutti_onednn_state *s, const_dnnl_memory_desc_t md, const tutti_shape *shape);
/* Of input i, in its order and type. */
dnnl_memory_desc_t tutti_onednn_input(tutti_kernel *k, int i);
/* Whether two descriptions put every element at the same address in the same type. */
bool tutti_onednn_same_order(const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b);
/* A ReLU is merged into the op: the forward pass ends with it, the parameters' pass begins by masking dout in place.
 * Call them before the forward primitive is made, and before anything is added to backward_params. */
void tutti_onednn_merge_relu(tutti_kernel *k);
void tutti_onednn_mask_dout(tutti_kernel *k);
/* The order in which a primitive wants its argument. */
const_dnnl_memory_desc_t tutti_onednn_wants(const_dnnl_primitive_desc_t pd, int arg);
/* Adds the primitive of `taken` (destroyed here unless it is forward_pd) with its reorders and scratchpad. */
void tutti_onednn_add(tutti_onednn_state *s, tutti_onednn_pass *pass, dnnl_primitive_desc_t taken,
                      const tutti_onednn_arg *args, int nargs);
/* Appends a copy from one place and order to another. */
void tutti_onednn_reorder(tutti_onednn_state *s, tutti_onednn_pass *pass, tutti_onednn_place from,
                          const_dnnl_memory_desc_t from_order, tutti_onednn_place to,
                          const_dnnl_memory_desc_t to_order);
/* Appends a step of our own; scratch for it, at an offset. */
void tutti_onednn_add_own(tutti_onednn_state *s, tutti_onednn_pass *pass, tutti_onednn_own_step *call,
                          const tutti_onednn_windows *w);
size_t tutti_onednn_take(tutti_onednn_pass *pass, size_t nbytes);
/* The passes of a convolution or an inner product (onednn_product.c): the forward primitive, and gradients that are
 * taken as by tutti_onednn_add. in and out lie as s says; weights, bias: the orders in which those lie in the regions,
 * bias NULL = none. */
void tutti_onednn_add_product(tutti_onednn_state *s, const_dnnl_memory_desc_t weights, const_dnnl_memory_desc_t bias);
void tutti_onednn_add_weight_gradient(tutti_onednn_state *s, dnnl_primitive_desc_t taken,
                                      const_dnnl_memory_desc_t weights, const_dnnl_memory_desc_t bias);
void tutti_onednn_add_input_gradient(tutti_onednn_state *s, dnnl_primitive_desc_t taken,
                                     const_dnnl_memory_desc_t weights);
/* In which a convolution is asked to leave its output. */
tutti_order tutti_onednn_wanted_order(const tutti_kernel *k, const tutti_kernel_request *r);
tutti_onednn_windows tutti_onednn_windows_of(const tutti_kernel *k);
bool tutti_onednn_channels_lie_innermost(tutti_kernel *k); /* of input and output */
bool tutti_onednn_sums_bias(tutti_kernel *k); /* by a step of our own, beside the library's weight gradient */
void tutti_onednn_add_bias_sum(tutti_kernel *k);
/* Steps of convolutions whose channels lie innermost, in place of the library's primitives (onednn_conv_lanes.c): in
 * f32 and bf16 by loops in lanes, and gradients of bf16 weights by tiles of AMX. Those of forward have the bias and a
 * merged ReLU, those of weights the bias' gradient. weights: the order in which those lie in the regions. */
void tutti_onednn_add_lane_product(tutti_kernel *k, const_dnnl_memory_desc_t weights);
void tutti_onednn_add_lane_gradient(tutti_kernel *k, const_dnnl_memory_desc_t weights);
void tutti_onednn_add_lane_spread(tutti_kernel *k, const_dnnl_memory_desc_t weights);
void tutti_onednn_add_tile_gradient(tutti_kernel *k, const_dnnl_memory_desc_t weights);
/* bf16 in pairs by vectors, or by tiles of AMX (onednn_engine.c). */
bool tutti_onednn_multiplies_pairs(void);
bool tutti_onednn_multiplies_tiles(void);
/* The output has this order and type from now on. */
void tutti_onednn_set_out(tutti_kernel *k, tutti_order order, tutti_dtype type);
/* The library's own plain loops, hundreds of times slower, are its last resort. */
bool tutti_onednn_is_plain_loops(const_dnnl_primitive_desc_t pd);
/* The primitive computes by the library's GEMM. */
bool tutti_onednn_is_gemm(const_dnnl_primitive_desc_t pd);
/* The order of parameter p: as the request says, else in training `wanted`, where a layout can say it, else `plain`.
 * Enters it in k->params. */
const_dnnl_memory_desc_t tutti_onednn_param_order(tutti_kernel *k, const tutti_kernel_request *r, int p,
                                                  const_dnnl_memory_desc_t wanted, const_dnnl_memory_desc_t plain);
void tutti_onednn_run(const tutti_onednn_state *s, const tutti_onednn_pass *pass, const tutti_kernel_args *a);

/* The functions of rows that need no more than running the three passes. */
void tutti_onednn_forward(tutti_kernel *k, const tutti_kernel_args *a);
void tutti_onednn_backward_params(tutti_kernel *k, const tutti_kernel_args *a);
void tutti_onednn_backward_data(tutti_kernel *k, const tutti_kernel_args *a);

#endif
