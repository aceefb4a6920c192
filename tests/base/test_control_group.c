/* SPDX-License-Identifier: Apache-2.0 */
/* test_control_group.c: limits of every control group around a process count, of both versions: machines are folders
 * here. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/host/control_group.h"
#include "base/host/cores.h"
#include "base/host/memory.h"

typedef struct {
    char root[64];
} machine;

static void put(const machine *m, const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", m->root, path);
    char *folder = tutti_file_folder(whole);
    assert_int_equal(tutti_file_make_dir(folder, NULL), TUTTI_OK);
    free(folder);
    assert_int_equal(tutti_file_write_atomic(whole, text, strlen(text), NULL), TUTTI_OK);
}

static machine machine_of(const char *groups)
{
    machine m = {"/tmp/tutti-groups-XXXXXX"};
    assert_non_null(mkdtemp(m.root));
    if (groups) put(&m, "proc/self/cgroup", groups);
    return m;
}

static void end(const machine *m)
{
    assert_int_equal(tutti_file_remove_tree(m->root, NULL), TUTTI_OK);
}

static void a_nested_groups_memory_counts(void **state)
{
    (void)state;
    const machine m = machine_of("0::/user.slice/run.scope\n");
    put(&m, "sys/fs/cgroup/user.slice/memory.max", "3000000\n");
    put(&m, "sys/fs/cgroup/user.slice/memory.current", "1000000\n");
    put(&m, "sys/fs/cgroup/user.slice/memory.stat", "anon 5\ninactive_file 250000\n");
    put(&m, "sys/fs/cgroup/user.slice/run.scope/memory.max", "max\n");
    put(&m, "sys/fs/cgroup/user.slice/run.scope/memory.current", "900000\n");
    assert_true(tutti_memory_left_of_groups(m.root) == 2250000);
    put(&m, "sys/fs/cgroup/user.slice/run.scope/memory.max", "1000000\n");
    assert_true(tutti_memory_left_of_groups(m.root) == 100000);
    put(&m, "sys/fs/cgroup/memory.max", "10\n"); /* the namespace of a container has its own group for a root */
    put(&m, "sys/fs/cgroup/memory.current", "20\n");
    assert_true(tutti_memory_left_of_groups(m.root) == 0);
    end(&m);
}

static void test_f09_kills_for_want_of_memory_are_counted(void **state)
{
    (void)state;
    const machine two = machine_of("0::/run.scope\n"), one = machine_of("4:memory:/run\n0::/\n");
    assert_int_equal(tutti_memory_kills(two.root), 0);
    put(&two, "sys/fs/cgroup/run.scope/memory.events", "low 0\noom 9\noom_kill 2\noom_group_kill 7\n");
    assert_int_equal(tutti_memory_kills(two.root), 2);
    put(&one, "sys/fs/cgroup/memory/run/memory.oom_control", "oom_kill_disable 5\nunder_oom 0\noom_kill 3\n");
    assert_int_equal(tutti_memory_kills(one.root), 3);
    end(&two), end(&one);
}

static void version_1_has_files_of_its_own(void **state)
{
    (void)state;
    const machine m = machine_of("5:cpu,cpuacct:/batch\n4:memory:/batch/job7\n0::/\n");
    put(&m, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(&m, "sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
    put(&m, "sys/fs/cgroup/memory/memory.stat", "total_inactive_file 100\n");
    assert_true(tutti_memory_left_of_groups(m.root) > INT64_C(1) << 60);
    put(&m, "sys/fs/cgroup/memory/batch/job7/memory.limit_in_bytes", "4000000\n");
    put(&m, "sys/fs/cgroup/memory/batch/job7/memory.usage_in_bytes", "1000000\n");
    put(&m, "sys/fs/cgroup/memory/batch/job7/memory.stat", "inactive_file 7\ntotal_inactive_file 500000\n");
    assert_true(tutti_memory_left_of_groups(m.root) == 3500000);
    put(&m, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put(&m, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_true(tutti_cores_quota_under(m.root).cores == 0);
    put(&m, "sys/fs/cgroup/cpu/batch/cpu.cfs_quota_us", "150000\n");
    put(&m, "sys/fs/cgroup/cpu/batch/cpu.cfs_period_us", "100000\n");
    assert_true(tutti_cores_quota_under(m.root).cores == 1.5);
    end(&m);
}

static void the_tightest_quota_of_time_holds(void **state)
{
    (void)state;
    const machine m = machine_of("0::/a/b\n");
    put(&m, "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_true(tutti_cores_quota_under(m.root).cores == 0);
    put(&m, "sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    put(&m, "sys/fs/cgroup/cpu.max", "300000 100000\n");
    const tutti_core_quota q = tutti_cores_quota_under(m.root);
    assert_true(q.cores == 0.5 && q.group != 0);
    end(&m);
}

static void what_is_missing_or_strange_limits_nothing(void **state)
{
    (void)state;
    static const char *const lines[] = {NULL,
                                        "",
                                        "\n",
                                        "0\n",
                                        "0::\n",
                                        "0::/../..\n",
                                        "4:memory\n",
                                        "::::\n",
                                        "0::/gone (deleted)\n",
                                        "4:memory,:/x\n3:,,:/y\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const machine m = machine_of(lines[i]);
        assert_true(tutti_memory_left_of_groups(m.root) == INT64_MAX);
        assert_true(tutti_cores_quota_under(m.root).cores == 0);
        put(&m, "sys/fs/cgroup/memory.max", "seven\n");
        put(&m, "sys/fs/cgroup/memory.current", "5\n");
        put(&m, "sys/fs/cgroup/cpu.max", "nan -1\n");
        assert_true(tutti_memory_left_of_groups(m.root) == INT64_MAX);
        assert_true(tutti_cores_quota_under(m.root).cores == 0);
        end(&m);
    }
}

static void a_path_that_is_too_long_leaves_the_root(void **state)
{
    (void)state;
    char line[3 * TUTTI_CONTROL_PATH] = "0::";
    memset(line + 3, '/', sizeof line - 4);
    line[sizeof line - 1] = '\0';
    const machine m = machine_of(line);
    put(&m, "sys/fs/cgroup/memory.max", "70\n");
    put(&m, "sys/fs/cgroup/memory.current", "20\n");
    assert_true(tutti_memory_left_of_groups(m.root) == 50);
    end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nested_groups_memory_counts),
        cmocka_unit_test(test_f09_kills_for_want_of_memory_are_counted),
        cmocka_unit_test(version_1_has_files_of_its_own),
        cmocka_unit_test(the_tightest_quota_of_time_holds),
        cmocka_unit_test(what_is_missing_or_strange_limits_nothing),
        cmocka_unit_test(a_path_that_is_too_long_leaves_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
