/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_norm.h: declarations that both rows of batch normalisation on a card share. cuda_norm.c makes the kernel, or
 * calls the create of cuda_norm_any.c for a request that it cannot compute. Before that call, cuda_norm.c has described
 * the output and, in training, set what the backward pass reads.
 *
 * Threads: any may read the tables; one at a time uses a kernel. */
#ifndef TUTTI_KERNEL_CUDA_NORM_H
#define TUTTI_KERNEL_CUDA_NORM_H

#include "cuda_rows.h"

/* The parts at the beginning of `saved`. Each has one f32 value for each channel. The ReLU's mask follows them. */
enum {
    TUTTI_CUDA_NORM_MEAN,
    TUTTI_CUDA_NORM_RSTD,
    TUTTI_CUDA_NORM_OFFSET, /* mean of the output's gradient */
    TUTTI_CUDA_NORM_SLOPE,  /* slope of the output's gradient over the input */
    TUTTI_CUDA_NORM_SAVED
};

extern const tutti_kernel_row tutti_cuda_norm_any;

#endif
