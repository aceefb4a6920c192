/* SPDX-License-Identifier: Apache-2.0 */
/* test_async_threads.c: methods whose workers take steps of their own, played: what must be equal bits, that every
 * share is played once whoever plays it, ends and resumes. Ranks are threads of this program, so ThreadSanitizer sees
 * all of them. */
#include "testing.h"

#include <math.h>

#include "played_visits.h"

enum { NSTEPS = 12 };

#define JOB(rule)                                                                                                      \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 12\nsteps: 12\nlog_every: 1\n"      \
    "optimiser: {rule: " rule ", lr: 0.05}\n"
#define EACH_STEP_SAVED "checkpoint: {every_steps: 1, keep: 2}\n"

static const char *const methods[] = {
    "easgd",      "async-easgd", "async-measgd, period: 2",   "hogwild-easgd", "async-sgd",
    "async-msgd", "hogwild-sgd", "bounded-sgd, staleness: 0", "bounded-sgd",   "easgd, period: 3",
};
enum { NMETHODS = sizeof methods / sizeof *methods };

/* By its losses, which each step's weights make. */
static heard losses_of(const char *text)
{
    char dir[40];
    heard h;
    take_folder(dir);
    played_job j = {.text = text, .nranks = 1, .dir = dir};
    run(&j, &h);
    drop_folder(dir);
    return h;
}

static void a_worker_alone_is_sgd_to_the_bit(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"sgd", "async-sgd"},
                                          {"momentum", "async-msgd"},
                                          {"nesterov", "hogwild-sgd"},
                                          {"adamw", "bounded-sgd"},
                                          {"sgd", "easgd, rho: 0"},
                                          {"adamw", "async-measgd, rho: 0"},
                                          {"momentum", "async-measgd, rho: 0, period: 3"},
                                          {"nesterov", "hogwild-easgd, rho: 0"}};
    char text[600];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, JOB("%s") EACH_STEP_SAVED, rows[i][0]);
        const heard want = losses_of(text);
        snprintf(text, sizeof text, JOB("%s") EACH_STEP_SAVED "method: {name: %s}\n", rows[i][0], rows[i][1]);
        const heard have = losses_of(text);
        assert_int_equal(have.last_step, NSTEPS);
        for (int s = 1; s <= NSTEPS; s++)
            if (have.loss[s] != want.loss[s])
                fail_msg("step %d of %s: %.17g, not %.17g", s, rows[i][1], have.loss[s], want.loss[s]);
    }
}

/* The paper's async-sgd and async-easgd have no momentum, whatever the job's rule has: their twins with an m have
 * it. */
static void plain_rows_leave_a_momentum_out(void **state)
{
    (void)state;
    static const char *const rows[][4] = {{"momentum", "async-sgd", "async-msgd", ""},
                                          {"nesterov", "async-sgd", "async-msgd", ""},
                                          {"momentum", "async-easgd", "async-measgd", ", rho: 0"},
                                          {"nesterov", "async-easgd", "async-measgd", ", rho: 0, period: 2"}};
    const heard plain = losses_of(JOB("sgd") EACH_STEP_SAVED);
    char text[600];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int with = 0; with < 2; with++) {
            snprintf(text, sizeof text, JOB("%s") EACH_STEP_SAVED "method: {name: %s%s}\n", rows[i][0],
                     rows[i][1 + with], rows[i][3]);
            const heard have = losses_of(text);
            assert_true(have.loss[1] == plain.loss[1]);
            if ((have.loss[NSTEPS] == plain.loss[NSTEPS]) == with)
                fail_msg("%s under %s: the last loss is %.17g, by sgd %.17g", rows[i][1 + with], rows[i][0],
                         have.loss[NSTEPS], plain.loss[NSTEPS]);
        }
}

static void a_worker_begins_at_the_states_that_it_is_given(void **state)
{
    (void)state;
    char dir[40], text[600];
    take_folder(dir);
    play(JOB("adamw"), 1, dir, NULL);
    heard h[3];
    static const char *const rows[] = {"sync-sgd", "bounded-sgd", "async-measgd, rho: 0"};
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, JOB("adamw") EACH_STEP_SAVED "method: {name: %s}\ninit: {from: %s, state: true}\n",
                 rows[i], dir);
        h[i] = losses_of(text);
        for (int s = 1; s <= NSTEPS; s++) assert_true(h[i].loss[s] == h[0].loss[s]);
    }
    snprintf(text, sizeof text, JOB("adamw") EACH_STEP_SAVED "method: async-measgd\ninit: %s\n", dir);
    h[1] = losses_of(text);
    assert_true(h[1].loss[1] == h[0].loss[1] && h[1].loss[NSTEPS] != h[0].loss[NSTEPS]); /* without states */
    drop_folder(dir);
}

static void every_share_is_played_once_and_what_it_brought_is_there(void **state)
{
    (void)state;
    for (int i = 0; i < NMETHODS; i++)
        for (int nranks = 2; nranks <= 4; nranks++) {
            char text[600], words[80];
            heard h;
            snprintf(text, sizeof text, JOB("momentum") "method: {name: %s}\n", methods[i]);
            played_job j = {.text = text, .nranks = nranks};
            const tutti_train_result r = run(&j, &h);
            assert_int_equal(r.step, NSTEPS);
            assert_true(isfinite(r.loss) && r.accuracy >= 0);
            /* with a period it hangs on who played how many */
            const bool every = !strstr(methods[i], "period");
            snprintf(words, sizeof words, "%d visits to the centre, ", NSTEPS * nranks);
            if (every ? strncmp(h.visits, words, strlen(words)) : !strstr(h.visits, " visits to the centre"))
                fail_msg("%s, %d ranks: %s", methods[i], nranks, h.visits);
            assert_int_equal(strstr(h.visits, "changes of buckets were lost") != NULL,
                             !strncmp(methods[i], "hogwild", 7));
        }
}

static void in_rank_order_two_runs_give_the_same_bits(void **state)
{
    (void)state;
    static const char *const more[] = {"", ", period: 3", ", rho: 4"};
    for (int i = 0; i < 3; i++) {
        char text[600], cut[700];
        snprintf(text, sizeof text, JOB("adamw") "method: {name: easgd%s}\n", more[i]);
        snprintf(cut, sizeof cut, "%sexchange: {bucket_bytes: 0}\n", text);
        const uint64_t bits = bits_of(text, 3);
        assert_true(bits_of(text, 3) == bits);
        assert_true(bits_of(cut, 3) == bits);
    }
}

/* Who took which share and who visited when is all that chance has in it. */
static void a_run_is_played_again_to_the_bit_by_its_record(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"async-sgd", "momentum"},   {"async-easgd, period: 2", "momentum"},
                                          {"bounded-sgd", "momentum"}, {"async-measgd, rho: 3", "momentum"},
                                          {"easgd", "momentum"},       {"async-msgd", "adamw"}};
    for (int i = 0; i < 6; i++) {
        char dir[40], path[80], text[600];
        heard h;
        take_folder(dir);
        snprintf(path, sizeof path, "%s/order.json", dir);
        snprintf(text, sizeof text, JOB("%s") "eval_every_epochs: 0.1\nmethod: {name: %s}\n", rows[i][1], rows[i][0]);
        played_job j = {.text = text, .nranks = 3, .record = path};
        const uint64_t bits = run(&j, &h).weights_hash;
        for (int k = 0; k < 2; k++) {
            played_job again = {.text = text, .nranks = 3, .replay = path};
            assert_true(run(&again, &h).weights_hash == bits);
        }
        drop_folder(dir);
    }
}

static void expect_refusal(const char *text, int nranks, const char *path, const char *words)
{
    played_job j = {.text = text, .nranks = nranks, .replay = path};
    play_job(&j);
    bool said = false;
    for (int r = 0; r < nranks; r++) {
        if (!j.err[r].status) fail_msg("rank %d does what '%s' should refuse", r, words);
        said |= strstr(j.err[r].text, words) && strstr(j.err[r].text, path);
    }
    if (!said) fail_msg("not '%s' but '%s'", words, j.err[0].text);
}

static void a_record_of_another_run_is_refused(void **state)
{
    (void)state;
    char dir[40], path[80];
    heard h;
    take_folder(dir);
    snprintf(path, sizeof path, "%s/order.json", dir);
    played_job j = {.text = JOB("sgd") "method: async-sgd\n", .nranks = 2, .record = path};
    run(&j, &h);
    expect_refusal(JOB("sgd") "method: async-sgd\n", 3, path, "is of a run of 2 ranks; here are 3");
    expect_refusal(JOB("sgd") "method: async-easgd\n", 2, path, "is of a run with another plan");
    expect_refusal(JOB("sgd") "eval_every_epochs: 0.1\nmethod: async-sgd\n", 2, path, "were due at other steps");
    assert_int_equal(tutti_file_write_atomic(path, "{}", 2, NULL), TUTTI_OK);
    expect_refusal(JOB("sgd") "method: async-sgd\n", 2, path, "is not a record of visits: its ranks");
    drop_folder(dir);
}

/* Each would be begun, and end at the deadline in words that blame a rank. */
static const struct {
    const char *of, *words;
    int rank_of_all_shares, rank_of_all_visits; /* -1: as they are */
    int visits, last_stop;                      /* 0: as there are */
    bool one_after_the_other;                   /* first all visits of rank 0, then those of rank 1 */
} impossible[] = {
    {"easgd, period: 2", "rank 0 visits 0 times before step 12, and its shares make 6", -1, 1, 0, 0, false},
    {"easgd, period: 2", "and its shares make 6", -1, -1, 7, 0, false},
    {"easgd, period: 2", "share 0 is of rank 1, and is dealt in rank order", 1, -1, 0, 0, false},
    {"easgd, period: 2", "its stops end before share 22 of 24", -1, -1, 0, 11, false},
    {"bounded-sgd, staleness: 1", "rank 1 visits 11 times before step 12, and its shares make 12", -1, -1, 23, 0,
     false},
    {"bounded-sgd, staleness: 1", "more than 1 steps ahead of rank 1", -1, -1, 0, 0, true},
    {"async-easgd", "times before step 12, and its shares make ", 0, 1, 0, 0, false},
};

static void a_record_that_no_run_can_have_made_is_refused_at_once(void **state)
{
    (void)state;
    enum { RANKS = 2, SHARES = RANKS * NSTEPS };
    char dir[40], path[80], text[400];
    heard h;
    take_folder(dir);
    snprintf(path, sizeof path, "%s/order.json", dir);
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        tutti_visits_order made, changed;
        snprintf(text, sizeof text, JOB("sgd") "method: {name: %s}\n", impossible[i].of);
        played_job j = {.text = text, .nranks = RANKS, .record = path};
        run(&j, &h);
        assert_int_equal(tutti_visits_order_read(path, &made, NULL), TUTTI_OK);
        int32_t shares[SHARES], visits[SHARES];
        int64_t stop = impossible[i].last_stop;
        changed = made;
        changed.shares = memcpy(shares, made.shares, sizeof shares);
        changed.visits = memcpy(visits, made.visits, sizeof *visits * (size_t)made.nvisits);
        if (stop) changed.stops = &stop, changed.nstops = 1;
        if (impossible[i].visits) changed.nvisits = impossible[i].visits;
        for (int k = 0; k < SHARES; k++) {
            if (impossible[i].rank_of_all_shares >= 0) shares[k] = impossible[i].rank_of_all_shares;
            if (impossible[i].rank_of_all_visits >= 0) visits[k] = impossible[i].rank_of_all_visits;
            if (impossible[i].one_after_the_other) visits[k] = k >= NSTEPS;
        }
        if (impossible[i].visits == SHARES - 1) /* the last of rank 1 is missing */
            for (int k = 0; k < SHARES; k++) visits[k] = k % RANKS;
        assert_int_equal(tutti_visits_order_write(path, &changed, NULL), TUTTI_OK);
        expect_refusal(text, RANKS, path, impossible[i].words);
        tutti_visits_order_release(&made);
    }
    drop_folder(dir);
}

static void whoever_is_held_up_rank_order_stays_and_a_bound_holds(void **state)
{
    (void)state;
    expect_turns_and_bounds(JOB("sgd"), NSTEPS, false, 3);
}

/* Nobody is ahead of anybody: between two visits of a worker each other one came at least once, and at most twice. */
static void a_staleness_of_nothing_is_step_by_step(void **state)
{
    (void)state;
    heard h;
    long visits = 0, most = 0;
    played_job j = {.text = JOB("sgd") "method: {name: bounded-sgd, staleness: 0}\n", .nranks = 3};
    run(&j, &h);
    const char *at = strstr(h.visits, "times, ");
    assert_non_null(at);
    visits = strtol(h.visits, NULL, 10), most = strtol(at + 7, NULL, 10);
    assert_int_equal(visits, 3 * NSTEPS);
    assert_in_range(most, 2, 4);
}

static void who_is_asked_to_end_ends_all_at_a_step_and_they_go_on(void **state)
{
    (void)state;
    for (int i = 0; i < NMETHODS; i++) {
        char dir[40], text[600];
        heard h;
        take_folder(dir);
        snprintf(text, sizeof text, JOB("momentum") "checkpoint: {every_steps: 100}\nmethod: {name: %s}\n", methods[i]);
        played_job j = {.text = text, .nranks = 3, .dir = dir, .stop_rank = 1, .stop_step = 3};
        const tutti_train_result ended = run(&j, &h);
        /* else who is asked may come too late: the others may have played all shares by then */
        const bool in_order = !strncmp(methods[i], "easgd", 5) || !strncmp(methods[i], "bounded", 7);
        assert_in_range(ended.step, 1, in_order ? NSTEPS - 1 : NSTEPS);
        if (ended.step < NSTEPS) assert_int_equal(ended.stop_signal, 15);
        size_t n;
        float *centre = weights_in(dir, "weights", &n);
        assert_true(n > 0 && isfinite(centre[0]));
        free(centre);
        played_job again = {.text = text, .nranks = 2, .dir = dir};
        assert_int_equal(run(&again, &h).step, NSTEPS);
        drop_folder(dir);
    }
}

/* Workers begin at the centre, the rule's states beside it are read: so in rank order, and where there is one worker,
 * what goes on from a checkpoint is always the same. */
static void what_goes_on_from_a_checkpoint_is_the_same_each_time(void **state)
{
    (void)state;
    static const char *const texts[] = {
        JOB("adamw") "checkpoint: {every_steps: 5, keep: 9}\nmethod: {name: easgd}\n",
        JOB("momentum") "checkpoint: {every_steps: 5, keep: 9}\nmethod: {name: async-msgd}\n",
        JOB("adamw") "checkpoint: {every_steps: 5, keep: 9}\nmethod: {name: bounded-sgd}\n",
    };
    for (int i = 0; i < 3; i++) {
        const int nranks = i ? 1 : 3;
        char dir[40];
        uint64_t bits[2];
        take_folder(dir);
        const uint64_t whole = play(texts[i], nranks, dir, NULL).weights_hash;
        for (int k = 0; k < 2; k++) {
            drop_checkpoint(dir, 12);
            drop_checkpoint(dir, 10);
            bits[k] = play(texts[i], nranks, dir, NULL).weights_hash;
        }
        assert_true(bits[0] == bits[1]);
        if (i) assert_true(bits[0] == whole); /* all that one worker knows is saved with the centre */
        drop_folder(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_alone_is_sgd_to_the_bit),
        cmocka_unit_test(plain_rows_leave_a_momentum_out),
        cmocka_unit_test(a_worker_begins_at_the_states_that_it_is_given),
        cmocka_unit_test(every_share_is_played_once_and_what_it_brought_is_there),
        cmocka_unit_test(in_rank_order_two_runs_give_the_same_bits),
        cmocka_unit_test(a_run_is_played_again_to_the_bit_by_its_record),
        cmocka_unit_test(a_record_of_another_run_is_refused),
        cmocka_unit_test(a_record_that_no_run_can_have_made_is_refused_at_once),
        cmocka_unit_test(whoever_is_held_up_rank_order_stays_and_a_bound_holds),
        cmocka_unit_test(a_staleness_of_nothing_is_step_by_step),
        cmocka_unit_test(who_is_asked_to_end_ends_all_at_a_step_and_they_go_on),
        cmocka_unit_test(what_goes_on_from_a_checkpoint_is_the_same_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
