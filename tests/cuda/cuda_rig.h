/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_rig.h: a card for a suite of kernels that run on one, with memory that is released at the end of a test, and
 * passes of kernels as a step launches them: what varies is read from the device. Without a card, or without NVRTC, a
 * suite is skipped and says why. */
#ifndef TUTTI_TESTS_CUDA_RIG_H
#define TUTTI_TESTS_CUDA_RIG_H

#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "device/cuda/cuda.h"
#include "kernel/choose/memory_order.h"
#include "kernel/kernel.h"

enum { RIG_MOST_BUFFERS = 64, RIG_GUARD = 64 };

typedef struct {
    const tutti_device *d;
    tutti_cuda *cuda;
    struct {
        char *at;
        size_t nbytes;
    } buffers[RIG_MOST_BUFFERS];
    int n;
} cuda_rig;

/* Says whether a library of CUDA's is here ("cudnn"), and prints what is skipped without it. */
static inline bool rig_has(const char *library)
{
    void *handle = NULL;
    tutti_failure err = {0};
    if (!tutti_cuda_library(library, &handle, NULL, &err)) return true;
    print_message("skipped: %s\n", err.text);
    return false;
}

static inline int cuda_rig_open(void **state)
{
    cuda_rig *r = tutti_alloc(sizeof *r);
    tutti_failure err = {0};
    void *nvrtc = NULL;
    if (tutti_cuda_library("nvrtc", &nvrtc, NULL, &err) || tutti_device_connect("cuda", 0, &r->d, NULL, &err)) {
        print_message("skipped: %s (a card, its driver, NVRTC)\n", err.text);
        free(r);
        return 0;
    }
    r->cuda = tutti_cuda_of(r->d);
    *state = r;
    return 0;
}

static inline int cuda_rig_close(void **state)
{
    cuda_rig *r = *state;
    if (r) tutti_device_disconnect(r->d);
    free(r);
    return 0;
}

/* Takes nbytes of the card, `shift` behind a multiple of 64, with a guard behind them, and copies `from` there; from
 * NULL fills them with NaN in every type. */
static inline void *rig_buffer(cuda_rig *r, const void *from, size_t nbytes, size_t shift)
{
    const size_t all = shift + nbytes + RIG_GUARD;
    char *host = malloc(all);
    assert_true(r->n < RIG_MOST_BUFFERS);
    memset(host, 0xff, all);
    if (from) memcpy(host + shift, from, nbytes);
    char *at = r->d->allocate(r->d, all);
    assert_non_null(at);
    r->d->copy(r->d, &at, 1, host, all, false);
    free(host);
    r->buffers[r->n].at = at;
    r->buffers[r->n++].nbytes = shift + nbytes;
    return at + shift;
}

static inline void *rig_read(cuda_rig *r, const void *at, size_t nbytes)
{
    void *host = malloc(nbytes ? nbytes : 1);
    r->d->finish(r->d);
    void *seen = r->d->borrow(r->d, at, nbytes);
    memcpy(host, seen, nbytes);
    r->d->give_back(r->d, at, seen, nbytes, false);
    return host;
}

/* Gives all buffers back; nothing was written behind them, and nothing has failed. */
static inline void rig_release(cuda_rig *r)
{
    tutti_failure err = {0};
    r->d->finish(r->d);
    if (r->d->check(r->d, &err)) fail_msg("%s", err.text);
    while (r->n > 0) {
        r->n--;
        unsigned char *guard = rig_read(r, r->buffers[r->n].at + r->buffers[r->n].nbytes, RIG_GUARD);
        for (int i = 0; i < RIG_GUARD; i++) assert_int_equal(guard[i], 0xff);
        free(guard);
        r->d->release(r->d, r->buffers[r->n].at, r->buffers[r->n].nbytes + RIG_GUARD);
    }
}

/* ---- values ---- */

/* Describes a value of shape s and this type. A value of four dims has the order, by `layout`, which is filled in. */
static inline tutti_value rig_value(const tutti_shape *s, tutti_dtype type, tutti_order order, tutti_layout *layout)
{
    tutti_value v = tutti_value_plain(s);
    v.dtype = type;
    v.bytes = v.bytes / sizeof(float) * tutti_dtype_bytes(type);
    if (s->ndims == 4) tutti_order_apply(order, &v, layout);
    return v;
}

/* Puts numbers onto the card as v describes them, `shift` bytes behind a multiple of 64. *numbers becomes what v's type
 * holds of them. */
static inline void *rig_upload(cuda_rig *r, const tutti_value *v, float *numbers, size_t shift)
{
    void *memory = malloc(v->bytes + 1);
    tutti_value_from_plain(v, numbers, memory);
    tutti_value_to_plain(v, memory, numbers);
    void *at = rig_buffer(r, memory, v->bytes, shift);
    free(memory);
    return at;
}

static inline float *rig_download(cuda_rig *r, const tutti_value *v, const void *at)
{
    float *numbers = malloc((size_t)tutti_shape_count(&v->shape) * sizeof *numbers + 1);
    void *memory = rig_read(r, at, v->bytes);
    tutti_value_to_plain(v, memory, numbers);
    free(memory);
    return numbers;
}

/* The error of one rounding to the type, in parts of a number: half of the last place. */
static inline double rig_rounding(tutti_dtype type)
{
    return type == TUTTI_BF16 ? 0x1p-8 : type == TUTTI_F16 ? 0x1p-11 : 0;
}

static inline double rig_largest(const float *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)x[i]));
    return most;
}

/* ---- passes ---- */

typedef struct {
    tutti_kernel *kernel;
    tutti_kernel_args args;
    tutti_kernel_pass pass;
    uint32_t unused;
} rig_pass;

static inline void rig_run_pass(const tutti_device *d, const void *args, const void *varying)
{
    const rig_pass *p = args;
    tutti_kernel_args a = p->args;
    (void)d;
    a.drawn = varying;
    const tutti_kernel_row *row = p->kernel->row;
    (p->pass == TUTTI_PASS_FORWARD  ? row->forward
     : p->pass == TUTTI_PASS_PARAMS ? row->backward_params
                                    : row->backward_data)(p->kernel, &a);
}

static const tutti_queue_work rig_pass_work = {"pass", rig_run_pass, sizeof(rig_pass), offsetof(rig_pass, args.seed),
                                               3 * sizeof(uint64_t)};

static inline void rig_launch(cuda_rig *r, tutti_kernel *k, const tutti_kernel_args *a, tutti_kernel_pass pass)
{
    rig_pass p;
    memset(&p, 0, sizeof p);
    p.kernel = k, p.args = *a, p.pass = pass;
    r->d->launch(r->d, &rig_pass_work, &p);
    r->d->finish(r->d);
}

/* Launches forward three times: the card runs, records and replays the pass. Each time the output has the same bits. */
static inline void rig_launch_forward(cuda_rig *r, tutti_kernel *k, const tutti_kernel_args *a)
{
    rig_launch(r, k, a, TUTTI_PASS_FORWARD);
    void *first = rig_read(r, a->out, k->out.bytes);
    for (int again = 0; again < 2; again++) rig_launch(r, k, a, TUTTI_PASS_FORWARD);
    void *last = rig_read(r, a->out, k->out.bytes);
    assert_memory_equal(first, last, k->out.bytes);
    free(first), free(last);
}

#endif
