/* SPDX-License-Identifier: Apache-2.0 */
/* test_processor.c: which processor a machine says that it has: machines are folders here. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/host/processor.h"

static void put(const char *root, const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    char *folder = tutti_file_folder(whole);
    assert_int_equal(tutti_file_make_dir(folder, NULL), TUTTI_OK);
    free(folder);
    assert_int_equal(tutti_file_write_atomic(whole, text, strlen(text), NULL), TUTTI_OK);
}

static void put_cache(const char *root, int index, const char *level, const char *type, const char *size)
{
    const char *const names[] = {"level", "type", "size"}, *const texts[] = {level, type, size};
    char path[128];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu0/cache/index%d/%s", index, names[i]);
        put(root, path, texts[i]);
    }
}

static void a_processor_is_named_by_all_that_it_says(void **state)
{
    (void)state;
    char root[] = "/tmp/tutti-processor-XXXXXX";
    tutti_processor p;
    assert_non_null(mkdtemp(root));
    put(root, "proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: A  Name\t(R)\n"
        "stepping\t: 8\nflags\t\t: fpu vme\n\nprocessor\t: 1\nmodel name\t: another\n");
    put_cache(root, 0, "1\n", "Data\n", "48K\n");
    put_cache(root, 1, "1\n", "Instruction\n", "32K\n");
    put_cache(root, 2, "2\n", "Unified\n", "2048K\n");
    put_cache(root, 3, "3\n", "Unified\n", "105M\n");
    tutti_processor_read(root, &p);
    assert_string_equal(p.name, "GenuineIntel 6.143.8 A Name (R)");
    assert_int_equal(p.cache[0], 48 << 10);
    assert_int_equal(p.cache[1], 2048 << 10);
    assert_int_equal(p.cache[2], 105 << 20);
    put(root, "proc/cpuinfo",
        "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd40\n"
        "CPU revision\t: 1\n");
    tutti_processor_read(root, &p);
    assert_string_equal(p.name, "ARM 0x41 8 0xd40 1");
    assert_int_equal(tutti_file_remove_tree(root, NULL), TUTTI_OK);
}

static void what_says_nothing_is_unknown(void **state)
{
    (void)state;
    tutti_processor p;
    tutti_processor_read("/nowhere", &p);
    assert_string_equal(p.name, "unknown");
    for (int i = 0; i < TUTTI_PROCESSOR_LEVELS; i++) assert_int_equal(p.cache[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_processor_is_named_by_all_that_it_says),
        cmocka_unit_test(what_says_nothing_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
