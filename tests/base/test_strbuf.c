/* SPDX-License-Identifier: Apache-2.0 */
/* test_strbuf.c: failure texts and growing text. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/strbuf.h"
#include "tutti/failure.h"

static void text_grows_across_its_first_allocation(void **state)
{
    (void)state;
    tutti_strbuf sb = {0};
    for (int i = 0; i < 1000; i++) tutti_strbuf_printf(&sb, "%d,", i % 10);
    assert_int_equal(sb.length, 2000);
    char *text = tutti_strbuf_detach(&sb);
    assert_int_equal(strlen(text), 2000);
    assert_memory_equal(text + 1998, "9,", 2);
    free(text);
}

static void a_failure_names_where_before_what(void **state)
{
    (void)state;
    tutti_failure err = {0};
    assert_int_equal(tutti_fail(&err, TUTTI_ERR_USAGE, "batch %d", 7), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_fail_at(&err, "job.yaml: line %d", 4), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "job.yaml: line 4: batch 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_across_its_first_allocation),
        cmocka_unit_test(a_failure_names_where_before_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
