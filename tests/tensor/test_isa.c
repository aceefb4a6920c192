/* SPDX-License-Identifier: Apache-2.0 */
/* test_isa.c: which instruction set is picked under each ceiling, and what is no ceiling. The answer is kept, so each
 * is asked for in a process of its own. */
#include "testing.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tensor/isa.h"

static tutti_isa picked_under(const char *ceiling)
{
    const pid_t child = fork();
    if (child == 0) {
        if (ceiling)
            setenv("TUTTI_ISA", ceiling, 1);
        else
            unsetenv("TUTTI_ISA");
        _exit((int)tutti_isa_here());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return (tutti_isa)WEXITSTATUS(status);
}

static tutti_isa best(void)
{
    tutti_isa isa = TUTTI_NISAS - 1;
    while (!tutti_isa_runs(isa)) isa--;
    return isa;
}

static void each_can_what_those_before_can(void **state)
{
    (void)state;
    assert_true(tutti_isa_runs(TUTTI_ISA_GENERIC));
    for (int isa = 1; isa < TUTTI_NISAS; isa++)
        assert_true(!tutti_isa_runs((tutti_isa)isa) || tutti_isa_runs((tutti_isa)(isa - 1)));
}

static void the_best_below_the_ceiling_is_picked(void **state)
{
    (void)state;
    assert_int_equal(picked_under(NULL), best());
    assert_int_equal(picked_under(""), best());
    assert_int_equal(picked_under("avx9"), best());
    for (int isa = 0; isa < TUTTI_NISAS; isa++)
        assert_int_equal(picked_under(tutti_isa_name((tutti_isa)isa)), isa < (int)best() ? isa : (int)best());
}

static void what_is_no_name_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"AVX2", "avx", "avx2,avx512", " generic"};
    tutti_failure err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("TUTTI_ISA", wrong[i], 1);
        assert_int_equal(tutti_isa_check(&err), TUTTI_ERR_USAGE);
    }
    for (int isa = 0; isa < TUTTI_NISAS; isa++) {
        setenv("TUTTI_ISA", tutti_isa_name((tutti_isa)isa), 1);
        assert_int_equal(tutti_isa_check(&err), TUTTI_OK);
    }
    setenv("TUTTI_ISA", "", 1);
    assert_int_equal(tutti_isa_check(&err), TUTTI_OK);
    unsetenv("TUTTI_ISA");
    assert_int_equal(tutti_isa_check(&err), TUTTI_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_can_what_those_before_can),
        cmocka_unit_test(the_best_below_the_ceiling_is_picked),
        cmocka_unit_test(what_is_no_name_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
