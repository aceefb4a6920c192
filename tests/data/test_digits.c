/* SPDX-License-Identifier: Apache-2.0 */
/* The drawn digits: the same bytes for a seed on every machine, balanced, and as their constants say.
 *
 * How hard they are was measured with PyTorch on the 60,000 + 10,000 of seed 1 (SGD, momentum 0.9, batch 64, cosine,
 * three epochs): see the comment above the constants in digits.c. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "data/dataset.h"
#include "data/dataset_impl.h"

enum { N = 1000, PIXELS = TUTTI_DIGIT_PIXELS };

static tutti_dataset *digits(uint64_t seed, tutti_split split, int64_t n)
{
    const tutti_dataset_config config = {.set = "digits", .seed = seed, .train_samples = n, .test_samples = n};
    tutti_dataset *d = NULL;
    assert_int_equal(tutti_dataset_open(&config, split, &d, NULL), TUTTI_OK);
    return d;
}

static void sample_read(const tutti_dataset *d, int64_t i, float *sample, int32_t *label)
{
    tutti_reader *r = tutti_reader_create(d);
    assert_int_equal(tutti_reader_read(r, (tutti_pass){0}, i, sample, label, NULL), TUTTI_OK);
    tutti_reader_destroy(r);
}

static void a_seed_gives_the_same_bytes_on_every_machine(void **state)
{
    (void)state;
    tutti_dataset *d = digits(1, TUTTI_SPLIT_TRAIN, N);
    char hash[17];
    tutti_hash_text(tutti_hash(tutti_dataset_bytes(d, 0), (size_t)N * PIXELS), hash);
    assert_string_equal(hash, "30f7e9feb0ee26f2");
    tutti_dataset_destroy(d);
}

static void a_sample_does_not_depend_on_how_many_are_drawn(void **state)
{
    (void)state;
    tutti_dataset *few = digits(1, TUTTI_SPLIT_TRAIN, 20), *many = digits(1, TUTTI_SPLIT_TRAIN, 1500);
    assert_memory_equal(tutti_dataset_bytes(few, 0), tutti_dataset_bytes(many, 0), 20 * PIXELS);
    tutti_dataset_destroy(few);
    tutti_dataset_destroy(many);
}

static void each_ten_samples_hold_each_digit_once(void **state)
{
    (void)state;
    tutti_dataset *d = digits(3, TUTTI_SPLIT_TEST, N);
    float sample[PIXELS];
    int32_t label, runs_in_order = 0;
    for (int64_t i = 0; i < N; i += 10) {
        unsigned seen = 0, ascending = 1;
        for (int k = 0; k < 10; k++) {
            sample_read(d, i + k, sample, &label);
            seen |= 1u << label;
            ascending &= label == k;
        }
        assert_int_equal(seen, 1023);
        runs_in_order += (int32_t)ascending;
    }
    assert_int_equal(runs_in_order, 0);
    tutti_dataset_destroy(d);
}

static void seeds_and_splits_draw_other_pictures(void **state)
{
    (void)state;
    tutti_dataset *a = digits(1, TUTTI_SPLIT_TRAIN, 100), *b = digits(2, TUTTI_SPLIT_TRAIN, 100),
                  *t = digits(1, TUTTI_SPLIT_TEST, 100);
    for (int64_t i = 0; i < 100; i++) {
        assert_memory_not_equal(tutti_dataset_bytes(a, i), tutti_dataset_bytes(b, i), PIXELS);
        assert_memory_not_equal(tutti_dataset_bytes(a, i), tutti_dataset_bytes(t, i), PIXELS);
    }
    tutti_dataset_destroy(a);
    tutti_dataset_destroy(b);
    tutti_dataset_destroy(t);
}

static void every_picture_has_a_digits_worth_of_ink_away_from_the_rim(void **state)
{
    (void)state;
    uint8_t pixels[PIXELS];
    for (int64_t i = 0; i < N; i++) {
        tutti_digit_draw(5, TUTTI_SPLIT_TRAIN, i, pixels);
        int ink = 0, rim = 0;
        for (int k = 0; k < PIXELS; k++) {
            int x = k % TUTTI_DIGIT_SIDE, y = k / TUTTI_DIGIT_SIDE;
            ink += pixels[k] > 80;
            rim += pixels[k] > 80 && (x == 0 || y == 0 || x == TUTTI_DIGIT_SIDE - 1 || y == TUTTI_DIGIT_SIDE - 1);
        }
        assert_in_range(ink, 10, 400);
        assert_in_range(rim, 0, 20);
    }
}

static void normalised_samples_have_mean_0_and_deviation_1(void **state)
{
    (void)state;
    tutti_dataset *d = digits(1, TUTTI_SPLIT_TRAIN, N);
    float sample[PIXELS];
    int32_t label;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < N; i++) {
        sample_read(d, i, sample, &label);
        for (int k = 0; k < PIXELS; k++) sum += sample[k], squares += (double)sample[k] * sample[k];
    }
    double mean = sum / N / PIXELS;
    assert_true(fabs(mean) < 0.02);
    assert_true(fabs(sqrt(squares / N / PIXELS - mean * mean) - 1) < 0.02);
    tutti_dataset_destroy(d);
}

static void weights_of_each_digits_styles_are_complete(void **state)
{
    (void)state;
    int sum[10] = {0};
    for (int i = 0; i < tutti_ndigit_styles; i++) {
        sum[tutti_digit_styles[i].digit] += tutti_digit_styles[i].weight;
        const int8_t *p = tutti_digit_styles[i].path;
        for (; *p != TUTTI_PEN_END; p++) assert_true(*p >= TUTTI_PEN_END && *p <= 100);
        assert_in_range(p - tutti_digit_styles[i].path, 6, 2 * 60);
    }
    for (int digit = 0; digit < 10; digit++) assert_int_equal(sum[digit], TUTTI_DIGIT_WEIGHTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_the_same_bytes_on_every_machine),
        cmocka_unit_test(a_sample_does_not_depend_on_how_many_are_drawn),
        cmocka_unit_test(each_ten_samples_hold_each_digit_once),
        cmocka_unit_test(seeds_and_splits_draw_other_pictures),
        cmocka_unit_test(every_picture_has_a_digits_worth_of_ink_away_from_the_rim),
        cmocka_unit_test(normalised_samples_have_mean_0_and_deviation_1),
        cmocka_unit_test(weights_of_each_digits_styles_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
