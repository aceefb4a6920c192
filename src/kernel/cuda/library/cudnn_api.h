/* SPDX-License-Identifier: Apache-2.0 */
/* cudnn_api.h: the functions of cuDNN 9 that tutti calls, declared here: building needs neither NVIDIA's headers nor
 * the library. Names, parameters and values are those of cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h. Descriptors are
 * opaque pointers. Threads: one at a time for each handle. */
#ifndef TUTTI_KERNEL_CUDNN_API_H
#define TUTTI_KERNEL_CUDNN_API_H

#include <stddef.h>

enum {
    TUTTI_CUDNN_SUCCESS = 0, /* values of cudnnStatus_t */

    TUTTI_CUDNN_DATA_FLOAT = 0,
    TUTTI_CUDNN_DATA_HALF = 2,
    TUTTI_CUDNN_DATA_BFLOAT16 = 9,

    TUTTI_CUDNN_DEFAULT_MATH = 0, /* math type: f32 is multiplied as TF32 if the card has it */
    TUTTI_CUDNN_TENSOR_OP_MATH = 1,
    TUTTI_CUDNN_FMA_MATH = 3, /* math type: f32 is multiplied without TF32 */

    TUTTI_CUDNN_TENSOR_NCHW = 0,
    TUTTI_CUDNN_TENSOR_NHWC = 1,
    TUTTI_CUDNN_CROSS_CORRELATION = 1,
    TUTTI_CUDNN_DETERMINISTIC = 1,

    TUTTI_CUDNN_ALGORITHMS = 8, /* the largest number of algorithms that heuristics name for a pass */

    /* Numbers of algorithms. These work for nearly all shapes and always add up in one order. */
    TUTTI_CUDNN_FORWARD_IMPLICIT_GEMM = 0,
    TUTTI_CUDNN_FORWARD_IMPLICIT_PRECOMP_GEMM = 1,
    TUTTI_CUDNN_DATA_ALGO_1 = 1,
    TUTTI_CUDNN_FILTER_ALGO_1 = 1,
};

/* Repeats cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t: these three structs have the same members. */
typedef struct {
    int algorithm, status;
    float milliseconds;
    size_t workspace_bytes;
    int determinism, math;
    int reserved[3];
} tutti_cudnn_algorithm;

typedef void *tutti_cudnn_handle;     /* the same as cudnnHandle_t */
typedef void *tutti_cudnn_descriptor; /* describes a tensor, filter or convolution */

/* NAME(symbol, parameters): all return an int, a cudnnStatus_t. */
#define TUTTI_CUDNN_FUNCTIONS(_)                                                                                       \
    _(cudnnCreate, (tutti_cudnn_handle * handle))                                                                      \
    _(cudnnDestroy, (tutti_cudnn_handle handle))                                                                       \
    _(cudnnSetStream, (tutti_cudnn_handle handle, void *stream))                                                       \
    _(cudnnCreateTensorDescriptor, (tutti_cudnn_descriptor * tensor))                                                  \
    _(cudnnDestroyTensorDescriptor, (tutti_cudnn_descriptor tensor))                                                   \
    _(cudnnSetTensor4dDescriptorEx, (tutti_cudnn_descriptor tensor, int type, int n, int c, int h, int w,              \
                                     int n_stride, int c_stride, int h_stride, int w_stride))                          \
    _(cudnnCreateFilterDescriptor, (tutti_cudnn_descriptor * filter))                                                  \
    _(cudnnDestroyFilterDescriptor, (tutti_cudnn_descriptor filter))                                                   \
    _(cudnnSetFilter4dDescriptor, (tutti_cudnn_descriptor filter, int type, int format, int k, int c, int h, int w))   \
    _(cudnnCreateConvolutionDescriptor, (tutti_cudnn_descriptor * convolution))                                        \
    _(cudnnDestroyConvolutionDescriptor, (tutti_cudnn_descriptor convolution))                                         \
    _(cudnnSetConvolution2dDescriptor, (tutti_cudnn_descriptor convolution, int pad_h, int pad_w, int stride_h,        \
                                        int stride_w, int dilation_h, int dilation_w, int mode, int compute_type))     \
    _(cudnnSetConvolutionGroupCount, (tutti_cudnn_descriptor convolution, int groups))                                 \
    _(cudnnSetConvolutionMathType, (tutti_cudnn_descriptor convolution, int math))                                     \
    _(cudnnGetConvolutionForwardAlgorithm_v7,                                                                          \
      (tutti_cudnn_handle handle, tutti_cudnn_descriptor x, tutti_cudnn_descriptor w,                                  \
       tutti_cudnn_descriptor convolution, tutti_cudnn_descriptor y, int most, int *n, tutti_cudnn_algorithm *found))  \
    _(cudnnGetConvolutionBackwardDataAlgorithm_v7,                                                                     \
      (tutti_cudnn_handle handle, tutti_cudnn_descriptor w, tutti_cudnn_descriptor dy,                                 \
       tutti_cudnn_descriptor convolution, tutti_cudnn_descriptor dx, int most, int *n, tutti_cudnn_algorithm *found)) \
    _(cudnnGetConvolutionBackwardFilterAlgorithm_v7,                                                                   \
      (tutti_cudnn_handle handle, tutti_cudnn_descriptor x, tutti_cudnn_descriptor dy,                                 \
       tutti_cudnn_descriptor convolution, tutti_cudnn_descriptor dw, int most, int *n, tutti_cudnn_algorithm *found)) \
    _(cudnnGetConvolutionForwardWorkspaceSize,                                                                         \
      (tutti_cudnn_handle handle, tutti_cudnn_descriptor x, tutti_cudnn_descriptor w,                                  \
       tutti_cudnn_descriptor convolution, tutti_cudnn_descriptor y, int algorithm, size_t *bytes))                    \
    _(cudnnGetConvolutionBackwardDataWorkspaceSize,                                                                    \
      (tutti_cudnn_handle handle, tutti_cudnn_descriptor w, tutti_cudnn_descriptor dy,                                 \
       tutti_cudnn_descriptor convolution, tutti_cudnn_descriptor dx, int algorithm, size_t *bytes))                   \
    _(cudnnGetConvolutionBackwardFilterWorkspaceSize,                                                                  \
      (tutti_cudnn_handle handle, tutti_cudnn_descriptor x, tutti_cudnn_descriptor dy,                                 \
       tutti_cudnn_descriptor convolution, tutti_cudnn_descriptor dw, int algorithm, size_t *bytes))                   \
    _(cudnnConvolutionForward,                                                                                         \
      (tutti_cudnn_handle handle, const void *alpha, tutti_cudnn_descriptor x_of, const void *x,                       \
       tutti_cudnn_descriptor w_of, const void *w, tutti_cudnn_descriptor convolution, int algorithm, void *workspace, \
       size_t workspace_bytes, const void *beta, tutti_cudnn_descriptor y_of, void *y))                                \
    _(cudnnConvolutionBackwardData,                                                                                    \
      (tutti_cudnn_handle handle, const void *alpha, tutti_cudnn_descriptor w_of, const void *w,                       \
       tutti_cudnn_descriptor dy_of, const void *dy, tutti_cudnn_descriptor convolution, int algorithm,                \
       void *workspace, size_t workspace_bytes, const void *beta, tutti_cudnn_descriptor dx_of, void *dx))             \
    _(cudnnConvolutionBackwardFilter,                                                                                  \
      (tutti_cudnn_handle handle, const void *alpha, tutti_cudnn_descriptor x_of, const void *x,                       \
       tutti_cudnn_descriptor dy_of, const void *dy, tutti_cudnn_descriptor convolution, int algorithm,                \
       void *workspace, size_t workspace_bytes, const void *beta, tutti_cudnn_descriptor dw_of, void *dw))

#define TUTTI_CUDNN_POINTER(name, parameters) int(*name) parameters;
typedef struct {
    TUTTI_CUDNN_FUNCTIONS(TUTTI_CUDNN_POINTER)
    size_t (*cudnnGetVersion)(void); /* returns the version: 91900 means 9.19.0 */
    const char *(*cudnnGetErrorString)(int status);
} tutti_cudnn_functions;

#endif
