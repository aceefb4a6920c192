/* SPDX-License-Identifier: Apache-2.0 */
/* test_merged_threads.c: what buckets must not change (bits of direct sums), and what resuming must not (buckets).
 * Ranks are threads of this program. */
#include "testing.h"

#include "base/file.h"
#include "played_job.h"
#include "training/run/keep/checkpoint_impl.h"

#define JOB                                                                                                            \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 20}\nbatch: 12\nsteps: 4\n"                     \
    "optimiser: {lr: 0.05}\ncheckpoint: {every_steps: 2, keep: 5}\n"

static uint64_t bits_of(const char *text, int nranks, const char *dir)
{
    played_job j = {.text = text, .nranks = nranks, .dir = dir};
    play_job(&j);
    for (int r = 0; r < nranks; r++)
        if (j.err[r].status) fail_msg("rank %d: %s", r, j.err[r].text);
    return j.result[0].weights_hash;
}

static void buckets_change_no_bit_of_direct_sums(void **state)
{
    (void)state;
    for (int nranks = 3; nranks <= 4; nranks++) {
        const uint64_t want = bits_of(JOB "exchange: {algorithm: direct}\n", nranks, NULL);
        assert_true(want == bits_of(JOB "exchange: {algorithm: direct, bucket_bytes: 0}\n", nranks, NULL));
        assert_true(want == bits_of(JOB "exchange: {algorithm: direct, buckets: one}\n", nranks, NULL));
        assert_true(want == bits_of(JOB "exchange: {algorithm: direct, buckets: layer}\n", nranks, NULL));
        assert_true(want == bits_of(JOB "exchange: {algorithm: direct, buckets: soonest}\n", nranks, NULL));
        assert_true(want ==
                    bits_of(JOB "exchange: {algorithm: direct, bucket_bytes: 0, order: priority}\n", nranks, NULL));
    }
}

static tutti_manifest manifest_of(const char *dir, int step)
{
    tutti_manifest m;
    tutti_failure err = {0};
    char *path = tutti_checkpoint_path("%s/checkpoints/step_%09d", dir, step);
    if (tutti_manifest_read(path, &m, &err)) fail_msg("%s", err.text);
    free(path);
    return m;
}

/* Measured times never come out the same twice: a plan with the same hash was merged by the same costs. A ring adds
 * each element in an order that depends on its bucket. */
static void a_resumed_run_has_the_buckets_and_the_bits_that_it_had(void **state)
{
    (void)state;
    static const char job[] = JOB "exchange: {algorithm: ring, buckets: soonest}\n";
    char dir[] = "/tmp/tutti-merged-XXXXXX";
    assert_non_null(mkdtemp(dir));
    const uint64_t want = bits_of(job, 3, dir);
    const tutti_manifest whole = manifest_of(dir, 4);
    assert_true(manifest_of(dir, 2).plan_hash == whole.plan_hash);

    char *last = tutti_checkpoint_path("%s/checkpoints/step_%09d", dir, 4);
    tutti_failure err = {0};
    if (tutti_file_remove_tree(last, &err)) fail_msg("%s", err.text);
    free(last);
    assert_true(bits_of(job, 3, dir) == want);
    assert_true(manifest_of(dir, 4).plan_hash == whole.plan_hash);

    bits_of(JOB "exchange: {algorithm: ring, buckets: soonest}\nseed: 1\nlog_every: 1\n", 2,
            dir); /* nothing is left to do */
    if (tutti_file_remove_tree(dir, &err)) fail_msg("%s", err.text);
    bits_of(job, 3, dir);
    assert_true(manifest_of(dir, 4).plan_hash != whole.plan_hash); /* measured again */
    if (tutti_file_remove_tree(dir, &err)) fail_msg("%s", err.text);
}

/* Whatever the run was begun with: another processor, which would choose otherwise, goes on so, too. */
static void a_resumed_run_keeps_what_was_chosen(void **state)
{
    (void)state;
    static const char *const begun[] = {JOB "exchange: {algorithm: ring, update: replicated, buckets: layer}\n",
                                        JOB "exchange: {algorithm: bruck, buckets: one, order: priority}\n",
                                        JOB "exchange: {algorithm: direct, cut: [1, 3], update: sharded}\n"};
    for (int i = 0; i < 3; i++) {
        char dir[] = "/tmp/tutti-kept-XXXXXX";
        tutti_failure err = {0};
        assert_non_null(mkdtemp(dir));
        const uint64_t want = bits_of(begun[i], 3, dir);
        const tutti_manifest whole = manifest_of(dir, 4);
        char *last = tutti_checkpoint_path("%s/checkpoints/step_%09d", dir, 4);
        if (tutti_file_remove_tree(last, &err)) fail_msg("%s", err.text);
        free(last);
        assert_true(bits_of(JOB, 3, dir) == want);
        assert_true(manifest_of(dir, 4).plan_hash == whole.plan_hash);
        if (tutti_file_remove_tree(dir, &err)) fail_msg("%s", err.text);
    }
}

static void canonical_sums_have_the_same_bits_whatever_is_chosen(void **state)
{
    (void)state;
#define CANONICAL JOB "reduction: canonical\nslots: 4\n"
    static const char *const ways[] = {CANONICAL, CANONICAL "exchange: {algorithm: halving-doubling, buckets: one}\n",
                                       CANONICAL "exchange: {algorithm: binomial, cut: [2, 2]}\n",
                                       CANONICAL "exchange: {algorithm: direct, buckets: layer, update: replicated}\n"};
    const uint64_t want = bits_of(ways[0], 2, NULL);
    for (int i = 0; i < 4; i++) assert_true(bits_of(ways[i], 4, NULL) == want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_change_no_bit_of_direct_sums),
        cmocka_unit_test(a_resumed_run_keeps_what_was_chosen),
        cmocka_unit_test(canonical_sums_have_the_same_bits_whatever_is_chosen),
        cmocka_unit_test(a_resumed_run_has_the_buckets_and_the_bits_that_it_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
