/* SPDX-License-Identifier: Apache-2.0 */
/* test_update.c: the update rules against numbers worked out by hand (exact in f32), and equal bits at any offset. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "tensor/elementwise_impl.h"
#include "training/method/update_impl.h"

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

/* As the formulas in update.c have it, one element at a time. */
static void expect_element(const tutti_update_call *c, float *w, float *v, float sum)
{
    const float g = c->unscale * sum + c->decay * *w;
    if (c->rule != TUTTI_RULE_SGD) *v = c->mu * *v + g;
    *w -= c->lr * (c->rule == TUTTI_RULE_SGD ? g : c->rule == TUTTI_RULE_MOMENTUM ? *v : g + c->mu * *v);
}

static bool is_usable(const char *name)
{
    for (int i = 0; i < tutti_elementwise_nrows; i++)
        if (strcmp(tutti_elementwise_rows[i]->name, name) == 0) return tutti_elementwise_rows[i]->usable();
    return false;
}

static void every_row_gives_the_bits_of_the_formulas(void **state)
{
    (void)state;
    for (int r = 0; r < tutti_update_nrows; r++)
        for (int rule = TUTTI_RULE_SGD; rule <= TUTTI_RULE_NESTEROV; rule++)
            for (int n = 0; n <= 40 && is_usable(tutti_update_rows[r]->name); n++) {
                float w[40], v[40], sum[40], want_w[40], want_v[40];
                tutti_update_call c = {(tutti_rule)rule, 5e-4f, 0.9f, 0.1f, 0.25f, w, v, sum, n};
                for (int i = 0; i < 40; i++) {
                    const tutti_random4 drawn = tutti_random(2, TUTTI_STREAM_TEST, (uint64_t)i, (uint64_t)n);
                    want_w[i] = w[i] = tutti_random_unit(drawn.word[0]) - 0.5f;
                    want_v[i] = v[i] = tutti_random_unit(drawn.word[1]) - 0.5f;
                    sum[i] = tutti_random_unit(drawn.word[2]) - 0.5f;
                    if (i < n) expect_element(&c, &want_w[i], &want_v[i], sum[i]);
                }
                if (rule == TUTTI_RULE_SGD) c.v = NULL;
                tutti_update_rows[r]->apply(&c);
                assert_memory_equal(w, want_w, sizeof w);
                assert_memory_equal(v, want_v, sizeof v);
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
        cmocka_unit_test(every_row_gives_the_bits_of_the_formulas),
        cmocka_unit_test(a_statistic_moves_towards_the_mean_over_slots),
        cmocka_unit_test(a_control_number_forgets_even_a_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
