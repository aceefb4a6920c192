/* SPDX-License-Identifier: Apache-2.0 */
/* device_cpu.c: the device row `cpu`: memory is pages of the system, and loops are those of src/tensor. */
#include <string.h>

#include "../base/host/pages.h"
#include "../tensor/convert.h"
#include "../tensor/reduce.h"
#include "device_row.h"

/* ---- memory ---- */

static void *allocate(const tutti_device *d, size_t nbytes)
{
    (void)d;
    return tutti_pages_take(nbytes);
}

static void release(const tutti_device *d, void *at, size_t nbytes)
{
    (void)d;
    tutti_pages_give_back(at, nbytes);
}

static tutti_status enrol(const tutti_device *d, void *at, size_t nbytes, bool host_too, tutti_failure *err)
{
    (void)d, (void)at, (void)nbytes, (void)host_too, (void)err;
    return TUTTI_OK;
}

static void forget(const tutti_device *d, void *at, size_t nbytes)
{
    (void)d, (void)at, (void)nbytes;
}

/* ---- loops ---- */

static void copy(const tutti_device *d, char *const *outputs, int nout, const char *input, size_t nbytes, bool stream)
{
    (void)d;
    tutti_reduce_copy(outputs, nout, input, nbytes, stream);
}

static void reduce(const tutti_device *d, const tutti_device_reduction *how, const tutti_operands *of, int64_t n)
{
    (void)d;
    if (how->in == how->out)
        tutti_reduce(how->in, how->op, of, how->folds, n, how->stream);
    else if (how->out == TUTTI_F32)
        tutti_reduce_wide(how->in, of, how->folds, n, how->stream);
    else
        tutti_reduce_narrow(how->out, of, how->folds, n);
}

static void average(const tutti_device *d, tutti_dtype type, char *x, int64_t n, int32_t nranks)
{
    (void)d;
    tutti_reduce_average(type, x, n, nranks);
}

static void convert(const tutti_device *d, tutti_dtype type, const void *from, tutti_dtype to_type, void *to, int64_t n)
{
    (void)d;
    if (to_type == TUTTI_F32)
        tutti_convert_to_f32(type, from, to, n);
    else
        tutti_convert_from_f32(to_type, from, to, n);
}

/* ---- work, and how the host reads its results ---- */

static tutti_event launch(const tutti_device *d, const tutti_queue_work *work, const void *args)
{
    work->run(d, args, (const char *)args + work->varying_at);
    return (tutti_event){0};
}

static void wait_for(const tutti_device *d, tutti_event event)
{
    (void)d, (void)event;
}

static void finish(const tutti_device *d)
{
    (void)d;
}

static tutti_status check(const tutti_device *d, tutti_failure *err)
{
    (void)d, (void)err;
    return TUTTI_OK;
}

static void look(const tutti_device *d, void *to, const void *from, size_t nbytes)
{
    (void)d;
    memcpy(to, from, nbytes);
}

static void *borrow(const tutti_device *d, const void *at, size_t nbytes)
{
    (void)d, (void)nbytes;
    return (void *)(uintptr_t)at;
}

static void give_back(const tutti_device *d, const void *at, void *borrowed, size_t nbytes, bool changed)
{
    (void)d, (void)at, (void)borrowed, (void)nbytes, (void)changed;
}

static const tutti_device cpu = {.name = "cpu",
                                 .kind = TUTTI_DEVICE_CPU,
                                 .shares_host = true,
                                 .allocate = allocate,
                                 .release = release,
                                 .enrol = enrol,
                                 .forget = forget,
                                 .copy = copy,
                                 .reduce = reduce,
                                 .average = average,
                                 .convert = convert,
                                 .launch = launch,
                                 .wait = wait_for,
                                 .finish = finish,
                                 .check = check,
                                 .look = look,
                                 .borrow = borrow,
                                 .give_back = give_back};

const tutti_device *tutti_device_cpu(void)
{
    return &cpu;
}
