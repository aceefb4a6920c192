/* SPDX-License-Identifier: Apache-2.0 */
/* Water-filling: the formula for two channels, and what any number of channels must satisfy. */
#include "testing.h"

#include <math.h>

#include "base/rng.h"
#include "collective/pack/channels.h"

static void two_channels_divide_as_in_the_closed_form(void **state)
{
    (void)state;
    for (int k = 0; k < 50; k++) {
        const tutti_pack_channel c[] = {{60e9, 0}, {10e9, 1e-4}};
        double bytes = 4e5 * k, carried[2], pcie = bytes * 10e9 / 70e9 - 1e-4 * 10e9 * 60e9 / 70e9;
        double end = tutti_channels_fill(c, 2, bytes, carried);
        assert_true(fabs(carried[1] - fmax(0, pcie)) <= 1e-9 * bytes + 1e-6);
        assert_true(fabs(carried[0] + carried[1] - bytes) <= 1e-9 * bytes);
        assert_true(fabs(end * 60e9 - carried[0]) <= 1e-9 * bytes);
    }
}

static void everybody_who_carries_ends_together_and_nobody_else_could_help(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        tutti_pack_channel c[6];
        double carried[6], sum = 0;
        int32_t n = 1 + (int32_t)(seed % 6);
        for (int32_t i = 0; i < n; i++) {
            tutti_random4 r = tutti_random(seed, TUTTI_STREAM_TEST, (uint64_t)i, 0);
            c[i] = (tutti_pack_channel){1 + (double)(r.word[0] % 100), (double)(r.word[1] % 50)};
        }
        double bytes = (double)(seed * 37 % 5000) + 1, end = tutti_channels_fill(c, n, bytes, carried);
        for (int32_t i = 0; i < n; i++) {
            sum += carried[i];
            if (carried[i] > 0)
                assert_true(fabs(c[i].setup_s + carried[i] / c[i].rate - end) < 1e-9 * end);
            else
                assert_true(c[i].setup_s >= end);
        }
        assert_true(fabs(sum - bytes) < 1e-9 * bytes);
    }
}

static void nothing_takes_no_time(void **state)
{
    (void)state;
    const tutti_pack_channel c[] = {{5, 2}, {7, 3}};
    double carried[2];
    assert_true(tutti_channels_fill(c, 2, 0, carried) == 0);
    assert_true(carried[0] == 0 && carried[1] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_channels_divide_as_in_the_closed_form),
        cmocka_unit_test(everybody_who_carries_ends_together_and_nobody_else_could_help),
        cmocka_unit_test(nothing_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
