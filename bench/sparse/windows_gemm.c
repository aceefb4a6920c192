/* SPDX-License-Identifier: Apache-2.0 */
/* windows_gemm.c: see windows_gemm.h. */
#include "windows_gemm.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <string.h>

typedef struct {
    int64_t channels, out_channels, rows, positions; /* of a group: rows of windows; of an output plane */
} sizes;

static sizes sizes_of(const windows_gemm *c)
{
    const int64_t channels = c->channels / c->groups;
    return (sizes){channels, c->out_channels / c->groups, channels * c->kernel * c->kernel,
                   c->out_height * c->out_width};
}

static bool has_windows(const windows_gemm *c)
{
    return c->kernel > 1 || c->stride > 1 || c->pad > 0;
}

int64_t windows_gemm_windows(const windows_gemm *c)
{
    const sizes s = sizes_of(c);
    return has_windows(c) ? s.rows * s.positions : 0;
}

/* Outputs [first, end) of a row that see an element at column x of the window. */
static void columns_of(const windows_gemm *c, int64_t x, int64_t *first, int64_t *end)
{
    const int64_t before = c->pad - x, last = c->width - 1 + before;
    *first = before > 0 ? (before + c->stride - 1) / c->stride : 0;
    *end = last < 0 ? 0 : last / c->stride + 1;
    if (*end > c->out_width) *end = c->out_width;
    if (*first > *end) *first = *end;
}

/* One row of the matrix: what element (y, x) of the windows of a channel sees. */
static void copy_row(const windows_gemm *c, const float *plane, int64_t y, int64_t x, float *to)
{
    int64_t first, end;
    columns_of(c, x, &first, &end);
    for (int64_t oy = 0; oy < c->out_height; oy++, to += c->out_width) {
        const int64_t iy = oy * c->stride + y - c->pad;
        const float *from = plane + iy * c->width + x - c->pad;
        if (iy < 0 || iy >= c->height) {
            memset(to, 0, (size_t)c->out_width * sizeof *to);
            continue;
        }
        for (int64_t i = 0; i < first; i++) to[i] = 0;
        if (c->stride == 1)
            memcpy(to + first, from + first, (size_t)(end - first) * sizeof *to);
        else
            for (int64_t i = first; i < end; i++) to[i] = from[i * c->stride];
        for (int64_t i = end; i < c->out_width; i++) to[i] = 0;
    }
}

static void add_row(const windows_gemm *c, const float *from, int64_t y, int64_t x, float *plane)
{
    int64_t first, end;
    columns_of(c, x, &first, &end);
    for (int64_t oy = 0; oy < c->out_height; oy++, from += c->out_width) {
        const int64_t iy = oy * c->stride + y - c->pad;
        float *to = plane + iy * c->width + x - c->pad;
        if (iy < 0 || iy >= c->height) continue;
        if (c->stride == 1)
            for (int64_t i = first; i < end; i++) to[i] += from[i];
        else
            for (int64_t i = first; i < end; i++) to[i * c->stride] += from[i];
    }
}

static const float *windows_of(const windows_gemm *c, const float *in, float *windows)
{
    const sizes s = sizes_of(c);
    float *to = windows;
    if (!has_windows(c)) return in;
    for (int64_t channel = 0; channel < s.channels; channel++)
        for (int64_t y = 0; y < c->kernel; y++)
            for (int64_t x = 0; x < c->kernel; x++, to += s.positions)
                copy_row(c, in + channel * c->height * c->width, y, x, to);
    return windows;
}

void windows_gemm_forward(const windows_gemm *c, gemm *multiply, const float *in, const float *weights, float *windows,
                          float *out)
{
    const sizes s = sizes_of(c);
    for (int64_t i = 0; i < c->batch * c->groups; i++) {
        const float *w = weights + i % c->groups * s.out_channels * s.rows,
                    *x = windows_of(c, in + i * s.channels * c->height * c->width, windows);
        multiply(false, false, s.out_channels, s.positions, s.rows, w, x, false,
                 out + i * s.out_channels * s.positions);
    }
}

void windows_gemm_weight_gradient(const windows_gemm *c, gemm *multiply, const float *in, const float *dout,
                                  float *windows, float *dweights)
{
    const sizes s = sizes_of(c);
    for (int64_t i = 0; i < c->batch * c->groups; i++) {
        const float *x = windows_of(c, in + i * s.channels * c->height * c->width, windows);
        multiply(false, true, s.out_channels, s.rows, s.positions, dout + i * s.out_channels * s.positions, x,
                 i >= c->groups, dweights + i % c->groups * s.out_channels * s.rows);
    }
}

void windows_gemm_input_gradient(const windows_gemm *c, gemm *multiply, const float *weights, const float *dout,
                                 float *windows, float *din)
{
    const sizes s = sizes_of(c);
    const int64_t plane = c->height * c->width;
    for (int64_t i = 0; i < c->batch * c->groups; i++) {
        float *to = din + i * s.channels * plane, *product = has_windows(c) ? windows : to;
        const float *from = product;
        multiply(true, false, s.rows, s.positions, s.out_channels, weights + i % c->groups * s.out_channels * s.rows,
                 dout + i * s.out_channels * s.positions, false, product);
        if (product == to) continue;
        memset(to, 0, (size_t)(s.channels * plane) * sizeof *to);
        for (int64_t channel = 0; channel < s.channels; channel++)
            for (int64_t y = 0; y < c->kernel; y++)
                for (int64_t x = 0; x < c->kernel; x++, from += s.positions)
                    add_row(c, from, y, x, to + channel * plane);
    }
}

/* ---- products ---- */

static void by_onednn(bool a_turned, bool b_turned, int64_t m, int64_t n, int64_t k, const float *a, const float *b,
                      bool add, float *c)
{
    dnnl_sgemm(a_turned ? 'T' : 'N', b_turned ? 'T' : 'N', m, n, k, 1, a, a_turned ? m : k, b, b_turned ? k : n,
               add ? 1 : 0, c, n);
}

gemm *gemm_of_onednn(void)
{
    return by_onednn;
}

enum { ROW_MAJOR = 101, AS_IT_IS = 111, TURNED = 112 };
typedef void sgemm32(int order, int a_turned, int b_turned, int m, int n, int k, float alpha, const float *a, int lda,
                     const float *b, int ldb, float beta, float *c, int ldc);
typedef void sgemm64(int order, int a_turned, int b_turned, int64_t m, int64_t n, int64_t k, float alpha,
                     const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

static sgemm32 *openblas32; /* a program's own; set once */
static sgemm64 *openblas64;

static void by_openblas(bool a_turned, bool b_turned, int64_t m, int64_t n, int64_t k, const float *a, const float *b,
                        bool add, float *c)
{
    const int ta = a_turned ? TURNED : AS_IT_IS, tb = b_turned ? TURNED : AS_IT_IS;
    const int64_t lda = a_turned ? m : k, ldb = b_turned ? k : n;
    const float beta = add ? 1 : 0;
    if (openblas64)
        openblas64(ROW_MAJOR, ta, tb, m, n, k, 1, a, lda, b, ldb, beta, c, n);
    else
        openblas32(ROW_MAJOR, ta, tb, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta, c, (int)n);
}

/* SciPy's wheels bring OpenBLAS with names of their own, with 64-bit sizes where those end in 64_. */
gemm *gemm_of_openblas(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return NULL;
    void *wide = dlsym(handle, "scipy_cblas_sgemm64_"), *narrow = dlsym(handle, "scipy_cblas_sgemm");
    if (!narrow) narrow = dlsym(handle, "cblas_sgemm");
    memcpy(&openblas64, &wide, sizeof wide); /* ISO C has no cast from an object to a function */
    memcpy(&openblas32, &narrow, sizeof narrow);
    return wide || narrow ? by_openblas : NULL;
}
