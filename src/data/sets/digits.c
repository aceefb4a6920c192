/* SPDX-License-Identifier: Apache-2.0 */
/* digits.c: draws handwritten-looking digits in fixed point, so that a seed gives the same bytes on every machine.
 *
 * A sample is a pure function of (seed, split, index), computed in these steps: label -> style -> jitter of every pen
 * point -> Catmull-Rom curve -> slant, scale, rotation -> a smooth random displacement field (elastic distortion as in
 * Simard et al. 2003, applied to the curve instead of the picture, so that sharp edges stay sharp) -> shift to a place
 * near the middle -> ink by distance to the curve -> contrast and grain. The code uses only 64-bit integers and
 * division that truncates towards zero: no libm, no float, no shift of a negative number. Units: Q8 = 1/256 of a pixel
 * or template unit, Q16 = 1/65,536. */
#include "../dataset_impl.h"
#include "dice.h"

enum {
    SIDE = TUTTI_DIGIT_SIDE,
    MAX_POINTS = 256, /* largest number of points of a curve; the longest style has 16 pen points, with 4 pieces each */
    PIECES = 4,       /* number of straight pieces of the curve between two pen points */
    GRID = 4,         /* number of nodes along each side of the displacement field */
    ONE = 65536,      /* 1 in Q16 */

    /* Differences between people: half widths of triangular distributions. Tuned with PyTorch on the sets of seed 1
     * (SGD 0.01, momentum 0.9, batch 64, cosine, three epochs): LeNet reaches 99.4 %, a linear model 84.1 %. */
    JITTER = 15 * 128,      /* jitter of a pen point, Q8 template units */
    SLANT = ONE * 55 / 100, /* largest difference of the shear from SLANT_MEAN, Q16 */
    SLANT_MEAN = ONE / 10,
    TURN = ONE * 34 / 100,      /* greatest rotation, radians in Q16 */
    SIZE_MEAN = ONE * 21 / 100, /* mean size: number of pixels for a template unit, Q16 */
    SIZE = ONE * 4 / 100,
    WIDTH = ONE * 25 / 100, /* largest change of width relative to height, Q16 */
    BEND = 820,             /* largest displacement of a grid node, Q8 pixels */
    SHIFT = 3 * 256,        /* largest distance of a digit from the middle, Q8 pixels */
    NIB_MIN = 150,          /* least half width of the pen, Q8 pixels */
    NIB_RANGE = 240,
    GRAIN = 28, /* greatest grain, grey levels */
};

typedef struct {
    int64_t x, y;
    bool starts; /* true if no ink joins the point before and this point */
} pen_point;

typedef struct {
    pen_point point[MAX_POINTS];
    int n;
} curve;

static const int8_t *style_pick(tutti_dice *d, int digit)
{
    int64_t left = tutti_dice_below(d, TUTTI_DIGIT_WEIGHTS);
    for (int i = 0; i < tutti_ndigit_styles; i++) {
        if (tutti_digit_styles[i].digit != digit) continue;
        left -= tutti_digit_styles[i].weight;
        if (left < 0) return tutti_digit_styles[i].path;
    }
    return tutti_digit_styles[0].path; /* never reached: the weights sum to TUTTI_DIGIT_WEIGHTS (a test adds them) */
}

/* Returns a point of the Catmull-Rom curve between b and c, at t = i / PIECES. The function divides once at the end, so
 * all before is exact. */
static int64_t between(int64_t a, int64_t b, int64_t c, int64_t e, int64_t i)
{
    const int64_t n = PIECES;
    int64_t cubic = (-a + 3 * b - 3 * c + e) * i * i * i + (2 * a - 5 * b + 4 * c - e) * i * i * n +
                    (c - a) * i * n * n + 2 * b * n * n * n;
    return cubic / (2 * n * n * n);
}

static void stroke_flatten(const pen_point *p, int n, curve *out)
{
    for (int k = 0; k < n; k++) {
        const pen_point *b = &p[k], *c = k + 1 < n ? &p[k + 1] : b;
        const pen_point *a = k > 0 ? &p[k - 1] : b, *e = k + 2 < n ? &p[k + 2] : c;
        int pieces = k + 1 < n ? PIECES : 1;
        for (int i = 0; i < pieces && out->n < MAX_POINTS; i++)
            out->point[out->n++] =
                (pen_point){between(a->x, b->x, c->x, e->x, i), between(a->y, b->y, c->y, e->y, i), k == 0 && i == 0};
    }
}

/* Makes the curve, as straight pieces around (0, 0) in Q8 template units, from the style's pen points. Each pen point
 * is moved a little. */
static void curve_trace(tutti_dice *d, const int8_t *path, curve *out)
{
    pen_point stroke[MAX_POINTS / PIECES];
    int n = 0;
    for (;;) {
        bool pen_down = *path >= 0;
        if (pen_down) {
            stroke[n++] = (pen_point){(path[0] - 50) * 256 + tutti_dice_spread(d, JITTER),
                                      (path[1] - 50) * 256 + tutti_dice_spread(d, JITTER), false};
            path += 2;
            continue;
        }
        stroke_flatten(stroke, n, out);
        n = 0;
        if (*path++ == TUTTI_PEN_END) return;
    }
}

/* Applies slant, then scale, then rotation; sine and cosine of a small angle come from their series. Q8 template units
 * -> Q8 pixels. */
static void curve_place(tutti_dice *d, curve *c)
{
    int64_t slant = SLANT_MEAN + tutti_dice_spread(d, SLANT), turn = tutti_dice_spread(d, TURN);
    int64_t height = SIZE_MEAN + tutti_dice_spread(d, SIZE),
            width = height * (ONE * 9 / 10 + tutti_dice_spread(d, WIDTH)) / ONE;
    int64_t square = turn * turn / ONE;
    int64_t sine = turn - turn * square / ONE / 6, cosine = ONE - square / 2 + square * square / ONE / 24;
    for (int i = 0; i < c->n; i++) {
        int64_t x = (c->point[i].x * ONE - slant * c->point[i].y) / ONE * width / ONE;
        int64_t y = c->point[i].y * height / ONE;
        c->point[i].x = (cosine * x - sine * y) / ONE;
        c->point[i].y = (sine * x + cosine * y) / ONE;
    }
}

/* Returns t*t*(3 - 2t) for t in 0..256 (= 1): interpolates between nodes of the field without a kink. */
static int64_t ease(int64_t t)
{
    return t * t * (768 - 2 * t) / 65536;
}

/* Moves each point of the curve by a random field. The field is given at GRID x GRID nodes, which lie 9 pixels apart
 * around the middle. */
static void curve_bend(tutti_dice *d, curve *c)
{
    int64_t node[GRID][GRID][2];
    for (int y = 0; y < GRID; y++)
        for (int x = 0; x < GRID; x++)
            for (int k = 0; k < 2; k++) node[y][x][k] = tutti_dice_spread(d, BEND);
    const int64_t cell = 9 * 256, span = cell * (GRID - 1);
    for (int i = 0; i < c->n; i++) {
        int64_t u = c->point[i].x + span / 2, v = c->point[i].y + span / 2;
        u = u < 0 ? 0 : u > span - 1 ? span - 1 : u;
        v = v < 0 ? 0 : v > span - 1 ? span - 1 : v;
        int64_t cx = u / cell, cy = v / cell, tx = ease((u % cell) / 9), ty = ease((v % cell) / 9), move[2];
        for (int k = 0; k < 2; k++) {
            int64_t top = node[cy][cx][k] * (256 - tx) + node[cy][cx + 1][k] * tx;
            int64_t bottom = node[cy + 1][cx][k] * (256 - tx) + node[cy + 1][cx + 1][k] * tx;
            move[k] = (top * (256 - ty) + bottom * ty) / 65536;
        }
        c->point[i].x += move[0];
        c->point[i].y += move[1];
    }
}

/* Moves the middle of the curve's box to near the middle of the picture. */
static void curve_centre(tutti_dice *d, curve *c)
{
    int64_t lo[2] = {INT32_MAX, INT32_MAX}, hi[2] = {INT32_MIN, INT32_MIN};
    for (int i = 0; i < c->n; i++) {
        const int64_t at[2] = {c->point[i].x, c->point[i].y};
        for (int k = 0; k < 2; k++) {
            lo[k] = at[k] < lo[k] ? at[k] : lo[k];
            hi[k] = at[k] > hi[k] ? at[k] : hi[k];
        }
    }
    int64_t dx = SIDE * 128 - (lo[0] + hi[0]) / 2 + tutti_dice_spread(d, SHIFT);
    int64_t dy = SIDE * 128 - (lo[1] + hi[1]) / 2 + tutti_dice_spread(d, SHIFT);
    for (int i = 0; i < c->n; i++) {
        c->point[i].x += dx;
        c->point[i].y += dy;
    }
}

/* Updates nearest[pixel], the smallest squared distance (Q16) of the pixel's centre to the curve, by the line from a to
 * b. Only pixels within `reach` of the line are visited. */
static void line_measure(pen_point a, pen_point b, int64_t reach, int64_t nearest[TUTTI_DIGIT_PIXELS])
{
    int64_t dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
    int64_t x0 = ((a.x < b.x ? a.x : b.x) - reach) / 256, x1 = ((a.x > b.x ? a.x : b.x) + reach) / 256;
    int64_t y0 = ((a.y < b.y ? a.y : b.y) - reach) / 256, y1 = ((a.y > b.y ? a.y : b.y) + reach) / 256;
    x0 = x0 < 0 ? 0 : x0, y0 = y0 < 0 ? 0 : y0;
    x1 = x1 > SIDE - 1 ? SIDE - 1 : x1, y1 = y1 > SIDE - 1 ? SIDE - 1 : y1;
    for (int64_t y = y0; y <= y1; y++)
        for (int64_t x = x0; x <= x1; x++) {
            int64_t px = x * 256 + 128 - a.x, py = y * 256 + 128 - a.y, along = px * dx + py * dy, d2;
            if (along <= 0) {
                d2 = px * px + py * py;
            } else if (along >= length2) {
                d2 = (px - dx) * (px - dx) + (py - dy) * (py - dy);
            } else {
                int64_t across = px * dy - py * dx;
                d2 = across * across / length2;
            }
            if (d2 < nearest[y * SIDE + x]) nearest[y * SIDE + x] = d2;
        }
}

static int64_t square_root(int64_t v)
{
    int64_t root = 0;
    /* finds the square root of v < 2048 * 2048; only such distances carry ink */
    for (int64_t bit = 1024; bit; bit /= 2)
        if ((root + bit) * (root + bit) <= v) root += bit;
    return root;
}

static void curve_ink(tutti_dice *d, const curve *c, uint8_t pixels[TUTTI_DIGIT_PIXELS])
{
    int64_t nearest[TUTTI_DIGIT_PIXELS];
    const int64_t far = 2047 * 2047;
    int64_t nib = NIB_MIN + tutti_dice_below(d, NIB_RANGE), soft = 200 + tutti_dice_below(d, 160),
            reach = nib + soft / 2;
    int64_t dark = 175 + tutti_dice_below(d, 81), paper = tutti_dice_below(d, 20);
    for (int i = 0; i < TUTTI_DIGIT_PIXELS; i++) nearest[i] = far;
    for (int i = 1; i < c->n; i++)
        if (!c->point[i].starts) line_measure(c->point[i - 1], c->point[i], reach, nearest);
    for (int i = 0; i < TUTTI_DIGIT_PIXELS; i++) {
        int64_t ink = 0;
        if (nearest[i] < far) {
            int64_t depth = reach - square_root(nearest[i]);
            ink = depth <= 0 ? 0 : depth >= soft ? 256 : depth * 256 / soft;
        }
        int64_t grey = paper + (dark - paper) * ink / 256;
        pixels[i] = (uint8_t)(grey < 0 ? 0 : grey > 255 ? 255 : grey);
    }
    /* Adds grain: one random word serves four pixels. */
    for (int i = 0; i < TUTTI_DIGIT_PIXELS; i += 4) {
        uint32_t word = tutti_dice_word(d);
        for (int k = 0; k < 4; k++, word >>= 8) {
            int64_t grey = pixels[i + k] + (int64_t)(word & 255) * GRAIN / 256 - GRAIN / 2;
            pixels[i + k] = (uint8_t)(grey < 0 ? 0 : grey > 255 ? 255 : grey);
        }
    }
}

uint8_t tutti_digit_draw(uint64_t seed, tutti_split split, int64_t index, uint8_t pixels[TUTTI_DIGIT_PIXELS])
{
    uint8_t label = tutti_drawn_label(seed, split, index);
    tutti_dice d = {.seed = seed, .sample = (uint64_t)index * 2 + (uint64_t)split};
    curve c = {.n = 0};
    curve_trace(&d, style_pick(&d, label), &c);
    curve_place(&d, &c);
    curve_bend(&d, &c);
    curve_centre(&d, &c);
    curve_ink(&d, &c, pixels);
    return label;
}

static tutti_status open_digits(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                                tutti_failure *err)
{
    static const tutti_drawn_set set = {
        .shape = {.ndims = 3, .dim = {1, SIDE, SIDE}}, .train = 60000, .test = 10000, .draw = tutti_digit_draw};
    return tutti_drawn_open(&set, config, split, d, err);
}

const tutti_dataset_row tutti_dataset_digits = {
    .name = "digits",
    .help = "handwritten-looking 28x28 digits that the program draws itself",
    .mean = {0.1335},
    .std = {0.2361},
    .open = open_digits,
};
