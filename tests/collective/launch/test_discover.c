/* SPDX-License-Identifier: Apache-2.0 */
/* test_discover.c: who started this rank, by the environment alone. Real launchers: tests/launch/launchers.sh. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective/launch/address.h"
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

/* In a shell that a launcher has started, or a pod that says it is rank 0 of 1: what helps is to forget these. */
static void the_advice_names_what_to_unset_and_helps(void **state)
{
    (void)state;
    char unset[TUTTI_LAUNCHER_UNSET];
    static const char *const cases[][6] = {
        {"unset PMI_RANK", "PMI_RANK", "0", "PMI_SIZE", "4"},
        {"unset RANK WORLD_SIZE PMI_RANK", "RANK", "0", "PMI_RANK", "1"},
        {"unset SLURM_STEP_ID", "SLURM_STEP_ID", "3", "SLURM_PROCID", "0"},
        {"unset PMIX_NAMESPACE PMIX_RANK SLURM_STEP_ID", "PMIX_NAMESPACE", "n", "PMIX_RANK", "0"}};
    tutti_launcher_unset(unset);
    assert_string_equal(unset, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forget(state);
        for (int k = 1; k < 5; k += 2) setenv(cases[i][k], cases[i][k + 1], 1);
        if (strstr(cases[i][0], "WORLD_SIZE")) setenv("WORLD_SIZE", "1", 1), setenv("PMI_SIZE", "2", 1);
        if (strstr(cases[i][0], "SLURM"))
            setenv("SLURM_STEP_ID", "3", 1), setenv("SLURM_PROCID", "0", 1), setenv("SLURM_STEP_NUM_TASKS", "4", 1);
        tutti_launcher_unset(unset);
        assert_string_equal(unset, cases[i][0]);
        if (i == 0 || i == 2) refused(TUTTI_ERR_RENDEZVOUS, cases[i][0]);
        for (char *rest = unset + 5, *name; (name = strsep(&rest, " "));) unsetenv(*name ? name : "A");
        assert_null(found().launcher);
    }
}

static void read_as(const char *text, const char *host, int port, bool is_number)
{
    tutti_address a;
    tutti_failure err = {0};
    if (tutti_address_read(text, &a, &err)) fail_msg("%s", err.text);
    assert_string_equal(a.host, host);
    assert_true(a.port == port && a.is_number == is_number);
}

static void not_read(const char *text, const char *words)
{
    tutti_address a;
    tutti_failure err = {0};
    assert_int_equal(tutti_address_read(text, &a, &err), TUTTI_ERR_USAGE);
    if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
}

static void addresses_are_read_as_clusters_write_them(void **state)
{
    (void)state;
    read_as("10.1.2.3", "10.1.2.3", 0, true);
    read_as("10.1.2.3:4000", "10.1.2.3", 4000, true);
    read_as("node-7.cluster.local", "node-7.cluster.local", 0, false);
    read_as("node-7:29500", "node-7", 29500, false);
    read_as("fd00::7", "fd00::7", 0, true);
    read_as("[fd00::7]", "fd00::7", 0, true);
    read_as("[fd00::7]:65535", "fd00::7", 65535, true);
    read_as("[::ffff:10.0.0.1]:1", "::ffff:10.0.0.1", 1, true);
    read_as("fe80::1%lo", "fe80::1%lo", 0, true);
    read_as("[fe80::1%lo]:29500", "fe80::1%lo", 29500, true);
    read_as("[node-7]:29500", "node-7", 29500, false);
    not_read("tcp://node-7:29500", "is a URL");
    not_read("[fd00::7", "open bracket");
    not_read("[fd00::7]x", "open bracket, or something behind it");
    not_read("", "is empty");
    not_read(":29500", "is empty");
    not_read("node-7:0", "no port");
    not_read("node-7:65536", "no port");
    not_read("node-7:29500x", "no port");
    not_read("node 7", "is not a name");
    not_read("10.0.0.300", "is not an address of four numbers");
    not_read("fe80::1", "name the interface too, as in fe80::1%eth0");
    not_read("[fe80::1]:29500", "name the interface too");
    not_read("fe80::1%nosuch0", "no interface 'nosuch0'");
    not_read("fd00::7::1", "not an address of IP 6");
}

static void a_port_behind_the_address_is_the_port(void **state)
{
    (void)state;
    setenv("RANK", "0", 1), setenv("WORLD_SIZE", "2", 1);
    setenv("MASTER_ADDR", "[::1]:4242", 1);
    assert_int_equal(found().master_port, 4242);
    setenv("MASTER_PORT", "4242", 1);
    assert_int_equal(found().master_port, 4242);
    setenv("MASTER_PORT", "4243", 1);
    refused(TUTTI_ERR_USAGE, "MASTER_ADDR='[::1]:4242' and MASTER_PORT=4243 are of two ports");
    setenv("MASTER_ADDR", "node7:4243", 1), setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    assert_int_equal(found().master_port, 4244);
}

static bool answers(const char *address, int port)
{
    char out[64];
    return tutti_reach_first(address, port, 0.05, out);
}

static void rank_0_listens_where_its_name_may_lead(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool on_127_1, on_127_2, on_six;
    } cases[] = {{"some-name-of-ours", true, true, true},
                 {"127.0.0.2", false, true, false},
                 {"127.0.0.1", true, false, false},
                 {"[::1]", false, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_address a;
        int fds[TUTTI_ADDRESS_MOST_LISTENERS], port, free_port = tutti_reach_listen(TUTTI_REACH_LOOPBACK, &port);
        close(free_port);
        assert_int_equal(tutti_address_read(cases[i].text, &a, NULL), TUTTI_OK);
        const int n = tutti_address_listen(&a, port, fds);
        if (n < 0 && cases[i].text[0] == '[') continue; /* no IP 6 here */
        assert_true(n == 1);
        assert_true(answers("127.0.0.1", port) == cases[i].on_127_1);
        assert_true(answers("127.0.0.2", port) == cases[i].on_127_2);
        assert_true(answers("::1", port) == cases[i].on_six || !cases[i].on_six ||
                    access("/proc/net/if_inet6", F_OK) != 0);
        for (int k = 0; k < n; k++) close(fds[k]);
    }
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
    int port, fd = tutti_reach_listen(TUTTI_REACH_LOOPBACK, &port);
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
        cmocka_unit_test_setup(the_advice_names_what_to_unset_and_helps, forget),
        cmocka_unit_test_setup(addresses_are_read_as_clusters_write_them, forget),
        cmocka_unit_test_setup(a_port_behind_the_address_is_the_port, forget),
        cmocka_unit_test_setup(rank_0_listens_where_its_name_may_lead, forget),
        cmocka_unit_test_setup(a_pmix_launcher_that_is_gone_is_a_refusal, forget),
        cmocka_unit_test_setup(of_several_addresses_the_one_that_answers_is_taken, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
