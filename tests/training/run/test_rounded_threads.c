/* SPDX-License-Identifier: Apache-2.0 */
/* test_rounded_threads.c: training whose gradients travel in 16 bits: the same bits over memory and over a wire, bytes
 * counted as the plan counts them, steps skipped where f16 overflows, runs that go on to the bit. Ranks are threads of
 * this program. */
#include "testing.h"

#include <math.h>

#include "played_weights.h"

enum { NSTEPS = 12 };

#define JOB_OF(extra, keys)                                                                                            \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 48\nsteps: 12\n"                    \
    "optimiser: {rule: momentum, lr: 0.02}\ncheckpoint: {every_steps: 5, keep: 9}\n" extra                             \
    "exchange: {bucket_bytes: 300KiB, " keys "}\n"
#define JOB(keys) JOB_OF("", keys)

static uint64_t wired_bits_of(const char *text, int nranks)
{
    played_job j = {.text = text, .nranks = nranks, .wired = true};
    play_job(&j);
    for (int r = 0; r < nranks; r++)
        if (j.err[r].status) fail_msg("rank %d: %s", r, j.err[r].text);
    return j.result[0].weights_hash;
}

static void what_is_rounded_has_the_same_bits_over_memory_and_over_a_wire(void **state)
{
    (void)state;
    static const char *const jobs[] = {JOB("precision: bf16"), JOB("precision: f16"),
                                       JOB("precision: bf16, update: replicated")};
    const uint64_t plain = bits_of(JOB("precision: f32"), 3);
    assert_true(bits_of(JOB("update: sharded"), 3) == plain); /* off unless said */
    for (int i = 0; i < 3; i++) {
        const uint64_t bits = bits_of(jobs[i], 3);
        assert_true(bits != plain);
        assert_true(wired_bits_of(jobs[i], 3) == bits);
    }
    assert_true(wired_bits_of(JOB("precision: bf16, update_when: early"), 3) == bits_of(jobs[0], 3));
    /* replicated sums are rounded once more */
    assert_true(bits_of(jobs[0], 3) != bits_of(jobs[2], 3));
}

/* Groups' sums are rounded where they leave the group, so what two ranks of one have is summed as it is. */
static void groups_of_ranks_round_their_sums(void **state)
{
    (void)state;
    static const char *const updates[] = {"sharded", "replicated"};
    for (int u = 0; u < 2; u++) {
        char text[700], f16[700], plain[700];
        snprintf(text, sizeof text, JOB("algorithm: \"two-level,group=2\", precision: bf16, update: %s"), updates[u]);
        snprintf(f16, sizeof f16,
                 JOB_OF("loss_scale: 1073741824\n", "algorithm: two-level, precision: f16, update: %s"), updates[u]);
        snprintf(plain, sizeof plain, JOB("algorithm: \"two-level,group=2\", update: %s"), updates[u]);
        const tutti_train_result r = play(text, 4, NULL, NULL), f32 = play(plain, 4, NULL, NULL);
        assert_true(r.weights_hash != f32.weights_hash && fabs(r.loss - f32.loss) < 0.01 * f32.loss);
        assert_true(bits_of(text, 4) == r.weights_hash);
        assert_true(isfinite(play(f16, 4, NULL, NULL).loss)); /* every step is skipped */
    }
}

/* Replicated by direct the one sum is rounded once whatever is asked for; by others the partial sums are, too, and the
 * run still learns. */
static void each_sum_is_rounded_by_any_algorithm_with_the_same_bits_over_memory_and_over_a_wire(void **state)
{
    (void)state;
    static const char *const jobs[] = {
        JOB("rounding: each, precision: bf16, algorithm: ring"),
        JOB("rounding: each, precision: f16, algorithm: halving-doubling"),
        JOB("rounding: each, precision: bf16, algorithm: \"hierarchical,group=3\", update: replicated"),
        JOB("rounding: each, precision: bf16, algorithm: ring, update: replicated")};
    const tutti_train_result plain = play(JOB("precision: f32"), 3, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        const tutti_train_result r = play(jobs[i], 3, NULL, NULL);
        assert_true(r.weights_hash != plain.weights_hash && fabs(r.loss - plain.loss) < 0.05 * plain.loss);
        assert_true(wired_bits_of(jobs[i], 3) == r.weights_hash);
    }
    assert_true(bits_of(JOB("rounding: each, precision: bf16, algorithm: direct, update: replicated"), 3) ==
                bits_of(JOB("precision: bf16, algorithm: direct, update: replicated"), 3));
    assert_true(bits_of(jobs[3], 3) != bits_of(JOB("precision: bf16, update: replicated"), 3));
}

/* A rank alone rounds too: what is sent does not depend on whether anybody gets it. Nothing is added to it, so rounding
 * its sum changes nothing. */
static void one_rank_rounds_like_many(void **state)
{
    (void)state;
    const uint64_t sharded = bits_of(JOB("precision: bf16"), 1);
    assert_true(sharded != bits_of(JOB("precision: f32"), 1));
    assert_true(sharded == bits_of(JOB("precision: bf16, update: replicated"), 1));
    /* micro-batches are summed before they are rounded: not as ranks, which round each */
    assert_true(bits_of(JOB_OF("accumulate: 2\n", "precision: f32"), 1) == bits_of(JOB("precision: f32"), 2));
    assert_true(bits_of(JOB_OF("accumulate: 2\n", "precision: bf16"), 1) != bits_of(JOB("precision: bf16"), 2));
}

static double last_number(const char *dir, const char *key)
{
    char *path = tutti_checkpoint_path("%s/metrics.jsonl", dir), *text, quoted[64];
    size_t nbytes;
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &text, &nbytes, NULL), TUTTI_OK);
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = NULL;
    for (const char *next = text; (next = strstr(next, quoted)); next++) at = next;
    assert_non_null(at);
    const double value = strtod(at + strlen(quoted), NULL);
    free(text), free(path);
    return value;
}

static tutti_train_result play_in(const char *dir, const char *text, int nranks)
{
    const tutti_train_result r = play(text, nranks, dir, NULL);
    assert_int_equal(r.step, NSTEPS);
    return r;
}

/* mlp on 3 ranks: 101,776 elements with padding, in buckets; control numbers 48, one-shot. Each rank reads its slices
 * from two others, and theirs of the weights; sharded three quarters of the bytes of f32 are left, replicated half. */
static void runs_count_the_bytes_that_the_formula_says(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int there, back; /* bytes of an element */
    } cases[] = {{JOB("algorithm: rule, precision: f32, update: sharded"), 4, 4},
                 {JOB("algorithm: rule, precision: bf16, update: sharded"), 2, 4},
                 {JOB("algorithm: rule, precision: bf16, update: replicated"), 2, 2},
                 {JOB("algorithm: rule, update: replicated"), 4, 4}};
    const int64_t total = 1296 + 100352 + 128; /* fc2's two parameters; fc1's, one a bucket */
    for (int i = 0; i < 4; i++) {
        char dir[] = "/tmp/tutti-rounded-XXXXXX";
        assert_non_null(mkdtemp(dir));
        play_in(dir, cases[i].text, 3);
        assert_int_equal((int64_t)last_number(dir, "exchanged_bytes"),
                         NSTEPS * (2 * total * (cases[i].there + cases[i].back) + 3 * 2 * 48 * 4));
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    }
}

/* 2^30 times a gradient is beyond f16, not beyond bf16: with the one no weight ever changes, and all ranks say so. */
static void gradients_beyond_f16_skip_the_step_on_all_ranks_and_bf16_takes_them(void **state)
{
    (void)state;
    static const char *const updates[] = {"sharded", "replicated"};
    for (int u = 0; u < 2; u++) {
        char f16[700], bf16[700], before[700], dir[] = "/tmp/tutti-rounded-XXXXXX";
        snprintf(f16, sizeof f16, JOB_OF("loss_scale: 1073741824\n", "precision: f16, update: %s"), updates[u]);
        snprintf(bf16, sizeof bf16, JOB_OF("loss_scale: 1073741824\n", "precision: bf16, update: %s"), updates[u]);
        snprintf(before, sizeof before, JOB("precision: bf16, update: %s"), updates[u]);
        assert_non_null(mkdtemp(dir));
        play_in(dir, f16, 2);
        assert_int_equal((int)last_number(dir, "skipped"), NSTEPS);
        size_t n;
        float *weights = weights_in(dir, "weights", &n), *states = weights_in(dir, "momentum", &n);
        for (size_t i = 0; i < n; i++) assert_true(isfinite(weights[i]) && states[i] == 0);
        free(weights), free(states);
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
        assert_true(bits_of(bf16, 2) == bits_of(before, 2)); /* a power of two changes no bit of what is rounded */
    }
}

/* The scale begins where f16 overflows, falls until it does not, and the run learns. */
static void a_dynamic_scale_finds_what_f16_can_hold(void **state)
{
    (void)state;
    char dir[] = "/tmp/tutti-rounded-XXXXXX";
    assert_non_null(mkdtemp(dir));
    const tutti_train_result r = play_in(dir, JOB("precision: f16"), 2),
                             plain = play_in(NULL, JOB("precision: f32"), 2);
    const double skipped = last_number(dir, "skipped"), scale = last_number(dir, "loss_scale");
    assert_true(scale == ldexp(65536, -(int)skipped));
    assert_true(isfinite(r.loss) && skipped < NSTEPS && fabs(r.loss - plain.loss) < 0.5 * plain.loss);
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

static void rules_by_norms_and_clipping_go_by_the_f32_sums(void **state)
{
    (void)state;
    static const char *const keys[] = {"rule: momentum, clip_norm: 0.25", "rule: lars, trust: 0.05", "rule: lamb"};
    for (int i = 0; i < 3; i++) {
        tutti_train_result r[2];
        for (int n = 0; n < 2; n++) {
            char text[600];
            snprintf(text, sizeof text,
                     "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 48\nsteps: 8\n"
                     "optimiser: {lr: 0.02, %s}\nexchange: {precision: %s}\n",
                     keys[i], n ? "f32" : "bf16");
            r[n] = play(text, 2, NULL, NULL);
        }
        assert_true(r[0].weights_hash != r[1].weights_hash && fabs(r[0].loss - r[1].loss) < 0.01 * r[1].loss);
    }
}

static void a_run_goes_on_to_the_bit_and_in_no_other_precision(void **state)
{
    (void)state;
    static const char *const jobs[] = {JOB("precision: bf16"), JOB("precision: f16"),
                                       JOB("precision: bf16, update: replicated")};
    for (int i = 0; i < 3; i++) {
        char dir[] = "/tmp/tutti-rounded-XXXXXX";
        assert_non_null(mkdtemp(dir));
        const uint64_t want = play_in(dir, jobs[i], 2).weights_hash;
        drop_checkpoint(dir, 12);
        played_job other = {.text = JOB("precision: f32"), .nranks = 2, .dir = dir};
        play_job(&other);
        assert_true(other.err[0].status && strstr(other.err[0].text, "precision"));
        drop_checkpoint(dir, 10);
        assert_true(play_in(dir, jobs[i], 2).weights_hash == want); /* from step 5 */
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_rounded_has_the_same_bits_over_memory_and_over_a_wire),
        cmocka_unit_test(groups_of_ranks_round_their_sums),
        cmocka_unit_test(each_sum_is_rounded_by_any_algorithm_with_the_same_bits_over_memory_and_over_a_wire),
        cmocka_unit_test(one_rank_rounds_like_many),
        cmocka_unit_test(runs_count_the_bytes_that_the_formula_says),
        cmocka_unit_test(gradients_beyond_f16_skip_the_step_on_all_ranks_and_bf16_takes_them),
        cmocka_unit_test(a_dynamic_scale_finds_what_f16_can_hold),
        cmocka_unit_test(rules_by_norms_and_clipping_go_by_the_f32_sums),
        cmocka_unit_test(a_run_goes_on_to_the_bit_and_in_no_other_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
