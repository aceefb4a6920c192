/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_products.h: conversions around products by a library of the card: weights, activations, bias, ReLU, gradients of
 * a bias (weights.cu, channels.cu).
 *
 * The *library's form* of a value is the order and type that the library multiplies. That form has channels last, and
 * the channels of each group are filled up with zeros if the library wants a multiple of 8. The form may be row-major
 * instead. Functions put launches on the card's stream. The first call of tutti_cuda_products_of for a card finds all
 * device functions, so that no later launch fails for a missing one. Addresses must be multiples of 16 bytes; only the
 * tensor that a copy adds filling to, or takes it from, may lie anywhere. Threads: one at a time for each card. */
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

/* Sets *out to the functions of the card c. They live as long as the card. TUTTI_ERR_FAILED has the compiler's
 * message. */
tutti_status tutti_cuda_products_of(tutti_cuda *c, const tutti_cuda_products **out, tutti_failure *err);

/* ---- scratch ---- */

/* Adds a piece of nbytes to the scratch of a kernel. Returns its offset in scratch, a multiple of 256 bytes. */
size_t tutti_cuda_scratch_take(tutti_kernel *k, size_t nbytes);
static inline void *tutti_cuda_scratch_at(const tutti_kernel_args *a, size_t at)
{
    return (char *)a->scratch + at;
}
/* Adds the piece of scratch in which a library works and returns its offset. tutti_cuda_workspace returns the piece's
 * address, a multiple of 256 bytes, as cuBLASLt wants it. The scratch itself may begin at any multiple of 64. */
size_t tutti_cuda_workspace_take(tutti_kernel *k, size_t nbytes);
void *tutti_cuda_workspace(const tutti_kernel_args *a, size_t at);

/* ---- weights: (groups * filters, channels of a group, window) ---- */

typedef struct {
    /* groups: number of groups; the other numbers count in one group. filled_filters: filters, filled up */
    int64_t groups, filters, filled_filters;
    int64_t channels, filled_channels, window;
    bool is_last; /* true if the parameter has channels last */
    bool rows;    /* the library's form is row-major, without padding */
} tutti_cuda_weights;

/* Returns how many elements the weights have in the library's form. */
int64_t tutti_cuda_weights_filled(const tutti_cuda_weights *w);
/* True if the parameter has the library's form, except for its type. */
bool tutti_cuda_weights_same(const tutti_cuda_weights *w);
/* n elements of f32 at `from` that are rounded and written to `to`. If `from` is NULL, there are none. */
typedef struct {
    const float *from;
    void *to;
    int64_t n;
} tutti_cuda_bias;
/* tutti_cuda_weights_put converts the parameter `from` into the library's form of this type; _take converts the
 * library's form back into f32. */
void tutti_cuda_weights_put(const tutti_cuda_products *p, const tutti_cuda_weights *w, const float *from,
                            tutti_dtype type, void *to);
void tutti_cuda_weights_take(const tutti_cuda_products *p, const tutti_cuda_weights *w, tutti_dtype type,
                             const void *from, float *to);
/* Rounds weights, without a change of their order, and the bias to this type in one launch. */
void tutti_cuda_weights_round(const tutti_cuda_products *p, const tutti_cuda_bias *weights, const tutti_cuda_bias *bias,
                              tutti_dtype type);

/* ---- activations: (batch, groups * channels, height, width) ---- */

typedef struct {
    /* groups: number of groups; channels: channels of a group; filled: channels, or the next multiple of 8 */
    int64_t groups, channels, filled;
    bool rows; /* the library's form is row-major, without padding */
} tutti_cuda_channels;

/* Returns how many bytes a value has in the library's form. */
size_t tutti_cuda_channels_bytes(const tutti_cuda_channels *ch, const tutti_value *v, tutti_dtype type);
/* True if the value has the library's form of this type. */
bool tutti_cuda_channels_same(const tutti_cuda_channels *ch, const tutti_value *v, tutti_dtype type);
/* tutti_cuda_channels_put converts a value into the library's form of this type; _take converts it back. */
void tutti_cuda_channels_put(const tutti_cuda_products *p, const tutti_cuda_channels *ch, tutti_cuda_place from,
                             tutti_dtype type, void *to);
void tutti_cuda_channels_take(const tutti_cuda_products *p, const tutti_cuda_channels *ch, tutti_dtype type,
                              const void *from, tutti_cuda_place to);

/* The result of a product, before bias (NULL means none) and ReLU are applied. `from` is in the library's form of this
 * type, and not row-major. */
typedef struct {
    const void *from;
    tutti_dtype type;
    const float *bias;
    bool relu;
} tutti_cuda_finishing;
/* Writes to = from + bias, then ReLU. `to` has channels last, or is (batch, channels). `from` may be the memory of `to`
 * if nothing is filled up and the type is the same. */
void tutti_cuda_finish(const tutti_cuda_products *p, const tutti_cuda_channels *ch, const tutti_cuda_finishing *f,
                       tutti_cuda_place to);

/* ---- gradients of a bias ---- */

/* `gradient` has rows of channels (channels last, or (batch, channels)). Where `output`, of the same description, is
 * not above zero, `gradient` becomes zero; NULL means no mask. `sums` takes the sums of the columns in f32, always in
 * the same order; NULL means none. `scratch` has tutti_cuda_columns_scratch bytes. */
typedef struct {
    const void *output;
    void *gradient;
    float *sums;
    void *scratch;
} tutti_cuda_columns;
size_t tutti_cuda_columns_scratch(const tutti_value *v);
void tutti_cuda_columns_sum(const tutti_cuda_products *p, const tutti_value *v, const tutti_cuda_columns *c);

#endif
