/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_methods_command.c: `tutti methods` says of every row all that it holds, with the keys of a job that it
 * takes and their defaults; `tutti train` says what the plan that it runs does. */
#include "testing.h"

#include <cjson/cJSON.h>

#include "command_folder.h"
#include "training/method/method.h"

static void the_table_names_every_method(void **state)
{
    (void)state;
    int code;
    char *text = command_run("methods", &code);
    assert_int_equal(code, 0);
    for (int i = 0; tutti_method_at(i); i++) {
        if (!strstr(text, tutti_method_at(i)->name)) fail_msg("no %s in\n%s", tutti_method_at(i)->name, text);
        if (!strstr(text, tutti_method_at(i)->help)) fail_msg("no help of %s", tutti_method_at(i)->name);
    }
    free(text);
}

static void a_page_has_rules_source_and_keys_with_their_defaults(void **state)
{
    (void)state;
    char command[64];
    for (int i = 0; tutti_method_at(i); i++) {
        const tutti_method_row *m = tutti_method_at(i);
        snprintf(command, sizeof command, "methods %s", m->name);
        expect(command, 0, m->local_rule);
        expect(command, 0, m->centre_rule);
        expect(command, 0, m->source);
        expect(command, 0, m->paper_rules);
        for (int k = 0; tutti_method_key_name(m, k); k++) expect(command, 0, tutti_method_key_name(m, k));
    }
    expect("methods local-sgd", 0, "method.period          1 ");
}

static void json_holds_the_same(void **state)
{
    (void)state;
    int code;
    char *text = command_run("methods --json", &code);
    cJSON *all = cJSON_Parse(text);
    assert_int_equal(code, 0);
    int n = 0;
    for (; tutti_method_at(n); n++) {
        const cJSON *row = cJSON_GetArrayItem(all, n);
        const tutti_method_row *m = tutti_method_at(n);
        assert_string_equal(cJSON_GetObjectItem(row, "name")->valuestring, m->name);
        assert_string_equal(cJSON_GetObjectItem(row, "centre_rule")->valuestring, m->centre_rule);
        assert_string_equal(cJSON_GetObjectItem(row, "lock")->valuestring, m->lock);
        for (int k = 0; tutti_method_key_name(m, k); k++)
            assert_non_null(cJSON_GetObjectItem(cJSON_GetObjectItem(row, "keys"), tutti_method_key_name(m, k)));
    }
    assert_int_equal(cJSON_GetArraySize(all), n);
    cJSON_Delete(all);
    free(text);
    expect("methods local-sgd --json", 0, "\"name\":\"local-sgd\"");
}

static void an_unknown_name_is_answered_with_the_nearest(void **state)
{
    (void)state;
    expect("methods local-sdg", 2, "did you mean 'local-sgd'?");
    expect("methods nothing-like-it", 2, "'tutti methods' lists them");
    expect("methods sync-sgd local-sgd", 2, "one name or none is wanted");
}

#define SHORT "--set epochs=0 --set steps=1 --set data.train_samples=64 --set data.test_samples=32 "

/* What follows from the keys, and from no text of a row. */
static const char *const said[][2] = {
    {"", "sync-sgd, 4 ranks: sharded all-reduce by direct, f32"},
    {"--set exchange.update=replicated --set exchange.algorithm=hierarchical,group=2",
     "sync-sgd, 4 ranks: replicated all-reduce by hierarchical,group=2, f32"},
    {"--set exchange.update=replicated --set exchange.algorithm=hybrid,group=2 --set exchange.hybrid_bytes=100000 "
     "--set exchange.bucket_bytes=0",
     "sync-sgd, 4 ranks: replicated all-reduce by hierarchical,group=2/ring, f32"},
    {"--set exchange.precision=bf16", "sync-sgd, 4 ranks: sharded all-reduce by direct, bf16/f32"},
    {"--set exchange.precision=f16 --set exchange.update=replicated",
     "sync-sgd, 4 ranks: replicated all-reduce by direct, f16"},
    {"--set exchange.precision=bf16 --set exchange.rounding=each --set exchange.algorithm=ring",
     "sync-sgd, 4 ranks: sharded all-reduce by ring, bf16/f32 per hop"},
    {"--set parallel.layers=[fc1] --set parallel.groups=2",
     "sync-sgd, 4 ranks: hybrid, sharded all-reduce by direct, f32"},
    {"--ranks 2 --set parallel.layers=[fc1,fc2] --set parallel.groups=1",
     "sync-sgd, 2 ranks: model, activations travel"},
    {"--set method.name=local-sgd --set method.period=5", "local-sgd, 4 ranks: weights every 5 steps by direct, f32"},
    {"--set method.name=easgd", "easgd, 4 ranks: visits in rank order, f32"},
    {"--set method.name=async-sgd", "async-sgd, 4 ranks: visits by arrival, f32, plain SGD"},
};
enum { NSAID = sizeof said / sizeof *said };

static void the_line_is_of_the_plan_and_of_ten_words_at_most(void **state)
{
    (void)state;
    for (int i = 0; i < NSAID; i++) {
        char command[400], line[200];
        int nwords = 1;
        snprintf(command, sizeof command, "train examples/mlp.yaml --set ranks=4 --set batch=64 --dry-run %s",
                 said[i][0]);
        snprintf(line, sizeof line, "\n# %s\n", said[i][1]);
        expect(command, 0, line);
        for (const char *at = said[i][1]; *at; at++) nwords += *at == ' ';
        assert_in_range(nwords, 3, 10);
    }
    expect("plan examples/mlp.yaml --ranks 3 --set batch=63", 0,
           "sync-sgd, 3 ranks: sharded all-reduce by direct, f32\n\n");
}

static void train_says_and_keeps_what_its_plan_does(void **state)
{
    (void)state;
    check("train examples/mlp.yaml --ranks-as-threads --ranks 1 --out $/run " SHORT, 0,
          "sync-sgd, 1 rank: nothing travels\n");
    check("train examples/mlp.yaml --ranks-as-threads --ranks 2 --out $/two --set parallel.layers=[fc1] " SHORT, 0,
          "sync-sgd, 2 ranks: hybrid, sharded");
    char *lines = get("two/metrics.jsonl");
    assert_non_null(strstr(lines, "{\"ev\":\"plan\",\"step\":0,\"method\":\"sync-sgd\",\"parallelism\":\"hybrid\","
                                  "\"words\":\"sync-sgd, 2 ranks: hybrid, sharded"));
    free(lines);
}

/* A folder of another job, a file that is not a folder, weights that are not there. */
static void nothing_is_said_of_a_run_that_is_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {"--out $/one --set batch=32", "--out $/job.yaml",
                                          "--out $/none --set init.from=$/absent.safetensors"};
    put("job.yaml", "model: mlp\n");
    check("train examples/mlp.yaml --out $/one --quiet " SHORT, 0, "weights ");
    for (int i = 0; i < 3; i++) {
        char command[400];
        int code;
        snprintf(command, sizeof command, "train examples/mlp.yaml " SHORT "%s", refused[i]);
        char *line = in_folder(command), *text = command_run(line, &code);
        if (!code || strstr(text, "sync-sgd,")) fail_msg("%s: %d\n%s", command, code, text);
        free(line);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_names_every_method),
        cmocka_unit_test(a_page_has_rules_source_and_keys_with_their_defaults),
        cmocka_unit_test(json_holds_the_same),
        cmocka_unit_test(an_unknown_name_is_answered_with_the_nearest),
        cmocka_unit_test(the_line_is_of_the_plan_and_of_ten_words_at_most),
        cmocka_unit_test(train_says_and_keeps_what_its_plan_does),
        cmocka_unit_test(nothing_is_said_of_a_run_that_is_refused),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_drop);
}
