/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_eliminate.c: the rules by name. What they do is in test_svm_solve.c. */
#include "testing.h"

#include <string.h>

#include "tutti/svm.h"

static void assert_rule(const char *kind, const char *threshold, const char *name)
{
    tutti_failure err = {0};
    tutti_svm_elimination rule = {0};
    const tutti_status s = tutti_svm_elimination_parse(kind, threshold, &rule, &err);
    assert_int_equal(s, name ? TUTTI_OK : TUTTI_ERR_USAGE);
    if (name) assert_string_equal(rule.name, name);
    if (!name) assert_non_null(strstr(err.text, threshold ? threshold : kind));
}

static void rules_are_read_by_name_and_wrong_ones_are_refused(void **state)
{
    (void)state;
    tutti_svm_elimination rule;
    int n;
    const tutti_svm_elimination *rules = tutti_svm_eliminations(&n);
    assert_int_equal(n, 13);
    assert_string_equal(rules[n - 1].name, "none");
    for (int i = 0; i < n - 1; i++) {
        const char *comma = strchr(rules[i].name, ',');
        assert_rule(rules[i].kind == TUTTI_SVM_SINGLE ? "single" : "multi", comma + 1, rules[i].name);
    }
    assert_rule("none", NULL, "none");
    assert_rule("single", "random:37", "single");
    assert_rule("multi", "samples:0.5%", "multi");
    assert_int_equal(tutti_svm_elimination_parse("multi", "samples:0.5%", &rule, NULL), TUTTI_OK);
    assert_true(rule.kind == TUTTI_SVM_MULTI && rule.share == 0.005 && rule.iterations == 0);
    assert_rule("double", NULL, NULL);
    assert_rule("none", "random:2", NULL);
    static const char *const wrong[] = {"random:0",
                                        "random:",
                                        "random:-1",
                                        "random:2x",
                                        "samples:5",
                                        "samples:0%",
                                        "samples:101%",
                                        "samples:nan%",
                                        "samples:-5%",
                                        "5%",
                                        "samples:5%%",
                                        "random: 2",
                                        "",
                                        "random:99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_rule("multi", wrong[i], NULL);
}

static void the_default_is_a_rule_of_the_table(void **state)
{
    (void)state;
    assert_rule(NULL, NULL, "multi,samples:5%");
    assert_rule("single", NULL, "single,samples:5%");
    assert_rule(NULL, "random:500", "multi,random:500");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_read_by_name_and_wrong_ones_are_refused),
        cmocka_unit_test(the_default_is_a_rule_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
