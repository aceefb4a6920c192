/* SPDX-License-Identifier: Apache-2.0 */
/* windows_product.c: the forward product of an implicit convolution: C = map(windows W + bias). All weights are packed
 * once a run. A thread takes blocks of windows. The thread packs one block of k of them at a time, which stays in its
 * part of the second-level cache, and multiplies it with each panel of the weights. The sums of a block of C stay in
 * the thread's own memory until they contain all of k, because C may have 16 bits and any memory order. */
#include <string.h>

#include "../crew.h"
#include "windows_product.h"

enum { LINE = 64, MOST_CELLS = 768, A_BYTES = 320 << 10, SUMS_BYTES = 256 << 10, MOST_PANELS_M = 16 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- k is cut into units, the channels of a tap; from planes, all of k is one unit ---- */

typedef struct {
    int64_t tap, channel, channels;
} unit;

static int64_t taps_of(const tutti_windows *w)
{
    return w->taps_down * w->taps_right;
}

static unit unit_at(const tutti_windows_product *p, int64_t u)
{
    const int64_t channel = u % p->nchunks * p->chunk, all = p->from.channels;
    if (p->in_planes) return (unit){0, 0, taps_of(&p->from) * all};
    return (unit){u / p->nchunks, channel, least(p->chunk, all - channel)};
}

/* Returns the number of cells of k before unit u. */
static int64_t cells_before(const tutti_windows_product *p, int64_t u)
{
    const tutti_gemm_row *row = p->row;
    if (p->in_planes) return u ? tutti_gemm_steps(row, taps_of(&p->from) * p->from.channels) : 0;
    const int64_t chunk = tutti_gemm_steps(row, p->chunk),
                  last = tutti_gemm_steps(row, p->from.channels - (p->nchunks - 1) * p->chunk);
    return u / p->nchunks * ((p->nchunks - 1) * chunk + last) + u % p->nchunks * chunk;
}

static int64_t block_cells(const tutti_windows_product *p, int64_t u)
{
    return cells_before(p, least(u + p->units_block, p->nunits)) - cells_before(p, u);
}

/* ---- the plan ---- */

static void cut_k(tutti_windows_product *p)
{
    enum { WHOLE = 64 }; /* a multiple of the number of channels that any row packs at once */
    const int64_t most_numbers = MOST_CELLS * p->row->pair, channels = p->from.channels;
    p->nchunks = p->in_planes ? 1 : up(channels, most_numbers);
    p->chunk = p->nchunks == 1 ? channels : up(up(channels, p->nchunks), WHOLE) * WHOLE;
    p->nchunks = p->in_planes ? 1 : up(channels, p->chunk);
    p->nunits = p->in_planes ? 1 : taps_of(&p->from) * p->nchunks;
    const int64_t fit = most(1, most_numbers / p->chunk);
    p->units_block = up(p->nunits, up(p->nunits, fit));
}

static void cut_c(tutti_windows_product *p)
{
    const tutti_gemm_row *row = p->row;
    const int64_t plane = p->from.down * p->from.right, all = p->in_planes ? plane : plane * p->from.at.batch;
    const int64_t panel = block_cells(p, 0) * row->rows * (int64_t)sizeof(tutti_gemm_cell);
    const int64_t fit = most(1, least(MOST_PANELS_M, A_BYTES / panel)), panels = up(all, row->rows);
    const bool one_block = p->units_block >= p->nunits;
    const int64_t sums = row->rows * row->columns * (int64_t)sizeof(float);
    p->panels_m = up(panels, up(panels, fit));
    p->panels_n = one_block ? p->npanels : most(1, least(p->npanels, SUMS_BYTES / (sums * p->panels_m)));
    p->blocks_sample = up(panels, p->panels_m);
    p->nblocks = p->in_planes ? p->blocks_sample * p->from.at.batch : p->blocks_sample;
}

/* True if the weights of all consecutive elements of a window have the same distance from each other. */
static bool runs_on(const tutti_windows_product *p)
{
    const tutti_windows_weights *w = &p->weights;
    const int64_t tap = p->from.channels * w->channel, line = p->from.taps_right * tap;
    return (p->from.taps_right == 1 || w->tap_right == tap) && (p->from.taps_down == 1 || w->tap_down == line);
}

static size_t lines(int64_t nbytes)
{
    return (size_t)up(nbytes, LINE) * LINE;
}

void tutti_windows_product_plan(tutti_windows_product *p)
{
    const tutti_gemm_row *row = p->row;
    const tutti_blocks *to = &p->to.at;
    const bool fills_up = p->to.channel + p->to.channels == to->channels;
    const int64_t sums = row->rows * row->columns * (int64_t)sizeof(float), cell = sizeof(tutti_gemm_cell);
    p->in_planes = runs_on(p) && tutti_windows_in_planes(&p->from, row);
    p->columns = fills_up ? to->nblocks * to->block - p->to.channel : p->to.channels;
    p->npanels = up(p->columns, row->columns);
    cut_k(p);
    cut_c(p);
    p->bias_at = lines(p->npanels * row->columns * cells_before(p, p->nunits) * cell);
    p->threads_at = p->bias_at + lines(p->columns * (int64_t)sizeof(float));
    p->a_at = 0;
    p->sums_at = lines(p->panels_m * row->rows * block_cells(p, 0) * cell);
    p->planes_at = p->sums_at + lines(sums * (p->units_block < p->nunits ? p->panels_m * p->panels_n : 1));
    p->thread_bytes = p->planes_at + (p->in_planes ? lines((int64_t)tutti_windows_plane_bytes(&p->from)) : 0);
    p->scratch_bytes = p->threads_at + (size_t)p->nthreads * p->thread_bytes;
}

/* ---- a run ---- */

typedef struct {
    const tutti_windows_product *p;
    const void *memory;
    const float *weights, *bias;
    tutti_gemm_cell *b;
    char *to, *threads;
} job;

/* Returns the address of a panel of packed weights. They lie as [block of k][panel][k][column]. */
static tutti_gemm_cell *b_at(const job *w, int64_t first, int64_t panel)
{
    const tutti_windows_product *p = w->p;
    return w->b + (cells_before(p, first) * p->npanels + panel * block_cells(p, first)) * p->row->columns;
}

static void pack_weights(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *w = arg;
    const tutti_windows_product *p = w->p;
    const tutti_windows_weights *at = &p->weights;
    const int64_t wide = p->row->columns;
    (void)thread;
    for (int64_t panel = begin; panel < end; panel++)
        for (int64_t u = 0; u < p->nunits; u++) {
            const unit k = unit_at(p, u);
            const int64_t first = u / p->units_block * p->units_block, y = k.tap / p->from.taps_right,
                          x = k.tap % p->from.taps_right, column = panel * wide,
                          n = most(0, least(wide, p->to.channels - column));
            const int64_t from = at->first + y * at->tap_down + x * at->tap_right + k.channel * at->channel +
                                 (n ? column * at->column : 0);
            const tutti_gemm_source s = {w->weights + from, TUTTI_F32, at->column, at->channel};
            p->row->pack_b(&s, n, k.channels, (int)wide,
                           b_at(w, first, panel) + (cells_before(p, u) - cells_before(p, first)) * wide, 0);
        }
}

/* Packs windows [position, end), at most panels_m panels of them, for the block of k that begins with unit `first`. */
static void pack_windows(const job *w, const void *planes, int64_t position, int64_t end, int64_t first,
                         tutti_gemm_cell *to)
{
    const tutti_windows_product *p = w->p;
    const int64_t rows = p->row->rows, cells = block_cells(p, first), last = least(first + p->units_block, p->nunits);
    const int64_t plane = p->from.down * p->from.right;
    for (int64_t i = position; i < end; i += rows, to += rows * cells) {
        if (p->in_planes) {
            tutti_windows_pack_plane_rows(&p->from, p->row, planes, i % plane, least(rows, end - i), to);
            continue;
        }
        for (int64_t u = first; u < last; u++) {
            const unit k = unit_at(p, u);
            tutti_windows_pack_rows(&p->from, p->row, w->memory, i, least(rows, end - i), k.tap, k.channel, k.channels,
                                    to + (cells_before(p, u) - cells_before(p, first)) * rows);
        }
    }
}

/* Returns how many windows, from number `position` on, have places in the output with the same distance from each
 * other. Windows are counted over all samples. */
static int64_t lie_evenly(const tutti_windows_product *p, int64_t position)
{
    const int64_t right = p->from.right, plane = p->from.down * right;
    const bool whole = p->to.step == 1 && right == p->to.at.width && p->from.down == p->to.at.height;
    if (!whole) return right - position % right;
    if (p->to.at.nblocks == 1) return plane * p->to.at.batch - position;
    return plane - position % plane;
}

static int64_t place_of(const tutti_windows_product *p, int64_t position)
{
    const tutti_windows_place *to = &p->to;
    const int64_t right = p->from.right, plane = p->from.down * right, within = position % plane;
    const int64_t y = to->top + within / right * to->step, x = to->left + within % right * to->step;
    return position / plane * to->at.sample_step + (y * to->at.width + x) * to->at.block;
}

/* Writes finished sums to the output, piece by piece: a piece's windows lie at one distance from each other, and its
 * columns belong to one block of channels. */
static void put_sums(const job *w, const float *sums, int64_t position, int64_t rows, int64_t column, int64_t columns)
{
    const tutti_windows_product *p = w->p;
    const tutti_blocks *at = &p->to.at;
    int64_t some = 0;
    for (int64_t i = 0; i < rows; i += some) {
        some = least(rows - i, lie_evenly(p, position + i));
        int64_t wide = 0;
        for (int64_t j = 0; j < columns; j += wide) {
            const int64_t channel = p->to.channel + column + j;
            const int64_t to = place_of(p, position + i) + channel / at->block * at->block_step + channel % at->block;
            wide = least(columns - j, at->block - channel % at->block);
            const tutti_gemm_finish f = {.rows = some,
                                         .columns = wide,
                                         .sums = sums + i * p->row->columns + j,
                                         .sums_apart = p->row->columns,
                                         .column_bias = w->bias ? w->bias + column + j : NULL,
                                         .map = p->map,
                                         .type = p->to.type,
                                         .to = w->to + (size_t)to * tutti_dtype_bytes(p->to.type),
                                         .to_apart = p->to.step * at->block};
            p->row->finish(&f);
        }
    }
}

/* Multiplies windows [position, end) with the panels j0 .. j1 of the weights, for one block of k. The windows are
 * packed already. If their sums stay in the thread's memory, register blocks of one size are multiplied by one call. */
static void multiply_panels(const job *w, char *own, int64_t position, int64_t end, int64_t j0, int64_t j1,
                            int64_t first)
{
    const tutti_windows_product *p = w->p;
    const tutti_gemm_row *row = p->row;
    const int64_t cells = block_cells(p, first), rows = row->rows, columns = row->columns, tile = row->vector;
    const bool one_block = p->units_block >= p->nunits, is_last = first + p->units_block >= p->nunits;
    float *sums = (float *)(void *)(own + p->sums_at);
    for (int64_t j = j0; j < j1; j++) {
        const int64_t wide = least(columns, p->columns - j * columns);
        const tutti_gemm_cell *a = (const tutti_gemm_cell *)(const void *)(own + p->a_at);
        for (int64_t i = position, n; i < end; i += n * rows, a += n * rows * cells) {
            n = one_block || end - i < rows ? 1 : (end - i) / rows;
            const tutti_gemm_block block = {.a = a,
                                            .a_i = row->a_in_tiles ? tile : 1,
                                            .a_p = row->a_in_tiles ? rows * tile : rows,
                                            .b = b_at(w, first, j),
                                            .b_p = columns,
                                            .steps = cells,
                                            .begin = first ? sums : NULL,
                                            .begin_apart = columns,
                                            .sums = sums,
                                            .sums_apart = columns,
                                            .more = n - 1,
                                            .next_a = rows * cells,
                                            .next_c = rows * columns,
                                            .next_sums = sums};
            row->multiply(&block, least(rows, end - i), wide);
            for (int64_t b = 0; b < n && is_last; b++)
                put_sums(w, sums + b * rows * columns, i + b * rows, least(rows, end - i - b * rows), j * columns,
                         wide);
            if (!one_block) sums += n * rows * columns;
        }
    }
}

static void multiply_windows(const job *w, char *own, int64_t position, int64_t end)
{
    const tutti_windows_product *p = w->p;
    tutti_gemm_cell *a = (tutti_gemm_cell *)(void *)(own + p->a_at);
    for (int64_t j = 0; j < p->npanels; j += p->panels_n)
        for (int64_t u = 0; u < p->nunits; u += p->units_block) {
            pack_windows(w, own + p->planes_at, position, end, u, a);
            multiply_panels(w, own, position, end, j, least(j + p->panels_n, p->npanels), u);
        }
}

/* Multiplies blocks of windows [begin, end). With planes, each block lies in one sample, whose planes are filled when
 * the sample begins. */
static void multiply_blocks(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *w = arg;
    const tutti_windows_product *p = w->p;
    const int64_t plane = p->from.down * p->from.right, each = p->panels_m * p->row->rows;
    char *own = w->threads + (size_t)thread * p->thread_bytes;
    _Alignas(TUTTI_GEMM_ALIGNED) char before[TUTTI_GEMM_ALIGNED];
    if (p->row->enter) p->row->enter(before);
    for (int64_t b = begin; b < end; b++) {
        const int64_t sample = p->in_planes ? b / p->blocks_sample : 0, at = (b - sample * p->blocks_sample) * each;
        const int64_t all = p->in_planes ? plane : plane * p->from.at.batch;
        if (p->in_planes && (b == begin || at == 0))
            tutti_windows_fill_planes(&p->from, w->memory, sample, own + p->planes_at);
        if (p->in_planes)
            multiply_windows(w, own, sample * plane + at, sample * plane + least(at + each, all));
        else
            multiply_windows(w, own, at, least(at + each, all));
    }
    if (p->row->leave) p->row->leave(before);
}

void tutti_windows_product_run(const tutti_windows_product *p, const void *memory, const float *weights,
                               const float *bias, void *to, void *scratch)
{
    char *own = scratch;
    float *filled = (float *)(void *)(own + p->bias_at);
    job w = {.p = p,
             .memory = memory,
             .weights = weights,
             .b = (tutti_gemm_cell *)scratch,
             .to = to,
             .threads = own + p->threads_at};
    if (p->has_bias) {
        memset(filled, 0, (size_t)p->columns * sizeof *filled);
        memcpy(filled, bias + p->to.channel, (size_t)p->to.channels * sizeof *filled);
        w.bias = filled;
    }
    tutti_crew_run(p->nthreads, p->npanels, pack_weights, &w);
    tutti_crew_run(p->nthreads, p->nblocks, multiply_blocks, &w);
}
