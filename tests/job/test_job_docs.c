/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_docs.c: docs/keys.md lists the keys as `tutti train --help` does; the example of docs/jobs.md is a job. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "job/job_fields.h"

static char *read_page(const char *path)
{
    char *text = NULL;
    size_t n = 0;
    tutti_failure err = {0};
    if (tutti_file_read(path, 1 << 20, TUTTI_ERR_FAILED, &text, &n, &err) != TUTTI_OK) fail_msg("%s", err.text);
    return text;
}

/* The text between "```<kind>\n" and the next "```", cut out of `docs`. */
static char *block(char *docs, const char *kind)
{
    char *begin = strstr(docs, kind);
    assert_non_null(begin);
    begin += strlen(kind);
    char *end = strstr(begin, "```");
    assert_non_null(end);
    *end = '\0';
    return begin;
}

static void the_list_of_keys_is_that_of_help(void **state)
{
    (void)state;
    tutti_job_fields space;
    tutti_strbuf help = {0};
    tutti_options_help(tutti_job_fields_list(&space), &help);
    char *docs = read_page(TUTTI_SOURCE_DIR "/docs/keys.md");
    const char *listed = block(docs, "```text\n");
    if (strcmp(listed, help.text) != 0)
        fail_msg("docs/keys.md is old: tools/check_docs.py --program PROGRAM --write makes it anew. Its keys are:\n%s",
                 help.text);
    free(docs);
    tutti_strbuf_release(&help);
}

static void the_example_is_a_job(void **state)
{
    (void)state;
    char *docs = read_page(TUTTI_SOURCE_DIR "/docs/jobs.md");
    const char *example = block(docs, "```yaml\n");
    tutti_job *job = NULL;
    tutti_failure err = {0};
    if (tutti_job_parse("docs/jobs.md", example, strlen(example), NULL, 0, &job, &err) != TUTTI_OK)
        fail_msg("%s", err.text);
    assert_string_equal(job->model, "lenet");
    tutti_job_destroy(job);
    free(docs);
}

static void every_default_is_within_its_own_range(void **state)
{
    (void)state;
    struct tutti_job *target = calloc(1, sizeof *target);
    tutti_job_fields space;
    const tutti_field_table *fields = tutti_job_fields_list(&space);
    const tutti_options_into into = {fields, &target->arena, target};
    for (int i = 0; i < fields->nfields; i++) {
        const tutti_field *f = &fields->fields[i];
        tutti_failure err = {0};
        assert_true(strlen(f->help) > 3);
        if (f->initial && tutti_options_set(&into, "default", f->key, f->initial, &err) != TUTTI_OK)
            fail_msg("%s", err.text);
    }
    tutti_arena_release(&target->arena);
    free(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_of_keys_is_that_of_help),
        cmocka_unit_test(the_example_is_a_job),
        cmocka_unit_test(every_default_is_within_its_own_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
