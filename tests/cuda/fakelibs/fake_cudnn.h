/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cudnn.h: what the files of the fake libcudnn.so.9 share: descriptors, one convolution, what can be computed of
 * it, and the work itself. */
#ifndef FAKELIBS_FAKE_CUDNN_H
#define FAKELIBS_FAKE_CUDNN_H

#include "fakelib.h"
#include "kernel/cuda/library/cudnn_api.h"

enum { /* of cudnnStatus_t */
       FAKE_CUDNN_OK = 0,
       FAKE_CUDNN_NOT_INITIALIZED = 1001,
       FAKE_CUDNN_BAD_PARAM = 2000,
       FAKE_CUDNN_NULL_POINTER = 2002,
       FAKE_CUDNN_MISALIGNED = 2003,
       FAKE_CUDNN_SIZE_INSUFFICIENT = 2006,
       FAKE_CUDNN_NOT_SUPPORTED = 3000,
       FAKE_CUDNN_EXECUTION_FAILED = 5000
};

enum { FAKE_CUDNN_TENSOR = 1, FAKE_CUDNN_FILTER = 2, FAKE_CUDNN_CONVOLUTION = 3 }; /* kinds of objects */
enum { FAKE_CUDNN_NCHW = 0, FAKE_CUDNN_NHWC = 1 };

typedef struct {
    void *stream;
} fake_cudnn_handle;

/* A descriptor whose dim[0] is 0 is not set yet. */
typedef struct {
    int64_t dim[4], stride[4]; /* n, c, h, w */
    int type;                  /* cudnnDataType_t */
} fake_cudnn_tensor;
typedef struct {
    int64_t dim[4]; /* k, c of a group, h, w */
    int type, format;
} fake_cudnn_filter;
typedef struct {
    int64_t pad[2], stride[2], dilation[2]; /* h, w */
    int mode, compute_type, groups, math;
    bool set;
} fake_cudnn_convolution;

typedef enum { FAKE_CUDNN_FORWARD, FAKE_CUDNN_BACKWARD_DATA, FAKE_CUDNN_BACKWARD_FILTER } fake_cudnn_pass;

/* x is the input or its gradient, y the output or its gradient. Problems are compared by bytes: gaps are zero. */
typedef struct {
    fake_cudnn_tensor x, y;
    fake_cudnn_filter w;
    fake_cudnn_convolution c;
    fake_cudnn_pass pass;
} fake_cudnn_problem;

fakelib_type fake_cudnn_type(int type);
int64_t fake_cudnn_filter_count(const fake_cudnn_filter *w);
size_t fake_cudnn_filter_bytes(const fake_cudnn_filter *w);
/* Says by a status whether p is a convolution that the library has at all. */
int fake_cudnn_check(const fake_cudnn_problem *p);

/* ---- algorithms (fake_cudnn_algorithms.c) ---- */

typedef struct {
    int algorithm, math;
} fake_cudnn_way;
bool fake_cudnn_is_deterministic(fake_cudnn_pass pass, int algorithm);
/* Says how much workspace p takes by this way; false: the algorithm does not compute p. */
bool fake_cudnn_workspace(const fake_cudnn_problem *p, fake_cudnn_way way, size_t *bytes);
/* Remembers that the caller has been told of the way for this problem. */
void fake_cudnn_remember(const fake_cudnn_problem *p, fake_cudnn_way way);
bool fake_cudnn_was_told(const fake_cudnn_problem *p, int algorithm);
/* Gives advice as cudnnGetConvolution*Algorithm_v7 does: n of `most` algorithms at `found`. */
int fake_cudnn_advise(const fake_cudnn_problem *p, int most, int *n, tutti_cudnn_algorithm *found);

/* ---- the work (fake_cudnn_run.c) ---- */

typedef struct {
    fake_cudnn_problem problem;
    void *x, *w, *y, *workspace;
    size_t workspace_bytes;
    float alpha, beta;
    bool unordered; /* not deterministic: sums begin elsewhere each time that it runs */
} fake_cudnn_work;
size_t fake_cudnn_span(const fake_cudnn_tensor *t); /* bytes, from the first number to the last */
void fake_cudnn_run(void *work);

#endif
