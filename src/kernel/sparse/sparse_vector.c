/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_vector.c: the vector loops of convolutions that skip zeros. Sums stay in registers for a whole list. Each
 * element is multiplied with vectors straight from memory, one load a product. Lists have various lengths, and the
 * processor mispredicts their ends; that costs little, because products of the list before are still being computed.
 * put_nonzero of vector.h writes the lists. */
#include "../lanes/lane_loops.h"
#include "sparse_impl.h"

INLINE int64_t sparse_clip(int64_t x, int64_t end)
{
    return x < 0 ? 0 : x < end ? x : end;
}

/* --- lists --- */

static int64_t sparse_list(const tutti_sparse_list_call *c)
{
    int64_t n = c->n;
    for (int64_t x = 0; x < c->positions; x++) {
        const float *segment = c->from + x * c->position_step;
        const int64_t place = c->place + x * c->apart;
        c->to.start[x] = (int32_t)n;
        for (int64_t first = 0; first < c->channels; first += c->segment, segment += c->segment_step) {
            const int64_t left = c->channels - first, channels = left < c->segment ? left : c->segment;
            int64_t i = 0;
            for (; i + WIDTH <= channels; i += WIDTH)
                n += put_nonzero(c->to.value + n, c->to.place + n, load(segment + i), (int32_t)(place + first + i));
            if (i < channels)
                n += put_nonzero(c->to.value + n, c->to.place + n, load_some(segment + i, channels - i),
                                 (int32_t)(place + first + i));
        }
    }
    c->to.start[c->positions] = (int32_t)n;
    return n;
}

/* --- sums of positions --- */

/* Number of sums to which the loop adds in turn, because each addition to a sum waits for the one before it. If the
 * lanes need fewer sums for a listed element, several elements are added to sums of their own. */
enum { SPARSE_CHAINS = 4 };

INLINE int sparse_ways(int nsums)
{
    return nsums >= SPARSE_CHAINS ? 1 : nsums == 1 ? SPARSE_CHAINS : SPARSE_CHAINS / 2;
}

INLINE void sparse_add_number(const tutti_sparse_list *l, int32_t i, const float *weights, int64_t base, vector *sums,
                              int nvectors)
{
    const vector x = all(l->value[i]);
    const float *w = weights + (l->place[i] - base) * nvectors * WIDTH;
    for (int v = 0; v < nvectors; v++) sums[v] = multiply_add(x, load(w + v * WIDTH), sums[v]);
}

INLINE void sparse_add_list(const tutti_sparse_sum_call *c, int32_t begin, int32_t end, int64_t base, float *to,
                            int nvectors)
{
    const tutti_sparse_list *l = &c->list;
    const float *weights = c->weights;
    const int ways = sparse_ways(nvectors);
    vector sums[SPARSE_CHAINS][TUTTI_SPARSE_SUM_VECTORS] = {{{0}}};
    int32_t i = begin;
    for (int v = 0; v < nvectors; v++) sums[0][v] = load(to + v * WIDTH);
    for (; i + ways <= end; i += ways)
        for (int way = 0; way < ways; way++) sparse_add_number(l, i + way, weights, base, sums[way], nvectors);
    for (; i < end; i++) sparse_add_number(l, i, weights, base, sums[0], nvectors);
    for (int v = 0; v < nvectors; v++) {
        for (int way = 1; way < ways; way++) sums[0][v] += sums[way][v];
        store(to + v * WIDTH, sums[0][v]);
    }
}

INLINE void sparse_sum_row(const tutti_sparse_sum_call *c, int nvectors)
{
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t first = c->first + i * c->stride;
        const int32_t begin = c->list.start[sparse_clip(first, c->positions)],
                      end = c->list.start[sparse_clip(first + c->taps, c->positions)];
        if (begin < end) sparse_add_list(c, begin, end, first * c->apart, c->sums + i * c->sums_apart, nvectors);
    }
}

static void sparse_sum(const tutti_sparse_sum_call *call)
{
    const tutti_sparse_sum_call copy = *call, *c = &copy; /* a copy, to keep it in registers */
    switch (c->nvectors) {
    case 1: sparse_sum_row(c, 1); break;
    case 2: sparse_sum_row(c, 2); break;
    case 3: sparse_sum_row(c, 3); break;
    case 4: sparse_sum_row(c, 4); break;
    case 5: sparse_sum_row(c, 5); break;
    case 6: sparse_sum_row(c, 6); break;
    case 7: sparse_sum_row(c, 7); break;
    default: sparse_sum_row(c, 8); break;
    }
}

/* --- gradients of weights --- */

enum {
    SPARSE_SUMS = WIDTH < 16 ? 12 : 24, /* number of vectors of sums that stay in registers */
    SPARSE_COLUMNS = 6,                 /* largest number of neighbouring taps that are computed at once */
    SPARSE_ROWS = 3
};

INLINE void sparse_taps(const tutti_sparse_weight_call *c, int64_t y, int64_t x, int nvectors, int ny, int nx)
{
    vector sums[SPARSE_ROWS][SPARSE_COLUMNS][TUTTI_SPARSE_WEIGHT_VECTORS];
    float *to = c->dweights + y * c->row_step + x * c->step;
    const int64_t lanes = nvectors * WIDTH, row = c->row * lanes;
    const float *dout = c->dout - y * row - x * lanes;
    for (int i = 0; i < ny; i++)
        for (int j = 0; j < nx; j++)
            for (int v = 0; v < nvectors; v++) sums[i][j][v] = load(to + i * c->row_step + j * c->step + v * WIDTH);
    for (int64_t l = 0; l < c->n; l++) {
        const vector number = all(c->list.value[l]);
        const float *at = dout + c->list.place[l] * lanes;
        for (int i = 0; i < ny; i++)
            for (int j = 0; j < nx; j++)
                for (int v = 0; v < nvectors; v++)
                    sums[i][j][v] = multiply_add(number, load(at - i * row - j * lanes + v * WIDTH), sums[i][j][v]);
    }
    for (int i = 0; i < ny; i++)
        for (int j = 0; j < nx; j++)
            for (int v = 0; v < nvectors; v++) store(to + i * c->row_step + j * c->step + v * WIDTH, sums[i][j][v]);
}

/* Computes several rows of taps at once: the largest number with which all sums stay in registers. */
INLINE void sparse_columns(const tutti_sparse_weight_call *c, int64_t x, int nvectors, int nx)
{
    const int fit = SPARSE_SUMS / (nvectors * nx), rows = fit > SPARSE_ROWS ? SPARSE_ROWS : fit;
    int64_t y = 0;
    for (; y + rows <= c->ny; y += rows) sparse_taps(c, y, x, nvectors, rows, nx);
    for (; y < c->ny; y++) sparse_taps(c, y, x, nvectors, 1, nx);
}

INLINE void sparse_all_taps(const tutti_sparse_weight_call *c, int nvectors)
{
    const int64_t parts = (c->nx + SPARSE_COLUMNS - 1) / SPARSE_COLUMNS;
    for (int64_t part = 0; part < parts; part++) {
        const int64_t x = c->nx * part / parts;
        switch (c->nx * (part + 1) / parts - x) {
        case 1: sparse_columns(c, x, nvectors, 1); break;
        case 2: sparse_columns(c, x, nvectors, 2); break;
        case 3: sparse_columns(c, x, nvectors, 3); break;
        case 4: sparse_columns(c, x, nvectors, 4); break;
        case 5: sparse_columns(c, x, nvectors, 5); break;
        default: sparse_columns(c, x, nvectors, 6); break;
        }
    }
}

static void sparse_weight(const tutti_sparse_weight_call *call)
{
    const tutti_sparse_weight_call copy = *call, *c = &copy; /* a copy, to keep it in registers */
    if (c->n == 0) return;
    if (c->nvectors == 1)
        sparse_all_taps(c, 1);
    else
        sparse_all_taps(c, 2);
}

/* --- gradients of weights from the list of the output's gradient --- */

INLINE void sparse_add_window(const tutti_sparse_window_call *c, int64_t l, const float *from,
                              vector sums[][TUTTI_SPARSE_WINDOW_VECTORS], int nvectors, int n)
{
    const vector number = all(c->list.value[l]);
    const float *at = from + c->windows_of[c->list.place[l]];
    for (int i = 0; i < n; i++)
        for (int v = 0; v < nvectors; v++)
            sums[i][v] = multiply_add(number, load(at + i * c->part_step + v * WIDTH), sums[i][v]);
}

INLINE void sparse_add_parts(const tutti_sparse_window_call *c, int64_t part, int nvectors, int n)
{
    const int ways = sparse_ways(nvectors * n);
    vector sums[SPARSE_CHAINS][SPARSE_ROWS][TUTTI_SPARSE_WINDOW_VECTORS] = {{{{0}}}};
    float *to = c->sums + part * nvectors * WIDTH;
    const float *from = c->from + part * c->part_step;
    int64_t l = 0;
    for (int i = 0; i < n; i++)
        for (int v = 0; v < nvectors; v++) sums[0][i][v] = load(to + (i * nvectors + v) * WIDTH);
    for (; l + ways <= c->n; l += ways)
        for (int way = 0; way < ways; way++) sparse_add_window(c, l + way, from, sums[way], nvectors, n);
    for (; l < c->n; l++) sparse_add_window(c, l, from, sums[0], nvectors, n);
    for (int i = 0; i < n; i++)
        for (int v = 0; v < nvectors; v++) {
            for (int way = 1; way < ways; way++) sums[0][i][v] += sums[way][i][v];
            store(to + (i * nvectors + v) * WIDTH, sums[0][i][v]);
        }
}

/* Computes three parts at a time. One or two parts that are left are computed together. */
INLINE void sparse_windows(const tutti_sparse_window_call *c, int nvectors)
{
    int64_t part = 0;
    for (; part + SPARSE_ROWS <= c->parts; part += SPARSE_ROWS) sparse_add_parts(c, part, nvectors, SPARSE_ROWS);
    if (c->parts - part == 2)
        sparse_add_parts(c, part, nvectors, 2);
    else if (c->parts - part == 1)
        sparse_add_parts(c, part, nvectors, 1);
}

static void sparse_window(const tutti_sparse_window_call *call)
{
    const tutti_sparse_window_call copy = *call, *c = &copy; /* a copy, to keep it in registers */
    switch (c->nvectors) {
    case 1: sparse_windows(c, 1); break;
    case 2: sparse_windows(c, 2); break;
    case 3: sparse_windows(c, 3); break;
    case 4: sparse_windows(c, 4); break;
    case 5: sparse_windows(c, 5); break;
    case 6: sparse_windows(c, 6); break;
    case 7: sparse_windows(c, 7); break;
    default: sparse_windows(c, 8); break;
    }
}

/* --- gradients of inputs: sums of products of vectors --- */

enum { SPARSE_AT_ONCE = 4 };

/* For n elements of a list, adds to to[i] the sum of the products of dout with the weights at w[i]. */
INLINE void sparse_multiply(const float *dout, const float *const *w, int64_t nvectors, float *to, int n)
{
    vector even[SPARSE_AT_ONCE] = {{0}}, odd[SPARSE_AT_ONCE] = {{0}};
    int64_t v = 0;
    for (; v + 2 <= nvectors; v += 2) {
        const vector a = load(dout + v * WIDTH), b = load(dout + (v + 1) * WIDTH);
        for (int i = 0; i < n; i++) {
            even[i] = multiply_add(a, load(w[i] + v * WIDTH), even[i]);
            odd[i] = multiply_add(b, load(w[i] + (v + 1) * WIDTH), odd[i]);
        }
    }
    if (v < nvectors)
        for (int i = 0; i < n; i++) even[i] = multiply_add(load(dout + v * WIDTH), load(w[i] + v * WIDTH), even[i]);
    for (int i = 0; i < n; i++) to[i] += sum_lanes(even[i] + odd[i]);
}

/* The operands for all listed elements of one position: vectors of dout, and as many weights of each element's channel.
 * base: the place of channel 0 of the position. skipped: number of floats of weights whose taps lie before the row and
 * are left out. */
typedef struct {
    const float *dout;
    int64_t nvectors, base, skipped;
} sparse_met;

INLINE void sparse_dot_some(const tutti_sparse_dot_call *c, int32_t at, sparse_met m, int n)
{
    const float *w[SPARSE_AT_ONCE];
    for (int i = 0; i < n; i++)
        w[i] = c->weights + (c->list.place[at + i] - m.base) * c->taps * c->nvectors * WIDTH + m.skipped;
    sparse_multiply(m.dout, w, m.nvectors, c->sums + at, n);
}

static void sparse_dot(const tutti_sparse_dot_call *call)
{
    const tutti_sparse_dot_call copy = *call, *c = &copy; /* a copy, to keep it in registers */
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t x = c->begin + i * c->step, first = c->first + i;
        const int64_t from = sparse_clip(first, c->width), to = sparse_clip(first + c->taps, c->width);
        const int64_t lanes = c->nvectors * WIDTH;
        const sparse_met m = {c->dout + from * lanes, (to - from) * c->nvectors, x * c->apart, (from - first) * lanes};
        int32_t at = c->list.start[x];
        const int32_t end = c->list.start[x + 1];
        if (m.nvectors <= 0) continue;
        for (; at + SPARSE_AT_ONCE <= end; at += SPARSE_AT_ONCE) sparse_dot_some(c, at, m, SPARSE_AT_ONCE);
        switch (end - at) {
        case 3: sparse_dot_some(c, at, m, 3); break;
        case 2: sparse_dot_some(c, at, m, 2); break;
        case 1: sparse_dot_some(c, at, m, 1); break;
        default: break;
        }
    }
}

const tutti_sparse_loops TUTTI_ISA_ROW(tutti_sparse) = {WIDTH,         sparse_list, sparse_sum,
                                                        sparse_weight, sparse_dot,  sparse_window};
