/* SPDX-License-Identifier: Apache-2.0 */
/* library_product.h: the library's matrix product in f32, dnnl_sgemm, behind one function. Threads: owner (it sets
 * OpenMP's number). */
#ifndef TUTTI_KERNEL_LIBRARY_PRODUCT_H
#define TUTTI_KERNEL_LIBRARY_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

/* C (m, n) = A (m, k) B (k, n), plus C if `adds`. All row-major; turned: the operand lies as (k, m), as (n, k). */
typedef struct {
    int64_t m, n, k;
    const float *a, *b;
    float *c;
    bool a_turned, b_turned, adds;
    int nthreads;
} tutti_library_product;

/* Whether this build has it: only then it may be called. */
bool tutti_library_multiplies(void);
void tutti_library_multiply(const tutti_library_product *p);

#endif
