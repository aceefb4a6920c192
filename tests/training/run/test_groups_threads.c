/* SPDX-License-Identifier: Apache-2.0 */
/* test_groups_threads.c: parameters with a rate or a decay of their own: a group of all parameters is what the plain
 * keys are, to the bit, the last pattern that fits counts, a factor of 0 keeps a tensor where it is, and patterns that
 * fit nothing are refused. Ranks are threads. */
#include "testing.h"

#include <math.h>

#include "played_weights.h"
#include "refused_groups.h"

#define BASE "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 40\nsteps: 6\n"

static uint64_t bits_by(const char *optimiser, int nranks)
{
    char text[600];
    snprintf(text, sizeof text, BASE "optimiser: {%s}\nreduction: canonical\nslots: 4\n", optimiser);
    return bits_of(text, nranks);
}

/* A factor of 1/2 is exact. */
static void a_group_of_all_is_what_the_plain_keys_are(void **state)
{
    (void)state;
    static const char *const rules[] = {"rule: sgd", "rule: momentum", "rule: adamw", "rule: lars, trust: 0.05",
                                        "rule: lamb"};
    for (int r = 0; r < 5; r++) {
        char grouped[200], plain[200], other[200];
        snprintf(plain, sizeof plain, "%s, lr: 0.015625, weight_decay: 0.125", rules[r]);
        snprintf(grouped, sizeof grouped,
                 "%s, lr: 0.03125, weight_decay: 0.5, groups: {rate: {\"*\": 0.5}, decay: {\"*\": 0.125}}", rules[r]);
        snprintf(other, sizeof other, "%s, lr: 0.03125, weight_decay: 0.5", rules[r]);
        const uint64_t want = bits_by(plain, 1);
        for (int nranks = 1; nranks <= 3; nranks++) assert_true(bits_by(grouped, nranks) == want);
        assert_true(bits_by(other, 1) != want);
    }
}

static void the_last_pattern_that_fits_counts(void **state)
{
    (void)state;
    const uint64_t want = bits_by("lr: 0.02, groups: {rate: {fc2: 4}}", 1);
    assert_true(bits_by("lr: 0.02, groups: {rate: {\"*\": 9, fc1: 1, \"fc2.*\": 4}}", 2) == want);
    assert_true(bits_by("lr: 0.02, groups: {rate: {fc2: 4, \"*\": 1}}", 1) == bits_by("lr: 0.02", 1));
    assert_true(bits_by("lr: 0.02", 1) != want);
}

/* Biases are not decayed, in whatever group they are. */
static void decays_are_of_weights_alone(void **state)
{
    (void)state;
    assert_true(bits_by("lr: 0.02, groups: {decay: {fc1: 0.25, fc2.weight: 0.25}}", 1) ==
                bits_by("lr: 0.02, weight_decay: 0.25", 1));
}

/* What lies there begins with fc1.bias and fc1.weight, 128 + 128 * 784 numbers: tensors are sorted by name. */
static void a_factor_of_0_keeps_a_tensor_where_it_is(void **state)
{
    (void)state;
    enum { FC1 = 128 + 128 * 784 };
    float *weights[2];
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        char dir[] = "/tmp/tutti-groups-XXXXXX", text[500];
        assert_non_null(mkdtemp(dir));
        snprintf(text, sizeof text,
                 "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 40\nsteps: %d\n"
                 "optimiser: {rule: adamw, lr: 0.01, weight_decay: 0.1, groups: {rate: {fc1: 0}}}\n",
                 i ? 7 : 1);
        play(text, 2, dir, NULL);
        weights[i] = weights_in(dir, "weights", &n[i]);
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    }
    assert_int_equal(n[0], FC1 + 10 + 1280);
    assert_int_equal(n[0], n[1]);
    int nmoved = 0;
    assert_memory_equal(weights[0], weights[1], FC1 * sizeof(float));
    for (size_t i = FC1; i < n[0]; i++) nmoved += weights[0][i] != weights[1][i];
    assert_true(nmoved > 1000);
    free(weights[0]), free(weights[1]);
}

static void what_has_no_effect_is_refused_with_its_place(void **state)
{
    (void)state;
    expect_groups_refused(BASE, "rate: {fc3: 2}",
                          "j.yaml: line 8: optimiser.groups.rate: 'fc3' fits no learned parameter of model "
                          "mlp; 'tutti plan JOB' lists their names");
    expect_groups_refused(BASE, "decay: {\"*.bias\": 0.1}",
                          "line 8: optimiser.groups.decay: '*.bias' fits no decayed parameter of model mlp");
    expect_groups_refused(BASE, "rate: {fc1: fast}",
                          "line 8: optimiser.groups.rate: 'fast' of 'fc1' is not a number from 0 to 1e6");
    expect_groups_refused(BASE, "rate: {fc1: 1e300}", "'1e300' of 'fc1' is not a number from 0 to 1e6");
    expect_groups_refused(BASE, "rate: {fc1: 1000001}", "'1000001' of 'fc1' is not a number from 0 to 1e6");
    expect_groups_refused(BASE, "decay: {fc1: 1001}", "'1001' of 'fc1' is not a number from 0 to 1e3");
    expect_groups_refused(BASE, "decay: {fc1: inf}", "'inf' of 'fc1' is not a number from 0 to 1e3");
    expect_groups_refused(BASE, "decay: {fc1: -1}",
                          "line 8: optimiser.groups.decay: '-1' of 'fc1' is not a number from 0 to 1e3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_of_all_is_what_the_plain_keys_are),
        cmocka_unit_test(the_last_pattern_that_fits_counts),
        cmocka_unit_test(decays_are_of_weights_alone),
        cmocka_unit_test(a_factor_of_0_keeps_a_tensor_where_it_is),
        cmocka_unit_test(what_has_no_effect_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
