/* SPDX-License-Identifier: Apache-2.0 */
/* test_lane_conv_loops.c: each row of the own convolution's loops against plain ones, with small integers, so that sums are exact and == is
 * the test: channels that fill vectors, halves and groups of them, tiles and taps that are left over. Nothing beyond the channels is
 * written. That the whole kernel is right test_onednn.c shows. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/lane_impl.h"
#include "tensor/elementwise_impl.h"

static const float UNTOUCHED = 77;

typedef struct {
    tutti_conv_call call;
    int64_t in, weights, out; /* numbers */
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

static void open_scene(scene *s, int64_t channels, int64_t out_channels, int64_t kernel, int64_t out_width, bool fused)
{
    tutti_conv_call *c = &s->call;
    *c = (tutti_conv_call){channels, out_width + kernel - 1, out_channels, 3, out_width, kernel, .relu = fused};
    s->in = (c->out_height + kernel - 1) * c->width * channels;
    s->weights = kernel * kernel * channels * out_channels;
    s->out = c->out_height * out_width * out_channels;
    c->in = numbers(s->in, 1), c->weights = numbers(s->weights, 2), c->bias = fused ? numbers(out_channels, 3) : NULL;
    c->out = numbers(s->out, 0), c->dout = numbers(s->out, 4), c->dweights = numbers(s->weights, 5);
}

static void close_scene(const scene *s)
{
    const tutti_conv_call *c = &s->call;
    const void *all[] = {c->in, c->weights, c->bias, c->out, c->dout, c->dweights};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free((void *)all[i]);
}

/* Of input position (y, x) of a window at (row, column), channel i. */
static float input(const tutti_conv_call *c, int64_t y, int64_t x, int64_t i)
{
    return c->in[(y * c->width + x) * c->channels + i];
}

static float want_out(const tutti_conv_call *c, int64_t y, int64_t x, int64_t o)
{
    float sum = c->bias ? c->bias[o] : 0;
    const float *w = c->weights + o;
    for (int64_t ky = 0; ky < c->kernel; ky++)
        for (int64_t kx = 0; kx < c->kernel; kx++)
            for (int64_t i = 0; i < c->channels; i++, w += c->out_channels) sum += input(c, y + ky, x + kx, i) * *w;
    return c->relu && sum < 0 ? 0 : sum;
}

static float want_gradient(const tutti_conv_call *c, int64_t ky, int64_t kx, int64_t i, int64_t o)
{
    float sum = 0;
    for (int64_t y = 0; y < c->out_height; y++)
        for (int64_t x = 0; x < c->out_width; x++)
            sum += input(c, y + ky, x + kx, i) * c->dout[(y * c->out_width + x) * c->out_channels + o];
    return sum;
}

static void compare(const scene *s, const tutti_lane_row *row)
{
    const tutti_conv_call *c = &s->call;
    row->conv(c);
    for (int64_t n = 0; n < s->out; n++) {
        const int64_t o = n % c->out_channels, at = n / c->out_channels;
        const float want = want_out(c, at / c->out_width, at % c->out_width, o);
        if (c->out[n] != want)
            fail_msg("%s, %d to %d channels, output %d: %g instead of %g", row->name, (int)c->channels,
                     (int)c->out_channels, (int)n, (double)c->out[n], (double)want);
    }
    row->conv_gradient(c);
    for (int64_t n = 0; n < s->weights; n++) {
        const int64_t o = n % c->out_channels, tap = n / c->out_channels, at = tap / c->channels;
        const float want = small(n, 5) + want_gradient(c, at / c->kernel, at % c->kernel, tap % c->channels, o);
        if (c->dweights[n] != want)
            fail_msg("%s, %d to %d channels, gradient %d: %g instead of %g", row->name, (int)c->channels,
                     (int)c->out_channels, (int)n, (double)c->dweights[n], (double)want);
    }
}

static bool is_usable(const tutti_lane_row *row)
{
    for (int i = 0; i < tutti_elementwise_nrows; i++)
        if (strcmp(tutti_elementwise_rows[i]->name, row->name) == 0) return tutti_elementwise_rows[i]->usable();
    return false;
}

/* Kernels of 2, 3 and 5, rows that tiles fill and that they do not. */
static void compare_shapes(const tutti_lane_row *row, int64_t out_channels)
{
    static const struct {
        int64_t channels, kernel, out_width;
    } shapes[] = {{1, 5, 8}, {3, 2, 11}, {4, 3, 9}, {5, 5, 16}, {2, 3, 21}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int fused = 0; fused < 2; fused++) {
            scene s;
            open_scene(&s, shapes[i].channels, out_channels, shapes[i].kernel, shapes[i].out_width, fused);
            compare(&s, row);
            close_scene(&s);
        }
}

static void rows_convolve_as_plain_loops_do(void **state)
{
    (void)state;
    for (int i = 0; i < tutti_lane_nrows; i++) {
        const tutti_lane_row *row = tutti_lane_rows[i];
        if (!is_usable(row)) continue;
        for (int64_t vectors = 0; vectors <= 5; vectors++)
            for (int64_t rest = vectors == 0; rest <= row->width / 2; rest += rest < 3 ? 1 : row->width / 2 - 3)
                compare_shapes(row, vectors * row->width + rest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_convolve_as_plain_loops_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
