/* SPDX-License-Identifier: Apache-2.0 */
/* test_convert.c: every row converts every 16-bit number, and everything about half way between two of them, as real
 * numbers say; at any offset; sums round once. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tensor/convert.h"
#include "tensor/convert_impl.h"

enum { NHALVES = 1 << 16 };

/* A 16-bit format by its numbers: bits of the mantissa, exponent of the smallest normal number and of infinity. */
typedef struct {
    tutti_dtype type;
    int index, mantissa, smallest, infinity;
} format;
static const format formats[] = {{TUTTI_BF16, TUTTI_CONVERT_BF16, 7, -126, 128},
                                 {TUTTI_F16, TUTTI_CONVERT_F16, 10, -14, 16}};

/* What a half stands for, by ldexp; NaN for NaN. */
static double value_of(const format *f, unsigned half)
{
    const unsigned exponent = (half & 0x7fff) >> f->mantissa, fraction = half & ((1u << f->mantissa) - 1);
    const double sign = half & 0x8000 ? -1 : 1;
    const int e = f->smallest + (int)exponent - 1;
    if (e == f->infinity) return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, f->smallest - f->mantissa);
    return sign * ldexp(fraction + (1u << f->mantissa), e - f->mantissa);
}

/* The nearest number of the format, ties to the even mantissa, as a real number: in units of the last place. */
static double nearest_to(const format *f, double x)
{
    int e;
    if (!isfinite(x) || x == 0) return x;
    frexp(x, &e);
    const int exponent = e - 1 < f->smallest ? f->smallest : e - 1;
    const double rounded = ldexp(nearbyint(ldexp(x, f->mantissa - exponent)), exponent - f->mantissa);
    return fabs(rounded) >= ldexp(1, f->infinity) ? copysign((double)INFINITY, x) : rounded;
}

static float bits_to_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static bool is_same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void widen_all(const tutti_convert_row *row, const format *f)
{
    uint16_t *half = malloc(NHALVES * sizeof *half), *again = malloc(NHALVES * sizeof *again);
    float *wide = malloc(NHALVES * sizeof *wide);
    for (int i = 0; i < NHALVES; i++) half[i] = (uint16_t)i;
    row->widen[f->index](half, wide, NHALVES);
    row->narrow[f->index](wide, again, NHALVES);
    for (int i = 0; i < NHALVES; i++) {
        const double want = value_of(f, (unsigned)i);
        assert_true(is_same(wide[i], want));
        /* back again: the same; a NaN has become a quiet one of the same sign and payload */
        assert_int_equal(again[i], isnan(want) ? i | 1 << (f->mantissa - 1) : i);
    }
    free(half), free(again), free(wide);
}

static void every_half_is_the_number_that_it_stands_for(void **state)
{
    (void)state;
    for (int r = 0; r < TUTTI_NISAS; r++)
        for (int k = 0; k < 2 && tutti_isa_runs(r); k++) widen_all(tutti_convert_rows[r], &formats[k]);
}

static void narrow_and_compare(const tutti_convert_row *row, const format *f, const float *from, int n)
{
    uint16_t *half = malloc((size_t)n * sizeof *half);
    row->narrow[f->index](from, half, n);
    for (int i = 0; i < n; i++)
        if (!is_same(value_of(f, half[i]), nearest_to(f, (double)from[i])))
            fail_msg("format %d: %a became %04x, %a", f->index, (double)from[i], half[i], value_of(f, half[i]));
    free(half);
}

/* Between every two neighbours: the middle, and a little more and less. */
static int middles(const format *f, float *out)
{
    int n = 0;
    for (unsigned h = 0; h < NHALVES - 1; h++) {
        const double below = value_of(f, h), above = value_of(f, h + 1);
        const double top = isinf(above) ? copysign(ldexp(1, f->infinity), below) : above;
        if (!isfinite(below) || isnan(top)) continue;
        const float middle = (float)((below + top) / 2);
        out[n++] = middle;
        out[n++] = nextafterf(middle, INFINITY);
        out[n++] = nextafterf(middle, -INFINITY);
    }
    return n;
}

static void halfway_numbers_go_to_the_even_neighbour(void **state)
{
    (void)state;
    float *x = malloc(3 * NHALVES * sizeof *x);
    for (int k = 0; k < 2; k++) {
        const int n = middles(&formats[k], x);
        assert_true(n > 3 * 60000);
        for (int r = 0; r < TUTTI_NISAS; r++)
            if (tutti_isa_runs(r)) narrow_and_compare(tutti_convert_rows[r], &formats[k], x, n);
    }
    free(x);
}

static void any_bits_become_the_nearest_half(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    static const uint32_t edges[] = {0,          0x80000000, 1,          0x007fffff, 0x00800000, 0x33000000,
                                     0x33000001, 0x387fffff, 0x38800000, 0x477fefff, 0x477ff000, 0x7f7fffff,
                                     0x7f800000, 0xff800000, 0x7f800001, 0xff800001, 0x7fc00000, 0x7fffffff,
                                     0x7f7f7fff, 0x7f7f8000, 0xffffffff};
    enum { NEDGES = sizeof edges / sizeof edges[0] };
    float *x = malloc(N * sizeof *x);
    for (uint32_t i = 0; i < N; i++) {
        tutti_random4 r = tutti_random(3, TUTTI_STREAM_TEST, 1, i);
        x[i] = bits_to_float(i < NEDGES ? edges[i] : r.word[0]);
        if (i % 2 && i >= NEDGES) x[i] = ldexpf(tutti_random_unit(r.word[1]) - 0.5f, (int)(r.word[2] % 48) - 28);
    }
    for (int r = 0; r < TUTTI_NISAS; r++)
        for (int k = 0; k < 2 && tutti_isa_runs(r); k++) narrow_and_compare(tutti_convert_rows[r], &formats[k], x, N);
    free(x);
}

static void rows_agree_at_any_offset_to_the_bit(void **state)
{
    (void)state;
    enum { ROOM = 200 };
    float x[ROOM], wide[2][ROOM];
    uint16_t h[ROOM], y[ROOM], narrow[2][ROOM], sum[2][ROOM];
    for (uint32_t i = 0; i < ROOM; i++) {
        tutti_random4 r = tutti_random(5, TUTTI_STREAM_TEST, 1, i);
        x[i] = bits_to_float(r.word[0]);
        h[i] = (uint16_t)r.word[1], y[i] = (uint16_t)(r.word[2] & 0x3fff); /* sums of NaN and NaN have no rule */
    }
    const tutti_convert_row *plain = &tutti_convert_generic;
    for (int row = 0; row < TUTTI_NISAS; row++)
        for (int k = 0; k < 2 && tutti_isa_runs(row); k++)
            for (int at = 0; at < 17; at++)
                for (int n = 0; n + at < 67; n++) {
                    const tutti_convert_row *rows[2] = {plain, tutti_convert_rows[row]};
                    for (int which = 0; which < 2; which++) {
                        memset(wide[which], 0x55, sizeof wide[0]), memset(narrow[which], 0x55, sizeof narrow[0]);
                        memcpy(sum[which], y, sizeof sum[0]);
                        rows[which]->widen[k](h + at, wide[which] + 3, n);
                        rows[which]->narrow[k](x + at, narrow[which] + 3, n);
                        rows[which]->add[k](sum[which] + at, h + 2, n);
                    }
                    assert_memory_equal(wide[0], wide[1], sizeof wide[0]);
                    assert_memory_equal(narrow[0], narrow[1], sizeof narrow[0]);
                    assert_memory_equal(sum[0], sum[1], sizeof sum[0]);
                }
}

static void sums_are_made_in_f32_and_rounded_once(void **state)
{
    (void)state;
    enum { N = 37 };
    for (int k = 0; k < 2; k++) {
        const format *f = &formats[k];
        uint16_t x[N], y[N], before[N];
        for (uint32_t i = 0; i < N; i++) {
            tutti_random4 r = tutti_random(9, TUTTI_STREAM_TEST, (uint64_t)k, i);
            x[i] = (uint16_t)(r.word[0] % 0x3000 + 0x2000), y[i] = (uint16_t)(r.word[1] % 0x3000 + 0x2000);
        }
        memcpy(before, y, sizeof y);
        tutti_convert_add(f->type, y, x, N);
        for (int i = 0; i < N; i++) {
            const float sum = (float)value_of(f, before[i]) + (float)value_of(f, x[i]);
            assert_true(is_same(value_of(f, y[i]), nearest_to(f, (double)sum)));
        }
    }
    float a[2] = {1, 2};
    tutti_convert_add(TUTTI_F32, a, a, 2);
    assert_true(a[0] == 2 && a[1] == 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_is_the_number_that_it_stands_for),
        cmocka_unit_test(halfway_numbers_go_to_the_even_neighbour),
        cmocka_unit_test(any_bits_become_the_nearest_half),
        cmocka_unit_test(rows_agree_at_any_offset_to_the_bit),
        cmocka_unit_test(sums_are_made_in_f32_and_rounded_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
