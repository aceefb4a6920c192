/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublaslt_calls.h: what stands behind the descriptions of the fake libcublasLt.so.13. */
#ifndef FAKELIBS_FAKE_CUBLASLT_CALLS_H
#define FAKELIBS_FAKE_CUBLASLT_CALLS_H

#include "fake_cublaslt.h"

enum { FAKE_CUBLASLT_PRODUCT = 1, FAKE_CUBLASLT_MATRIX = 2, FAKE_CUBLASLT_PREFERENCE = 3 }; /* kinds of objects */
enum { FAKE_CUBLASLT_OPERANDS = 4 };                                                        /* a, b, c, d */

typedef struct {
    fake_cublaslt_product product;
    const void *bias;
} fake_cublaslt_described;

typedef struct {
    uint64_t workspace_bytes;
    uint32_t alignment[FAKE_CUBLASLT_OPERANDS];
} fake_cublaslt_preference;

#endif
