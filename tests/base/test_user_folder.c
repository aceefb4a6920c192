/* SPDX-License-Identifier: Apache-2.0 */
/* test_user_folder.c: which folder of a user each state of the environment names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/host/user_folder.h"

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void own_variable_then_xdg_then_home(void **state)
{
    (void)state;
    static const struct {
        const char *own, *xdg, *home, *wanted;
    } cases[] = {
        {"/own", "/xdg", "/home/u", "/own"},
        {NULL, "/xdg", "/home/u", "/xdg/tutti"},
        {"", "/xdg", "/home/u", "/xdg/tutti"},
        {NULL, "beside", "/home/u", "beside/tutti"},
        {NULL, "", "/home/u", "/home/u/.local/state/tutti"},
        {NULL, NULL, "/home/u", "/home/u/.local/state/tutti"},
        {NULL, NULL, "", NULL},
        {NULL, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set("TUTTI_HOME", cases[i].own), set("XDG_STATE_HOME", cases[i].xdg), set("HOME", cases[i].home);
        char *got = tutti_user_state_folder();
        if (cases[i].wanted)
            assert_string_equal(got, cases[i].wanted);
        else
            assert_null(got);
        free(got);
    }
}

static void without_an_own_variable_xdg_counts(void **state)
{
    (void)state;
    set("XDG_CACHE_HOME", "/c"), set("HOME", "/home/u");
    char *got = tutti_user_folder(NULL, "XDG_CACHE_HOME", ".cache");
    assert_string_equal(got, "/c/tutti");
    free(got);
    set("XDG_CACHE_HOME", NULL);
    got = tutti_user_folder(NULL, "XDG_CACHE_HOME", ".cache");
    assert_string_equal(got, "/home/u/.cache/tutti");
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_variable_then_xdg_then_home),
        cmocka_unit_test(without_an_own_variable_xdg_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
