/* SPDX-License-Identifier: Apache-2.0 */
/* test_lane_norm.c: each row of the own batch norm against plain loops, with small integers, so that sums are exact and == is
 * the test. That the whole kernel is right test_onednn.c shows, on the row that runs here. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/lane_norm_impl.h"
#include "tensor/elementwise_impl.h"

enum { MOST = 4096, MOST_CHANNELS = 64 };

typedef struct {
    _Alignas(64) float in[MOST], added[MOST], out[MOST], dout[MOST], din[MOST], want_out[MOST], want_dout[MOST],
        want_din[MOST], more[MOST];
    float mean[MOST_CHANNELS], scale[MOST_CHANNELS], shift[MOST_CHANNELS], offset[MOST_CHANNELS], slope[MOST_CHANNELS];
    double sum[MOST_CHANNELS], product[MOST_CHANNELS], want_sum[MOST_CHANNELS], want_product[MOST_CHANNELS];
    unsigned char bits[MOST];
    tutti_lane_call call;
} scene;

static float small(int i, int salt)
{
    return (float)((i * 31 + salt * 17 + i / 7) % 9 - 4);
}

static scene *open_scene(const tutti_lane_walk *walk, bool adds, bool relu, bool streams, bool sums)
{
    scene *s = aligned_alloc(64, sizeof *s);
    memset(s, 0, sizeof *s);
    for (int i = 0; i < MOST; i++) {
        s->in[i] = small(i, 1);
        s->added[i] = small(i, 2);
        s->dout[i] = small(i, 3);
        s->more[i] = small(i, 9);
        s->out[i] = s->din[i] = s->want_out[i] = s->want_din[i] = 99;
    }
    memcpy(s->want_dout, s->dout, sizeof s->dout);
    for (int c = 0; c < MOST_CHANNELS; c++) {
        s->mean[c] = small(c, 4);
        s->scale[c] = small(c, 5);
        s->shift[c] = small(c, 6);
        s->offset[c] = small(c, 7);
        s->slope[c] = small(c, 8);
    }
    s->call = (tutti_lane_call){.walk = *walk,
                                .at = {s->mean, s->scale, s->shift, s->offset, s->slope},
                                .in = s->in,
                                .added = adds ? s->added : NULL,
                                .out = s->out,
                                .dout = s->dout,
                                .given = s->dout,
                                .more = sums ? s->more : NULL,
                                .din = s->din,
                                .bits = adds && relu ? s->bits : NULL,
                                .relu = relu,
                                .streams = streams,
                                .sum = s->sum,
                                .product = s->product,
                                .center = s->mean};
    return s;
}

/* One number, as the formulas in lane_norm_impl.h have it. */
static void expect_number(scene *s, int64_t at, int64_t ch)
{
    const bool adds = s->call.added, relu = s->call.relu;
    const float x = s->in[at] - s->mean[ch];
    const float y = x * s->scale[ch] + s->shift[ch] + (adds ? s->added[at] : 0);
    s->want_out[at] = relu && y < 0 ? 0 : y;
    const float given = s->dout[at] + (s->call.more ? s->more[at] : 0), g = relu && !(y > 0) ? 0 : given;
    if (adds && relu) s->want_dout[at] = g;
    s->want_sum[ch] += (double)g;
    s->want_product[ch] += (double)(g * x);
    s->want_din[at] = s->scale[ch] * (g - s->offset[ch] - s->slope[ch] * x);
}

static void expect(scene *s)
{
    const tutti_lane_walk *w = &s->call.walk;
    for (int64_t p = 0; p < w->npanels; p++)
        for (int64_t r = 0; r < w->nruns; r++)
            for (int64_t i = 0; i < w->npositions; i++)
                for (int64_t c = 0; c < w->nchannels; c++)
                    expect_number(s, p * w->panel_step + r * w->run_step + i * w->position_step + c,
                                  p * w->nchannels + c);
}

static void run_and_compare(const tutti_lane_norm_row *row, scene *s)
{
    expect(s);
    for (int64_t p = 0; p < s->call.walk.npanels; p++) {
        row->normalise(&s->call, p);
        row->gradient_sums(&s->call, p);
        row->gradient(&s->call, p);
    }
    assert_memory_equal(s->want_sum, s->sum, sizeof s->sum);
    assert_memory_equal(s->want_product, s->product, sizeof s->product);
    for (int i = 0; i < MOST; i++)
        if (s->out[i] != s->want_out[i] || s->dout[i] != s->want_dout[i] || s->din[i] != s->want_din[i])
            fail_msg("%s, number %d: out %g dout %g din %g instead of %g %g %g", row->name, i, (double)s->out[i],
                     (double)s->dout[i], (double)s->din[i], (double)s->want_out[i], (double)s->want_dout[i],
                     (double)s->want_din[i]);
}

/* Blocks of 16 channels of two samples with 35 positions; 32 channels innermost, 37 positions. Tiles leave a rest. */
static const tutti_lane_walk walks[] = {
    {.npanels = 3,
     .panel_step = 35 * 16,
     .nchannels = 16,
     .nruns = 2,
     .run_step = 3 * 35 * 16,
     .npositions = 35,
     .position_step = 16,
     .tile = 16},
    {.npanels = 1, .nchannels = 32, .nruns = 1, .npositions = 37, .position_step = 32, .tile = 15},
};

static bool is_usable(const tutti_lane_norm_row *row)
{
    for (int i = 0; i < tutti_elementwise_nrows; i++)
        if (strcmp(tutti_elementwise_rows[i]->name, row->name) == 0) return tutti_elementwise_rows[i]->usable();
    return false;
}

static void every_row_gives_what_plain_loops_give(void **state)
{
    (void)state;
    for (int r = 0; r < tutti_lane_norm_nrows; r++) {
        if (!is_usable(tutti_lane_norm_rows[r])) continue;
        for (int w = 0; w < 2; w++)
            for (int fused = 0; fused < 16; fused++) {
                const bool masks_dout = (fused & 3) == 3; /* only then may it be a sum */
                if (fused & 8 && !masks_dout) continue;
                scene *s = open_scene(&walks[w], fused & 1, fused & 2, fused & 4, fused & 8);
                run_and_compare(tutti_lane_norm_rows[r], s);
                free(s);
            }
    }
}

static void sums_are_those_around_the_center(void **state)
{
    (void)state;
    for (int r = 0; r < tutti_lane_norm_nrows; r++) {
        if (!is_usable(tutti_lane_norm_rows[r])) continue;
        for (int w = 0; w < 2; w++) {
            scene *s = open_scene(&walks[w], false, false, false, false);
            memcpy(s->dout, s->in, sizeof s->in); /* the "gradient" x has the sums of x and of x * (x - mean) */
            for (int64_t p = 0; p < walks[w].npanels; p++) tutti_lane_norm_rows[r]->sums(&s->call, p);
            expect(s);
            const double n = (double)(walks[w].nruns * walks[w].npositions);
            for (int64_t c = 0; c < walks[w].npanels * walks[w].nchannels; c++) {
                const double mean = (double)s->mean[c], sum = s->want_sum[c] - n * mean;
                assert_true(s->sum[c] == sum);
                assert_true(s->product[c] == s->want_product[c] - mean * sum);
            }
            free(s);
        }
    }
}

static void a_relu_lets_nan_through(void **state)
{
    (void)state;
    for (int r = 0; r < tutti_lane_norm_nrows; r++) {
        if (!is_usable(tutti_lane_norm_rows[r])) continue;
        scene *s = open_scene(&walks[1], false, true, false, false);
        s->in[33] = (float)NAN;
        tutti_lane_norm_rows[r]->normalise(&s->call, 0);
        assert_true(isnan(s->out[33]) && !isnan(s->out[32]));
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_gives_what_plain_loops_give),
        cmocka_unit_test(sums_are_those_around_the_center),
        cmocka_unit_test(a_relu_lets_nan_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
