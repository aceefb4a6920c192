/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_libraries.h: the rows that compute by NVIDIA's libraries, and their functions `fits` and `seconds`
 * (candidate.h). Threads: any may read the tables. */
#ifndef TUTTI_KERNEL_CUDA_LIBRARIES_H
#define TUTTI_KERNEL_CUDA_LIBRARIES_H

#include "../../choose/candidate.h"

/* Convolutions by cuDNN (cuda_conv.c), any types and groups. */
extern const tutti_kernel_row tutti_cuda_conv;
bool tutti_cuda_conv_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
/* Dense layers by cuBLASLt (cuda_dense.c), for any types. tutti_cuda_dense_tnn does the same in f32, but transposes the
 * weights before the forward product. */
extern const tutti_kernel_row tutti_cuda_dense, tutti_cuda_dense_tnn;
bool tutti_cuda_dense_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
bool tutti_cuda_dense_tnn_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
/* Returns the seconds of a pass of any of these rows, estimated from its arithmetic and the bytes that it moves. */
double tutti_cuda_product_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);

#endif
