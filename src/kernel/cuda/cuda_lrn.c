/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_lrn.c: local response normalisation on a card (lrn.cu). The base of an element is k + alpha / size * (sum of
 * squares in its window). For windows of five channels with channels last nothing is saved: the backward pass computes
 * the bases again. In all other cases the base of each element is saved as f32, as in the reference. */
#include "cuda_rows.h"

enum { EIGHT = 8, VECTOR_SIZE = 5 };

/* The struct `lrn` of lrn.cu, declared again with the same fields. */
typedef struct {
    const void *in, *dout;
    void *to;
    float *base;
    int32_t in_type, out_type, size, side_by_side;
    int64_t n, channels, plane;
    float share, k, beta, slope;
} lrn_args;

typedef struct {
    tutti_cuda *cuda;
    tutti_cuda_function forward, backward;
    lrn_args args;
    tutti_cuda_grid grid;
} lrn;

static lrn_args describe(const tutti_kernel *k)
{
    const tutti_lrn_attrs *at = k->attrs;
    const tutti_shape *s = &k->in[0].shape;
    const int64_t n = tutti_shape_count(s), plane = n / s->dim[0] / s->dim[1];
    return (lrn_args){.in_type = (int32_t)k->in[0].dtype,
                      .out_type = (int32_t)k->out.dtype,
                      .size = (int32_t)at->size,
                      .side_by_side = plane == 1 || tutti_order_of(&k->in[0]) != TUTTI_ORDER_NCHW,
                      .n = n,
                      .channels = s->dim[1],
                      .plane = plane,
                      .share = (float)(at->alpha / (double)at->size),
                      .k = (float)at->k,
                      .beta = (float)at->beta,
                      .slope = (float)(2 * at->alpha * at->beta / (double)at->size)};
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    lrn *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    const tutti_status st = tutti_cuda_like_input(k, r, err);
    if (st) return st;
    s->args = describe(k);
    const lrn_args *p = &s->args;
    const bool by_vectors =
        p->side_by_side && p->size == VECTOR_SIZE && p->channels % EIGHT == 0 && p->in_type == p->out_type;
    s->grid = tutti_cuda_cover(by_vectors ? p->n / EIGHT : p->n, TUTTI_CUDA_THREADS, 1);
    if (r->training) {
        k->backward_reads = TUTTI_READS_INPUT | (by_vectors ? 0 : TUTTI_READS_SAVED);
        k->saved_bytes = by_vectors ? 0 : (size_t)p->n * sizeof(float);
    }
    const char *by = by_vectors ? tutti_dtype_name(k->out.dtype) : "any";
    const tutti_cuda_wanted wanted[] = {{"normalise", &s->forward}, {"differentiate", &s->backward}};
    return tutti_cuda_find_by(s->cuda, "lrn", by, wanted, 2, err);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    lrn *s = k->state;
    lrn_args p = s->args;
    p.in = a->in[0], p.to = a->out, p.base = k->saved_bytes ? a->saved : NULL;
    tutti_cuda_run(s->cuda, s->forward, s->grid, (void *[]){&p});
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    lrn *s = k->state;
    lrn_args p = s->args;
    p.in = a->in[0], p.dout = a->dout, p.to = a->din[0], p.base = k->saved_bytes ? a->saved : NULL;
    if (p.to) tutti_cuda_run(s->cuda, s->backward, s->grid, (void *[]){&p});
}

const tutti_kernel_row tutti_cuda_lrn = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
