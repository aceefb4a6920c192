/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_cache.c: what is kept, what goes, and that values move with their samples. */
#include "testing.h"

#include <stdbool.h>

#include "svm/solve/svm_cache.h"

enum { NKEYS = 20, MOST = 8 };

static tutti_svm_cache *open_cache(int nrows)
{
    return tutti_svm_cache_create((size_t)nrows * MOST * sizeof(double), NKEYS, MOST, sizeof(double));
}

/* A row of values 100 key + position. */
static bool keep(tutti_svm_cache *c, int64_t key, int64_t length)
{
    double *row = tutti_svm_cache_make(c, key, length);
    for (int64_t i = 0; row && i < length; i++) row[i] = (double)(100 * key + i);
    return row;
}

/* Its length, 0: not kept. Values are what keep() wrote. */
static int64_t kept(tutti_svm_cache *c, int64_t key)
{
    int64_t length = -1;
    const double *row = tutti_svm_cache_find(c, key, &length);
    assert_true((row != NULL) == (length > 0));
    for (int64_t i = 0; i < length; i++) assert_true(row[i] == (double)(100 * key + i));
    return length;
}

static void the_row_unused_for_longest_goes_first(void **state)
{
    (void)state;
    tutti_svm_cache *c = open_cache(3);
    for (int64_t key = 0; key < 3; key++) assert_true(keep(c, key, MOST));
    tutti_svm_cache_turn(c);
    assert_int_equal(kept(c, 0), MOST); /* used: 1 is the oldest now */
    tutti_svm_cache_turn(c);
    assert_true(keep(c, 7, MOST));
    tutti_svm_cache_turn(c);
    assert_int_equal(kept(c, 1), 0);
    assert_int_equal(kept(c, 0), MOST);
    assert_true(keep(c, 8, MOST));
    tutti_svm_cache_turn(c);
    assert_int_equal(kept(c, 2), 0);
    assert_int_equal(kept(c, 7), MOST);
    assert_int_equal(kept(c, 8), MOST);
    assert_int_equal(kept(c, 0), MOST);
    tutti_svm_cache_destroy(c);
}

static void rows_of_this_turn_stay(void **state)
{
    (void)state;
    tutti_svm_cache *c = open_cache(3);
    for (int64_t key = 0; key < 3; key++) assert_true(keep(c, key, MOST));
    assert_false(keep(c, 3, 1));
    tutti_svm_cache_turn(c);
    assert_int_equal(kept(c, 1), MOST);
    assert_int_equal(kept(c, 0), MOST);
    assert_true(keep(c, 3, MOST));  /* 2 went */
    assert_false(keep(c, 4, MOST)); /* nobody can go */
    assert_int_equal(kept(c, 4), 0);
    assert_int_equal(kept(c, 2), 0);
    for (int64_t key = 0; key < 4; key++) assert_int_equal(kept(c, key), key == 2 ? 0 : MOST);
    tutti_svm_cache_destroy(c);
}

static void short_rows_take_less_room_and_grow_with_their_values(void **state)
{
    (void)state;
    tutti_svm_cache *c = open_cache(2);
    for (int64_t key = 0; key < 16; key++) assert_true(keep(c, key, 1));
    assert_false(keep(c, 16, 1));
    tutti_svm_cache_turn(c);
    double *row = tutti_svm_cache_make(c, 5, 4); /* three more: 0, 1, 2 go */
    assert_true(row[0] == 500);
    for (int64_t i = 1; i < 4; i++) row[i] = (double)(500 + i);
    tutti_svm_cache_turn(c);
    for (int64_t key = 0; key < 16; key++) assert_int_equal(kept(c, key), key < 3 ? 0 : key == 5 ? 4 : 1);
    assert_non_null(tutti_svm_cache_make(c, 5, 2)); /* shorter: two values of room */
    assert_int_equal(kept(c, 5), 2);
    assert_true(keep(c, 17, 2));
    assert_false(keep(c, 18, 1));
    tutti_svm_cache_destroy(c);
}

static void a_row_without_room_to_grow_stays_as_it_was(void **state)
{
    (void)state;
    tutti_svm_cache *c = open_cache(2);
    assert_true(keep(c, 0, MOST));
    assert_true(keep(c, 1, MOST - 1));
    assert_true(keep(c, 2, 1));
    assert_null(tutti_svm_cache_make(c, 1, MOST));
    assert_int_equal(kept(c, 1), MOST - 1);
    tutti_svm_cache_turn(c);
    assert_int_equal(kept(c, 1), MOST - 1);
    assert_true(keep(c, 1, MOST)); /* 0 went, the oldest; it was not 1 itself */
    assert_int_equal(kept(c, 0), 0);
    assert_int_equal(kept(c, 2), 1);
    tutti_svm_cache_destroy(c);
}

static void values_move_with_their_samples(void **state)
{
    (void)state;
    tutti_svm_cache *c = open_cache(4);
    keep(c, 0, MOST);
    keep(c, 1, 4);
    keep(c, 2, 3);
    const int64_t from[] = {3, 0, 2, 1};
    tutti_svm_cache_permute(c, from, 4);
    int64_t length;
    for (int64_t key = 0; key < 2; key++) {
        const double *row = tutti_svm_cache_find(c, key, &length);
        assert_int_equal(length, key ? 4 : MOST);
        for (int64_t i = 0; i < length; i++) assert_true(row[i] == (double)(100 * key + (i < 4 ? from[i] : i)));
    }
    assert_int_equal(kept(c, 2), 0);                   /* too short */
    assert_true(keep(c, 3, MOST) && keep(c, 4, MOST)); /* its room came back */
    tutti_svm_cache_destroy(c);
}

static void f32_rows_move_too(void **state)
{
    (void)state;
    tutti_svm_cache *c = tutti_svm_cache_create(2 * MOST * sizeof(float), NKEYS, MOST, sizeof(float));
    float *row = tutti_svm_cache_make(c, 3, 3);
    for (int i = 0; i < 3; i++) row[i] = (float)i;
    const int64_t from[] = {2, 0, 1};
    tutti_svm_cache_permute(c, from, 3);
    tutti_svm_cache_permute(c, from, 3);
    int64_t length;
    row = tutti_svm_cache_find(c, 3, &length);
    assert_true(length == 3 && row[0] == 1 && row[1] == 2 && row[2] == 0);
    tutti_svm_cache_destroy(c);
}

static void too_little_memory_keeps_nothing(void **state)
{
    (void)state;
    tutti_svm_cache *c = tutti_svm_cache_create(2 * MOST * sizeof(double) - 1, NKEYS, MOST, sizeof(double));
    assert_false(keep(c, 0, 1));
    assert_int_equal(kept(c, 0), 0);
    const int64_t from[] = {0};
    tutti_svm_cache_permute(c, from, 1);
    tutti_svm_cache_turn(c);
    assert_false(keep(c, 0, 1));
    tutti_svm_cache_destroy(c);
    tutti_svm_cache_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_row_unused_for_longest_goes_first),
        cmocka_unit_test(rows_of_this_turn_stay),
        cmocka_unit_test(short_rows_take_less_room_and_grow_with_their_values),
        cmocka_unit_test(a_row_without_room_to_grow_stays_as_it_was),
        cmocka_unit_test(values_move_with_their_samples),
        cmocka_unit_test(f32_rows_move_too),
        cmocka_unit_test(too_little_memory_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
