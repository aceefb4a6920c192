/* SPDX-License-Identifier: Apache-2.0 */
/* test_serve_threads.c: workers that visit a centre on another host, played: the same bits as on one host where no
 * chance is in it, or by a record of what was; every share once; bounds and turns hold whoever is held up; ends and
 * resumes; what travels is what the plan says. Ranks are threads of this program on hosts of their own (over tcp), each
 * with its wire's thread, rank 0 with a thread for each of the others, so ThreadSanitizer sees all of them. */
#include "testing.h"

#include <math.h>

#include "played_visits.h"

enum { NSTEPS = 12, NRANKS = 3 };

#define JOB(rule)                                                                                                      \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 12\nsteps: 12\nlog_every: 1\n"      \
    "optimiser: {rule: " rule ", lr: 0.05, schedule: cosine}\n"

static uint64_t bits_between(const char *text, bool wired)
{
    heard h;
    played_job j = {.text = text, .nranks = NRANKS, .wired = wired};
    return run(&j, &h).weights_hash;
}

static double seconds_after(const char *table, const char *words)
{
    const char *at = strstr(table, words);
    if (!at) fail_msg("no '%s' in: %s", words, table);
    return strtod(at + strlen(words), NULL);
}

/* What rank 0 did for the others is in the mean of the ranks, and said. */
static void expect_centre_times(const heard *h, long nserved)
{
    static const char said[] = "rank 0 was at the centre for workers of other hosts for ";
    assert_int_equal(strstr(h->cost, said) != NULL, nserved > 0);
    if (nserved == 0) return; /* rank 0 was the soonest, always */
    const double served = seconds_after(h->cost, said), mean = seconds_after(h->cost, "update at the centre") +
                                                               seconds_after(h->cost, "update on the workers");
    if (!(served > 0 && NRANKS * mean >= served - 0.01)) /* as printed */
        fail_msg("%ld visits of others took rank 0 %g s, the mean of the ranks is %g s: %s", nserved, served, mean,
                 h->cost);
    assert_true(seconds_after(h->cost, "exchange between ranks") >= 0);
}

/* A vector there and one back, of 101,776 elements, for each visit of a worker that is not rank 0. */
static void every_share_is_played_once_and_the_vector_travels_twice_for_it(void **state)
{
    (void)state;
    static const char *const methods[] = {"easgd",         "async-easgd", "async-measgd",
                                          "hogwild-easgd", "async-sgd",   "async-msgd",
                                          "hogwild-sgd",   "bounded-sgd", "bounded-sgd, staleness: 0"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char text[600], words[120];
        heard h;
        long nserved = 0;
        double moved = 0;
        snprintf(text, sizeof text, JOB("momentum") "method: {name: %s}\n", methods[i]);
        played_job j = {.text = text, .nranks = NRANKS, .wired = true};
        const tutti_train_result r = run(&j, &h);
        assert_int_equal(r.step, NSTEPS);
        assert_true(isfinite(r.loss) && r.accuracy >= 0);
        snprintf(words, sizeof words, "%d visits to the centre, ", NSTEPS * NRANKS);
        if (strncmp(h.visits, words, strlen(words))) fail_msg("%s: %s", methods[i], h.visits);
        assert_int_equal(strstr(h.visits, "changes of buckets were lost") != NULL, !strncmp(methods[i], "hogwild", 7));
        const char *at = strrchr(h.visits, ';');
        assert_non_null(at);
        assert_int_equal(sscanf(at, "; %ld were of other hosts' workers and moved %lf MB", &nserved, &moved), 2);
        assert_in_range(nserved, 0, NSTEPS * NRANKS);
        assert_true(fabs(moved - (double)nserved * 2 * 101776 * 4 / 1e6) < 1e-3);
        expect_centre_times(&h, nserved);
    }
}

/* LeNet has 1.7 MB, so its workers bring one after the other; they meet four times on the way. */
static void who_brings_much_has_a_turn_and_comes_to_all_stops(void **state)
{
    (void)state;
    static const char *const methods[] = {"async-sgd", "async-easgd, period: 2", "hogwild-easgd",
                                          "bounded-sgd, staleness: 0"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char text[600];
        heard h;
        snprintf(text, sizeof text,
                 "model: lenet\ndata: {set: digits, train_samples: 48, test_samples: 8}\nbatch: 6\nsteps: 16\n"
                 "eval_every_epochs: 0.5\noptimiser: {rule: sgd, lr: 0.01}\nmethod: {name: %s}\n",
                 methods[i]);
        played_job j = {.text = text, .nranks = NRANKS, .wired = true};
        const tutti_train_result r = run(&j, &h);
        assert_int_equal(r.step, 16);
        assert_true(isfinite(r.loss) && r.accuracy >= 0);
    }
}

static void in_rank_order_hosts_change_no_bit(void **state)
{
    (void)state;
    static const char *const more[] = {"easgd", "easgd, period: 3", "easgd, rho: 4"};
    for (int i = 0; i < 3; i++) {
        char text[600];
        snprintf(text, sizeof text, JOB("adamw") "exchange: {bucket_bytes: 0}\nmethod: {name: %s}\n", more[i]);
        const uint64_t bits = bits_between(text, false);
        assert_true(bits_between(text, true) == bits);
        assert_true(bits_between(text, true) == bits);
    }
    static const char lars[] = JOB("lars") "method: easgd\n";
    assert_true(bits_between(lars, true) == bits_between(lars, false));
}

/* Recorded between hosts and played again on one, and the other way round. */
static void a_record_gives_the_same_bits_on_any_hosts(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"momentum", "method: async-sgd\n"},
        {"momentum", "method: {name: async-easgd, period: 2}\n"},
        {"momentum", "method: bounded-sgd\naccumulate: 2\n"},
        {"adamw", "method: async-msgd\n"},
        {"sgd", "method: async-sgd\n"},
        {"lars", "method: {name: async-measgd, rho: 3}\n"},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const bool first_wired = i % 2;
        char dir[40], path[80], text[600];
        heard h;
        take_folder(dir);
        snprintf(path, sizeof path, "%s/order.json", dir);
        snprintf(text, sizeof text,
                 "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 12\nsteps: 12\n"
                 "optimiser: {rule: %s, lr: 0.05, schedule: cosine%s}\neval_every_epochs: 0.1\n%s",
                 rows[i / 2][0], strcmp(rows[i / 2][0], "sgd") ? "" : ", clip_norm: 0.5", rows[i / 2][1]);
        played_job j = {.text = text, .nranks = NRANKS, .record = path, .wired = first_wired};
        const uint64_t bits = run(&j, &h).weights_hash;
        for (int k = 0; k < 2; k++) {
            played_job again = {
                .text = text, .nranks = NRANKS, .replay = path, .wired = k ? first_wired : !first_wired};
            if (run(&again, &h).weights_hash != bits) fail_msg("row %d, replay %d: other bits", (int)i, k);
        }
        drop_folder(dir);
    }
}

static void whoever_is_held_up_rank_order_stays_and_a_bound_holds(void **state)
{
    (void)state;
    expect_turns_and_bounds(JOB("sgd"), NSTEPS, true, 2);
}

/* Asked at a worker of another host. */
static void who_is_asked_to_end_ends_all_at_a_step_and_they_go_on(void **state)
{
    (void)state;
    static const char *const methods[] = {"easgd, period: 3", "async-easgd", "hogwild-sgd", "bounded-sgd"};
    for (int i = 0; i < 4; i++) {
        char dir[40], text[600];
        heard h;
        take_folder(dir);
        snprintf(text, sizeof text, JOB("momentum") "checkpoint: {every_steps: 100}\nmethod: {name: %s}\n", methods[i]);
        played_job j = {.text = text, .nranks = NRANKS, .dir = dir, .wired = true, .stop_rank = 1, .stop_step = 3};
        const tutti_train_result ended = run(&j, &h);
        const bool in_order = i == 0 || i == 3;
        assert_in_range(ended.step, 1, in_order ? NSTEPS - 1 : NSTEPS);
        if (ended.step < NSTEPS) assert_int_equal(ended.stop_signal, 15);
        size_t n;
        float *centre = weights_in(dir, "weights", &n);
        assert_true(n > 0 && isfinite(centre[0]));
        free(centre);
        played_job again = {.text = text, .nranks = 2, .dir = dir, .wired = i % 2 == 0};
        assert_int_equal(run(&again, &h).step, NSTEPS);
        drop_folder(dir);
    }
}

/* A worker of another host begins at the centre, and in rank order what goes on from a checkpoint is always the same,
 * on any hosts. */
static void what_goes_on_from_a_checkpoint_is_the_same_on_any_hosts(void **state)
{
    (void)state;
    static const char text[] = JOB("adamw") "checkpoint: {every_steps: 5, keep: 9}\nmethod: {name: easgd}\n";
    char dir[40];
    heard h;
    uint64_t bits[3];
    take_folder(dir);
    for (int k = 0; k < 3; k++) {
        played_job j = {.text = text, .nranks = NRANKS, .dir = dir, .wired = k != 1};
        if (k) drop_checkpoint(dir, 12), drop_checkpoint(dir, 10);
        bits[k] = run(&j, &h).weights_hash;
    }
    assert_true(bits[1] == bits[2]);
    played_job done = {.text = text, .nranks = NRANKS, .dir = dir, .wired = true};
    assert_true(run(&done, &h).weights_hash == bits[2]); /* nothing is left to do */
    drop_folder(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_share_is_played_once_and_the_vector_travels_twice_for_it),
        cmocka_unit_test(who_brings_much_has_a_turn_and_comes_to_all_stops),
        cmocka_unit_test(in_rank_order_hosts_change_no_bit),
        cmocka_unit_test(a_record_gives_the_same_bits_on_any_hosts),
        cmocka_unit_test(whoever_is_held_up_rank_order_stays_and_a_bound_holds),
        cmocka_unit_test(who_is_asked_to_end_ends_all_at_a_step_and_they_go_on),
        cmocka_unit_test(what_goes_on_from_a_checkpoint_is_the_same_on_any_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
