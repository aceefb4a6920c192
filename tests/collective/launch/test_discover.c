/* SPDX-License-Identifier: Apache-2.0 */
/* test_discover.c: who started this rank, by the environment alone. Real launchers: tests/launch/launchers.sh. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective/launch/discover_impl.h"

static const char *const names[] = {"RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_RANK",
                                    "LOCAL_WORLD_SIZE",
                                    "MASTER_ADDR",
                                    "MASTER_PORT",
                                    "TUTTI_COOKIE",
                                    "PMI_RANK",
                                    "PMI_SIZE",
                                    "PMI_FD",
                                    "SLURM_STEP_ID",
                                    "SLURM_PROCID",
                                    "PMIX_RANK",
                                    "SLURM_NTASKS",
                                    "PMIX_NAMESPACE",
                                    "SLURM_STEP_NUM_TASKS",
                                    "TORCHELASTIC_USE_AGENT_STORE"};

/* Each test begins as somebody whom nobody has started. */
static int forget(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) unsetenv(names[i]);
    return 0;
}

static tutti_group_config found(void)
{
    tutti_group_config c;
    tutti_failure err = {0};
    if (tutti_group_config_from_env(&c, &err)) fail_msg("%s", err.text);
    return c;
}

static void refused(tutti_status status, const char *words)
{
    tutti_group_config c;
    tutti_failure err = {0};
    assert_int_equal(tutti_group_config_from_env(&c, &err), status);
    if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
}

static void a_rank_that_nobody_started_is_alone(void **state)
{
    (void)state;
    const tutti_group_config c = found();
    assert_true(c.rank == 0 && c.nranks == 1 && c.local_nranks == 1 && c.master_fd == -1 && !c.launcher);
}

static void torchruns_variables_are_read_whole_or_refused(void **state)
{
    (void)state;
    setenv("RANK", "1", 1);
    refused(TUTTI_ERR_USAGE, "RANK is set but WORLD_SIZE is not");
    setenv("WORLD_SIZE", "2", 1);
    setenv("MASTER_PORT", "4000", 1);
    tutti_group_config c = found();
    assert_true(c.rank == 1 && c.nranks == 2 && c.local_rank == 1 && c.master_port == 4000 && c.master_fd == -1);
    assert_string_equal(c.launcher, "RANK and WORLD_SIZE");
    assert_int_equal(c.local_nranks, 0); /* nobody has said */
    setenv("LOCAL_WORLD_SIZE", "2", 1);
    assert_int_equal(found().local_nranks, 2);
    setenv("LOCAL_WORLD_SIZE", "1", 1); /* rank 1 is not of one: it is somebody else's */
    assert_int_equal(found().local_nranks, 0);
    setenv("LOCAL_WORLD_SIZE", "two", 1);
    refused(TUTTI_ERR_USAGE, "LOCAL_WORLD_SIZE='two'");
    unsetenv("LOCAL_WORLD_SIZE");
    setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1); /* its agent owns the port */
    c = found();
    assert_int_equal(c.master_port, 4001);
    setenv("RANK", "2", 1);
    refused(TUTTI_ERR_USAGE, "RANK='2'");
    unsetenv("RANK");
    refused(TUTTI_ERR_USAGE, "WORLD_SIZE is set but RANK is not");
}

static void launchers_without_pmix_are_refused_with_the_remedy(void **state)
{
    (void)state;
    setenv("PMI_RANK", "2", 1), setenv("PMI_SIZE", "4", 1), setenv("PMI_FD", "7", 1);
    refused(TUTTI_ERR_RENDEZVOUS, "rank 2 of 4 by a launcher with PMI-1");
    refused(TUTTI_ERR_RENDEZVOUS, "--ranks 4");
    setenv("RANK", "2", 1), setenv("WORLD_SIZE", "4", 1); /* a shell line in between has said where rank 0 is */
    assert_int_equal(found().rank, 2);
    forget(state);
    setenv("PMI_RANK", "0", 1), setenv("PMI_SIZE", "1", 1);
    assert_null(found().launcher);
}

static void a_task_of_a_slurm_step_is_refused_and_the_shell_of_a_batch_job_is_not(void **state)
{
    (void)state;
    setenv("SLURM_PROCID", "0", 1), setenv("SLURM_NTASKS", "4", 1);
    assert_null(found().launcher);
    setenv("SLURM_STEP_ID", "0", 1), setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    refused(TUTTI_ERR_RENDEZVOUS, "rank 0 of 4 by srun without PMIx");
    refused(TUTTI_ERR_RENDEZVOUS, "use srun --mpi=pmix");
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    assert_null(found().launcher);
}

static void a_pmix_launcher_that_is_gone_is_a_refusal(void **state)
{
    (void)state;
    setenv("PMIX_NAMESPACE", "nobody", 1), setenv("PMIX_RANK", "0", 1);
    refused(TUTTI_ERR_RENDEZVOUS, "PMIx");
}

static void of_several_addresses_the_one_that_answers_is_taken(void **state)
{
    (void)state;
    char list[TUTTI_REACH_TEXT], out[64];
    int port, fd = tutti_reach_listen(true, &port);
    assert_true(fd >= 0 && port > 0);
    tutti_reach_own(list);
    assert_true(strlen(list) > 0);
    assert_true(tutti_reach_first("127.0.0.2,127.0.0.1", port, 5, out));
    assert_string_equal(out, "127.0.0.1");
    close(fd);
    assert_false(tutti_reach_first("127.0.0.1,no address", port, 0.1, out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_rank_that_nobody_started_is_alone, forget),
        cmocka_unit_test_setup(torchruns_variables_are_read_whole_or_refused, forget),
        cmocka_unit_test_setup(launchers_without_pmix_are_refused_with_the_remedy, forget),
        cmocka_unit_test_setup(a_task_of_a_slurm_step_is_refused_and_the_shell_of_a_batch_job_is_not, forget),
        cmocka_unit_test_setup(a_pmix_launcher_that_is_gone_is_a_refusal, forget),
        cmocka_unit_test_setup(of_several_addresses_the_one_that_answers_is_taken, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
