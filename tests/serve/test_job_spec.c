/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_spec.c: submissions read back as they were printed, and wrong ones are refused with the key's name; which
 * file systems a server's folder may lie on. */
#include "testing.h"

#include <string.h>

#include "serve/home.h"
#include "serve/job_spec.h"

static void check_same(const char *text, const char *printed)
{
    tutti_arena arena = {0};
    tutti_job_spec spec;
    tutti_failure err = {0};
    tutti_strbuf out = {0};
    for (int i = 0; i < 2; i++) { /* what was printed is printed again */
        const char *from = i ? printed : text;
        out.length = 0;
        if (tutti_job_spec_read(from, strlen(from), &arena, &spec, &err)) fail_msg("%s", err.text);
        tutti_job_spec_print(&spec, &out);
        assert_string_equal(out.text, printed);
    }
    tutti_strbuf_release(&out);
    tutti_arena_release(&arena);
}

static void submissions_read_back(void **state)
{
    (void)state;
    check_same("{\"kind\":\"train\",\"job\":\"a: \\\"b\\\"\\n\",\"argv\":null}",
               "{\"name\":\"job\",\"kind\":\"train\",\"job\":\"a: \\\"b\\\"\\u000a\",\"ranks\":{\"min\":1,\"max\":1},"
               "\"threads\":1,\"priority\":0,\"max_restarts\":0}");
    check_same("{\"kind\":\"train\",\"job\":\"a\",\"model\":\"b\"}",
               "{\"name\":\"job\",\"kind\":\"train\",\"job\":\"a\",\"model\":\"b\",\"ranks\":{\"min\":1,\"max\":1},"
               "\"threads\":1,\"priority\":0,\"max_restarts\":0}");
    check_same("{\"threads\":2,\"priority\":-3,\"ranks\":{\"min\":2},\"name\":\"\u00e4\",\"folder\":\"/"
               "tmp\",\"argv\":[\"a\",\"\"],"
               "\"kind\":\"command\",\"max_restarts\":null}",
               "{\"name\":\"\u00e4\",\"kind\":\"command\",\"argv\":[\"a\",\"\"],\"folder\":\"/"
               "tmp\",\"ranks\":{\"min\":2,\"max\":2},"
               "\"threads\":2,\"priority\":-3,\"max_restarts\":0}");
}

static void wrong_submissions_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "no valid JSON"},
        {"{} x", "no valid JSON"},
        {"[]", "no JSON object"},
        {"{}", "kind:"},
        {"{\"kind\":1}", "kind: a text"},
        {"{\"kind\":\"train\"}", "job:"},
        {"{\"kind\":\"train\",\"job\":\"\"}", "job:"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"folder\":\"/\"}", "folder: not for"},
        {"{\"kind\":\"command\",\"argv\":[\"a\"],\"folder\":\"/\",\"job\":\"a\"}", "job: not for"},
        {"{\"kind\":\"command\",\"argv\":[\"a\"],\"folder\":\"/\",\"model\":\"a\"}", "model: not for"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"model\":1}", "model: a text"},
        {"{\"kind\":\"command\",\"argv\":[\"\"],\"folder\":\"/\"}", "argv:"},
        {"{\"kind\":\"command\",\"argv\":\"a\",\"folder\":\"/\"}", "argv:"},
        {"{\"kind\":\"command\",\"argv\":[\"a\"]}", "folder:"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"name\":\"\"}", "name:"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"name\":\"a\\tb\"}", "name:"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"nmae\":\"b\"}", "nmae: unknown"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"ranks\":2}", "ranks:"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"ranks\":{\"min\":0}}", "ranks: min:"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"ranks\":{\"min\":3,\"max\":2}}", "ranks: max"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"threads\":1e99}", "threads:"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"priority\":0.5}", "priority:"},
        {"{\"kind\":\"train\",\"job\":\"a\",\"max_restarts\":-1}", "max_restarts:"},
    };
    tutti_arena arena = {0};
    tutti_job_spec spec;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_failure err = {0};
        assert_int_equal(tutti_job_spec_read(cases[i][0], strlen(cases[i][0]), &arena, &spec, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, cases[i][1])) fail_msg("%s: %s", cases[i][0], err.text);
    }
    tutti_arena_release(&arena);
}

static void network_file_systems_are_known(void **state)
{
    (void)state;
    assert_true(tutti_serve_home_is_remote(0x6969, "nfs4"));
    assert_true(tutti_serve_home_is_remote(0x0bd00bd0, "lustre"));
    assert_true(tutti_serve_home_is_remote((long)0xff534d42, "cifs"));
    assert_true(tutti_serve_home_is_remote((int)0xfe534d42, "smb3")); /* as a negative number */
    assert_true(tutti_serve_home_is_remote(0x65735546, "fuse.sshfs"));
    assert_true(tutti_serve_home_is_remote(0x65735546, ""));
    assert_false(tutti_serve_home_is_remote(0x65735546, "fuse.fuse-overlayfs"));
    assert_false(tutti_serve_home_is_remote(0xef53, "ext4"));
    assert_false(tutti_serve_home_is_remote(0x01021994, "tmpfs"));
    assert_false(tutti_serve_home_is_remote(0x794c7630, "overlay"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submissions_read_back),
        cmocka_unit_test(wrong_submissions_are_refused),
        cmocka_unit_test(network_file_systems_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
