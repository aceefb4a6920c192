/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_values.c: values, sizes and places that tutti declares itself of cuDNN and cuBLASLt are those of the
 * headers of the toolkit. Where these are not installed (the build says so: TUTTI_HAS_...) the tests are skipped. */
#include "testing.h"

#include "kernel/cuda/library/cublaslt_api.h"
#include "kernel/cuda/library/cudnn_api.h"

#ifdef TUTTI_HAS_CUDNN_HEADERS
#include <cudnn.h>
#endif
#ifdef TUTTI_HAS_CUBLASLT_HEADERS
#include <cublasLt.h>
#endif

#define SAME(ours, theirs)                             assert_int_equal((long long)(ours), (long long)(theirs))
#define SAME_PLACE(our_type, ours, their_type, theirs) SAME(offsetof(our_type, ours), offsetof(their_type, theirs))

#ifdef TUTTI_HAS_CUDNN_HEADERS
#define SAME_ALGORITHM(type)                                                                                           \
    SAME(sizeof(tutti_cudnn_algorithm), sizeof(type));                                                                 \
    SAME_PLACE(tutti_cudnn_algorithm, algorithm, type, algo);                                                          \
    SAME_PLACE(tutti_cudnn_algorithm, status, type, status);                                                           \
    SAME_PLACE(tutti_cudnn_algorithm, milliseconds, type, time);                                                       \
    SAME_PLACE(tutti_cudnn_algorithm, workspace_bytes, type, memory);                                                  \
    SAME_PLACE(tutti_cudnn_algorithm, determinism, type, determinism);                                                 \
    SAME_PLACE(tutti_cudnn_algorithm, math, type, mathType)

static void values_of_cudnn_are_those_of_its_headers(void **state)
{
    (void)state;
    SAME(TUTTI_CUDNN_SUCCESS, CUDNN_STATUS_SUCCESS);
    SAME(TUTTI_CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT);
    SAME(TUTTI_CUDNN_DATA_HALF, CUDNN_DATA_HALF);
    SAME(TUTTI_CUDNN_DATA_BFLOAT16, CUDNN_DATA_BFLOAT16);
    SAME(TUTTI_CUDNN_DEFAULT_MATH, CUDNN_DEFAULT_MATH);
    SAME(TUTTI_CUDNN_TENSOR_OP_MATH, CUDNN_TENSOR_OP_MATH);
    SAME(TUTTI_CUDNN_FMA_MATH, CUDNN_FMA_MATH);
    SAME(TUTTI_CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NCHW);
    SAME(TUTTI_CUDNN_TENSOR_NHWC, CUDNN_TENSOR_NHWC);
    SAME(TUTTI_CUDNN_CROSS_CORRELATION, CUDNN_CROSS_CORRELATION);
    SAME(TUTTI_CUDNN_DETERMINISTIC, CUDNN_DETERMINISTIC);
    SAME(TUTTI_CUDNN_FORWARD_IMPLICIT_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
    SAME(TUTTI_CUDNN_FORWARD_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
    SAME(TUTTI_CUDNN_DATA_ALGO_1, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1);
    SAME(TUTTI_CUDNN_FILTER_ALGO_1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1);
    assert_in_range(CUDNN_CONVOLUTION_FWD_ALGO_COUNT, 1, TUTTI_CUDNN_ALGORITHMS);
    assert_in_range(CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, 1, TUTTI_CUDNN_ALGORITHMS);
    assert_in_range(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, 1, TUTTI_CUDNN_ALGORITHMS);
}

static void algorithms_of_cudnn_lie_as_in_its_headers(void **state)
{
    (void)state;
    SAME_ALGORITHM(cudnnConvolutionFwdAlgoPerf_t);
    SAME_ALGORITHM(cudnnConvolutionBwdDataAlgoPerf_t);
    SAME_ALGORITHM(cudnnConvolutionBwdFilterAlgoPerf_t);
    SAME(sizeof(tutti_cudnn_handle), sizeof(cudnnHandle_t));
    SAME(sizeof(int), sizeof(cudnnStatus_t));
    SAME(sizeof(int), sizeof(cudnnDataType_t));
}
#else
static void values_of_cudnn_are_those_of_its_headers(void **state)
{
    (void)state;
    skip();
}
static void algorithms_of_cudnn_lie_as_in_its_headers(void **state)
{
    (void)state;
    skip();
}
#endif

#ifdef TUTTI_HAS_CUBLASLT_HEADERS
static void values_of_cublaslt_are_those_of_its_headers(void **state)
{
    (void)state;
    SAME(TUTTI_CUBLAS_SUCCESS, CUBLAS_STATUS_SUCCESS);
    SAME(TUTTI_CUDA_R_32F, CUDA_R_32F);
    SAME(TUTTI_CUDA_R_16F, CUDA_R_16F);
    SAME(TUTTI_CUDA_R_16BF, CUDA_R_16BF);
    SAME(TUTTI_CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F);
    SAME(TUTTI_CUBLAS_OP_N, CUBLAS_OP_N);
    SAME(TUTTI_CUBLAS_OP_T, CUBLAS_OP_T);
    SAME(TUTTI_CUBLASLT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
    SAME(TUTTI_CUBLASLT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
    SAME(TUTTI_CUBLASLT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
    SAME(TUTTI_CUBLASLT_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
    SAME(TUTTI_CUBLASLT_DESC_BIAS_DATA_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
    SAME(TUTTI_CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT);
    SAME(TUTTI_CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU);
    SAME(TUTTI_CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
    SAME(TUTTI_CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
    SAME(TUTTI_CUBLASLT_PREF_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
    SAME(TUTTI_CUBLASLT_PREF_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
    SAME(TUTTI_CUBLASLT_PREF_ALIGNMENT_A + 1, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
    SAME(TUTTI_CUBLASLT_PREF_ALIGNMENT_A + 2, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
    SAME(TUTTI_CUBLASLT_PREF_ALIGNMENT_A + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
}

static void what_cublaslt_finds_lies_as_in_its_headers(void **state)
{
    (void)state;
    SAME(sizeof(tutti_cublaslt_algorithm), sizeof(cublasLtMatmulAlgo_t));
    SAME(sizeof(tutti_cublaslt_found), sizeof(cublasLtMatmulHeuristicResult_t));
    SAME_PLACE(tutti_cublaslt_found, algorithm, cublasLtMatmulHeuristicResult_t, algo);
    SAME_PLACE(tutti_cublaslt_found, workspace_bytes, cublasLtMatmulHeuristicResult_t, workspaceSize);
    SAME_PLACE(tutti_cublaslt_found, status, cublasLtMatmulHeuristicResult_t, state);
    SAME_PLACE(tutti_cublaslt_found, waves, cublasLtMatmulHeuristicResult_t, wavesCount);
    SAME(sizeof(tutti_cublaslt_handle), sizeof(cublasLtHandle_t));
    SAME(sizeof(int), sizeof(cublasStatus_t));
}
#else
static void values_of_cublaslt_are_those_of_its_headers(void **state)
{
    (void)state;
    skip();
}
static void what_cublaslt_finds_lies_as_in_its_headers(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_cudnn_are_those_of_its_headers),
        cmocka_unit_test(algorithms_of_cudnn_lie_as_in_its_headers),
        cmocka_unit_test(values_of_cublaslt_are_those_of_its_headers),
        cmocka_unit_test(what_cublaslt_finds_lies_as_in_its_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
