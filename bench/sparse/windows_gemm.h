/* SPDX-License-Identifier: Apache-2.0 */
/* windows_gemm.h: a convolution as matrix products of windows, sample by sample, row-major, as Caffe does it (im2col,
 * Y. Jia 2014): the form that bench/sparse compares with. Kernels of 1 with stride 1 need no windows. Threads: one at a
 * time; one thread. */
#ifndef TUTTI_GEMM_CONV_H
#define TUTTI_GEMM_CONV_H

#include <stdbool.h>
#include <stdint.h>

/* C (m, n) = A B, plus C if add; A lies (m, k), or (k, m) if a_turned, B (k, n), or (n, k) if b_turned. All
 * row-major. */
typedef void gemm(bool a_turned, bool b_turned, int64_t m, int64_t n, int64_t k, const float *a, const float *b,
                  bool add, float *c);

typedef struct {
    int64_t batch, groups, channels, height, width; /* channels of all groups */
    int64_t out_channels, out_height, out_width, kernel, stride, pad;
} windows_gemm;

/* Floats that `windows` must have room for. */
int64_t windows_gemm_windows(const windows_gemm *c);
void windows_gemm_forward(const windows_gemm *c, gemm *multiply, const float *in, const float *weights, float *windows,
                          float *out);
void windows_gemm_weight_gradient(const windows_gemm *c, gemm *multiply, const float *in, const float *dout,
                                  float *windows, float *dweights);
void windows_gemm_input_gradient(const windows_gemm *c, gemm *multiply, const float *weights, const float *dout,
                                 float *windows, float *din);

/* oneDNN's product, and OpenBLAS's from a shared library; NULL: it is not there, or has no cblas_sgemm that we know the
 * name of. */
gemm *gemm_of_onednn(void);
gemm *gemm_of_openblas(const char *library);

#endif
