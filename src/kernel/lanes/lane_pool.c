/* SPDX-License-Identifier: Apache-2.0 */
/* lane_pool.c: tutti's own max and average pooling, in every order and type. saved: for max pooling, a byte for each
 * number of the output: the index of the largest element of its window.
 *
 * The loops need channels side by side. Row-major planes are transposed, sixteen at a time, into a piece of scratch
 * that stays in a cache, and the results are transposed back. */
#include "../crew.h"
#include "lane_value.h"

/* PLANES: number of planes that are transposed at once. MOST_ELEMENTS: largest number of elements in a window, because
 * an element's index is a byte */
enum { PLANES = 16, MOST_ELEMENTS = 256 };

typedef struct {
    tutti_blocks in, out;
    tutti_pool_attrs window;
    tutti_layout layout;
    const tutti_lane_row *row;
    bool is_max, turns;
    /* lanes: number of channels side by side in the loops' input; groups: number of such groups of channels in a
     * sample */
    int64_t lanes, groups;
    int nthreads;
} pool;

static size_t in_lines(size_t nbytes)
{
    return (nbytes + 63) / 64 * 64;
}

/* Returns the bytes of the planes of one group, in this type. */
static size_t piece_bytes(const pool *s, const tutti_blocks *b, tutti_dtype type)
{
    return in_lines((size_t)(b->plane * s->lanes) * tutti_dtype_bytes(type));
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_pool_attrs window = tutti_op_pool_window(k->attrs);
    if (window.kernel * window.kernel > MOST_ELEMENTS) return tutti_kernel_fall_back(k, r, err);
    pool *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->window = window;
    s->is_max = k->op == &tutti_op_max_pool;
    s->nthreads = r->nthreads < 1 ? 1 : r->nthreads;
    tutti_status st = tutti_lane_like_input(k, r, err);
    if (st != TUTTI_OK) return st;
    tutti_order_apply(tutti_order_of(&k->in[0]), &k->out, &s->layout);
    tutti_blocks_of(&k->in[0], &s->in);
    tutti_blocks_of(&k->out, &s->out);
    s->turns = k->in[0].layout == NULL;
    s->lanes = !s->turns ? s->in.block : s->in.channels < PLANES ? s->in.channels : PLANES;
    s->groups = (s->in.channels + s->lanes - 1) / s->lanes;
    s->row = tutti_lane_for(s->lanes);
    if (s->turns)
        k->scratch_bytes =
            (size_t)s->nthreads * (piece_bytes(s, &s->in, k->out.dtype) + piece_bytes(s, &s->out, k->out.dtype));
    if (!r->training || !s->is_max) return TUTTI_OK;
    k->saved_bytes = (size_t)(s->in.batch * s->groups * s->lanes * s->out.plane);
    k->backward_reads = TUTTI_READS_SAVED;
    return TUTTI_OK;
}

typedef struct {
    const tutti_kernel *k;
    const tutti_kernel_args *a;
    bool forward;
} job;

/* The value that the loops read and the value that they write. */
typedef struct {
    const tutti_blocks *from_blocks, *to_blocks;
    const void *from;
    void *to;
} sides;

static sides sides_of(const job *j)
{
    const pool *s = j->k->state;
    if (j->forward) return (sides){&s->in, &s->out, j->a->in[0], j->a->out};
    return (sides){&s->out, &s->in, j->a->dout, j->a->din[0]};
}

static tutti_pool_call call_of(const job *j)
{
    const pool *s = j->k->state;
    return (tutti_pool_call){.type = j->k->out.dtype,
                             .lanes = s->lanes,
                             .height = s->in.height,
                             .width = s->in.width,
                             .out_height = s->out.height,
                             .out_width = s->out.width,
                             .kernel = s->window.kernel,
                             .stride = s->window.stride,
                             .pad = s->window.pad,
                             .is_max = s->is_max};
}

static uint8_t *winners_at(const job *j, int64_t group)
{
    const pool *s = j->k->state;
    return j->k->saved_bytes ? (uint8_t *)j->a->saved + group * s->lanes * s->out.plane : NULL;
}

/* Computes rows [begin, end) of all planes, counted one plane after the other. */
static void do_rows(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const pool *s = j->k->state;
    const sides at = sides_of(j);
    const size_t width = tutti_dtype_bytes(j->k->out.dtype);
    tutti_pool_call call = call_of(j);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t group = i / at.to_blocks->height;
        call.in = (const char *)at.from + (size_t)(group * at.from_blocks->block_step) * width;
        call.to = (char *)at.to + (size_t)(group * at.to_blocks->block_step) * width;
        call.winner = winners_at(j, group);
        (j->forward ? s->row->pool : s->row->pool_gradient)(&call, i % at.to_blocks->height);
    }
}

/* Transposes planes of a sample into a piece in scratch, runs the loops, and transposes the result back. */
static void do_groups(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const pool *s = j->k->state;
    const sides at = sides_of(j);
    const tutti_dtype type = j->k->out.dtype;
    const size_t from_bytes = piece_bytes(s, at.from_blocks, type), to_bytes = piece_bytes(s, at.to_blocks, type);
    char *const own = (char *)j->a->scratch + (size_t)thread * (from_bytes + to_bytes);
    const tutti_lane_place from = {*at.from_blocks, type, (void *)at.from, 0}, to = {*at.to_blocks, type, at.to, 0};
    const tutti_lane_view in = {.memory = own, .type = type, .step = {1, s->lanes}},
                          out = {.memory = own + from_bytes, .type = type, .step = {1, s->lanes}};
    tutti_pool_call call = call_of(j);
    call.in = in.memory;
    call.to = out.memory;
    for (int64_t group = begin; group < end; group++) {
        const int64_t sample = group / s->groups, channel = group % s->groups * s->lanes,
                      left = s->in.channels - channel;
        const int64_t n = left < s->lanes ? left : s->lanes;
        const tutti_lane_view planes = tutti_lane_view_of(&from, sample, channel, 0),
                              back = tutti_lane_view_of(&to, sample, channel, 0);
        call.winner = winners_at(j, group);
        s->row->copy(&planes, &in, n, at.from_blocks->plane, false);
        for (int64_t y = 0; y < at.to_blocks->height; y++)
            (j->forward ? s->row->pool : s->row->pool_gradient)(&call, y);
        s->row->copy(&out, &back, n, at.to_blocks->plane, false);
    }
}

static void run(const job *j)
{
    const pool *s = j->k->state;
    const int64_t groups = s->in.batch * s->groups;
    if (s->turns)
        tutti_crew_run(s->nthreads, groups, do_groups, (void *)j);
    else
        tutti_crew_run(s->nthreads, groups * (j->forward ? s->out.height : s->in.height), do_rows, (void *)j);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    run(&(job){k, a, true});
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    run(&(job){k, a, false});
}

const tutti_kernel_row tutti_lane_pool = {
    .takes_halves = true,
    .create = create,
    .destroy = tutti_lane_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
