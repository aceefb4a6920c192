/* SPDX-License-Identifier: Apache-2.0 */
/* test_loss_scale.c: how the scale follows from skipped and clean steps, and why weights are kept in f32. */
#include "testing.h"

#include "tensor/convert.h"
#include "training/method/method.h"
#include "training/method/rule/rule.h"

static void a_skipped_step_halves_and_an_interval_of_clean_steps_doubles(void **state)
{
    (void)state;
    const tutti_loss_scale l = {.dynamic = true, .start = 65536, .interval = 3};
    tutti_loss_scale_state s = tutti_loss_scale_begin(&l);
    static const bool skipped[] = {false, true, true, false, false, false, false, false, true};
    static const double after[] = {65536, 32768, 16384, 16384, 16384, 32768, 32768, 32768, 16384};
    for (int i = 0; i < 9; i++) {
        tutti_loss_scale_step(&l, skipped[i], &s);
        assert_true(s.scale == after[i]);
    }
    assert_int_equal(s.skipped, 3);
    assert_int_equal(s.clean_steps, 0);
}

static void the_scale_stays_between_one_and_what_f16_can_use(void **state)
{
    (void)state;
    const tutti_loss_scale l = {.dynamic = true, .start = 2, .interval = 1};
    tutti_loss_scale_state s = tutti_loss_scale_begin(&l);
    for (int i = 0; i < 10; i++) tutti_loss_scale_step(&l, true, &s);
    assert_true(s.scale == 1);
    for (int i = 0; i < 100; i++) tutti_loss_scale_step(&l, false, &s);
    assert_true(s.scale == 0x1p24);
}

static void a_fixed_scale_stays(void **state)
{
    (void)state;
    const tutti_loss_scale l = {.start = 1000, .interval = 1};
    tutti_loss_scale_state s = tutti_loss_scale_begin(&l);
    for (int i = 0; i < 10; i++) tutti_loss_scale_step(&l, false, &s);
    assert_true(s.scale == 1000);
}

static void the_update_divides_by_the_scale_in_f32(void **state)
{
    (void)state;
    for (int r = 0; tutti_rule_at(r); r++) {
        const tutti_update u = {.rule = tutti_rule_at(r), .value = {0.5, 0.5, 1e-8}, .weight_decay = 0.5};
        float w[2] = {3, 3}, v[2] = {1, 1}, m[2] = {1, 1}, g[2] = {0.75f, 0.75f * 65536};
        for (int i = 0; i < 2; i++) {
            const tutti_update_step s = {.lr = 0.25, .unscale = i ? 1 / 65536.0 : 1, .trust = 1, .nupdates = 1};
            const tutti_update_slice slice = {.w = &w[i], .state = {&v[i], &m[i]}, .sum = &g[i], .n = 1};
            tutti_update_apply(&u, &s, TUTTI_PARAM_WEIGHT, &slice);
        }
        assert_true(w[0] == w[1] && v[0] == v[1] && m[0] == m[1] && w[0] < 3);
    }
}

/* The reason for master weights: half an ulp of 1 is 2^-11 in f16, and an update of 1e-4 is rounded away each time. */
static void weights_kept_in_f16_stand_still_where_f32_learns(void **state)
{
    (void)state;
    const tutti_update sgd = {.rule = tutti_rule_find("sgd")};
    const tutti_update_step step = {.lr = 0.01, .unscale = 1, .trust = 1, .nupdates = 1};
    const float gradient = 0.01f;
    float master = 1, wide;
    uint16_t half;
    const float one = 1;
    tutti_convert_from_f32(TUTTI_F16, &one, &half, 1);
    const tutti_update_slice kept = {.w = &master, .sum = &gradient, .n = 1},
                             narrow = {.w = &wide, .sum = &gradient, .n = 1};
    for (int i = 0; i < 1000; i++) {
        tutti_update_apply(&sgd, &step, TUTTI_PARAM_WEIGHT, &kept);
        tutti_convert_to_f32(TUTTI_F16, &half, &wide, 1);
        tutti_update_apply(&sgd, &step, TUTTI_PARAM_WEIGHT, &narrow);
        tutti_convert_from_f32(TUTTI_F16, &wide, &half, 1);
    }
    tutti_convert_to_f32(TUTTI_F16, &half, &wide, 1);
    assert_true(wide == 1);
    assert_true(master > 0.899f && master < 0.901f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skipped_step_halves_and_an_interval_of_clean_steps_doubles),
        cmocka_unit_test(the_scale_stays_between_one_and_what_f16_can_use),
        cmocka_unit_test(a_fixed_scale_stays),
        cmocka_unit_test(the_update_divides_by_the_scale_in_f32),
        cmocka_unit_test(weights_kept_in_f16_stand_still_where_f32_learns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
