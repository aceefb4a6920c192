/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_products.h: conversions around products by a library of the card: weights, activations, bias, ReLU, gradients of
 * a bias (weights.cu, channels.cu).
 *
 * The library's form has channels last. The channels of each group are filled up with zeros if the library wants a
 * multiple. The form may be row-major instead. Functions put launches on the card's stream. Device functions are found
 * at the first call of tutti_cuda_products_of, once a card, so that running cannot fail. Addresses are multiples of 16
 * bytes except those of a value that is filled up or unfilled. Threads: as a tutti_cuda. */
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

/* Returns the functions of the card c in *out, which live as long as the card. TUTTI_ERR_FAILED has the compiler's
 * words. */
tutti_status tutti_cuda_products_of(tutti_cuda *c, const tutti_cuda_products **out, tutti_failure *err);

/* ---- scratch ---- */

/* Adds a piece of nbytes to the scratch of a kernel and returns where it begins, a multiple of 256 bytes behind the
 * scratch's begin. */
size_t tutti_cuda_scratch_take(tutti_kernel *k, size_t nbytes);
static inline void *tutti_cuda_scratch_at(const tutti_kernel_args *a, size_t at)
{
    return (char *)a->scratch + at;
}
/* Adds the piece of scratch in which a library works. tutti_cuda_workspace returns its address, a multiple of 256
 * bytes, as cuBLASLt wants it; scratch itself begins at a multiple of 64. */
size_t tutti_cuda_workspace_take(tutti_kernel *k, size_t nbytes);
void *tutti_cuda_workspace(const tutti_kernel_args *a, size_t at);

/* ---- weights: (groups * filters, channels of a group, window) ---- */

typedef struct {
    int64_t groups, filters, filled_filters; /* number of groups; the other numbers are those of one group */
    int64_t channels, filled_channels, window;
    bool is_last; /* channels lie last in the parameter */
    bool rows;    /* the library's form is row-major, without padding */
} tutti_cuda_weights;

/* Returns how many elements the weights have in the library's form. */
int64_t tutti_cuda_weights_filled(const tutti_cuda_weights *w);
/* True if the parameter has the library's form, except for its type. */
bool tutti_cuda_weights_same(const tutti_cuda_weights *w);
/* n elements of f32 that are rounded into another place. If `from` is NULL, there are none. */
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
/* Rounds weights in the order that they have, and the bias, to this type in one launch. */
void tutti_cuda_weights_round(const tutti_cuda_products *p, const tutti_cuda_bias *weights, const tutti_cuda_bias *bias,
                              tutti_dtype type);

/* ---- activations: (batch, groups * channels, height, width) ---- */

typedef struct {
    int64_t groups, channels, filled; /* channels of a group; filled: the same number, or the next multiple of 8 */
    bool rows;                        /* the library's form is row-major, without padding */
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

/* The result of a product, to which bias (NULL means none) and ReLU are still to be applied. `from` is in the library's
 * form of this type, not row-major. */
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
