/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_async.c: workers that take steps of their own, as processes: who is named when rank 0 dies or one of the
 * others stops, wherever they are and whatever it held. Others that die: test_ranks_lost.c. */
#include "testing.h"

#include "training/run/by_hand.h"

enum { NRANKS = 3 };

static const char job[] = "model: mlp\ndata: {set: digits, train_samples: 96, test_samples: 30}\nbatch: 12\n"
                          "optimiser: {rule: momentum, lr: 0.01}\neval_every_epochs: 0\nlog_every: 1\n"
                          "checkpoint: {every_steps: 10}\nexchange: {deadline_s: 4}\n";

static void start_all(const run_folder *f, const char *method, const char *steps, spawned_run ranks[])
{
    char name[64], count[32];
    snprintf(name, sizeof name, "method.name=%s", method);
    snprintf(count, sizeof count, "steps=%s", steps);
    by_hand_start(f, &(by_hand){.job = job, .nranks = NRANKS, .set = {name, count}}, ranks);
}

/* The memory that the centre is in is rank 0's. */
static void test_f02_the_end_of_rank_0_is_the_end_and_what_it_saved_is_there(void **state)
{
    const run_folder *f = *state;
    static const char *const methods[] = {"async-msgd", "easgd", "bounded-sgd", "hogwild-easgd"};
    char out[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    for (int i = 0; i < 4; i++) {
        spawned_run ranks[SPAWNED_MAX_RANKS];
        start_all(f, methods[i], "1000000", ranks);
        assert_true(run_until_step(&ranks[0], out, 20));
        run_until_checkpoint(out);
        tutti_clock_sleep_s(0.0003 * i);
        kill(ranks[0].pid, SIGKILL);
        assert_int_equal(run_wait(&ranks[0]), 128 + SIGKILL);
        for (int r = 1; r < 3; r++) {
            const int rc = run_wait(&ranks[r]);
            char *log = run_log(&ranks[r]);
            if (rc != TUTTI_ERR_PEER) fail_msg("%s, rank %d: exit %d: %s", methods[i], r, rc, log);
            by_hand_expect(log, "rank 0 ");
            by_hand_expect(log, "died: its socket closed without a goodbye");
            free(log);
        }
        /* what was saved before is whole */
        run_expect_checkpoint(f, out);
        assert_int_equal(tutti_file_remove_tree(out, NULL), TUTTI_OK);
    }
}

static void a_worker_that_stops_is_named_by_who_waits_for_it(void **state)
{
    const run_folder *f = *state;
    static const char *const methods[] = {"easgd", "bounded-sgd"};
    static const char *const words[] = {"for its turn to visit the centre, after rank 2 ",
                                        "for the worker that is the furthest behind, rank 2 "};
    char out[160];
    snprintf(out, sizeof out, "%s/out", f->dir);
    for (int i = 0; i < 2; i++) {
        spawned_run ranks[SPAWNED_MAX_RANKS];
        bool named = false;
        start_all(f, methods[i], "1000000", ranks);
        assert_true(run_until_step(&ranks[0], out, 20));
        kill(ranks[2].pid, SIGSTOP);
        for (int r = 0; r < 2; r++) {
            const int rc = run_wait(&ranks[r]);
            char *log = run_log(&ranks[r]);
            if (rc != TUTTI_ERR_PEER) fail_msg("%s, rank %d: exit %d: %s", methods[i], r, rc, log);
            by_hand_expect(log, "rank 2 ");
            named |=
                strstr(log, words[i]) || strstr(log, "not arrived: rank 2 "); /* it may have stopped where all meet */
            free(log);
        }
        assert_true(named);
        kill(ranks[2].pid, SIGCONT);
        assert_int_equal(run_wait(&ranks[2]), TUTTI_ERR_PEER);
        assert_int_equal(tutti_file_remove_tree(out, NULL), TUTTI_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_f02_the_end_of_rank_0_is_the_end_and_what_it_saved_is_there,
                                        run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(a_worker_that_stops_is_named_by_who_waits_for_it, run_folder_make,
                                        run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
