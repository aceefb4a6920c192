/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_methods_command.c: `tutti methods` says of every row all that it holds, with the keys of a job that it takes and their
 * defaults; `tutti train` says the coordinates of the method that it runs. */
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
        for (int k = 0; k < TUTTI_METHOD_MAX_KEYS && m->keys[k]; k++) expect(command, 0, m->keys[k]);
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
        for (int k = 0; k < TUTTI_METHOD_MAX_KEYS && m->keys[k]; k++)
            assert_non_null(cJSON_GetObjectItem(cJSON_GetObjectItem(row, "keys"), m->keys[k]));
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
    expect("methods sync-sgd local-sgd", 2, "wants one name or none");
}

static void train_says_the_coordinates_at_the_start(void **state)
{
    (void)state;
    check("train examples/mlp.yaml --ranks-as-threads --out $/run --set epochs=0 --set steps=1 "
          "--set data.train_samples=64 --set data.test_samples=32",
          0, "method sync-sgd: data parallelism, centralised, synchronous, every step; lock: none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_names_every_method),
        cmocka_unit_test(a_page_has_rules_source_and_keys_with_their_defaults),
        cmocka_unit_test(json_holds_the_same),
        cmocka_unit_test(an_unknown_name_is_answered_with_the_nearest),
        cmocka_unit_test(train_says_the_coordinates_at_the_start),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_drop);
}
