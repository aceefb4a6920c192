/* SPDX-License-Identifier: Apache-2.0 */
/* cudnn.h: convolutions by cuDNN 9: the library's handle, once a card, and plans, once a convolution.
 *
 * Values have channels last and weights lie as (filters, window, channels of a group); or both are row-major. All are
 * of one type. Sums are f32, in f32 without TF32. For each pass, the algorithm is the first deterministic one that the
 * library's heuristics name. Nothing is timed, so the same shapes give the same bits on a card.
 *
 * Threads: one at a time for each card. Errors: preparing fails with the library's message. If a run fails, the card
 * remembers it (tutti_cuda_fail). */
#ifndef TUTTI_KERNEL_CUDNN_H
#define TUTTI_KERNEL_CUDNN_H

#include "../../../device/cuda/cuda.h"
#include "../../kernel.h"
#include "cudnn_api.h"

typedef struct {
    tutti_cudnn_functions call;
    tutti_cudnn_handle handle; /* handle of the library, which works on the card's stream */
    tutti_cuda *cuda;
} tutti_cudnn;

/* Sets *out to the library's handle for the card c. The handle lives as long as the card. */
tutti_status tutti_cudnn_of(tutti_cuda *c, const tutti_cudnn **out, tutti_failure *err);

typedef struct {
    int64_t batch, in_channels, in_height, in_width, out_channels, out_height, out_width;
    int64_t kernel, stride, pad, groups;
    tutti_dtype type; /* type of values and weights: f32, bf16 or f16 */
    bool rows;        /* true if all values are row-major */
    bool training;    /* true if the plan is for the backward passes as well */
} tutti_cudnn_shape;

typedef struct {
    const tutti_cudnn *cudnn;
    tutti_cudnn_descriptor in, weights, out, convolution;
    int algorithm[TUTTI_NPASSES];
    size_t workspace_bytes[TUTTI_NPASSES];
} tutti_cudnn_plan;

/* Prepares *p for a convolution of shape s. Returns TUTTI_ERR_FAILED if the library has no algorithm for it.
 * tutti_cudnn_end releases *p, even if begin failed. */
tutti_status tutti_cudnn_begin(const tutti_cudnn *c, const tutti_cudnn_shape *s, tutti_cudnn_plan *p,
                               tutti_failure *err);
void tutti_cudnn_end(tutti_cudnn_plan *p); /* Releases a plan. A plan of zeros is accepted. */

/* The memory of one pass, which reads two of in, weights and out and writes the third. workspace has as many bytes as
 * the plan says for the pass. */
typedef struct {
    void *in, *weights, *out, *workspace;
} tutti_cudnn_memory;
void tutti_cudnn_run(const tutti_cudnn_plan *p, tutti_kernel_pass pass, const tutti_cudnn_memory *m);

#endif
