/* SPDX-License-Identifier: Apache-2.0 */
/* small_conv.h: passes of f32 convolutions of few channels and filters by kernels of our own (small_conv.cu), where the
 * library's deterministic algorithms are slow.
 *
 * Values lie with channels last, weights as (filters, window, channels of a group), all f32. Sums have one order, which
 * follows from the shape and the card's multiprocessors. Threads: as a tutti_cuda. */
#ifndef TUTTI_KERNEL_CUDA_SMALL_CONV_H
#define TUTTI_KERNEL_CUDA_SMALL_CONV_H

#include "../../../device/cuda/cuda.h"
#include "cudnn.h"

typedef struct {
    tutti_cuda *cuda; /* NULL: the library computes all passes */
    tutti_cuda_function weights, slabs_sum, forward, data;
    tutti_cudnn_shape shape;
    int64_t slab, nslabs; /* of positions of the output, for gradients of weights */
} tutti_small_conv;

/* Whether our kernels compute this pass of a convolution of this shape. */
bool tutti_small_conv_fits(const tutti_cudnn_shape *s, tutti_kernel_pass pass);
/* Describes the convolution of shape s in *out and finds its functions. TUTTI_ERR_FAILED with the compiler's words. */
tutti_status tutti_small_conv_begin(tutti_cuda *c, const tutti_cudnn_shape *s, tutti_small_conv *out,
                                    tutti_failure *err);
/* Whether s was begun and our kernels compute this pass. */
bool tutti_small_conv_sums(const tutti_small_conv *s, tutti_kernel_pass pass);
size_t tutti_small_conv_scratch(const tutti_small_conv *s); /* bytes that the gradient of weights works in */
/* m->out = max(0, sums + bias); bias NULL: there is none; relu false: no max. */
void tutti_small_conv_forward(const tutti_small_conv *s, const tutti_cudnn_memory *m, const float *bias, bool relu);
void tutti_small_conv_params(const tutti_small_conv *s, const tutti_cudnn_memory *m); /* m->workspace: the scratch */
void tutti_small_conv_data(const tutti_small_conv *s, const tutti_cudnn_memory *m);

#endif
