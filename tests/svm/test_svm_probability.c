/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_probability.c: the sigmoid and the coupling, by what their optimum means. */
#include <math.h>

#include "testing.h"

#include "svm/model/svm_probability.h"
#include "svm/svm_classes.h"

static void a_sigmoid_neither_overflows_nor_is_sure(void **state)
{
    (void)state;
    assert_true(tutti_svm_platt_value(0, -3, 0) == 0.5);
    assert_true(tutti_svm_platt_value(1e300, -1, 0) == 1 - 1e-7);
    assert_true(tutti_svm_platt_value(-1e300, -1, 0) == 1e-7);
}

/* At the optimum the predicted targets sum to the targets, and so do their products with the decisions. */
static void the_fitted_sigmoid_is_where_the_likelihood_is_flat(void **state)
{
    (void)state;
    enum { N = 40 };
    double f[N], npositive = 0;
    int8_t y[N];
    for (int i = 0; i < N; i++) {
        f[i] = (i - 17) / 8.0;
        y[i] = (i * 7) % 11 < 3 ? (i < 20 ? 1 : -1) : (i < 20 ? -1 : 1);
        npositive += y[i] > 0;
    }
    double a = 0, b = 0, flat0 = 0, flat1 = 0;
    tutti_svm_platt_solve(N, f, y, &a, &b);
    assert_true(a < 0);
    for (int i = 0; i < N; i++) {
        const double target = y[i] > 0 ? (npositive + 1) / (npositive + 2) : 1 / (N - npositive + 2);
        flat0 += target - tutti_svm_platt_value(f[i], a, b);
        flat1 += f[i] * (target - tutti_svm_platt_value(f[i], a, b));
    }
    assert_true(fabs(flat0) < 1e-5 && fabs(flat1) < 1e-5);
}

/* Pairwise probabilities of true ones are coupled back to them. */
static void consistent_pairs_give_their_probabilities_back(void **state)
{
    (void)state;
    const double p[] = {0.5, 0.125, 0.25, 0.125};
    double pairwise[6], found[4], sum = 0;
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) pairwise[tutti_svm_pair_number(i, j, 4)] = p[i] / (p[i] + p[j]);
    assert_int_equal(tutti_svm_couple(4, pairwise, found), 0);
    for (int i = 0; i < 4; i++) sum += found[i];
    assert_true(fabs(sum - 1) < 1e-12);
    for (int i = 0; i < 4; i++) assert_true(fabs(found[i] - p[i]) < 5e-3); /* the iteration ends at 0.005 / k */
}

static void of_two_classes_the_pair_says_it_all(void **state)
{
    (void)state;
    const double pairwise = 0.1074;
    double p[2];
    assert_int_equal(tutti_svm_couple(2, &pairwise, p), 1);
    assert_true(p[0] == pairwise && p[1] == 1 - pairwise);
    assert_int_equal(tutti_svm_couple(1, NULL, p), 0);
    assert_true(p[0] == 1);
}

static void of_equal_classes_the_lower_one_wins(void **state)
{
    (void)state;
    const double pairwise[] = {0.5, 0.5, 0.5};
    double p[3];
    assert_int_equal(tutti_svm_couple(3, pairwise, p), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sigmoid_neither_overflows_nor_is_sure),
        cmocka_unit_test(the_fitted_sigmoid_is_where_the_likelihood_is_flat),
        cmocka_unit_test(consistent_pairs_give_their_probabilities_back),
        cmocka_unit_test(of_two_classes_the_pair_says_it_all),
        cmocka_unit_test(of_equal_classes_the_lower_one_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
