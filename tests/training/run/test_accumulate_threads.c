/* SPDX-License-Identifier: Apache-2.0 */
/* test_accumulate_threads.c: steps of several micro-batches are the steps of as many ranks: to the bit where both sum
 * alike, else but for rounding; with batch norm too, whose statistics are of a micro-batch as they are of a rank's
 * share. Ranks are threads of this program. */
#include "testing.h"

#include <math.h>

#include "played_weights.h"

#define JOB(model)                                                                                                     \
    "model: " model "\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 24\nsteps: 8\n"               \
    "optimiser: {rule: momentum, lr: 0.02}\ncheckpoint: {every_steps: 3, keep: 9}\n"

/* A sum of two is one sum, whoever holds the parts. */
static void two_micro_batches_give_the_bits_of_two_ranks(void **state)
{
    (void)state;
    static const char *const jobs[] = {JOB("mlp"), JOB("convnet-bn")};
    for (int j = 0; j < 2; j++) {
        char text[500];
        snprintf(text, sizeof text, "%saccumulate: 2\n", jobs[j]);
        assert_true(bits_of(text, 1) == bits_of(jobs[j], 2));
        assert_true(bits_of(text, 1) != bits_of(jobs[j], 1));
        snprintf(text, sizeof text, "%saccumulate: 1\n", jobs[j]);
        assert_true(bits_of(text, 2) == bits_of(jobs[j], 2));
    }
}

static void expect_equal_weights(const char *a, int aranks, const char *b, int branks, float most)
{
    char dirs[2][32] = {"/tmp/tutti-accumulate-XXXXXX", "/tmp/tutti-accumulate-XXXXXX"};
    float *weights[2];
    size_t n[2];
    double loss[2], accuracy[2];
    for (int i = 0; i < 2; i++) {
        assert_non_null(mkdtemp(dirs[i]));
        const tutti_train_result r = play(i ? b : a, i ? branks : aranks, dirs[i], NULL);
        loss[i] = r.loss, accuracy[i] = r.accuracy;
        weights[i] = weights_in(dirs[i], "weights", &n[i]);
        assert_int_equal(tutti_file_remove_tree(dirs[i], NULL), TUTTI_OK);
    }
    assert_int_equal(n[0], n[1]);
    for (size_t i = 0; i < n[0]; i++)
        if (!(fabsf(weights[0][i] - weights[1][i]) <= most))
            fail_msg("weight %zu: %.9g and %.9g", i, (double)weights[0][i], (double)weights[1][i]);
    assert_true(fabs(loss[0] - loss[1]) <= 1e-5 * loss[1] && fabs(accuracy[0] - accuracy[1]) < 1e-9);
    free(weights[0]), free(weights[1]);
}

/* The loss and right answers are of all samples of the batch, not of the last micro-batch. */
static void micro_batches_are_one_batch_but_for_rounding(void **state)
{
    (void)state;
    expect_equal_weights(JOB("mlp") "accumulate: 4\n", 1, JOB("mlp"), 1, 1e-6f);
    expect_equal_weights(JOB("mlp") "accumulate: 3\n", 2, JOB("mlp"), 1, 1e-6f);
    expect_equal_weights(JOB("lenet") "accumulate: 2\n", 3, JOB("lenet"), 1, 1e-5f);
    expect_equal_weights(JOB("convnet-bn") "accumulate: 2\n", 2, JOB("convnet-bn"), 4,
                         1e-5f); /* statistics of 6 samples */
    expect_equal_weights(JOB("mlp") "accumulate: 2\nmethod: {name: local-sgd, period: 3}\n", 2,
                         JOB("mlp") "method: {name: local-sgd, period: 3}\n", 2, 1e-6f);
}

/* Rules that look at gradients before an update see those of the whole batch. */
static void clipped_and_scaled_updates_go_by_the_whole_batch(void **state)
{
    (void)state;
    static const char *const keys[] = {"rule: momentum, clip_norm: 0.25", "rule: lars, trust: 0.05", "rule: lamb"};
    for (int i = 0; i < 3; i++) {
        char texts[2][500];
        for (int n = 0; n < 2; n++)
            snprintf(texts[n], sizeof texts[n],
                     "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 48\nsteps: 8\n"
                     "optimiser: {lr: 0.02, %s}\naccumulate: %d\n",
                     keys[i], n ? 1 : 3);
        expect_equal_weights(texts[0], 2, texts[1], 1, 1e-5f);
    }
}

static void a_run_goes_on_to_the_bit(void **state)
{
    (void)state;
    static const char text[] = JOB("convnet-bn") "accumulate: 3\n";
    char dir[] = "/tmp/tutti-accumulate-XXXXXX";
    listener l = {0};
    assert_non_null(mkdtemp(dir));
    const uint64_t want = play(text, 2, dir, NULL).weights_hash;
    drop_checkpoint(dir, 8);
    drop_checkpoint(dir, 6);
    assert_true(play(text, 2, dir, &l).weights_hash == want);
    assert_string_equal(l.notes, "");
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_micro_batches_give_the_bits_of_two_ranks),
        cmocka_unit_test(micro_batches_are_one_batch_but_for_rounding),
        cmocka_unit_test(clipped_and_scaled_updates_go_by_the_whole_batch),
        cmocka_unit_test(a_run_goes_on_to_the_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
