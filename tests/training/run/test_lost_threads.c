/* SPDX-License-Identifier: Apache-2.0 */
/* test_lost_threads.c: workers that take steps of their own and die at chosen points, as threads, of one host and each
 * of its own: what the others make of the run, what is said of them, what is tested and saved. Ranks as processes that
 * are killed: test_ranks_lost.c. */
#include "testing.h"

#include <math.h>

#include "played_weights.h"
#include "training/run/visit/board/visits_order.h"

enum { NSTEPS = 12 };

#define JOB                                                                                                            \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 340}\nbatch: 12\nsteps: 12\nlog_every: 1\n"     \
    "eval_every_epochs: 0\noptimiser: {rule: momentum, lr: 0.02}\n"

static const char *const methods[] = {
    "easgd",       "async-easgd, period: 2",    "async-measgd", "hogwild-easgd",    "async-sgd", "async-msgd",
    "hogwild-sgd", "bounded-sgd, staleness: 0", "bounded-sgd",  "easgd, period: 3",
};
enum { NMETHODS = sizeof methods / sizeof *methods };

typedef struct {
    char notes[4000];
    int64_t last_step;
    double accuracy;
} heard;

static void hear(void *arg, const tutti_train_event *e)
{
    heard *h = arg;
    if (e->kind == TUTTI_TRAIN_NOTE)
        snprintf(h->notes + strlen(h->notes), sizeof h->notes - strlen(h->notes), "%s\n", e->text);
    if (e->kind == TUTTI_TRAIN_STEP) h->last_step = e->step;
    if (e->kind == TUTTI_TRAIN_EVAL) h->accuracy = e->accuracy;
}

static void take_folder(char dir[40])
{
    snprintf(dir, 40, "/tmp/tutti-lost-XXXXXX");
    assert_non_null(mkdtemp(dir));
}

static void drop_folder(const char *dir)
{
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

static void expect_note(const heard *h, const char *words)
{
    if (!strstr(h->notes, words)) fail_msg("nobody says '%s' but: %s", words, h->notes);
}

/* Where shares come in order a worker comes to its death; by arrival the others may have taken all before. */
static bool comes_in_order(const char *text)
{
    return strstr(text, "name: easgd") || strstr(text, "method: easgd") || strstr(text, "bounded");
}

/* All who live end well, with the same weights, which a rank alone finds in the folder and tests as they did. Returns
 * how many died. */
static int play_with_deaths(played_job *j, heard *h)
{
    int ndied = 0;
    char dir[40];
    heard again = {0};
    take_folder(dir);
    memset(h, 0, sizeof *h);
    j->dir = dir;
    j->on_event = hear;
    j->on_event_arg = h;
    play_job(j);
    for (int r = 0; r < j->nranks; r++) {
        const bool died = j->err[r].status != TUTTI_OK, should = j->dies[r] || j->fails[r];
        if (died != should && (died || comes_in_order(j->text)))
            fail_msg("rank %d: %s\n%s%s", r, j->err[r].text, j->text, h->notes);
        ndied += died;
        if (died) continue;
        assert_true(j->result[r].weights_hash == j->result[0].weights_hash && j->result[r].step == NSTEPS);
    }
    assert_true(isfinite(j->result[0].loss) && h->last_step == NSTEPS);
    played_job alone = {.text = j->text, .nranks = 1, .dir = dir, .on_event = hear, .on_event_arg = &again};
    play_job(&alone);
    assert_int_equal(alone.err[0].status, TUTTI_OK);
    assert_true(alone.result[0].was_done && alone.result[0].weights_hash == j->result[0].weights_hash);
    assert_true(alone.result[0].accuracy == h->accuracy && j->result[0].accuracy == h->accuracy);
    drop_folder(dir);
    return ndied;
}

/* On one host, and each on its own. */
static void whichever_method_the_others_go_on(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * NMETHODS; k++) {
        const int i = k / 2, nranks = 2 + i % 3;
        char text[600];
        heard h;
        snprintf(text, sizeof text, JOB "method: {name: %s}\n", methods[i]);
        played_job j = {.text = text, .nranks = nranks, .wired = k % 2};
        j.dies[nranks - 1] = 1 + i / 3;
        if (!play_with_deaths(&j, &h)) continue;
        expect_note(&h, "died: its socket closed without a goodbye; after ");
        expect_note(&h, nranks == 2 ? "; rank 0 goes on alone" : " ranks go on");
        expect_note(&h, " was lost at step ");
    }
}

static void all_may_die_but_rank_0(void **state)
{
    (void)state;
    for (int i = 0; i < NMETHODS; i++) {
        char text[600];
        heard h;
        snprintf(text, sizeof text, JOB "method: {name: %s}\n", methods[i]);
        played_job j = {.text = text, .nranks = 4, .wired = i % 2, .dies = {0, 3, 1, 2}};
        if (play_with_deaths(&j, &h) == 3) expect_note(&h, "; rank 0 goes on alone");
    }
}

/* In rank order all is known: 12 shares each; when it is asked for the 13th time it tests, or it waits where all
 * meet. */
static void who_dies_in_a_test_leaves_its_part_to_the_others(void **state)
{
    (void)state;
    for (int wired = 0; wired < 2; wired++) {
        heard h;
        played_job j = {.text = JOB "method: easgd\n", .nranks = 3, .wired = wired, .dies = {0, 0, 13}};
        play_with_deaths(&j, &h);
        expect_note(&h, "after 12 of 12 steps, of which it had played 12 shares; 2 ranks go on");
        expect_note(&h, "with 12 shares played; by nobody: 0 shares");
        played_job two = {.text = JOB "method: easgd\n", .nranks = 4, .wired = wired, .dies = {0, 13, 0, 13}};
        play_with_deaths(&two, &h);
        expect_note(&h, "; 2 ranks go on");
    }
}

/* Asked for the 7th time it has played 6 shares; over a wire it says of the last with its next question, which may not
 * have left it. */
static void who_dies_where_all_meet_holds_nobody_up(void **state)
{
    (void)state;
    for (int wired = 0; wired < 2; wired++) {
        heard h;
        played_job j = {.text = JOB "checkpoint: {every_steps: 6, keep: 9}\nmethod: easgd\n",
                        .nranks = 3,
                        .wired = wired,
                        .dies = {0, 7}};
        play_with_deaths(&j, &h);
        if (wired && strstr(h.notes, "of which it had played 5 shares; 2 ranks go on")) continue;
        expect_note(&h, "of 12 steps, of which it had played 6 shares; 2 ranks go on");
    }
}

/* Steps count samples: what comes in order is played by the others, but for what the dead one had been dealt. */
static void its_coming_shares_are_played(void **state)
{
    (void)state;
    for (int wired = 0; wired < 2; wired++) {
        heard h;
        played_job j = {.text = JOB "method: easgd\n", .nranks = 3, .wired = wired, .dies = {0, 0, 2}};
        play_with_deaths(&j, &h);
        const char *at = strstr(h.notes, "by nobody: ");
        assert_non_null(at);
        assert_in_range(strtol(at + strlen("by nobody: "), NULL, 10), 1, 5); /* of 11 */
    }
}

static void who_fails_by_itself_says_why_and_the_others_go_on(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * NMETHODS; k += 3) {
        char text[600];
        heard h;
        snprintf(text, sizeof text, JOB "method: {name: %s}\n", methods[k / 2]);
        played_job j = {.text = text, .nranks = 3, .wired = k % 2, .fails = {[1] = TUTTI_ERR_FAILED}};
        if (!play_with_deaths(&j, &h)) continue; /* it was dealt no share */
        expect_note(&h, " has failed: the disk makes a noise; after ");
        assert_int_equal(j.err[1].status, TUTTI_ERR_FAILED);
    }
}

/* The others would meet it, one after the other. */
static void what_the_input_is_to_blame_for_ends_all(void **state)
{
    (void)state;
    played_job j = {.text = JOB "method: easgd\n", .nranks = 3, .fails = {[1] = TUTTI_ERR_DATA}};
    play_job(&j);
    assert_int_equal(j.err[1].status, TUTTI_ERR_DATA);
    for (int r = 0; r < 3; r += 2) {
        assert_int_equal(j.err[r].status, TUTTI_ERR_PEER);
        if (!strstr(j.err[r].text, "ended the run: the disk makes a noise")) fail_msg("%s", j.err[r].text);
    }
    played_job zero = {.text = JOB "method: async-sgd\n", .nranks = 3, .fails = {TUTTI_ERR_FAILED}};
    play_job(&zero);
    if (zero.err[0].status) assert_int_equal(zero.err[2].status, TUTTI_ERR_PEER); /* it had a share */
}

static void a_run_that_lost_a_worker_is_not_played_again(void **state)
{
    (void)state;
    char dir[40], path[80];
    heard h = {0};
    take_folder(dir);
    snprintf(path, sizeof path, "%s/order.json", dir);
    played_job j = {.text = JOB "method: bounded-sgd\n",
                    .nranks = 3,
                    .wired = true,
                    .record = path,
                    .dies = {0, 0, 2},
                    .on_event = hear,
                    .on_event_arg = &h};
    play_job(&j);
    assert_int_equal(j.err[0].status, TUTTI_OK);
    played_job again = {.text = j.text, .nranks = 3, .replay = path};
    play_job(&again);
    bool said = false;
    for (int r = 0; r < 3; r++) {
        assert_int_not_equal(again.err[r].status, TUTTI_OK);
        said |= strstr(again.err[r].text, "is of a run that lost rank 2 on its way") != NULL;
    }
    if (!said) fail_msg("%s", again.err[0].text);
    drop_folder(dir);
}

/* Who goes by a record needs all. */
static void a_run_that_goes_by_a_record_ends_with_its_first_death(void **state)
{
    (void)state;
    char dir[40], path[80];
    take_folder(dir);
    snprintf(path, sizeof path, "%s/order.json", dir);
    played_job j = {.text = JOB "method: async-sgd\n", .nranks = 3, .record = path};
    play_job(&j);
    assert_int_equal(j.err[0].status, TUTTI_OK);
    tutti_visits_order o;
    assert_int_equal(tutti_visits_order_read(path, &o, NULL), TUTTI_OK);
    int64_t shares = 0;
    for (int64_t i = 0; i < o.nshares; i++) shares += o.shares[i] == 1;
    tutti_visits_order_release(&o);
    if (shares) { /* else it is not asked */
        played_job again = {.text = j.text, .nranks = 3, .replay = path, .dies = {0, 1}};
        play_job(&again);
        assert_int_equal(again.err[0].status, TUTTI_ERR_PEER);
        assert_int_equal(again.err[2].status, TUTTI_ERR_PEER);
        assert_non_null(strstr(again.err[0].text, "rank 1 "));
    }
    drop_folder(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whichever_method_the_others_go_on),
        cmocka_unit_test(all_may_die_but_rank_0),
        cmocka_unit_test(who_dies_in_a_test_leaves_its_part_to_the_others),
        cmocka_unit_test(who_dies_where_all_meet_holds_nobody_up),
        cmocka_unit_test(its_coming_shares_are_played),
        cmocka_unit_test(who_fails_by_itself_says_why_and_the_others_go_on),
        cmocka_unit_test(what_the_input_is_to_blame_for_ends_all),
        cmocka_unit_test(a_run_that_lost_a_worker_is_not_played_again),
        cmocka_unit_test(a_run_that_goes_by_a_record_ends_with_its_first_death),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
