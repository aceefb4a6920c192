/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_rows.h: kernel rows that compute on a CUDA card, and what they share. Device code is in *.cu, which the build
 * embeds as texts.
 *
 * A row does all by itself: any mix of f32, bf16 and f16, row-major and channels last, merged ReLUs, inference and
 * training. Arguments are addresses of the device. Functions run when the queue is emptied and launch the same things
 * for the same arguments (device/cuda/cuda.h). create finds all functions that running needs, so running cannot fail;
 * what cannot be found is TUTTI_ERR_FAILED with the compiler's words.
 *
 * Threads: tables are shared; a kernel is owner. */
#ifndef TUTTI_KERNEL_CUDA_ROWS_H
#define TUTTI_KERNEL_CUDA_ROWS_H

#include "../../device/cuda/cuda.h"
#include "../choose/candidate.h"
#include "../choose/memory_order.h"
#include "cuda_value.h"

/* Rows of the table of candidates (candidates.c), by the file that has them. */
extern const tutti_kernel_row tutti_cuda_eltwise, tutti_cuda_add, tutti_cuda_concat, tutti_cuda_flatten,
    tutti_cuda_dropout, tutti_cuda_loss;
extern const tutti_kernel_row tutti_cuda_norm, tutti_cuda_pool, tutti_cuda_global_pool, tutti_cuda_lrn;

extern const tutti_embedded_text tutti_kernel_texts[]; /* made by the build */

/* The two functions of a candidate (candidate.h). fits: the request is for a card, and all inputs are f32, bf16 or f16,
 * row-major or channels last. seconds: counted by the bytes that move. */
bool tutti_cuda_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_cuda_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);

/* Refuses with TUTTI_ERR_USAGE what tutti_cuda_fits does not take. Where it is TUTTI_OK, tutti_blocks_of is true of
 * each input. */
tutti_status tutti_cuda_check(const tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err);
/* The output lies as the first input does, in the type that the request asks for. The inputs are checked as by
 * tutti_cuda_check. */
tutti_status tutti_cuda_like_input(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err);
/* The output keeps its shape and takes this order (NCHW or NHWC) and the request's type. layout is the kernel's own and
 * is filled in; NULL will do for NCHW. */
void tutti_cuda_place_output(tutti_kernel *k, const tutti_kernel_request *r, tutti_order order, tutti_layout *layout);
/* Finds n functions of one of tutti_kernel_texts whose entries come in kinds: "forward" by "bf16" is forward_bf16. by:
 * the name of a type, an op or a way. */
tutti_status tutti_cuda_find_by(tutti_cuda *c, const char *module, const char *by, const tutti_cuda_wanted *wanted,
                                int n, tutti_failure *err);
/* The destroy of rows whose state is one piece of memory. */
void tutti_cuda_free_state(tutti_kernel *k);

enum {
    TUTTI_CUDA_THREADS = 256, /* threads of a block, where nothing speaks for another number */
    TUTTI_CUDA_EACH = 8       /* numbers of a thread whose first one is first_of_thread() (common.cu) */
};

#endif
