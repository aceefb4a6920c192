/* SPDX-License-Identifier: Apache-2.0 */
/* The drawn shapes: the same bytes for a seed on every machine, balanced, and as their constants say. How hard they are
 * was measured with PyTorch: bench/mnist/NOTES.md. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "data/dataset.h"
#include "data/dataset_impl.h"

enum { N = 1000, BYTES = TUTTI_SHAPE_BYTES, PLANE = TUTTI_SHAPE_SIDE * TUTTI_SHAPE_SIDE };

static tutti_dataset *shapes(uint64_t seed, tutti_split split, int64_t n)
{
    const tutti_dataset_config config = {.set = "shapes", .seed = seed, .train_samples = n, .test_samples = n};
    tutti_dataset *d = NULL;
    assert_int_equal(tutti_dataset_open(&config, split, &d, NULL), TUTTI_OK);
    return d;
}

static void a_seed_gives_the_same_bytes_on_every_machine(void **state)
{
    (void)state;
    tutti_dataset *d = shapes(1, TUTTI_SPLIT_TRAIN, N);
    char hash[17];
    tutti_hash_text(tutti_hash(tutti_dataset_bytes(d, 0), (size_t)N * BYTES), hash);
    assert_string_equal(hash, "9c4d724d64747538");
    tutti_dataset_destroy(d);
}

static void each_ten_samples_hold_each_shape_once(void **state)
{
    (void)state;
    uint8_t bytes[BYTES];
    for (int64_t i = 0; i < N; i += 10) {
        unsigned seen = 0;
        for (int k = 0; k < 10; k++) seen |= 1u << tutti_shape_draw(3, TUTTI_SPLIT_TEST, i + k, bytes);
        assert_int_equal(seen, 1023);
    }
}

static void seeds_splits_and_samples_draw_other_pictures(void **state)
{
    (void)state;
    uint8_t a[BYTES], b[BYTES];
    for (int64_t i = 0; i < 100; i++) {
        tutti_shape_draw(1, TUTTI_SPLIT_TRAIN, i, a);
        tutti_shape_draw(2, TUTTI_SPLIT_TRAIN, i, b);
        assert_memory_not_equal(a, b, BYTES);
        tutti_shape_draw(1, TUTTI_SPLIT_TEST, i, b);
        assert_memory_not_equal(a, b, BYTES);
        tutti_shape_draw(1, TUTTI_SPLIT_TRAIN, i + 1, b);
        assert_memory_not_equal(a, b, BYTES);
    }
}

static void normalised_channels_have_mean_0_and_deviation_1(void **state)
{
    (void)state;
    tutti_dataset *d = shapes(1, TUTTI_SPLIT_TRAIN, 4 * N);
    tutti_reader *r = tutti_reader_create(d);
    double sum[3] = {0}, squares[3] = {0};
    float sample[BYTES];
    int32_t label;
    for (int64_t i = 0; i < 4 * N; i++) {
        assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, i, sample, &label, NULL), TUTTI_OK);
        for (int k = 0; k < BYTES; k++) {
            sum[k / PLANE] += (double)sample[k];
            squares[k / PLANE] += (double)sample[k] * (double)sample[k];
        }
    }
    for (int c = 0; c < 3; c++) {
        const double mean = sum[c] / (4.0 * N * PLANE);
        assert_true(fabs(mean) < 0.03);
        assert_true(fabs(sqrt(squares[c] / (4.0 * N * PLANE) - mean * mean) - 1) < 0.03);
    }
    tutti_reader_destroy(r);
    tutti_dataset_destroy(d);
}

static void every_outline_has_a_name_and_rings_of_three_points_or_more(void **state)
{
    (void)state;
    for (int s = 0; s < TUTTI_NSHAPES; s++) {
        int npoints = 0, n = 0;
        assert_true(strlen(tutti_shape_names[s]) > 2);
        for (const int8_t *p = tutti_shape_outlines[s];; p++) {
            if (*p != TUTTI_OUTLINE_NEXT && *p != TUTTI_OUTLINE_END) {
                assert_in_range(p[0] + 100, 0, 200);
                assert_in_range(*++p + 100, 0, 200);
                n++;
                continue;
            }
            assert_true(n >= 3);
            npoints += n;
            n = 0;
            if (*p == TUTTI_OUTLINE_END) break;
        }
        assert_in_range(npoints, 3, 48);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_the_same_bytes_on_every_machine),
        cmocka_unit_test(each_ten_samples_hold_each_shape_once),
        cmocka_unit_test(seeds_splits_and_samples_draw_other_pictures),
        cmocka_unit_test(normalised_channels_have_mean_0_and_deviation_1),
        cmocka_unit_test(every_outline_has_a_name_and_rings_of_three_points_or_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
