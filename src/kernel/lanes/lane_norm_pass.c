/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_pass.c: runs a pass of batch normalisation on several threads. */
#include "lane_norm_pass.h"

#include <string.h>

#include "../crew.h"

/* Number of rows that are summed in float before their sums are added in double: MANY_ROWS for rows of fewer than
 * SHORT_ROW units, FEW_ROWS for longer ones. */
enum { MANY_ROWS = 256, FEW_ROWS = 64, SHORT_ROW = 4 };
/* Limits for cutting a panel: about CHUNKS chunks in all panels together. Each has at least CHUNK_NUMBERS elements and
 * CHUNK_POSITIONS positions, so that starting a thread pays, and sums are few compared with elements. */
enum { CHUNKS = 64, CHUNK_NUMBERS = 1 << 15, CHUNK_POSITIONS = 128 };

static int64_t least_common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int unit_of(const tutti_norm_walk *w)
{
    return 2 * w->row->width;
}

static void find_chunks(tutti_norm_walk *w)
{
    const int64_t npanels = w->at.nblocks, total = w->nruns * w->run;
    w->span = w->entries * (w->period < SHORT_ROW ? MANY_ROWS : FEW_ROWS);
    w->spans = (w->run + w->span - 1) / w->span;
    w->nchunks = smaller((CHUNKS + npanels - 1) / npanels, w->nruns * w->spans);
    w->nchunks = smaller(w->nchunks, smaller(total / CHUNK_NUMBERS, w->n / CHUNK_POSITIONS));
    if (w->nchunks < 1) w->nchunks = 1;
    w->by_panels = w->nthreads == 1 || npanels >= 2 * w->nthreads;
}

bool tutti_norm_walk_of(const tutti_value *v, int nthreads, tutti_norm_walk *out)
{
    *out = (tutti_norm_walk){.row = tutti_lane_here(), .nthreads = nthreads < 1 ? 1 : nthreads};
    if (!tutti_blocks_of(v, &out->at)) return false;
    const tutti_blocks *b = &out->at;
    /* true if one panel has all channels: then the samples lie one after the other as a single run */
    const bool whole = b->nblocks == 1;
    out->padded = b->nblocks * b->block;
    out->n = b->batch * b->plane;
    out->nruns = whole ? 1 : b->batch;
    out->run = (whole ? b->batch : 1) * b->plane * b->block;
    out->run_step = b->sample_step;
    out->entries = least_common_multiple(b->block, unit_of(out));
    out->period = out->entries / unit_of(out);
    find_chunks(out);
    return true;
}

void tutti_norm_walk_lanes(tutti_norm_walk *w, tutti_dtype type)
{
    w->channel = tutti_alloc((size_t)w->entries * sizeof *w->channel);
    for (int64_t i = 0; i < w->entries; i++)
        w->channel[tutti_lane_index(w->row->width, type, i)] = (int32_t)(i % w->at.block);
}

static int64_t units_of_run(const tutti_norm_walk *w)
{
    return (w->run + unit_of(w) - 1) / unit_of(w);
}

int64_t tutti_norm_walk_units(const tutti_norm_walk *w)
{
    return w->at.nblocks * w->nruns * units_of_run(w);
}

/* --- scratch: sums of each thread and of each chunk; a table for each thread; the values of each channel --- */

static size_t doubles_of(const tutti_norm_walk *w)
{
    return (size_t)(2 * w->nthreads * w->entries + 2 * w->nchunks * w->padded);
}

static int64_t table_floats(const tutti_norm_walk *w)
{
    return TUTTI_NORM_KINDS * w->entries;
}

size_t tutti_norm_walk_scratch(const tutti_norm_walk *w)
{
    return doubles_of(w) * sizeof(double) +
           (size_t)(w->nthreads * table_floats(w) + TUTTI_NORM_SUM * w->padded) * sizeof(float);
}

static float *floats_at(const tutti_norm_pass *p)
{
    return (float *)(void *)((double *)p->scratch + doubles_of(p->walk));
}

void tutti_norm_pass_begin(tutti_norm_pass *p)
{
    float *channels = floats_at(p) + p->walk->nthreads * table_floats(p->walk);
    for (int i = 0; i < TUTTI_NORM_SUM; i++) p->channels[i] = channels + i * p->walk->padded;
}

static tutti_norm_lanes lanes_of(const tutti_norm_pass *p, int thread)
{
    double *sum = (double *)p->scratch + 2 * thread * p->walk->entries;
    return (tutti_norm_lanes){floats_at(p) + thread * table_floats(p->walk), sum, sum + p->walk->entries};
}

static double *chunk_sums(const tutti_norm_pass *p, int64_t panel, int64_t chunk)
{
    const tutti_norm_walk *w = p->walk;
    return (double *)p->scratch + 2 * w->nthreads * w->entries + (panel * w->nchunks + chunk) * 2 * w->at.block;
}

/* --- tables --- */

static void fill_kind(const tutti_norm_pass *p, int64_t panel, int kind, const tutti_norm_lanes *l)
{
    const tutti_norm_walk *w = p->walk;
    const float *values = p->channels[kind] + panel * w->at.block;
    const int unit = unit_of(w);
    for (int64_t v = 0; v < w->period; v++) {
        float *to = l->table + (v * TUTTI_NORM_KINDS + kind) * unit;
        for (int i = 0; i < unit; i++) to[i] = values[w->channel[v * unit + i]];
    }
}

static void fill(const tutti_norm_pass *p, int64_t panel, const tutti_norm_lanes *l)
{
    for (int kind = 0; kind < TUTTI_NORM_SUM; kind++) fill_kind(p, panel, kind, l);
}

/* --- the parts of a panel --- */

static tutti_norm_span span_at(const tutti_norm_walk *w, int64_t panel, int64_t i)
{
    const int64_t run = i / w->spans, first = i % w->spans * w->span;
    return (tutti_norm_span){.at = panel * w->at.block_step + run * w->run_step + first,
                             .n = smaller(w->span, w->run - first),
                             .unit = (panel * w->nruns + run) * units_of_run(w) + first / unit_of(w)};
}

static void run_chunk(const tutti_norm_pass *p, tutti_norm_loop *loop, int64_t panel, int64_t chunk,
                      const tutti_norm_lanes *l)
{
    const tutti_norm_walk *w = p->walk;
    const int64_t nspans = w->nruns * w->spans;
    for (int64_t i = nspans * chunk / w->nchunks; i < nspans * (chunk + 1) / w->nchunks; i++) {
        const tutti_norm_span span = span_at(w, panel, i);
        loop(&p->call, l, &span);
    }
}

static void clear_sums(const tutti_norm_walk *w, const tutti_norm_lanes *l)
{
    memset(l->sum, 0, (size_t)w->entries * sizeof *l->sum);
    memset(l->product, 0, (size_t)w->entries * sizeof *l->product);
}

/* Adds up the lanes that belong to one channel, in their order. If all lanes belong to one channel, it adds halves
 * first, because such additions do not wait for each other. */
static void fold(const tutti_norm_walk *w, double *lanes, double *sum)
{
    int64_t n = w->entries;
    for (; w->at.block == 1 && n > 1; n /= 2)
        for (int64_t i = 0; i < n / 2; i++) lanes[i] += lanes[i + n / 2];
    memset(sum, 0, (size_t)w->at.block * sizeof *sum);
    for (int64_t i = 0; i < n; i++) sum[w->channel[i]] += lanes[i];
}

static void sum_chunk(const tutti_norm_pass *p, int64_t panel, int64_t chunk, const tutti_norm_lanes *l)
{
    double *sum = chunk_sums(p, panel, chunk);
    clear_sums(p->walk, l);
    run_chunk(p, p->sums, panel, chunk, l);
    fold(p->walk, l->sum, sum);
    fold(p->walk, l->product, sum + p->walk->at.block);
}

void tutti_norm_pass_sums(const tutti_norm_pass *p, int64_t panel, int64_t ch, double *sum, double *product)
{
    *sum = *product = 0;
    for (int64_t chunk = 0; chunk < p->walk->nchunks; chunk++) {
        const double *of = chunk_sums(p, panel, chunk);
        *sum += of[ch];
        *product += of[p->walk->at.block + ch];
    }
}

void tutti_norm_pass_first_mean(const tutti_norm_pass *p, int64_t panel, const tutti_norm_lanes *l, float *mean)
{
    const tutti_norm_walk *w = p->walk;
    const tutti_norm_span first = span_at(w, panel, 0);
    double *sum = chunk_sums(p, panel, 0);
    clear_sums(w, l);
    memset(p->channels[TUTTI_NORM_MEAN] + panel * w->at.block, 0, (size_t)w->at.block * sizeof(float));
    fill_kind(p, panel, TUTTI_NORM_MEAN, l);
    p->sums(&p->call, l, &first);
    fold(w, l->sum, sum);
    for (int64_t i = 0; i < w->at.block; i++) mean[i] = (float)(sum[i] * (double)w->at.block / (double)first.n);
}

/* --- threads --- */

static void do_panels(void *arg, int64_t begin, int64_t end, int thread)
{
    const tutti_norm_pass *p = arg;
    const tutti_norm_lanes l = lanes_of(p, thread);
    for (int64_t panel = begin; panel < end; panel++) {
        p->before(p, panel, &l);
        fill(p, panel, &l);
        for (int64_t chunk = 0; p->sums && chunk < p->walk->nchunks; chunk++) sum_chunk(p, panel, chunk, &l);
        if (p->sums) {
            p->between(p, panel);
            fill(p, panel, &l);
        }
        for (int64_t chunk = 0; p->map && chunk < p->walk->nchunks; chunk++) run_chunk(p, p->map, panel, chunk, &l);
    }
}

static void do_sums(void *arg, int64_t begin, int64_t end, int thread)
{
    const tutti_norm_pass *p = arg;
    const tutti_norm_lanes l = lanes_of(p, thread);
    for (int64_t i = begin; i < end; i++) {
        const int64_t panel = i / p->walk->nchunks, chunk = i % p->walk->nchunks;
        if (i == begin || chunk == 0) fill(p, panel, &l);
        sum_chunk(p, panel, chunk, &l);
    }
}

static void do_map(void *arg, int64_t begin, int64_t end, int thread)
{
    const tutti_norm_pass *p = arg;
    const tutti_norm_lanes l = lanes_of(p, thread);
    for (int64_t i = begin; i < end; i++) {
        const int64_t panel = i / p->walk->nchunks, chunk = i % p->walk->nchunks;
        if (i == begin || chunk == 0) fill(p, panel, &l);
        run_chunk(p, p->map, panel, chunk, &l);
    }
}

void tutti_norm_pass_run(tutti_norm_pass *p)
{
    const tutti_norm_walk *w = p->walk;
    const int64_t npanels = w->at.nblocks;
    const tutti_norm_lanes l = lanes_of(p, 0);
    if (w->by_panels) {
        tutti_crew_run(w->nthreads, npanels, do_panels, p);
        return;
    }
    for (int64_t panel = 0; panel < npanels; panel++) p->before(p, panel, &l);
    if (p->sums) tutti_crew_run(w->nthreads, npanels * w->nchunks, do_sums, p);
    for (int64_t panel = 0; p->sums && panel < npanels; panel++) p->between(p, panel);
    if (p->map) tutti_crew_run(w->nthreads, npanels * w->nchunks, do_map, p);
}
