/* SPDX-License-Identifier: Apache-2.0 */
/* test_tile_conv.c: weights' gradients by tiles of AMX against plain loops, with small integers, so that sums are exact
 * and == is the test: channels and taps that tiles do not fill, rows and planes that steps do not fill, several
 * samples, sums that go on; and the thread's tiles stay configured as they were. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/lanes/tile_conv.h"
#include "tensor/convert.h"
#include "tensor/isa.h"

enum { SAMPLES = 3, ALIGNED = 64 };

static float small(int64_t i, int salt)
{
    return (float)((i * 31 + salt * 17 + i / 7) % 9 - 4);
}

static void *aligned(int64_t nbytes)
{
    void *p = aligned_alloc(ALIGNED, (size_t)((nbytes + ALIGNED - 1) / ALIGNED * ALIGNED));
    assert_non_null(p);
    return p;
}

/* As bf16, exactly as long as it says: sanitizers see who reads on. */
static uint16_t *numbers(int64_t n, int salt)
{
    uint16_t *to = malloc((size_t)n * sizeof *to);
    assert_non_null(to);
    for (int64_t i = 0; i < n; i++) {
        const float x = small(i, salt);
        tutti_convert_from_f32(TUTTI_BF16, &x, to + i, 1);
    }
    return to;
}

static int64_t plane_of(const tutti_tile_conv *c)
{
    return c->height * c->width * c->channels;
}

static int64_t outputs_of(const tutti_tile_conv *c)
{
    return c->out_height * c->out_width * c->out_channels;
}

static float want(const tutti_tile_conv *c, int64_t o, int64_t ky, int64_t tap)
{
    float sum = 0;
    for (int s = 0; s < SAMPLES; s++)
        for (int64_t y = 0; y < c->out_height; y++)
            for (int64_t x = 0; x < c->out_width; x++)
                sum += small(((y * c->stride + ky) * c->width + x * c->stride) * c->channels + tap, 2 * s) *
                       small((y * c->out_width + x) * c->out_channels + o, 2 * s + 1);
    return sum;
}

static void compare(const tutti_tile_conv *c)
{
    const tutti_tile_conv_loops *loops = tutti_tile_conv_here();
    const int64_t taps = c->kernel * c->channels, nsums = c->out_channels * c->kernel * taps;
    const int64_t nturned = loops->turned(c), npairs = loops->pairs(c);
    uint16_t *turned = aligned(SAMPLES * nturned * (int64_t)sizeof *turned);
    uint32_t *pairs = aligned(SAMPLES * npairs * (int64_t)sizeof *pairs);
    float *sums = malloc((size_t)nsums * sizeof *sums);
    for (int64_t i = 0; i < nsums; i++) sums[i] = small(i, 9);
    for (int s = 0; s < SAMPLES; s++) {
        uint16_t *in = numbers(plane_of(c), 2 * s), *dout = numbers(outputs_of(c), 2 * s + 1);
        loops->turn(c, dout, turned + s * nturned);
        loops->pair(c, in, pairs + s * npairs);
        free(in), free(dout);
    }
    loops->multiply(c, 1, turned, pairs, sums); /* sums go on */
    loops->multiply(c, SAMPLES - 1, turned + nturned, pairs + npairs, sums);
    for (int64_t i = 0; i < nsums; i++) {
        const float expected = small(i, 9) + want(c, i / taps / c->kernel, i / taps % c->kernel, i % taps);
        if (sums[i] != expected)
            fail_msg("%d to %d channels, kernel %d, %d x %d outputs: sum %d is %g instead of %g", (int)c->channels,
                     (int)c->out_channels, (int)c->kernel, (int)c->out_height, (int)c->out_width, (int)i,
                     (double)sums[i], (double)expected);
    }
    free(turned), free(pairs), free(sums);
}

static bool has_tiles(void)
{
    return tutti_tile_conv_here() && tutti_isa_has_tiles();
}

static void tiles_sum_as_plain_loops_do(void **state)
{
    static const int64_t channels[] = {1, 3, 5, 16, 20}, out_channels[] = {1, 6, 16, 17, 32, 50, 64, 80, 128};
    (void)state;
    if (!has_tiles()) {
        print_message("tiles of AMX: this processor, or TUTTI_ISA, has none\n");
        skip();
    }
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (size_t o = 0; o < sizeof out_channels / sizeof *out_channels; o++)
            for (int64_t kernel = 2; kernel <= 5; kernel++)
                for (int64_t width = 1; width <= 13; width += 4) {
                    const tutti_tile_conv c = {
                        channels[i], 2 * kernel, width + kernel - 1, out_channels[o], kernel + 1, width, kernel, 1};
                    compare(&c);
                }
}

/* And an input that has rows and columns which no output reads, or not all that its planes would have. */
static void tiles_sum_strided_convolutions_as_plain_loops_do(void **state)
{
    (void)state;
    if (!has_tiles()) {
        print_message("tiles of AMX: this processor, or TUTTI_ISA, has none\n");
        skip();
    }
    for (int64_t stride = 2; stride <= 3; stride++)
        for (int64_t kernel = 2; kernel <= 5; kernel++)
            for (int64_t width = 1; width <= 9; width += 4)
                for (int64_t more = 0; more < stride; more++)
                    for (int64_t channels = 16; channels <= 32; channels += 16) {
                        const tutti_tile_conv c = {channels,
                                                   2 * stride + kernel + more,
                                                   (width - 1) * stride + kernel + more,
                                                   3 * channels,
                                                   3,
                                                   width,
                                                   kernel,
                                                   stride};
                        compare(&c);
                    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_sum_as_plain_loops_do),
        cmocka_unit_test(tiles_sum_strided_convolutions_as_plain_loops_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
