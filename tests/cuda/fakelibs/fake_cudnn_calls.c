/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cudnn_calls.c: what the fake libcudnn.so.9 does with a convolution: asks for algorithms, and the three
 * passes. */
#include <string.h>

#include "fake_cudnn.h"

#define DECLARE(name, parameters) FAKELIB_EXPORT int name parameters;
TUTTI_CUDNN_FUNCTIONS(DECLARE)

enum { ALIGNMENT = 16 };

/* A call has what the caller names, in the order of input, filter, convolution, output. */
typedef struct {
    tutti_cudnn_handle handle;
    tutti_cudnn_descriptor x, w, convolution, y;
    fake_cudnn_pass pass;
    const char *name;
} call;

/* Copies what the descriptors say now into p; returns a status. */
static int read_problem(const call *c, fake_cudnn_problem *p)
{
    const fake_cudnn_tensor *x = fakelib_of(c->x, FAKE_CUDNN_TENSOR, c->name),
                            *y = fakelib_of(c->y, FAKE_CUDNN_TENSOR, c->name);
    const fake_cudnn_filter *w = fakelib_of(c->w, FAKE_CUDNN_FILTER, c->name);
    const fake_cudnn_convolution *of = fakelib_of(c->convolution, FAKE_CUDNN_CONVOLUTION, c->name);
    if (!fakelib_of(c->handle, FAKELIB_HANDLE, c->name) || !x || !y || !w || !of) return FAKE_CUDNN_BAD_PARAM;
    memset(p, 0, sizeof *p); /* gaps, too */
    memcpy(&p->x, x, sizeof *x);
    memcpy(&p->y, y, sizeof *y);
    memcpy(&p->w, w, sizeof *w);
    memcpy(&p->c, of, sizeof *of);
    p->pass = c->pass;
    return fake_cudnn_check(p);
}

/* ---- algorithms ---- */

static int advise(const call *c, int most, int *n, tutti_cudnn_algorithm *found)
{
    fake_cudnn_problem p;
    if (!n || !found || most < 1) return FAKE_CUDNN_BAD_PARAM;
    *n = 0;
    const int status = read_problem(c, &p);
    return status ? status : fake_cudnn_advise(&p, most, n, found);
}

static int ask_workspace(const call *c, int algorithm, size_t *bytes)
{
    fake_cudnn_problem p;
    if (!bytes) return FAKE_CUDNN_BAD_PARAM;
    *bytes = 0;
    const int status = read_problem(c, &p);
    if (status) return status;
    const fake_cudnn_way way = {algorithm, p.c.math};
    if (!fake_cudnn_workspace(&p, way, bytes)) return FAKE_CUDNN_NOT_SUPPORTED;
    fake_cudnn_remember(&p, way);
    return FAKE_CUDNN_OK;
}

int cudnnGetConvolutionForwardAlgorithm_v7(tutti_cudnn_handle handle, tutti_cudnn_descriptor x,
                                           tutti_cudnn_descriptor w, tutti_cudnn_descriptor convolution,
                                           tutti_cudnn_descriptor y, int most, int *n, tutti_cudnn_algorithm *found)
{
    FAKELIB_CALL();
    const call c = {handle, x, w, convolution, y, FAKE_CUDNN_FORWARD, __func__};
    return advise(&c, most, n, found);
}

int cudnnGetConvolutionBackwardDataAlgorithm_v7(tutti_cudnn_handle handle, tutti_cudnn_descriptor w,
                                                tutti_cudnn_descriptor dy, tutti_cudnn_descriptor convolution,
                                                tutti_cudnn_descriptor dx, int most, int *n,
                                                tutti_cudnn_algorithm *found)
{
    FAKELIB_CALL();
    const call c = {handle, dx, w, convolution, dy, FAKE_CUDNN_BACKWARD_DATA, __func__};
    return advise(&c, most, n, found);
}

int cudnnGetConvolutionBackwardFilterAlgorithm_v7(tutti_cudnn_handle handle, tutti_cudnn_descriptor x,
                                                  tutti_cudnn_descriptor dy, tutti_cudnn_descriptor convolution,
                                                  tutti_cudnn_descriptor dw, int most, int *n,
                                                  tutti_cudnn_algorithm *found)
{
    FAKELIB_CALL();
    const call c = {handle, x, dw, convolution, dy, FAKE_CUDNN_BACKWARD_FILTER, __func__};
    return advise(&c, most, n, found);
}

int cudnnGetConvolutionForwardWorkspaceSize(tutti_cudnn_handle handle, tutti_cudnn_descriptor x,
                                            tutti_cudnn_descriptor w, tutti_cudnn_descriptor convolution,
                                            tutti_cudnn_descriptor y, int algorithm, size_t *bytes)
{
    FAKELIB_CALL();
    const call c = {handle, x, w, convolution, y, FAKE_CUDNN_FORWARD, __func__};
    return ask_workspace(&c, algorithm, bytes);
}

int cudnnGetConvolutionBackwardDataWorkspaceSize(tutti_cudnn_handle handle, tutti_cudnn_descriptor w,
                                                 tutti_cudnn_descriptor dy, tutti_cudnn_descriptor convolution,
                                                 tutti_cudnn_descriptor dx, int algorithm, size_t *bytes)
{
    FAKELIB_CALL();
    const call c = {handle, dx, w, convolution, dy, FAKE_CUDNN_BACKWARD_DATA, __func__};
    return ask_workspace(&c, algorithm, bytes);
}

int cudnnGetConvolutionBackwardFilterWorkspaceSize(tutti_cudnn_handle handle, tutti_cudnn_descriptor x,
                                                   tutti_cudnn_descriptor dy, tutti_cudnn_descriptor convolution,
                                                   tutti_cudnn_descriptor dw, int algorithm, size_t *bytes)
{
    FAKELIB_CALL();
    const call c = {handle, x, dw, convolution, dy, FAKE_CUDNN_BACKWARD_FILTER, __func__};
    return ask_workspace(&c, algorithm, bytes);
}

/* ---- passes ---- */

/* The memory of a call has addresses and factors as the caller gives them. */
typedef struct {
    const void *x, *w, *y;
    void *workspace;
    size_t workspace_bytes;
    const void *alpha, *beta;
} memory;

static int check_memory(const call *c, const fake_cudnn_problem *p, const memory *m, size_t needs)
{
    const fakelib_range ranges[] = {
        {"x", m->x, fake_cudnn_span(&p->x), c->pass == FAKE_CUDNN_BACKWARD_DATA},
        {"w", m->w, fake_cudnn_filter_bytes(&p->w), c->pass == FAKE_CUDNN_BACKWARD_FILTER},
        {"y", m->y, fake_cudnn_span(&p->y), c->pass == FAKE_CUDNN_FORWARD},
        {"the workspace", m->workspace, needs, true},
    };
    if (needs && (!m->workspace || m->workspace_bytes < needs)) {
        fakelib_report("%s: a workspace of %zu bytes, %zu are needed", c->name, m->workspace ? m->workspace_bytes : 0,
                       needs);
        return m->workspace ? FAKE_CUDNN_SIZE_INSUFFICIENT : FAKE_CUDNN_NULL_POINTER;
    }
    for (int i = 0; i < 4; i++)
        if (!fakelib_is_aligned(&ranges[i], ALIGNMENT, c->name)) return FAKE_CUDNN_MISALIGNED;
    return fakelib_are_apart(ranges, 4, c->name) ? FAKE_CUDNN_OK : FAKE_CUDNN_BAD_PARAM;
}

static int compute(const call *c, int algorithm, const memory *m)
{
    fake_cudnn_work work;
    memset(&work, 0, sizeof work);
    fake_cudnn_problem *p = &work.problem;
    int status = read_problem(c, p);
    if (status) return status;
    if (!m->x || !m->w || !m->y || !m->alpha || !m->beta) return FAKE_CUDNN_NULL_POINTER;
    size_t needs = 0;
    if (!fake_cudnn_workspace(p, (fake_cudnn_way){algorithm, p->c.math}, &needs)) return FAKE_CUDNN_NOT_SUPPORTED;
    if (!fake_cudnn_was_told(p, algorithm)) {
        fakelib_report("%s: nobody has asked for algorithm %d with these descriptors", c->name, algorithm);
        return FAKE_CUDNN_NOT_SUPPORTED;
    }
    status = check_memory(c, p, m, needs);
    if (status) return status;
    work.x = (void *)(uintptr_t)m->x;
    work.w = (void *)(uintptr_t)m->w;
    work.y = (void *)(uintptr_t)m->y;
    work.workspace = m->workspace;
    work.workspace_bytes = needs;
    memcpy(&work.alpha, m->alpha, sizeof work.alpha);
    memcpy(&work.beta, m->beta, sizeof work.beta);
    work.unordered = !fake_cudnn_is_deterministic(c->pass, algorithm);
    const fake_cudnn_handle *h = fakelib_of(c->handle, FAKELIB_HANDLE, c->name);
    return fakelib_enqueue(h->stream, fake_cudnn_run, &work, sizeof work) ? FAKE_CUDNN_EXECUTION_FAILED : FAKE_CUDNN_OK;
}

int cudnnConvolutionForward(tutti_cudnn_handle handle, const void *alpha, tutti_cudnn_descriptor x_of, const void *x,
                            tutti_cudnn_descriptor w_of, const void *w, tutti_cudnn_descriptor convolution,
                            int algorithm, void *workspace, size_t workspace_bytes, const void *beta,
                            tutti_cudnn_descriptor y_of, void *y)
{
    FAKELIB_CALL();
    const call c = {handle, x_of, w_of, convolution, y_of, FAKE_CUDNN_FORWARD, __func__};
    return compute(&c, algorithm, &(memory){x, w, y, workspace, workspace_bytes, alpha, beta});
}

int cudnnConvolutionBackwardData(tutti_cudnn_handle handle, const void *alpha, tutti_cudnn_descriptor w_of,
                                 const void *w, tutti_cudnn_descriptor dy_of, const void *dy,
                                 tutti_cudnn_descriptor convolution, int algorithm, void *workspace,
                                 size_t workspace_bytes, const void *beta, tutti_cudnn_descriptor dx_of, void *dx)
{
    FAKELIB_CALL();
    const call c = {handle, dx_of, w_of, convolution, dy_of, FAKE_CUDNN_BACKWARD_DATA, __func__};
    return compute(&c, algorithm, &(memory){dx, w, dy, workspace, workspace_bytes, alpha, beta});
}

int cudnnConvolutionBackwardFilter(tutti_cudnn_handle handle, const void *alpha, tutti_cudnn_descriptor x_of,
                                   const void *x, tutti_cudnn_descriptor dy_of, const void *dy,
                                   tutti_cudnn_descriptor convolution, int algorithm, void *workspace,
                                   size_t workspace_bytes, const void *beta, tutti_cudnn_descriptor dw_of, void *dw)
{
    FAKELIB_CALL();
    const call c = {handle, x_of, dw_of, convolution, dy_of, FAKE_CUDNN_BACKWARD_FILTER, __func__};
    return compute(&c, algorithm, &(memory){x, dw, dy, workspace, workspace_bytes, alpha, beta});
}
