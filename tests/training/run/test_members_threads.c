/* SPDX-License-Identifier: Apache-2.0 */
/* test_members_threads.c: methods whose exchanges are between some ranks are played by the trainer: halves at once, two
 * of three ranks, four of six. Ranks are threads of this program. */
#include "testing.h"

#include <math.h>

#include "../some_ranks.h"
#include "base/file.h"
#include "played_job.h"

EMITTER(halves);
EMITTER(folded);

#define JOB                                                                                                            \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 60\nsteps: 12\n"                    \
    "optimiser: {rule: momentum, lr: 0.05}\n"

static tutti_train_result play(const char *text, int nranks, const tutti_emitter *method, const char *dir)
{
    played_job j = {.text = text, .nranks = nranks, .method = method, .dir = dir};
    play_job(&j);
    for (int r = 0; r < nranks; r++)
        if (j.err[r].status) fail_msg("rank %d: %s", r, j.err[r].text);
    for (int r = 1; r < nranks; r++) assert_true(j.result[r].weights_hash == j.result[0].weights_hash);
    return j.result[0];
}

/* The tree of canonical sums over as many slots as ranks is halves of halves. */
static void halves_of_four_ranks_give_the_bits_of_canonical_sums(void **state)
{
    (void)state;
    const uint64_t want = play(JOB "reduction: canonical\nslots: 4\n", 1, NULL, NULL).weights_hash;
    assert_true(play(JOB, 4, &halves, NULL).weights_hash == want);
    assert_true(play(JOB "exchange: {bucket_bytes: 0}\n", 4, &halves, NULL).weights_hash == want);
    assert_true(play(JOB "exchange: {order: priority}\n", 4, &halves, NULL).weights_hash == want);
    assert_true(play(JOB, 4, NULL, NULL).loss > 0);
}

static void some_ranks_sum_for_all(void **state)
{
    (void)state;
    static const int counts[] = {3, 5, 6};
    for (int i = 0; i < 3; i++) {
        const double want = play(JOB, counts[i], NULL, NULL).loss;
        const double loss = play(JOB, counts[i], &folded, NULL).loss;
        if (!(fabs(loss - want) <= 1e-4 * want)) fail_msg("%d ranks: loss %.8f, of all %.8f", counts[i], loss, want);
    }
    const double want = play(JOB, 6, NULL, NULL).loss, loss = play(JOB, 6, &halves, NULL).loss;
    if (!(fabs(loss - want) <= 1e-4 * want)) fail_msg("halves: loss %.8f, of all %.8f", loss, want);
}

/* Creating an exchange to measure it is a call of all ranks, and the rank that tells the costs takes part in few of
 * them. */
static void costs_between_some_ranks_are_measured_by_all(void **state)
{
    (void)state;
    static const tutti_emitter *const methods[] = {&halves, &folded};
    for (int i = 0; i < 2; i++) {
        const double want = play(JOB, 4 + 2 * i, NULL, NULL).loss;
        const double loss = play(JOB "exchange: {buckets: soonest}\n", 4 + 2 * i, methods[i], NULL).loss;
        if (!(fabs(loss - want) <= 1e-4 * want)) fail_msg("loss %.8f, of all %.8f", loss, want);
    }
}

static void a_trace_says_whom_an_exchange_was_between(void **state)
{
    (void)state;
    char dir[] = "/tmp/tutti-members-XXXXXX", path[64], *text;
    size_t nbytes;
    tutti_failure err = {0};
    assert_non_null(mkdtemp(dir));
    play(JOB "trace: {steps: 2}\ntensorboard: false\n", 3, &folded, dir);
    snprintf(path, sizeof path, "%s/trace.json", dir);
    if (tutti_file_read(path, 1 << 24, TUTTI_ERR_DATA, &text, &nbytes, &err)) fail_msg("%s", err.text);
    assert_non_null(strstr(text, "\"Process Group Ranks\":\"[0, 2]\""));
    assert_non_null(strstr(text, "\"Process Group Ranks\":\"[0, 1]\""));
    assert_non_null(strstr(text, "\"Process Group Ranks\":\"[0, 1, 2]\""));
    assert_non_null(strstr(text, "\"Group size\":2"));
    free(text);
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_of_four_ranks_give_the_bits_of_canonical_sums),
        cmocka_unit_test(some_ranks_sum_for_all),
        cmocka_unit_test(costs_between_some_ranks_are_measured_by_all),
        cmocka_unit_test(a_trace_says_whom_an_exchange_was_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
