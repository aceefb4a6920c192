/* SPDX-License-Identifier: Apache-2.0 */
/* lane_dropout.c: tutti's own dropout, in every order and type. The loops draw the reference's random numbers
 * (op_dropout.c), several at a time.
 *
 * saved: one byte for each number of the output, in the output's order; 1 means that the number is kept. Random words
 * are drawn in row-major order, four at a time. If the value has another order, a sample's bytes are first written to
 * scratch in row-major order. */
#include <math.h>
#include <string.h>

#include "../../base/rng.h"
#include "../crew.h"
#include "lane_value.h"

enum { DRAWS = 1 << 12 }; /* number of counters whose words a thread draws at once */

typedef struct {
    tutti_blocks at;
    int64_t n, sample; /* n: elements in memory, padding included; sample: elements of a sample, without padding */
    bool planes;       /* true if the value is row-major */
    float scale;
    uint32_t least;
    int nthreads;
} dropout;

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_dropout_attrs *at = k->attrs;
    dropout *s = tutti_alloc(sizeof *s);
    k->state = s;
    k->in_place = true;
    tutti_status st = tutti_lane_like_input(k, r, err);
    if (st == TUTTI_OK && r->training) st = tutti_op_dropout_needs(k, err);
    if (st != TUTTI_OK) return st;
    tutti_blocks_of(&k->in[0], &s->at);
    s->n = tutti_value_elements(&k->out);
    s->sample = tutti_shape_count(&k->out.shape) / s->at.batch;
    s->planes = k->in[0].layout == NULL;
    s->nthreads = r->nthreads < 1 ? 1 : r->nthreads;
    s->scale = (float)(1 / (1 - at->rate));
    /* a random word is at least s->least exactly if its upper 24 bits, times 2^-24, are at least the rate */
    s->least = (uint32_t)ceilf((float)at->rate * 0x1p24f) << 8;
    if (!r->training) return TUTTI_OK;
    k->saved_bytes = (size_t)s->n;
    if (!s->planes) k->scratch_bytes = (size_t)(s->nthreads * (s->sample + 4));
    return TUTTI_OK;
}

typedef struct {
    const tutti_kernel *k;
    const tutti_kernel_args *a;
    const void *from;
    void *to;
} job;

/* Draws the words of counters [first, first + n) of a sample. room: number of bytes of `lives` that may be written. */
static void draw(const job *j, int64_t sample, int64_t first, int64_t n, uint8_t *lives, int64_t room)
{
    const dropout *s = j->k->state;
    const tutti_dropout_keys keys = tutti_op_dropout_keys(j->a, sample);
    tutti_draw_call call = {.key = tutti_random_key(j->a->seed, TUTTI_STREAM_DROPOUT),
                            .a = keys.step,
                            .first = keys.sample + (uint64_t)first,
                            .n = n,
                            .least = s->least,
                            .lives = lives};
    if (4 * n > room) call.n--;
    tutti_lane_here()->draw(&call);
    if (call.n == n) return;
    uint8_t last[4];
    const int64_t done = 4 * call.n;
    call.first += (uint64_t)call.n, call.n = 1, call.lives = last;
    tutti_lane_here()->draw(&call);
    memcpy(lives + done, last, (size_t)(room - done));
}

static int64_t counters_of(const dropout *s)
{
    return (s->sample + 3) / 4;
}

static void draw_planes(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const dropout *s = j->k->state;
    const int64_t parts = (counters_of(s) + DRAWS - 1) / DRAWS;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t sample = i / parts, first = i % parts * DRAWS, left = counters_of(s) - first;
        draw(j, sample, first, left < DRAWS ? left : DRAWS, (uint8_t *)j->a->saved + sample * s->sample + 4 * first,
             s->sample - 4 * first);
    }
}

/* Copies the bytes of a sample from row-major order into the value's order. */
static void order_lives(const dropout *s, const uint8_t *from, uint8_t *to)
{
    const tutti_blocks *b = &s->at;
    memset(to, 0, (size_t)b->sample_step);
    for (int64_t c = 0; c < b->channels; c++) {
        uint8_t *at = to + c / b->block * b->block_step + c % b->block;
        for (int64_t p = 0; p < b->plane; p++) at[p * b->block] = *from++;
    }
}

static void draw_samples(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const dropout *s = j->k->state;
    uint8_t *own = (uint8_t *)j->a->scratch + thread * (s->sample + 4);
    for (int64_t i = begin; i < end; i++) {
        draw(j, i, 0, counters_of(s), own, s->sample + 4);
        order_lives(s, own, (uint8_t *)j->a->saved + i * s->at.sample_step);
    }
}

static void do_drops(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const dropout *s = j->k->state;
    const int64_t last = end * DRAWS < s->n ? end * DRAWS : s->n;
    (void)thread;
    tutti_lane_here()->drop(
        &(tutti_drop_call){j->k->out.dtype, j->from, j->a->saved, s->scale, j->to, begin * DRAWS, last});
}

static void drop(job *j)
{
    const dropout *s = j->k->state;
    tutti_crew_run(s->nthreads, (s->n + DRAWS - 1) / DRAWS, do_drops, j);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const dropout *s = k->state;
    job j = {k, a, a->in[0], a->out};
    if (!a->training) {
        if (a->out != a->in[0]) memcpy(a->out, a->in[0], k->out.bytes);
        return;
    }
    if (s->planes)
        tutti_crew_run(s->nthreads, s->at.batch * ((counters_of(s) + DRAWS - 1) / DRAWS), draw_planes, &j);
    else
        tutti_crew_run(s->nthreads, s->at.batch, draw_samples, &j);
    drop(&j);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    drop(&(job){k, a, a->dout, a->din[0]});
}

const tutti_kernel_row tutti_lane_dropout = {
    .takes_halves = true,
    .create = create,
    .destroy = tutti_lane_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
