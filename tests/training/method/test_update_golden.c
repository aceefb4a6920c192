/* SPDX-License-Identifier: Apache-2.0 */
/* test_update_golden.c: 20 steps of every rule on given gradients are those of PyTorch in float64, weights after each
 * step and what the rule keeps at the end. tests/golden/updates/<rule>.safetensors come from
 * tests/oracle/update_golden.py, of the rules that go by norms, which PyTorch has not, from
 * tests/oracle/norm_golden.py, which has them from their papers; states are found there by name. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "training/method/rule/rule.h"
#include "training/run/train.h"

enum { N = 16, STEPS = 20 };

static const float *tensor(const tutti_safetensors *st, const char *rule, const char *what, int64_t want)
{
    const tutti_tensor_ref *t = tutti_safetensors_find(st, what);
    if (!t || tutti_shape_count(&t->shape) != want) fail_msg("%s, %s: missing or of another size", rule, what);
    return t->data;
}

static void compare(const char *rule, const char *what, const float *have, const float *want)
{
    for (int i = 0; i < N; i++)
        if (!(fabs((double)have[i] - (double)want[i]) <= 1e-6))
            fail_msg("%s, %s[%d]: %.9g, the golden file has %.9g", rule, what, i, (double)have[i], (double)want[i]);
}

/* One step; of a rule that goes by norms the slice is the whole tensor. */
static void step_by(const tutti_update *u, tutti_update_step now, tutti_param_kind kind,
                    const tutti_update_slice *slice)
{
    int64_t numbers[TUTTI_RULE_LOOKED] = {0};
    now.trust = 1;
    if (u->rule->trust && kind == TUTTI_PARAM_WEIGHT) {
        float prepared[TUTTI_RULE_MAX_NUMBERS];
        tutti_update_prepare(u, &now, kind, prepared);
        assert_true(tutti_update_look(u->rule, prepared, slice, numbers));
        now.trust = tutti_update_trust(u, &now, numbers);
    }
    tutti_update_apply(u, &now, kind, slice);
}

static void play(const tutti_safetensors *st, const tutti_update *u, tutti_param_kind kind)
{
    const char *what = kind == TUTTI_PARAM_WEIGHT ? "weight" : "bias";
    const float *path = tensor(st, u->rule->name, what, STEPS * N);
    float w[N], state[TUTTI_RULE_MAX_STATES][N] = {{0}}, g[N];
    tutti_update_slice slice = {.w = w, .sum = g, .n = N};
    for (int s = 0; s < u->rule->nstates; s++) slice.state[s] = state[s];
    for (int i = 0; i < N; i++) w[i] = (float)(i - 8) / 16;
    for (int step = 0; step < STEPS; step++) {
        const tutti_update_step now = {.lr = 0.01, .unscale = 0.5, .nupdates = step + 1};
        for (int i = 0; i < N; i++) g[i] = (float)((7 * i + 3 * step) % 11 - 5) / 4;
        step_by(u, now, kind, &slice);
        compare(u->rule->name, what, w, path + (size_t)step * N);
    }
    for (int s = 0; s < u->rule->nstates && kind == TUTTI_PARAM_WEIGHT; s++)
        compare(u->rule->name, u->rule->states[s], state[s], tensor(st, u->rule->name, u->rule->states[s], N));
}

static tutti_safetensors *golden(const char *name, char **bytes)
{
    char path[256];
    size_t nbytes = 0;
    tutti_safetensors *st = NULL;
    tutti_failure err = {0};
    snprintf(path, sizeof path, TUTTI_SOURCE_DIR "/tests/golden/updates/%s.safetensors", name);
    if (tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, bytes, &nbytes, &err) ||
        tutti_safetensors_parse(path, *bytes, nbytes, &st, &err))
        fail_msg("%s", err.text);
    return st;
}

static void play_both(const tutti_update *u)
{
    char *bytes = NULL;
    tutti_safetensors *st = golden(u->rule->name, &bytes);
    play(st, u, TUTTI_PARAM_WEIGHT);
    play(st, u, TUTTI_PARAM_BIAS);
    tutti_safetensors_destroy(st);
    free(bytes);
}

static void every_rule_does_what_its_reference_does(void **state)
{
    (void)state;
    for (int r = 0; tutti_rule_at(r); r++) {
        tutti_update u = {.rule = tutti_rule_at(r), .weight_decay = 0.1};
        for (int i = 0; i < TUTTI_RULE_MAX_KEYS && u.rule->keys[i]; i++)
            u.value[i] = tutti_rule_key_initial(u.rule->keys[i]);
        play_both(&u);
    }
}

/* A trust of 0.25 and rates of 0.5 and 0.125: steps that are long enough to be told apart. */
static void both_forms_of_lars_differ_when_the_rate_falls(void **state)
{
    (void)state;
    char *bytes = NULL;
    tutti_safetensors *st = golden("lars-falling", &bytes);
    float last[2][N];
    for (int scaled = 0; scaled < 2; scaled++) {
        const tutti_update u = {.rule = tutti_rule_find("lars"), .value = {0.9, 0.25, scaled}, .weight_decay = 0.1};
        const float *path = tensor(st, "lars", scaled ? "scaled" : "unscaled", STEPS * N);
        float w[N], v[N] = {0}, g[N];
        const tutti_update_slice slice = {.w = w, .state = {v}, .sum = g, .n = N};
        for (int i = 0; i < N; i++) w[i] = (float)(i - 8) / 16;
        for (int step = 0; step < STEPS; step++) {
            for (int i = 0; i < N; i++) g[i] = (float)((7 * i + 3 * step) % 11 - 5) / 4;
            step_by(&u, (tutti_update_step){.lr = step < 10 ? 0.5 : 0.125, .unscale = 0.5}, TUTTI_PARAM_WEIGHT, &slice);
            compare(scaled ? "lars" : "lars, unscaled", "weight", w, path + (size_t)step * N);
        }
        memcpy(last[scaled], w, sizeof w);
    }
    assert_true(fabsf(last[0][1] - last[1][1]) > 1e-3f);
    tutti_safetensors_destroy(st);
    free(bytes);
}

static void a_tensor_without_a_norm_is_not_scaled(void **state)
{
    (void)state;
    static const char *const rules[] = {"lars", "lamb"};
    for (int r = 0; r < 2; r++)
        for (int zeros = 0; zeros < 2; zeros++) { /* of the weights; of the gradients */
            const tutti_update u = {.rule = tutti_rule_find(rules[r]), .value = {0.5, 0.5, 1e-8}};
            const tutti_update_step now = {.lr = 0.5, .unscale = 1, .nupdates = 1};
            int64_t numbers[TUTTI_RULE_LOOKED] = {0};
            float w = zeros ? 4 : 0, g = zeros ? 0 : 2, kept[2] = {0};
            const tutti_update_slice slice = {.w = &w, .state = {&kept[0], &kept[1]}, .sum = &g, .n = 1};
            float prepared[TUTTI_RULE_MAX_NUMBERS];
            tutti_update_prepare(&u, &now, TUTTI_PARAM_WEIGHT, prepared);
            assert_true(tutti_update_look(u.rule, prepared, &slice, numbers));
            assert_true(tutti_update_trust(&u, &now, numbers) == 1);
        }
}

static tutti_update adamw(double decay)
{
    return (tutti_update){.rule = tutti_rule_find("adamw"), .value = {0.9, 0.999, 1e-8}, .weight_decay = decay};
}

/* The reason why averages move by a share of their distance: 0.999 and 0.001 in f32 do not add up to 1, and beta2 * v +
 * (1 - beta2) * g * g is 5e-6 off after these steps. */
static void averages_of_equal_gradients_rest_exactly(void **state)
{
    (void)state;
    const tutti_update u = adamw(0);
    const float g = 0.3f;
    float w = 1, m = g, v = g * g;
    const tutti_update_slice slice = {.w = &w, .state = {&m, &v}, .sum = &g, .n = 1};
    for (int step = 1; step <= 10000; step++)
        tutti_update_apply(&u, &(tutti_update_step){.lr = 1e-5, .unscale = 1, .trust = 1, .nupdates = step},
                           TUTTI_PARAM_BIAS, &slice);
    assert_true(m == g && v == g * g && w < 1);
}

static void a_weight_without_gradients_only_decays(void **state)
{
    (void)state;
    const tutti_update u = adamw(0.5);
    const float g = 0;
    float w[2] = {1, 1}, m = 0, v = 0;
    const tutti_update_step first = {.lr = 0.5, .unscale = 1, .trust = 1, .nupdates = 1};
    tutti_update_apply(&u, &first, TUTTI_PARAM_WEIGHT,
                       &(tutti_update_slice){.w = &w[0], .state = {&m, &v}, .sum = &g, .n = 1});
    tutti_update_apply(&u, &first, TUTTI_PARAM_BIAS,
                       &(tutti_update_slice){.w = &w[1], .state = {&m, &v}, .sum = &g, .n = 1});
    assert_true(w[0] == 0.75f && w[1] == 1);
}

/* At the first step m / sqrt(v) is the sign of the gradient, at any later one too if all were equal: only with the
 * right count of updates are both corrections right. */
static void the_first_step_is_as_long_as_the_rate(void **state)
{
    (void)state;
    const tutti_update u = adamw(0);
    const float g = -0.001f;
    float w = 0, m = 0, v = 0;
    const tutti_update_slice slice = {.w = &w, .state = {&m, &v}, .sum = &g, .n = 1};
    for (int step = 1; step <= 50; step++) {
        tutti_update_apply(&u, &(tutti_update_step){.lr = 0.01, .unscale = 1, .trust = 1, .nupdates = step},
                           TUTTI_PARAM_WEIGHT, &slice);
        assert_true(fabs((double)w - 0.01 * step) < 2e-5 * 0.01 * step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_does_what_its_reference_does),
        cmocka_unit_test(both_forms_of_lars_differ_when_the_rate_falls),
        cmocka_unit_test(a_tensor_without_a_norm_is_not_scaled),
        cmocka_unit_test(averages_of_equal_gradients_rest_exactly),
        cmocka_unit_test(a_weight_without_gradients_only_decays),
        cmocka_unit_test(the_first_step_is_as_long_as_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
