/* SPDX-License-Identifier: Apache-2.0 */
/* cublaslt_api.h: the functions of cuBLASLt (CUDA 12 and 13) that tutti calls, declared here: building needs neither
 * NVIDIA's headers nor the library. Names, parameters and values are those of cublasLt.h, cublas_api.h and
 * library_types.h. Descriptions are opaque pointers. Threads: any. */
#ifndef TUTTI_KERNEL_CUBLASLT_API_H
#define TUTTI_KERNEL_CUBLASLT_API_H

#include <stddef.h>
#include <stdint.h>

enum {
    TUTTI_CUBLAS_SUCCESS = 0, /* values of cublasStatus_t */

    TUTTI_CUDA_R_32F = 0, /* values of cudaDataType_t */
    TUTTI_CUDA_R_16F = 2,
    TUTTI_CUDA_R_16BF = 14,

    TUTTI_CUBLAS_COMPUTE_32F = 68, /* products in f32 without TF32 */
    TUTTI_CUBLAS_OP_N = 0,
    TUTTI_CUBLAS_OP_T = 1,

    TUTTI_CUBLASLT_DESC_TRANSA = 3, /* attributes of a product: int32_t */
    TUTTI_CUBLASLT_DESC_TRANSB = 4,
    TUTTI_CUBLASLT_DESC_EPILOGUE = 7,        /* attribute of a product, of type uint32_t */
    TUTTI_CUBLASLT_DESC_BIAS_POINTER = 8,    /* attribute of a product, of type const void * */
    TUTTI_CUBLASLT_DESC_BIAS_DATA_TYPE = 26, /* attribute of a product, of type int32_t */

    TUTTI_CUBLASLT_EPILOGUE_DEFAULT = 1,
    TUTTI_CUBLASLT_EPILOGUE_RELU = 2,
    TUTTI_CUBLASLT_EPILOGUE_BIAS = 4,
    TUTTI_CUBLASLT_EPILOGUE_RELU_BIAS = 6,

    TUTTI_CUBLASLT_PREF_WORKSPACE_BYTES = 1, /* attributes of a preference: uint64_t */
    TUTTI_CUBLASLT_PREF_ALIGNMENT_A = 5,     /* uint32_t: alignment of matrix A in bytes; the next three are for B, C,
                                              * D */
};

/* Repeats cublasLtMatmulAlgo_t. The next struct repeats cublasLtMatmulHeuristicResult_t. */
typedef struct {
    uint64_t data[8];
} tutti_cublaslt_algorithm;
typedef struct {
    tutti_cublaslt_algorithm algorithm;
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
} tutti_cublaslt_found;

typedef void *tutti_cublaslt_handle;      /* the same as cublasLtHandle_t */
typedef void *tutti_cublaslt_description; /* describes a product, matrix or preference */

/* NAME(symbol, parameters): all return an int, a cublasStatus_t. Matrices are column-major. */
#define TUTTI_CUBLASLT_FUNCTIONS(_)                                                                                    \
    _(cublasLtCreate, (tutti_cublaslt_handle * handle))                                                                \
    _(cublasLtDestroy, (tutti_cublaslt_handle handle))                                                                 \
    _(cublasLtMatmulDescCreate, (tutti_cublaslt_description * product, int compute_type, int scale_type))              \
    _(cublasLtMatmulDescDestroy, (tutti_cublaslt_description product))                                                 \
    _(cublasLtMatmulDescSetAttribute,                                                                                  \
      (tutti_cublaslt_description product, int attribute, const void *value, size_t nbytes))                           \
    _(cublasLtMatrixLayoutCreate,                                                                                      \
      (tutti_cublaslt_description * matrix, int type, uint64_t rows, uint64_t columns, int64_t column_step))           \
    _(cublasLtMatrixLayoutDestroy, (tutti_cublaslt_description matrix))                                                \
    _(cublasLtMatmulPreferenceCreate, (tutti_cublaslt_description * preference))                                       \
    _(cublasLtMatmulPreferenceDestroy, (tutti_cublaslt_description preference))                                        \
    _(cublasLtMatmulPreferenceSetAttribute,                                                                            \
      (tutti_cublaslt_description preference, int attribute, const void *value, size_t nbytes))                        \
    _(cublasLtMatmulAlgoGetHeuristic,                                                                                  \
      (tutti_cublaslt_handle handle, tutti_cublaslt_description product, tutti_cublaslt_description a,                 \
       tutti_cublaslt_description b, tutti_cublaslt_description c, tutti_cublaslt_description d,                       \
       tutti_cublaslt_description preference, int most, tutti_cublaslt_found *found, int *n))                          \
    _(cublasLtMatmul,                                                                                                  \
      (tutti_cublaslt_handle handle, tutti_cublaslt_description product, const void *alpha, const void *a,             \
       tutti_cublaslt_description a_of, const void *b, tutti_cublaslt_description b_of, const void *beta,              \
       const void *c, tutti_cublaslt_description c_of, void *d, tutti_cublaslt_description d_of,                       \
       const tutti_cublaslt_algorithm *algorithm, void *workspace, size_t workspace_bytes, void *stream))

#define TUTTI_CUBLASLT_POINTER(name, parameters) int(*name) parameters;
typedef struct {
    TUTTI_CUBLASLT_FUNCTIONS(TUTTI_CUBLASLT_POINTER)
    size_t (*cublasLtGetVersion)(void); /* returns the version: 130000 means 13.0 */
    const char *(*cublasLtGetStatusString)(int status);
} tutti_cublaslt_functions;

#endif
