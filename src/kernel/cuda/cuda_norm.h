/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_norm.h: what both rows of batch normalisation on a card share: cuda_norm.c makes the kernel, and hands on what it does not take to
 * cuda_norm_any.c, whose create finds the output described and, in training, what the backward pass reads.
 *
 * Threads: tables are shared; a kernel is owner. */
#ifndef TUTTI_KERNEL_CUDA_NORM_H
#define TUTTI_KERNEL_CUDA_NORM_H

#include "cuda_rows.h"

/* What begins `saved`, in numbers of f32, one a channel each; the mask follows. */
enum {
    TUTTI_CUDA_NORM_MEAN,
    TUTTI_CUDA_NORM_RSTD,
    TUTTI_CUDA_NORM_OFFSET, /* mean gradient */
    TUTTI_CUDA_NORM_SLOPE,  /* the gradient's over the input */
    TUTTI_CUDA_NORM_SAVED
};

extern const tutti_kernel_row tutti_cuda_norm_any;

#endif
