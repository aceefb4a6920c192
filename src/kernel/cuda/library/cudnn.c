/* SPDX-License-Identifier: Apache-2.0 */
/* cudnn.c: opens cuDNN, and plans and runs one convolution by it. */
#include "cudnn.h"

#include <limits.h>
#include <stdlib.h>

static const size_t MOST_WORKSPACE = (size_t)1 << 30;

/* ---- the handle ---- */

static void destroy(void *kept)
{
    tutti_cudnn *c = kept;
    if (c->handle) c->call.cudnnDestroy(c->handle);
    free(c);
}

#define NAME(name, parameters) #name,

/* Finds cuDNN's functions. cuBLASLt is opened first, because cuDNN opens it by its bare name and so finds it only if it
 * is loaded already. */
static tutti_status find_functions(tutti_cudnn_functions *call, tutti_failure *err)
{
    void *cublaslt;
    tutti_cuda_library("cublasLt", &cublaslt, NULL, NULL);
    static const char *const names[] = {TUTTI_CUDNN_FUNCTIONS(NAME) "cudnnGetVersion", "cudnnGetErrorString"};
    return tutti_cuda_functions("cudnn", names, sizeof names / sizeof *names, call, err);
}

static tutti_status fail(const tutti_cudnn *c, const char *what, int status, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_FAILED, "cuDNN %zu: %s: %s", c->call.cudnnGetVersion(), what,
                      c->call.cudnnGetErrorString(status));
}

static tutti_status make(tutti_cuda *cuda, void **out, tutti_failure *err)
{
    tutti_cudnn *c = tutti_alloc(sizeof *c);
    c->cuda = cuda;
    tutti_status st = find_functions(&c->call, err);
    int status = st ? TUTTI_CUDNN_SUCCESS : c->call.cudnnCreate(&c->handle);
    if (status) st = fail(c, "cudnnCreate", status, err);
    status = st ? TUTTI_CUDNN_SUCCESS : c->call.cudnnSetStream(c->handle, tutti_cuda_stream(cuda));
    if (status) st = fail(c, "cudnnSetStream", status, err);
    *out = c;
    if (st) destroy(c);
    return st;
}

static const tutti_cuda_kept keeping = {"cudnn", make, destroy};

tutti_status tutti_cudnn_of(tutti_cuda *c, const tutti_cudnn **out, tutti_failure *err)
{
    void *kept = NULL;
    const tutti_status st = tutti_cuda_keep(c, &keeping, &kept, err);
    *out = kept;
    return st;
}

/* ---- descriptions ---- */

static int type_of(tutti_dtype type)
{
    return type == TUTTI_F32    ? TUTTI_CUDNN_DATA_FLOAT
           : type == TUTTI_BF16 ? TUTTI_CUDNN_DATA_BFLOAT16
                                : TUTTI_CUDNN_DATA_HALF;
}

static int math_of(tutti_dtype type)
{
    return type == TUTTI_F32 ? TUTTI_CUDNN_FMA_MATH : TUTTI_CUDNN_TENSOR_OP_MATH;
}

/* True if all sizes that the library gets fit an int. */
static bool is_small(const tutti_cudnn_shape *s)
{
    const double in = (double)s->in_channels * (double)s->in_height * (double)s->in_width,
                 out = (double)s->out_channels * (double)s->out_height * (double)s->out_width;
    return in <= INT_MAX && out <= INT_MAX && s->batch <= INT_MAX;
}

static int describe_value(const tutti_cudnn *c, tutti_cudnn_descriptor *d, const tutti_cudnn_shape *s,
                          const int64_t dim[4])
{
    const int n = (int)dim[0], channels = (int)dim[1], height = (int)dim[2], width = (int)dim[3];
    const int column = s->rows ? 1 : channels, channel = s->rows ? height * width : 1;
    const int status = c->call.cudnnCreateTensorDescriptor(d);
    if (status) return status;
    return c->call.cudnnSetTensor4dDescriptorEx(*d, type_of(s->type), n, channels, height, width,
                                                height * width * channels, channel, width * column, column);
}

static int describe_weights(const tutti_cudnn *c, tutti_cudnn_descriptor *d, const tutti_cudnn_shape *s)
{
    const int status = c->call.cudnnCreateFilterDescriptor(d);
    if (status) return status;
    return c->call.cudnnSetFilter4dDescriptor(
        *d, type_of(s->type), s->rows ? TUTTI_CUDNN_TENSOR_NCHW : TUTTI_CUDNN_TENSOR_NHWC, (int)s->out_channels,
        (int)(s->in_channels / s->groups), (int)s->kernel, (int)s->kernel);
}

static int describe_convolution(const tutti_cudnn *c, tutti_cudnn_descriptor *d, const tutti_cudnn_shape *s)
{
    const int pad = (int)s->pad, stride = (int)s->stride;
    int status = c->call.cudnnCreateConvolutionDescriptor(d);
    if (!status)
        status = c->call.cudnnSetConvolution2dDescriptor(*d, pad, pad, stride, stride, 1, 1,
                                                         TUTTI_CUDNN_CROSS_CORRELATION, TUTTI_CUDNN_DATA_FLOAT);
    if (!status) status = c->call.cudnnSetConvolutionGroupCount(*d, (int)s->groups);
    if (!status) status = c->call.cudnnSetConvolutionMathType(*d, math_of(s->type));
    return status;
}

static int describe(tutti_cudnn_plan *p, const tutti_cudnn_shape *s)
{
    const int64_t in[] = {s->batch, s->in_channels, s->in_height, s->in_width},
                  out[] = {s->batch, s->out_channels, s->out_height, s->out_width};
    int status = describe_value(p->cudnn, &p->in, s, in);
    if (!status) status = describe_value(p->cudnn, &p->out, s, out);
    if (!status) status = describe_weights(p->cudnn, &p->weights, s);
    if (!status) status = describe_convolution(p->cudnn, &p->convolution, s);
    return status;
}

/* ---- algorithms ---- */

typedef struct {
    int n;
    tutti_cudnn_algorithm of[TUTTI_CUDNN_ALGORITHMS];
} advice;

static int ask(const tutti_cudnn_plan *p, tutti_kernel_pass pass, advice *a)
{
    const tutti_cudnn *c = p->cudnn;
    if (pass == TUTTI_PASS_FORWARD)
        return c->call.cudnnGetConvolutionForwardAlgorithm_v7(c->handle, p->in, p->weights, p->convolution, p->out,
                                                              TUTTI_CUDNN_ALGORITHMS, &a->n, a->of);
    if (pass == TUTTI_PASS_PARAMS)
        return c->call.cudnnGetConvolutionBackwardFilterAlgorithm_v7(c->handle, p->in, p->out, p->convolution,
                                                                     p->weights, TUTTI_CUDNN_ALGORITHMS, &a->n, a->of);
    return c->call.cudnnGetConvolutionBackwardDataAlgorithm_v7(c->handle, p->weights, p->out, p->convolution, p->in,
                                                               TUTTI_CUDNN_ALGORITHMS, &a->n, a->of);
}

static int ask_workspace(const tutti_cudnn_plan *p, tutti_kernel_pass pass, int algorithm, size_t *bytes)
{
    const tutti_cudnn *c = p->cudnn;
    if (pass == TUTTI_PASS_FORWARD)
        return c->call.cudnnGetConvolutionForwardWorkspaceSize(c->handle, p->in, p->weights, p->convolution, p->out,
                                                               algorithm, bytes);
    if (pass == TUTTI_PASS_PARAMS)
        return c->call.cudnnGetConvolutionBackwardFilterWorkspaceSize(c->handle, p->in, p->out, p->convolution,
                                                                      p->weights, algorithm, bytes);
    return c->call.cudnnGetConvolutionBackwardDataWorkspaceSize(c->handle, p->weights, p->out, p->convolution, p->in,
                                                                algorithm, bytes);
}

/* Makes the plan use this algorithm for the pass. Returns false if the library does not run the algorithm for these
 * descriptions, or if the algorithm needs too much memory. */
static bool take(tutti_cudnn_plan *p, tutti_kernel_pass pass, int algorithm)
{
    size_t bytes = 0;
    if (ask_workspace(p, pass, algorithm, &bytes) || bytes > MOST_WORKSPACE) return false;
    p->algorithm[pass] = algorithm;
    p->workspace_bytes[pass] = bytes;
    return true;
}

/* Chooses the pass's algorithm: the first deterministic one with this math type; else the first deterministic one with
 * any math type that the convolution allows; else one that is always deterministic. */
static bool choose(tutti_cudnn_plan *p, tutti_kernel_pass pass, int math)
{
    static const int always[TUTTI_NPASSES] = {TUTTI_CUDNN_FORWARD_IMPLICIT_PRECOMP_GEMM, TUTTI_CUDNN_FILTER_ALGO_1,
                                              TUTTI_CUDNN_DATA_ALGO_1};
    advice a = {0};
    if (ask(p, pass, &a)) a.n = 0;
    for (int any_math = 0; any_math < 2; any_math++)
        for (int i = 0; i < a.n; i++) {
            const tutti_cudnn_algorithm *found = &a.of[i];
            const bool fits = found->status == TUTTI_CUDNN_SUCCESS && found->determinism == TUTTI_CUDNN_DETERMINISTIC;
            if (fits && (any_math || found->math == math) && take(p, pass, found->algorithm)) return true;
        }
    return take(p, pass, always[pass]) ||
           (pass == TUTTI_PASS_FORWARD && take(p, pass, TUTTI_CUDNN_FORWARD_IMPLICIT_GEMM));
}

/* ---- one convolution ---- */

tutti_status tutti_cudnn_begin(const tutti_cudnn *c, const tutti_cudnn_shape *s, tutti_cudnn_plan *p,
                               tutti_failure *err)
{
    *p = (tutti_cudnn_plan){.cudnn = c};
    if (!is_small(s)) return tutti_fail(err, TUTTI_ERR_FAILED, "cuDNN: a sample of more than 2^31 - 1 numbers");
    const int status = describe(p, s);
    if (status) return fail(c, "describe a convolution", status, err);
    for (int pass = 0; pass < (s->training ? TUTTI_NPASSES : 1); pass++)
        if (!choose(p, (tutti_kernel_pass)pass, math_of(s->type)))
            return tutti_fail(err, TUTTI_ERR_FAILED,
                              "cuDNN %zu has no deterministic %s of a convolution with %lld and %lld channels in %s",
                              c->call.cudnnGetVersion(), tutti_kernel_pass_name((tutti_kernel_pass)pass),
                              (long long)s->in_channels, (long long)s->out_channels, tutti_dtype_name(s->type));
    return TUTTI_OK;
}

void tutti_cudnn_end(tutti_cudnn_plan *p)
{
    if (!p->cudnn) return;
    const tutti_cudnn_functions *call = &p->cudnn->call;
    if (p->in) call->cudnnDestroyTensorDescriptor(p->in);
    if (p->out) call->cudnnDestroyTensorDescriptor(p->out);
    if (p->weights) call->cudnnDestroyFilterDescriptor(p->weights);
    if (p->convolution) call->cudnnDestroyConvolutionDescriptor(p->convolution);
    *p = (tutti_cudnn_plan){0};
}

void tutti_cudnn_run(const tutti_cudnn_plan *p, tutti_kernel_pass pass, const tutti_cudnn_memory *m)
{
    static const float one = 1, zero = 0;
    static const char *const names[TUTTI_NPASSES] = {"cudnnConvolutionForward", "cudnnConvolutionBackwardFilter",
                                                     "cudnnConvolutionBackwardData"};
    const tutti_cudnn *c = p->cudnn;
    const int algorithm = p->algorithm[pass];
    const size_t bytes = p->workspace_bytes[pass];
    void *workspace = bytes ? m->workspace : NULL;
    int status;
    if (pass == TUTTI_PASS_FORWARD)
        status = c->call.cudnnConvolutionForward(c->handle, &one, p->in, m->in, p->weights, m->weights, p->convolution,
                                                 algorithm, workspace, bytes, &zero, p->out, m->out);
    else if (pass == TUTTI_PASS_PARAMS)
        status = c->call.cudnnConvolutionBackwardFilter(c->handle, &one, p->in, m->in, p->out, m->out, p->convolution,
                                                        algorithm, workspace, bytes, &zero, p->weights, m->weights);
    else
        status = c->call.cudnnConvolutionBackwardData(c->handle, &one, p->weights, m->weights, p->out, m->out,
                                                      p->convolution, algorithm, workspace, bytes, &zero, p->in, m->in);
    if (status) tutti_cuda_fail(c->cuda, names[pass], c->call.cudnnGetErrorString(status));
}
