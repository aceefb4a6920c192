/* SPDX-License-Identifier: Apache-2.0 */
/* lane_global_pool.c: global average pooling of our own, from every order and in every type into (batch, channels). */
#include <string.h>

#include "../crew.h"
#include "lane_value.h"

typedef struct {
    tutti_blocks in;
    int nthreads;
} global_pool;

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    global_pool *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->nthreads = r->nthreads < 1 ? 1 : r->nthreads;
    tutti_value out = k->out;
    tutti_status st = tutti_lane_like_input(k, r, err);
    if (st != TUTTI_OK) return st;
    out.dtype = k->in[0].dtype;
    out.bytes = (size_t)tutti_shape_count(&out.shape) * tutti_dtype_bytes(out.dtype);
    k->out = out;
    tutti_blocks_of(&k->in[0], &s->in);
    k->scratch_bytes = (size_t)(s->nthreads * s->in.block) * sizeof(float);
    return TUTTI_OK;
}

typedef struct {
    const tutti_kernel *k;
    const tutti_kernel_args *a;
} job;

/* A block of channels of one sample: the address of its plane, the number of its channels, and their index in the
 * output. */
typedef struct {
    size_t plane;
    int64_t n, out;
} piece;

static piece piece_at(const global_pool *s, int64_t i, size_t width)
{
    const tutti_blocks *b = &s->in;
    const int64_t sample = i / b->nblocks, first = i % b->nblocks * b->block, left = b->channels - first;
    return (piece){(size_t)(sample * b->sample_step + i % b->nblocks * b->block_step) * width,
                   left < b->block ? left : b->block, sample * b->channels + first};
}

static void do_means(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const global_pool *s = j->k->state;
    const tutti_lane_row *row = tutti_lane_here();
    const tutti_dtype type = j->k->out.dtype;
    float *sums = (float *)j->a->scratch + thread * s->in.block;
    for (int64_t i = begin; i < end; i++) {
        const piece p = piece_at(s, i, tutti_dtype_bytes(type));
        const tutti_lane_view from = {.memory = sums, .type = TUTTI_F32, .step = {1, p.n}},
                              to = {.memory = j->a->out, .type = type, .at = p.out, .step = {1, p.n}};
        row->plane_sums(type, (const char *)j->a->in[0] + p.plane, s->in.block, s->in.plane, sums);
        for (int64_t c = 0; c < p.n; c++) sums[c] /= (float)s->in.plane;
        row->copy(&from, &to, p.n, 1, false);
    }
}

/* Copies the first position to all other positions. The copied part doubles each time. */
static void spread(char *to, size_t nbytes, int64_t times)
{
    const size_t all = nbytes * (size_t)times;
    for (size_t done = nbytes; done < all; done *= 2) memcpy(to + done, to, done < all - done ? done : all - done);
}

static void do_gradients(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const global_pool *s = j->k->state;
    const tutti_lane_row *row = tutti_lane_here();
    const tutti_dtype type = j->k->out.dtype;
    const size_t width = tutti_dtype_bytes(type);
    float *shares = (float *)j->a->scratch + thread * s->in.block;
    for (int64_t i = begin; i < end; i++) {
        const piece p = piece_at(s, i, width);
        char *plane = (char *)j->a->din[0] + p.plane;
        const tutti_lane_view from = {.memory = j->a->dout, .type = type, .at = p.out, .step = {1, p.n}},
                              wide = {.memory = shares, .type = TUTTI_F32, .step = {1, p.n}},
                              to = {.memory = plane, .type = type, .step = {1, p.n}};
        row->copy(&from, &wide, p.n, 1, false);
        for (int64_t c = 0; c < p.n; c++) shares[c] /= (float)s->in.plane;
        memset(plane, 0, (size_t)s->in.block * width);
        row->copy(&wide, &to, p.n, 1, false);
        spread(plane, (size_t)s->in.block * width, s->in.plane);
    }
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const global_pool *s = k->state;
    tutti_crew_run(s->nthreads, s->in.batch * s->in.nblocks, do_means, &(job){k, a});
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const global_pool *s = k->state;
    tutti_crew_run(s->nthreads, s->in.batch * s->in.nblocks, do_gradients, &(job){k, a});
}

const tutti_kernel_row tutti_lane_global_pool = {
    .takes_halves = true,
    .create = create,
    .destroy = tutti_lane_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
