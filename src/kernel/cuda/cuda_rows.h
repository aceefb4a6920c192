/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_rows.h: kernel rows that compute on a CUDA card, and the functions that they share. Device code is in *.cu,
 * which the build embeds as texts.
 *
 * A row needs no adapters: it takes any mix of f32, bf16 and f16, row-major and channels last, merged ReLUs, inference
 * and training. Arguments are addresses of the device. A pass runs as work of the card's queue and launches the same
 * kernels for the same arguments (device/cuda/cuda.h). `create` finds all device functions that the passes need, so a
 * pass cannot fail. If a function is not found, `create` returns TUTTI_ERR_FAILED with the compiler's message.
 *
 * Threads: any may read the tables; one at a time uses a kernel. */
#ifndef TUTTI_KERNEL_CUDA_ROWS_H
#define TUTTI_KERNEL_CUDA_ROWS_H

#include "../../device/cuda/cuda.h"
#include "../choose/candidate.h"
#include "../choose/memory_order.h"
#include "cuda_value.h"

/* Rows for the table of candidates (candidates.c). Each name is that of the file that defines the row. */
extern const tutti_kernel_row tutti_cuda_eltwise, tutti_cuda_add, tutti_cuda_concat, tutti_cuda_flatten,
    tutti_cuda_dropout, tutti_cuda_loss;
extern const tutti_kernel_row tutti_cuda_norm, tutti_cuda_pool, tutti_cuda_global_pool, tutti_cuda_lrn;

extern const tutti_embedded_text tutti_kernel_texts[]; /* the texts of the *.cu files; the build writes this array */

/* The two functions of a candidate (candidate.h). `fits`: true if the request is for a card, and all inputs are f32,
 * bf16 or f16, row-major or channels last. `seconds`: estimated from the bytes that are read and written. */
bool tutti_cuda_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_cuda_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);

/* Returns TUTTI_ERR_USAGE for requests that tutti_cuda_fits refuses. After TUTTI_OK, tutti_blocks_of returns true for
 * each input. */
tutti_status tutti_cuda_check(const tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err);
/* Gives the output the order of the first input and the type that the request asks for. Checks the inputs as
 * tutti_cuda_check does. */
tutti_status tutti_cuda_like_input(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err);
/* Gives the output this order (NCHW or NHWC) and the request's type; its shape stays. `layout` belongs to the kernel
 * and is filled in; it may be NULL for NCHW. */
void tutti_cuda_place_output(tutti_kernel *k, const tutti_kernel_request *r, tutti_order order, tutti_layout *layout);
/* Finds n device functions of the text `module`. Each function exists once for each kind, and its name is the wanted
 * name, "_" and `by`: "forward" with `by` "bf16" is forward_bf16. `by` is the name of a type, an op or a way. */
tutti_status tutti_cuda_find_by(tutti_cuda *c, const char *module, const char *by, const tutti_cuda_wanted *wanted,
                                int n, tutti_failure *err);
/* The function `destroy` of rows whose state is one piece of memory. */
void tutti_cuda_free_state(tutti_kernel *k);

enum {
    TUTTI_CUDA_THREADS = 256, /* number of threads of a block, unless a kernel needs another number */
    TUTTI_CUDA_EACH = 8 /* number of elements for each thread, in kernels that use first_of_thread() (common.cu) */
};

#endif
