/* SPDX-License-Identifier: Apache-2.0 */
/* library_product.h: the library's matrix product in f32, dnnl_sgemm, behind one function. Threads: any; each call sets
 * OpenMP's number of threads for the calling thread. */
#ifndef TUTTI_KERNEL_LIBRARY_PRODUCT_H
#define TUTTI_KERNEL_LIBRARY_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

/* Computes C (m, n) = A (m, k) B (k, n), or adds to C if `adds`. All are row-major; a transposed operand lies as (k,
 * m), or (n, k). */
typedef struct {
    int64_t m, n, k;
    const float *a, *b;
    float *c;
    bool a_turned, b_turned, adds;
    int nthreads;
} tutti_library_product;

/* True if this build has the library. Only then the function below may be called. */
bool tutti_library_multiplies(void);
void tutti_library_multiply(const tutti_library_product *p);

#endif
