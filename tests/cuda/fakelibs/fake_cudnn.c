/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cudnn.c: the fake libcudnn.so.9: its handle and descriptors. See fakelib.h. */
#include <limits.h>

#include "fake_cudnn.h"

#define DECLARE(name, parameters) FAKELIB_EXPORT int name parameters;
TUTTI_CUDNN_FUNCTIONS(DECLARE)
FAKELIB_EXPORT size_t cudnnGetVersion(void);
FAKELIB_EXPORT const char *cudnnGetErrorString(int status);

const fakelib_library fakelib_self = {
    "cudnn",
    FAKE_CUDNN_EXECUTION_FAILED,
    {"handle", "tensor descriptor", "filter descriptor", "convolution descriptor"},
};

/* ---- the library ---- */

size_t cudnnGetVersion(void)
{
    return 91900;
}

const char *cudnnGetErrorString(int status)
{
    switch (status) {
    case FAKE_CUDNN_OK: return "CUDNN_STATUS_SUCCESS";
    case FAKE_CUDNN_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case FAKE_CUDNN_BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
    case FAKE_CUDNN_NULL_POINTER: return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case FAKE_CUDNN_MISALIGNED: return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
    case FAKE_CUDNN_SIZE_INSUFFICIENT: return "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
    case FAKE_CUDNN_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    case FAKE_CUDNN_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "CUDNN_UNKNOWN_STATUS";
    }
}

int cudnnCreate(tutti_cudnn_handle *handle)
{
    FAKELIB_CALL();
    if (!handle) return FAKE_CUDNN_NULL_POINTER;
    if (!fakelib_has_context()) return FAKE_CUDNN_NOT_INITIALIZED;
    *handle = fakelib_new(FAKELIB_HANDLE, sizeof(fake_cudnn_handle));
    return FAKE_CUDNN_OK;
}

static int destroyed(void *object, int kind, const char *call)
{
    return fakelib_destroy(object, kind, call) ? FAKE_CUDNN_OK : FAKE_CUDNN_BAD_PARAM;
}

int cudnnDestroy(tutti_cudnn_handle handle)
{
    FAKELIB_CALL();
    return destroyed(handle, FAKELIB_HANDLE, __func__);
}

int cudnnSetStream(tutti_cudnn_handle handle, void *stream)
{
    FAKELIB_CALL();
    fake_cudnn_handle *h = fakelib_of(handle, FAKELIB_HANDLE, __func__);
    if (!h) return FAKE_CUDNN_BAD_PARAM;
    h->stream = stream;
    return FAKE_CUDNN_OK;
}

/* ---- tensors ---- */

static bool is_type(int type)
{
    return type == TUTTI_CUDNN_DATA_FLOAT || type == TUTTI_CUDNN_DATA_HALF || type == TUTTI_CUDNN_DATA_BFLOAT16;
}

static bool are_positive(const int64_t *numbers, int n)
{
    for (int i = 0; i < n; i++)
        if (numbers[i] <= 0) return false;
    return true;
}

int cudnnCreateTensorDescriptor(tutti_cudnn_descriptor *tensor)
{
    FAKELIB_CALL();
    if (!tensor) return FAKE_CUDNN_NULL_POINTER;
    *tensor = fakelib_new(FAKE_CUDNN_TENSOR, sizeof(fake_cudnn_tensor));
    return FAKE_CUDNN_OK;
}

int cudnnDestroyTensorDescriptor(tutti_cudnn_descriptor tensor)
{
    FAKELIB_CALL();
    return destroyed(tensor, FAKE_CUDNN_TENSOR, __func__);
}

/* Its numbers are its own to count on, as they were given. */
int cudnnSetTensor4dDescriptorEx(tutti_cudnn_descriptor tensor, int type, int n, int c, int h, int w, int n_stride,
                                 int c_stride, int h_stride, int w_stride)
{
    FAKELIB_CALL();
    fake_cudnn_tensor *t = fakelib_of(tensor, FAKE_CUDNN_TENSOR, __func__);
    const fake_cudnn_tensor wanted = {{n, c, h, w}, {n_stride, c_stride, h_stride, w_stride}, type};
    if (!t || !is_type(type) || !are_positive(wanted.dim, 4)) return FAKE_CUDNN_BAD_PARAM;
    if (!are_positive(wanted.stride, 4)) return FAKE_CUDNN_NOT_SUPPORTED;
    *t = wanted;
    return fake_cudnn_span(t) / fakelib_bytes(fake_cudnn_type(type)) > INT_MAX ? FAKE_CUDNN_NOT_SUPPORTED
                                                                               : FAKE_CUDNN_OK;
}

/* ---- filters ---- */

int cudnnCreateFilterDescriptor(tutti_cudnn_descriptor *filter)
{
    FAKELIB_CALL();
    if (!filter) return FAKE_CUDNN_NULL_POINTER;
    *filter = fakelib_new(FAKE_CUDNN_FILTER, sizeof(fake_cudnn_filter));
    return FAKE_CUDNN_OK;
}

int cudnnDestroyFilterDescriptor(tutti_cudnn_descriptor filter)
{
    FAKELIB_CALL();
    return destroyed(filter, FAKE_CUDNN_FILTER, __func__);
}

int cudnnSetFilter4dDescriptor(tutti_cudnn_descriptor filter, int type, int format, int k, int c, int h, int w)
{
    FAKELIB_CALL();
    fake_cudnn_filter *f = fakelib_of(filter, FAKE_CUDNN_FILTER, __func__);
    const fake_cudnn_filter wanted = {{k, c, h, w}, type, format};
    const bool is_format = format == FAKE_CUDNN_NCHW || format == FAKE_CUDNN_NHWC;
    if (!f || !is_type(type) || !is_format || !are_positive(wanted.dim, 4)) return FAKE_CUDNN_BAD_PARAM;
    *f = wanted;
    return FAKE_CUDNN_OK;
}

/* ---- convolutions ---- */

int cudnnCreateConvolutionDescriptor(tutti_cudnn_descriptor *convolution)
{
    FAKELIB_CALL();
    if (!convolution) return FAKE_CUDNN_NULL_POINTER;
    fake_cudnn_convolution *c = fakelib_new(FAKE_CUDNN_CONVOLUTION, sizeof *c);
    c->groups = 1;
    c->math = TUTTI_CUDNN_DEFAULT_MATH;
    *convolution = c;
    return FAKE_CUDNN_OK;
}

int cudnnDestroyConvolutionDescriptor(tutti_cudnn_descriptor convolution)
{
    FAKELIB_CALL();
    return destroyed(convolution, FAKE_CUDNN_CONVOLUTION, __func__);
}

int cudnnSetConvolution2dDescriptor(tutti_cudnn_descriptor convolution, int pad_h, int pad_w, int stride_h,
                                    int stride_w, int dilation_h, int dilation_w, int mode, int compute_type)
{
    FAKELIB_CALL();
    fake_cudnn_convolution *c = fakelib_of(convolution, FAKE_CUDNN_CONVOLUTION, __func__);
    const int64_t steps[] = {stride_h, stride_w, dilation_h, dilation_w};
    const bool is_mode = mode == 0 || mode == TUTTI_CUDNN_CROSS_CORRELATION;
    if (!c || pad_h < 0 || pad_w < 0 || !are_positive(steps, 4) || !is_mode || !is_type(compute_type))
        return FAKE_CUDNN_BAD_PARAM;
    c->pad[0] = pad_h;
    c->pad[1] = pad_w;
    for (int i = 0; i < 2; i++) {
        c->stride[i] = steps[i];
        c->dilation[i] = steps[2 + i];
    }
    c->mode = mode;
    c->compute_type = compute_type;
    c->set = true;
    return FAKE_CUDNN_OK;
}

int cudnnSetConvolutionGroupCount(tutti_cudnn_descriptor convolution, int groups)
{
    FAKELIB_CALL();
    fake_cudnn_convolution *c = fakelib_of(convolution, FAKE_CUDNN_CONVOLUTION, __func__);
    if (!c || groups < 1) return FAKE_CUDNN_BAD_PARAM;
    c->groups = groups;
    return FAKE_CUDNN_OK;
}

int cudnnSetConvolutionMathType(tutti_cudnn_descriptor convolution, int math)
{
    FAKELIB_CALL();
    fake_cudnn_convolution *c = fakelib_of(convolution, FAKE_CUDNN_CONVOLUTION, __func__);
    if (!c || math < TUTTI_CUDNN_DEFAULT_MATH || math > TUTTI_CUDNN_FMA_MATH) return FAKE_CUDNN_BAD_PARAM;
    c->math = math;
    return FAKE_CUDNN_OK;
}
