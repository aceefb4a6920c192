/* SPDX-License-Identifier: Apache-2.0 */
/* test_centre_threads.c: methods with a centre, played: what must be equal bits, and what a run goes on from. Ranks are
 * threads of this program. */
#include "testing.h"

#include <math.h>

#include "played_weights.h"

#define JOB(rule)                                                                                                      \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 12\nsteps: 12\n"                    \
    "optimiser: {rule: " rule ", lr: 0.05}\ncheckpoint: {every_steps: 5, keep: 9}\n"

static const char *const elastic[] = {"sync-easgd1", "sync-easgd2", "sync-easgd3"};
static const char *const methods[] = {"sync-easgd1", "sync-easgd2", "sync-easgd3", "diloco"};
enum { NELASTIC = sizeof elastic / sizeof *elastic, NMETHODS = sizeof methods / sizeof *methods };

/* The weights of a run of JOB at its end. */
static float *weights_of(const char *text, int nranks, const char *name, size_t *n)
{
    char dir[] = "/tmp/tutti-centre-XXXXXX";
    assert_non_null(mkdtemp(dir));
    play(text, nranks, dir, NULL);
    float *out = weights_in(dir, name, n);
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    return out;
}

static void expect_same_bits(const char *text, const char *name, const char *twin)
{
    size_t n, ntwin;
    float *have = weights_of(text, 1, name, &n), *want = weights_of(twin, 1, "weights", &ntwin);
    assert_int_equal(n, ntwin);
    if (memcmp(have, want, n * sizeof *have)) fail_msg("other bits than the twin's:\n%s", text);
    free(have), free(want);
}

static void a_worker_alone_that_nothing_pulls_is_sgd_to_the_bit(void **state)
{
    (void)state;
    char text[400];
    for (int i = 0; i < NELASTIC; i++) {
        snprintf(text, sizeof text, JOB("momentum") "method: {name: %s, rho: 0}\n", elastic[i]);
        expect_same_bits(text, "weights@0", JOB("momentum"));
        snprintf(text, sizeof text, JOB("adamw") "method: {name: %s, rho: 0, period: 3}\n", elastic[i]);
        expect_same_bits(text, "weights@0", JOB("adamw"));
    }
    /* before its first outer step */
    expect_same_bits(JOB("adamw") "method: {name: diloco, period: 100}\n", "weights@0", JOB("adamw"));
}

static void a_centre_that_nothing_pulls_stays(void **state)
{
    (void)state;
    size_t n;
    float *first = weights_of(JOB("sgd") "method: {name: sync-easgd2, rho: 0}\n", 3, "weights", &n);
    float *other = weights_of(JOB("adamw") "method: {name: sync-easgd2, rho: 0, period: 3}\n", 2, "weights", &n);
    assert_memory_equal(first, other, n * sizeof *first);
    free(first), free(other);
}

/* Beside the computing or behind it. */
static void what_overlaps_changes_no_bit(void **state)
{
    (void)state;
    static const char *const more[] = {"", ", period: 5", ", rho: 3"};
    for (int nranks = 2; nranks <= 4; nranks++) {
        uint64_t bits[2];
        for (int i = 0; i < 2; i++) {
            char text[400];
            snprintf(text, sizeof text, JOB("momentum") "exchange: {bucket_bytes: 0}\nmethod: {name: sync-easgd%d%s}\n",
                     2 + i, more[nranks - 2]);
            bits[i] = bits_of(text, nranks);
        }
        assert_true(bits[0] == bits[1]);
    }
}

/* Two ranks add in one order only. */
static void who_has_the_centre_changes_no_bit_between_two_ranks(void **state)
{
    (void)state;
    for (int period = 1; period <= 5; period += 4) {
        uint64_t bits[2];
        for (int i = 0; i < 2; i++) {
            char text[400];
            snprintf(text, sizeof text, JOB("momentum") "method: {name: sync-easgd%d, period: %d}\n", 1 + i, period);
            bits[i] = bits_of(text, 2);
        }
        assert_true(bits[0] == bits[1]);
    }
}

static void two_runs_give_equal_hashes(void **state)
{
    (void)state;
    char text[400];
    for (int i = 0; i < NMETHODS; i++) {
        snprintf(text, sizeof text, JOB("adamw") "method: {name: %s, period: 2}\nexchange: {bucket_bytes: 0}\n",
                 methods[i]);
        assert_true(bits_of(text, 4) == bits_of(text, 4));
    }
}

static void an_outer_rate_of_1_without_momentum_is_local_sgd_but_for_rounding(void **state)
{
    (void)state;
    size_t n;
    float *have = weights_of(JOB("momentum") "method: {name: diloco, period: 4, outer: {rate: 1, momentum: 0}}\n", 3,
                             "weights", &n);
    float *want = weights_of(JOB("momentum") "method: {name: local-sgd, period: 4}\n", 3, "weights", &n);
    for (size_t i = 0; i < n; i++) assert_true(fabsf(have[i] - want[i]) <= 1e-6f);
    free(have), free(want);
}

/* Step 5 lies inside the second period of 4. Clipping and a dynamic scale look at gradients first. */
static void a_run_goes_on_inside_a_period_to_the_bit(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * NMETHODS; i++) {
        char dir[] = "/tmp/tutti-centre-XXXXXX", text[500];
        listener l = {0};
        assert_non_null(mkdtemp(dir));
        snprintf(text, sizeof text, JOB("adamw") "method: {name: %s, period: %d}\nloss_scale: %s\n", methods[i / 2],
                 i % 2 ? 4 : 1, i % 2 ? "dynamic" : "auto");
        const uint64_t want = play(text, 3, dir, NULL).weights_hash;
        drop_checkpoint(dir, 12);
        drop_checkpoint(dir, 10);
        assert_true(play(text, 3, dir, &l).weights_hash == want);
        assert_string_equal(l.notes, "");
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    }
}

static void another_number_of_ranks_begins_at_the_centre_and_says_so(void **state)
{
    (void)state;
    for (int i = 0; i < NMETHODS; i++) {
        char dir[] = "/tmp/tutti-centre-XXXXXX", text[400];
        listener l = {0};
        assert_non_null(mkdtemp(dir));
        snprintf(text, sizeof text, JOB("momentum") "method: {name: %s, period: 4}\n", methods[i]);
        play(text, 3, dir, NULL);
        drop_checkpoint(dir, 12);
        assert_int_equal(play(text, 2, dir, &l).step, 12);
        if (!strstr(l.notes, "each begins with the centre")) fail_msg("%s", l.notes);
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    }
}

/* Running statistics are in it: their variance must stay one whatever rho is. */
static void a_net_with_batch_norm_is_tested_at_its_centre(void **state)
{
    (void)state;
    char text[400];
    for (int i = 0; i < NMETHODS; i++) {
        snprintf(text, sizeof text,
                 "model: convnet-bn\ndata: {set: digits, train_samples: 120, test_samples: 40}\nbatch: 12\nsteps: 10\n"
                 "optimiser: {rule: momentum, lr: 0.02}\nmethod: {name: %s%s}\n",
                 methods[i], i < NELASTIC ? ", rho: 30" : "");
        const tutti_train_result r = play(text, 2, NULL, NULL);
        assert_true(isfinite(r.loss) && r.accuracy >= 0 && r.accuracy <= 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_alone_that_nothing_pulls_is_sgd_to_the_bit),
        cmocka_unit_test(a_centre_that_nothing_pulls_stays),
        cmocka_unit_test(what_overlaps_changes_no_bit),
        cmocka_unit_test(who_has_the_centre_changes_no_bit_between_two_ranks),
        cmocka_unit_test(two_runs_give_equal_hashes),
        cmocka_unit_test(an_outer_rate_of_1_without_momentum_is_local_sgd_but_for_rounding),
        cmocka_unit_test(a_run_goes_on_inside_a_period_to_the_bit),
        cmocka_unit_test(another_number_of_ranks_begins_at_the_centre_and_says_so),
        cmocka_unit_test(a_net_with_batch_norm_is_tested_at_its_centre),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
