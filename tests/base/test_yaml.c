/* SPDX-License-Identifier: Apache-2.0 */
/* test_yaml.c: what a tree remembers, and what no file may hold. */
#include "testing.h"

#include <string.h>

#include "base/text/strbuf.h"
#include "base/text/yaml.h"

static void a_tree_remembers_lines_keys_and_quotes(void **state)
{
    (void)state;
    const char text[] = "a: 1\n\n# a comment\nb:\n  - x\n  - \"2\"\n";
    tutti_yaml *y = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_yaml_parse("f", text, sizeof text - 1, &y, &err), TUTTI_OK);
    const tutti_yaml_node *root = tutti_yaml_root(y), *b = tutti_yaml_get(root, "b");
    assert_int_equal(root->nchildren, 2);
    assert_string_equal(tutti_yaml_get(root, "a")->scalar, "1");
    assert_int_equal(b->kind, TUTTI_YAML_LIST);
    assert_int_equal(b->child->line, 5);
    assert_false(b->child->quoted);
    assert_true(b->child->next->quoted);
    assert_null(tutti_yaml_get(root, "c"));
    assert_null(tutti_yaml_get(b, "x")); /* a list has no keys */
    tutti_yaml_destroy(y);
}

static void an_empty_file_is_an_empty_map(void **state)
{
    (void)state;
    tutti_yaml *y = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_yaml_parse("f", "# nothing\n", 10, &y, &err), TUTTI_OK);
    assert_int_equal(tutti_yaml_root(y)->kind, TUTTI_YAML_MAP);
    assert_int_equal(tutti_yaml_root(y)->nchildren, 0);
    tutti_yaml_destroy(y);
}

static void assert_refused(const char *text, size_t nbytes, const char *words)
{
    tutti_yaml *y = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_yaml_parse("f", text, nbytes, &y, &err), TUTTI_ERR_USAGE);
    if (!strstr(err.text, words)) fail_msg("wanted \"%s\", got \"%s\"", words, err.text);
    assert_null(y);
}

static void what_would_surprise_a_reader_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"a: &x 1\nb: *x\n", "f: line 1: anchors and tags"},
        {"a: 1\nb: *x\n", "f: line 2: aliases"},
        {"a: !!int 1\n", "f: line 1: anchors and tags"},
        {"a: !mine {b: 1}\n", "f: line 1: anchors and tags"},
        {"a: 1\n---\nb: 2\n", "f: line 2: a second document"},
        {"a: 1\na: 2\n", "f: line 2: the key 'a' is given a second time"},
        {"[1, 2]: 3\n", "a key must be plain text"},
        {"a: \"\\0\"\n", "zero byte"},
        {"a: [1\n", "not YAML"},
        {"a: b: c\n", "not YAML"},
        {"a: \xff\n", "not YAML"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].words);
}

static void test_f34_hostile_files_stay_small(void **state)
{
    (void)state;
    tutti_strbuf deep = {0}, wide = {0};
    for (int i = 0; i < 40; i++) tutti_strbuf_puts(&deep, "[");
    assert_refused(deep.text, deep.length, "deeper than 32");
    tutti_strbuf_puts(&wide, "[");
    for (int i = 0; i < 100001; i++) tutti_strbuf_puts(&wide, "1,");
    tutti_strbuf_puts(&wide, "]");
    assert_refused(wide.text, wide.length, "more than 100,000 nodes");
    tutti_strbuf_release(&deep);
    tutti_strbuf_release(&wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_remembers_lines_keys_and_quotes),
        cmocka_unit_test(an_empty_file_is_an_empty_map),
        cmocka_unit_test(what_would_surprise_a_reader_is_refused_with_its_line),
        cmocka_unit_test(test_f34_hostile_files_stay_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
