/* SPDX-License-Identifier: Apache-2.0 */
/* cublaslt.h: products of matrices by cuBLASLt: the library's handle, once a card, and plans, once a product.
 *
 *   c[m][n] = sum over k of a[m][k] * b[k][n]     (transposed: a[k][m], b[n][k]), all row-major, without gaps
 *
 * Sums are f32, in f32 without TF32. The algorithm is the first that the library's heuristics name. Nothing is timed,
 * so the same shapes give the same bits on a card. Threads: one at a time for each card. Errors: preparing fails with
 * the library's message. If a run fails, the card remembers it (tutti_cuda_fail). */
#ifndef TUTTI_KERNEL_CUBLASLT_H
#define TUTTI_KERNEL_CUBLASLT_H

#include "../../../device/cuda/cuda.h"
#include "cublaslt_api.h"

typedef struct {
    tutti_cublaslt_functions call;
    tutti_cublaslt_handle handle;
    tutti_cuda *cuda;
} tutti_cublaslt;

/* Sets *out to the library's handle for the card c. The handle lives as long as the card. */
tutti_status tutti_cublaslt_of(tutti_cuda *c, const tutti_cublaslt **out, tutti_failure *err);

typedef struct {
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    tutti_dtype type, type_c; /* type: the type of a and b; type_c: the type of c, the same or f32 */
    bool bias, relu; /* bias: bias[n], of c's type, is added to the product; relu: then the maximum with 0 is taken */
    /* Each address is a multiple of this number of bytes, a power of two; 0 means 64. */
    int64_t alignment_a, alignment_b, alignment_c;
} tutti_cublaslt_product;

typedef struct {
    const tutti_cublaslt *cublaslt;
    tutti_cublaslt_description product, a, b, c; /* a: the library's first matrix, which is our b */
    tutti_cublaslt_algorithm algorithm;
    size_t workspace_bytes; /* bytes of scratch that the algorithm needs, at most TUTTI_CUBLASLT_WORKSPACE */
    bool adds_bias;
} tutti_cublaslt_plan;
enum { TUTTI_CUBLASLT_WORKSPACE = 32 << 20 };

/* Prepares *p for this product. Returns TUTTI_ERR_FAILED if the library has no algorithm for it. tutti_cublaslt_end
 * releases *p, even if begin failed. */
tutti_status tutti_cublaslt_begin(const tutti_cublaslt *c, const tutti_cublaslt_product *what, tutti_cublaslt_plan *p,
                                  tutti_failure *err);
void tutti_cublaslt_end(tutti_cublaslt_plan *p); /* Releases a plan. A plan of zeros is accepted. */

typedef struct {
    const void *a, *b, *bias;
    void *c, *workspace;
} tutti_cublaslt_memory;
void tutti_cublaslt_run(const tutti_cublaslt_plan *p, const tutti_cublaslt_memory *m);

#endif
