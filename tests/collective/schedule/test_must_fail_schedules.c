/* SPDX-License-Identifier: Apache-2.0 */
/* test_must_fail_schedules.c: schedule files with one mistake each (tests/must_fail/sched_*.sched). The checker must
 * refuse each with the words that its second line promises, and the interpreter must see it go wrong. */
#include "testing.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "collective/interpret/interpret.h"
#include "tutti/check.h"

static tutti_schedule *read_schedule(const char *path, char promised[200])
{
    tutti_failure err = {0};
    tutti_schedule *s = NULL;
    char *text;
    size_t n;
    if (tutti_file_read(path, 1 << 20, TUTTI_ERR_USAGE, &text, &n, &err) != TUTTI_OK) fail_msg("%s", err.text);
    const char *line = strstr(text, "# must fail: ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "# must fail: %199[^\n]", promised), 1);
    if (tutti_schedule_parse(path, text, n, &s, &err) != TUTTI_OK) fail_msg("%s", err.text);
    free(text);
    return s;
}

static void every_file_is_refused_with_the_promised_words_and_goes_wrong(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(TUTTI_SOURCE_DIR "/tests/must_fail/sched_*.sched", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 22);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char promised[200];
        tutti_failure err = {0};
        tutti_verdict v;
        tutti_schedule *s = read_schedule(files.gl_pathv[i], promised);
        assert_int_equal(tutti_schedule_check(s, NULL, &err), TUTTI_ERR_FAILED);
        if (!strstr(err.text, promised)) fail_msg("%s: expected '%s' in: %s", files.gl_pathv[i], promised, err.text);
        tutti_schedule_interpret(s, 2 * tutti_schedule_head(s)->nranks + 1, 1, 2000, &v);
        if (!v.wrong) fail_msg("%s: never went wrong", files.gl_pathv[i]);
        tutti_schedule_destroy(s);
    }
    globfree(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_refused_with_the_promised_words_and_goes_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
