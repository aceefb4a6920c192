/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_play.c: plays loops of shipped models (plan_player.h), with every engine there is: sharing memory changes
 * no bit, and in canonical mode neither does the number of ranks. */
#include "plan_player.h"

static void sharing_memory_changes_no_bit(void **state)
{
    (void)state;
    static const char *const models[] = {"mlp", "convnet-bn", "lenet"};
    for (int e = 0; e < 2 && is_built(engines[e]); e++)
        for (int m = 0; m < 2 + e; m++) { /* lenet on the fast engine only: tests are to be short */
            const scene sc = {.model = models[m], .engine = engines[e], .nranks = 2, .slots = 4};
            int64_t count;
            float *unshared = step(&sc, false, &count);
            expect_same_bits(&sc, unshared, count);
            free(unshared);
        }
}

static void canonical_gradients_do_not_depend_on_the_number_of_ranks(void **state)
{
    (void)state;
    for (int e = 0; e < 2 && is_built(engines[e]); e++)
        for (int slots = 2; slots <= 16; slots *= 8) {
            int64_t count;
            scene sc = {.model = e ? "convnet-bn" : "mlp", .engine = engines[e], .nranks = 1, .slots = slots};
            float *alone = step(&sc, true, &count);
            for (sc.nranks = 2; sc.nranks <= slots; sc.nranks += sc.nranks < 5 ? 1 : 4)
                expect_same_bits(&sc, alone, count);
            free(alone);
        }
}

static void control_numbers_are_sums_over_the_global_batch(void **state)
{
    (void)state;
    int64_t count;
    const scene sc = {.model = "mlp", .engine = "reference", .nranks = 3, .slots = 8};
    float *sum = step(&sc, true, &count);
    const float loss = sum[count - 3], correct = sum[count - 2], stop = sum[count - 1];
    assert_true(loss > 0.5f * BATCH && loss < 10.0f * BATCH); /* log 10 = 2.3 a sample for an untrained net */
    assert_true(correct >= 0 && correct <= BATCH && correct == floorf(correct));
    assert_true(stop == 0);
    free(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharing_memory_changes_no_bit),
        cmocka_unit_test(canonical_gradients_do_not_depend_on_the_number_of_ranks),
        cmocka_unit_test(control_numbers_are_sums_over_the_global_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
