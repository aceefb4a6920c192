/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_weights.c: the gradient of a sparse convolution's weights and bias.
 *
 * Each thread has input channels of its own and goes through all tiles for them, so sums of threads never have to be
 * added up. For each tile there is a list for each input channel, and a copy of the output's gradients: the channels of
 * one block of vectors, innermost, with zeros where there is no output. Tap (i, j) multiplies a listed element with the
 * gradient that lies i rows and j positions before the element's own position. With a stride, inputs fall into classes
 * that meet different taps; within a class the stride is 1. */
#include <string.h>

#include "../../tensor/elementwise.h"
#include "../crew.h"
#include "sparse_conv.h"

enum { TILE_POSITIONS = 256, UNIT = 16, CHUNK = 64, MOST_CHUNK = 256 };

typedef struct {
    const tutti_sparse_state *s;
    const tutti_kernel_args *a;
    tutti_lane_place in, dout;
} job;

/* A tile: input channels [channel, channel + channels) of one group, and rows of the classes of input positions. */
typedef struct {
    tutti_sparse_tile at;
    int64_t group, channel, channels;
    tutti_sparse_list list; /* nonzero inputs; `start` has one entry for each (class, channel), in this order */
    int32_t *row_start;     /* scratch, in which the list loop writes `start` for one row */
    float *plane, *row, *dout;
} tile;

/* --- shapes --- */

static tutti_sparse_cut cut_vectors(tutti_sparse_sum *g, int64_t channels, int64_t width)
{
    const int64_t all = tutti_sparse_up(channels, width);
    g->nvectors = (int)tutti_sparse_min(all, TUTTI_SPARSE_WEIGHT_VECTORS);
    g->lanes = g->nvectors * width;
    return (tutti_sparse_cut){channels, tutti_sparse_min(g->lanes, channels), tutti_sparse_up(channels, g->lanes)};
}

static void cut_tiles(const tutti_sparse_state *s, tutti_sparse_sum *g)
{
    const int64_t padded = g->reach - 1;
    g->row = g->width + padded;
    g->rows = tutti_sparse_min(g->height, tutti_sparse_max(1, TILE_POSITIONS / g->row - padded));
    g->samples = g->rows < g->height
                     ? 1
                     : tutti_sparse_min(s->batch, tutti_sparse_max(1, TILE_POSITIONS / ((g->rows + padded) * g->row)));
}

/* Returns the number of channels in a chunk. The number is lower if a thread would otherwise have no chunk. */
static int64_t chunk_of(const tutti_sparse_state *s)
{
    const int64_t few = CHUNK * 9 / (s->kernel * s->kernel), most = tutti_sparse_min(few, MOST_CHUNK),
                  share = tutti_sparse_up(s->in.channels * s->groups, s->nthreads),
                  chunk = tutti_sparse_min(tutti_sparse_max(most, UNIT), tutti_sparse_min(share, s->in.channels));
    return tutti_sparse_up(chunk, UNIT) * UNIT;
}

static int64_t chunks_of(const tutti_sparse_state *s)
{
    return tutti_sparse_up(s->in.channels, s->gradient.chunk);
}

void tutti_sparse_plan_gradient(tutti_sparse_state *s, size_t *scratch)
{
    tutti_sparse_sum *g = &s->gradient;
    const size_t f = sizeof(float);
    g->classes = tutti_sparse_min(s->stride, s->kernel);
    g->reach = tutti_sparse_up(s->kernel, s->stride);
    g->height = (s->in.height - 1 + s->pad) / s->stride + 1;
    g->width = (s->in.width - 1 + s->pad) / s->stride + 1;
    g->vectors = cut_vectors(g, s->out.channels, s->loops->width);
    g->chunk = chunk_of(s);
    cut_tiles(s, g);
    /* sums of the bias, with room for channels that fill up the last blocks */
    const int64_t sums = s->groups * s->out.channels + 2 * UNIT;
    const int64_t positions = g->samples * g->rows * g->width, lists = g->classes * g->classes * g->chunk;
    const size_t numbers = (size_t)(lists * positions) + TUTTI_SPARSE_SLACK;
    g->sums_at = tutti_sparse_reserve(
        scratch, (size_t)(s->groups * g->vectors.n * s->in.channels * s->kernel * s->kernel * g->lanes) * f);
    g->value_at = tutti_sparse_reserve(&g->tile, numbers * f);
    g->place_at = tutti_sparse_reserve(&g->tile, numbers * sizeof(int32_t));
    g->start_at = tutti_sparse_reserve(&g->tile, (size_t)(lists + g->rows + 2) * sizeof(int32_t));
    g->plane_at = tutti_sparse_reserve(&g->tile, (size_t)(UNIT * positions) * f);
    g->row_at = tutti_sparse_reserve(&g->tile, (size_t)(tutti_sparse_max(UNIT * s->in.width, sums)) * f);
    g->dout_at =
        tutti_sparse_reserve(&g->tile, (size_t)(g->samples * (g->rows + g->reach - 1) * g->row * g->lanes) * f);
    g->tiles_at = tutti_sparse_reserve(scratch, g->tile * (size_t)s->nthreads);
}

/* --- lists --- */

/* The positions of a class in one direction: positions [first, end) lie in the input. at: the input position of the
 * first one. */
typedef struct {
    int64_t first, end, input;
} side;

static side side_of(const tutti_sparse_state *s, int64_t class, int64_t begin, int64_t n, int64_t size)
{
    const int64_t before = s->pad - class, first = before > 0 ? tutti_sparse_up(before, s->stride) : 0,
                  last = size - 1 + before, end = last < 0 ? 0 : last / s->stride + 1;
    side of = {tutti_sparse_max(first, begin), tutti_sparse_min(end, begin + n), 0};
    of.end = tutti_sparse_max(of.first, of.end);
    of.input = of.first * s->stride - before;
    return of;
}

/* Copies n channels into planes that have only the class's positions, for all samples of the tile. */
static void take_planes(const job *j, const tile *t, int64_t channel, int64_t n, side y, side x)
{
    const int64_t stride = j->s->stride, width = x.end - x.first, rows = y.end - y.first;
    for (int64_t i = 0; i < t->at.samples * rows; i++) {
        const tutti_sparse_part line = {.sample = t->at.sample + i / rows,
                                        .channel = t->group * j->s->in.channels + channel,
                                        .nchannels = n,
                                        .position = (y.input + i % rows * stride) * j->s->in.width + x.input,
                                        .npositions = stride == 1 ? width : (width - 1) * stride + 1,
                                        .step = 1};
        const tutti_lane_view to = {.memory = t->plane,
                                    .type = TUTTI_F32,
                                    .at = i * width,
                                    .step = {t->at.samples * rows * width, 1}},
                              row = {.memory = t->row, .type = TUTTI_F32, .step = {1, n}},
                              strided = {.memory = t->row, .type = TUTTI_F32, .step = {1, n * stride}};
        tutti_sparse_take(&j->in, &line, stride == 1 ? &to : &row);
        if (stride > 1) tutti_lane_here()->copy(&strided, &to, n, width, false);
    }
}

/* Appends the nonzero inputs of one class to the tile's list of n elements, and returns the new n. */
static int64_t list_class(const job *j, const tile *t, int64_t class, int64_t n)
{
    const tutti_sparse_state *s = j->s;
    const tutti_sparse_sum *g = &s->gradient;
    const side y = side_of(s, class / g->classes, t->at.row, t->at.rows, s->in.height),
               x = side_of(s, class % g->classes, 0, g->width, s->in.width);
    const int64_t width = x.end - x.first, rows = y.end - y.first, before = g->reach - 1, padded = t->at.rows + before;
    int32_t *start = t->list.start + class * t->channels;
    tutti_sparse_list_call call = {.positions = width > 0 ? rows : 0,
                                   .position_step = width,
                                   .channels = width,
                                   .segment = width,
                                   .apart = g->row,
                                   .to = {t->list.value, t->list.place, t->row_start}};
    for (int64_t c = 0; c < t->channels; c++) {
        if (c % UNIT == 0 && call.positions)
            take_planes(j, t, t->channel + c, tutti_sparse_min(UNIT, t->channels - c), y, x);
        start[c] = (int32_t)n;
        for (int64_t i = 0; i < t->at.samples; i++) {
            call.from = t->plane + (c % UNIT * t->at.samples + i) * rows * width;
            call.place = (i * padded + y.first - t->at.row + before) * g->row + x.first + before;
            call.n = n;
            n = s->loops->list(&call);
        }
    }
    start[t->channels] = (int32_t)n;
    return n;
}

/* --- products with gradients --- */

static void take_gradient(const job *j, const tile *t, int64_t vectors)
{
    const tutti_sparse_state *s = j->s;
    const tutti_sparse_sum *g = &s->gradient;
    const int64_t before = g->reach - 1, padded = t->at.rows + before, first = t->at.row - before;
    memset(t->dout, 0, (size_t)(t->at.samples * padded * g->row * g->lanes) * sizeof *t->dout);
    for (int64_t i = 0; i < t->at.samples * padded; i++) {
        const int64_t y = first + i % padded;
        if (y < 0 || y >= s->out.height) continue;
        const tutti_sparse_part row = {.sample = t->at.sample + i / padded,
                                       .channel = t->group * s->out.channels + vectors * g->vectors.size,
                                       .nchannels = tutti_sparse_block(&g->vectors, vectors),
                                       .position = y * s->out.width,
                                       .npositions = tutti_sparse_min(s->out.width, g->width),
                                       .step = 1};
        const tutti_lane_view to = {
            .memory = t->dout, .type = TUTTI_F32, .at = (i * g->row + before) * g->lanes, .step = {1, g->lanes}};
        tutti_sparse_take(&j->dout, &row, &to);
    }
}

/* Returns the address of the sums of a group, a block of vectors and a channel. Sums lie in the order (group, block of
 * vectors, channel, row, column, lane). */
static float *sums_of(const job *j, int64_t group, int64_t vectors, int64_t channel)
{
    const tutti_sparse_state *s = j->s;
    const int64_t number = (group * s->gradient.vectors.n + vectors) * s->in.channels + channel;
    return (float *)tutti_sparse_at(j->a->scratch, s->gradient.sums_at) +
           number * s->kernel * s->kernel * s->gradient.lanes;
}

static void add_class(const job *j, const tile *t, int64_t vectors, int64_t class)
{
    const tutti_sparse_state *s = j->s;
    const tutti_sparse_sum *g = &s->gradient;
    const int64_t y = class / g->classes, x = class % g->classes;
    const int32_t *start = t->list.start + class * t->channels;
    tutti_sparse_weight_call call = {.dout = t->dout,
                                     .row = g->row,
                                     .row_step = s->stride * s->kernel * g->lanes,
                                     .step = s->stride * g->lanes,
                                     .ny = tutti_sparse_up(s->kernel - y, s->stride),
                                     .nx = tutti_sparse_up(s->kernel - x, s->stride),
                                     .nvectors = g->nvectors};
    for (int64_t c = 0; c < t->channels; c++) {
        call.list = (tutti_sparse_list){t->list.value + start[c], t->list.place + start[c], NULL};
        call.n = start[c + 1] - start[c];
        call.dweights = sums_of(j, t->group, vectors, t->channel + c) + (y * s->kernel + x) * g->lanes;
        s->loops->weight(&call);
    }
}

static void do_tile(const job *j, const tile *t)
{
    const tutti_sparse_sum *g = &j->s->gradient;
    const int64_t classes = g->classes * g->classes;
    int64_t n = 0;
    for (int64_t class = 0; class < classes; class ++) n = list_class(j, t, class, n);
    for (int64_t vectors = 0; vectors < g->vectors.n && n; vectors++) {
        take_gradient(j, t, vectors);
        for (int64_t class = 0; class < classes; class ++) add_class(j, t, vectors, class);
    }
}

static void give_weights(const job *j, const tile *t, int64_t vectors, int64_t channel)
{
    const tutti_sparse_state *s = j->s;
    const tutti_sparse_offsets *o = &s->weights;
    const int64_t first = t->group * s->out.channels + vectors * s->gradient.vectors.size;
    const float *from = sums_of(j, t->group, vectors, channel);
    for (int64_t y = 0; y < s->kernel; y++)
        for (int64_t x = 0; x < s->kernel; x++, from += s->gradient.lanes) {
            float *to = j->a->dparam[0] + o->c[channel] + o->y[y] + o->x[x];
            for (int64_t v = 0; v < tutti_sparse_block(&s->gradient.vectors, vectors); v++)
                to[o->n[first + v]] = from[v];
        }
}

static void do_channels(const job *j, tile *t)
{
    const tutti_sparse_state *s = j->s;
    const tutti_sparse_sum *g = &s->gradient;
    const size_t sums = (size_t)(t->channels * s->kernel * s->kernel * g->lanes);
    for (int64_t v = 0; v < g->vectors.n; v++) memset(sums_of(j, t->group, v, t->channel), 0, sums * sizeof(float));
    for (t->at.sample = 0; t->at.sample < s->batch; t->at.sample += g->samples)
        for (t->at.row = 0; t->at.row < g->height; t->at.row += g->rows) {
            t->at.samples = tutti_sparse_min(g->samples, s->batch - t->at.sample);
            t->at.rows = tutti_sparse_min(g->rows, g->height - t->at.row);
            do_tile(j, t);
        }
    for (int64_t v = 0; v < g->vectors.n; v++)
        for (int64_t c = 0; c < t->channels; c++) give_weights(j, t, v, t->channel + c);
}

static void do_chunks(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const tutti_sparse_sum *g = &j->s->gradient;
    const char *mine = tutti_sparse_at(j->a->scratch, g->tiles_at + (size_t)thread * g->tile);
    tile t = {.list = {tutti_sparse_at(mine, g->value_at), tutti_sparse_at(mine, g->place_at),
                       tutti_sparse_at(mine, g->start_at)},
              .plane = tutti_sparse_at(mine, g->plane_at),
              .row = tutti_sparse_at(mine, g->row_at),
              .dout = tutti_sparse_at(mine, g->dout_at)};
    t.row_start = t.list.start + g->classes * g->classes * g->chunk + 1;
    for (int64_t i = begin; i < end; i++) {
        t.group = i / chunks_of(j->s);
        t.channel = i % chunks_of(j->s) * g->chunk;
        t.channels = tutti_sparse_min(g->chunk, j->s->in.channels - t.channel);
        do_channels(j, &t);
    }
}

/* Computes the gradient of the bias: sums dout over the positions of one sample after the other. */
static void sum_bias(const tutti_lane_place *dout, int64_t channels, float *sums, float *dbias)
{
    const tutti_blocks *b = &dout->at;
    memset(dbias, 0, (size_t)channels * sizeof *dbias);
    for (int64_t sample = 0; sample < b->batch; sample++)
        for (int64_t block = 0; block < b->nblocks; block++) {
            const float *from = (const float *)dout->memory + sample * b->sample_step + block * b->block_step;
            const int64_t first = block * b->block;
            tutti_lane_here()->plane_sums(TUTTI_F32, from, b->block, b->plane, sums);
            tutti_elementwise_add(dbias + first, sums, tutti_sparse_min(b->block, channels - first));
        }
}

void tutti_sparse_run_gradient(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_sparse_state *s = k->state;
    job j = {.s = s,
             .a = a,
             .in = tutti_lane_place_of(&k->in[0], a->in[0], 0),
             .dout = tutti_lane_place_of(&k->out, a->dout, 0)};
    if (k->params[0].layout) memset(a->dparam[0], 0, (size_t)k->params[0].elements * sizeof(float));
    if (s->outputs)
        tutti_sparse_run_windows(k, a);
    else
        tutti_crew_run(s->nthreads, s->groups * chunks_of(s), do_chunks, &j);
    float *sums = tutti_sparse_at(a->scratch, s->gradient.tiles_at + s->gradient.row_at);
    if (k->nparams > 1) sum_bias(&j.dout, k->out.shape.dim[1], sums, a->dparam[1]);
}
