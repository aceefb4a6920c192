/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c: loops cover each index once; clocks move on; hashes do not depend on how bytes arrive. */
#include "testing.h"

#include <stdlib.h>

#include <math.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/pool.h"

static void count_index(void *arg, int64_t begin, int64_t end)
{
    int *count = arg;
    for (int64_t i = begin; i < end; i++) count[i]++;
}

static void every_index_is_visited_once_for_any_number_of_threads(void **state)
{
    (void)state;
    for (int nthreads = 1; nthreads <= 5; nthreads++) {
        tutti_pool *pool = tutti_pool_create(nthreads);
        assert_int_equal(tutti_pool_size(pool), nthreads);
        for (int n = 0; n < 40; n++) {
            int count[40] = {0};
            tutti_pool_for(pool, n, count_index, count);
            for (int i = 0; i < 40; i++) assert_int_equal(count[i], i < n);
        }
        tutti_pool_destroy(pool);
    }
}

static void without_a_pool_the_caller_works_alone(void **state)
{
    (void)state;
    int count[3] = {0};
    tutti_pool_for(NULL, 3, count_index, count);
    assert_int_equal(count[0] + count[1] + count[2], 3);
}

static void sleeping_takes_at_least_the_time_asked_for(void **state)
{
    (void)state;
    int64_t begin = tutti_clock_ns();
    tutti_clock_sleep_s(0.002);
    assert_true(tutti_clock_ns() - begin >= 2000000);
    tutti_clock_sleep_s(-1);
}

static void a_streamed_hash_equals_the_whole_one(void **state)
{
    (void)state;
    char bytes[1000], text[17];
    for (int i = 0; i < 1000; i++) bytes[i] = (char)(i * 7);
    tutti_hasher *h = tutti_hasher_create();
    for (int i = 0; i < 1000; i += 8) tutti_hasher_add(h, bytes + i, 8);
    assert_true(tutti_hasher_finish(h) == tutti_hash(bytes, 1000));
    tutti_hash_text(tutti_hash("", 0), text); /* the published value for no input and seed 0 */
    assert_string_equal(text, "2d06800538d394c2");
}

static void times_are_said_with_four_digits_in_the_unit_that_fits(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *words;
    } cases[] = {{0, "0 s"},
                 {0.148827, "148.8 ms"},
                 {37.92e-6, "37.92 us"},
                 {1.25, "1.250 s"},
                 {999.94e-9, "999.9 ns"},
                 {999.96e-9, "1.000 us"},
                 {999.96e-6, "1.000 ms"},
                 {0.99996, "1.000 s"},
                 {9.9996e-6, "10.00 us"},
                 {99.996e-3, "100.0 ms"},
                 {59.2, "59.20 s"},
                 {5900, "5900 s"},
                 {3e7, "3e+07 s"},
                 {-0.0025, "-2.500 ms"},
                 {4e-12, "0.004 ns"},
                 {NAN, "-"},
                 {INFINITY, "-"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(tutti_time_words(cases[i].seconds).text, cases[i].words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_said_with_four_digits_in_the_unit_that_fits),
        cmocka_unit_test(every_index_is_visited_once_for_any_number_of_threads),
        cmocka_unit_test(without_a_pool_the_caller_works_alone),
        cmocka_unit_test(sleeping_takes_at_least_the_time_asked_for),
        cmocka_unit_test(a_streamed_hash_equals_the_whole_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
