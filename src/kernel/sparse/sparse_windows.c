/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_windows.c: the gradient of a sparse convolution's weights from the list of the output's gradient. If a max
 * pool reads the output, this gradient has at most one nonzero element for each window of the pool.
 *
 * Each thread has output channels of its own and goes through all tiles for them, so sums of threads never have to be
 * added up. For each tile of outputs there is a list for each output channel, and a copy of the inputs that these
 * outputs read: a block of channels, innermost, with zeros around it. The window of an output is then a run of elements
 * for each row of the kernel. With few channels these runs would be short, so the copy is folded: each column holds all
 * rows of the kernel, and a window is one run. Listed elements are multiplied with the runs, and the sums stay in
 * registers for a whole list. */
#include <string.h>

#include "../crew.h"
#include "sparse_conv.h"

enum { TILE_FLOATS = 6 << 10, TILE_POSITIONS = 128, TILE_COLUMNS = 32, UNIT = 16, CHUNK = 128, FEW_CHANNELS = 16 };

typedef struct {
    const tutti_sparse_state *s;
    const tutti_kernel_args *a;
    tutti_lane_place in, dout;
} job;

/* A tile: output channels [channel, channel + channels) of one group, in some rows and in columns [column, column +
 * columns) of some samples. */
typedef struct {
    tutti_sparse_tile at;
    int64_t column, columns;
    int64_t group, channel, channels;
    tutti_sparse_list list; /* nonzero gradients; `start` has one entry for each channel, and places are positions of
                             * the tile */
    int32_t *windows_of;    /* for each position of the tile: the offset of its window in `windows` */
    float *plane, *windows;
} tile;

/* --- shapes --- */

static int64_t columns_of(const tutti_sparse_state *s, int64_t outputs)
{
    return tutti_sparse_up((outputs - 1) * s->stride + s->kernel, s->stride) * s->stride;
}

static int64_t lines_of(const tutti_sparse_state *s, const tutti_sparse_window *w, int64_t outputs)
{
    return w->folded ? outputs : (outputs - 1) * s->stride + s->kernel;
}

/* Cuts channels into blocks of nearly equal size. */
static tutti_sparse_cut cut_alike(int64_t channels, int64_t most, int64_t unit)
{
    const int64_t n = tutti_sparse_up(channels, most),
                  size = tutti_sparse_min(channels, tutti_sparse_up(tutti_sparse_up(channels, n), unit) * unit);
    return (tutti_sparse_cut){channels, size, tutti_sparse_up(channels, size)};
}

static void cut_tiles(const tutti_sparse_state *s, tutti_sparse_window *w)
{
    const int64_t parts = tutti_sparse_up(s->out.width, TILE_COLUMNS), folds = w->folded ? s->kernel : 1;
    w->columns = tutti_sparse_up(s->out.width, parts);
    w->width = columns_of(s, w->columns);
    const int64_t least = w->width * tutti_sparse_min(s->in.channels, UNIT) * folds, fit = TILE_FLOATS / least;
    w->rows = tutti_sparse_min(s->out.height, tutti_sparse_max(1, TILE_POSITIONS / w->columns));
    while (w->rows > 1 && lines_of(s, w, w->rows) > fit) w->rows--;
    w->lines = lines_of(s, w, w->rows);
    const bool whole = w->rows == s->out.height && parts == 1;
    const int64_t positions = tutti_sparse_max(1, TILE_POSITIONS / (w->rows * w->columns)),
                  samples = tutti_sparse_min(positions, tutti_sparse_max(1, fit / w->lines));
    w->samples = whole ? tutti_sparse_min(s->batch, samples) : 1;
    const int64_t most = TILE_FLOATS / (w->samples * w->lines * w->width * folds);
    w->inputs = cut_alike(s->in.channels, tutti_sparse_max(most, tutti_sparse_min(s->in.channels, UNIT)), UNIT);
    w->unit = w->inputs.size * folds;
}

/* Cuts the runs of a window into pieces, and chooses how many parts are summed at once, and how many vectors of
 * each. */
static void cut_runs(const tutti_sparse_state *s, tutti_sparse_window *w)
{
    const int64_t width = s->loops->width, all = tutti_sparse_up(s->kernel * w->unit, width),
                  n = tutti_sparse_up(all, width < 16 ? TUTTI_SPARSE_WINDOW_VECTORS / 2 : TUTTI_SPARSE_WINDOW_VECTORS);
    w->nvectors = (int)tutti_sparse_up(all, n);
    w->piece = w->nvectors * width;
    w->pieces = w->folded ? 1 : n;
    w->parts = w->folded ? n : s->kernel;
    w->part_step = w->folded ? w->piece : w->width * w->unit;
    w->sums = w->pieces * w->parts * w->piece;
}

void tutti_sparse_plan_windows(tutti_sparse_state *s, size_t *scratch)
{
    tutti_sparse_window *w = &s->windows;
    const size_t f = sizeof(float);
    w->folded = s->in.channels < FEW_CHANNELS;
    cut_tiles(s, w);
    cut_runs(s, w);
    const int64_t share = tutti_sparse_up(s->out.channels * s->groups, s->nthreads);
    w->chunk = tutti_sparse_min(tutti_sparse_min(CHUNK, share), s->out.channels);
    const int64_t positions = w->samples * w->rows * w->columns;
    const size_t numbers = (size_t)(w->chunk * positions) + TUTTI_SPARSE_SLACK;
    w->sums_at = tutti_sparse_reserve(scratch, (size_t)(s->groups * s->out.channels * w->inputs.n * w->sums) * f);
    w->value_at = tutti_sparse_reserve(&w->tile, numbers * f);
    w->place_at = tutti_sparse_reserve(&w->tile, numbers * sizeof(int32_t));
    w->start_at = tutti_sparse_reserve(&w->tile, (size_t)(w->chunk + 2) * sizeof(int32_t));
    w->windows_of_at = tutti_sparse_reserve(&w->tile, (size_t)positions * sizeof(int32_t));
    w->plane_at = tutti_sparse_reserve(&w->tile, (size_t)(UNIT * positions) * f);
    /* room behind the windows, because the last vectors of the last run reach beyond its end */
    w->windows_at = tutti_sparse_reserve(
        &w->tile, (size_t)(w->samples * w->lines * w->width * w->unit + w->pieces * w->piece + w->sums) * f);
    w->tiles_at = tutti_sparse_reserve(scratch, w->tile * (size_t)s->nthreads);
}

/* --- lists --- */

/* Copies n channels of the output's gradient into planes that have only the tile's positions. */
static void take_planes(const job *j, const tile *t, int64_t channel, int64_t n)
{
    const bool whole = t->columns == j->s->out.width;
    const int64_t rows = whole ? 1 : t->at.rows, run = whole ? t->at.rows * t->columns : t->columns;
    for (int64_t i = 0; i < t->at.samples * rows; i++) {
        const tutti_sparse_part line = {.sample = t->at.sample + i / rows,
                                        .channel = t->group * j->s->out.channels + channel,
                                        .nchannels = n,
                                        .position = (t->at.row + i % rows) * j->s->out.width + t->column,
                                        .npositions = run,
                                        .step = 1};
        const tutti_lane_view to = {
            .memory = t->plane, .type = TUTTI_F32, .at = i * run, .step = {t->at.samples * t->at.rows * t->columns, 1}};
        tutti_sparse_take(&j->dout, &line, &to);
    }
}

static void list_outputs(const job *j, const tile *t)
{
    const int64_t positions = t->at.samples * t->at.rows * t->columns;
    tutti_sparse_list_call call = {.positions = 1, .channels = positions, .segment = positions, .to = t->list};
    for (int64_t c = 0; c < t->channels; c++, call.to.start++) {
        if (c % UNIT == 0) take_planes(j, t, t->channel + c, tutti_sparse_min(UNIT, t->channels - c));
        call.from = t->plane + c % UNIT * positions;
        call.n = j->s->loops->list(&call);
    }
}

static void place_windows(const job *j, const tile *t)
{
    const tutti_sparse_window *w = &j->s->windows;
    const int64_t line = w->width * w->unit, down = w->folded ? 1 : j->s->stride;
    int32_t *to = t->windows_of;
    for (int64_t i = 0; i < t->at.samples; i++)
        for (int64_t y = 0; y < t->at.rows; y++)
            for (int64_t x = 0; x < t->columns; x++)
                *to++ = (int32_t)((i * w->lines + y * down) * line + x * j->s->stride * w->unit);
}

/* --- windows --- */

/* Copies few channels one by one, because they would not fill vectors. */
static void take_few(const tutti_lane_place *from, const tutti_sparse_part *part, float *to, int64_t step)
{
    for (int64_t c = 0; c < part->nchannels; c++) {
        const tutti_lane_view v = tutti_lane_view_of(from, part->sample, part->channel + c, part->position);
        const float *numbers = (const float *)v.memory + v.at;
        for (int64_t x = 0; x < part->npositions; x++) to[x * step + c] = numbers[x * v.step[1]];
    }
}

/* Copies input row y, from the tile's leftmost column on, to a line of `windows`. Columns outside the input are not
 * written. */
static void take_line(const job *j, const tile *t, int64_t sample, int64_t y, int64_t inputs, float *to)
{
    const tutti_sparse_state *s = j->s;
    const tutti_sparse_window *w = &s->windows;
    const int64_t left = t->column * s->stride - s->pad, first = tutti_sparse_max(0, left),
                  end = tutti_sparse_min(s->in.width, left + (t->columns - 1) * s->stride + s->kernel);
    if (y < 0 || y >= s->in.height || first >= end) return;
    const tutti_sparse_part line = {.sample = sample,
                                    .channel = t->group * s->in.channels + inputs * w->inputs.size,
                                    .nchannels = tutti_sparse_block(&w->inputs, inputs),
                                    .position = y * s->in.width + first,
                                    .npositions = end - first,
                                    .step = 1};
    const tutti_lane_view view = {
        .memory = to, .type = TUTTI_F32, .at = (first - left) * w->unit, .step = {1, w->unit}};
    if (w->folded)
        take_few(&j->in, &line, to + view.at, w->unit);
    else
        tutti_sparse_take(&j->in, &line, &view);
}

static void take_windows(const job *j, const tile *t, int64_t inputs)
{
    const tutti_sparse_state *s = j->s;
    const tutti_sparse_window *w = &s->windows;
    const int64_t line = w->width * w->unit, rows = lines_of(s, w, t->at.rows), folds = w->folded ? s->kernel : 1;
    if (s->pad > 0) memset(t->windows, 0, (size_t)(t->at.samples * w->lines * line) * sizeof *t->windows);
    for (int64_t i = 0; i < t->at.samples; i++)
        for (int64_t row = 0; row < rows; row++)
            for (int64_t fold = 0; fold < folds; fold++) {
                const int64_t y = t->at.row * s->stride - s->pad + row * (w->folded ? s->stride : 1) + fold;
                take_line(j, t, t->at.sample + i, y, inputs,
                          t->windows + (i * w->lines + row) * line + fold * w->inputs.size);
            }
}

/* Returns the address of the sums of a group, an output channel and a block of inputs. Sums lie in the order (group,
 * channel, block of inputs, piece, part, lane). */
static float *sums_of(const job *j, int64_t group, int64_t channel, int64_t inputs)
{
    const tutti_sparse_window *w = &j->s->windows;
    const int64_t number = (group * j->s->out.channels + channel) * w->inputs.n + inputs;
    return (float *)tutti_sparse_at(j->a->scratch, w->sums_at) + number * w->sums;
}

static void add_windows(const job *j, const tile *t, int64_t inputs)
{
    const tutti_sparse_window *w = &j->s->windows;
    tutti_sparse_window_call call = {
        .windows_of = t->windows_of, .part_step = w->part_step, .parts = w->parts, .nvectors = w->nvectors};
    for (int64_t c = 0; c < t->channels; c++) {
        const int32_t first = t->list.start[c];
        call.list = (tutti_sparse_list){t->list.value + first, t->list.place + first, NULL};
        call.n = t->list.start[c + 1] - first;
        call.from = t->windows;
        call.sums = sums_of(j, t->group, t->channel + c, inputs);
        for (int64_t piece = 0; piece < w->pieces && call.n; piece++) {
            j->s->loops->window(&call);
            call.from += w->piece;
            call.sums += w->parts * w->piece;
        }
    }
}

static void give_weights(const job *j, const tile *t, int64_t channel, int64_t inputs)
{
    const tutti_sparse_state *s = j->s;
    const tutti_sparse_window *w = &s->windows;
    const tutti_sparse_offsets *o = &s->weights;
    const float *from = sums_of(j, t->group, channel, inputs);
    float *to = j->a->dparam[0] + o->n[t->group * s->out.channels + channel];
    for (int64_t y = 0; y < s->kernel; y++)
        for (int64_t x = 0; x < s->kernel; x++) {
            const int64_t run = x * w->unit + (w->folded ? y * w->inputs.size : 0);
            for (int64_t c = 0; c < tutti_sparse_block(&w->inputs, inputs); c++) {
                const int64_t piece = w->folded ? 0 : (run + c) / w->piece,
                              at = w->folded ? run + c : (piece * w->parts + y) * w->piece + (run + c) % w->piece;
                to[o->c[inputs * w->inputs.size + c] + o->y[y] + o->x[x]] = from[at];
            }
        }
}

static void do_rows(const job *j, tile *t)
{
    const tutti_sparse_state *s = j->s;
    const tutti_sparse_window *w = &s->windows;
    for (t->column = 0; t->column < s->out.width; t->column += w->columns) {
        t->columns = tutti_sparse_min(w->columns, s->out.width - t->column);
        list_outputs(j, t);
        place_windows(j, t);
        for (int64_t inputs = 0; inputs < w->inputs.n && t->list.start[t->channels]; inputs++) {
            take_windows(j, t, inputs);
            add_windows(j, t, inputs);
        }
    }
}

static void do_channels(const job *j, tile *t)
{
    const tutti_sparse_state *s = j->s;
    const tutti_sparse_window *w = &s->windows;
    memset(sums_of(j, t->group, t->channel, 0), 0, (size_t)(t->channels * w->inputs.n * w->sums) * sizeof(float));
    for (t->at.sample = 0; t->at.sample < s->batch; t->at.sample += w->samples)
        for (t->at.row = 0; t->at.row < s->out.height; t->at.row += w->rows) {
            t->at.samples = tutti_sparse_min(w->samples, s->batch - t->at.sample);
            t->at.rows = tutti_sparse_min(w->rows, s->out.height - t->at.row);
            do_rows(j, t);
        }
    for (int64_t c = 0; c < t->channels; c++)
        for (int64_t inputs = 0; inputs < w->inputs.n; inputs++) give_weights(j, t, t->channel + c, inputs);
}

static int64_t chunks_of(const tutti_sparse_state *s)
{
    return tutti_sparse_up(s->out.channels, s->windows.chunk);
}

static void do_chunks(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const tutti_sparse_window *w = &j->s->windows;
    const char *mine = tutti_sparse_at(j->a->scratch, w->tiles_at + (size_t)thread * w->tile);
    tile t = {.list = {tutti_sparse_at(mine, w->value_at), tutti_sparse_at(mine, w->place_at),
                       tutti_sparse_at(mine, w->start_at)},
              .windows_of = tutti_sparse_at(mine, w->windows_of_at),
              .plane = tutti_sparse_at(mine, w->plane_at),
              .windows = tutti_sparse_at(mine, w->windows_at)};
    for (int64_t i = begin; i < end; i++) {
        t.group = i / chunks_of(j->s);
        t.channel = i % chunks_of(j->s) * w->chunk;
        t.channels = tutti_sparse_min(w->chunk, j->s->out.channels - t.channel);
        do_channels(j, &t);
    }
}

void tutti_sparse_run_windows(tutti_kernel *k, const tutti_kernel_args *a)
{
    const tutti_sparse_state *s = k->state;
    job j = {.s = s,
             .a = a,
             .in = tutti_lane_place_of(&k->in[0], a->in[0], 0),
             .dout = tutti_lane_place_of(&k->out, a->dout, 0)};
    tutti_crew_run(s->nthreads, s->groups * chunks_of(s), do_chunks, &j);
}
