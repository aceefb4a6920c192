/* SPDX-License-Identifier: Apache-2.0 */
/* test_norms_threads.c: rules that go by norms of tensors beside what else a run may have: checkpoints, a wire, 16 bits
 * with skipped steps, micro-batches, workers with weights of their own. Ranks are threads of this program. */
#include "testing.h"

#include <math.h>

#include "played_weights.h"

#define JOB(model, rule)                                                                                               \
    "model: " model "\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 12\nsteps: 8\n"               \
    "optimiser: {lr: 0.02, weight_decay: 0.01, " rule "}\ncheckpoint: {every_steps: 3, keep: 9}\n"
static const char *const jobs[] = {JOB("convnet-bn", "rule: lars, trust: 0.5"),
                                   JOB("convnet-bn", "rule: lars, trust: 0.5, scaled_momentum: false"),
                                   JOB("convnet-bn", "rule: lamb")};
enum { NJOBS = sizeof jobs / sizeof *jobs };

static void a_run_goes_on_to_the_bit_on_another_number_of_ranks_too(void **state)
{
    (void)state;
    for (int j = 0; j < NJOBS; j++) {
        char dir[] = "/tmp/tutti-norms-XXXXXX", text[500];
        snprintf(text, sizeof text, "%sreduction: canonical\nslots: 4\n", jobs[j]);
        assert_non_null(mkdtemp(dir));
        const uint64_t want = play(text, 2, dir, NULL).weights_hash;
        drop_checkpoint(dir, 8);
        drop_checkpoint(dir, 6);
        assert_true(play(text, 3, dir, NULL).weights_hash == want);
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    }
}

static void hosts_give_the_bits_of_one_host(void **state)
{
    (void)state;
    for (int j = 0; j < NJOBS; j++) {
        char text[500];
        snprintf(text, sizeof text, "%sreduction: canonical\nslots: 4\n", jobs[j]);
        played_job wired = {.text = text, .nranks = 3, .wired = true};
        play_job(&wired);
        for (int r = 0; r < 3; r++)
            if (wired.err[r].status) fail_msg("rank %d: %s", r, wired.err[r].text);
        assert_true(wired.result[0].weights_hash == bits_of(text, 2));
    }
}

static void count_skipped(void *arg, const tutti_train_event *e)
{
    int64_t *skipped = arg;
    if (e->kind == TUTTI_TRAIN_STEP && e->skipped > *skipped) *skipped = e->skipped;
}

/* The scale begins at 65536 and doubles after each clean step: some are skipped, by all ranks alike, and weights stay
 * numbers. */
static void skipped_steps_spoil_no_norm(void **state)
{
    (void)state;
    static const char *const methods[] = {"sync-sgd", "{name: local-sgd, period: 2}"};
    for (int j = 0; j < NJOBS; j++)
        for (int m = 0; m < 2; m++) {
            char text[600];
            int64_t skipped = 0;
            snprintf(text, sizeof text, "%sprecision: f16\nloss_scale_interval: 1\nmethod: %s\n", jobs[j], methods[m]);
            played_job p = {.text = text, .nranks = 2, .on_event = count_skipped, .on_event_arg = &skipped};
            play_job(&p);
            if (p.err[0].status || p.err[1].status) fail_msg("%s%s", p.err[0].text, p.err[1].text);
            assert_true(p.result[0].weights_hash == p.result[1].weights_hash);
            if (!(skipped > 0 && skipped < 8 && p.result[0].loss < 2.4))
                fail_msg("%s: %d skipped, loss %g", text, (int)skipped, p.result[0].loss);
        }
}

static void a_loss_scale_that_is_a_power_of_two_changes_no_bit(void **state)
{
    (void)state;
    for (int j = 0; j < NJOBS; j++) {
        char text[500];
        snprintf(text, sizeof text, "%sloss_scale: 1024\n", jobs[j]);
        assert_true(bits_of(text, 2) == bits_of(jobs[j], 2));
    }
}

static void workers_with_weights_of_their_own_go_by_their_own_norms(void **state)
{
    (void)state;
    for (int j = 0; j < NJOBS; j++) {
        char text[500];
        snprintf(text, sizeof text, "%smethod: {name: local-sgd, period: 3}\n", jobs[j]);
        assert_true(bits_of(text, 1) == bits_of(jobs[j], 1));
        assert_true(bits_of(text, 2) != bits_of(jobs[j], 2));
        snprintf(text, sizeof text, "%smethod: {name: easgd, rho: 0, period: 8}\n", jobs[j]); /* nobody is pulled */
        assert_true(play(text, 2, NULL, NULL).loss < 2.4);
    }
}

static void two_micro_batches_give_the_bits_of_two_ranks(void **state)
{
    (void)state;
    for (int j = 0; j < NJOBS; j++) {
        char text[500];
        snprintf(text, sizeof text, "%saccumulate: 2\n", jobs[j]);
        assert_true(bits_of(text, 1) == bits_of(jobs[j], 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_on_to_the_bit_on_another_number_of_ranks_too),
        cmocka_unit_test(hosts_give_the_bits_of_one_host),
        cmocka_unit_test(skipped_steps_spoil_no_norm),
        cmocka_unit_test(a_loss_scale_that_is_a_power_of_two_changes_no_bit),
        cmocka_unit_test(workers_with_weights_of_their_own_go_by_their_own_norms),
        cmocka_unit_test(two_micro_batches_give_the_bits_of_two_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
