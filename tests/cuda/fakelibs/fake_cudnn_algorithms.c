/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cudnn_algorithms.c: which convolutions there are, by which algorithms, in how much workspace, and what a caller
 * was told of them.
 *
 * Advice begins, as the real one's often does, with what is soon: not deterministic in the gradients, then of another
 * math than the convolution's. Algorithms that do not compute the problem stand at the end, with a status that says
 * so. */
#include <stdlib.h>
#include <string.h>

#include "fake_cudnn.h"

enum { /* of cudnnConvolutionFwdAlgo_t and its sisters, where their numbers are not the same */
       FORWARD_IMPLICIT_GEMM = 0,
       FORWARD_WINOGRAD_NONFUSED = 7,
       DATA_0 = 0,
       DATA_WINOGRAD_NONFUSED = 5,
       FILTER_0 = 0,
       FILTER_3 = 3,
       FILTER_WINOGRAD_NONFUSED = 5
};

fakelib_type fake_cudnn_type(int type)
{
    return type == TUTTI_CUDNN_DATA_FLOAT      ? FAKELIB_F32
           : type == TUTTI_CUDNN_DATA_BFLOAT16 ? FAKELIB_BF16
                                               : FAKELIB_F16;
}

int64_t fake_cudnn_filter_count(const fake_cudnn_filter *w)
{
    return w->dim[0] * w->dim[1] * w->dim[2] * w->dim[3];
}

size_t fake_cudnn_filter_bytes(const fake_cudnn_filter *w)
{
    return (size_t)fake_cudnn_filter_count(w) * fakelib_bytes(fake_cudnn_type(w->type));
}

/* ---- what there is ---- */

static int64_t out_of(const fake_cudnn_problem *p, int axis) /* 0: height, 1: width */
{
    const int64_t window = (p->w.dim[2 + axis] - 1) * p->c.dilation[axis] + 1,
                  room = p->x.dim[2 + axis] + 2 * p->c.pad[axis] - window;
    return room < 0 ? 0 : room / p->c.stride[axis] + 1;
}

static int check_shapes(const fake_cudnn_problem *p)
{
    if (!p->x.dim[0] || !p->y.dim[0] || !p->w.dim[0] || !p->c.set) return FAKE_CUDNN_BAD_PARAM; /* not set */
    const bool fits = p->x.dim[0] == p->y.dim[0] && p->x.dim[1] == p->w.dim[1] * p->c.groups &&
                      p->y.dim[1] == p->w.dim[0] && p->w.dim[0] % p->c.groups == 0 && p->y.dim[2] == out_of(p, 0) &&
                      p->y.dim[3] == out_of(p, 1);
    return fits ? FAKE_CUDNN_OK : FAKE_CUDNN_BAD_PARAM;
}

static int check_types(const fake_cudnn_problem *p)
{
    if (p->x.type != p->y.type) return FAKE_CUDNN_BAD_PARAM;
    if (p->w.type != p->x.type)
        return p->pass == FAKE_CUDNN_BACKWARD_FILTER ? FAKE_CUDNN_NOT_SUPPORTED : FAKE_CUDNN_BAD_PARAM;
    return p->c.compute_type == TUTTI_CUDNN_DATA_FLOAT ? FAKE_CUDNN_OK : FAKE_CUDNN_NOT_SUPPORTED;
}

static bool lies_as(const fake_cudnn_tensor *t, int format)
{
    const int last = format == FAKE_CUDNN_NHWC ? 1 : 3;
    return t->dim[last] == 1 || t->stride[last] == 1;
}

int fake_cudnn_check(const fake_cudnn_problem *p)
{
    int status = check_shapes(p);
    if (!status) status = check_types(p);
    if (status) return status;
    const bool is_last = p->w.format == FAKE_CUDNN_NHWC, is_half = p->x.type != TUTTI_CUDNN_DATA_FLOAT;
    if (!lies_as(&p->x, p->w.format) || !lies_as(&p->y, p->w.format)) return FAKE_CUDNN_NOT_SUPPORTED;
    if (p->c.mode != TUTTI_CUDNN_CROSS_CORRELATION) return FAKE_CUDNN_NOT_SUPPORTED;
    if (is_half && is_last && (p->w.dim[1] % 8 || p->w.dim[0] / p->c.groups % 8)) return FAKE_CUDNN_NOT_SUPPORTED;
    return FAKE_CUDNN_OK;
}

/* ---- algorithms ---- */

bool fake_cudnn_is_deterministic(fake_cudnn_pass pass, int algorithm)
{
    if (pass == FAKE_CUDNN_BACKWARD_DATA) return algorithm != DATA_0;
    if (pass == FAKE_CUDNN_BACKWARD_FILTER) return algorithm != FILTER_0 && algorithm != FILTER_3;
    return true;
}

static bool is_winograd(fake_cudnn_pass pass, int algorithm)
{
    static const int numbers[] = {FORWARD_WINOGRAD_NONFUSED, DATA_WINOGRAD_NONFUSED, FILTER_WINOGRAD_NONFUSED};
    return algorithm == numbers[pass];
}

static bool has_winograd(const fake_cudnn_problem *p)
{
    const bool is_three = p->w.dim[2] == 3 && p->w.dim[3] == 3, steps = p->c.stride[0] > 1 || p->c.stride[1] > 1,
               dilated = p->c.dilation[0] > 1 || p->c.dilation[1] > 1;
    return is_three && !steps && !dilated && p->c.groups == 1 && p->w.format == FAKE_CUDNN_NCHW;
}

/* Some algorithms are always there: number 1, number 0 but for products of 16 bits forward, and the filter's number 3
 * for products of f32. */
static bool has_plain(const fake_cudnn_problem *p, int algorithm)
{
    const bool is_half = p->x.type != TUTTI_CUDNN_DATA_FLOAT;
    if (algorithm == 1) return true;
    if (algorithm == 0) return !(p->pass == FAKE_CUDNN_FORWARD && is_half);
    return p->pass == FAKE_CUDNN_BACKWARD_FILTER && algorithm == FILTER_3 && !is_half;
}

/* Workspaces have odd sizes: no multiple of what callers round to, another size for each math. */
bool fake_cudnn_workspace(const fake_cudnn_problem *p, fake_cudnn_way way, size_t *bytes)
{
    const size_t window = (size_t)(p->w.dim[2] * p->w.dim[3]), plane = (size_t)(p->y.dim[2] * p->y.dim[3]),
                 weights = (size_t)fake_cudnn_filter_count(&p->w);
    if (is_winograd(p->pass, way.algorithm)) {
        *bytes = 16 * weights + 36 * plane + 4;
        return has_winograd(p);
    }
    *bytes = 0;
    if (!has_plain(p, way.algorithm)) return false;
    if (way.algorithm != 1) return true;
    const bool is_point = window == 1 && p->c.stride[0] == 1;
    if (!is_point) *bytes = p->pass == FAKE_CUDNN_FORWARD ? 4 * plane * window + 12 : 4 * weights + 20;
    if (way.math != p->c.math || way.math == TUTTI_CUDNN_DEFAULT_MATH) *bytes += 4 * plane + 8;
    return true;
}

/* ---- what was told ---- */

typedef struct told {
    struct told *next;
    fake_cudnn_problem problem;
    int algorithm;
} told;

static told *all_told;

static bool is_same(const told *t, const fake_cudnn_problem *p, int algorithm)
{
    return t->algorithm == algorithm && !memcmp(&t->problem, p, sizeof *p);
}

bool fake_cudnn_was_told(const fake_cudnn_problem *p, int algorithm)
{
    const told *t = all_told;
    while (t && !is_same(t, p, algorithm)) t = t->next;
    return t != NULL;
}

void fake_cudnn_remember(const fake_cudnn_problem *p, fake_cudnn_way way)
{
    fake_cudnn_problem as_told;
    memcpy(&as_told, p, sizeof as_told);
    as_told.c.math = way.math; /* which the caller sets, if it is another */
    if (fake_cudnn_was_told(&as_told, way.algorithm)) return;
    told *t = fakelib_alloc(sizeof *t);
    memcpy(&t->problem, &as_told, sizeof as_told);
    t->algorithm = way.algorithm;
    t->next = all_told;
    all_told = t;
}

/* ---- advice ---- */

enum { MOST_WAYS = 8 };
typedef struct {
    int algorithm;
    bool other; /* math than the convolution's */
} candidate;

static const candidate candidates[][MOST_WAYS] = {
    {{FORWARD_WINOGRAD_NONFUSED, false},
     {0, true},
     {1, true},
     {1, false},
     {0, false},
     {3, false},
     {4, false},
     {5, false}},
    {{DATA_0, false},
     {1, true},
     {1, false},
     {DATA_WINOGRAD_NONFUSED, false},
     {DATA_0, true},
     {2, false},
     {3, false},
     {4, false}},
    {{FILTER_3, false},
     {FILTER_0, false},
     {1, true},
     {1, false},
     {FILTER_WINOGRAD_NONFUSED, false},
     {FILTER_0, true},
     {2, false},
     {6, false}},
};

static int math_of(const fake_cudnn_problem *p, bool other)
{
    if (!other) return p->c.math;
    return p->c.math == TUTTI_CUDNN_TENSOR_OP_MATH ? TUTTI_CUDNN_FMA_MATH : TUTTI_CUDNN_TENSOR_OP_MATH;
}

int fake_cudnn_advise(const fake_cudnn_problem *p, int most, int *n, tutti_cudnn_algorithm *found)
{
    *n = 0;
    for (int unsupported = 0; unsupported < 2; unsupported++)
        for (int i = 0; i < MOST_WAYS && *n < most; i++) {
            const candidate *c = &candidates[p->pass][i];
            const fake_cudnn_way way = {c->algorithm, math_of(p, c->other)};
            size_t bytes = 0;
            if (fake_cudnn_workspace(p, way, &bytes) == (unsupported != 0)) continue;
            found[*n] = (tutti_cudnn_algorithm){
                .algorithm = way.algorithm,
                .status = unsupported ? FAKE_CUDNN_NOT_SUPPORTED : FAKE_CUDNN_OK,
                .milliseconds = unsupported ? -1.0f : 0.01f * (float)(1 + *n),
                .workspace_bytes = unsupported ? 0 : bytes,
                .determinism = fake_cudnn_is_deterministic(p->pass, way.algorithm) ? TUTTI_CUDNN_DETERMINISTIC : 0,
                .math = way.math,
            };
            if (!unsupported) fake_cudnn_remember(p, way);
            ++*n;
        }
    return FAKE_CUDNN_OK;
}
