/* SPDX-License-Identifier: Apache-2.0 */
/* test_name_pattern.c: what a pattern of names with dots means. */
#include "testing.h"

#include "base/text/name_pattern.h"

static void a_pattern_means_names_and_all_below_them(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"fc", "fc", true},
        {"fc", "fc.weight", true},
        {"fc", "fc1.weight", false},
        {"fc.weight", "fc", false},
        {"fc*", "fc1.weight", true},
        {"fc?", "fc1.weight", true},
        {"fc?weight", "fc.weight", true}, /* a dot is a letter too */
        {"fc?", "fc.weight", false},
        {"fc??", "fc1.weight", false},
        {"*.bias", "layer1.0.bias", true},
        {"*.bias", "layer1.0.bias2", false},
        {"*.bias", "bias", false},
        {"layer*.0", "layer1.0.conv1.weight", true},
        {"l*r*.conv?.weight", "layer1.0.conv1.weight", true},
        {"*", "a.b", true},
        {"**", "", true},
        {"", "a", false},
        {"a*b", "aab.b", true},
        {"*aab", "aaaab", true},
        {"*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (tutti_name_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_pattern_means_names_and_all_below_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
