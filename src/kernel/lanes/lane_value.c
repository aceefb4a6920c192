/* SPDX-License-Identifier: Apache-2.0 */
/* lane_value.c: fills, sums, converts and copies whole values (lane_value.h), and keeps the table of rows of
 * lane_impl.h. */
#include "lane_value.h"

#include <stdlib.h>
#include <string.h>

#include "../../tensor/elementwise.h"
#include "../crew.h"
#include "tile_conv.h"

TUTTI_ISA_TABLE(tutti_lane_row, tutti_lane);

const tutti_lane_row *tutti_lane_for(int64_t lanes)
{
    int isa = (int)tutti_isa_here();
    while (isa > TUTTI_ISA_GENERIC && tutti_lane_rows[isa]->width > lanes) isa--;
    return tutti_lane_rows[isa];
}

const tutti_conv_loops *tutti_lane_conv_bf16(void)
{
    return tutti_isa_has_bf16() ? TUTTI_ISA_X86(&tutti_lane_conv_avx512bf16) : NULL;
}

const tutti_tile_conv_loops *tutti_tile_conv_here(void)
{
    return TUTTI_ISA_X86(&tutti_tile_conv_amx);
}

enum { PIECE = 1 << 12, STREAM_BYTES = 1 << 20, LINE = 64 };

bool tutti_lane_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    bool fits = tutti_order_of(&k->in[0]) != TUTTI_ORDER_NONE;
    (void)pass;
    for (int i = 0; i < k->ninputs; i++) fits = fits && k->in[i].dtype == tutti_precision_dtype(r->precision);
    return fits;
}

tutti_status tutti_lane_like_input(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    if (!tutti_lane_fits(k, r, TUTTI_PASS_FORWARD))
        return tutti_fail(err, TUTTI_ERR_USAGE, "inputs of op %s are not all of one type in orders that are known",
                          k->op->name);
    k->out.dtype = k->in[0].dtype;
    k->out.layout = k->in[0].layout;
    k->out.bytes = k->in[0].bytes;
    return TUTTI_OK;
}

void tutti_lane_free_state(tutti_kernel *k)
{
    free(k->state);
}

/* --- elements whose order does not matter --- */

/* Returns the end of the first `pieces` pieces of PIECE elements, limited to n. */
static int64_t end_of(int64_t n, int64_t pieces)
{
    return pieces * PIECE < n ? pieces * PIECE : n;
}

static int64_t pieces_of(int64_t n)
{
    return (n + PIECE - 1) / PIECE;
}

static bool may_stream(tutti_dtype type, const void *to, int64_t n)
{
    return (size_t)n * tutti_dtype_bytes(type) >= STREAM_BYTES && (uintptr_t)to % LINE == 0;
}

typedef struct {
    tutti_map_loop *loop;
    tutti_map_call call;
    int64_t n;
} map_job;

static void do_map(void *arg, int64_t begin, int64_t end, int thread)
{
    const map_job *j = arg;
    tutti_map_call call = j->call;
    (void)thread;
    call.begin = begin * PIECE;
    call.end = end_of(j->n, end);
    j->loop(&call);
}

void tutti_lane_map(tutti_map_loop *loop, const tutti_map_call *call, int64_t n, int nthreads)
{
    map_job job = {loop, *call, n};
    job.call.streams = may_stream(call->type, call->to, n) && call->to != call->x && call->to != call->y;
    tutti_crew_run(nthreads, pieces_of(n), do_map, &job);
}

typedef struct {
    tutti_sum_call call;
    int64_t n;
} sum_job;

static void do_sum(void *arg, int64_t begin, int64_t end, int thread)
{
    const sum_job *j = arg;
    tutti_sum_call call = j->call;
    (void)thread;
    call.begin = begin * PIECE;
    call.end = end_of(j->n, end);
    tutti_lane_here()->sum(&call);
}

void tutti_lane_sum(tutti_dtype type, const void *const *parts, int nparts, void *to, int64_t n, int nthreads)
{
    sum_job job = {{.type = type, .parts = parts, .nparts = nparts, .to = to, .streams = may_stream(type, to, n)}, n};
    for (int i = 0; i < nparts; i++) job.call.streams = job.call.streams && parts[i] != to;
    tutti_crew_run(nthreads, pieces_of(n), do_sum, &job);
}

typedef struct {
    tutti_lane_view from, to;
    int64_t n;
} convert_job;

static void do_convert(void *arg, int64_t begin, int64_t end, int thread)
{
    const convert_job *j = arg;
    tutti_lane_view from = j->from, to = j->to;
    (void)thread;
    from.at = to.at = begin * PIECE;
    tutti_lane_here()->copy(&from, &to, end_of(j->n, end) - from.at, 1, false);
}

void tutti_lane_convert(tutti_dtype from_type, const void *from, tutti_dtype to_type, void *to, int64_t n, int nthreads)
{
    convert_job job = {{.memory = (void *)from, .type = from_type, .step = {1, n}},
                       {.memory = to, .type = to_type, .step = {1, n}},
                       n};
    tutti_crew_run(nthreads, pieces_of(n), do_convert, &job);
}

void tutti_lane_mask_dout(const tutti_kernel *k, const tutti_kernel_args *a, int nthreads)
{
    const tutti_map_call call = {.type = k->out.dtype, .x = a->out, .y = a->dout, .to = a->dout};
    tutti_lane_map(tutti_lane_here()->map.relu_gradient, &call, tutti_value_elements(&k->out), nthreads);
}

void tutti_lane_sum_rows(tutti_dtype type, const void *rows, int64_t nrows, int64_t n, float *sum)
{
    enum { BLOCK = 1024 };
    float wide[BLOCK];
    const char *row = rows;
    for (int64_t i = 0; i < nrows; i++)
        for (int64_t j = 0; j < n; j += BLOCK) {
            const int64_t some = n - j < BLOCK ? n - j : BLOCK;
            if (type != TUTTI_F32) tutti_lane_convert(type, row, TUTTI_F32, wide, some, 1);
            tutti_elementwise_add(sum + j, type == TUTTI_F32 ? (const float *)(const void *)row : wide, some);
            row += (size_t)some * tutti_dtype_bytes(type);
        }
}

/* --- values as channels and positions --- */

tutti_lane_place tutti_lane_place_of(const tutti_value *v, const void *memory, int64_t channel)
{
    tutti_lane_place p = {.type = v->dtype, .memory = (void *)memory, .channel = channel};
    tutti_blocks_of(v, &p.at);
    return p;
}

tutti_lane_view tutti_lane_view_of(const tutti_lane_place *p, int64_t sample, int64_t channel, int64_t position)
{
    const tutti_blocks *b = &p->at;
    const int64_t c = p->channel + channel;
    return (tutti_lane_view){.memory = p->memory,
                             .type = p->type,
                             .at = sample * b->sample_step + c / b->block * b->block_step + c % b->block +
                                   position * b->block,
                             .step = {b->block == 1 ? b->block_step : 1, b->block}};
}

/* Returns how many channels from `channel` on lie in one block (or are planes of their own). */
static int64_t together(const tutti_lane_place *p, int64_t channel, int64_t most)
{
    const int64_t left = p->at.block - (p->channel + channel) % p->at.block;
    return p->at.block == 1 || left > most ? most : left;
}

static void clear_lanes(const tutti_lane_place *p, int64_t sample, int64_t position, int64_t n)
{
    const int64_t used = p->at.channels % p->at.block;
    const size_t width = tutti_dtype_bytes(p->type);
    if (!used) return;
    char *to = (char *)p->memory +
               (size_t)((sample + 1) * p->at.sample_step - p->at.block_step + position * p->at.block + used) * width;
    for (int64_t i = 0; i < n; i++)
        memset(to + (size_t)(i * p->at.block) * width, 0, (size_t)(p->at.block - used) * width);
}

void tutti_lane_clear_padding(const tutti_value *v, void *memory)
{
    const tutti_lane_place p = tutti_lane_place_of(v, memory, 0);
    for (int64_t sample = 0; sample < p.at.batch; sample++) clear_lanes(&p, sample, 0, p.at.plane);
}

/* TILE: number of positions that are copied at once; in a plane they are a few cache lines. */
enum { TILE = 256, MOST_INPUTS = TUTTI_MAX_OP_INPUTS };

typedef struct {
    tutti_lane_place from[MOST_INPUTS], to;
    int n;
    int64_t nchannels, tiles, tile, most; /* most: largest number of channels that are added at once */
} move_job;

static void move_tile(const move_job *j, int64_t sample, int64_t position, int64_t n)
{
    const tutti_lane_row *row = tutti_lane_here();
    for (int64_t c = 0; c < j->nchannels;) {
        const int64_t nc = together(&j->to, c, together(&j->from[0], c, j->nchannels - c));
        const tutti_lane_view from = tutti_lane_view_of(&j->from[0], sample, c, position),
                              to = tutti_lane_view_of(&j->to, sample, c, position);
        row->copy(&from, &to, nc, n, false);
        c += nc;
    }
    if (j->to.channel + j->nchannels == j->to.at.channels) clear_lanes(&j->to, sample, position, n);
}

static void do_moves(void *arg, int64_t begin, int64_t end, int thread)
{
    const move_job *j = arg;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t position = i % j->tiles * j->tile, left = j->to.at.plane - position;
        move_tile(j, i / j->tiles, position, left < j->tile ? left : j->tile);
    }
}

void tutti_lane_move(const tutti_lane_place *from, const tutti_lane_place *to, int64_t nchannels, int nthreads)
{
    move_job job = {.from = {*from},
                    .to = *to,
                    .n = 1,
                    .nchannels = nchannels,
                    .tiles = (to->at.plane + TILE - 1) / TILE,
                    .tile = TILE};
    tutti_crew_run(nthreads, to->at.batch * job.tiles, do_moves, &job);
}

/* --- sums of values in different orders, by tiles in f32 that stay in the first-level cache --- */

enum { SUM_NUMBERS = 4096, SUM_CHANNELS = 256, SUM_PLANES = 16 };

static int64_t all_together(const move_job *j, int64_t c)
{
    int64_t n = together(&j->to, c, j->nchannels - c);
    for (int i = 0; i < j->n; i++) n = together(&j->from[i], c, n);
    return n < j->most ? n : j->most;
}

static void add_tile(const move_job *j, int64_t sample, int64_t position, int64_t n)
{
    const tutti_lane_row *row = tutti_lane_here();
    float sums[SUM_NUMBERS];
    for (int64_t c = 0; c < j->nchannels;) {
        const int64_t nc = all_together(j, c);
        const bool lines = j->to.at.block == 1; /* true if the tile has the order of the output */
        const tutti_lane_view tile = {.memory = sums, .type = TUTTI_F32, .step = {lines ? n : 1, lines ? 1 : nc}};
        const tutti_lane_view to = tutti_lane_view_of(&j->to, sample, c, position);
        for (int i = 0; i < j->n; i++) {
            const tutti_lane_view from = tutti_lane_view_of(&j->from[i], sample, c, position);
            row->copy(&from, &tile, nc, n, i > 0);
        }
        row->copy(&tile, &to, nc, n, false);
        c += nc;
    }
    clear_lanes(&j->to, sample, position, n);
}

static void do_adds(void *arg, int64_t begin, int64_t end, int thread)
{
    const move_job *j = arg;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t position = i % j->tiles * j->tile, left = j->to.at.plane - position;
        add_tile(j, i / j->tiles, position, left < j->tile ? left : j->tile);
    }
}

void tutti_lane_add(const tutti_lane_place *from, int n, const tutti_lane_place *to, int nthreads)
{
    move_job job = {
        .to = *to, .n = n, .nchannels = to->at.channels, .most = to->at.block == 1 ? SUM_PLANES : to->at.block};
    memcpy(job.from, from, (size_t)n * sizeof *from);
    if (job.most > SUM_CHANNELS) job.most = SUM_CHANNELS;
    job.tile = SUM_NUMBERS / job.most;
    job.tiles = (to->at.plane + job.tile - 1) / job.tile;
    tutti_crew_run(nthreads, to->at.batch * job.tiles, do_adds, &job);
}
