/* SPDX-License-Identifier: Apache-2.0 */
/* test_pack.c: blocks that live at a time lie apart, and little memory is lost between them. */
#include "testing.h"

#include <stdbool.h>

#include "base/rng.h"
#include "training/plan/pack.h"

enum { N = 120 };

static void check(const tutti_block *b, int n, int64_t bytes)
{
    for (int i = 0; i < n; i++) {
        assert_true(b[i].offset >= 0 && b[i].offset % 64 == 0 && b[i].offset + b[i].bytes <= bytes);
        for (int j = 0; j < i; j++) {
            const bool in_time = b[i].first <= b[j].last && b[j].first <= b[i].last;
            const bool in_space = b[i].offset < b[j].offset + b[j].bytes && b[j].offset < b[i].offset + b[i].bytes;
            assert_false(in_time && in_space);
        }
    }
}

static void random_blocks_lie_apart(void **state)
{
    (void)state;
    double lost = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        tutti_block b[N];
        for (int i = 0; i < N; i++) {
            const tutti_random4 r = tutti_random(seed, TUTTI_STREAM_TEST, 5, (uint64_t)i);
            const int first = (int)(r.word[0] % 60);
            b[i] = (tutti_block){.bytes = r.word[1] % 5000 * (r.word[3] % 8 != 0), .first = first};
            b[i].last = first + (int)(r.word[2] % 20);
        }
        const int64_t bytes = tutti_pack(b, N), least = tutti_pack_bound(b, N);
        check(b, N, bytes);
        assert_true(bytes >= least);
        lost += (double)bytes / (double)least - 1;
    }
    assert_true(lost / 200 < 0.1);
}

/* Values of a forward pass, each read again on the way back. */
static void stack_of_lives_needs_no_more_than_what_lives_at_a_time(void **state)
{
    (void)state;
    tutti_block b[N];
    int64_t sum = 0;
    for (int i = 0; i < N; i++) {
        b[i] = (tutti_block){.bytes = 64 * (1 + i * 37 % 11), .first = i, .last = 2 * N - i};
        sum += b[i].bytes;
    }
    assert_int_equal(tutti_pack_bound(b, N), sum);
    assert_int_equal(tutti_pack(b, N), sum);
    check(b, N, sum);
}

static void nothing_needs_nothing(void **state)
{
    (void)state;
    tutti_block empty = {.first = 3, .last = 4};
    assert_int_equal(tutti_pack(NULL, 0), 0);
    assert_int_equal(tutti_pack(&empty, 1), 0);
    assert_int_equal(tutti_pack_bound(&empty, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks_lie_apart),
        cmocka_unit_test(stack_of_lives_needs_no_more_than_what_lives_at_a_time),
        cmocka_unit_test(nothing_needs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
