/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_early.c: updates beside the backward pass, ranks as processes over the wire tcp, started by hand as on
 * hosts of their own: weights as on one host, and who is named when a rank dies or stops while buckets are updated. */
#include "testing.h"

#include "training/run/by_hand.h"

enum { NRANKS = 3 };

static const char job[] = "model: mlp\ndata: {set: digits, train_samples: 96, test_samples: 30}\nbatch: 12\n"
                          "optimiser: {rule: adamw, lr: 0.01}\neval_every_epochs: 0\nlog_every: 1\n"
                          "checkpoint: {every_steps: 1000000}\nexchange: {bucket_bytes: 0, deadline_s: 4}\n";

static void start_all(const run_folder *f, const char *update_when, const char *steps, spawned_run ranks[])
{
    char when[64], count[32];
    snprintf(when, sizeof when, "exchange.update_when=%s", update_when);
    snprintf(count, sizeof count, "steps=%s", steps);
    by_hand_start(f, &(by_hand){.job = job, .nranks = NRANKS, .wire = "tcp", .set = {when, count}}, ranks);
}

static void early_and_late_updates_over_tcp_give_the_same_weights(void **state)
{
    const run_folder *f = *state;
    static const char *const when[] = {"late", "early"};
    char hash[2][17];
    for (int i = 0; i < 2; i++) {
        spawned_run ranks[SPAWNED_MAX_RANKS];
        start_all(f, when[i], "40", ranks);
        for (int r = 0; r < NRANKS; r++) {
            const int rc = run_wait(&ranks[r]);
            if (rc) fail_msg("%s, rank %d: exit %d: %s", when[i], r, rc, run_log(&ranks[r]));
        }
        run_hash(&ranks[0], hash[i]);
    }
    assert_string_equal(hash[0], hash[1]);
}

/* At another moment of a step each time. */
static void a_rank_that_dies_is_named_by_the_others(void **state)
{
    const run_folder *f = *state;
    char out[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    for (int round = 0; round < 4; round++) {
        spawned_run ranks[SPAWNED_MAX_RANKS];
        start_all(f, "early", "1000000", ranks);
        assert_true(run_until_step(&ranks[0], out, 20 + 7 * round));
        tutti_clock_sleep_s(0.0003 * round);
        kill(ranks[2].pid, SIGKILL);
        const double killed = tutti_clock_s();
        assert_int_equal(run_wait(&ranks[2]), 128 + SIGKILL);
        for (int r = 0; r < 2; r++) {
            const int rc = run_wait(&ranks[r]);
            char *log = run_log(&ranks[r]);
            if (rc != TUTTI_ERR_PEER) fail_msg("rank %d: exit %d: %s", r, rc, log);
            by_hand_expect(log, "rank 2 ");
            by_hand_expect(log, "died: its socket closed without a goodbye");
            free(log);
        }
        assert_true(tutti_clock_s() - killed < 5);
        assert_int_equal(tutti_file_remove_tree(out, NULL), TUTTI_OK);
    }
}

static void a_rank_that_hangs_is_named_and_reported(void **state)
{
    const run_folder *f = *state;
    char out[160];
    spawned_run ranks[SPAWNED_MAX_RANKS];
    snprintf(out, sizeof out, "%s/out", f->dir);
    start_all(f, "early", "1000000", ranks);
    assert_true(run_until_step(&ranks[0], out, 20));
    kill(ranks[2].pid, SIGSTOP);
    const double stopped = tutti_clock_s();
    for (int r = 0; r < 2; r++) {
        const int rc = run_wait(&ranks[r]);
        char *log = run_log(&ranks[r]);
        if (rc != TUTTI_ERR_PEER) fail_msg("rank %d: exit %d: %s", r, rc, log);
        by_hand_expect(log, "the deadline of 4 s has passed");
        by_hand_expect(log, "not arrived: rank 2 ");
        by_hand_expect(log, "(wait, stage 0) for rank "); /* rank 1 or 2: as the stop fell, both wait */
        by_hand_expect(log, r == 0 ? "report of rank 0 " : "report of rank 1 ");
        free(log);
    }
    assert_true(tutti_clock_s() - stopped < 15);
    kill(ranks[2].pid, SIGCONT);
    assert_int_equal(run_wait(&ranks[2]), TUTTI_ERR_PEER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(early_and_late_updates_over_tcp_give_the_same_weights, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(a_rank_that_dies_is_named_by_the_others, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(a_rank_that_hangs_is_named_and_reported, run_folder_make, run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
