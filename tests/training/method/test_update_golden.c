/* SPDX-License-Identifier: Apache-2.0 */
/* test_update_golden.c: 20 steps of every rule on given gradients are those of PyTorch in float64, weights after each step and what the
 * rule keeps at the end. tests/golden/updates/<rule>.safetensors come from tests/oracle/update_golden.py; states are found there by name. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "training/method/rule.h"
#include "training/run/checkpoint.h"

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
            fail_msg("%s, %s[%d]: %.9g, PyTorch has %.9g", rule, what, i, (double)have[i], (double)want[i]);
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
        tutti_update_apply(u, &now, kind, &slice);
        compare(u->rule->name, what, w, path + (size_t)step * N);
    }
    for (int s = 0; s < u->rule->nstates && kind == TUTTI_PARAM_WEIGHT; s++)
        compare(u->rule->name, u->rule->states[s], state[s], tensor(st, u->rule->name, u->rule->states[s], N));
}

static void play_both(const tutti_update *u)
{
    char *bytes = NULL, path[256];
    size_t nbytes = 0;
    tutti_safetensors *st = NULL;
    tutti_failure err = {0};
    snprintf(path, sizeof path, TUTTI_SOURCE_DIR "/tests/golden/updates/%s.safetensors", u->rule->name);
    if (tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &bytes, &nbytes, &err) ||
        tutti_safetensors_parse(path, bytes, nbytes, &st, &err))
        fail_msg("%s", err.text);
    play(st, u, TUTTI_PARAM_WEIGHT);
    play(st, u, TUTTI_PARAM_BIAS);
    tutti_safetensors_destroy(st);
    free(bytes);
}

static void every_rule_does_what_pytorch_does(void **state)
{
    (void)state;
    for (int r = 0; tutti_rule_at(r); r++) {
        tutti_update u = {.rule = tutti_rule_at(r), .weight_decay = 0.1};
        for (int i = 0; i < TUTTI_RULE_MAX_KEYS && u.rule->keys[i]; i++)
            u.value[i] = strtod(u.rule->keys[i]->initial, NULL);
        play_both(&u);
    }
}

static tutti_update adamw(double decay)
{
    return (tutti_update){.rule = tutti_rule_find("adamw"), .value = {0.9, 0.999, 1e-8}, .weight_decay = decay};
}

/* The reason why averages move by a share of their distance: 0.999 and 0.001 in f32 do not add up to 1, and beta2 * v + (1 - beta2) * g * g
 * is 5e-6 off after these steps. */
static void averages_of_equal_gradients_rest_exactly(void **state)
{
    (void)state;
    const tutti_update u = adamw(0);
    const float g = 0.3f;
    float w = 1, m = g, v = g * g;
    const tutti_update_slice slice = {.w = &w, .state = {&m, &v}, .sum = &g, .n = 1};
    for (int step = 1; step <= 10000; step++)
        tutti_update_apply(&u, &(tutti_update_step){.lr = 1e-5, .unscale = 1, .nupdates = step}, TUTTI_PARAM_BIAS,
                           &slice);
    assert_true(m == g && v == g * g && w < 1);
}

static void a_weight_without_gradients_only_decays(void **state)
{
    (void)state;
    const tutti_update u = adamw(0.5);
    const float g = 0;
    float w[2] = {1, 1}, m = 0, v = 0;
    const tutti_update_step first = {.lr = 0.5, .unscale = 1, .nupdates = 1};
    tutti_update_apply(&u, &first, TUTTI_PARAM_WEIGHT,
                       &(tutti_update_slice){.w = &w[0], .state = {&m, &v}, .sum = &g, .n = 1});
    tutti_update_apply(&u, &first, TUTTI_PARAM_BIAS,
                       &(tutti_update_slice){.w = &w[1], .state = {&m, &v}, .sum = &g, .n = 1});
    assert_true(w[0] == 0.75f && w[1] == 1);
}

/* At the first step m / sqrt(v) is the sign of the gradient, at any later one too if all were equal: only with the right count of updates
 * are both corrections right. */
static void the_first_step_is_as_long_as_the_rate(void **state)
{
    (void)state;
    const tutti_update u = adamw(0);
    const float g = -0.001f;
    float w = 0, m = 0, v = 0;
    const tutti_update_slice slice = {.w = &w, .state = {&m, &v}, .sum = &g, .n = 1};
    for (int step = 1; step <= 50; step++) {
        tutti_update_apply(&u, &(tutti_update_step){.lr = 0.01, .unscale = 1, .nupdates = step}, TUTTI_PARAM_WEIGHT,
                           &slice);
        assert_true(fabs((double)w - 0.01 * step) < 2e-5 * 0.01 * step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_does_what_pytorch_does),
        cmocka_unit_test(averages_of_equal_gradients_rest_exactly),
        cmocka_unit_test(a_weight_without_gradients_only_decays),
        cmocka_unit_test(the_first_step_is_as_long_as_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
