/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_pairs.c: every row against plain loops that do what Fan, Chen and Lin wrote down: the same iterations, the
 * same bits. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "svm/solve/svm_pairs_impl.h"
#include "tensor/isa.h"

enum { MOST = 300, FEATURES = 5 };

typedef struct {
    int n;
    int64_t stride;
    double y[MOST], cost[MOST], diagonal[MOST], alpha[MOST], gradient[MOST];
    double point[MOST][FEATURES];
    double f64[MOST * (MOST + 3)];
    float f32[MOST * (MOST + 3)];
    tutti_svm_precision precision;
} scene;

static double value_at(const scene *s, int i, int j)
{
    return s->precision == TUTTI_SVM_F32 ? (double)s->f32[i * s->stride + j] : s->f64[i * s->stride + j];
}

static double unit_at(int seed, int i, int f)
{
    return (double)tutti_random_unit(tutti_random((uint64_t)seed, TUTTI_STREAM_TEST, (uint64_t)i, (uint64_t)f).word[0]);
}

/* Points of two overlapping clouds; every seventh is the one before once more, so that there are ties and flat pairs.
 * rbf, or linear, whose matrix is singular. */
static scene *open_scene(int seed, int n, bool rbf, tutti_svm_precision precision)
{
    scene *s = tutti_alloc(sizeof *s);
    s->n = n;
    s->stride = n + seed % 3;
    s->precision = precision;
    for (int i = 0; i < n; i++) {
        s->y[i] = unit_at(seed, i, FEATURES) < 0.6 ? 1 : -1;
        s->cost[i] = s->y[i] > 0 ? 1.5 : 0.75;
        s->gradient[i] = -1;
        for (int f = 0; f < FEATURES; f++)
            s->point[i][f] = i % 7 == 3 ? s->point[i - 1][f] : unit_at(seed, i, f) + 0.3 * s->y[i];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double dot = 0, distance = 0;
            for (int f = 0; f < FEATURES; f++) {
                dot += s->point[i][f] * s->point[j][f];
                distance += (s->point[i][f] - s->point[j][f]) * (s->point[i][f] - s->point[j][f]);
            }
            s->f64[i * s->stride + j] = rbf ? exp(-2 * distance) : dot;
            s->f32[i * s->stride + j] = (float)s->f64[i * s->stride + j];
        }
    for (int i = 0; i < n; i++) s->diagonal[i] = value_at(s, i, i);
    return s;
}

static tutti_svm_pairs pairs_of(scene *s, double until, int64_t most)
{
    return (tutti_svm_pairs){
        .n = s->n,
        .y = s->y,
        .cost = s->cost,
        .diagonal = s->diagonal,
        .matrix = s->precision == TUTTI_SVM_F32 ? (const void *)s->f32 : (const void *)s->f64,
        .stride = s->stride,
        .precision = s->precision,
        .until = until,
        .most = most,
        .alpha = s->alpha,
        .gradient = s->gradient,
    };
}

static bool in_up(const scene *s, int c)
{
    return s->y[c] > 0 ? s->alpha[c] < s->cost[c] : s->alpha[c] > 0;
}

static bool in_low(const scene *s, int c)
{
    return s->y[c] > 0 ? s->alpha[c] > 0 : s->alpha[c] < s->cost[c];
}

static double curvature_of(const scene *s, int i, int j)
{
    const double a = (s->diagonal[j] + s->diagonal[i]) - 2 * value_at(s, i, j);
    return a <= 0 ? 1e-12 : a;
}

static bool plain_select(const scene *s, double until, int *i, int *j)
{
    double most = -(double)INFINITY, most2 = -(double)INFINITY, least = (double)INFINITY;
    *i = *j = -1;
    for (int c = 0; c < s->n; c++)
        if (in_up(s, c) && -s->y[c] * s->gradient[c] >= most) {
            most = -s->y[c] * s->gradient[c];
            *i = c;
        }
    for (int c = 0; c < s->n; c++) {
        if (!in_low(s, c)) continue;
        const double here = s->y[c] * s->gradient[c], d = most + here;
        if (here > most2) most2 = here;
        if (d > 0 && -(d * d) / curvature_of(s, *i, c) <= least) {
            least = -(d * d) / curvature_of(s, *i, c);
            *j = c;
        }
    }
    return *i >= 0 && *j >= 0 && most + most2 >= until;
}

static double clip(double a, double least, double most)
{
    return a < least ? least : a > most ? most : a;
}

static int64_t plain_run(scene *s, double until, int64_t iterations)
{
    int i, j;
    int64_t done = 0;
    for (; done < iterations && plain_select(s, until, &i, &j); done++) {
        const double old_i = s->alpha[i], old_j = s->alpha[j];
        const double best = (s->y[j] * s->gradient[j] - s->y[i] * s->gradient[i]) / curvature_of(s, i, j);
        const double room_i = s->y[i] > 0 ? s->cost[i] - old_i : old_i,
                     room_j = s->y[j] > 0 ? old_j : s->cost[j] - old_j, by = fmin(best, fmin(room_i, room_j));
        s->alpha[i] = clip(old_i + s->y[i] * by, 0, s->cost[i]);
        s->alpha[j] = clip(old_j - s->y[j] * by, 0, s->cost[j]);
        if (by == room_i) s->alpha[i] = s->y[i] > 0 ? s->cost[i] : 0;
        if (by == room_j) s->alpha[j] = s->y[j] > 0 ? 0 : s->cost[j];
        const double a = s->y[i] * (s->alpha[i] - old_i), b = s->y[j] * (s->alpha[j] - old_j);
        for (int c = 0; c < s->n; c++) s->gradient[c] += s->y[c] * (a * value_at(s, i, c) + b * value_at(s, j, c));
    }
    return done;
}

static void compare(const tutti_svm_pairs_row *row, int seed, int n, bool rbf, tutti_svm_precision precision)
{
    scene *plain = open_scene(seed, n, rbf, precision), *s = open_scene(seed, n, rbf, precision);
    const double until = 1e-3;
    int64_t iterations = -1;
    tutti_failure err = {0};
    const tutti_svm_pairs some = pairs_of(s, until, 5), all = pairs_of(s, until, 20000);
    assert_int_equal(tutti_svm_pairs_run_row(row, &some, &iterations, &err), TUTTI_OK);
    assert_int_equal(iterations, plain_run(plain, until, 5));
    assert_memory_equal(s->alpha, plain->alpha, sizeof s->alpha);
    assert_int_equal(tutti_svm_pairs_run_row(row, &all, &iterations, &err), TUTTI_OK);
    assert_int_equal(iterations, plain_run(plain, until, 20000));
    assert_memory_equal(s->alpha, plain->alpha, sizeof s->alpha);
    for (int c = 0; c < n; c++) assert_true(s->gradient[c] == plain->gradient[c]);
    free(plain);
    free(s);
}

static void every_row_does_the_plain_iterations(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 7, 8, 9, 31, 32, 33, 65, 150, MOST};
    for (int r = 0; r < TUTTI_NISAS; r++)
        for (int k = 0; k < (int)(sizeof sizes / sizeof sizes[0]) && tutti_isa_runs(r); k++)
            for (int f = 0; f < 4; f++)
                compare(tutti_svm_pairs_rows[r], k, sizes[k], f % 2, f / 2 ? TUTTI_SVM_F32 : TUTTI_SVM_F64);
}

static void the_gap_is_closed_and_bounds_are_exact(void **state)
{
    (void)state;
    scene *s = open_scene(5, MOST, true, TUTTI_SVM_F32);
    const tutti_svm_pairs p = pairs_of(s, 1e-6, INT64_MAX);
    int64_t iterations = 0;
    assert_int_equal(tutti_svm_pairs_run(&p, &iterations, NULL), TUTTI_OK);
    assert_true(iterations > MOST);
    double up = (double)INFINITY, low = -(double)INFINITY, balance = 0;
    int at_cost = 0, at_zero = 0;
    for (int c = 0; c < MOST; c++) {
        double gradient = -1;
        for (int j = 0; j < MOST; j++) gradient += s->y[c] * s->y[j] * value_at(s, c, j) * s->alpha[j];
        assert_true(fabs(gradient - s->gradient[c]) < 1e-11);
        if (in_up(s, c)) up = fmin(up, s->y[c] * gradient);
        if (in_low(s, c)) low = fmax(low, s->y[c] * gradient);
        balance += s->y[c] * s->alpha[c];
        assert_true(s->alpha[c] >= 0 && s->alpha[c] <= s->cost[c]);
        at_cost += s->alpha[c] == s->cost[c];
        at_zero += s->alpha[c] == 0;
    }
    assert_true(low - up < 1e-6 + 1e-11);
    assert_true(fabs(balance) < 1e-12);
    assert_true(at_cost > 10 && at_zero > 10);
    int64_t more = -1; /* solved: nothing moves */
    assert_int_equal(tutti_svm_pairs_run(&p, &more, NULL), TUTTI_OK);
    assert_int_equal(more, 0);
    free(s);
}

static void the_last_of_equals_is_chosen(void **state)
{
    (void)state;
    for (int r = 0; r < TUTTI_NISAS; r++) {
        if (!tutti_isa_runs(r)) continue;
        scene *s = open_scene(1, 40, true, TUTTI_SVM_F64);
        for (int i = 0; i < 40; i++) {
            s->y[i] = i % 2 ? 1 : -1;
            for (int j = 0; j < 40; j++) s->f64[i * s->stride + j] = i == j;
        }
        const tutti_svm_pairs p = pairs_of(s, 1e-3, 1);
        int64_t iterations;
        assert_int_equal(tutti_svm_pairs_run_row(tutti_svm_pairs_rows[r], &p, &iterations, NULL), TUTTI_OK);
        for (int i = 0; i < 40; i++) assert_true(s->alpha[i] == (i == 39 ? 0.75 : i == 38 ? 0.75 : 0));
        free(s);
    }
}

static void a_nan_is_told(void **state)
{
    (void)state;
    for (int r = 0; r < TUTTI_NISAS; r++)
        for (int f = 0; f < 4 && tutti_isa_runs(r); f++) {
            scene *s = open_scene(1, 60, true, f % 2 ? TUTTI_SVM_F64 : TUTTI_SVM_F32);
            for (int j = 0; j < 60; j++) {
                if (f / 2 && j != 17) continue; /* one row and column, or all */
                for (int i = 0; i < 60; i++) {
                    s->f64[i * s->stride + j] = s->f64[j * s->stride + i] = (double)NAN;
                    s->f32[i * s->stride + j] = s->f32[j * s->stride + i] = NAN;
                }
            }
            const tutti_svm_pairs p = pairs_of(s, 1e-3, 1000);
            tutti_failure err = {0};
            int64_t iterations;
            assert_int_equal(tutti_svm_pairs_run_row(tutti_svm_pairs_rows[r], &p, &iterations, &err), TUTTI_ERR_DATA);
            assert_non_null(strstr(err.text, "NaN"));
            free(s);
        }
}

static void a_cost_of_zero_is_refused(void **state)
{
    (void)state;
    scene *s = open_scene(2, 20, true, TUTTI_SVM_F64);
    s->cost[7] = 0;
    const tutti_svm_pairs p = pairs_of(s, 1e-3, 1000);
    tutti_failure err = {0};
    int64_t iterations;
    assert_int_equal(tutti_svm_pairs_run(&p, &iterations, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "above 0"));
    free(s);
}

static void one_class_is_solved_at_once(void **state)
{
    (void)state;
    scene *s = open_scene(2, 20, true, TUTTI_SVM_F64);
    for (int i = 0; i < 20; i++) s->y[i] = 1;
    const tutti_svm_pairs p = pairs_of(s, 1e-3, 1000);
    int64_t iterations = -1;
    assert_int_equal(tutti_svm_pairs_run(&p, &iterations, NULL), TUTTI_OK);
    assert_int_equal(iterations, 0);
    for (int i = 0; i < 20; i++) assert_true(s->alpha[i] == 0 && s->gradient[i] == -1);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_does_the_plain_iterations), cmocka_unit_test(the_gap_is_closed_and_bounds_are_exact),
        cmocka_unit_test(the_last_of_equals_is_chosen),        cmocka_unit_test(a_nan_is_told),
        cmocka_unit_test(a_cost_of_zero_is_refused),           cmocka_unit_test(one_class_is_solved_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
