/* SPDX-License-Identifier: Apache-2.0 */
/* fake_libs_rig.h: the fake card with fake libraries in a test: their calls, a convolution, a product of matrices. */
#ifndef TESTS_FAKE_LIBS_RIG_H
#define TESTS_FAKE_LIBS_RIG_H

#include "testing.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fake_card.h"
#include "kernel/cuda/library/cublaslt_api.h"
#include "kernel/cuda/library/cudnn_api.h"
#include "tensor/convert_one.h"

static fake_card card;
static tutti_cudnn_functions dnn;
static tutti_cublaslt_functions lt;
static tutti_cudnn_handle dnn_handle;
static tutti_cublaslt_handle lt_handle;

static inline void *library_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    return library;
}

static inline void *function_of(void *library, const char *name)
{
    void *function = dlsym(library, name);
    if (!function) fail_msg("%s is not there", name);
    return function;
}

static inline void libraries_open(void)
{
    card_open(&card, NULL);
    void *first = library_open(FAKE_CUDNN), *second = library_open(FAKE_CUBLASLT);
#define FIND_DNN(name, parameters) dnn.name = (int(*) parameters)(uintptr_t)function_of(first, #name);
#define FIND_LT(name, parameters)  lt.name = (int(*) parameters)(uintptr_t)function_of(second, #name);
    TUTTI_CUDNN_FUNCTIONS(FIND_DNN)
    TUTTI_CUBLASLT_FUNCTIONS(FIND_LT)
#undef FIND_DNN
#undef FIND_LT
    dnn.cudnnGetVersion = (size_t(*)(void))(uintptr_t)function_of(first, "cudnnGetVersion");
    dnn.cudnnGetErrorString = (const char *(*)(int))(uintptr_t)function_of(first, "cudnnGetErrorString");
    lt.cublasLtGetVersion = (size_t(*)(void))(uintptr_t)function_of(second, "cublasLtGetVersion");
    lt.cublasLtGetStatusString = (const char *(*)(int))(uintptr_t)function_of(second, "cublasLtGetStatusString");
    assert_int_equal(dnn.cudnnCreate(&dnn_handle), 0);
    assert_int_equal(dnn.cudnnSetStream(dnn_handle, card.stream), 0);
    assert_int_equal(lt.cublasLtCreate(&lt_handle), 0);
}

static inline void libraries_close(void)
{
    assert_int_equal(dnn.cudnnDestroy(dnn_handle), 0);
    assert_int_equal(lt.cublasLtDestroy(lt_handle), 0);
    card_close(&card);
}

/* Takes nbytes of the card. */
static inline void *room_of(size_t nbytes)
{
    return (void *)(uintptr_t)card_new(&card, nbytes);
}

/* ---- numbers ---- */

typedef enum { F32, BF16, F16 } number_type;
static const int dnn_types[] = {TUTTI_CUDNN_DATA_FLOAT, TUTTI_CUDNN_DATA_BFLOAT16, TUTTI_CUDNN_DATA_HALF},
                 lt_types[] = {TUTTI_CUDA_R_32F, TUTTI_CUDA_R_16BF, TUTTI_CUDA_R_16F};
static const double roundings[] = {0x1p-24, 0x1p-8, 0x1p-11}; /* half of the last place */

/* An operand has its numbers on the host and on the card, in the order of the card's memory. */
typedef struct {
    number_type type;
    int64_t n;
    float *values;
    void *at; /* of the card */
} operand;

static inline size_t bytes_of(const operand *o)
{
    return (size_t)o->n * (o->type == F32 ? 4 : 2);
}

static inline void *packed(const operand *o)
{
    float *wide = malloc((size_t)o->n * 4);
    uint16_t *narrow = (uint16_t *)(void *)wide;
    for (int64_t i = 0; i < o->n; i++) {
        const float v = o->values[i];
        if (o->type == F32)
            wide[i] = v;
        else
            narrow[i] = o->type == BF16 ? tutti_bf16_of_f32(v) : tutti_f16_of_f32(v);
    }
    return wide;
}

static inline void unpack(operand *o, const void *from)
{
    const float *wide = from;
    const uint16_t *narrow = from;
    for (int64_t i = 0; i < o->n; i++)
        o->values[i] = o->type == F32    ? wide[i]
                       : o->type == BF16 ? tutti_f32_of_bf16(narrow[i])
                                         : tutti_f32_of_f16(narrow[i]);
}

/* Makes an operand of n numbers from -1 to 1 as the type has them. */
static inline operand operand_new(number_type type, int64_t n, uint32_t seed)
{
    operand o = {type, n, malloc((size_t)n * sizeof(float)), NULL};
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        o.values[i] = (float)(int32_t)seed * 0x1p-31f;
    }
    void *bytes = packed(&o);
    unpack(&o, bytes);
    o.at = (void *)(uintptr_t)card_put(&card, bytes, bytes_of(&o));
    free(bytes);
    return o;
}

/* Brings the card's numbers to the host. */
static inline void operand_read(operand *o)
{
    void *bytes = malloc(bytes_of(o));
    card_get(&card, bytes, (uint64_t)(uintptr_t)o->at, bytes_of(o));
    unpack(o, bytes);
    free(bytes);
}

static inline void operand_free(operand *o)
{
    assert_int_equal(card.cuMemFree_v2((uint64_t)(uintptr_t)o->at), 0);
    free(o->values);
}

/* ---- convolutions ---- */

typedef struct {
    int batch, channels, height, width, filters, kernel, stride, pad, groups;
    number_type type;
    bool first; /* channels first, in values and weights */
    int gap;    /* numbers between samples of the input */
} conv_shape;

typedef struct {
    conv_shape s;
    int out_height, out_width;
    tutti_cudnn_descriptor x, y, w, convolution;
} conv;

static inline void describe_tensor(tutti_cudnn_descriptor *d, const conv_shape *s, const int dim[4], int gap)
{
    const int c = dim[1], h = dim[2], w = dim[3];
    assert_int_equal(dnn.cudnnCreateTensorDescriptor(d), 0);
    assert_int_equal(dnn.cudnnSetTensor4dDescriptorEx(*d, dnn_types[s->type], dim[0], c, h, w, c * h * w + gap,
                                                      s->first ? h * w : 1, s->first ? w : w * c, s->first ? 1 : c),
                     0);
}

static inline conv conv_new(const conv_shape *s, int math)
{
    conv v = {.s = *s,
              .out_height = (s->height + 2 * s->pad - s->kernel) / s->stride + 1,
              .out_width = (s->width + 2 * s->pad - s->kernel) / s->stride + 1};
    describe_tensor(&v.x, s, (int[]){s->batch, s->channels, s->height, s->width}, s->gap);
    describe_tensor(&v.y, s, (int[]){s->batch, s->filters, v.out_height, v.out_width}, 0);
    assert_int_equal(dnn.cudnnCreateFilterDescriptor(&v.w), 0);
    assert_int_equal(dnn.cudnnSetFilter4dDescriptor(v.w, dnn_types[s->type], s->first ? 0 : 1, s->filters,
                                                    s->channels / s->groups, s->kernel, s->kernel),
                     0);
    assert_int_equal(dnn.cudnnCreateConvolutionDescriptor(&v.convolution), 0);
    assert_int_equal(
        dnn.cudnnSetConvolution2dDescriptor(v.convolution, s->pad, s->pad, s->stride, s->stride, 1, 1, 1, 0), 0);
    assert_int_equal(dnn.cudnnSetConvolutionGroupCount(v.convolution, s->groups), 0);
    assert_int_equal(dnn.cudnnSetConvolutionMathType(v.convolution, math), 0);
    return v;
}

static inline void conv_free(conv *v)
{
    assert_int_equal(dnn.cudnnDestroyTensorDescriptor(v->x), 0);
    assert_int_equal(dnn.cudnnDestroyTensorDescriptor(v->y), 0);
    assert_int_equal(dnn.cudnnDestroyFilterDescriptor(v->w), 0);
    assert_int_equal(dnn.cudnnDestroyConvolutionDescriptor(v->convolution), 0);
}

typedef enum { FORWARD, DATA, FILTER } conv_pass;

static inline int conv_advice(const conv *v, conv_pass pass, int *n, tutti_cudnn_algorithm found[8])
{
    if (pass == FORWARD)
        return dnn.cudnnGetConvolutionForwardAlgorithm_v7(dnn_handle, v->x, v->w, v->convolution, v->y, 8, n, found);
    if (pass == DATA)
        return dnn.cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn_handle, v->w, v->y, v->convolution, v->x, 8, n,
                                                               found);
    return dnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(dnn_handle, v->x, v->y, v->convolution, v->w, 8, n, found);
}

static inline int conv_workspace(const conv *v, conv_pass pass, int algorithm, size_t *bytes)
{
    if (pass == FORWARD)
        return dnn.cudnnGetConvolutionForwardWorkspaceSize(dnn_handle, v->x, v->w, v->convolution, v->y, algorithm,
                                                           bytes);
    if (pass == DATA)
        return dnn.cudnnGetConvolutionBackwardDataWorkspaceSize(dnn_handle, v->w, v->y, v->convolution, v->x, algorithm,
                                                                bytes);
    return dnn.cudnnGetConvolutionBackwardFilterWorkspaceSize(dnn_handle, v->x, v->y, v->convolution, v->w, algorithm,
                                                              bytes);
}

typedef struct {
    void *x, *w, *y, *workspace;
    size_t workspace_bytes;
    float alpha, beta;
} conv_memory;

static inline int conv_run(const conv *v, conv_pass pass, int algorithm, const conv_memory *m)
{
    if (pass == FORWARD)
        return dnn.cudnnConvolutionForward(dnn_handle, &m->alpha, v->x, m->x, v->w, m->w, v->convolution, algorithm,
                                           m->workspace, m->workspace_bytes, &m->beta, v->y, m->y);
    if (pass == DATA)
        return dnn.cudnnConvolutionBackwardData(dnn_handle, &m->alpha, v->w, m->w, v->y, m->y, v->convolution,
                                                algorithm, m->workspace, m->workspace_bytes, &m->beta, v->x, m->x);
    return dnn.cudnnConvolutionBackwardFilter(dnn_handle, &m->alpha, v->x, m->x, v->y, m->y, v->convolution, algorithm,
                                              m->workspace, m->workspace_bytes, &m->beta, v->w, m->w);
}

/* ---- products: d = a * b, columns first ---- */

typedef struct {
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    number_type type, type_d;
    uint32_t epilogue;
    int64_t gap; /* numbers between columns */
} product_shape;

typedef struct {
    product_shape s;
    tutti_cublaslt_description product, a, b, d, preference;
} product;

static inline product product_new(const product_shape *s)
{
    product p = {.s = *s};
    const int32_t first = s->transpose_a, second = s->transpose_b;
    const int64_t rows_a = first ? s->k : s->m, rows_b = second ? s->n : s->k;
    const uint64_t workspace = 1 << 20;
    assert_int_equal(lt.cublasLtMatmulDescCreate(&p.product, TUTTI_CUBLAS_COMPUTE_32F, TUTTI_CUDA_R_32F), 0);
    assert_int_equal(lt.cublasLtMatmulDescSetAttribute(p.product, TUTTI_CUBLASLT_DESC_TRANSA, &first, sizeof first), 0);
    assert_int_equal(lt.cublasLtMatmulDescSetAttribute(p.product, TUTTI_CUBLASLT_DESC_TRANSB, &second, sizeof second),
                     0);
    assert_int_equal(
        lt.cublasLtMatmulDescSetAttribute(p.product, TUTTI_CUBLASLT_DESC_EPILOGUE, &s->epilogue, sizeof s->epilogue),
        0);
    assert_int_equal(lt.cublasLtMatrixLayoutCreate(&p.a, lt_types[s->type], (uint64_t)rows_a,
                                                   (uint64_t)(first ? s->m : s->k), rows_a + s->gap),
                     0);
    assert_int_equal(lt.cublasLtMatrixLayoutCreate(&p.b, lt_types[s->type], (uint64_t)rows_b,
                                                   (uint64_t)(second ? s->k : s->n), rows_b + s->gap),
                     0);
    assert_int_equal(
        lt.cublasLtMatrixLayoutCreate(&p.d, lt_types[s->type_d], (uint64_t)s->m, (uint64_t)s->n, s->m + s->gap), 0);
    assert_int_equal(lt.cublasLtMatmulPreferenceCreate(&p.preference), 0);
    assert_int_equal(lt.cublasLtMatmulPreferenceSetAttribute(p.preference, TUTTI_CUBLASLT_PREF_WORKSPACE_BYTES,
                                                             &workspace, sizeof workspace),
                     0);
    return p;
}

static inline void product_free(product *p)
{
    assert_int_equal(lt.cublasLtMatmulDescDestroy(p->product), 0);
    assert_int_equal(lt.cublasLtMatrixLayoutDestroy(p->a), 0);
    assert_int_equal(lt.cublasLtMatrixLayoutDestroy(p->b), 0);
    assert_int_equal(lt.cublasLtMatrixLayoutDestroy(p->d), 0);
    assert_int_equal(lt.cublasLtMatmulPreferenceDestroy(p->preference), 0);
}

static inline int product_advice(const product *p, int most, tutti_cublaslt_found *found, int *n)
{
    return lt.cublasLtMatmulAlgoGetHeuristic(lt_handle, p->product, p->a, p->b, p->d, p->d, p->preference, most, found,
                                             n);
}

static inline void product_bias(const product *p, const void *bias)
{
    assert_int_equal(
        lt.cublasLtMatmulDescSetAttribute(p->product, TUTTI_CUBLASLT_DESC_BIAS_POINTER, &bias, sizeof bias), 0);
}

typedef struct {
    void *a, *b, *c, *d, *workspace;
    size_t workspace_bytes;
    float alpha, beta;
} product_memory;

static inline int product_run(const product *p, const tutti_cublaslt_algorithm *algorithm, const product_memory *m)
{
    return lt.cublasLtMatmul(lt_handle, p->product, &m->alpha, m->a, p->a, m->b, p->b, &m->beta, m->c, p->d, m->d, p->d,
                             algorithm, m->workspace, m->workspace_bytes, card.stream);
}

#endif
