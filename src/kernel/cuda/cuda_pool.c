/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_pool.c: max and average pools on a card (pool.cu). The gradients of both are gathered: each input element
 * collects its terms in one launch, so nothing is set to zero before. A max pool saves the index of each largest
 * element in its window: a byte, or four if windows have more than 256 elements. */
#include "cuda_rows.h"

enum { EIGHT = 8, MOST_BYTE_PLACES = 256 };

/* The struct `pool` of pool.cu, declared again with the same fields. */
typedef struct {
    void *in, *out, *winners;
    int32_t in_type, out_type;
    int32_t batch, channels, height, width, out_height, out_width, kernel, stride, pad;
    int32_t side_by_side, wide;
} pool_args;

typedef struct {
    tutti_cuda *cuda;
    tutti_cuda_function forward, backward;
    tutti_layout layout; /* layout of the kernel's output, if it is not row-major */
    pool_args args;
    int64_t threads, back_threads;
} pool;

static int64_t places_of(const tutti_value *v)
{
    return v->shape.dim[0] * v->shape.dim[2] * v->shape.dim[3];
}

static pool_args describe(const tutti_kernel *k)
{
    const tutti_pool_attrs window = tutti_op_pool_window(k->attrs);
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    return (pool_args){.in_type = (int32_t)k->in[0].dtype,
                       .out_type = (int32_t)k->out.dtype,
                       .batch = (int32_t)in[0],
                       .channels = (int32_t)in[1],
                       .height = (int32_t)in[2],
                       .width = (int32_t)in[3],
                       .out_height = (int32_t)out[2],
                       .out_width = (int32_t)out[3],
                       .kernel = (int32_t)window.kernel,
                       .stride = (int32_t)window.stride,
                       .pad = (int32_t)window.pad,
                       .side_by_side = tutti_order_of(&k->in[0]) != TUTTI_ORDER_NCHW,
                       .wide = window.kernel > MOST_BYTE_PLACES || window.kernel * window.kernel > MOST_BYTE_PLACES};
}

/* True if each thread computes a vector of eight channels. These kernels count threads in 31 bits. */
static bool is_vectors(const tutti_kernel *k, const pool_args *p)
{
    const int64_t in = places_of(&k->in[0]), out = places_of(&k->out), most = in > out ? in : out;
    return p->side_by_side && !p->wide && p->channels % EIGHT == 0 && p->in_type == p->out_type &&
           most * (p->channels / EIGHT) < INT32_MAX - TUTTI_CUDA_THREADS;
}

static tutti_status find(pool *s, const tutti_kernel *k, bool by_vectors, tutti_failure *err)
{
    const bool is_max = k->op == &tutti_op_max_pool;
    const tutti_cuda_wanted max[] = {{by_vectors && s->args.kernel == 3 ? "max_forward3" : "max_forward", &s->forward},
                                     {"max_backward", &s->backward}},
                            average[] = {{"average_forward", &s->forward}, {"average_backward", &s->backward}};
    const char *by = by_vectors ? tutti_dtype_name(k->out.dtype) : "any";
    return tutti_cuda_find_by(s->cuda, "pool", by, is_max ? max : average, 2, err);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    pool *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    const tutti_status st = tutti_cuda_check(k, r, err);
    if (st) return st;
    tutti_cuda_place_output(k, r, tutti_order_of(&k->in[0]), &s->layout);
    s->args = describe(k);
    const bool by_vectors = is_vectors(k, &s->args);
    const int64_t each = by_vectors ? EIGHT : 1;
    s->threads = places_of(&k->out) * k->out.shape.dim[1] / each;
    s->back_threads = places_of(&k->in[0]) * k->out.shape.dim[1] / each;
    if (r->training && k->op == &tutti_op_max_pool) {
        k->saved_bytes = (size_t)tutti_shape_count(&k->out.shape) * (s->args.wide ? sizeof(int32_t) : 1);
        k->backward_reads = TUTTI_READS_SAVED;
    }
    return find(s, k, by_vectors, err);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    pool *s = k->state;
    pool_args p = s->args;
    p.in = (void *)(uintptr_t)a->in[0], p.out = a->out, p.winners = k->saved_bytes ? a->saved : NULL;
    tutti_cuda_run(s->cuda, s->forward, tutti_cuda_cover(s->threads, TUTTI_CUDA_THREADS, 1), (void *[]){&p});
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    pool *s = k->state;
    pool_args p = s->args;
    p.in = a->din[0], p.out = a->dout, p.winners = a->saved;
    if (p.in)
        tutti_cuda_run(s->cuda, s->backward, tutti_cuda_cover(s->back_threads, TUTTI_CUDA_THREADS, 1), (void *[]){&p});
}

const tutti_kernel_row tutti_cuda_pool = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
