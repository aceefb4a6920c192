/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_dots.c: the input gradient of a sparse convolution whose input a ReLU made. The ReLU masks the gradient where
 * the input is zero, so only the other elements are computed and the rest is zero. Each gradient is a sum of products:
 * the output's gradient, with channels innermost, times the weights of the input element. */
#include <string.h>

#include "../crew.h"
#include "sparse_conv.h"

typedef struct {
    const tutti_sparse_state *s;
    const tutti_sparse_walk *w;
    const tutti_kernel_args *a;
    tutti_lane_place dout, in, din;
} job;

/* A tile of the input, with the lists of its nonzero elements, and the output's gradient for one block of vectors, with
 * channels innermost. */
typedef struct {
    tutti_sparse_tile at;
    tutti_sparse_span from;
    int64_t group;
    tutti_sparse_list list;
    float *sums, *dout;
} tile;

static int32_t *starts_of(const job *j, const tile *t, int64_t row, int64_t lists)
{
    return t->list.start + (row * j->w->lists.n + lists) * (j->w->to.width + 1);
}

static int64_t numbers_of(const job *j, const tile *t)
{
    return starts_of(j, t, t->at.samples * t->at.rows - 1, j->w->lists.n - 1)[j->w->to.width];
}

/* Copies the output's gradient of a tile, channels innermost. Lanes behind the last channel become zeros: they are
 * multiplied by zeros, so they must not be NaN or infinite. */
static void take_gradient(const job *j, const tile *t, int64_t vectors)
{
    const tutti_sparse_walk *w = j->w;
    const int64_t channels = tutti_sparse_block(&w->vectors, vectors), nrows = t->from.end - t->from.first,
                  plane = nrows * w->from.width;
    if (channels < w->lanes) memset(t->dout, 0, (size_t)(t->at.samples * plane * w->lanes) * sizeof *t->dout);
    for (int64_t s = 0; s < t->at.samples; s++) {
        const tutti_sparse_part part = {.sample = t->at.sample + s,
                                        .channel = t->group * w->from.channels + vectors * w->vectors.size,
                                        .nchannels = channels,
                                        .position = t->from.first * w->from.width,
                                        .npositions = plane,
                                        .step = 1};
        const tutti_lane_view to = {
            .memory = t->dout, .type = TUTTI_F32, .at = s * plane * w->lanes, .step = {1, w->lanes}};
        tutti_sparse_take(&j->dout, &part, &to);
    }
}

static void add_slab(const job *j, const tile *t, int64_t vectors, int64_t lists, int64_t kernel_row)
{
    const tutti_sparse_walk *w = j->w;
    const int64_t nrows = t->from.end - t->from.first;
    const float *slab = tutti_sparse_slab(w, j->a, t->group, vectors, lists, kernel_row);
    for (int64_t i = 0; i < tutti_sparse_nclasses(w); i++) {
        const tutti_sparse_class class = tutti_sparse_class_of(w, i);
        tutti_sparse_dot_call call = {.list = t->list,
                                      .sums = t->sums,
                                      .apart = w->lists.size,
                                      .begin = class.begin,
                                      .step = class.step,
                                      .n = class.n,
                                      .weights = slab + class.before * w->lists.size * w->lanes,
                                      .width = w->from.width,
                                      .first = class.first,
                                      .taps = class.taps,
                                      .nvectors = w->nvectors};
        for (int64_t s = 0; s < t->at.samples; s++)
            for (int64_t y = 0; y < t->at.rows; y++) {
                const int64_t row = tutti_sparse_row_of(w, t->at.row + y, kernel_row);
                if (row < 0) continue;
                call.list.start = starts_of(j, t, s * t->at.rows + y, lists);
                call.dout = t->dout + (s * nrows + row - t->from.first) * w->from.width * w->lanes;
                j->s->loops->dot(&call);
            }
    }
}

static void clear(const job *j, const tutti_sparse_tile *t)
{
    const tutti_blocks *b = &j->din.at;
    const size_t n = (size_t)(t->rows * b->width * b->block) * sizeof(float);
    for (int64_t s = t->sample; s < t->sample + t->samples; s++)
        for (int64_t block = 0; block < b->nblocks; block++)
            memset((float *)j->din.memory + s * b->sample_step + block * b->block_step + t->row * b->width * b->block,
                   0, n);
}

/* Writes the sum of each listed element to the element's place in the input's gradient. */
static void give_list(const job *j, const tile *t, int64_t sample, int64_t y, int64_t lists)
{
    const tutti_sparse_walk *w = j->w;
    const tutti_blocks *b = &j->din.at;
    const int32_t *start = starts_of(j, t, sample * t->at.rows + y, lists);
    const int64_t channel = t->group * w->to.channels + lists * w->lists.size;
    float *row =
        (float *)j->din.memory + (t->at.sample + sample) * b->sample_step + (t->at.row + y) * b->width * b->block;
    for (int64_t x = 0; x < w->to.width; x++)
        for (int32_t i = start[x]; i < start[x + 1]; i++) {
            const int64_t c = channel + t->list.place[i] - x * w->lists.size;
            row[c / b->block * b->block_step + c % b->block + x * b->block] = t->sums[i];
        }
}

static void do_tile(const job *j, tile *t, float *buffer)
{
    const tutti_sparse_walk *w = j->w;
    tutti_lane_place in = j->in;
    clear(j, &t->at);
    for (t->group = 0; t->group < w->groups; t->group++) {
        in.channel = j->in.channel + t->group * w->to.channels;
        tutti_sparse_list_rows(j->s, &in, &w->lists, &t->at, &t->list, buffer);
        memset(t->sums, 0, (size_t)numbers_of(j, t) * sizeof *t->sums);
        for (int64_t vectors = 0; vectors < w->vectors.n; vectors++) {
            take_gradient(j, t, vectors);
            for (int64_t lists = 0; lists < w->lists.n; lists++)
                for (int64_t row = 0; row < w->kernel; row++) add_slab(j, t, vectors, lists, row);
        }
        for (int64_t s = 0; s < t->at.samples; s++)
            for (int64_t y = 0; y < t->at.rows; y++)
                for (int64_t lists = 0; lists < w->lists.n; lists++) give_list(j, t, s, y, lists);
    }
}

static void do_tiles(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const tutti_sparse_walk *w = j->w;
    const char *mine = tutti_sparse_at(j->a->scratch, w->tiles_at + (size_t)thread * w->tile);
    tile t = {.list = {tutti_sparse_at(mine, w->value_at), tutti_sparse_at(mine, w->place_at),
                       tutti_sparse_at(mine, w->start_at)},
              .sums = tutti_sparse_at(mine, w->sums_at),
              .dout = tutti_sparse_at(mine, w->dout_at)};
    for (int64_t i = begin; i < end; i++) {
        t.at = tutti_sparse_tile_at(w, i);
        t.from = tutti_sparse_span_of(w, &t.at);
        do_tile(j, &t, tutti_sparse_at(mine, w->row_at));
    }
}

void tutti_sparse_run_dots(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_sparse_state *s = k->state;
    job j = {.s = s,
             .w = &s->back,
             .a = a,
             .dout = tutti_lane_place_of(&k->out, a->dout, 0),
             .in = tutti_lane_place_of(&k->in[0], a->in[0], 0),
             .din = tutti_lane_place_of(&k->in[0], a->din[0], 0)};
    tutti_sparse_fill_slabs(k, &s->back, a);
    tutti_crew_run(s->nthreads, tutti_sparse_ntiles(&s->back), do_tiles, &j);
}
