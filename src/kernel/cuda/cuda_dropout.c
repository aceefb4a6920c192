/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_dropout.c: dropout on a card, with the reference's random numbers (op_dropout.c), in every order and type. The
 * backward pass draws them again, which costs less than reading a saved mask. */
#include <math.h>

#include "../../base/rng.h"
#include "cuda_rows.h"

enum { WORDS = 4 }; /* number of random words that the generator yields for one counter value */

/* The struct `dropping` of dropout.cu, declared again with the same fields. */
typedef struct {
    const void *from;
    void *to;
    const uint64_t *varying;
    uint64_t stream;
    int64_t sample, n, channels, plane;
    int32_t from_type, to_type;
    uint32_t layer, least;
    float scale;
} dropping;

typedef struct {
    tutti_cuda *cuda;
    const tutti_cuda_values *values;
    tutti_cuda_function drop;
    dropping like; /* arguments of the launches; addresses, types and layer are filled in for each call */
} dropout;

static void describe(const tutti_kernel *k, dropout *s, const char **entry)
{
    const tutti_dropout_attrs *at = k->attrs;
    tutti_blocks b;
    tutti_blocks_of(&k->out, &b);
    dropping *d = &s->like;
    *d = (dropping){.stream = tutti_random_key(0, TUTTI_STREAM_DROPOUT),
                    .sample = tutti_shape_count(&k->out.shape) / b.batch,
                    .channels = b.channels,
                    .plane = b.plane,
                    /* an element is kept if its random word is at least this; the word's upper 24 bits decide */
                    .least = (uint32_t)ceilf((float)at->rate * 0x1p24f) << 8,
                    .scale = (float)(1 / (1 - at->rate))};
    const bool is_nhwc = tutti_cuda_is_nhwc(&k->out), by_positions = is_nhwc && b.plane % WORDS == 0;
    if (!is_nhwc)
        d->n = b.batch * ((d->sample + WORDS - 1) / WORDS);
    else
        d->n = tutti_value_elements(&k->out) / (by_positions ? WORDS : 1);
    *entry = by_positions ? "drop_positions" : is_nhwc ? "drop_each" : "drop_rows";
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    dropout *s = tutti_alloc(sizeof *s);
    tutti_cuda_wanted wanted = {NULL, &s->drop};
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    tutti_status st = tutti_cuda_like_input(k, r, err);
    if (!st && r->training) st = tutti_op_dropout_needs(k, err); /* refuses samples that are too large */
    if (st) return st;
    k->saved_bytes = 0, k->backward_reads = 0;
    k->in_place = k->in[0].dtype == k->out.dtype;
    describe(k, s, &wanted.entry);
    st = tutti_cuda_values_of(s->cuda, &s->values, err);
    return st ? st : tutti_cuda_find_all(s->cuda, tutti_kernel_texts, "dropout", &wanted, 1, err);
}

static void drop(const tutti_kernel *k, const tutti_kernel_args *a, tutti_cuda_place from, tutti_cuda_place to)
{
    const dropout *s = k->state;
    dropping d = s->like;
    d.from = from.memory, d.from_type = (int32_t)from.value->dtype;
    d.to = to.memory, d.to_type = (int32_t)to.value->dtype;
    d.varying = a->drawn;
    d.layer = a->layer;
    tutti_cuda_run(s->cuda, s->drop, tutti_cuda_cover(d.n, TUTTI_CUDA_THREADS, 1), (void *[]){&d});
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const dropout *s = k->state;
    const tutti_cuda_place in = {&k->in[0], (void *)(uintptr_t)a->in[0]}, out = {&k->out, a->out};
    if (a->training)
        drop(k, a, in, out);
    else
        tutti_cuda_value_move(s->cuda, s->values, in, out);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    if (a->din[0]) drop(k, a, (tutti_cuda_place){&k->out, a->dout}, (tutti_cuda_place){&k->in[0], a->din[0]});
}

const tutti_kernel_row tutti_cuda_dropout = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
