/* SPDX-License-Identifier: Apache-2.0 */
/* primitive_timer.c: see primitive_timer.h. */
#include "primitive_timer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sort.h"

extern void omp_set_num_threads(int nthreads); /* libgomp's: oneDNN's threads */

enum { MAX_ARGS = 48 };

void primitive_timer_must(dnnl_status_t status, const char *call)
{
    if (status == dnnl_success) return;
    fprintf(stderr, "bench_primitives: status %d of %s\n", (int)status, call);
    exit(1);
}

void primitive_timer_open(primitive_timer *t, int repeats)
{
    omp_set_num_threads(1);
    *t = (primitive_timer){.repeats = repeats};
    TRY(dnnl_engine_create(&t->engine, dnnl_cpu, 0));
    TRY(dnnl_stream_create(&t->stream, t->engine, dnnl_stream_default_flags));
}

/* Small numbers of both signs; index zero where they are indices. */
static void fill(void *memory, const_dnnl_memory_desc_t order)
{
    dnnl_data_type_t type = dnnl_f32;
    dnnl_memory_desc_query(order, dnnl_query_data_type, &type);
    size_t nbytes = dnnl_memory_desc_get_size(order);
    memset(memory, 0, nbytes);
    if (type == dnnl_f32)
        for (size_t i = 0; i < nbytes / 4; i++)
            ((float *)memory)[i] = (float)((int)(i * 2654435761u >> 8) % 2001 - 1000) * 1e-4f;
    if (type == dnnl_bf16)
        for (size_t i = 0; i < nbytes / 2; i++)
            ((uint16_t *)memory)[i] = (uint16_t)(0x3d00 + i % 0x7f + (i & 1 ? 0x8000 : 0));
}

static const int all_args[] = {
    DNNL_ARG_SRC,        DNNL_ARG_SRC_1,      DNNL_ARG_DST,      DNNL_ARG_WEIGHTS,      DNNL_ARG_BIAS,
    DNNL_ARG_MEAN,       DNNL_ARG_VARIANCE,   DNNL_ARG_SCALE,    DNNL_ARG_SHIFT,        DNNL_ARG_WORKSPACE,
    DNNL_ARG_SCRATCHPAD, DNNL_ARG_DIFF_SRC,   DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS,
    DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SHIFT,
};

/* The order of an argument, or NULL where the primitive has none. */
static const_dnnl_memory_desc_t order_of(const_dnnl_primitive_desc_t pd, int arg)
{
    const_dnnl_memory_desc_t order = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
    return order && dnnl_memory_desc_get_size(order) > 0 ? order : NULL;
}

static void add_arg(primitive_timer *t, const_dnnl_primitive_desc_t pd, int arg, dnnl_exec_arg_t *args, int *n)
{
    const_dnnl_memory_desc_t order = order_of(pd, arg);
    if (!order) return;
    /* batch norm's backward pass describes a shift and takes none */
    if (arg == DNNL_ARG_SHIFT && order_of(pd, DNNL_ARG_DIFF_SHIFT)) return;
    dnnl_memory_t memory = NULL;
    void *data = NULL;
    TRY(dnnl_memory_create(&memory, order, t->engine, DNNL_MEMORY_ALLOCATE));
    TRY(dnnl_memory_get_data_handle(memory, &data));
    fill(data, order);
    args[(*n)++] = (dnnl_exec_arg_t){arg, memory};
}

static double time_primitive(primitive_timer *t, const_dnnl_primitive_desc_t pd)
{
    dnnl_exec_arg_t args[MAX_ARGS];
    int n = 0;
    for (size_t i = 0; i < sizeof all_args / sizeof *all_args; i++) add_arg(t, pd, all_args[i], args, &n);
    for (int i = 0; i < TIMER_MAX_SOURCES; i++) add_arg(t, pd, DNNL_ARG_MULTIPLE_SRC + i, args, &n);
    dnnl_primitive_t primitive = NULL;
    TRY(dnnl_primitive_create(&primitive, pd));
    double *seconds = malloc(sizeof *seconds * (size_t)t->repeats);
    for (int r = -1; r < t->repeats; r++) {
        double start = tutti_clock_s();
        TRY(dnnl_primitive_execute(primitive, t->stream, n, args));
        TRY(dnnl_stream_wait(t->stream));
        if (r >= 0) seconds[r] = tutti_clock_s() - start;
    }
    tutti_sort_doubles(seconds, (size_t)t->repeats);
    double ms = 1e3 * seconds[t->repeats / 2];
    free(seconds);
    dnnl_primitive_destroy(primitive);
    for (int i = 0; i < n; i++) dnnl_memory_destroy(args[i].memory);
    return ms;
}

/* The name of a primitive: its kind, its implementation and the sizes of its arguments. */
static void name_primitive(const_dnnl_primitive_desc_t pd, char out[TIMER_MAX_KEY])
{
    const char *implementation = "";
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &implementation);
    dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind);
    int at = snprintf(out, TIMER_MAX_KEY, "%d %s", (int)kind, implementation);
    for (size_t i = 0; i < sizeof all_args / sizeof *all_args && at < TIMER_MAX_KEY; i++) {
        const_dnnl_memory_desc_t order = order_of(pd, all_args[i]);
        if (!order) continue;
        const dnnl_dims_t *dims = NULL;
        int ndims = 0;
        dnnl_memory_desc_query(order, dnnl_query_dims, (void *)&dims);
        dnnl_memory_desc_query(order, dnnl_query_ndims_s32, &ndims);
        at += snprintf(out + at, (size_t)(TIMER_MAX_KEY - at), " %d:", all_args[i]);
        for (int d = 0; d < ndims && at < TIMER_MAX_KEY; d++)
            at += snprintf(out + at, (size_t)(TIMER_MAX_KEY - at), "%lldx", (long long)(*dims)[d]);
    }
}

double primitive_timer_ms(primitive_timer *t, dnnl_primitive_desc_t taken)
{
    char key[TIMER_MAX_KEY] = "";
    name_primitive(taken, key);
    int i = 0;
    while (i < t->nknown && strcmp(t->known[i].key, key) != 0) i++;
    if (i == t->nknown) {
        assert(t->nknown < TIMER_MAX_KNOWN);
        memcpy(t->known[i].key, key, sizeof key);
        t->known[i].ms = time_primitive(t, taken);
        t->nknown++;
    }
    dnnl_primitive_desc_destroy(taken);
    return t->known[i].ms;
}
