/* SPDX-License-Identifier: Apache-2.0 */
/* test_lane_conv_loops.c: each row of the own convolution's loops, of f32 and of pairs of bf16, against plain ones,
 * with small integers, so that sums are exact and == is the test: channels that fill vectors, halves and groups of
 * them, a few that lanes of taps compute, tiles, taps and halves of pairs that are left over. Nothing beyond the
 * channels is read or written, and an infinity stays where it belongs. That the whole kernel is right test_onednn.c and
 * test_precision.c show. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/lanes/lane_impl.h"
#include "tensor/convert.h"
#include "tensor/isa.h"

static const float UNTOUCHED = 77;
enum { PAIR_WIDTH = 16 };

/* Loops, how many floats a vector of theirs has, and numbers of which type they multiply. */
typedef struct {
    const tutti_conv_loops *loops;
    const char *name;
    int width;
    tutti_dtype type;
} variant;

/* Everything in floats; bias NULL = none. */
typedef struct {
    tutti_conv_call shape;
    int64_t nin, nweights, nout;
    float *in, *weights, *bias, *dout;
} scene;

static float small(int64_t i, int salt)
{
    return (float)((i * 31 + salt * 17 + i / 7) % 9 - 4);
}

/* Exactly as long as it says: sanitizers see who reads on. */
static float *numbers(int64_t n, int salt)
{
    float *x = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = salt ? small(i, salt) : UNTOUCHED;
    return x;
}

static void open_scene(scene *s, const tutti_conv_call *shape)
{
    *s = (scene){.shape = *shape};
    s->nin = (shape->out_height + shape->kernel - 1) * shape->width * shape->channels;
    s->nweights = shape->kernel * shape->kernel * shape->channels * shape->out_channels;
    s->nout = shape->out_height * shape->out_width * shape->out_channels;
    s->in = numbers(s->nin, 1), s->weights = numbers(s->nweights, 2);
    s->bias = shape->relu ? numbers(shape->out_channels, 3) : NULL;
    s->dout = numbers(s->nout, 4);
}

static void close_scene(const scene *s)
{
    free(s->in), free(s->weights), free(s->bias), free(s->dout);
}

/* ---- what loops are given ---- */

static void *typed(const variant *v, const float *x, int64_t n)
{
    const size_t size = tutti_dtype_bytes(v->type);
    void *to = malloc((size_t)n * size);
    assert_non_null(to);
    if (v->type == TUTTI_F32)
        memcpy(to, x, (size_t)n * size);
    else
        tutti_convert_from_f32(v->type, x, to, n);
    return to;
}

static uint32_t word_of(float low, float high)
{
    uint32_t a, b;
    memcpy(&a, &low, sizeof a), memcpy(&b, &high, sizeof b);
    return a >> 16 | (b & 0xffff0000u); /* small integers and infinities are numbers of bf16 */
}

/* Rows of a matrix; of pairs, rows 2 i and 2 i + 1 of each group of rows, as words. */
static void *paired_rows(const variant *v, const float *x, int64_t rows, int64_t width, int64_t group)
{
    if (v->type == TUTTI_F32) return typed(v, x, rows * width);
    uint32_t *to = malloc((size_t)(rows / group * ((group + 1) / 2) * width) * sizeof *to), *next = to;
    assert_non_null(to);
    for (int64_t row = 0; row < rows; row += group)
        for (int64_t i = 0; i < group; i += 2)
            for (int64_t w = 0; w < width; w++) {
                const float *first = x + (row + i) * width + w;
                *next++ = word_of(*first, i + 1 < group ? first[width] : 0);
            }
    return to;
}

/* Numbers; of pairs, each with the one so far behind it, and behind the last ones what must not be taken. */
static void *paired_with(const variant *v, const float *x, int64_t n, int64_t behind)
{
    if (v->type == TUTTI_F32) return typed(v, x, n);
    uint32_t *to = malloc((size_t)n * sizeof *to);
    assert_non_null(to);
    for (int64_t i = 0; i < n; i++) to[i] = word_of(x[i], i + behind < n ? x[i + behind] : INFINITY);
    return to;
}

/* ---- what they must give ---- */

static float input(const scene *s, int64_t y, int64_t x, int64_t i)
{
    return s->in[(y * s->shape.width + x) * s->shape.channels + i];
}

static const float *weights(const scene *s, int64_t ky, int64_t kx, int64_t i)
{
    const tutti_conv_call *c = &s->shape;
    return s->weights + ((ky * c->kernel + kx) * c->channels + i) * c->out_channels;
}

static float want_out(const scene *s, int64_t y, int64_t x, int64_t o)
{
    const tutti_conv_call *c = &s->shape;
    float sum = s->bias ? s->bias[o] : 0;
    for (int64_t ky = 0; ky < c->kernel; ky++)
        for (int64_t kx = 0; kx < c->kernel; kx++)
            for (int64_t i = 0; i < c->channels; i++) sum += input(s, y + ky, x + kx, i) * weights(s, ky, kx, i)[o];
    return c->relu && sum < 0 ? 0 : sum;
}

static float want_weight(const scene *s, int64_t ky, int64_t kx, int64_t i, int64_t o)
{
    const tutti_conv_call *c = &s->shape;
    float sum = 0;
    for (int64_t y = 0; y < c->out_height; y++)
        for (int64_t x = 0; x < c->out_width; x++)
            sum += input(s, y + ky, x + kx, i) * s->dout[(y * c->out_width + x) * c->out_channels + o];
    return sum;
}

static float want_input(const scene *s, int64_t y, int64_t x, int64_t i)
{
    const tutti_conv_call *c = &s->shape;
    float sum = 0;
    for (int64_t ky = 0; ky < c->kernel; ky++)
        for (int64_t kx = 0; kx < c->kernel; kx++) {
            if (y < ky || y - ky >= c->out_height || x < kx || x - kx >= c->out_width) continue;
            const float *dout = s->dout + ((y - ky) * c->out_width + x - kx) * c->out_channels;
            for (int64_t o = 0; o < c->out_channels; o++) sum += dout[o] * weights(s, ky, kx, i)[o];
        }
    return sum;
}

static void same(const scene *s, const variant *v, const char *what, int64_t at, float want, float got)
{
    if (want == got || (isnan(want) && isnan(got))) return;
    fail_msg("%s, %d to %d channels, kernel %d, %d wide: %s %d is %g instead of %g", v->name, (int)s->shape.channels,
             (int)s->shape.out_channels, (int)s->shape.kernel, (int)s->shape.out_width, what, (int)at, (double)got,
             (double)want);
}

/* As f32, and freed. */
static float *widened(const variant *v, void *x, int64_t n)
{
    if (v->type == TUTTI_F32) return x;
    float *to = numbers(n, 0);
    tutti_convert_to_f32(v->type, x, to, n);
    free(x);
    return to;
}

static float rounded(const variant *v, float x)
{
    uint16_t half;
    if (v->type == TUTTI_F32) return x;
    tutti_convert_from_f32(v->type, &x, &half, 1);
    tutti_convert_to_f32(v->type, &half, &x, 1);
    return x;
}

/* Weights of the channels behind the whole vectors, numbers as they are: (kernel, nleft, taps). */
static void *left_weights(const scene *s, const variant *v)
{
    const tutti_conv_call *c = &s->shape;
    const int64_t taps = c->kernel * c->channels, n = c->kernel * c->nleft * taps;
    float *x = numbers(n, 0);
    for (int64_t i = 0; i < n; i++) {
        const int64_t tap = i % taps, left = i / taps % c->nleft, row = i / taps / c->nleft;
        x[i] = s->weights[(row * taps + tap) * c->out_channels + c->out_channels - c->nleft + left];
    }
    void *to = typed(v, x, n);
    free(x);
    return to;
}

/* ---- the three passes ---- */

static void compare_forward(const scene *s, const variant *v)
{
    tutti_conv_call c = s->shape;
    const int64_t taps = c.kernel * c.channels;
    void *in = typed(v, s->in, s->nin), *packed = paired_rows(v, s->weights, c.kernel * taps, c.out_channels, taps);
    float *untouched = numbers(s->nout, 0);
    void *left = left_weights(s, v);
    c.in = in, c.weights = packed, c.left = left, c.bias = s->bias, c.out = typed(v, untouched, s->nout);
    v->loops->forward(&c);
    float *out = widened(v, c.out, s->nout);
    for (int64_t n = 0; n < s->nout; n++) {
        const int64_t o = n % c.out_channels, at = n / c.out_channels;
        const float want = rounded(v, want_out(s, at / c.out_width, at % c.out_width, o));
        same(s, v, "output", n, want, out[n]);
    }
    free(in), free(packed), free(left), free(untouched), free(out);
}

static void compare_weight_gradient(const scene *s, const variant *v)
{
    tutti_conv_call c = s->shape;
    void *in = paired_with(v, s->in, s->nin, c.channels);
    void *dout = paired_rows(v, s->dout, c.out_height * c.out_width, c.out_channels, c.out_width);
    c.in = in, c.dout = dout, c.dweights = numbers(s->nweights, 5);
    v->loops->weight_gradient(&c);
    for (int64_t n = 0; n < s->nweights; n++) {
        const int64_t o = n % c.out_channels, tap = n / c.out_channels, at = tap / c.channels;
        const float want = want_weight(s, at / c.kernel, at % c.kernel, tap % c.channels, o);
        same(s, v, "weight's gradient", n, small(n, 5) + want, c.dweights[n]);
    }
    free(in), free(dout), free(c.dweights);
}

/* Weights as (out_channels, kernel, taps). */
static float *turned_over(const scene *s)
{
    const tutti_conv_call *c = &s->shape;
    const int64_t all = c->kernel * c->kernel * c->channels;
    float *to = numbers(s->nweights, 0);
    for (int64_t i = 0; i < s->nweights; i++) to[i % c->out_channels * all + i / c->out_channels] = s->weights[i];
    return to;
}

static void compare_input_gradient(const scene *s, const variant *v)
{
    tutti_conv_call c = s->shape;
    const int64_t taps = c.kernel * c.channels;
    if (taps % v->width > v->width / 2 || c.out_height < TUTTI_CONV_HEIGHT) return;
    float *turned = turned_over(s);
    void *dout = typed(v, s->dout, s->nout),
         *packed = paired_rows(v, turned, c.out_channels, c.kernel * taps, c.out_channels);
    c.dout = dout, c.weights = packed, c.din = numbers(s->nin, 6);
    v->loops->input_gradient(&c);
    for (int64_t n = 0; n < s->nin; n++) {
        const int64_t at = n / c.channels;
        const float want = want_input(s, at / c.width, at % c.width, n % c.channels);
        same(s, v, "input's gradient", n, small(n, 6) + want, c.din[n]);
    }
    free(turned), free(dout), free(packed), free(c.din);
}

static void compare(const scene *s, const variant *v)
{
    compare_forward(s, v);
    compare_weight_gradient(s, v);
    compare_input_gradient(s, v);
}

/* ---- rows and shapes ---- */

/* Kernels of 2, 3 and 5, rows that tiles fill and that they do not, runs and rows of an odd number. */
static const struct {
    int64_t channels, kernel, out_height, out_width;
} shapes[] = {{1, 5, 4, 8}, {3, 2, 5, 11}, {4, 3, 3, 9},  {5, 5, 3, 16}, {2, 3, 7, 21},
              {6, 3, 4, 9}, {11, 3, 5, 8}, {20, 5, 5, 8}, {23, 3, 3, 9}};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

static tutti_conv_call shape_of(size_t i, int64_t out_channels, bool fused)
{
    return (tutti_conv_call){.channels = shapes[i].channels,
                             .width = shapes[i].out_width + shapes[i].kernel - 1,
                             .out_channels = out_channels,
                             .out_height = shapes[i].out_height,
                             .out_width = shapes[i].out_width,
                             .kernel = shapes[i].kernel,
                             .relu = fused};
}

static void compare_shapes(const variant *v, int64_t out_channels)
{
    for (size_t i = 0; i < NSHAPES; i++)
        for (int fused = 0; fused < 2; fused++) {
            scene s;
            tutti_conv_call shape = shape_of(i, out_channels, fused);
            const int64_t left = tutti_conv_left(v->width, shape.kernel * shape.channels, out_channels);
            for (int with = 0; with <= (left > 0); with++) {
                shape.nleft = with ? left : 0;
                open_scene(&s, &shape);
                compare(&s, v);
                close_scene(&s);
            }
        }
}

static void compare_variant(const variant *v)
{
    for (int64_t vectors = 0; vectors <= 5; vectors++)
        for (int64_t rest = vectors == 0; rest <= v->width / 2;
             rest += rest < 4 || v->width < PAIR_WIDTH ? 1 : v->width / 2 - 4)
            compare_shapes(v, vectors * v->width + rest);
}

static void rows_convolve_as_plain_loops_do(void **state)
{
    (void)state;
    for (int isa = 0; isa < TUTTI_NISAS; isa++) {
        if (!tutti_isa_runs(isa)) continue;
        const variant v = {&tutti_lane_rows[isa]->conv, tutti_isa_name(isa), tutti_lane_rows[isa]->width, TUTTI_F32};
        compare_variant(&v);
    }
}

static variant pairs(void)
{
    return (variant){tutti_lane_conv_bf16(), "bf16", PAIR_WIDTH, TUTTI_BF16};
}

static void pairs_of_bf16_convolve_as_plain_loops_do(void **state)
{
    (void)state;
    const variant v = pairs();
    if (!v.loops) {
        print_message("pairs of bf16: this processor, or TUTTI_ISA, has no instructions for them\n");
        skip();
    }
    compare_variant(&v);
}

/* Where a pair is filled up there is no product: an infinity beside it would make it NaN. */
static void an_infinity_stays_where_it_belongs(void **state)
{
    (void)state;
    const variant all[] = {pairs(), {&tutti_lane_here()->conv, "f32", tutti_lane_here()->width, TUTTI_F32}};
    for (int a = 0; a < 2; a++)
        for (size_t i = 0; i < NSHAPES && all[a].loops; i++)
            for (int64_t out_channels = all[a].width + 1; out_channels < all[a].width + 3; out_channels++)
                for (int64_t at = 0; at < 6; at++) {
                    scene s;
                    tutti_conv_call shape = shape_of(i, out_channels, false);
                    shape.nleft = tutti_conv_left(all[a].width, shape.kernel * shape.channels, out_channels);
                    open_scene(&s, &shape);
                    s.in[at < 3 ? at : s.nin - 1 - (at - 3) * s.shape.channels] = INFINITY;
                    s.dout[at < 3 ? at : s.nout - 1 - (at - 3) * s.shape.out_channels] = at % 2 ? NAN : -INFINITY;
                    compare(&s, &all[a]);
                    close_scene(&s);
                }
}

/* Rows of n numbers and one that is not taken. */
static void compare_joined(const variant *v, int64_t rows, int64_t n)
{
    const int64_t apart = n + 1, words = (rows + 1) / 2 * n;
    float *x = numbers(rows * apart, 1);
    uint16_t *halves = malloc((size_t)(rows * apart) * sizeof *halves);
    uint32_t *got = malloc((size_t)words * sizeof *got), *again = malloc((size_t)words * sizeof *got);
    for (int64_t i = 0; i < rows * apart; i++) x[i] = i % 7 == 6 ? NAN : x[i] + (float)i * 0x1p-9f;
    tutti_convert_from_f32(TUTTI_BF16, x, halves, rows * apart);
    v->loops->join(TUTTI_F32, x, apart, rows, n, got);
    v->loops->join(TUTTI_BF16, halves, apart, rows, n, again);
    for (int64_t i = 0; i < words; i++) {
        const int64_t row = i / n * 2, at = row * apart + i % n;
        const uint32_t above = row + 1 < rows ? halves[at + apart] : 0;
        assert_int_equal(got[i], halves[at] | above << 16);
    }
    assert_memory_equal(got, again, (size_t)words * sizeof *got);
    free(x), free(halves), free(got), free(again);
}

static void rows_are_joined_rounded_and_filled_up(void **state)
{
    (void)state;
    const variant v = pairs();
    if (!v.loops) skip();
    for (int64_t n = 1; n <= 2 * PAIR_WIDTH + 1; n++)
        for (int64_t rows = 1; rows <= 4; rows++) compare_joined(&v, rows, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_convolve_as_plain_loops_do),
        cmocka_unit_test(pairs_of_bf16_convolve_as_plain_loops_do),
        cmocka_unit_test(an_infinity_stays_where_it_belongs),
        cmocka_unit_test(rows_are_joined_rounded_and_filled_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
