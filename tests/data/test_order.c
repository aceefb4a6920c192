/* SPDX-License-Identifier: Apache-2.0 */
/* The order of samples: a permutation for every count, another one for every epoch and seed, evenly spread. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"

static void every_position_gets_its_own_sample(void **state)
{
    (void)state;
    for (int64_t count = 1; count <= 1030; count += count < 70 ? 1 : 37) {
        char *seen = calloc((size_t)count, 1);
        for (int64_t i = 0; i < count; i++) {
            int64_t at = tutti_sample_order_at(7, 3, count, true, i);
            assert_in_range(at, 0, count - 1);
            assert_int_equal(seen[at]++, 0);
        }
        free(seen);
    }
}

static void a_large_count_stays_a_permutation(void **state)
{
    (void)state;
    const int64_t count = 60000;
    char *seen = calloc((size_t)count, 1);
    for (int64_t i = 0; i < count; i++) seen[tutti_sample_order_at(1, 0, count, true, i)] = 1;
    assert_null(memchr(seen, 0, (size_t)count));
    free(seen);
    /* beyond 32 bits: in range, and no two of these are the same */
    const int64_t huge = ((int64_t)1 << 40) + 12345;
    int64_t a = tutti_sample_order_at(1, 0, huge, true, 0), b = tutti_sample_order_at(1, 0, huge, true, huge - 1);
    assert_true(a >= 0 && a < huge && b >= 0 && b < huge && a != b);
}

static int64_t fixed_points(uint64_t seed, int64_t epoch, uint64_t other_seed, int64_t other_epoch)
{
    int64_t same = 0;
    for (int64_t i = 0; i < 10000; i++)
        same += tutti_sample_order_at(seed, epoch, 10000, true, i) ==
                tutti_sample_order_at(other_seed, other_epoch, 10000, true, i);
    return same;
}

static void epochs_and_seeds_have_orders_of_their_own(void **state)
{
    (void)state;
    /* two random permutations agree in one place on average; more than 10 is a chance of 1 in 10^8 */
    assert_in_range(fixed_points(1, 0, 1, 1), 0, 10);
    assert_in_range(fixed_points(1, 0, 2, 0), 0, 10);
    assert_int_equal(fixed_points(1, 5, 1, 5), 10000);
}

static void without_shuffling_the_position_is_the_sample(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 100; i++) assert_int_equal(tutti_sample_order_at(1, 2, 100, false, i), i);
}

static void samples_land_evenly_over_positions(void **state)
{
    (void)state;
    /* Where does sample 0 of 16 stand, over 16,000 epochs: chi-square with 15 degrees of freedom, 99.99 % below 45. */
    int hits[16] = {0};
    for (int64_t epoch = 0; epoch < 16000; epoch++) hits[tutti_sample_order_at(11, epoch, 16, true, 0)]++;
    double chi2 = 0;
    for (int i = 0; i < 16; i++) chi2 += (hits[i] - 1000.0) * (hits[i] - 1000.0) / 1000.0;
    assert_true(chi2 < 45);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_position_gets_its_own_sample),
        cmocka_unit_test(a_large_count_stays_a_permutation),
        cmocka_unit_test(epochs_and_seeds_have_orders_of_their_own),
        cmocka_unit_test(without_shuffling_the_position_is_the_sample),
        cmocka_unit_test(samples_land_evenly_over_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
