/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_walk.c: cuts the forward pass and the input gradient of a sparse convolution into rows, taps and tiles.
 *
 * The weights of a row of the kernel and a block of listed channels form a slab. The slab stays in the first-level
 * cache while it is multiplied with all rows of a tile. A tile has enough positions that fetching the slab costs little
 * in comparison, and few enough that its sums and lists stay in the second-level cache. */
#include "sparse_conv.h"

enum { SLAB_BYTES = 24 << 10, TILE_POSITIONS = 512, CHANNEL_UNIT = 16 };

int64_t tutti_sparse_nclasses(const tutti_sparse_walk *w)
{
    return w->back ? tutti_sparse_min(w->stride, w->kernel) : 1;
}

/* Returns class i. In the input gradient, position x of `to` reads through column j of the kernel if x + pad - j is a
 * multiple of the stride. So class i has columns i, i + stride, ... */
tutti_sparse_class tutti_sparse_class_of(const tutti_sparse_walk *w, int64_t i)
{
    if (!w->back)
        return (tutti_sparse_class){
            .step = 1, .n = w->to.width, .first = -w->pad, .stride = w->stride, .taps = w->kernel};
    tutti_sparse_class c = {.step = w->stride, .stride = 1, .taps = tutti_sparse_up(w->kernel - i, w->stride)};
    c.begin = (i + w->stride - w->pad % w->stride) % w->stride;
    c.n = tutti_sparse_max(0, tutti_sparse_up(w->to.width - c.begin, w->stride));
    c.first = (c.begin + w->pad - i) / w->stride - (c.taps - 1);
    for (int64_t j = 0; j < i; j++) c.before += tutti_sparse_up(w->kernel - j, w->stride);
    return c;
}

int64_t tutti_sparse_column(const tutti_sparse_walk *w, int64_t class, int64_t tap)
{
    const int64_t last = tutti_sparse_up(w->kernel - class, w->stride) - 1;
    return w->back ? class + w->stride * (last - tap) : tap;
}

int64_t tutti_sparse_row_of(const tutti_sparse_walk *w, int64_t y, int64_t i)
{
    const int64_t apart = y + w->pad - i, row = w->back ? apart / w->stride : y * w->stride - w->pad + i;
    if (w->back && (apart < 0 || apart % w->stride)) return -1;
    return row < w->from.height ? row : -1;
}

tutti_sparse_span tutti_sparse_span_of(const tutti_sparse_walk *w, const tutti_sparse_tile *t)
{
    const int64_t last = t->row + t->rows - 1, reach = t->row + w->pad - (w->kernel - 1);
    const tutti_sparse_span rows = w->back ? (tutti_sparse_span){reach > 0 ? tutti_sparse_up(reach, w->stride) : 0,
                                                                 (last + w->pad) / w->stride + 1}
                                           : (tutti_sparse_span){tutti_sparse_max(0, t->row * w->stride - w->pad),
                                                                 last * w->stride - w->pad + w->kernel};
    return (tutti_sparse_span){rows.first, tutti_sparse_max(rows.first, tutti_sparse_min(rows.end, w->from.height))};
}

static int64_t tiles_of_sample(const tutti_sparse_walk *w)
{
    return tutti_sparse_up(w->to.height, w->rows);
}

int64_t tutti_sparse_ntiles(const tutti_sparse_walk *w)
{
    return tutti_sparse_up(w->batch, w->samples) * tiles_of_sample(w);
}

tutti_sparse_tile tutti_sparse_tile_at(const tutti_sparse_walk *w, int64_t i)
{
    const int64_t sample = i / tiles_of_sample(w) * w->samples, row = i % tiles_of_sample(w) * w->rows;
    return (tutti_sparse_tile){sample, tutti_sparse_min(w->samples, w->batch - sample), row,
                               tutti_sparse_min(w->rows, w->to.height - row)};
}

static tutti_sparse_cut cut_into(int64_t channels, int64_t size)
{
    return (tutti_sparse_cut){channels, tutti_sparse_min(size, channels), tutti_sparse_up(channels, size)};
}

/* Cuts channels into blocks of equal size, each with as many vectors as the loops allow. */
static tutti_sparse_cut cut_vectors(int64_t channels, int64_t width, int *nvectors)
{
    const int64_t all = tutti_sparse_up(channels, width), n = tutti_sparse_up(all, TUTTI_SPARSE_SUM_VECTORS),
                  each = tutti_sparse_up(all, n);
    *nvectors = (int)each;
    return cut_into(channels, each * width);
}

static void cut_channels(const tutti_sparse_state *s, tutti_sparse_walk *w)
{
    const int64_t taps = w->back ? tutti_sparse_up(w->kernel, w->stride) : w->kernel,
                  vectors = w->dots ? w->from.channels : w->to.channels,
                  listed = w->dots ? w->to.channels : w->from.channels;
    w->vectors = cut_vectors(vectors, s->loops->width, &w->nvectors);
    w->lanes = w->nvectors * s->loops->width;
    const int64_t row = taps * w->lanes * (int64_t)sizeof(float), fit = SLAB_BYTES / row / CHANNEL_UNIT * CHANNEL_UNIT;
    w->lists = cut_into(listed, tutti_sparse_max(fit, CHANNEL_UNIT));
}

static void cut_tiles(tutti_sparse_walk *w)
{
    const int64_t plane = w->to.height * w->to.width;
    w->rows = tutti_sparse_min(w->to.height, tutti_sparse_max(1, TILE_POSITIONS / w->to.width));
    w->samples = w->rows < w->to.height ? 1 : tutti_sparse_min(w->batch, tutti_sparse_max(1, TILE_POSITIONS / plane));
    for (int64_t row = 0; row < w->to.height; row += w->rows) {
        const tutti_sparse_tile t = {0, 1, row, tutti_sparse_min(w->rows, w->to.height - row)};
        const tutti_sparse_span met = tutti_sparse_span_of(w, &t);
        w->from_rows = tutti_sparse_max(w->from_rows, met.end - met.first);
    }
}

static void reserve(const tutti_sparse_state *s, tutti_sparse_walk *w, size_t *scratch)
{
    const tutti_sparse_side *listed = w->dots ? &w->to : &w->from;
    const int64_t rows = w->dots ? w->rows : w->from_rows;
    const size_t lists = (size_t)(w->samples * rows), f = sizeof(float);
    const size_t numbers = lists * (size_t)(listed->width * listed->channels) + TUTTI_SPARSE_SLACK;
    w->weights_at = tutti_sparse_reserve(
        scratch,
        (size_t)(w->groups * w->vectors.n * w->lists.n * w->kernel * w->kernel * w->lists.size * w->lanes) * f);
    w->value_at = tutti_sparse_reserve(&w->tile, numbers * f);
    w->place_at = tutti_sparse_reserve(&w->tile, numbers * sizeof(int32_t));
    w->start_at =
        tutti_sparse_reserve(&w->tile, lists * (size_t)w->lists.n * (size_t)(listed->width + 1) * sizeof(int32_t));
    w->row_at = tutti_sparse_reserve(&w->tile, (size_t)(listed->width * w->lists.size) * f);
    const size_t positions = (size_t)(w->samples * w->rows * w->to.width);
    w->sums_at = tutti_sparse_reserve(&w->tile, (w->dots ? numbers : positions * (size_t)w->lanes) * f);
    if (w->dots)
        w->dout_at = tutti_sparse_reserve(&w->tile, (size_t)(w->samples * w->from_rows * w->from.width * w->lanes) * f);
    w->tiles_at = tutti_sparse_reserve(scratch, w->tile * (size_t)s->nthreads);
}

void tutti_sparse_plan_walk(tutti_sparse_state *s, tutti_sparse_walk *w, size_t *scratch)
{
    w->batch = s->batch, w->groups = s->groups;
    w->kernel = s->kernel, w->stride = s->stride, w->pad = s->pad;
    w->dots = w->back && s->masked;
    w->from = w->back ? s->out : s->in;
    w->to = w->back ? s->in : s->out;
    cut_channels(s, w);
    cut_tiles(w);
    reserve(s, w, scratch);
}
