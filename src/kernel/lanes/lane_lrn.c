/* SPDX-License-Identifier: Apache-2.0 */
/* lane_lrn.c: tutti's own local response normalisation across channels, in every order and type. Nothing is saved: the
 * backward pass computes the bases again, which costs less than to read them.
 *
 * All channels of some positions are widened into a tile of floats. The tile has the order of memory: positions side by
 * side for row-major planes, else channels side by side, with zeros between the channels of neighbouring positions. */
#include <string.h>

#include "../crew.h"
#include "lane_value.h"

/* TILE_NUMBERS: floats of a tile, about. MOST_POSITIONS: largest number of its positions. SLACK: floats of room behind
 * a tile, for vectors that reach beyond its last element. LINE_FLOATS: floats of a cache line */
enum { TILE_NUMBERS = 2048, MOST_POSITIONS = 64, SLACK = 32, LINE_FLOATS = 16 };

typedef struct {
    tutti_blocks at;
    bool planes;         /* true if positions lie side by side, false if channels do */
    int64_t margin;      /* number of zero channels on each side, which stand for channels that do not exist */
    int64_t tile, tiles; /* tile: number of positions of a tile; tiles: number of tiles of a sample */
    int64_t room;        /* number of floats in a tile, with all margins */
    int nthreads;
} lrn;

enum { TILE_X, TILE_Y, TILE_DOUT, TILE_SQUARE, TILE_RATIO, NTILES };

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_lrn_attrs *at = k->attrs;
    const int ndims = k->in[0].shape.ndims;
    if (ndims != 2 && ndims != 4) return tutti_kernel_fall_back(k, r, err);
    lrn *s = tutti_alloc(sizeof *s);
    k->state = s;
    tutti_status st = tutti_lane_like_input(k, r, err);
    if (st != TUTTI_OK) return st;
    tutti_blocks_of(&k->in[0], &s->at);
    s->nthreads = r->nthreads < 1 ? 1 : r->nthreads;
    s->planes = s->at.block == 1 && s->at.channels > 1;
    s->margin = at->size / 2 < s->at.channels ? at->size / 2 : s->at.channels;
    s->tile = TILE_NUMBERS / s->at.channels;
    if (s->tile < 1) s->tile = 1;
    if (s->planes && s->tile < LINE_FLOATS) s->tile = LINE_FLOATS;
    if (s->tile > MOST_POSITIONS) s->tile = MOST_POSITIONS;
    if (s->tile > s->at.plane) s->tile = s->at.plane;
    s->tiles = (s->at.plane + s->tile - 1) / s->tile;
    s->room = (s->planes ? (s->at.channels + 2 * s->margin) * s->tile
                         : (s->at.channels + s->margin) * s->tile + 2 * s->margin) +
              SLACK;
    s->room = (s->room + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
    k->scratch_bytes = (size_t)(s->nthreads * NTILES * s->room) * sizeof(float);
    if (r->training) k->backward_reads = TUTTI_READS_INPUT;
    return TUTTI_OK;
}

typedef struct {
    const tutti_kernel *k;
    const tutti_kernel_args *a;
    bool forward;
} job;

/* Returns the offset of a tile's first element, in floats, behind the margin. */
static int64_t first_at(const lrn *s, int64_t positions)
{
    return s->planes ? s->margin * positions : s->margin;
}

static tutti_lane_view tile_view(const lrn *s, float *tile, int64_t positions, int64_t channel)
{
    const int64_t apart = s->at.channels + s->margin; /* distance in floats from one position to the next */
    return (tutti_lane_view){.memory = tile,
                             .type = TUTTI_F32,
                             .at = first_at(s, positions) + channel * (s->planes ? positions : 1),
                             .step = {s->planes ? positions : 1, s->planes ? 1 : apart}};
}

static void move_tile(const lrn *s, const tutti_lane_place *value, int64_t i, float *tile, bool out)
{
    const tutti_lane_row *row = tutti_lane_here();
    const int64_t sample = i / s->tiles, position = i % s->tiles * s->tile, left = s->at.plane - position;
    const int64_t n = left < s->tile ? left : s->tile, step = s->planes ? s->at.channels : s->at.block;
    for (int64_t c = 0; c < s->at.channels; c += step) {
        const tutti_lane_view there = tutti_lane_view_of(value, sample, c, position), here = tile_view(s, tile, n, c);
        const int64_t nc = s->at.channels - c < step ? s->at.channels - c : step;
        row->copy(out ? &here : &there, out ? &there : &here, nc, n, false);
    }
}

static tutti_lrn_call call_of(const job *j, float *tiles, int64_t positions)
{
    const lrn *s = j->k->state;
    const tutti_lrn_attrs *at = j->k->attrs;
    const int64_t first = first_at(s, positions);
    const int before = (int)(at->size / 2 < s->margin ? at->size / 2 : s->margin),
              after = (int)(at->size - 1 - at->size / 2);
    return (tutti_lrn_call){.n = s->planes ? s->at.channels * positions : (s->at.channels + s->margin) * positions,
                            .step = s->planes ? positions : 1,
                            .first = -before,
                            .last = after < (int)s->margin ? after : (int)s->margin,
                            .k = (float)at->k,
                            .alpha = (float)(at->alpha / (double)at->size),
                            .beta = (float)at->beta,
                            .x = tiles + TILE_X * s->room + first,
                            .dout = tiles + TILE_DOUT * s->room + first,
                            .y = tiles + TILE_Y * s->room + first,
                            .square = tiles + TILE_SQUARE * s->room + first,
                            .ratio = tiles + TILE_RATIO * s->room + first};
}

static void do_tiles(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const lrn *s = j->k->state;
    const tutti_kernel_args *a = j->a;
    float *tiles = (float *)a->scratch + thread * NTILES * s->room;
    const tutti_lane_place in = tutti_lane_place_of(&j->k->in[0], a->in[0], 0),
                           dout = tutti_lane_place_of(&j->k->in[0], a->dout, 0),
                           to = tutti_lane_place_of(&j->k->in[0], j->forward ? a->out : a->din[0], 0);
    for (int64_t i = begin, before = 0; i < end; i++) {
        const int64_t left = s->at.plane - i % s->tiles * s->tile, n = left < s->tile ? left : s->tile;
        /* this tile's margins lie at other places than those of the tile before */
        if (n != before) memset(tiles, 0, (size_t)(NTILES * s->room) * sizeof *tiles);
        before = n;
        const tutti_lrn_call call = call_of(j, tiles, n);
        move_tile(s, &in, i, tiles + TILE_X * s->room, false);
        if (!j->forward) move_tile(s, &dout, i, tiles + TILE_DOUT * s->room, false);
        (j->forward ? tutti_lane_here()->lrn : tutti_lane_here()->lrn_gradient)(&call);
        move_tile(s, &to, i, tiles + TILE_Y * s->room, true);
    }
}

static void run(const job *j)
{
    const lrn *s = j->k->state;
    tutti_crew_run(s->nthreads, s->at.batch * s->tiles, do_tiles, (void *)j);
    tutti_lane_clear_padding(&j->k->in[0], j->forward ? j->a->out : j->a->din[0]);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    run(&(job){k, a, true});
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    run(&(job){k, a, false});
}

const tutti_kernel_row tutti_lane_lrn = {
    .takes_halves = true,
    .create = create,
    .destroy = tutti_lane_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
