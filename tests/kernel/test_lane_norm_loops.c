/* SPDX-License-Identifier: Apache-2.0 */
/* test_lane_norm_loops.c: each row of the own batch norm's loops against plain ones, with small integers, so that sums
 * are exact and == is the test, in every type, for patterns of every length and spans that end anywhere. That the whole
 * kernel is right test_orders.c shows. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/lanes/lane_impl.h"
#include "tensor/convert.h"
#include "tensor/isa.h"

enum { MOST = 8192, MOST_ENTRIES = 2048 };

/* Numbers as floats; memory holds them in the scene's type. */
typedef struct {
    float in[MOST], added[MOST], dout[MOST], more[MOST], want_out[MOST], want_dout[MOST], want_din[MOST];
    _Alignas(64) char memory[7][MOST * sizeof(float)];
    _Alignas(64) float table[MOST_ENTRIES * TUTTI_NORM_KINDS];
    float channel[TUTTI_NORM_SUM][MOST_ENTRIES];
    double sum[MOST_ENTRIES], product[MOST_ENTRIES], want_sum[MOST_ENTRIES], want_product[MOST_ENTRIES];
    _Alignas(64) unsigned char bits[MOST];
    tutti_isa isa;
    const tutti_lane_row *row;
    int64_t channels, entries;
    tutti_norm_call call;
    tutti_norm_lanes lanes;
} scene;

enum { IN, ADDED, OUT, DOUT, DIN, MORE };

static float small(int64_t i, int salt)
{
    return (float)((i * 31 + salt * 17 + i / 7) % 9 - 4);
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

static void to_memory(scene *s, int which, const float *numbers)
{
    tutti_convert_from_f32(s->call.type, numbers, s->memory[which], MOST);
}

static void from_memory(const scene *s, int which, float *numbers)
{
    tutti_convert_to_f32(s->call.type, s->memory[which], numbers, MOST);
}

static void fill_table(scene *s)
{
    const int unit = 2 * s->row->width;
    for (int kind = 0; kind < TUTTI_NORM_SUM; kind++)
        for (int64_t c = 0; c < s->channels; c++) s->channel[kind][c] = small(c, 4 + kind);
    for (int64_t i = 0; i < s->entries; i++) {
        const int64_t lane = tutti_lane_index(s->row->width, s->call.type, i);
        for (int kind = 0; kind < TUTTI_NORM_SUM; kind++)
            s->table[(lane / unit * TUTTI_NORM_KINDS + kind) * unit + lane % unit] = s->channel[kind][i % s->channels];
    }
}

static scene *open_scene(int isa, tutti_dtype type, int64_t channels, unsigned fused)
{
    const bool adds = fused & 1, relu = fused & 2, streams = fused & 4, sums = fused & 8;
    const tutti_lane_row *row = tutti_lane_rows[isa];
    const int unit = 2 * row->width;
    scene *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
    memset(s, 0, sizeof *s);
    s->isa = isa, s->row = row, s->channels = channels, s->entries = channels / gcd(channels, unit) * unit;
    s->call = (tutti_norm_call){
        .type = type, .period = s->entries / unit, .in = s->memory[IN], .added = adds ? s->memory[ADDED] : NULL};
    s->call.out = s->memory[OUT], s->call.dout = s->memory[DOUT], s->call.din = s->memory[DIN];
    s->call.given = s->memory[DOUT];
    s->call.more = sums ? s->memory[MORE] : NULL, s->call.bits = adds && relu ? s->bits : NULL;
    s->call.relu = relu, s->call.streams = streams;
    s->lanes = (tutti_norm_lanes){s->table, s->sum, s->product};
    for (int64_t i = 0; i < MOST; i++) {
        s->in[i] = small(i, 1), s->added[i] = small(i, 2), s->dout[i] = small(i, 3), s->more[i] = small(i, 9);
        s->want_out[i] = s->want_din[i] = 99;
    }
    memcpy(s->want_dout, s->dout, sizeof s->dout);
    to_memory(s, IN, s->in), to_memory(s, ADDED, s->added), to_memory(s, DOUT, s->dout), to_memory(s, MORE, s->more);
    to_memory(s, OUT, s->want_out), to_memory(s, DIN, s->want_din);
    fill_table(s);
    return s;
}

/* One number, as the formulas in lane_impl.h have it. */
static void expect_number(scene *s, int64_t i, int64_t at)
{
    const int64_t c = i % s->channels, lane = tutti_lane_index(s->row->width, s->call.type, i % s->entries);
    const float x = s->in[at] - s->channel[TUTTI_NORM_MEAN][c], scale = s->channel[TUTTI_NORM_SCALE][c];
    const float y = x * scale + s->channel[TUTTI_NORM_SHIFT][c] + (s->call.added ? s->added[at] : 0);
    s->want_out[at] = s->call.relu && y < 0 ? 0 : y;
    const float given = s->dout[at] + (s->call.more ? s->more[at] : 0), g = s->call.relu && !(y > 0) ? 0 : given;
    if (s->call.added && s->call.relu) s->want_dout[at] = g;
    s->want_sum[lane] += (double)g;
    s->want_product[lane] += (double)(g * x);
    s->want_din[at] = g * scale + (x * s->channel[TUTTI_NORM_TILT][c] + s->channel[TUTTI_NORM_DROP][c]);
}

static void assert_numbers(const scene *s, const char *what, int which, const float *want)
{
    float got[MOST], rounded[MOST];
    uint16_t halves[MOST];
    from_memory(s, which, got);
    memcpy(rounded, want, sizeof rounded);
    if (s->call.type != TUTTI_F32) {
        tutti_convert_from_f32(s->call.type, want, halves, MOST);
        tutti_convert_to_f32(s->call.type, halves, rounded, MOST);
    }
    for (int i = 0; i < MOST; i++)
        if (got[i] != rounded[i])
            fail_msg("%s, %s, %d channels, %s, number %d: %g instead of %g", tutti_isa_name(s->isa),
                     tutti_dtype_name(s->call.type), (int)s->channels, what, i, (double)got[i], (double)rounded[i]);
}

static void run_and_compare(scene *s, int64_t at, int64_t n)
{
    const tutti_norm_span span = {at, n, at / (2 * s->row->width)};
    const tutti_norm_loops *loops = &s->row->norm;
    for (int64_t i = 0; i < n; i++) expect_number(s, i, at + i);
    loops->normalise(&s->call, &s->lanes, &span);
    loops->gradient_sums(&s->call, &s->lanes, &span);
    loops->gradient(&s->call, &s->lanes, &span);
    assert_memory_equal(s->want_sum, s->sum, sizeof s->sum);
    assert_memory_equal(s->want_product, s->product, sizeof s->product);
    assert_numbers(s, "out", OUT, s->want_out);
    assert_numbers(s, "dout", DOUT, s->want_dout);
    assert_numbers(s, "din", DIN, s->want_din);
}

/* Channels: a plane, blocks, channels last that fill vectors, and that do not. */
static const int64_t channels[] = {1, 8, 16, 32, 64, 7, 20, 33};
enum { NCHANNELS = sizeof channels / sizeof *channels };
static const tutti_dtype types[] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};

static void every_row_gives_what_plain_loops_give(void **state)
{
    (void)state;
    for (int r = 0; r < TUTTI_NISAS; r++)
        for (int c = 0; c < NCHANNELS && tutti_isa_runs(r); c++)
            for (int t = 0; t < 3; t++)
                for (unsigned fused = 0; fused < 16; fused++) {
                    if (fused & 8 && (fused & 3) != 3) continue; /* only where dout is masked may it be a sum */
                    const int64_t lengths[] = {37 * channels[c], 9 * 32 * channels[c], channels[c]};
                    for (int n = 0; n < 3; n++) {
                        scene *s = open_scene(r, types[t], channels[c], fused);
                        if (lengths[n] + 64 <= MOST) run_and_compare(s, 64, lengths[n]);
                        free(s);
                    }
                }
}

static void sums_are_those_around_the_mean(void **state)
{
    (void)state;
    for (int r = 0; r < TUTTI_NISAS; r++)
        for (int c = 0; c < NCHANNELS && tutti_isa_runs(r); c++)
            for (int t = 0; t < 3; t++) {
                scene *s = open_scene(r, types[t], channels[c], 0);
                const int64_t n = 41 * channels[c];
                double sum[MOST_ENTRIES] = {0}, squares[MOST_ENTRIES] = {0};
                tutti_lane_rows[r]->norm.sums(&s->call, &s->lanes, &(tutti_norm_span){0, n, 0});
                for (int64_t i = 0; i < n; i++) {
                    const int64_t lane = tutti_lane_index(s->row->width, s->call.type, i % s->entries);
                    const double x = (double)(s->in[i] - s->channel[TUTTI_NORM_MEAN][i % s->channels]);
                    sum[lane] += x, squares[lane] += x * x;
                }
                assert_memory_equal(sum, s->sum, sizeof sum);
                assert_memory_equal(squares, s->product, sizeof squares);
                free(s);
            }
}

static void a_relu_lets_nan_through(void **state)
{
    (void)state;
    for (int r = 0; r < TUTTI_NISAS; r++)
        for (int t = 0; t < 3 && tutti_isa_runs(r); t++) {
            scene *s = open_scene(r, types[t], 20, 2);
            float out[MOST];
            s->in[33] = (float)NAN;
            to_memory(s, IN, s->in);
            tutti_lane_rows[r]->norm.normalise(&s->call, &s->lanes, &(tutti_norm_span){0, 80, 0});
            from_memory(s, OUT, out);
            assert_true(isnan(out[33]) && !isnan(out[32]));
            free(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_gives_what_plain_loops_give),
        cmocka_unit_test(sums_are_those_around_the_mean),
        cmocka_unit_test(a_relu_lets_nan_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
