/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_concat.c: joins inputs along the channels on a card, of any types and orders, in one launch; another launch
 * copies the gradients of all inputs. The output has the order of the first input. */
#include "cuda_rows.h"

enum { QUAD = 4, VECTOR_BYTES = 16 };

/* The struct `joining` of concat.cu, declared again with the same fields. */
typedef struct {
    void *in[TUTTI_MAX_OP_INPUTS];
    void *out;
    int64_t first[TUTTI_MAX_OP_INPUTS + 1];
    int64_t n, channels, plane;
    int32_t type[TUTTI_MAX_OP_INPUTS], is_nhwc[TUTTI_MAX_OP_INPUTS];
    int32_t ninputs, out_type, out_is_nhwc;
} joining;

/* The functions that join inputs (join) and split the gradient (part), for one way of dividing the elements among
 * threads. */
typedef struct {
    tutti_cuda_function join, part;
    joining like; /* arguments of the launches; addresses are filled in for each call */
    int each;     /* number of elements that a thread moves */
} way;

typedef struct {
    tutti_cuda *cuda;
    tutti_layout layout;
    way any;     /* the way that works for any addresses */
    way vectors; /* the way for aligned addresses; `join` is NULL if rows are not whole vectors */
} concat;

/* Returns how many neighbouring elements of a row each channel has. concat.cu says what a row is. */
static int64_t numbers_a_channel(const joining *j)
{
    return j->out_is_nhwc ? 1 : j->plane;
}

static void describe(const tutti_kernel *k, joining *j)
{
    tutti_blocks b;
    tutti_blocks_of(&k->out, &b);
    const bool planes = k->out.shape.ndims == 4;
    *j = (joining){.n = tutti_value_elements(&k->out),
                   .channels = k->out.shape.dim[1],
                   .plane = planes ? b.plane : b.channels / k->out.shape.dim[1],
                   .ninputs = k->ninputs,
                   .out_type = (int32_t)k->out.dtype,
                   .out_is_nhwc = tutti_cuda_is_nhwc(&k->out)};
    for (int i = 0; i < k->ninputs; i++) {
        j->type[i] = (int32_t)k->in[i].dtype;
        j->is_nhwc[i] = tutti_cuda_is_nhwc(&k->in[i]);
        j->first[i + 1] = j->first[i] + k->in[i].shape.dim[1];
    }
}

/* True if all inputs lie in the output's order. An input of one channel has the same bytes in both orders. */
static bool is_one_order(const tutti_kernel *k, const joining *j)
{
    bool one = true;
    for (int i = 0; i < k->ninputs; i++) one = one && (j->is_nhwc[i] == j->out_is_nhwc || k->in[i].shape.dim[1] == 1);
    return one;
}

/* True if all inputs have the output's type, and each row of each input is a whole number of vectors. */
static bool fits_vectors(const tutti_kernel *k, const joining *rows)
{
    bool fits = true;
    for (int i = 0; i < k->ninputs; i++) fits = fits && k->in[i].dtype == k->out.dtype;
    for (int i = 0; i <= k->ninputs; i++)
        fits = fits && rows->first[i] * (int64_t)tutti_dtype_bytes(k->out.dtype) % VECTOR_BYTES == 0;
    return fits;
}

static tutti_status find_way(const concat *s, const char *by, way *out, tutti_failure *err)
{
    const tutti_cuda_wanted wanted[] = {{"join", &out->join}, {"part", &out->part}};
    return tutti_cuda_find_by(s->cuda, "concat", by, wanted, 2, err);
}

static tutti_status find_vectors(const tutti_kernel *k, concat *s, tutti_failure *err)
{
    const int64_t lanes = VECTOR_BYTES / (int64_t)tutti_dtype_bytes(k->out.dtype);
    joining *j = &s->vectors.like;
    *j = s->any.like;
    j->n /= lanes;
    for (int i = 0; i <= k->ninputs; i++) j->first[i] /= lanes;
    s->vectors.each = 1;
    return find_way(s, "16", &s->vectors, err);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    concat *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    tutti_status st = tutti_cuda_check(k, r, err);
    if (st) return st;
    tutti_cuda_place_output(k, r, k->in[0].layout ? TUTTI_ORDER_NHWC : TUTTI_ORDER_NCHW, &s->layout);
    joining *rows = &s->any.like;
    describe(k, rows);
    const bool one_order = is_one_order(k, rows);
    bool quads = one_order;
    for (int i = 0; i <= k->ninputs && one_order; i++) {
        rows->first[i] *= numbers_a_channel(rows);
        quads = quads && rows->first[i] % QUAD == 0;
    }
    s->any.each = quads ? QUAD : 1;
    st = find_way(s, quads ? "4" : one_order ? "1" : "orders", &s->any, err);
    return !st && one_order && fits_vectors(k, rows) ? find_vectors(k, s, err) : st;
}

/* Copies elements from the inputs to the output (`joins`), or from dout to the inputs' gradients. */
static void run(const tutti_kernel *k, void *const *in, void *whole, bool joins)
{
    const concat *s = k->state;
    uintptr_t all = (uintptr_t)whole;
    for (int i = 0; i < k->ninputs; i++) all |= (uintptr_t)in[i];
    const way *w = s->vectors.join && all % VECTOR_BYTES == 0 ? &s->vectors : &s->any;
    joining j = w->like;
    for (int i = 0; i < k->ninputs; i++) j.in[i] = in[i];
    j.out = whole;
    tutti_cuda_run(s->cuda, joins ? w->join : w->part, tutti_cuda_cover(j.n, TUTTI_CUDA_THREADS, w->each),
                   (void *[]){&j});
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    void *in[TUTTI_MAX_OP_INPUTS];
    for (int i = 0; i < k->ninputs; i++) in[i] = (void *)(uintptr_t)a->in[i];
    run(k, in, a->out, true);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    run(k, a->din, a->dout, false);
}

const tutti_kernel_row tutti_cuda_concat = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
