/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_norm.h: declarations that both rows of batch normalisation on a card share. cuda_norm.c makes the kernel, and
 * hands on what it does not take to cuda_norm_any.c. The create of cuda_norm_any.c finds the output described and, in
 * training, the needs of the backward pass.
 *
 * Threads: tables are shared; a kernel is owner. */
#ifndef TUTTI_KERNEL_CUDA_NORM_H
#define TUTTI_KERNEL_CUDA_NORM_H

#include "cuda_rows.h"

/* The parts that `saved` begins with, in f32, one number a channel each. The mask follows them. */
enum {
    TUTTI_CUDA_NORM_MEAN,
    TUTTI_CUDA_NORM_RSTD,
    TUTTI_CUDA_NORM_OFFSET, /* mean gradient */
    TUTTI_CUDA_NORM_SLOPE,  /* the gradient's over the input */
    TUTTI_CUDA_NORM_SAVED
};

extern const tutti_kernel_row tutti_cuda_norm_any;

#endif
