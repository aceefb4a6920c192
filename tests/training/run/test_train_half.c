/* SPDX-License-Identifier: Apache-2.0 */
/* test_train_half.c: whole small runs with activations of 16 bits, on ranks that are threads: they learn what f32
 * learns. */
#include "testing.h"

#include <math.h>

#include "played_job.h"

#define MLP                                                                                                            \
    "model: mlp\ndata: {set: digits, train_samples: 960, test_samples: 400}\nbatch: 32\nsteps: 60\n"                   \
    "optimiser: {rule: momentum, lr: 0.05}\n"
#define NORM                                                                                                           \
    "model: convnet-bn\ndata: {set: digits, train_samples: 32, test_samples: 10}\nbatch: 8\nsteps: 2\n"                \
    "optimiser: {rule: momentum, lr: 0.02}\nreduction: canonical\nslots: 4\n"

static void play(played_job *j, const char *text, int nranks)
{
    *j = (played_job){.text = text, .nranks = nranks};
    play_job(j);
    for (int r = 0; r < nranks; r++) {
        if (j->err[r].status) fail_msg("rank %d: %s", r, j->err[r].text);
        assert_true(j->result[r].weights_hash == j->result[0].weights_hash);
    }
}

/* Noise: four seeds of start weights ended between 0.67 and 0.74 in f32. */
static void bf16_and_f16_end_within_noise_of_f32(void **state)
{
    (void)state;
    static const char *const texts[] = {MLP, MLP "precision: bf16\n", MLP "precision: f16\n"};
    played_job j[3];
    for (int i = 0; i < 3; i++) play(&j[i], texts[i], 2);
    assert_true(j[0].result[0].accuracy > 0.6);
    for (int i = 1; i < 3; i++) {
        assert_true(j[i].result[0].weights_hash != j[0].result[0].weights_hash);
        assert_true(fabs(j[i].result[0].accuracy - j[0].result[0].accuracy) < 0.03);
    }
}

static void canonical_sums_give_the_same_bits_at_any_rank_count_with_16_bits_too(void **state)
{
    (void)state;
    static const char *const texts[] = {NORM "precision: bf16\n", NORM "precision: f16\n"};
    for (int i = 0; i < 2; i++) {
        played_job one, some;
        play(&one, texts[i], 1);
        for (int nranks = 2; nranks <= 4; nranks += 2) {
            play(&some, texts[i], nranks);
            assert_true(some.result[0].weights_hash == one.result[0].weights_hash);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_and_f16_end_within_noise_of_f32),
        cmocka_unit_test(canonical_sums_give_the_same_bits_at_any_rank_count_with_16_bits_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
