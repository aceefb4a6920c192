/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_impl.h: declarations that the oneDNN rows share: a kernel's passes as short lists of primitives, built once.
 *
 * A row creates primitive descriptors. For each argument it says where the argument lies (a place) and in which memory
 * order. tutti_onednn_add compares that order with the one that the primitive wants. If they differ, it puts a reorder
 * through scratch before or after the primitive. Running a pass only sets pointers and executes; nothing is allocated.
 *
 * Failures are kept: after the first one the functions that build passes do nothing, and tutti_onednn_finish returns
 * that failure. Threads: one at a time. */
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
    size_t number; /* index of the input or parameter, or offset in saved or scratch memory, in bytes */
} tutti_onednn_place;

static inline tutti_onednn_place tutti_onednn_at(tutti_onednn_where where, size_t number)
{
    return (tutti_onednn_place){where, number};
}

typedef struct {
    int arg; /* the library's name of the argument, such as DNNL_ARG_SRC */
    tutti_onednn_place place;
    const_dnnl_memory_desc_t order; /* the argument's order at its place; NULL means the order that the primitive
                                     * wants */
    bool written;                   /* true if the primitive writes the argument */
} tutti_onednn_arg;

enum { TUTTI_ONEDNN_STEPS = 12, TUTTI_ONEDNN_MEMORIES = 40, TUTTI_ONEDNN_ARGS = 12, TUTTI_ONEDNN_OWNED = 64 };

/* Sizes and places of a convolution with channels innermost, for a step of our own (onednn_conv_bias.c,
 * onednn_conv_lanes.c). */
typedef struct {
    int64_t channels, height, width; /* sizes of the input */
    int64_t out_channels, out_height, out_width, kernel, pad, stride;
    int64_t rows;               /* number of rows of the output, over all samples */
    int64_t size;               /* number of elements of a window */
    int64_t tile;               /* for the bias's gradient: number of positions that are added at once */
    size_t tile_at, product_at; /* offsets in scratch of a tile and of a product, in bytes */
    /* For the loops of lanes/. in_type: type of the input; type: type of all other values. The other fields: offsets in
     * scratch of weights, inputs, gradients and left-over weights, as words that hold pairs of bf16. */
    tutti_dtype in_type, type;
    size_t weights_at, pairs_at, gradients_at, left_at;
    /* number of threads that share the samples; each has its own part of the scratch at tile_at, pairs_at and
     * gradients_at, and its own sums of gradients */
    int nthreads;
    int64_t nleft;   /* number of output channels that lanes of taps compute */
    bool relu, bias; /* relu: true if a ReLU is merged; bias: true if the forward pass adds a bias */
} tutti_onednn_windows;

typedef void tutti_onednn_own_step(const tutti_onednn_windows *w, const tutti_kernel_args *a);

typedef struct {
    dnnl_primitive_t primitive; /* the library's primitive; NULL if the step is one of ours, `own` */
    tutti_onednn_own_step *own;
    tutti_onednn_windows windows;
    dnnl_exec_arg_t args[TUTTI_ONEDNN_ARGS];
    int nargs;
    /* index of the only input whose gradient the step writes; the step is left out if nobody needs that gradient. -1
     * means that the step always runs */
    int gradient_of;
    bool holds_signals; /* true if signals are blocked on the threads that compute the step */
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
    dnnl_primitive_attr_t attr;         /* attributes of the primitives: the caller provides the scratchpad */
    dnnl_primitive_attr_t forward_attr; /* the same attributes, with the merged ReLU if there is one */
    int nthreads;
    tutti_onednn_pass forward, backward_params, backward_data;
    int nfeeding; /* backward_data reads results of the first nfeeding steps of backward_params */
    dnnl_memory_desc_t owned[TUTTI_ONEDNN_OWNED];
    int nowned;
    /* the forward primitive's description, which the backward primitives get as a hint */
    dnnl_primitive_desc_t forward_pd;
    dnnl_memory_desc_t in, out; /* orders of the input and of the output */
    tutti_layout out_layout, param_layout[TUTTI_MAX_OP_PARAMS];
    dnnl_status_t failed; /* the first failure; later ones do not replace it */
    const char *failed_at;
} tutti_onednn_state;

/* Use: open a state, build its passes, finish it. A state may be closed at any time. */
tutti_onednn_state *tutti_onednn_open(tutti_kernel *k, int nthreads);
tutti_status tutti_onednn_finish(tutti_kernel *k, tutti_failure *err);
void tutti_onednn_close(tutti_kernel *k);

/* Keeps the first failure. Returns true if there is none so far. */
bool tutti_onednn_ok(tutti_onednn_state *s, dnnl_status_t status, const char *at);
/* The next functions return memory descriptions, which the state owns. */
dnnl_memory_desc_t tutti_onednn_plain(tutti_onednn_state *s, const tutti_shape *shape);
dnnl_memory_desc_t tutti_onednn_any(tutti_onednn_state *s, const tutti_shape *shape);
/* returns an f32 description with channels innermost, of four dims */
dnnl_memory_desc_t tutti_onednn_innermost(tutti_onednn_state *s, const tutti_shape *shape);
/* Returns a description in a named order. groups > 0: weights (N, C, K, K) as (groups, N / groups, C, K, K), which has
 * the same row-major order. */
dnnl_memory_desc_t tutti_onednn_typed(tutti_onednn_state *s, dnnl_data_type_t type, const tutti_shape *shape,
                                      int64_t groups, dnnl_format_tag_t order);
/* tutti_onednn_ordered describes an activation in an order of memory_order.h. tutti_onednn_order_of returns the order
 * that a description has, or TUTTI_ORDER_NONE. */
dnnl_memory_desc_t tutti_onednn_ordered(tutti_onednn_state *s, dnnl_data_type_t type, const tutti_shape *shape,
                                        tutti_order order);
tutti_order tutti_onednn_order_of(tutti_onednn_state *s, const_dnnl_memory_desc_t md, const tutti_shape *shape);
/* Returns the description of input i in its order and type. */
dnnl_memory_desc_t tutti_onednn_input(tutti_kernel *k, int i);
/* True if both descriptions put every element at the same address in the same type. */
bool tutti_onednn_same_order(const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b);
/* Merge a ReLU into the op: the forward pass ends with it, and the parameters' pass begins by masking dout in place.
 * Call these functions before the forward primitive is made, and before anything is added to backward_params. */
void tutti_onednn_merge_relu(tutti_kernel *k);
void tutti_onednn_mask_dout(tutti_kernel *k);
/* Returns the order that a primitive wants for this argument. */
const_dnnl_memory_desc_t tutti_onednn_wants(const_dnnl_primitive_desc_t pd, int arg);
/* Makes the primitive that `taken` describes and adds it to the pass, with its reorders and its scratchpad. Destroys
 * `taken` unless it is forward_pd. */
void tutti_onednn_add(tutti_onednn_state *s, tutti_onednn_pass *pass, dnnl_primitive_desc_t taken,
                      const tutti_onednn_arg *args, int nargs);
/* Appends a copy from one place and order to another. */
void tutti_onednn_reorder(tutti_onednn_state *s, tutti_onednn_pass *pass, tutti_onednn_place from,
                          const_dnnl_memory_desc_t from_order, tutti_onednn_place to,
                          const_dnnl_memory_desc_t to_order);
/* tutti_onednn_add_own appends a step of our own, which calls `call`. tutti_onednn_take reserves scratch for such steps
 * and returns its offset. */
void tutti_onednn_add_own(tutti_onednn_state *s, tutti_onednn_pass *pass, tutti_onednn_own_step *call,
                          const tutti_onednn_windows *w);
size_t tutti_onednn_take(tutti_onednn_pass *pass, size_t nbytes);
/* Add the passes of a convolution or an inner product (onednn_product.c): the forward primitive, and gradients by
 * tutti_onednn_add. Input and output have the orders s->in and s->out. weights, bias: orders in which weights and bias
 * are stored; bias is NULL if there is none. */
void tutti_onednn_add_product(tutti_onednn_state *s, const_dnnl_memory_desc_t weights, const_dnnl_memory_desc_t bias);
void tutti_onednn_add_weight_gradient(tutti_onednn_state *s, dnnl_primitive_desc_t taken,
                                      const_dnnl_memory_desc_t weights, const_dnnl_memory_desc_t bias);
void tutti_onednn_add_input_gradient(tutti_onednn_state *s, dnnl_primitive_desc_t taken,
                                     const_dnnl_memory_desc_t weights);
/* Returns the order in which a convolution is asked to leave its output. */
tutti_order tutti_onednn_wanted_order(const tutti_kernel *k, const tutti_kernel_request *r);
tutti_onednn_windows tutti_onednn_windows_of(const tutti_kernel *k);
bool tutti_onednn_channels_lie_innermost(tutti_kernel *k); /* True if channels of input and output lie innermost. */
/* True if a step of our own computes the bias's gradient, while the library computes the weights' gradient. */
bool tutti_onednn_sums_bias(tutti_kernel *k);
void tutti_onednn_add_bias_sum(tutti_kernel *k);
/* Add steps of convolutions whose channels lie innermost, in place of the library's primitives (onednn_conv_lanes.c):
 * f32 and bf16 by loops in lanes, gradients of bf16 weights by tiles of AMX. Forward steps include the bias and a
 * merged ReLU; steps of the weights' gradient include the bias's gradient. weights: the order in which the weights are
 * stored. */
void tutti_onednn_add_lane_product(tutti_kernel *k, const_dnnl_memory_desc_t weights);
void tutti_onednn_add_lane_gradient(tutti_kernel *k, const_dnnl_memory_desc_t weights);
void tutti_onednn_add_lane_spread(tutti_kernel *k, const_dnnl_memory_desc_t weights);
void tutti_onednn_add_tile_gradient(tutti_kernel *k, const_dnnl_memory_desc_t weights);
/* True if the processor multiplies pairs of bf16 by vectors, or by tiles of AMX (onednn_engine.c). */
bool tutti_onednn_multiplies_pairs(void);
bool tutti_onednn_multiplies_tiles(void);
/* Sets the order and type of the output. */
void tutti_onednn_set_out(tutti_kernel *k, tutti_order order, tutti_dtype type);
/* True if the primitive computes by the library's plain loops, its last resort, which are hundreds of times slower than
 * others. */
bool tutti_onednn_is_plain_loops(const_dnnl_primitive_desc_t pd);
/* True if the primitive computes by the library's GEMM. */
bool tutti_onednn_is_gemm(const_dnnl_primitive_desc_t pd);
/* Returns the order of parameter p and writes it to k->params. That is the order that the request gives. If the request
 * gives none, it is `wanted` in training, if a layout can express that order, and `plain` otherwise. */
const_dnnl_memory_desc_t tutti_onednn_param_order(tutti_kernel *k, const tutti_kernel_request *r, int p,
                                                  const_dnnl_memory_desc_t wanted, const_dnnl_memory_desc_t plain);
void tutti_onednn_run(const tutti_onednn_state *s, const tutti_onednn_pass *pass, const tutti_kernel_args *a);

/* The functions forward, backward_params and backward_data of rows that only run the steps that they have built. */
void tutti_onednn_forward(tutti_kernel *k, const tutti_kernel_args *a);
void tutti_onednn_backward_params(tutti_kernel *k, const tutti_kernel_args *a);
void tutti_onednn_backward_data(tutti_kernel *k, const tutti_kernel_args *a);

#endif
