/* SPDX-License-Identifier: Apache-2.0 */
/* test_library.c: libraries that are loaded when they are wanted (base/host/library.h), with one that is always there
 * and one that is not. */
#include "testing.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/library.h"

typedef struct {
    const char *(*version)(void);
    unsigned long (*checksum)(unsigned long, const unsigned char *, unsigned);
} zlib;

static const char *const names[] = {"zlibVersion", "crc32"};

static tutti_library zlib_of(const char *file)
{
    return (tutti_library){.file = file, .variable = "TEST_LIBRARY", .package = "zlib1g", .names = names, .n = 2};
}

static void functions_are_found_in_the_order_of_their_names(void **state)
{
    (void)state;
    zlib z = {0};
    tutti_failure err = {0};
    const tutti_library l = zlib_of("libz.so.1");
    if (tutti_library_load(&l, &z, &err)) fail_msg("%s", err.text);
    assert_int_equal(z.version()[0], '1');
    assert_int_equal(z.checksum(0, (const unsigned char *)"123456789", 9),
                     0xcbf43926); /* of every description of CRC-32 */
}

static void what_is_not_there_is_named_with_its_package_and_its_variable(void **state)
{
    (void)state;
    zlib z = {0};
    tutti_failure err = {0};
    tutti_library l = zlib_of("libnosuch.so.7");
    assert_int_equal(tutti_library_load(&l, &z, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "libnosuch.so.7: cannot open"));
    assert_non_null(strstr(err.text, "install zlib1g, or set TEST_LIBRARY to where libnosuch.so.7 is"));
    setenv("TEST_LIBRARY", "libm.so.6", 1); /* another library than the one that was meant */
    l = zlib_of("libz.so.1");
    assert_int_equal(tutti_library_load(&l, &z, &err), TUTTI_ERR_FAILED);
    assert_string_equal(err.text, "libm.so.6 has no zlibVersion: install another version of zlib1g");
    setenv("TEST_LIBRARY", "libz.so.1", 1);
    l = zlib_of("libnosuch.so.7");
    assert_int_equal(tutti_library_load(&l, &z, &err), TUTTI_OK);
    unsetenv("TEST_LIBRARY");
}

/* libucs takes SIGHUP and the signals of crashes when it is loaded. */
static void signals_stay_as_they_were(void **state)
{
    static const char *const version[] = {"ucp_get_version_string"};
    (void)state;
    const char *(*function)(void) = NULL;
    struct sigaction before[NSIG], after;
    const tutti_library l = {
        .file = "libucp.so.0", .variable = "TEST_LIBRARY", .package = "libucx0", .names = version, .n = 1};
    for (int i = 1; i < NSIG; i++) (void)sigaction(i, NULL, &before[i]);
    if (tutti_library_load(&l, (void *)&function, NULL)) {
        print_message("no UCX here\n");
        skip();
    }
    assert_true(function()[0] >= '1');
    for (int i = 1; i < NSIG; i++)
        if (!sigaction(i, NULL, &after)) assert_true(after.sa_handler == before[i].sa_handler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_found_in_the_order_of_their_names),
        cmocka_unit_test(what_is_not_there_is_named_with_its_package_and_its_variable),
        cmocka_unit_test(signals_stay_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
