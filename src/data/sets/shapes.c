/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.c: the set `shapes`: draws one of ten shapes on a busy background, 32 x 32 colour, in fixed point, so that a
 * seed gives the same bytes on every machine.
 *
 * A sample is a pure function of (seed, split, index): drawn in these steps: a background of two octaves of smooth
 * noise and stripes -> strokes of other colours behind the shape -> the shape, at a random place, turned, stretched, in
 * a colour that stands out -> strokes in front of it -> grain. Outlines are filled by the even-odd rule. Coverage is
 * exact along a line, and SUB lines are sampled in each pixel. The code uses only 64-bit integers and division that
 * truncates towards zero. Units: Q8 = 1/256 of a pixel, Q16 = 1/65,536. */
#include <stdlib.h>
#include <string.h>

#include "../dataset_impl.h"
#include "dice.h"

enum {
    SIDE = TUTTI_SHAPE_SIDE,
    PIXELS = SIDE * SIDE,
    SUB = 4,          /* number of lines in each pixel at which the outline is sampled */
    FULL = SUB * 256, /* coverage of a pixel that lies fully inside */
    MAX_POINTS = 48,  /* largest number of points of an outline; the longest outline, the ring, has 36 */
    ONE = 65536,      /* 1 in Q16 */

    /* These numbers determine how hard the set is to learn; bench/mnist/NOTES.md has the results measured with them. */
    RADIUS_MIN = 7 * 256, /* least radius of a shape, Q8 pixels */
    RADIUS_RANGE = 6 * 256,
    STRETCH = ONE / 6,    /* greatest change of width relative to height, up or down, Q16 */
    CONTRAST = 120,       /* least difference between the colours of shape and background, as a sum over channels */
    STROKES_BEHIND = 4,   /* greatest number of strokes behind the shape */
    STROKES_IN_FRONT = 2, /* greatest number of strokes in front of the shape */
    STROKE_WIDTH = 3 * 256 / 2, /* greatest width of a stroke, Q8 pixels */
    CELL = 8,                   /* side of a cell of the coarse background, in pixels */
    ROUGH = 75,                 /* largest amplitude of the coarse background's noise, in levels of a channel */
    GRAIN = 70,                 /* greatest grain, levels */
};

typedef struct {
    int64_t x, y; /* coordinates in Q8 pixels */
} point;

typedef struct {
    point at[MAX_POINTS];
    int n, ring_end[2], nrings;
} outline;

typedef struct {
    int64_t level[3];
} colour;

typedef struct {
    tutti_dice dice;
    int64_t level[3][PIXELS]; /* levels 0..255 of the three colours */
} canvas;

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* ---- filling outlines ---- */

/* Writes where line y crosses the outline, ascending; returns the number of crossings. */
static int crossings(const outline *o, int64_t y, int64_t x[MAX_POINTS])
{
    int n = 0;
    for (int r = 0, first = 0; r < o->nrings; first = o->ring_end[r++])
        for (int i = first; i < o->ring_end[r]; i++) {
            point a = o->at[i], b = o->at[i + 1 < o->ring_end[r] ? i + 1 : first];
            if ((a.y <= y) == (b.y <= y)) continue;
            int64_t at = a.x + (y - a.y) * (b.x - a.x) / (b.y - a.y);
            int k = n++;
            for (; k > 0 && x[k - 1] > at; k--) x[k] = x[k - 1];
            x[k] = at;
        }
    return n;
}

static void span_cover(int64_t from, int64_t to, int64_t row[SIDE])
{
    from = clamp(from, 0, SIDE * 256);
    to = clamp(to, 0, SIDE * 256);
    for (int64_t i = from / 256; i * 256 < to; i++) {
        int64_t left = from > i * 256 ? from : i * 256, right = to < i * 256 + 256 ? to : i * 256 + 256;
        row[i] += right - left;
    }
}

static void fill(canvas *c, const outline *o, colour paint)
{
    for (int y = 0; y < SIDE; y++) {
        int64_t cover[SIDE] = {0}, x[MAX_POINTS];
        for (int s = 0; s < SUB; s++) {
            int n = crossings(o, y * 256 + s * (256 / SUB) + 128 / SUB, x);
            for (int k = 0; k + 1 < n; k += 2) span_cover(x[k], x[k + 1], cover);
        }
        for (int i = 0; i < SIDE; i++)
            for (int k = 0; k < 3; k++) {
                int64_t *level = &c->level[k][y * SIDE + i];
                *level += (paint.level[k] - *level) * cover[i] / FULL;
            }
    }
}

/* ---- background ---- */

/* Returns t*t*(3 - 2t) for t in 0..256 (= 1): interpolates between nodes without a kink. */
static int64_t ease(int64_t t)
{
    return t * t * (768 - 2 * t) / 65536;
}

/* Adds smooth noise: random levels of up to `rough` at nodes that lie `cell` pixels apart, interpolated by ease()
 * between them. */
static void ground_add(canvas *c, int cell, int64_t rough)
{
    int64_t node[9][9];
    const int nodes = SIDE / cell + 1;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < nodes * nodes; i++) node[i / nodes][i % nodes] = tutti_dice_spread(&c->dice, rough);
        for (int i = 0; i < PIXELS; i++) {
            int x = i % SIDE, y = i / SIDE, cx = x / cell, cy = y / cell;
            int64_t tx = ease(x % cell * 256 / cell), ty = ease(y % cell * 256 / cell);
            int64_t top = node[cy][cx] * (256 - tx) + node[cy][cx + 1] * tx;
            int64_t bottom = node[cy + 1][cx] * (256 - tx) + node[cy + 1][cx + 1] * tx;
            c->level[k][i] += (top * (256 - ty) + bottom * ty) / 65536;
        }
    }
}

/* Adds triangle waves across the picture, in any direction. */
static void stripes_add(canvas *c)
{
    int64_t dx = tutti_dice_spread(&c->dice, 80), dy = tutti_dice_spread(&c->dice, 80), high[3];
    for (int k = 0; k < 3; k++) high[k] = tutti_dice_spread(&c->dice, 40);
    for (int i = 0; i < PIXELS; i++) {
        int64_t phase = (1 << 20) + i % SIDE * dx + i / SIDE * dy, wave = phase % 512;
        wave = wave < 256 ? wave : 511 - wave;
        for (int k = 0; k < 3; k++) c->level[k][i] += high[k] * (wave - 128) / 128;
    }
}

static colour ground_draw(canvas *c)
{
    colour base;
    for (int k = 0; k < 3; k++) {
        base.level[k] = 40 + tutti_dice_below(&c->dice, 176);
        for (int i = 0; i < PIXELS; i++) c->level[k][i] = base.level[k];
    }
    ground_add(c, CELL, ROUGH);
    ground_add(c, CELL / 2, ROUGH / 2);
    stripes_add(c);
    return base;
}

/* ---- shapes and strokes ---- */

static colour colour_pick(tutti_dice *d)
{
    colour c;
    for (int k = 0; k < 3; k++) c.level[k] = tutti_dice_below(d, 256);
    return c;
}

/* Picks a colour that stands out from the background: the first of a few random colours that differs enough, or else
 * the last of them. */
static colour colour_contrast(tutti_dice *d, colour ground)
{
    colour c = colour_pick(d);
    for (int throw = 0; throw < 12; throw ++) {
        int64_t apart = 0;
        for (int k = 0; k < 3; k++) apart += llabs(c.level[k] - ground.level[k]);
        if (apart >= CONTRAST) break;
        c = colour_pick(d);
    }
    return c;
}

/* Draws a thin four-cornered stroke somewhere across the picture. */
static void stroke_draw(canvas *c)
{
    tutti_dice *d = &c->dice;
    point a = {tutti_dice_below(d, SIDE * 256), tutti_dice_below(d, SIDE * 256)};
    point along = {tutti_dice_spread(d, 14 * 256), tutti_dice_spread(d, 14 * 256)};
    int64_t width = 128 + tutti_dice_below(d, STROKE_WIDTH), length = llabs(along.x) + llabs(along.y) + 1;
    point across = {-along.y * width / length, along.x * width / length};
    const outline o = {.at = {{a.x, a.y},
                              {a.x + along.x, a.y + along.y},
                              {a.x + along.x + across.x, a.y + along.y + across.y},
                              {a.x + across.x, a.y + across.y}},
                       .n = 4,
                       .ring_end = {4},
                       .nrings = 1};
    fill(c, &o, colour_pick(d));
}

/* Draws a random turn of up to 45 degrees, and computes its sine and cosine from their series. */
static void turn_pick(tutti_dice *d, int64_t *sine, int64_t *cosine)
{
    const int64_t t = tutti_dice_below(d, 2 * 51472) - 51472, square = t * t / ONE; /* 51472 = pi / 4 in Q16 */
    *sine = t - t * square / ONE / 6 + t * square / ONE * square / ONE / 120;
    *cosine = ONE - square / 2 + square * square / ONE / 24 - square * square / ONE * square / ONE / 720;
}

static void outline_place(tutti_dice *d, const int8_t *path, outline *o)
{
    int64_t radius = RADIUS_MIN + tutti_dice_below(d, RADIUS_RANGE), sine, cosine;
    int64_t wide = radius * (ONE + tutti_dice_spread(d, STRETCH)) / ONE, room = SIDE * 256 - 2 * radius * 9 / 10;
    int64_t cx = radius * 9 / 10 + tutti_dice_below(d, room), cy = radius * 9 / 10 + tutti_dice_below(d, room);
    turn_pick(d, &sine, &cosine);
    *o = (outline){.n = 0};
    for (; *path != TUTTI_OUTLINE_END; path++) {
        if (*path == TUTTI_OUTLINE_NEXT) {
            o->ring_end[o->nrings++] = o->n;
            continue;
        }
        int64_t x = path[0] * wide / 100, y = *++path * radius / 100;
        o->at[o->n++] = (point){cx + (cosine * x - sine * y) / ONE, cy + (sine * x + cosine * y) / ONE};
    }
    o->ring_end[o->nrings++] = o->n;
}

static void grain_write(canvas *c, uint8_t bytes[3 * PIXELS])
{
    int64_t grain = 1 + tutti_dice_below(&c->dice, GRAIN);
    for (int i = 0; i < 3 * PIXELS; i += 4) {
        uint32_t word = tutti_dice_word(&c->dice); /* one random word serves four levels */
        for (int k = 0; k < 4; k++, word >>= 8) {
            int64_t level =
                c->level[(i + k) / PIXELS][(i + k) % PIXELS] + (int64_t)(word & 255) * grain / 256 - grain / 2;
            bytes[i + k] = (uint8_t)clamp(level, 0, 255);
        }
    }
}

uint8_t tutti_shape_draw(uint64_t seed, tutti_split split, int64_t index, uint8_t bytes[TUTTI_SHAPE_BYTES])
{
    uint8_t label = tutti_drawn_label(seed, split, index);
    canvas c = {.dice = {.seed = seed ^ 0x736861706573u, .sample = (uint64_t)index * 2 + (uint64_t)split}};
    colour ground = ground_draw(&c);
    outline o;
    for (int64_t i = tutti_dice_below(&c.dice, STROKES_BEHIND + 1); i > 0; i--) stroke_draw(&c);
    outline_place(&c.dice, tutti_shape_outlines[label], &o);
    fill(&c, &o, colour_contrast(&c.dice, ground));
    for (int64_t i = tutti_dice_below(&c.dice, STROKES_IN_FRONT + 1); i > 0; i--) stroke_draw(&c);
    grain_write(&c, bytes);
    return label;
}

static tutti_status open_shapes(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                                tutti_failure *err)
{
    static const tutti_drawn_set set = {
        .shape = {.ndims = 3, .dim = {3, SIDE, SIDE}}, .train = 50000, .test = 10000, .draw = tutti_shape_draw};
    return tutti_drawn_open(&set, config, split, d, err);
}

const tutti_dataset_row tutti_dataset_shapes = {
    .name = "shapes",
    .help = "ten 32x32 colour shapes on busy grounds that the program draws itself",
    .mean = {0.4987, 0.4989, 0.4990},
    .std = {0.2392, 0.2398, 0.2394},
    .open = open_shapes,
    .class_names = tutti_shape_names,
};
