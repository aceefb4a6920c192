/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_canonical.c: `reduction: canonical`: the same bits at any rank count up to slots, with any algorithm of
 * the class and any bucket size, for a net with batch norm and dropout and for LeNet. Small buckets, halving and
 * doubling, LeNet and AdamW take two rank counts each, and all with TUTTI_LONG. */
#include "testing.h"

#include "spawned_run.h"

static const char job[] = "data: {set: digits, train_samples: 96, test_samples: 20}\n"
                          "batch: 32\nsteps: 4\nreduction: canonical\nslots: 8\n"
                          "optimiser: {rule: momentum, lr: 0.02, weight_decay: 0.0005}\n";

static void train(const run_folder *f, const char *model, int ranks, const char *more, char hash[17])
{
    char text[512], path[160], words[512];
    snprintf(text, sizeof text, "model: %s\n%s", model, job);
    snprintf(words, sizeof words, "train %s --quiet --fresh --out %s/out --ranks %d %s",
             run_file(f, "job.yaml", text, path), f->dir, ranks, more);
    run_to_end(f, "train", words, hash);
}

static void expect_hash(const char *want, const char *have, const char *model, int ranks, const char *more)
{
    if (strcmp(want, have) != 0) fail_msg("%s at %d ranks (%s): weights %s, not %s", model, ranks, more, have, want);
}

static void expect_same_bits(const run_folder *f, const char *model, const int *ranks, int n, const char *more)
{
    char want[17], have[17];
    train(f, model, 1, "", want);
    for (int i = 0; i < n; i++) {
        train(f, model, ranks[i], more, have);
        expect_hash(want, have, model, ranks[i], more);
    }
}

static const int any[] = {1, 2, 3, 4, 5, 8}, powers[] = {1, 2, 4, 8}, few[] = {3, 8}, few_powers[] = {2, 8};

static void expect_same_bits_at_some(const run_folder *f, const char *model, bool of_powers, const char *more)
{
    const bool is_long = getenv("TUTTI_LONG");
    if (of_powers)
        expect_same_bits(f, model, is_long ? powers : few_powers, is_long ? 4 : 2, more);
    else
        expect_same_bits(f, model, is_long ? any : few, is_long ? 6 : 2, more);
}

static void direct_gives_the_same_bits_at_any_rank_count(void **state)
{
    expect_same_bits(*state, "convnet-bn", any, 6, "--set exchange.algorithm=direct");
}

static void small_buckets_change_no_bit(void **state)
{
    expect_same_bits_at_some(*state, "convnet-bn", false, "--set exchange.bucket_bytes=4KiB");
}

static void halving_and_doubling_gives_the_bits_of_direct(void **state)
{
    expect_same_bits_at_some(*state, "convnet-bn", true, "--set exchange.algorithm=halving-doubling");
    expect_same_bits_at_some(*state, "convnet-bn", true,
                             "--set exchange.algorithm=halving-doubling --set exchange.bucket_bytes=4KiB");
}

static void lenet_too_has_the_same_bits_at_any_rank_count(void **state)
{
    expect_same_bits_at_some(*state, "lenet", false, "");
}

static void adamw_too_has_the_same_bits_at_any_rank_count(void **state)
{
    const char *rule = "--set optimiser.rule=adamw --set optimiser.lr=0.002";
    char plain[17], want[17], have[17];
    train(*state, "convnet-bn", 1, "", plain);
    train(*state, "convnet-bn", 1, rule, want);
    assert_string_not_equal(plain, want);
    for (int i = 1; i < 6; i++) {
        if (!getenv("TUTTI_LONG") && any[i] != 2 && any[i] != 5) continue;
        train(*state, "convnet-bn", any[i], rule, have);
        expect_hash(want, have, "convnet-bn", any[i], rule);
    }
}

/* Else the tests above could not fail. */
static void another_seed_gives_other_bits(void **state)
{
    char a[17], b[17];
    train(*state, "convnet-bn", 2, "", a);
    train(*state, "convnet-bn", 2, "--seed 2", b);
    assert_string_not_equal(a, b);
}

static void ring_is_refused_with_the_reason(void **state)
{
    const run_folder *f = *state;
    char text[512], path[160], words[512];
    snprintf(text, sizeof text, "model: mlp\n%s", job);
    snprintf(words, sizeof words, "train %s --out %s/out --ranks 2 --set exchange.algorithm=ring",
             run_file(f, "job.yaml", text, path), f->dir);
    const spawned_run r = run_start(f, "ring", words);
    assert_int_equal(run_wait(&r), TUTTI_ERR_USAGE);
    char *log = run_log(&r);
    assert_non_null(strstr(log, "ring"));
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(direct_gives_the_same_bits_at_any_rank_count, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(small_buckets_change_no_bit, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(halving_and_doubling_gives_the_bits_of_direct, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(lenet_too_has_the_same_bits_at_any_rank_count, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(adamw_too_has_the_same_bits_at_any_rank_count, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(another_seed_gives_other_bits, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(ring_is_refused_with_the_reason, run_folder_make, run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
