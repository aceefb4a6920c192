/* SPDX-License-Identifier: Apache-2.0 */
/* test_centre.c: elastic averaging and the outer step against numbers worked out by hand (exact in f32), equal bits in
 * all cuts and instruction sets, and on which side of its bound elastic averaging is stable. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "tensor/isa.h"
#include "training/method/method.h"
#include "training/method/rule/rule.h"

enum { N = 101, MAX_WORKERS = 8 };

/* By the loop of one instruction set. */
static void move(int isa, tutti_action_kind kind, tutti_elements e)
{
    tutti_action_row_of(kind)->loop->run[isa](&e);
}

/* One step of all workers and the centre, by what was there before. */
static void step_all(int nworkers, float w[][N], float *centre, float g[][N], double lr, double rho, int n)
{
    const tutti_centre rule = {.rho = rho};
    const tutti_update u = {.rule = tutti_rule_find("sgd")};
    const tutti_update_step s = {.lr = lr, .unscale = 1, .trust = 1, .nupdates = 1};
    float sum[N] = {0};
    for (int i = 0; i < nworkers; i++)
        for (int k = 0; k < n; k++) sum[k] += w[i][k];
    for (int i = 0; i < nworkers; i++) {
        const tutti_update_slice slice = {
            .w = w[i], .sum = g[i], .n = n, .centre = centre, .alpha = tutti_centre_alpha(&rule, lr)};
        tutti_update_apply(&u, &s, TUTTI_PARAM_WEIGHT, &slice);
    }
    move(TUTTI_ISA_GENERIC, TUTTI_DO_ELASTIC,
         (tutti_elements){
             .alpha = tutti_centre_alpha(&rule, lr), .nworkers = nworkers, .to = centre, .from = sum, .n = n});
}

/* lr 0.5, alpha 0.25, two workers: 8 - 0.5 * 2 - 0.25 * (8 - 4) = 6; 2 + 0.5 - 0.25 * (2 - 4) = 3; 4 + 0.25 * (10 - 2 *
 * 4) = 4.5 */
static void one_step_is_that_of_the_formulas(void **state)
{
    (void)state;
    float w[2][N] = {{8}, {2}}, g[2][N] = {{2}, {-1}}, centre[N] = {4};
    step_all(2, w, centre, g, 0.5, 0.5, 1);
    assert_true(w[0][0] == 6 && w[1][0] == 3 && centre[0] == 4.5f);
}

/* Small whole numbers and alpha 1 / 8: four steps stay exact. */
static void elastic_terms_keep_the_sum_of_workers_and_centre(void **state)
{
    (void)state;
    static float w[3][N], g[3][N], centre[N];
    float want[N];
    for (int k = 0; k < N; k++) {
        want[k] = centre[k] = (float)(k % 7 - 3);
        for (int i = 0; i < 3; i++) want[k] += w[i][k] = (float)((k * (i + 3)) % 11 - 5);
    }
    for (int t = 0; t < 4; t++) {
        float before[N];
        memcpy(before, w[0], sizeof before);
        step_all(3, w, centre, g, 0.5, 0.25, N);
        assert_memory_not_equal(before, w[0], sizeof before);
        for (int k = 0; k < N; k++) assert_true(w[0][k] + w[1][k] + w[2][k] + centre[k] == want[k]);
    }
}

/* momentum 0.5, rate 0.5: d = 8 - 4 = 4, v = 0.5 * 2 + 4 = 5, C = 8 - 0.5 * (4 + 2.5) = 4.75 */
static void an_outer_step_is_that_of_pytorch(void **state)
{
    (void)state;
    const tutti_centre rule = {.outer_rate = 0.5, .outer_mu = 0.5};
    float centre = 8, v = 2, w = 4;
    move(TUTTI_ISA_GENERIC, TUTTI_DO_OUTER,
         (tutti_elements){.rule = rule, .to = &centre, .other = &v, .from = &w, .n = 1});
    assert_true(centre == 4.75f && v == 5 && w == 4.75f);
}

static void statistics_of_the_centre_are_the_mean(void **state)
{
    (void)state;
    float centre = NAN;
    float sum = 12;
    tutti_elements_run(&(tutti_elements){
        .loop = tutti_action_row_of(TUTTI_DO_ELASTIC)->statistics, .nworkers = 3, .to = &centre, .from = &sum, .n = 1});
    assert_true(centre == 4);
}

/* ---- bits ---- */

typedef struct {
    float w[N], state[TUTTI_RULE_MAX_STATES][N], g[N], centre[N], v[N], sum[N];
} vectors;

static vectors drawn(void)
{
    vectors d = {0};
    float *const all = d.w;
    for (size_t i = 0; i < sizeof d / sizeof(float); i++)
        all[i] = tutti_random_unit(tutti_random(3, TUTTI_STREAM_TEST, i, 0).word[0]) - 0.25f;
    return d;
}

static void move_cut(int isa, vectors *x, int first, int n)
{
    const tutti_centre rule = {.outer_rate = 0.7, .outer_mu = 0.9};
    move(isa, TUTTI_DO_ELASTIC,
         (tutti_elements){.alpha = 0.3f, .nworkers = 3, .to = x->centre + first, .from = x->sum + first, .n = n});
    move(isa, TUTTI_DO_OUTER,
         (tutti_elements){.rule = rule, .to = x->centre + first, .other = x->v + first, .from = x->w + first, .n = n});
}

static void every_instruction_set_and_cut_gives_the_same_bits(void **state)
{
    (void)state;
    for (int n = 0; n <= 70; n++)
        for (int isa = 0; isa < TUTTI_NISAS; isa++) {
            if (!tutti_isa_runs(isa)) continue;
            vectors want = drawn(), have = want;
            const int cut = n / 3;
            move_cut(TUTTI_ISA_GENERIC, &want, 0, n);
            move_cut(isa, &have, 0, cut);
            move_cut(isa, &have, cut, n - cut);
            assert_memory_equal(&have, &want, sizeof have);
        }
}

/* In the rule's own pass: the bits of the rule alone, and then the pull by what was there before. */
static void a_pull_gives_the_bits_of_its_formula_with_every_rule_and_instruction_set(void **state)
{
    (void)state;
    for (int r = 0; tutti_rule_at(r); r++) {
        const tutti_rule_row *rule = tutti_rule_at(r);
        tutti_update u = {.rule = rule, .value = {0.9, 0.999, 1e-8}, .weight_decay = 5e-4};
        const tutti_update_step s = {.lr = 0.1, .unscale = 0.25, .trust = 0.75, .nupdates = 3};
        float numbers[TUTTI_RULE_MAX_NUMBERS] = {0};
        rule->prepare(&u, &s, u.weight_decay, numbers);
        vectors want = drawn();
        const vectors old = want;
        const tutti_update_slice alone = {.w = want.w, .state = {want.state[0], want.state[1]}, .sum = want.g, .n = N};
        rule->loops[TUTTI_ISA_GENERIC](numbers, &alone);
        for (int k = 0; k < N; k++) want.w[k] -= 0.3f * (old.w[k] - old.centre[k]);
        for (int isa = 0; isa < TUTTI_NISAS; isa++) {
            if (!tutti_isa_runs(isa)) continue;
            vectors have = old;
            const tutti_update_slice pulled = {.w = have.w,
                                               .state = {have.state[0], have.state[1]},
                                               .sum = have.g,
                                               .n = N,
                                               .centre = have.centre,
                                               .alpha = 0.3f};
            rule->loops[isa](numbers, &pulled);
            assert_memory_equal(&have, &want, sizeof have);
        }
    }
}

/* ---- stability ---- */

/* The farthest of workers and centre from the minimum of h w^2 / 2 with noise in the gradients, after so many steps. */
static double farthest(int nworkers, double lr, double curvature, double alpha, int steps)
{
    static float w[MAX_WORKERS][N], g[MAX_WORKERS][N];
    float centre[N] = {1};
    double most = 0;
    memset(w, 0, sizeof w);
    for (int i = 0; i < nworkers; i++) w[i][0] = i ? -1 : 2;
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < nworkers; i++) {
            const tutti_random4 r = tutti_random(5, TUTTI_STREAM_TEST, (uint64_t)t, (uint64_t)i);
            g[i][0] = (float)(curvature * w[i][0]) + 0.1f * (tutti_random_unit(r.word[0]) - 0.5f);
        }
        step_all(nworkers, w, centre, g, lr, alpha / lr, 1);
    }
    for (int i = 0; i < nworkers; i++) most = fmax(most, fabs(w[i][0]));
    return fmax(most, fabs(centre[0]));
}

/* alpha < (4 - 2 e) / (2 + P (2 - e)), e = rate * curvature */
static void a_noisy_quadratic_converges_inside_the_bound_and_diverges_outside(void **state)
{
    (void)state;
    static const int workers[] = {1, 2, 4, 8};
    for (int i = 0; i < 4; i++)
        for (double e = 0.1; e < 1.6; e += 0.7) {
            const int p = workers[i];
            const double bound = (4 - 2 * e) / (2 + p * (2 - e)), lr = 0.5;
            const double inside = farthest(p, lr, e / lr, 0.99 * bound, 4000);
            const double outside = farthest(p, lr, e / lr, 1.01 * bound, 4000);
            if (!(inside < 2 && !(outside < 1e6)))
                fail_msg("%d workers, e %.1f: %g inside, %g outside", p, e, inside, outside);
        }
}

static void a_step_that_no_curvature_makes_stable_is_refused(void **state)
{
    (void)state;
    const tutti_method_row *row = tutti_method_find("sync-easgd2");
    for (int p = 1; p <= 8; p++) {
        tutti_failure err = {0};
        const double bound = 2 / (p + 1.0);
        assert_int_equal(row->accept_centre(&(tutti_centre){.rho = bound / 0.125}, p, 0.125, &err), TUTTI_ERR_USAGE);
        assert_memory_equal(err.text, "method.rho: ", 12);
        assert_int_equal(row->accept_centre(&(tutti_centre){.rho = 0.99 * bound / 0.125}, p, 0.125, &err), TUTTI_OK);
        assert_int_equal(row->accept_centre(&(tutti_centre){0}, p, 0.125, &err), TUTTI_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_is_that_of_the_formulas),
        cmocka_unit_test(elastic_terms_keep_the_sum_of_workers_and_centre),
        cmocka_unit_test(an_outer_step_is_that_of_pytorch),
        cmocka_unit_test(statistics_of_the_centre_are_the_mean),
        cmocka_unit_test(every_instruction_set_and_cut_gives_the_same_bits),
        cmocka_unit_test(a_pull_gives_the_bits_of_its_formula_with_every_rule_and_instruction_set),
        cmocka_unit_test(a_noisy_quadratic_converges_inside_the_bound_and_diverges_outside),
        cmocka_unit_test(a_step_that_no_curvature_makes_stable_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
