/* SPDX-License-Identifier: Apache-2.0 */
/* test_methods_threads.c: what methods and ways of updating must have in common: bits where they are promised, else
 * losses. Ranks are threads of this program. */
#include "testing.h"

#include <math.h>

#include "collective/compile/algorithms.h"
#include "played_weights.h"

#define JOB(rule)                                                                                                      \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 12\nsteps: 12\n"                    \
    "optimiser: {rule: " rule ", lr: 0.05}\ncheckpoint: {every_steps: 5, keep: 9}\n"

static void replicated_updates_give_the_bits_of_sharded_ones(void **state)
{
    (void)state;
    static const int direct[] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        assert_true(bits_of(JOB("momentum") "exchange: {algorithm: direct}\n", direct[i]) ==
                    bits_of(JOB("momentum") "exchange: {algorithm: direct, update: replicated}\n", direct[i]));
    for (int nranks = 2; nranks <= 4; nranks += 2)
        assert_true(bits_of(JOB("adamw") "exchange: {algorithm: halving-doubling}\n", nranks) ==
                    bits_of(JOB("adamw") "exchange: {algorithm: halving-doubling, update: replicated}\n", nranks));
}

static void canonical_bits_do_not_depend_on_who_updates(void **state)
{
    (void)state;
    const uint64_t want = bits_of(JOB("adamw") "reduction: canonical\nslots: 4\n", 1);
    for (int nranks = 1; nranks <= 4; nranks++)
        assert_true(want ==
                    bits_of(JOB("adamw") "reduction: canonical\nslots: 4\nexchange: {update: replicated}\n", nranks));
}

#define CLIPPED "optimiser: {rule: adamw, lr: 0.01, clip_norm: 0.5}\n"
#define CLIPPED_JOB                                                                                                    \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 40\nsteps: 8\n" CLIPPED

static void clipped_bits_do_not_depend_on_ranks_updates_or_buckets(void **state)
{
    (void)state;
    static const int ranks[] = {2, 3, 4, 5, 8};
    const uint64_t want = bits_of(CLIPPED_JOB "reduction: canonical\nslots: 8\n", 1);
    assert_true(want !=
                bits_of("model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 40\nsteps: 8\n"
                        "optimiser: {rule: adamw, lr: 0.01}\nreduction: canonical\nslots: 8\n",
                        1));
    for (int i = 0; i < 5; i++) assert_true(want == bits_of(CLIPPED_JOB "reduction: canonical\nslots: 8\n", ranks[i]));
    assert_true(want == bits_of(CLIPPED_JOB "reduction: canonical\nslots: 8\nexchange: {update: replicated}\n", 3));
    assert_true(want == bits_of(CLIPPED_JOB "reduction: canonical\nslots: 8\nexchange: {bucket_bytes: 0}\n", 3));
    assert_true(bits_of(CLIPPED_JOB "exchange: {algorithm: direct}\n", 4) ==
                bits_of(CLIPPED_JOB "exchange: {algorithm: direct, update: replicated}\n", 4));
}

#define NORMS_JOB(rule)                                                                                                \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 40\nsteps: 8\n"                     \
    "optimiser: {lr: 0.02, weight_decay: 0.01, " rule "}\n"

/* Norms of tensors that lie in slices on all ranks, and in several buckets: 8 slots on 1, 2, 3, 4, 5 and 8 ranks. */
static void bits_by_norms_of_tensors_do_not_depend_on_ranks_updates_or_buckets(void **state)
{
    (void)state;
    static const char *const jobs[] = {NORMS_JOB("rule: lars, trust: 0.5"),
                                       NORMS_JOB("rule: lars, trust: 0.5, scaled_momentum: false"),
                                       NORMS_JOB("rule: lamb")};
    static const char *const plain[] = {NORMS_JOB("rule: momentum"), NORMS_JOB("rule: momentum"),
                                        NORMS_JOB("rule: adamw")};
    static const int ranks[] = {2, 3, 4, 5, 8};
#define CANONICAL "reduction: canonical\nslots: 8\n"
    for (int j = 0; j < 3; j++) {
        char text[600];
        snprintf(text, sizeof text, "%s" CANONICAL, jobs[j]);
        const uint64_t want = bits_of(text, 1);
        for (int i = 0; i < 5; i++) assert_true(want == bits_of(text, ranks[i]));
        snprintf(text, sizeof text, "%s" CANONICAL "exchange: {update: replicated}\n", jobs[j]);
        assert_true(want == bits_of(text, 3));
        snprintf(text, sizeof text, "%s" CANONICAL "exchange: {bucket_bytes: 0}\n", jobs[j]);
        assert_true(want == bits_of(text, 3));
        snprintf(text, sizeof text, "%s" CANONICAL, plain[j]);
        assert_true(want != bits_of(text, 1));
    }
#undef CANONICAL
}

static void early_updates_give_the_bits_of_late_ones(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 4; nranks++)
        assert_true(bits_of(JOB("adamw") "exchange: {bucket_bytes: 0, update_when: late}\n", nranks) ==
                    bits_of(JOB("adamw") "exchange: {bucket_bytes: 0, update_when: early}\n", nranks));
    assert_true(bits_of(JOB("momentum") "reduction: canonical\nslots: 4\n", 1) ==
                bits_of(JOB("momentum") "reduction: canonical\nslots: 4\n"
                                        "exchange: {bucket_bytes: 0, order: priority, update_when: early}\n",
                        4));
}

static void expect_loss_of(const char *keys, int nranks, double want)
{
    char text[500];
    snprintf(text, sizeof text, JOB("momentum") "exchange: {update: replicated, algorithm: %s}\n", keys);
    const double loss = play(text, nranks, NULL, NULL).loss;
    if (!(fabs(loss - want) <= 1e-4 * want)) fail_msg("%s: loss %.8f, sharded %.8f", keys, loss, want);
}

static void every_algorithm_with_an_allreduce_trains(void **state)
{
    (void)state;
    const double want = play(JOB("momentum"), 4, NULL, NULL).loss;
    int n = 0;
    for (int i = 0; i < tutti_algorithm_count(); i++) {
        const tutti_algorithm *a = tutti_algorithm_at(i);
        char keys[100];
        if (!(a->collectives >> TUTTI_ALLREDUCE & 1)) continue;
        snprintf(keys, sizeof keys, "%s%s", a->name, a->is_bound ? ", topology: 'dgx1v,gpus=0.1.2.4'" : "");
        expect_loss_of(keys, 4, want);
        n++;
    }
    assert_true(n >= 16);
    expect_loss_of("hybrid, bucket_bytes: 0, hybrid_bytes: 1KiB", 4, want);
    expect_loss_of("hybrid, buckets: soonest", 4, want); /* costs are measured by both */
}

static void trees_train_on_every_network(void **state)
{
    (void)state;
    static const char *const networks[] = {"bigraph,switches=4,hosts=2", "torus,x=2,y=2", "fat-tree,leaves=2,hosts=2",
                                           "cluster,hosts=2,ranks=2",    "dgx2",          "star"};
    const double want = play(JOB("momentum"), 4, NULL, NULL).loss;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        char keys[100];
        snprintf(keys, sizeof keys, "trees, topology: '%s'", networks[i]);
        expect_loss_of(keys, 4, want);
    }
}

static void local_sgd_of_one_rank_is_sgd_to_the_bit(void **state)
{
    (void)state;
    assert_true(bits_of(JOB("momentum"), 1) == bits_of(JOB("momentum") "method: {name: local-sgd, period: 3}\n", 1));
}

static void averages_after_every_step_are_synchronous_sgd_but_for_rounding(void **state)
{
    (void)state;
    char dirs[2][32] = {"/tmp/tutti-methods-XXXXXX", "/tmp/tutti-methods-XXXXXX"};
    static const char *const jobs[] = {JOB("sgd"), JOB("sgd") "method: {name: local-sgd, period: 1}\n"};
    float *weights[2];
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        assert_non_null(mkdtemp(dirs[i]));
        play(jobs[i], 3, dirs[i], NULL);
        weights[i] = weights_in(dirs[i], "weights", &n[i]);
        assert_int_equal(tutti_file_remove_tree(dirs[i], NULL), TUTTI_OK);
    }
    assert_int_equal(n[0], n[1]);
    for (size_t i = 0; i < n[0]; i++) assert_true(fabsf(weights[0][i] - weights[1][i]) <= 1e-6f);
    free(weights[0]), free(weights[1]);
}

/* Step 5 lies inside the second period of 4. */
static void local_sgd_goes_on_inside_a_period_to_the_bit(void **state)
{
    (void)state;
    static const char *const averages[] = {"weights", "all"};
    for (int i = 0; i < 2; i++) {
        char dir[] = "/tmp/tutti-methods-XXXXXX", text[400];
        listener l = {0};
        assert_non_null(mkdtemp(dir));
        snprintf(text, sizeof text, JOB("momentum") "method: {name: local-sgd, period: 4, average: %s}\n", averages[i]);
        const uint64_t want = play(text, 3, dir, NULL).weights_hash;
        drop_checkpoint(dir, 12);
        drop_checkpoint(dir, 10);
        assert_true(play(text, 3, dir, &l).weights_hash == want);
        assert_string_equal(l.notes, "");
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    }
}

static void another_number_of_ranks_begins_at_the_mean_and_says_so(void **state)
{
    (void)state;
    static const char text[] = JOB("momentum") "method: {name: local-sgd, period: 4}\n";
    char dir[] = "/tmp/tutti-methods-XXXXXX";
    listener l = {0};
    assert_non_null(mkdtemp(dir));
    play(text, 3, dir, NULL);
    drop_checkpoint(dir, 12);
    const tutti_train_result r = play(text, 2, dir, &l);
    assert_int_equal(r.step, 12);
    if (!strstr(l.notes, "each begins with the mean of the weights")) fail_msg("%s", l.notes);
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicated_updates_give_the_bits_of_sharded_ones),
        cmocka_unit_test(canonical_bits_do_not_depend_on_who_updates),
        cmocka_unit_test(clipped_bits_do_not_depend_on_ranks_updates_or_buckets),
        cmocka_unit_test(bits_by_norms_of_tensors_do_not_depend_on_ranks_updates_or_buckets),
        cmocka_unit_test(early_updates_give_the_bits_of_late_ones),
        cmocka_unit_test(every_algorithm_with_an_allreduce_trains),
        cmocka_unit_test(trees_train_on_every_network),
        cmocka_unit_test(local_sgd_of_one_rank_is_sgd_to_the_bit),
        cmocka_unit_test(averages_after_every_step_are_synchronous_sgd_but_for_rounding),
        cmocka_unit_test(local_sgd_goes_on_inside_a_period_to_the_bit),
        cmocka_unit_test(another_number_of_ranks_begins_at_the_mean_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
