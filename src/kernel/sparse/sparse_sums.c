/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_sums.c: the forward pass of a sparse convolution, and its input gradient from lists of a masked output
 * gradient. */
#include "../crew.h"
#include "sparse_conv.h"

typedef struct {
    const tutti_sparse_state *s;
    const tutti_sparse_walk *w;
    const tutti_kernel_args *a;
    tutti_lane_place from, to;
    const float *bias; /* forward only; NULL if there is none */
} job;

/* A tile: the sums of one group and one block of vectors, and the lists of the rows that it reads. */
typedef struct {
    tutti_sparse_tile at;
    tutti_sparse_span from;
    int64_t group, vectors;
    tutti_sparse_list list;
    float *sums;
} tile;

static void begin_sums(const job *j, const tile *t)
{
    const tutti_sparse_walk *w = j->w;
    const int64_t n = t->at.samples * t->at.rows * w->to.width, channels = tutti_sparse_block(&w->vectors, t->vectors);
    const float *bias = j->bias ? j->bias + t->group * w->to.channels + t->vectors * w->vectors.size : NULL;
    float *to = t->sums;
    for (int64_t i = 0; i < n; i++, to += w->lanes)
        for (int64_t lane = 0; lane < w->lanes; lane++) to[lane] = bias && lane < channels ? bias[lane] : 0;
}

/* Adds to the sums of a tile the products with one slab: the weights of one row of the kernel and one block of
 * lists. */
static void add_slab(const job *j, const tile *t, int64_t lists, int64_t kernel_row)
{
    const tutti_sparse_walk *w = j->w;
    const int64_t nrows = t->from.end - t->from.first, row_floats = w->to.width * w->lanes;
    const float *slab = tutti_sparse_slab(w, j->a, t->group, t->vectors, lists, kernel_row);
    for (int64_t i = 0; i < tutti_sparse_nclasses(w); i++) {
        const tutti_sparse_class class = tutti_sparse_class_of(w, i);
        tutti_sparse_sum_call call = {.list = t->list,
                                      .positions = w->from.width,
                                      .apart = w->lists.size,
                                      .first = class.first,
                                      .stride = class.stride,
                                      .taps = class.taps,
                                      .weights = slab + class.before * w->lists.size * w->lanes,
                                      .n = class.n,
                                      .sums_apart = class.step * w->lanes,
                                      .nvectors = w->nvectors};
        for (int64_t s = 0; s < t->at.samples; s++)
            for (int64_t y = 0; y < t->at.rows; y++) {
                const int64_t row = tutti_sparse_row_of(w, t->at.row + y, kernel_row);
                if (row < 0) continue;
                call.list.start =
                    t->list.start + ((s * nrows + row - t->from.first) * w->lists.n + lists) * (w->from.width + 1);
                call.sums = t->sums + (s * t->at.rows + y) * row_floats + class.begin * w->lanes;
                j->s->loops->sum(&call);
            }
    }
}

static void give_sums(const job *j, const tile *t)
{
    const tutti_sparse_walk *w = j->w;
    const int64_t plane = t->at.rows * w->to.width, n = t->at.samples * plane * w->lanes;
    const tutti_map_call relu = {.type = TUTTI_F32, .x = t->sums, .to = t->sums, .end = n};
    if (!w->back && j->s->relu) tutti_lane_here()->map.relu(&relu);
    for (int64_t s = 0; s < t->at.samples; s++) {
        const tutti_sparse_part part = {.sample = t->at.sample + s,
                                        .channel = t->group * w->to.channels + t->vectors * w->vectors.size,
                                        .nchannels = tutti_sparse_block(&w->vectors, t->vectors),
                                        .position = t->at.row * w->to.width,
                                        .npositions = plane,
                                        .step = 1};
        const tutti_lane_view from = {
            .memory = t->sums, .type = TUTTI_F32, .at = s * plane * w->lanes, .step = {1, w->lanes}};
        tutti_sparse_give(&from, &j->to, &part);
    }
}

static void do_tile(const job *j, tile *t, float *buffer)
{
    const tutti_sparse_walk *w = j->w;
    tutti_lane_place from = j->from;
    for (t->group = 0; t->group < w->groups; t->group++) {
        const tutti_sparse_tile rows = {t->at.sample, t->at.samples, t->from.first, t->from.end - t->from.first};
        from.channel = j->from.channel + t->group * w->from.channels;
        tutti_sparse_list_rows(j->s, &from, &w->lists, &rows, &t->list, buffer);
        for (t->vectors = 0; t->vectors < w->vectors.n; t->vectors++) {
            begin_sums(j, t);
            for (int64_t lists = 0; lists < w->lists.n; lists++)
                for (int64_t row = 0; row < w->kernel; row++) add_slab(j, t, lists, row);
            give_sums(j, t);
        }
    }
}

static void do_tiles(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const tutti_sparse_walk *w = j->w;
    const char *mine = tutti_sparse_at(j->a->scratch, w->tiles_at + (size_t)thread * w->tile);
    tile t = {.list = {tutti_sparse_at(mine, w->value_at), tutti_sparse_at(mine, w->place_at),
                       tutti_sparse_at(mine, w->start_at)},
              .sums = tutti_sparse_at(mine, w->sums_at)};
    for (int64_t i = begin; i < end; i++) {
        t.at = tutti_sparse_tile_at(w, i);
        t.from = tutti_sparse_span_of(w, &t.at);
        do_tile(j, &t, tutti_sparse_at(mine, w->row_at));
    }
}

void tutti_sparse_run_sums(tutti_kernel *k, const tutti_sparse_walk *w, const tutti_kernel_args *a)
{
    const tutti_sparse_state *s = k->state;
    const tutti_value *to = w->back ? &k->in[0] : &k->out;
    void *memory = w->back ? a->din[0] : a->out;
    job j = {.s = s,
             .w = w,
             .a = a,
             .from = w->back ? tutti_lane_place_of(&k->out, a->dout, 0) : tutti_lane_place_of(&k->in[0], a->in[0], 0),
             .to = tutti_lane_place_of(to, memory, 0),
             .bias = !w->back && k->nparams > 1 ? a->param[1] : NULL};
    tutti_sparse_fill_slabs(k, w, a);
    tutti_crew_run(s->nthreads, tutti_sparse_ntiles(w), do_tiles, &j);
    tutti_lane_clear_padding(to, memory);
}
