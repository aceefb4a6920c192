/* SPDX-License-Identifier: Apache-2.0 */
/* Names with parameters: what is read, what is refused, and that texts are the same for what is the same. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "collective/compile/algorithms.h"
#include "tutti/compile.h"

static const tutti_algorithm sample = {
    .name = "sample",
    .parameters = {{"radix", 2, 2, 64, "ways"}, {"chunks", 8, 1, 1000, "pieces"}},
};

static tutti_status read_sample(const char *text, int32_t param[TUTTI_MAX_PARAMETERS], tutti_failure *err)
{
    memset(param, 0xff, sizeof *param * TUTTI_MAX_PARAMETERS);
    return tutti_algorithm_read(&sample, text, param, err);
}

static void parameters_are_read_in_any_order_and_printed_in_one(void **state)
{
    (void)state;
    static const char *const texts[][2] = {{"sample", "sample,radix=2,chunks=8"},
                                           {"sample,radix=4", "sample,radix=4,chunks=8"},
                                           {"sample,chunks=1000,radix=64", "sample,radix=64,chunks=1000"},
                                           {"sample,radix=004", "sample,radix=4,chunks=8"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int32_t param[TUTTI_MAX_PARAMETERS], again[TUTTI_MAX_PARAMETERS];
        char text[TUTTI_ALGORITHM_TEXT];
        assert_int_equal(read_sample(texts[i][0], param, NULL), TUTTI_OK);
        tutti_algorithm_print(&sample, param, text);
        assert_string_equal(text, texts[i][1]);
        assert_int_equal(read_sample(text, again, NULL), TUTTI_OK);
        assert_memory_equal(param, again, sizeof param);
    }
}

static void wrong_parameters_are_refused_with_what_would_do(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"sample,radxi=4", "did you mean 'radix'"},
        {"sample,something=4", "it has radix, chunks"},
        {"sample,radix=1", "from 2 to 64"},
        {"sample,radix=65", "from 2 to 64"},
        {"sample,radix=-4", "from 2 to 64"},
        {"sample,radix=4x", "'4x'"},
        {"sample,radix=", "from 2 to 64"},
        {"sample,radix", "from 2 to 64"},
        {"sample,radix=99999999999999999999", "from 2 to 64"},
        {"sample,radix=4294967298", "from 2 to 64"},
        {"sample,radix=4,radix=4", "twice"},
        {"sample,", "no parameter ''"},
        {"sample,,radix=4", "no parameter ''"},
        {"sample,radix=4,", "no parameter ''"},
        {"sample,radix =4", "did you mean 'radix'"},
        {"sample,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1",
         "aaa"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t param[TUTTI_MAX_PARAMETERS];
        tutti_failure err = {0};
        assert_int_equal(read_sample(cases[i].text, param, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, cases[i].words)) fail_msg("'%s': %s", cases[i].text, err.text);
    }
}

static void a_row_without_parameters_takes_none(void **state)
{
    (void)state;
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 4};
    tutti_schedule *s = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_schedule_compile("ring,group=2", &q, &s, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "ring has no parameters"));
    assert_int_equal(tutti_schedule_compile("rign,group=2", &q, &s, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "'rign'; did you mean 'ring'"));
    assert_int_equal(tutti_schedule_compile(",group=2", &q, &s, &err), TUTTI_ERR_USAGE);
    assert_null(s);
    assert_int_equal(tutti_schedule_compile("ring", &q, &s, &err), TUTTI_OK);
    assert_string_equal(tutti_schedule_head(s)->algorithm, "ring");
    tutti_schedule_destroy(s);
}

static void every_row_fits_its_text_and_its_own_limits(void **state)
{
    (void)state;
    for (int i = 0; i < tutti_algorithm_count(); i++) {
        const tutti_algorithm *a = tutti_algorithm_at(i);
        int n = tutti_algorithm_nparameters(a);
        char text[TUTTI_ALGORITHM_TEXT];
        int32_t highest[TUTTI_MAX_PARAMETERS] = {0}, param[TUTTI_MAX_PARAMETERS];
        for (int k = 0; k < n; k++) {
            highest[k] = a->parameters[k].highest;
            assert_true(a->parameters[k].lowest <= highest[k] && a->parameters[k].initial <= highest[k]);
            assert_true(a->parameters[k].initial >= a->parameters[k].lowest || a->settle);
            assert_non_null(a->parameters[k].help);
        }
        tutti_algorithm_print(a, highest, text);
        assert_true(strlen(text) < sizeof text - 1);
        assert_ptr_equal(tutti_algorithm_find(text), a);
        assert_int_equal(tutti_algorithm_read(a, text, param, NULL), TUTTI_OK);
        assert_memory_equal(param, highest, sizeof param);
        for (int v = 0; a->variants[v]; v++) {
            snprintf(text, sizeof text, "%s,%s", a->name, a->variants[v]);
            assert_int_equal(tutti_algorithm_read(a, text, param, NULL), TUTTI_OK);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_read_in_any_order_and_printed_in_one),
        cmocka_unit_test(wrong_parameters_are_refused_with_what_would_do),
        cmocka_unit_test(a_row_without_parameters_takes_none),
        cmocka_unit_test(every_row_fits_its_text_and_its_own_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
