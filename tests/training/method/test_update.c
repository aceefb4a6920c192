/* SPDX-License-Identifier: Apache-2.0 */
/* test_update.c: the update rules against numbers worked out by hand (exact in f32), and equal bits at any offset. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "training/method/method.h"

/* Two steps with w = 2, gradient 1, lr 0.5, momentum 0.5, decay 0.25. */
static void two_steps(tutti_rule rule, tutti_param_kind kind, float want_first, float want_second)
{
    const tutti_update u = {.rule = rule, .momentum = 0.5, .weight_decay = 0.25};
    float w = 2, v = 0;
    const float g = 1;
    tutti_update_apply(&u, kind, 0.5f, 1, &w, rule == TUTTI_RULE_SGD ? NULL : &v, &g, 1);
    assert_true(w == want_first);
    tutti_update_apply(&u, kind, 0.5f, 1, &w, rule == TUTTI_RULE_SGD ? NULL : &v, &g, 1);
    assert_true(w == want_second);
}

static void the_rules_give_what_pytorch_gives(void **state)
{
    (void)state;
    two_steps(TUTTI_RULE_SGD, TUTTI_PARAM_WEIGHT, 1.25f, 0.59375f);
    two_steps(TUTTI_RULE_MOMENTUM, TUTTI_PARAM_WEIGHT, 1.25f, 0.21875f);
    two_steps(TUTTI_RULE_NESTEROV, TUTTI_PARAM_WEIGHT, 0.875f, -0.2265625f);
}

static void biases_are_not_decayed(void **state)
{
    (void)state;
    two_steps(TUTTI_RULE_SGD, TUTTI_PARAM_BIAS, 1.5f, 1);
}

enum { N = 101 };

static void slices_of_any_cut_give_the_bits_of_the_whole(void **state)
{
    (void)state;
    float w[N], v[N], g[N], whole_w[N], whole_v[N];
    for (int i = 0; i < N; i++) {
        const tutti_random4 r = tutti_random(1, TUTTI_STREAM_TEST, (uint64_t)i, 0);
        w[i] = tutti_random_unit(r.word[0]) - 0.5f;
        v[i] = tutti_random_unit(r.word[1]) - 0.5f;
        g[i] = tutti_random_unit(r.word[2]) - 0.5f;
    }
    for (int rule = TUTTI_RULE_SGD; rule <= TUTTI_RULE_NESTEROV; rule++) {
        const tutti_update u = {.rule = (tutti_rule)rule, .momentum = 0.9, .weight_decay = 5e-4};
        memcpy(whole_w, w, sizeof w);
        memcpy(whole_v, v, sizeof v);
        tutti_update_apply(&u, TUTTI_PARAM_WEIGHT, 0.1f, 1, whole_w, whole_v, g, N);
        for (int cut = 0; cut <= N; cut++) {
            float cut_w[N], cut_v[N];
            memcpy(cut_w, w, sizeof w);
            memcpy(cut_v, v, sizeof v);
            tutti_update_apply(&u, TUTTI_PARAM_WEIGHT, 0.1f, 1, cut_w, cut_v, g, cut);
            tutti_update_apply(&u, TUTTI_PARAM_WEIGHT, 0.1f, 1, cut_w + cut, cut_v + cut, g + cut, N - cut);
            assert_memory_equal(cut_w, whole_w, sizeof w);
            assert_memory_equal(cut_v, whole_v, sizeof v);
        }
    }
}

static void a_statistic_moves_towards_the_mean_over_slots(void **state)
{
    (void)state;
    float w = 8;
    const float sum = 16;
    tutti_update_statistic(0.25, 4, &w, &sum, 1);
    assert_true(w == 7); /* 0.75 * 8 + 0.25 * 16 / 4 */
}

static void a_control_number_forgets_even_a_nan(void **state)
{
    (void)state;
    float w = NAN;
    const float sum = 6;
    tutti_update_statistic(1, 3, &w, &sum, 1);
    assert_true(w == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rules_give_what_pytorch_gives),
        cmocka_unit_test(biases_are_not_decayed),
        cmocka_unit_test(slices_of_any_cut_give_the_bits_of_the_whole),
        cmocka_unit_test(a_statistic_moves_towards_the_mean_over_slots),
        cmocka_unit_test(a_control_number_forgets_even_a_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
