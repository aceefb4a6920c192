/* SPDX-License-Identifier: Apache-2.0 */
/* test_freeze_threads.c: frozen parameters stay as they are, and all others move as they do beside parameters whose
 * rate is 0, to the bit, by every method and rule; they are in checkpoints as weights and not as states; what they
 * would leave out of account is left out. Ranks are threads. */
#include "testing.h"

#include <math.h>

#include "played_weights.h"
#include "refused_groups.h"
#include "training/run/keep/keep.h"

#define SMALL "data: {set: digits, train_samples: 160, test_samples: 40}\nbatch: 40\nsteps: 4\nmodel: mlp\n"
/* With batch norms, whose statistics move in frozen layers too. */
#define NORMS "data: {set: digits, train_samples: 32, test_samples: 8}\nbatch: 16\nsteps: 2\nmodel: convnet-bn\n"

static uint64_t bits_with(const char *job, const char *optimiser, const char *group, int nranks)
{
    char text[700];
    snprintf(text, sizeof text, "%soptimiser: {%s, groups: {%s}}\n", job, optimiser, group);
    return bits_of(text, nranks);
}

/* patterns[0] freezes what patterns[1] gives a rate of 0. */
static void expect_alike(const char *job, const char *optimiser, const char *const patterns[2], int nranks)
{
    const uint64_t frozen = bits_with(job, optimiser, patterns[0], nranks);
    if (frozen != bits_with(job, optimiser, patterns[1], nranks))
        fail_msg("%s: %s differs from %s", job, patterns[0], patterns[1]);
    assert_true(frozen != bits_with(job, optimiser, "rate: {\"*\": 1}", nranks));
}

static const char *const lowest[] = {"freeze: {fc1: true}", "rate: {fc1: 0}"},
                         *const highest[] = {"freeze: {fc2: true}", "rate: {fc2: 0}"},
                         *const in_part[] = {"freeze: {fc1.weight: true, fc2.bias: true}",
                                             "rate: {fc1.weight: 0, fc2.bias: 0}"},
                         *const all_but_one[] = {"freeze: {\"*\": true, fc1.bias: false}",
                                                 "rate: {\"*\": 0, fc1.bias: 1}"};

static void others_move_as_beside_a_rate_of_0_by_every_rule(void **state)
{
    (void)state;
    static const char *const rules[] = {"rule: sgd, lr: 0.02",
                                        "rule: momentum, lr: 0.02, weight_decay: 0.125",
                                        "rule: nesterov, lr: 0.02",
                                        "rule: adamw, lr: 0.01",
                                        "rule: lars, lr: 1, trust: 0.05",
                                        "rule: lamb, lr: 0.01"};
    for (int r = 0; r < 6; r++) {
        expect_alike(SMALL, rules[r], lowest, 2);
        expect_alike(SMALL, rules[r], highest, 2);
        expect_alike(SMALL, rules[r], in_part, 1);
        expect_alike(SMALL, rules[r], all_but_one, 2);
    }
}

static bool has_period(const tutti_method_row *m)
{
    for (int i = 0; tutti_method_key_name(m, i); i++)
        if (!strcmp(tutti_method_key_name(m, i), "method.period")) return true;
    return false;
}

/* One rank where workers come as they like, so that there is one order; else two, whose mean is exact. */
static void others_move_as_beside_a_rate_of_0_by_every_method(void **state)
{
    (void)state;
    const tutti_method_row *m;
    for (int i = 0; (m = tutti_method_at(i)); i++)
        for (int period = 1; period <= 2; period++) {
            char job[400];
            const tutti_plan_config c = {.period = period, .nstates = 1, .staleness = 2};
            if (m->accept(&c, NULL) || (period == 2 && !has_period(m))) continue;
            snprintf(job, sizeof job, SMALL "method: {name: %s%s}\n", m->name, period == 2 ? ", period: 2" : "");
            expect_alike(job, "rule: momentum, lr: 0.02", in_part, m->is_async ? 1 : 2);
        }
}

static void others_move_as_beside_a_rate_of_0_however_it_is_exchanged(void **state)
{
    (void)state;
    static const char *const ways[] = {"exchange: {update: replicated}",
                                       "exchange: {update_when: early}",
                                       "exchange: {order: priority, buckets: one}",
                                       "accumulate: 2",
                                       "reduction: canonical\nslots: 4",
                                       "loss_scale: dynamic"};
    for (int i = 0; i < 6; i++) {
        char job[400];
        snprintf(job, sizeof job, SMALL "%s\n", ways[i]);
        expect_alike(job, "lr: 0.02", lowest, 2);
        expect_alike(job, "lr: 0.02", in_part, 2);
    }
}

/* Merged ReLUs mask the gradient in the pass that a frozen layer leaves out; batch norms make both gradients by the
 * same sums. */
static void others_move_as_beside_a_rate_of_0_above_and_below_batch_norms(void **state)
{
    (void)state;
    static const char *const middle[] = {"freeze: {conv2: true, bn2: true}", "rate: {conv2: 0, bn2: 0}"},
                             *const norms[] = {"freeze: {\"bn*\": true}", "rate: {\"bn*\": 0}"},
                             *const body[] = {"freeze: {\"*\": true, fc2: false}", "rate: {\"*\": 0, fc2: 1}"},
                             *const scales[] = {"freeze: {\"*.weight\": true}", "rate: {\"*.weight\": 0}"};
    static const char *const *const all[] = {middle, norms, body, scales};
    for (int i = 0; i < 4; i++) {
        expect_alike(NORMS, "lr: 0.02", all[i], 2);
        expect_alike(NORMS "fuse: false\n", "lr: 0.02", all[i], 1);
        expect_alike(NORMS "precision: bf16\n", "lr: 0.02", all[i], 1);
    }
}

static void canonical_bits_do_not_depend_on_the_rank_count(void **state)
{
    (void)state;
    static const int counts[] = {2, 3, 4, 5, 8};
    static const char job[] = NORMS "reduction: canonical\nslots: 8\n", *const optimisers[] = {
                                                                            "lr: 0.02, clip_norm: 0.5",
                                                                            "rule: lars, lr: 1, trust: 0.05"};
    for (int o = 0; o < 2; o++) {
        const uint64_t one = bits_with(job, optimisers[o], "freeze: {conv2: true, bn1: true, fc1.bias: true}", 1);
        for (int i = 0; i < 5; i++)
            assert_true(bits_with(job, optimisers[o], "freeze: {conv2: true, bn1: true, fc1.bias: true}", counts[i]) ==
                        one);
    }
}

/* ---- what lies in checkpoints ---- */

enum { FC1_BIAS = 128, FC1 = 128 + 128 * 784, FC2 = 10 + 1280 }; /* tensors are sorted by name */

static float *trained(const char *job, int nranks, const char *file, size_t *n, bool *has_state)
{
    char dir[] = "/tmp/tutti-freeze-XXXXXX";
    assert_non_null(mkdtemp(dir));
    play(job, nranks, dir, NULL);
    float *values = weights_in(dir, file, n);
    if (has_state) {
        size_t nstate;
        float *kept = weights_in(dir, "momentum", &nstate);
        *has_state = nstate != FC2;
        free(kept);
    }
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    return values;
}

static void checkpoints_hold_frozen_weights_and_no_states_of_them(void **state)
{
    (void)state;
    static const char job[] = "model: mlp\ndata: {set: digits, train_samples: 160, test_samples: 40}\nbatch: 40\n"
                              "optimiser: {lr: %s, groups: {freeze: {fc1: true}}}\nsteps: 4\n%s";
    static const char *const methods[] = {"",
                                          "method: {name: local-sgd, period: 2}\n",
                                          "method: {name: diloco, period: 2}\n",
                                          "method: sync-easgd2\n",
                                          "method: easgd\n",
                                          "method: async-easgd\n",
                                          "method: async-sgd\n"};
    for (int m = 0; m < 7; m++) {
        char text[600], still[600];
        size_t n, nstill;
        bool has_state = false;
        snprintf(text, sizeof text, job, "0.05", methods[m]);
        snprintf(still, sizeof still, job, "1e-30", "");
        float *a = trained(text, 2, "weights", &n, m < 1 ? &has_state : NULL),
              *b = trained(still, 1, "weights", &nstill, NULL);
        assert_false(has_state);
        assert_int_equal(n, FC1 + FC2);
        assert_int_equal(nstill, FC1 + FC2);
        assert_memory_equal(a, b, FC1 * sizeof(float));
        int nmoved = 0;
        for (size_t i = FC1; i < n; i++) nmoved += a[i] != b[i];
        assert_true(nmoved > 1000);
        free(a), free(b);
    }
}

static void a_resumed_run_ends_as_one_that_was_not_stopped(void **state)
{
    (void)state;
    static const char *const methods[] = {"", "method: {name: local-sgd, period: 2}\n", "method: sync-easgd1\n"};
    for (int m = 0; m < 3; m++) {
        char dir[] = "/tmp/tutti-freeze-XXXXXX", text[600];
        assert_non_null(mkdtemp(dir));
        snprintf(text, sizeof text,
                 SMALL
                 "checkpoint: {every_steps: 2, keep: 9}\n%soptimiser: {lr: 0.05, groups: {freeze: {fc1: true}}}\n",
                 methods[m]);
        const uint64_t whole = play(text, 2, dir, NULL).weights_hash;
        drop_checkpoint(dir, 4);
        assert_true(play(text, 2, dir, NULL).weights_hash == whole);
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    }
}

static void another_choice_of_frozen_parameters_is_another_job(void **state)
{
    (void)state;
    char *differ = tutti_jobs_differ("optimiser:\n  groups:\n    freeze: {fc1: true}\n",
                                     "optimiser:\n  groups:\n    freeze: {fc2: true}\n", NULL);
    assert_non_null(differ);
    assert_non_null(strstr(differ, "optimiser.groups.freeze.fc1 is true there, absent here"));
    free(differ);
}

/* ---- what counts ---- */

/* By SGD of rate 1 one step is as long as the clipped gradient: that of what is not frozen. */
static void gradients_are_clipped_by_what_is_learned(void **state)
{
    (void)state;
    static const char job[] =
        "model: mlp\ndata: {set: digits, train_samples: 160, test_samples: 40}\nbatch: 40\nsteps: 1\n"
        "optimiser: {rule: sgd, lr: %s, clip_norm: 0.125, groups: {freeze: {fc1: true}}}\n";
    char text[600], still[600];
    size_t n, nstill;
    double squares = 0;
    snprintf(text, sizeof text, job, "1");
    snprintf(still, sizeof still, job, "1e-30");
    float *a = trained(text, 2, "weights", &n, NULL), *b = trained(still, 2, "weights", &nstill, NULL);
    for (size_t i = 0; i < n; i++) squares += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    assert_true(fabs(sqrt(squares) - 0.125) < 1e-5);
    free(a), free(b);
}

/* ---- what is refused ---- */

static void what_makes_no_sense_is_refused_with_its_place(void **state)
{
    (void)state;
    expect_groups_refused(
        SMALL, "freeze: {\"*\": true}",
        "j.yaml: line 8: optimiser.groups.freeze: every learned parameter of model mlp is frozen: there is "
        "nothing to train");
    expect_groups_refused(SMALL, "freeze: {fc3: true}",
                          "j.yaml: line 8: optimiser.groups.freeze: 'fc3' fits no learned parameter of "
                          "model mlp; did you mean 'fc1'?");
    expect_groups_refused(SMALL, "freeze: {\"conv*\": true}",
                          "line 8: optimiser.groups.freeze: 'conv*' fits no learned parameter of "
                          "model mlp; 'tutti plan JOB' lists their names");
    expect_groups_refused(SMALL, "freeze: {fc1: 1}",
                          "line 8: optimiser.groups.freeze: '1' of 'fc1' is neither true nor false");
    expect_groups_refused(SMALL, "freeze: {\"\": true}",
                          "line 8: optimiser.groups.freeze: an empty pattern; '*' is for all");
    expect_groups_refused(SMALL, "freeze: [fc1]", "line 8: optimiser.groups.freeze: one value is needed, not a list");
    expect_groups_refused(SMALL, "{rate: {fc1: 2}, freeze: {fc1: true}}",
                          "line 8: optimiser.groups.rate: 'fc1' fits no learned parameter of model mlp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_move_as_beside_a_rate_of_0_by_every_rule),
        cmocka_unit_test(others_move_as_beside_a_rate_of_0_by_every_method),
        cmocka_unit_test(others_move_as_beside_a_rate_of_0_however_it_is_exchanged),
        cmocka_unit_test(others_move_as_beside_a_rate_of_0_above_and_below_batch_norms),
        cmocka_unit_test(canonical_bits_do_not_depend_on_the_rank_count),
        cmocka_unit_test(checkpoints_hold_frozen_weights_and_no_states_of_them),
        cmocka_unit_test(a_resumed_run_ends_as_one_that_was_not_stopped),
        cmocka_unit_test(another_choice_of_frozen_parameters_is_another_job),
        cmocka_unit_test(gradients_are_clipped_by_what_is_learned),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
