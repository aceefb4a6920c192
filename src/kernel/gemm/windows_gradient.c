/* SPDX-License-Identifier: Apache-2.0 */
/* windows_gradient.c: the gradient of the weights of an implicit convolution: dW = dout^T windows. Each thread computes
 * parts of the columns of dW. The windows are the steps of k. For each block of windows the thread packs the columns
 * that it computes, so that they stay in its part of the second-level cache. Then it packs panel after panel of dout,
 * whose channels are the rows. The sums of a part stay in the thread's own memory until they contain all of k. */
#include <assert.h>
#include <string.h>

#include "../crew.h"
#include "windows_product.h"

enum { LINE = 64, MOST_SIDE = 64, CELLS_BLOCK = 256, B_BYTES = 600 << 10 };
static_assert((int)CELLS_BLOCK * 2 <= (int)TUTTI_WINDOWS_MOST_STEPS, "pointers of a block");

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static size_t lines(int64_t nbytes)
{
    return (size_t)up(nbytes, LINE) * LINE;
}

/* Returns the number of cells along k in a block of n windows, or, with planes, in a block of n lines of windows. */
static int64_t cells_of(const tutti_windows_gradient *g, int64_t n)
{
    return g->in_planes ? n * tutti_gemm_steps(g->row, g->from.right) : tutti_gemm_steps(g->row, n);
}

static int64_t most_cells(const tutti_windows_gradient *g)
{
    return cells_of(g, g->in_planes ? g->lines_block : g->steps_block);
}

void tutti_windows_gradient_plan(tutti_windows_gradient *g)
{
    const tutti_gemm_row *row = g->row;
    const tutti_windows *w = &g->from;
    const int64_t cell = sizeof(tutti_gemm_cell), sums = row->rows * row->columns * (int64_t)sizeof(float);
    g->in_planes = tutti_windows_in_planes(w, row);
    g->numbers = w->taps_down * w->taps_right * w->channels;
    g->npanels_m = up(g->channels, row->rows);
    g->npanels_n = up(g->numbers, row->columns);
    g->steps_block = least(CELLS_BLOCK * row->pair, w->at.batch * w->down * w->right);
    g->lines_block = most(1, least(w->down, CELLS_BLOCK * row->pair / w->right));
    const int64_t cells = most_cells(g), panel = cells * row->columns * cell;
    g->panels_n = most(1, least(up(g->npanels_n, g->nthreads), B_BYTES / panel));
    g->panels_n = up(g->npanels_n, up(g->npanels_n, g->panels_n));
    g->b_at = lines(sums * g->npanels_m * g->panels_n);
    g->a_at = g->b_at + lines(panel * g->panels_n);
    g->strip_at = g->a_at + lines(cells * row->rows * cell);
    g->planes_at = g->strip_at + lines(cells * row->pair * row->rows * (int64_t)sizeof(float));
    g->thread_bytes = g->planes_at + (g->in_planes ? lines((int64_t)tutti_windows_plane_bytes(w)) : 0);
    g->scratch_bytes = g->thread_bytes * (size_t)g->nthreads;
}

typedef struct {
    const tutti_windows_gradient *g;
    const void *memory, *dout;
    float *dweights;
    char *scratch;
} job;

/* Windows [position, position + n), counted over all samples. */
typedef struct {
    int64_t position, n;
} steps;

static tutti_gemm_cell *cells_at(char *own, size_t at)
{
    return (tutti_gemm_cell *)(void *)(own + at);
}

/* Returns the offset in dout, in elements, of channel c at a position. Positions are numbered as windows are. */
static int64_t dout_at(const tutti_windows_gradient *g, int64_t position, int64_t c)
{
    const tutti_blocks *d = &g->dout;
    return position / d->plane * d->sample_step + c / d->block * d->block_step + position % d->plane * d->block +
           c % d->block;
}

/* Copies n channels of dout from `channel` on to `strip`, side by side, for each window. */
static void gather(const job *w, const steps *k, int64_t channel, int64_t n, char *strip)
{
    const tutti_windows_gradient *g = w->g;
    const size_t each = tutti_dtype_bytes(g->dout_type);
    int64_t some = 0;
    for (int64_t i = 0; i < n; i += some) {
        some = least(n - i, g->dout.block - (channel + i) % g->dout.block);
        for (int64_t p = 0; p < k->n; p++)
            memcpy(strip + (size_t)(p * n + i) * each,
                   (const char *)w->dout + (size_t)dout_at(g, k->position + p, channel + i) * each,
                   (size_t)some * each);
    }
}

/* Packs channels of a panel of A that lie in several blocks, block by block. */
static void pack_blocks(const job *w, const steps *k, int64_t channel, int64_t n, tutti_gemm_cell *to)
{
    const tutti_windows_gradient *g = w->g;
    const void *at[TUTTI_WINDOWS_MOST_STEPS];
    const tutti_gemm_scattered s = {at, g->dout_type, g->dout.block, g->dout.block_step};
    const size_t each = tutti_dtype_bytes(g->dout_type);
    int64_t some = 0;
    for (int64_t i = 0, p = 0; p < k->n; p += some, i = 0) {
        const int64_t position = k->position + p;
        some = least(k->n - p, g->dout.plane - position % g->dout.plane);
        const char *from = (const char *)w->dout + (size_t)dout_at(g, position, 0) * each;
        for (; i < some; i++) at[p + i] = from + (size_t)(i * g->dout.block) * each;
    }
    g->row->pack_steps(&s, channel, n, k->n, g->row->rows, to);
}

/* Packs the channels of a panel of A. If the channels of a window lie side by side, they are packed from where they
 * lie. */
static void pack_dout(const job *w, char *own, const steps *k, int64_t panel, tutti_gemm_cell *to)
{
    const tutti_windows_gradient *g = w->g;
    const int64_t first = panel * g->row->rows, n = least(g->row->rows, g->channels - first),
                  channel = g->channel + first;
    const bool in_place = g->dout.nblocks == 1;
    if (!in_place && !g->row->a_in_tiles) {
        pack_blocks(w, k, channel, n, to);
        return;
    }
    tutti_gemm_source s = {.type = g->dout_type, .apart_i = 1, .apart_p = in_place ? g->dout.block : n};
    s.from = in_place
                 ? (const char *)w->dout + (size_t)dout_at(g, k->position, channel) * tutti_dtype_bytes(g->dout_type)
                 : own + g->strip_at;
    if (!in_place) gather(w, k, channel, n, own + g->strip_at);
    g->row->pack_a(&s, n, k->n, g->row->rows, to, 0);
}

/* A block of k: a range of windows, or lines of windows of one sample, whose planes are filled. */
typedef struct {
    steps all;
    int64_t line, nlines, cells;
} block;

static void pack_windows(const job *w, char *own, const block *k, int64_t j0, int64_t j1)
{
    const tutti_windows_gradient *g = w->g;
    const int64_t wide = g->row->columns, each = cells_of(g, 1) * wide;
    tutti_gemm_cell *to = cells_at(own, g->b_at);
    tutti_windows_steps here = {.position = k->all.position, .n = k->all.n, .tap = -1};
    for (int64_t j = j0; j < j1; j++, to += k->cells * wide) {
        const int64_t first = j * wide, n = least(wide, g->numbers - first);
        if (n < wide || k->cells * g->row->pair > k->all.n) memset(to, 0, (size_t)(k->cells * wide) * sizeof *to);
        if (!g->in_planes) tutti_windows_pack_steps(&g->from, g->row, w->memory, &here, first, n, to);
        for (int64_t y = 0; y < k->nlines; y++)
            tutti_windows_pack_plane_steps(&g->from, g->row, own + g->planes_at, k->line + y, first, n, to + y * each);
    }
}

static void pack_rows(const job *w, char *own, const block *k, int64_t panel)
{
    const tutti_windows_gradient *g = w->g;
    const int64_t right = g->from.right, each = cells_of(g, 1) * g->row->rows;
    tutti_gemm_cell *to = cells_at(own, g->a_at);
    if (!g->in_planes) pack_dout(w, own, &k->all, panel, to);
    for (int64_t y = 0; y < k->nlines; y++) {
        const steps line = {k->all.position + y * right, right};
        pack_dout(w, own, &line, panel, to + y * each);
    }
}

/* Packs panel after panel of dout, and multiplies each with the panels j0 .. j1 of the windows' columns. Register
 * blocks of one size are multiplied by one call. */
static void multiply(const job *w, char *own, const block *k, int64_t j0, int64_t j1, bool is_first)
{
    const tutti_windows_gradient *g = w->g;
    const tutti_gemm_row *row = g->row;
    const int64_t rows = row->rows, columns = row->columns, tile = row->vector;
    float *sums = (float *)(void *)own;
    for (int64_t i = 0; i < g->npanels_m; i++) {
        pack_rows(w, own, k, i);
        for (int64_t j = j0, n; j < j1; j += n, sums += n * rows * columns) {
            const int64_t whole = least(j1, g->numbers / columns) - j;
            n = whole > 0 ? whole : 1;
            const tutti_gemm_block b = {.a = cells_at(own, g->a_at),
                                        .a_i = row->a_in_tiles ? tile : 1,
                                        .a_p = row->a_in_tiles ? rows * tile : rows,
                                        .b = cells_at(own, g->b_at) + (j - j0) * k->cells * columns,
                                        .b_p = columns,
                                        .steps = k->cells,
                                        .begin = is_first ? NULL : sums,
                                        .begin_apart = columns,
                                        .sums = sums,
                                        .sums_apart = columns,
                                        .more = n - 1,
                                        .next_b = k->cells * columns,
                                        .next_c = rows * columns,
                                        .next_sums = sums + n * rows * columns};
            row->multiply(&b, least(rows, g->channels - i * rows), least(columns, g->numbers - j * columns));
        }
    }
}

static void put_sums(const job *w, const char *own, int64_t j0, int64_t j1)
{
    const tutti_windows_gradient *g = w->g;
    const int64_t rows = g->row->rows, columns = g->row->columns;
    const float *sums = (const float *)(const void *)own;
    for (int64_t i = 0; i < g->npanels_m; i++)
        for (int64_t j = j0; j < j1; j++, sums += rows * columns) {
            const tutti_gemm_finish f = {.rows = least(rows, g->channels - i * rows),
                                         .columns = least(columns, g->numbers - j * columns),
                                         .sums = sums,
                                         .sums_apart = columns,
                                         .type = TUTTI_F32,
                                         .to = w->dweights + i * rows * g->numbers + j * columns,
                                         .to_apart = g->numbers};
            g->row->finish(&f);
        }
}

static void sum_columns(const job *w, char *own, int64_t j0, int64_t j1)
{
    const tutti_windows_gradient *g = w->g;
    const int64_t plane = g->from.down * g->from.right, all = plane * g->from.at.batch;
    const int64_t each = g->in_planes ? g->lines_block * g->from.right : g->steps_block;
    for (int64_t at = 0; at < all;) {
        const int64_t within = at % plane, n = g->in_planes ? least(each, plane - within) : least(each, all - at);
        block k = {.all = {at, n}, .cells = cells_of(g, n)};
        if (g->in_planes) {
            k.line = within / g->from.right, k.nlines = n / g->from.right;
            k.cells = cells_of(g, k.nlines);
            if (within == 0) tutti_windows_fill_planes(&g->from, w->memory, at / plane, own + g->planes_at);
        }
        pack_windows(w, own, &k, j0, j1);
        multiply(w, own, &k, j0, j1, at == 0);
        at += n;
    }
    put_sums(w, own, j0, j1);
}

static void sum_parts(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *w = arg;
    const tutti_windows_gradient *g = w->g;
    char *own = w->scratch + (size_t)thread * g->thread_bytes;
    _Alignas(TUTTI_GEMM_ALIGNED) char before[TUTTI_GEMM_ALIGNED];
    if (g->row->enter) g->row->enter(before);
    for (int64_t part = begin; part < end; part++)
        sum_columns(w, own, part * g->panels_n, least((part + 1) * g->panels_n, g->npanels_n));
    if (g->row->leave) g->row->leave(before);
}

void tutti_windows_gradient_run(const tutti_windows_gradient *g, const void *memory, const void *dout, float *dweights,
                                void *scratch)
{
    job w = {g, memory, dout, dweights, scratch};
    tutti_crew_run(g->nthreads, up(g->npanels_n, g->panels_n), sum_parts, &w);
}
