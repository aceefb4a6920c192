/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublaslt.h: what the files of the fake libcublasLt.so.13 share: one product, and its work. */
#ifndef FAKELIBS_FAKE_CUBLASLT_H
#define FAKELIBS_FAKE_CUBLASLT_H

#include "fakelib.h"
#include "kernel/cuda/library/cublaslt_api.h"

enum { /* of cublasStatus_t */
       FAKE_CUBLAS_OK = 0,
       FAKE_CUBLAS_NOT_INITIALIZED = 1,
       FAKE_CUBLAS_INVALID_VALUE = 7,
       FAKE_CUBLAS_EXECUTION_FAILED = 13,
       FAKE_CUBLAS_NOT_SUPPORTED = 15
};

/* A matrix lies in columns, `step` numbers from one to the next. */
typedef struct {
    int type; /* cudaDataType_t */
    int64_t rows, columns, step;
} fake_cublaslt_matrix;

typedef struct {
    int compute_type, scale_type, bias_type; /* bias_type -1: that of d */
    int32_t transpose_a, transpose_b;
    uint32_t epilogue;
} fake_cublaslt_product;

/* Problems are compared by bytes: gaps are zero. */
typedef struct {
    fake_cublaslt_product product;
    fake_cublaslt_matrix a, b, c, d;
} fake_cublaslt_problem;

fakelib_type fake_cublaslt_type(int type);
bool fake_cublaslt_has_bias(const fake_cublaslt_problem *p);
size_t fake_cublaslt_bias_bytes(const fake_cublaslt_problem *p); /* 0: there is none */
int64_t fake_cublaslt_inner(const fake_cublaslt_problem *p);     /* how many terms a sum has */
size_t fake_cublaslt_span(const fake_cublaslt_matrix *m);        /* bytes, from the first number to the last */

typedef struct {
    fake_cublaslt_problem problem;
    const void *a, *b, *c, *bias;
    void *d, *workspace;
    size_t workspace_bytes;
    float alpha, beta;
} fake_cublaslt_work;
void fake_cublaslt_run(void *work);

#endif
