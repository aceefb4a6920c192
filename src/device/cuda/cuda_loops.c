/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_loops.c: the device row's loops on a card: sums, copies and conversions of vectors. They are put on the queue
 * like other work, so a step's copies and sums are replayed with its kernels.
 *
 * Sums of f32, bf16 and f16 run on the card. Other types, other operations and long expressions, which no training
 * needs, are computed by the host's loops on copies. That gives the same bits, but slowly. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_impl.h"

extern const tutti_embedded_text tutti_device_texts[]; /* the texts of the *.cu files; the build writes this array */

enum { STACK = 16, THREADS = 256 };

/* The argument of `sum` in loops.cu, which declares the same fields. */
typedef struct {
    const char *in[TUTTI_CUDA_MOST_INPUTS];
    char *out[TUTTI_CUDA_MOST_OUTPUTS];
    uint8_t folds[TUTTI_CUDA_MOST_INPUTS];
    int32_t nin, nout, in_type, out_type;
    int64_t n;
} expression;

typedef struct {
    void *to;
    const void *from;
    size_t nbytes;
} copy_args;

typedef struct {
    char *x;
    int32_t type;
    float by;
    int64_t n;
} divide_args;

typedef struct {
    const void *from;
    void *to;
    int32_t type, to_type;
    int64_t n;
} convert_args;

/* ---- functions that launch on the stream when the queue is emptied ---- */

static void run_copy(const tutti_device *d, const void *args, const void *varying)
{
    const copy_args *a = args;
    (void)varying;
    tutti_cuda_move(tutti_cuda_of(d), a->to, a->from, a->nbytes);
}

static void run_sum(const tutti_device *d, const void *args, const void *varying)
{
    tutti_cuda *c = tutti_cuda_of(d);
    expression e = *(const expression *)args;
    (void)varying;
    const uintptr_t all = (uintptr_t)e.in[0] | (uintptr_t)e.in[1] | (uintptr_t)e.out[0];
    const bool is_pair = e.nin == 2 && e.nout == 1 && e.in_type == TUTTI_F32 && e.out_type == TUTTI_F32;
    if (is_pair && all % 16 == 0)
        tutti_cuda_run(c, c->loops.sum_f32, tutti_cuda_cover(e.n, THREADS, 4),
                       (void *[]){&e.in[0], &e.in[1], &e.out[0], &e.n});
    else
        tutti_cuda_run(c, c->loops.sum, tutti_cuda_cover(e.n, THREADS, 1), (void *[]){&e});
}

static void run_divide(const tutti_device *d, const void *args, const void *varying)
{
    tutti_cuda *c = tutti_cuda_of(d);
    divide_args a = *(const divide_args *)args;
    (void)varying;
    tutti_cuda_run(c, c->loops.divide, tutti_cuda_cover(a.n, THREADS, 1), (void *[]){&a.x, &a.type, &a.n, &a.by});
}

static void run_convert(const tutti_device *d, const void *args, const void *varying)
{
    tutti_cuda *c = tutti_cuda_of(d);
    convert_args a = *(const convert_args *)args;
    (void)varying;
    tutti_cuda_run(c, c->loops.convert, tutti_cuda_cover(a.n, THREADS, 1),
                   (void *[]){&a.from, &a.type, &a.to, &a.to_type, &a.n});
}

static const tutti_queue_work copying = {"copy", run_copy, sizeof(copy_args), 0, 0};
static const tutti_queue_work summing = {"reduce", run_sum, sizeof(expression), 0, 0};
static const tutti_queue_work dividing = {"average", run_divide, sizeof(divide_args), 0, 0};
static const tutti_queue_work converting = {"convert", run_convert, sizeof(convert_args), 0, 0};

/* ---- reductions that the card does not do: computed on the host ---- */

static bool is_real(tutti_dtype type)
{
    return type == TUTTI_F32 || type == TUTTI_BF16 || type == TUTTI_F16;
}

static void reduce_on_host(const tutti_device *d, const tutti_device_reduction *how, const tutti_operands *of,
                           int64_t n)
{
    const tutti_device *cpu = tutti_device_cpu();
    const size_t in = (size_t)n * tutti_element_bytes(how->in, how->op);
    const size_t out = (size_t)n * tutti_element_bytes(how->out, how->op);
    char **copies = tutti_alloc(sizeof *copies * (size_t)of->nin), *sum = tutti_alloc(out ? out : 1);
    for (int i = 0; i < of->nin; i++) copies[i] = d->borrow(d, of->inputs[i], in);
    const tutti_operands here = {&sum, 1, (const char *const *)copies, of->nin};
    cpu->reduce(cpu, how, &here, n);
    for (int i = 0; i < of->nin; i++) d->give_back(d, of->inputs[i], copies[i], in, false);
    tutti_cuda *c = tutti_cuda_begin(d);
    for (int o = 0; o < of->nout; o++) tutti_cuda_carry_in(c, of->outputs[o], sum, out);
    tutti_cuda_end(c);
    free(copies), free(sum);
}

static void average_on_host(const tutti_device *d, tutti_dtype type, char *x, int64_t n, int32_t nranks)
{
    const size_t nbytes = (size_t)n * tutti_dtype_bytes(type);
    char *copy = d->borrow(d, x, nbytes);
    tutti_device_cpu()->average(tutti_device_cpu(), type, copy, n, nranks);
    d->give_back(d, x, copy, nbytes, true);
}

/* ---- the calls of the device row ---- */

static void copy(const tutti_device *d, char *const *outputs, int nout, const char *input, size_t nbytes, bool stream)
{
    (void)stream;
    tutti_cuda *c = tutti_cuda_begin(d);
    const bool is_known = tutti_cuda_range_of(c, input);
    for (int o = 0; o < nout && nbytes; o++) {
        const copy_args args = {outputs[o], input, nbytes};
        if (is_known && outputs[o] != input) tutti_cuda_put(c, &copying, &args);
        if (!is_known) tutti_cuda_carry_in(c, outputs[o], input, nbytes);
    }
    tutti_cuda_end(c);
}

/* Returns the largest number of values that wait on the stack of the expression at a time. */
static int depth_of(const uint8_t *folds, int nin)
{
    int depth = 0, most = 0;
    for (int k = 0; k < nin; k++) {
        depth++;
        if (depth > most) most = depth;
        depth -= folds[k];
    }
    return most;
}

static void reduce(const tutti_device *d, const tutti_device_reduction *how, const tutti_operands *of, int64_t n)
{
    const int nin = of->nin, nout = of->nout;
    expression e = {.nin = nin, .nout = nout, .in_type = how->in, .out_type = how->out, .n = n};
    const bool sums = how->op == TUTTI_SUM || how->op == TUTTI_AVG;
    const bool fits = nin <= TUTTI_CUDA_MOST_INPUTS && nout <= TUTTI_CUDA_MOST_OUTPUTS;
    if (n <= 0) return;
    for (int k = 0; k < nin && fits; k++) e.folds[k] = how->folds ? how->folds[k] : k > 0;
    if (!sums || !fits || !is_real(how->in) || !is_real(how->out) || depth_of(e.folds, nin) > STACK) {
        reduce_on_host(d, how, of, n);
        return;
    }
    for (int i = 0; i < nin; i++) e.in[i] = of->inputs[i];
    for (int o = 0; o < nout; o++) e.out[o] = of->outputs[o];
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cuda_put(c, &summing, &e);
    tutti_cuda_end(c);
}

static void average(const tutti_device *d, tutti_dtype type, char *x, int64_t n, int32_t nranks)
{
    const divide_args args = {x, (int32_t)type, (float)nranks, n};
    if (n <= 0) return;
    if (!is_real(type)) {
        average_on_host(d, type, x, n, nranks);
        return;
    }
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cuda_put(c, &dividing, &args);
    tutti_cuda_end(c);
}

static void convert(const tutti_device *d, tutti_dtype type, const void *from, tutti_dtype to_type, void *to, int64_t n)
{
    const convert_args args = {from, to, (int32_t)type, (int32_t)to_type, n};
    assert(is_real(type) && is_real(to_type));
    if (n <= 0) return;
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cuda_put(c, &converting, &args);
    tutti_cuda_end(c);
}

void tutti_cuda_place_loops(tutti_device *row)
{
    row->copy = copy;
    row->reduce = reduce;
    row->average = average;
    row->convert = convert;
}

tutti_status tutti_cuda_loops_find(tutti_cuda *c, tutti_failure *err)
{
    const tutti_cuda_wanted wanted[] = {{"sum_f32", &c->loops.sum_f32},
                                        {"sum", &c->loops.sum},
                                        {"divide", &c->loops.divide},
                                        {"convert", &c->loops.convert}};
    return tutti_cuda_find_all(c, tutti_device_texts, "loops", wanted, sizeof wanted / sizeof *wanted, err);
}
