/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_products.h: conversions around products by a library of the card: weights, activations, bias, ReLU, gradients of
 * a bias (weights.cu, channels.cu).
 *
 * The library's form has channels last; channels of each group are filled up with zeros where the library wants a
 * multiple. The form may be row-major instead. Functions put launches on the card's stream; kernels are found when they
 * are first asked for, once a card, so that running cannot fail. Addresses are multiples of 16 bytes except those of a
 * value that is filled up or unfilled. Threads: as a tutti_cuda. */
#ifndef TUTTI_KERNEL_CUDA_PRODUCTS_H
#define TUTTI_KERNEL_CUDA_PRODUCTS_H

#include "../cuda_value.h"

typedef struct {
    tutti_cuda *cuda;
    const tutti_cuda_values *values;
    tutti_cuda_function weights_fill, weights_unfill, weights_round;
    tutti_cuda_function fill, unfill, finish, finish_lanes[3]; /* indexed by tutti_dtype: f32, bf16, f16 */
    tutti_cuda_function columns[3], columns_any, columns_gather;
} tutti_cuda_products;

/* The functions of the card c, alive as long as the card. TUTTI_ERR_FAILED with the compiler's words. */
tutti_status tutti_cuda_products_of(tutti_cuda *c, const tutti_cuda_products **out, tutti_failure *err);

/* ---- scratch ---- */

/* Adds a piece of nbytes to the scratch of a kernel and returns where it begins, a multiple of 256 bytes behind the
 * scratch's begin. */
size_t tutti_cuda_scratch_take(tutti_kernel *k, size_t nbytes);
static inline void *tutti_cuda_scratch_at(const tutti_kernel_args *a, size_t at)
{
    return (char *)a->scratch + at;
}
/* Adds the piece in which a library works. The library finds it by tutti_cuda_workspace at an address that is a
 * multiple of 256 bytes, as cuBLASLt wants it; scratch itself begins at a multiple of 64. */
size_t tutti_cuda_workspace_take(tutti_kernel *k, size_t nbytes);
void *tutti_cuda_workspace(const tutti_kernel_args *a, size_t at);

/* ---- weights: (groups * filters, channels of a group, window) ---- */

typedef struct {
    int64_t groups, filters, filled_filters; /* filters and channels are those of a group */
    int64_t channels, filled_channels, window;
    bool is_last; /* channels lie last in the parameter */
    bool rows;    /* the library's form is row-major: nothing is filled up */
} tutti_cuda_weights;

/* How many numbers the library's form has. */
int64_t tutti_cuda_weights_filled(const tutti_cuda_weights *w);
/* True: the parameter has the library's form but for its type. */
bool tutti_cuda_weights_same(const tutti_cuda_weights *w);
/* n numbers of f32 that are rounded into another place. from NULL: there are none. */
typedef struct {
    const float *from;
    void *to;
    int64_t n;
} tutti_cuda_bias;
/* put brings the parameter from into the library's form of this type; take brings the library's form back into f32. */
void tutti_cuda_weights_put(const tutti_cuda_products *p, const tutti_cuda_weights *w, const float *from,
                            tutti_dtype type, void *to);
void tutti_cuda_weights_take(const tutti_cuda_products *p, const tutti_cuda_weights *w, tutti_dtype type,
                             const void *from, float *to);
/* Rounds weights as they lie, and the bias, to this type in one launch. */
void tutti_cuda_weights_round(const tutti_cuda_products *p, const tutti_cuda_bias *weights, const tutti_cuda_bias *bias,
                              tutti_dtype type);

/* ---- activations: (batch, groups * channels, height, width) ---- */

typedef struct {
    int64_t groups, channels, filled; /* channels of a group; filled: channels, or a multiple of 8 above them */
    bool rows;                        /* the library's form is row-major: nothing is filled up */
} tutti_cuda_channels;

/* How many bytes a value has in the library's form. */
size_t tutti_cuda_channels_bytes(const tutti_cuda_channels *ch, const tutti_value *v, tutti_dtype type);
/* True: the value has the library's form of this type. */
bool tutti_cuda_channels_same(const tutti_cuda_channels *ch, const tutti_value *v, tutti_dtype type);
/* put brings a value into the library's form of this type; take brings the library's form back into a value. */
void tutti_cuda_channels_put(const tutti_cuda_products *p, const tutti_cuda_channels *ch, tutti_cuda_place from,
                             tutti_dtype type, void *to);
void tutti_cuda_channels_take(const tutti_cuda_products *p, const tutti_cuda_channels *ch, tutti_dtype type,
                              const void *from, tutti_cuda_place to);

/* A product that wants its bias (NULL: none) and ReLU. from is in the library's form of this type, not row-major. */
typedef struct {
    const void *from;
    tutti_dtype type;
    const float *bias;
    bool relu;
} tutti_cuda_finishing;
/* to = from + bias, then ReLU. to has channels last, or is (batch, channels). from may be the memory of to if nothing
 * is filled up and the type is the same. */
void tutti_cuda_finish(const tutti_cuda_products *p, const tutti_cuda_channels *ch, const tutti_cuda_finishing *f,
                       tutti_cuda_place to);

/* ---- gradients of a bias ---- */

/* gradient has rows of channels (channels last, or (batch, channels)). Where output (NULL: none), of the same
 * description, is not above zero, gradient becomes zero. sums (NULL: none) takes the sums of the columns in f32, always
 * in the same order. scratch has tutti_cuda_columns_scratch bytes. */
typedef struct {
    const void *output;
    void *gradient;
    float *sums;
    void *scratch;
} tutti_cuda_columns;
size_t tutti_cuda_columns_scratch(const tutti_value *v);
void tutti_cuda_columns_sum(const tutti_cuda_products *p, const tutti_value *v, const tutti_cuda_columns *c);

#endif
