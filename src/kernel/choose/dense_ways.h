/* SPDX-License-Identifier: Apache-2.0 */
/* dense_ways.h: candidates (candidates.c) for dense's forward pass on row-major matrices of f32: nt and tnn
 * (dense_ways.c), gemm (dense_gemm.c). Threads: any may read the tables. */
#ifndef TUTTI_DENSE_WAYS_H
#define TUTTI_DENSE_WAYS_H

#include "../kernel_impl.h"

extern const tutti_kernel_row tutti_dense_nt, tutti_dense_tnn;

/* The functions `fits` and `seconds` of nt and tnn. Both fit the same shapes; the selector (nt_selector.h) says which
 * is the faster one. */
bool tutti_dense_ways_fit(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_dense_nt_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_dense_tnn_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);

/* All passes by tutti's own matrix products (dense_gemm.c), in f32 and bf16. The selector knows this row for the
 * forward pass in f32. In all other cases the row is chosen if it was measured to be the fastest, or if the job names
 * it. */
extern const tutti_kernel_row tutti_dense_gemm;
bool tutti_dense_gemm_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
double tutti_dense_gemm_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);

#endif
