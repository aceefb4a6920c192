/* SPDX-License-Identifier: Apache-2.0 */
/* test_update.c: the update rules against numbers worked out by hand (exact in f32), and equal bits at any offset. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tensor/isa.h"
#include "training/method/rule/rule.h"

enum { N = 101 };

static tutti_update update_by(const char *rule, double first_key, double decay)
{
    return (tutti_update){.rule = tutti_rule_find(rule), .value = {first_key}, .weight_decay = decay};
}

static void apply(const tutti_update *u, tutti_param_kind kind, float *w, float *v, const float *sum, int64_t n)
{
    const tutti_update_step s = {.lr = 0.5, .unscale = 1, .trust = 1, .nupdates = 1};
    tutti_update_apply(u, &s, kind, &(tutti_update_slice){.w = w, .state = {v}, .sum = sum, .n = n});
}

/* Two steps with w = 2, gradient 1, lr 0.5, momentum 0.5, decay 0.25. */
static void two_steps(const char *rule, tutti_param_kind kind, float want_first, float want_second)
{
    const tutti_update u = update_by(rule, 0.5, 0.25);
    float w = 2, v = 0;
    const float g = 1;
    apply(&u, kind, &w, u.rule->nstates ? &v : NULL, &g, 1);
    assert_true(w == want_first);
    apply(&u, kind, &w, u.rule->nstates ? &v : NULL, &g, 1);
    assert_true(w == want_second);
}

static void the_rules_give_what_pytorch_gives(void **state)
{
    (void)state;
    two_steps("sgd", TUTTI_PARAM_WEIGHT, 1.25f, 0.59375f);
    two_steps("momentum", TUTTI_PARAM_WEIGHT, 1.25f, 0.21875f);
    two_steps("nesterov", TUTTI_PARAM_WEIGHT, 0.875f, -0.2265625f);
}

static void biases_are_not_decayed(void **state)
{
    (void)state;
    two_steps("sgd", TUTTI_PARAM_BIAS, 1.5f, 1);
}

/* ---- every row of the table ---- */

typedef struct {
    float w[N], state[TUTTI_RULE_MAX_STATES][N], sum[N];
} vectors;

static vectors drawn(uint64_t key)
{
    vectors d;
    for (int i = 0; i < N; i++) {
        const tutti_random4 r = tutti_random(1, TUTTI_STREAM_TEST, (uint64_t)i, key);
        d.w[i] = tutti_random_unit(r.word[0]) - 0.5f;
        d.sum[i] = tutti_random_unit(r.word[1]) - 0.5f;
        for (int s = 0; s < TUTTI_RULE_MAX_STATES; s++) d.state[s][i] = tutti_random_unit(r.word[2 + s]);
    }
    return d;
}

static tutti_update_slice slice_of(const tutti_rule_row *rule, vectors *d, int first, int n)
{
    tutti_update_slice slice = {.w = d->w + first, .sum = d->sum + first, .n = n};
    for (int s = 0; s < rule->nstates; s++) slice.state[s] = d->state[s] + first;
    return slice;
}

/* By its defaults, and a decay. */
static tutti_update by_default(const tutti_rule_row *rule)
{
    tutti_update u = {.rule = rule, .weight_decay = 5e-4};
    for (int i = 0; i < TUTTI_RULE_MAX_KEYS && rule->keys[i]; i++) u.value[i] = tutti_rule_key_initial(rule->keys[i]);
    return u;
}

static const tutti_update_step at_step = {.lr = 0.1, .unscale = 0.25, .trust = 0.75, .nupdates = 3};

static void slices_of_any_cut_give_the_bits_of_the_whole(void **state)
{
    (void)state;
    for (int r = 0; tutti_rule_at(r); r++) {
        const tutti_update u = by_default(tutti_rule_at(r));
        vectors whole = drawn(0);
        tutti_update_slice all = slice_of(u.rule, &whole, 0, N);
        tutti_update_apply(&u, &at_step, TUTTI_PARAM_WEIGHT, &all);
        for (int cut = 0; cut <= N; cut++) {
            vectors d = drawn(0);
            const tutti_update_slice front = slice_of(u.rule, &d, 0, cut), back = slice_of(u.rule, &d, cut, N - cut);
            tutti_update_apply(&u, &at_step, TUTTI_PARAM_WEIGHT, &front);
            tutti_update_apply(&u, &at_step, TUTTI_PARAM_WEIGHT, &back);
            assert_memory_equal(&d, &whole, sizeof d);
        }
    }
}

static void every_instruction_set_gives_the_same_bits(void **state)
{
    (void)state;
    for (int r = 0; tutti_rule_at(r); r++) {
        const tutti_update u = by_default(tutti_rule_at(r));
        float numbers[TUTTI_RULE_MAX_NUMBERS] = {0};
        u.rule->prepare(&u, &at_step, u.weight_decay, numbers);
        for (int n = 0; n <= 70; n++) {
            vectors want = drawn((uint64_t)n);
            const tutti_update_slice plain = slice_of(u.rule, &want, 0, n);
            u.rule->loops[TUTTI_ISA_GENERIC](numbers, &plain);
            for (int isa = 0; isa < TUTTI_NISAS; isa++) {
                if (!tutti_isa_runs(isa)) continue;
                vectors have = drawn((uint64_t)n);
                const tutti_update_slice fast = slice_of(u.rule, &have, 0, n);
                u.rule->loops[isa](numbers, &fast);
                assert_memory_equal(&have, &want, sizeof have);
            }
        }
    }
}

/* By whichever instruction set and cuts: norms are exact sums of numbers that have equal bits. */
static void looks_of_any_cut_give_the_numbers_of_the_whole(void **state)
{
    (void)state;
    int nrules = 0;
    for (int r = 0; tutti_rule_at(r); r++) {
        const tutti_update u = by_default(tutti_rule_at(r));
        vectors d = drawn(3);
        int64_t whole[TUTTI_RULE_LOOKED] = {0};
        if (!u.rule->trust) continue;
        nrules++;
        float numbers[TUTTI_RULE_MAX_NUMBERS];
        tutti_update_prepare(&u, &at_step, TUTTI_PARAM_WEIGHT, numbers);
        const tutti_update_slice all = slice_of(u.rule, &d, 0, N);
        assert_true(tutti_update_look(u.rule, numbers, &all, whole));
        const double trust = tutti_update_trust(&u, &at_step, whole);
        assert_true(trust > 0 && trust != 1);
        for (int cut = 0; cut <= N; cut++) {
            int64_t parts[2][TUTTI_RULE_LOOKED] = {{0}};
            const tutti_update_slice front = slice_of(u.rule, &d, 0, cut), back = slice_of(u.rule, &d, cut, N - cut);
            tutti_update_look(u.rule, numbers, &front, parts[0]);
            tutti_update_look(u.rule, numbers, &back, parts[1]);
            for (int i = 0; i < TUTTI_RULE_LOOKED; i++) parts[0][i] += parts[1][i];
            assert_true(tutti_update_trust(&u, &at_step, parts[0]) == trust);
        }
        d.sum[N / 2] = INFINITY;
        assert_false(tutti_update_look(u.rule, numbers, &all, whole));
    }
    assert_int_equal(nrules, 2);
}

static void every_instruction_set_measures_the_same_bits(void **state)
{
    (void)state;
    for (int r = 0; tutti_rule_at(r); r++) {
        const tutti_update u = by_default(tutti_rule_at(r));
        float numbers[TUTTI_RULE_MAX_NUMBERS] = {0}, want[N] = {0}, have[N] = {0};
        vectors d = drawn(5);
        if (!u.rule->measures[TUTTI_ISA_GENERIC]) continue;
        u.rule->prepare(&u, &at_step, u.weight_decay, numbers);
        for (int n = 0; n <= 70; n++) {
            const vectors before = d;
            const tutti_update_slice slice = slice_of(u.rule, &d, 0, n);
            u.rule->measures[TUTTI_ISA_GENERIC](numbers, &slice, want);
            for (int isa = 0; isa < TUTTI_NISAS; isa++) {
                if (!tutti_isa_runs(isa)) continue;
                u.rule->measures[isa](numbers, &slice, have);
                assert_memory_equal(have, want, sizeof have);
            }
            assert_memory_equal(&d, &before, sizeof d);
        }
    }
}

/* In the order of operations that checkpoints of before were made by. */
static void sgd_element(const char *rule, float *w, float *v, float sum)
{
    const float mu = 0.9f, lr = 0.1f, g = 0.25f * sum + 5e-4f * *w;
    if (strcmp(rule, "sgd") != 0) *v = mu * *v + g;
    *w -= lr * (strcmp(rule, "sgd") == 0 ? g : strcmp(rule, "momentum") == 0 ? *v : g + mu * *v);
}

static void the_rules_of_sgd_give_the_bits_of_their_formulas(void **state)
{
    (void)state;
    static const char *const names[] = {"sgd", "momentum", "nesterov"};
    for (int r = 0; r < 3; r++) {
        const tutti_update u = update_by(names[r], 0.9, 5e-4);
        vectors have = drawn(7), want = have;
        const tutti_update_slice slice = slice_of(u.rule, &have, 0, N);
        tutti_update_apply(&u, &at_step, TUTTI_PARAM_WEIGHT, &slice);
        for (int i = 0; i < N; i++) sgd_element(names[r], &want.w[i], &want.state[0][i], want.sum[i]);
        assert_memory_equal(&have, &want, sizeof have);
    }
}

/* ---- the table ---- */

static void keys_and_states_of_the_rules_go_together(void **state)
{
    (void)state;
    for (int r = 0; tutti_rule_at(r); r++) {
        const tutti_rule_row *rule = tutti_rule_at(r);
        assert_ptr_equal(tutti_rule_find(rule->name), rule);
        assert_true(rule->nstates <= TUTTI_RULE_MAX_STATES && strlen(rule->help) > 3);
        for (int s = 0; s < rule->nstates; s++)
            assert_true(tutti_rule_has_state(rule->states[s], strlen(rule->states[s])));
        for (int i = 0; i < TUTTI_RULE_MAX_KEYS && rule->keys[i]; i++) {
            const tutti_rule_key *key = rule->keys[i];
            const double value = tutti_rule_key_initial(key);
            assert_true(value >= key->lo && value <= key->hi && (key->wants || !(key->not_lo || key->not_hi)));
            assert_true((!key->not_lo || value > key->lo) && (!key->not_hi || value < key->hi));
        }
    }
    for (int i = 0; tutti_rule_key_at(i); i++)
        for (int j = 0; j < i; j++) assert_string_not_equal(tutti_rule_key_at(i)->key, tutti_rule_key_at(j)->key);
    assert_false(tutti_rule_has_state("weights", 7));
    assert_null(tutti_rule_find("momentun"));
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
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(looks_of_any_cut_give_the_numbers_of_the_whole),
        cmocka_unit_test(every_instruction_set_measures_the_same_bits),
        cmocka_unit_test(the_rules_of_sgd_give_the_bits_of_their_formulas),
        cmocka_unit_test(keys_and_states_of_the_rules_go_together),
        cmocka_unit_test(a_statistic_moves_towards_the_mean_over_slots),
        cmocka_unit_test(a_control_number_forgets_even_a_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
