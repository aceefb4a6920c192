/* SPDX-License-Identifier: Apache-2.0 */
/* test_rng.c: known answers of Philox4x32-10, from the published test vectors. */
#include "testing.h"

#include "base/rng.h"

static void philox_gives_the_published_words(void **state)
{
    (void)state;
    /* seed + stream * step == 0 makes the key zero */
    uint64_t seed = 0u - (uint64_t)TUTTI_STREAM_INIT * 0x9E3779B97F4A7C15u;
    tutti_random4 r = tutti_random(seed, TUTTI_STREAM_INIT, 0, 0);
    assert_int_equal(r.word[0], 0x6627e8d5);
    assert_int_equal(r.word[1], 0xe169c58d);
    assert_int_equal(r.word[2], 0xbc57ac4c);
    assert_int_equal(r.word[3], 0x9b00dbd8);
    /* the second vector: key and counter all ones */
    r = tutti_random(seed - 1, TUTTI_STREAM_INIT, UINT64_MAX, UINT64_MAX);
    assert_int_equal(r.word[0], 0x408f276d);
    assert_int_equal(r.word[1], 0x41c83b0e);
    assert_int_equal(r.word[2], 0xa20bc7c6);
    assert_int_equal(r.word[3], 0x6d5451fd);
}

static void numbers_below_n_reach_both_ends(void **state)
{
    (void)state;
    assert_int_equal(tutti_random_below((tutti_random4){{0, 0, 0, 0}}, 10), 0);
    assert_int_equal(tutti_random_below((tutti_random4){{UINT32_MAX, UINT32_MAX, 0, 0}}, 10), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_words),
        cmocka_unit_test(numbers_below_n_reach_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
