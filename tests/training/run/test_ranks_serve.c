/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_serve.c: workers that visit a centre on another host, as processes: the same bits on one host, two and
 * three, over each wire; who is named when rank 0 dies or a worker stops; a signal at a worker of another host. Workers
 * that die: test_ranks_lost_hosts.c. */
#include "testing.h"

#include "collective/wire/wire.h"
#include "training/run/by_hand.h"

enum { NRANKS = 3 };

static const char job[] =
    "model: mlp\ndata: {set: digits, train_samples: 96, test_samples: 30}\nbatch: 12\n"
    "kernels: reference\noptimiser: {rule: momentum, lr: 0.01}\neval_every_epochs: 0\nlog_every: 1\n"
    "checkpoint: {every_steps: 10}\nexchange: {deadline_s: 4}\n";

static void start_all(const run_folder *f, const char *hosts, const char *wire, const char *method, const char *steps,
                      spawned_run ranks[])
{
    char name[64], count[32];
    snprintf(name, sizeof name, "method.name=%s", method);
    snprintf(count, sizeof count, "steps=%s", steps);
    by_hand_start(f, &(by_hand){.job = job, .nranks = NRANKS, .wire = wire, .hosts = hosts, .set = {name, count}},
                  ranks);
}

static void hosts_and_wires_change_no_bit(void **state)
{
    const run_folder *f = *state;
    static const char *const layouts[] = {"aaa", "aab", "aba", "abb", "abc"}, *const wires[] = {"tcp", "ucx"};
    char want[17] = "", have[17];
    for (int w = 0; w < 2; w++) {
        const tutti_wire_row *row = tutti_wire_find(wires[w], NULL);
        for (int i = w ? 3 : 0; i < 5 && row && !row->absent; i++) {
            spawned_run ranks[SPAWNED_MAX_RANKS];
            start_all(f, layouts[i], i ? wires[w] : NULL, "easgd", "12", ranks);
            for (int r = 0; r < NRANKS; r++) {
                const int rc = run_wait(&ranks[r]);
                if (rc) fail_msg("%s over %s, rank %d: exit %d: %s", layouts[i], wires[w], r, rc, run_log(&ranks[r]));
            }
            run_hash(&ranks[0], have);
            if (!*want) strcpy(want, have);
            if (strcmp(want, have)) fail_msg("%s over %s: %s, not %s", layouts[i], wires[w], have, want);
        }
    }
}

/* Its memory is where the centre is. */
static void the_death_of_rank_0_ends_all_and_what_it_saved_is_there(void **state)
{
    const run_folder *f = *state;
    static const char *const methods[] = {"async-msgd", "easgd", "hogwild-easgd"}, *const layouts[] = {"aab", "abc",
                                                                                                       "abb"};
    char out[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    for (int i = 0; i < 3; i++) {
        spawned_run ranks[SPAWNED_MAX_RANKS];
        start_all(f, layouts[i], "tcp", methods[i], "1000000", ranks);
        assert_true(run_until_step(&ranks[0], out, 20));
        run_until_checkpoint(out);
        kill(ranks[0].pid, SIGKILL);
        assert_int_equal(run_wait(&ranks[0]), 128 + SIGKILL);
        for (int r = 1; r < NRANKS; r++) {
            const int rc = run_wait(&ranks[r]);
            char *log = run_log(&ranks[r]);
            if (rc != TUTTI_ERR_PEER) fail_msg("%s: rank %d: exit %d: %s", methods[i], r, rc, log);
            by_hand_expect(log, "rank 0 ");
            by_hand_expect(log, "died: its socket closed without a goodbye");
            free(log);
        }
        run_expect_checkpoint(f, out);
        assert_int_equal(tutti_file_remove_tree(out, NULL), TUTTI_OK);
    }
}

/* Who waits at rank 0 for a turn knows whom for, and says so before the worker that it stands in for gives up. */
static void a_worker_that_stops_is_named_by_who_waits_for_it(void **state)
{
    const run_folder *f = *state;
    char out[160];
    spawned_run ranks[SPAWNED_MAX_RANKS];
    snprintf(out, sizeof out, "%s/out", f->dir);
    start_all(f, "abc", "tcp", "easgd", "1000000", ranks);
    assert_true(run_until_step(&ranks[0], out, 20));
    kill(ranks[2].pid, SIGSTOP);
    for (int r = 0; r < 2; r++) {
        const int rc = run_wait(&ranks[r]);
        char *log = run_log(&ranks[r]);
        if (rc != TUTTI_ERR_PEER) fail_msg("rank %d: exit %d: %s", r, rc, log);
        by_hand_expect(log, "rank 2 ");
        by_hand_expect(log, "the deadline of 4 s has passed");
        free(log);
    }
    kill(ranks[2].pid, SIGCONT);
    assert_int_equal(run_wait(&ranks[2]), TUTTI_ERR_PEER);
}

static void a_signal_at_another_host_ends_all_in_good_order(void **state)
{
    const run_folder *f = *state;
    static const char *const methods[] = {"async-easgd", "easgd"};
    char out[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    for (int i = 0; i < 2; i++) {
        spawned_run ranks[SPAWNED_MAX_RANKS];
        start_all(f, "abb", "tcp", methods[i], "1000000", ranks);
        assert_true(run_until_step(&ranks[0], out, 20));
        kill(ranks[2].pid, SIGTERM);
        for (int r = 0; r < NRANKS; r++) {
            const int rc = run_wait(&ranks[r]);
            if (rc != 128 + SIGTERM) fail_msg("%s, rank %d: exit %d: %s", methods[i], r, rc, run_log(&ranks[r]));
        }
        assert_int_equal(tutti_file_remove_tree(out, NULL), TUTTI_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hosts_and_wires_change_no_bit, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(the_death_of_rank_0_ends_all_and_what_it_saved_is_there, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(a_worker_that_stops_is_named_by_who_waits_for_it, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(a_signal_at_another_host_ends_all_in_good_order, run_folder_make,
                                        run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
