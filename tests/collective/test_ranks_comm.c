/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_comm.c: communicators of processes, on one host and on several (take_host): by whose figures algorithms are chosen. */
#include "testing.h"

#include "rank_processes.h"
#include "tutti/comm.h"

/* --- as a rank --- */

/* Words: the bound of a call in memory that all map. */
static tutti_status explain(tutti_comm *comm, char *words, size_t size, tutti_failure *err)
{
    float *memory;
    tutti_status s = tutti_comm_alloc(comm, 2 << 20, (void **)&memory, err);
    if (s) return s;
    const tutti_call call = {.in = memory, .out = memory + (1 << 18), .count = 1 << 18};
    char *text = tutti_comm_explain(comm, &call), *bound = strstr(text, "bound: ");
    snprintf(words, size, "%.40s", bound ? bound : text);
    words[strcspn(words, "\n")] = '\0';
    free(text);
    return TUTTI_OK;
}

static int run_as_rank(const char *mode)
{
    tutti_failure err = {0};
    tutti_comm *comm = NULL;
    char words[64] = "fine";
    take_host();
    tutti_status s = tutti_comm_create_from_env(&comm, &err);
    if (!s && !strcmp(mode, "explain")) s = explain(comm, words, sizeof words, &err);
    say(s ? err.text : words);
    tutti_comm_destroy(comm);
    return s;
}

/* --- as the test --- */

static void what_a_call_would_take_is_by_the_figures_of_what_joins_the_ranks(void **state)
{
    (void)state;
    skip_without_ucx();
    outcome near, far;
    run_on_hosts("test_ranks_comm", "explain", "aa", &near);
    run_on_hosts("test_ranks_comm", "explain", "ab", &far);
    expect_words(&near, 0, "bound: ");
    expect_words(&far, 0, "bound: ");
    assert_string_not_equal(near.heard[0], far.heard[0]);
}

int main(int argc, char **argv)
{
    if (is_rank(argc)) return run_as_rank(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_call_would_take_is_by_the_figures_of_what_joins_the_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
