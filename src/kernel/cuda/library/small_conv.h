/* SPDX-License-Identifier: Apache-2.0 */
/* small_conv.h: passes of f32 convolutions of few channels and filters by kernels of our own (small_conv.cu), where the
 * library's deterministic algorithms are slow.
 *
 * Values lie with channels last, weights as (filters, window, channels of a group), all f32. Sums have one order, which
 * follows from the shape and the number of the card's multiprocessors. Threads: one at a time for each card. */
#ifndef TUTTI_KERNEL_CUDA_SMALL_CONV_H
#define TUTTI_KERNEL_CUDA_SMALL_CONV_H

#include "../../../device/cuda/cuda.h"
#include "cudnn.h"

typedef struct {
    tutti_cuda *cuda; /* NULL means that the library computes all passes */
    tutti_cuda_function weights, slabs_sum, forward, data;
    tutti_cudnn_shape shape;
    int64_t slab, nslabs; /* for the gradients of weights. slab: output positions in a slab; nslabs: number of slabs */
} tutti_small_conv;

/* True if our kernels compute this pass of a convolution of this shape. */
bool tutti_small_conv_fits(const tutti_cudnn_shape *s, tutti_kernel_pass pass);
/* Describes the convolution of shape s in *out and finds its device functions. TUTTI_ERR_FAILED has the compiler's
 * message. */
tutti_status tutti_small_conv_begin(tutti_cuda *c, const tutti_cudnn_shape *s, tutti_small_conv *out,
                                    tutti_failure *err);
/* True if tutti_small_conv_begin has filled in s and our kernels compute this pass. */
bool tutti_small_conv_sums(const tutti_small_conv *s, tutti_kernel_pass pass);
size_t tutti_small_conv_scratch(const tutti_small_conv *s); /* Returns the bytes of scratch that the gradient of weights
                                                             * needs. */
/* Computes m->out = max(0, sums + bias). A NULL bias adds nothing; without `relu` there is no maximum. */
void tutti_small_conv_forward(const tutti_small_conv *s, const tutti_cudnn_memory *m, const float *bias, bool relu);
/* Computes the gradient of the weights. m->workspace is the scratch. */
void tutti_small_conv_params(const tutti_small_conv *s, const tutti_cudnn_memory *m);
void tutti_small_conv_data(const tutti_small_conv *s, const tutti_cudnn_memory *m);

#endif
