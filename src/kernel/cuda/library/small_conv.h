/* SPDX-License-Identifier: Apache-2.0 */
/* small_conv.h: passes of small f32 convolutions by kernels of our own (small_conv.cu), where the library's deterministic algorithms are slow.
 *
 * Measured on an H200, batch 64, us of the library: gradients of weights 145 and 199 in LeNet's convolutions, 240 for 16 channels of 32 x 32, 702 for
 * 16 to 32 channels with a stride of 2, which is 0.2 to 1.3 TFLOP/s. From some 4 GFLOP a pass on the library gets 20 TFLOP/s and keeps the pass.
 *
 * Values lie with channels last, weights as (filters, window, channels), all f32, one group. Sums have one order, which follows from the shape and
 * the card's multiprocessors. Threads: as a tutti_cuda. */
#ifndef TUTTI_KERNEL_CUDA_SMALL_CONV_H
#define TUTTI_KERNEL_CUDA_SMALL_CONV_H

#include "../../../device/cuda/cuda.h"
#include "cudnn.h"

/* As small_conv.cu has it. */
typedef struct {
    int32_t in_channels, in_height, in_width, out_channels, out_height, out_width, kernel, stride, pad;
    int32_t positions, slab, columns;
} tutti_small_shape;

typedef struct {
    tutti_cuda *cuda; /* NULL: the library computes */
    tutti_cuda_function weights_gradient, slabs_sum, forward, data;
    tutti_small_shape shape;
    int32_t batch, slabs;
} tutti_small_conv;

/* Whether they are for a convolution of this shape. */
bool tutti_small_conv_fits(const tutti_cudnn_shape *s);
tutti_status tutti_small_conv_begin(tutti_cuda *c, const tutti_cudnn_shape *s, tutti_small_conv *out,
                                    tutti_failure *err);
size_t tutti_small_conv_scratch(const tutti_small_conv *s); /* of the gradient of weights */
/* out = max(0, sums + bias); bias NULL: none. */
void tutti_small_conv_forward(const tutti_small_conv *s, const tutti_cudnn_memory *m, const float *bias, bool relu);
void tutti_small_conv_params(const tutti_small_conv *s, const tutti_cudnn_memory *m); /* m->workspace: the scratch */
/* Whether they compute this pass: not gradients of inputs of strides above 1, and no sums of more terms than a block adds up in time. */
bool tutti_small_conv_sums(const tutti_small_conv *s, tutti_kernel_pass pass);
void tutti_small_conv_data(const tutti_small_conv *s, const tutti_cudnn_memory *m);

#endif
