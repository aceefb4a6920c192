/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c: one table reads, refuses and prints. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/options.h"

typedef struct {
    int64_t batch, bytes;
    double lr;
    bool shuffle;
    const char *model;
    int rule;
    tutti_reals milestones;
    const char *from;
    tutti_texts skip, map;
} sample;

static const tutti_field fields[] = {
    {"model", TUTTI_FIELD_TEXT, offsetof(sample, model), NULL, NULL, 1, 0, "the model"},
    {"batch", TUTTI_FIELD_INT, offsetof(sample, batch), "32", NULL, 1, 1e6, "samples"},
    {"shuffle", TUTTI_FIELD_BOOL, offsetof(sample, shuffle), "true", NULL, 1, 0, "shuffle"},
    {"optimiser.rule", TUTTI_FIELD_CHOICE, offsetof(sample, rule), "sgd", "sgd|momentum", 1, 0, "rule"},
    {"optimiser.lr", TUTTI_FIELD_REAL, offsetof(sample, lr), "0.1", NULL, 0, 10, "rate"},
    {"optimiser.milestones", TUTTI_FIELD_REALS, offsetof(sample, milestones), "", NULL, 0, 1e9, "epochs"},
    {"exchange.bytes", TUTTI_FIELD_BYTES, offsetof(sample, bytes), "1MiB", NULL, 0, 1e12, "bytes"},
    {"init.from", TUTTI_FIELD_TEXT, offsetof(sample, from), "", NULL, 1, 0, "a file"},
    {"init.skip", TUTTI_FIELD_TEXTS, offsetof(sample, skip), "", NULL, 1, 0, "names"},
    {"init.map", TUTTI_FIELD_PAIRS, offsetof(sample, map), "", NULL, 1, 0, "names to names"},
};
static const tutti_field_table table = {fields, sizeof fields / sizeof fields[0]};

static tutti_status read_text(const char *text, const char *override, tutti_arena *arena, sample *out,
                              tutti_failure *err)
{
    tutti_yaml *y = NULL;
    tutti_status st = tutti_yaml_parse("job.yaml", text, strlen(text), &y, err);
    if (st == TUTTI_OK)
        st = tutti_options_read(&(tutti_options_into){&table, arena, out}, "job.yaml", tutti_yaml_root(y), &override,
                                override ? 1 : 0, err);
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

/* After one of the two, what both say. */
static void expect_texts(const char *text, const char *override, const char *skip, const char *map)
{
    tutti_arena arena = {0};
    sample s = {0};
    tutti_failure err = {0};
    tutti_strbuf all = {0}, wanted = {0};
    if (read_text(text, override, &arena, &s, &err)) fail_msg("%s", err.text);
    tutti_options_print(&table, &s, &all);
    tutti_strbuf_printf(&wanted, "  skip: %s\n  map: %s\n", skip, map);
    if (!strstr(all.text, wanted.text)) fail_msg("not '%s' but\n%s", wanted.text, all.text);
    tutti_strbuf_release(&all);
    tutti_strbuf_release(&wanted);
    tutti_arena_release(&arena);
}

static void lists_and_maps_of_names_are_read_and_printed(void **state)
{
    (void)state;
    expect_texts("model: a\n", NULL, "[]", "{}");
    expect_texts("model: a\ninit: {skip: fc}\n", NULL, "[\"fc\"]", "{}");
    expect_texts("model: a\ninit: {skip: [fc, \"*.bias\"], map: {module: '', \"a\": b}}\n", NULL,
                 "[\"fc\", \"*.bias\"]", "{\"module\": \"\", \"a\": \"b\"}");
    expect_texts("model: a\n", "init.skip=*.bias, fc", "[\"*.bias\", \"fc\"]", "{}");
    expect_texts("model: a\n", "init.skip=[a, b]", "[\"a\", \"b\"]", "{}");
    expect_texts("model: a\n", "init.map=module=,head = fc", "[]", "{\"module\": \"\", \"head\": \"fc\"}");
    expect_texts("model: a\n", "init.map={x: \"y z\"}", "[]", "{\"x\": \"y z\"}");
}

static void a_group_with_one_value_is_where_it_is_from(void **state)
{
    (void)state;
    tutti_arena arena = {0};
    sample s = {0};
    tutti_failure err = {0};
    assert_int_equal(read_text("model: a\ninit: one\n", NULL, &arena, &s, &err), TUTTI_OK);
    assert_string_equal(s.from, "one");
    assert_int_equal(read_text("model: a\ninit: one\n", "init=two", &arena, &s, &err), TUTTI_OK);
    assert_string_equal(s.from, "two");
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
        {"model: a\nmodel: b\n", NULL, "job.yaml: line 2: the key 'model' is given a second time"},
        {"model: a\n", "batch", "--set batch: the form is key=value"},
        {"model: a\n", "optimiser.rule=sdg", "--set optimiser.rule=sdg: optimiser.rule: 'sdg' is none of sgd|momentum"},
        {"model: &x a\n", NULL, "job.yaml: line 1: anchors and tags are not used here; write the value out"},
        {"model: [\n", NULL, "job.yaml: line 2: not YAML: did not find expected node content"},
        {"model: a\ninit: {skip: {a: b}}\n", NULL, "job.yaml: line 2: init.skip: one value is needed, not a map"},
        {"model: a\ninit: {skip: [[a]]}\n", NULL,
         "job.yaml: line 2: init.skip: a list of names such as [a, b] is needed"},
        {"model: a\ninit:\n  map: [a]\n", NULL, "job.yaml: line 3: init.map: one value is needed, not a list"},
        {"model: a\ninit:\n  map: {a: [b]}\n", NULL,
         "job.yaml: line 3: init.map: a map of names to names such as {a: b} is needed"},
        {"model: a\n", "init.map=a", "--set init.map=a: init.map: a map of names to names such as {a: b} is needed"},
        {"optimiser: 3\n", NULL, "job.yaml: line 1: 'optimiser' has several keys; write them indented below it"},
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

static void only_what_is_really_near_is_called_near(void **state)
{
    (void)state;
    static const char *const known[] = {"mlp", "fcn5", "lenet", "resnet50", "googlenet", "overfeat-fast", "sgd", "lr"};
    static const char *const cases[][2] = {
        {"onnx", NULL},
        {"vit", NULL},
        {"bert", NULL},
        {"llama", NULL},
        {"adam", NULL},
        {"unet", NULL},
        {"ab", NULL},
        {"densenet121", NULL},
        {"mpl", "mlp"},
        {"fcn", "fcn5"},
        {"LeNet", "lenet"},
        {"lente", "lenet"},
        {"ResNet-50", "resnet50"},
        {"resnet", "resnet50"},
        {"googelnet", "googlenet"},
        {"googlnt", "googlenet"},
        {"sdg", "sgd"},
        {"lt", "lr"},
        {"overfeatfast", "overfeat-fast"},
        {"google", "googlenet"},
        {"OverFeat", "overfeat-fast"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *nearest = tutti_options_nearest(cases[i][0], known, sizeof known / sizeof *known);
        if (!cases[i][1] && nearest) fail_msg("%s is called near to %s", nearest, cases[i][0]);
        if (cases[i][1] && (!nearest || strcmp(nearest, cases[i][1]) != 0))
            fail_msg("%s is not found near %s", cases[i][1], cases[i][0]);
    }
}

static void a_field_knows_its_default_however_it_is_written(void **state)
{
    (void)state;
    tutti_arena arena = {0};
    sample s = {0};
    tutti_failure err = {0};
    assert_int_equal(read_text("model: m\nbatch: 032\noptimiser: {lr: 1e-1, rule: momentum, milestones: []}\n"
                               "exchange: {bytes: 1048576}\nshuffle: false\ninit: {skip: [fc]}\n",
                               NULL, &arena, &s, &err),
                     TUTTI_OK);
    static const bool want[] = {false, true, false, false, true, true, true, true, false, true};
    for (int i = 0; i < table.nfields; i++)
        if (tutti_options_is_initial(&fields[i], &s) != want[i]) fail_msg("%s", fields[i].key);
    tutti_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_printed_struct_reads_back_the_same),
        cmocka_unit_test(lists_and_maps_of_names_are_read_and_printed),
        cmocka_unit_test(a_group_with_one_value_is_where_it_is_from),
        cmocka_unit_test(refusals_name_file_line_and_remedy),
        cmocka_unit_test(only_what_is_really_near_is_called_near),
        cmocka_unit_test(a_field_knows_its_default_however_it_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
