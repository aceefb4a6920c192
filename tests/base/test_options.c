/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c: one table reads, refuses and prints. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"

typedef struct {
    int64_t batch, bytes;
    double lr;
    bool shuffle;
    const char *model;
    int rule;
    tutti_reals milestones;
} sample;

static const tutti_field fields[] = {
    {"model", TUTTI_FIELD_TEXT, offsetof(sample, model), NULL, NULL, 1, 0, "the model"},
    {"batch", TUTTI_FIELD_INT, offsetof(sample, batch), "32", NULL, 1, 1e6, "samples"},
    {"shuffle", TUTTI_FIELD_BOOL, offsetof(sample, shuffle), "true", NULL, 1, 0, "shuffle"},
    {"optimiser.rule", TUTTI_FIELD_CHOICE, offsetof(sample, rule), "sgd", "sgd|momentum", 1, 0, "rule"},
    {"optimiser.lr", TUTTI_FIELD_REAL, offsetof(sample, lr), "0.1", NULL, 0, 10, "rate"},
    {"optimiser.milestones", TUTTI_FIELD_REALS, offsetof(sample, milestones), "", NULL, 0, 1e9, "epochs"},
    {"exchange.bytes", TUTTI_FIELD_BYTES, offsetof(sample, bytes), "1MiB", NULL, 0, 1e12, "bytes"},
};
static const tutti_field_table table = {fields, sizeof fields / sizeof fields[0]};

static tutti_status read_text(const char *text, const char *override, tutti_arena *arena, sample *out,
                              tutti_failure *err)
{
    tutti_yaml *y = NULL;
    tutti_status st = tutti_yaml_parse("job.yaml", text, strlen(text), &y, err);
    if (st == TUTTI_OK)
        st = tutti_options_read(&table, "job.yaml", tutti_yaml_root(y), &override, override ? 1 : 0, arena, out, err);
    tutti_yaml_destroy(y);
    return st;
}

static void a_printed_struct_reads_back_the_same(void **state)
{
    (void)state;
    tutti_arena arena = {0};
    sample a = {0}, b = {0};
    tutti_failure err = {0};
    assert_int_equal(read_text("model: \"a \\\"b\"\noptimiser: {lr: 0.1, rule: momentum, milestones: [1, 2.5]}\n",
                               "batch=64", &arena, &a, &err),
                     TUTTI_OK);
    assert_int_equal(a.batch, 64);
    assert_int_equal(a.bytes, 1 << 20);
    assert_int_equal(a.milestones.n, 2);
    tutti_strbuf one = {0}, two = {0};
    tutti_options_print(&table, &a, &one);
    assert_int_equal(read_text(one.text, NULL, &arena, &b, &err), TUTTI_OK);
    tutti_options_print(&table, &b, &two);
    assert_string_equal(one.text, two.text);
    tutti_strbuf_release(&one);
    tutti_strbuf_release(&two);
    tutti_arena_release(&arena);
}

static void refusals_name_file_line_and_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *text, *override, *words;
    } cases[] = {
        {"model: a\nbtach: 3\n", NULL, "job.yaml: line 2: unknown key 'btach'; did you mean 'batch'?"},
        {"model: a\nlr: 3\n", NULL, "job.yaml: line 2: unknown key 'lr'; did you mean 'optimiser.lr'?"},
        {"model: a\noptimiser:\n  lrr: 3\n", NULL,
         "job.yaml: line 3: unknown key 'optimiser.lrr'; did you mean 'optimiser.lr'?"},
        {"model: a\nbatch: 3.5\n", NULL, "job.yaml: line 2: batch: '3.5' is not a whole number"},
        {"model: a\nbatch: 0\n", NULL, "job.yaml: line 2: batch: 0 is outside 1 .. 1e+06"},
        {"model: a\nbatch: [1]\n", NULL, "job.yaml: line 2: batch: one value is needed, not a list"},
        {"batch: 3\n", NULL, "job.yaml: line 1: the key 'model' is missing (the model)"},
        {"model: a\nmodel: b\n", NULL, "job.yaml: line 2: the key 'model' stands here a second time"},
        {"model: a\n", "batch", "--set batch: the form is key=value"},
        {"model: a\n", "optimiser.rule=sdg", "--set optimiser.rule=sdg: optimiser.rule: 'sdg' is none of sgd|momentum"},
        {"model: &x a\n", NULL, "job.yaml: line 1: anchors and tags are not used here; write the value out"},
        {"model: [\n", NULL, "job.yaml: line 2: not YAML: did not find expected node content"},
        {"optimiser: 3\n", NULL, "job.yaml: line 1: 'optimiser' holds several keys; give them indented below it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tutti_arena arena = {0};
        sample s = {0};
        tutti_failure err = {0};
        assert_int_equal(read_text(cases[i].text, cases[i].override, &arena, &s, &err), TUTTI_ERR_USAGE);
        assert_string_equal(err.text, cases[i].words);
        tutti_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_printed_struct_reads_back_the_same),
        cmocka_unit_test(refusals_name_file_line_and_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
