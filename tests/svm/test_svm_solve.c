/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_solve.c: one rank: LIBSVM's figures, every elimination rule, rows that are kept, hard inputs, what the
 * solver gives back by brute force.
 *
 * LIBSVM's figures are those of svm-train 3.25 (libsvm-tools) for make_case(300, 12, 10, 0) written as text. */
#include "testing.h"

#include <stdio.h>
#include <unistd.h>

#include "svm_problems.h"

static tutti_status solve_alone(const svm_case *c, double *alpha, tutti_svm_pair_result *result, tutti_failure *err)
{
    return solve_part(NULL, 0, 1, c, alpha, result, err);
}

static tutti_svm_pair_result solved(const svm_case *c, double *alpha)
{
    tutti_failure err = {0};
    tutti_svm_pair_result r;
    if (solve_alone(c, alpha, &r, &err)) fail_msg("%s", err.text);
    return r;
}

static double *zeros(const svm_case *c)
{
    return calloc((size_t)c->data.total, sizeof(double));
}

static void assert_near(double is, double wanted, double relative)
{
    if (!(fabs(is - wanted) <= relative * fabs(wanted))) fail_msg("%.9g is not %.9g", is, wanted);
}

/* --- LIBSVM's figures --- */

typedef struct {
    tutti_svm_kernel kernel;
    double positive, negative, eps;
    int64_t iterations, nsv, nbsv;
    double objective, rho;
} golden;

static const golden goldens[] = {
    {{TUTTI_SVM_RBF, 3, 0, 0}, 1, 1, 1e-3, 180, 213, 196, -173.005115, -1.082293},
    {{TUTTI_SVM_LINEAR, 3, 0, 0}, 1, 1, 1e-3, 1623, 174, 161, -160.964018, 0.887630},
    {{TUTTI_SVM_RBF, 3, 0.5, 0}, 100, 100, 1e-3, 831, 215, 0, -206.665048, -0.133601},
    {{TUTTI_SVM_POLY, 3, 0.5, 1}, 1, 1, 1e-3, 1756, 165, 25, -37.395840, 0.989648},
    {{TUTTI_SVM_RBF, 3, 0, 0}, 3, 0.5, 1e-3, 380, 217, 186, -159.413737, -0.532760},
    {{TUTTI_SVM_RBF, 3, 0, 0}, 10, 10, 1e-6, 2879, 161, 97, -1028.706265, -2.712105},
    {{TUTTI_SVM_SIGMOID, 3, 0.05, 0}, 1, 1, 1e-3, 182, 240, 232, -206.287649, 0.565567},
};
enum { NGOLDENS = sizeof goldens / sizeof *goldens };

static void use_golden(svm_case *c, const golden *g)
{
    c->config.kernel = g->kernel, c->config.eps = g->eps;
    c->cost_positive = g->positive, c->cost_negative = g->negative;
}

static void figures_are_those_of_libsvm(void **state)
{
    (void)state;
    svm_case c = make_case(300, 12, 10, 0);
    for (int i = 0; i < NGOLDENS; i++) {
        double *alpha = zeros(&c);
        use_golden(&c, &goldens[i]);
        const tutti_svm_pair_result r = solved(&c, alpha);
        const svm_truth t = truth_of(&c, alpha);
        assert_near(r.objective, goldens[i].objective, 1e-5);
        assert_near(r.objective, t.objective, 1e-6);
        assert_true(fabs(r.rho - goldens[i].rho) < 2 * fmax(goldens[i].eps, 1e-6));
        assert_true(llabs(r.nsv - goldens[i].nsv) <= 2 && llabs(r.nbsv - goldens[i].nbsv) <= 2);
        assert_true(r.gap < goldens[i].eps && t.gap < goldens[i].eps + 1e-4);
        assert_true(t.in_bounds && fabs(t.balance) < 1e-9);
        free(alpha);
    }
    release_case(&c);
}

static void a_set_of_all_samples_takes_the_iterations_of_libsvm(void **state)
{
    (void)state;
    svm_case c = make_case(300, 12, 10, 0);
    double *alpha = zeros(&c);
    assert_int_equal(solved(&c, alpha).iterations, goldens[0].iterations);
    free(alpha);
    release_case(&c);
}

/* --- a file of LIBSVM's --- */

/* heart_scale: $TUTTI_DATA, or shared/data beside the source tree. */
static void heart_scale_has_the_figures_of_libsvm(void **state)
{
    (void)state;
    static const golden wanted[] = {
        {{TUTTI_SVM_RBF, 3, 0, 0}, 1, 1, 1e-3, 162, 132, 107, -100.877288, 0.424462},
        {{TUTTI_SVM_LINEAR, 3, 0, 0}, 1, 1, 1e-3, 0, 101, 0, -92.473356, -1.050690},
        {{TUTTI_SVM_RBF, 3, 0.1, 0}, 100, 100, 1e-3, 0, 106, 6, -1836.740281, 0},
    };
    const char *folder = getenv("TUTTI_DATA");
    char path[1000];
    snprintf(path, sizeof path, "%s/heart_scale", folder ? folder : TUTTI_SOURCE_DIR "/../shared/data");
    if (access(path, R_OK)) {
        print_message("skipped: no heart_scale (TUTTI_DATA=FOLDER that has it)\n");
        skip();
    }
    svm_case c = make_case(1, 1, 16, 0);
    tutti_failure err = {0};
    release_case(&c);
    if (tutti_svm_data_read(NULL, path, &(tutti_svm_reading){0}, &c.data, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < 3; i++) {
        double *alpha = zeros(&c);
        use_golden(&c, &wanted[i]);
        const tutti_svm_pair_result r = solved(&c, alpha);
        assert_near(r.objective, wanted[i].objective, 1e-5);
        assert_int_equal(r.nsv, wanted[i].nsv);
        if (wanted[i].iterations) assert_int_equal(r.iterations, wanted[i].iterations);
        if (wanted[i].nbsv) assert_int_equal(r.nbsv, wanted[i].nbsv);
        if (wanted[i].rho != 0) assert_true(fabs(r.rho - wanted[i].rho) < 2e-3);
        assert_true(truth_of(&c, alpha).gap < 1e-3 + 1e-4);
        free(alpha);
    }
    tutti_svm_data_release(&c.data);
}

/* --- elimination --- */

static void every_rule_and_size_of_set_reaches_the_same_objective(void **state)
{
    (void)state;
    svm_case c = make_case(400, 10, 9, 0);
    static const int blocks[] = {0, 2, 10, 64, 256};
    int nrules;
    const tutti_svm_elimination *rules = tutti_svm_eliminations(&nrules);
    double best = 0;
    c.config.precision = TUTTI_SVM_F64, c.config.eps = 1e-5;
    c.cost_positive = c.cost_negative = 5;
    for (int b = 0; b < 5; b++)
        for (int i = 0; i < nrules; i++) {
            if (blocks[b] <= 10 && i % 4) continue;
            double *alpha = zeros(&c);
            c.config.block = blocks[b], c.config.elimination = rules[i];
            const tutti_svm_pair_result r = solved(&c, alpha);
            if (best == 0) best = r.objective;
            assert_near(r.objective, best, 1e-6);
            assert_true(r.gap < c.config.eps);
            if (b == 3) {
                const svm_truth t = truth_of(&c, alpha);
                assert_near(t.objective, best, 1e-6);
                assert_true(t.gap < c.config.eps && t.in_bounds && fabs(t.balance) < 1e-9);
            }
            free(alpha);
        }
    release_case(&c);
}

typedef struct {
    tutti_svm_event last;
    int64_t fewest;
    int nover;
} seen;

static void see(void *arg, const tutti_svm_event *event)
{
    seen *s = arg;
    s->last = *event;
    s->nover += event->over;
    if (event->active < s->fewest) s->fewest = event->active;
}

static void samples_are_dropped_and_all_come_back(void **state)
{
    (void)state;
    svm_case c = make_case(700, 10, 9, 0);
    double *alpha = zeros(&c);
    seen s = {.fewest = c.data.total};
    c.config.block = 64, c.config.on_event = see, c.config.arg = &s;
    assert_int_equal(tutti_svm_elimination_parse("multi", "random:2", &c.config.elimination, NULL), TUTTI_OK);
    const tutti_svm_pair_result r = solved(&c, alpha);
    assert_true(s.fewest < c.data.total / 2);
    assert_true(s.nover == 1 && s.last.over);
    assert_int_equal(s.last.active, c.data.total);
    assert_true(s.last.reconstructed > 0 && s.last.eliminated >= s.last.reconstructed);
    assert_int_equal(s.last.iterations, r.iterations);
    assert_true(s.last.gap == r.gap && s.last.kernel_rows > 0);
    free(alpha);
    release_case(&c);
}

/* --- rows that are kept --- */

static void kept_rows_give_the_bits_of_computed_ones(void **state)
{
    (void)state;
    static const double megabytes[] = {0, 0.02, 0.6, 100}; /* none; too little; room for half of the rows; for all */
    svm_case c = make_case(500, 64, 12, 0);
    c.config.block = 64, c.cost_positive = c.cost_negative = 10;
    for (int precision = TUTTI_SVM_F32; precision <= TUTTI_SVM_F64; precision++) {
        double *first = NULL;
        for (int i = 0; i < 4; i++) {
            double *alpha = zeros(&c);
            seen s = {0};
            c.config.precision = (tutti_svm_precision)precision, c.config.cache_mb = megabytes[i];
            c.config.on_event = see, c.config.arg = &s;
            (void)solved(&c, alpha);
            if (first) assert_memory_equal(alpha, first, sizeof *alpha * (size_t)c.data.total);
            assert_true((s.last.cached_rows > 0) == (i >= 2));
            if (first)
                free(alpha);
            else
                first = alpha;
        }
        free(first);
    }
    release_case(&c);
}

static void kept_rows_move_with_the_samples_that_are_dropped(void **state)
{
    (void)state;
    svm_case c = make_case(500, 64, 12, 0);
    double *alpha = zeros(&c);
    seen s = {.fewest = c.data.total};
    c.config.block = 32, c.cost_positive = c.cost_negative = 10, c.config.cache_mb = 1;
    c.config.precision = TUTTI_SVM_F64, c.config.on_event = see, c.config.arg = &s;
    assert_int_equal(tutti_svm_elimination_parse("multi", "random:2", &c.config.elimination, NULL), TUTTI_OK);
    (void)solved(&c, alpha);
    assert_true(s.last.cached_rows > 0 && s.fewest < c.data.total * 3 / 4);
    assert_true(truth_of(&c, alpha).gap < c.config.eps);
    free(alpha);
    release_case(&c);
}

/* --- hard inputs --- */

static void duplicates_with_both_labels_are_solved(void **state)
{
    (void)state;
    svm_case c = make_case(120, 4, 16, 0);
    tutti_svm_data *d = &c.data;
    for (int64_t i = 1; i < d->total; i++) { /* all rows are the first */
        d->start[i + 1] = d->start[i] + d->start[1];
        memcpy(d->index + d->start[i], d->index, sizeof *d->index * (size_t)d->start[1]);
        memcpy(d->value + d->start[i], d->value, sizeof *d->value * (size_t)d->start[1]);
    }
    for (int block = 0; block <= 16; block += 16) {
        double *alpha = zeros(&c);
        c.config.block = block;
        const tutti_svm_pair_result r = solved(&c, alpha);
        const svm_truth t = truth_of(&c, alpha);
        assert_true(r.gap < c.config.eps && t.gap < c.config.eps && t.in_bounds);
        free(alpha);
    }
    release_case(&c);
}

static void one_class_is_refused(void **state)
{
    (void)state;
    svm_case c = make_case(20, 4, 16, 0);
    for (int64_t i = 0; i < c.data.total; i++) c.data.label[i] = 1;
    double *alpha = zeros(&c);
    tutti_svm_pair_result r;
    tutti_failure err = {0};
    assert_int_equal(solve_alone(&c, alpha, &r, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "two classes"));
    free(alpha);
    release_case(&c);
}

static void values_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    svm_case c = make_case(100, 4, 16, 0);
    static const double wrong[] = {NAN, INFINITY, 1e300};
    c.config.kernel.type = TUTTI_SVM_LINEAR;
    for (int i = 0; i < 3; i++)
        for (int block = 0; block <= 8; block += 8) {
            double *alpha = zeros(&c);
            tutti_svm_pair_result r;
            tutti_failure err = {0};
            c.config.block = block;
            c.data.value[7] = c.data.value[1] = wrong[i];
            assert_int_equal(solve_alone(&c, alpha, &r, &err), TUTTI_ERR_DATA);
            assert_true(strlen(err.text) > 20);
            free(alpha);
        }
    release_case(&c);
}

static void a_gap_that_no_double_can_reach_ends_all_the_same(void **state)
{
    (void)state;
    svm_case c = make_case(200, 6, 12, 0);
    int nrules;
    const tutti_svm_elimination *rules = tutti_svm_eliminations(&nrules);
    c.config.eps = 1e-300;
    for (int i = 0; i < nrules; i += 4)
        for (int block = 0; block <= 32; block += 32) {
            double *alpha = zeros(&c);
            c.config.block = block, c.config.elimination = rules[i];
            const tutti_svm_pair_result r = solved(&c, alpha);
            assert_true(r.gap < 1e-9 && truth_of(&c, alpha).gap < 1e-9);
            free(alpha);
        }
    release_case(&c);
}

static void a_solution_is_where_a_solve_from_it_ends(void **state)
{
    (void)state;
    svm_case c = make_case(300, 6, 12, 0);
    double *alpha = zeros(&c), *again = zeros(&c);
    c.config.block = 32, c.config.precision = TUTTI_SVM_F64;
    const tutti_svm_pair_result r = solved(&c, alpha);
    memcpy(again, alpha, sizeof *again * (size_t)c.data.total);
    c.config.eps = r.gap * 1.0001; /* gradients made anew differ in their last digits */
    const tutti_svm_pair_result second = solved(&c, again);
    assert_int_equal(second.iterations, 0);
    assert_memory_equal(again, alpha, sizeof *again * (size_t)c.data.total);
    assert_near(second.objective, r.objective, 1e-12);
    free(alpha), free(again);
    release_case(&c);
}

static void values_that_floats_cannot_hold_keep_their_digits(void **state)
{
    (void)state;
    svm_case c = make_case(300, 12, 10, 0);
    for (int64_t e = 0; e < c.data.start[c.data.nrows]; e++) c.data.value[e] *= 0.9;
    c.config.eps = 1e-7, c.cost_positive = c.cost_negative = 100;
    c.config.kernel.gamma = 0.1;
    double *alpha = zeros(&c);
    const tutti_svm_pair_result r = solved(&c, alpha);
    const svm_truth t = truth_of(&c, alpha);
    if (!(t.gap < 1.01 * c.config.eps)) fail_msg("gap %g", t.gap);
    assert_near(r.objective, t.objective, 1e-12);
    free(alpha);
    release_case(&c);
}

static void two_samples_are_enough(void **state)
{
    (void)state;
    svm_case c = make_case(2, 3, 16, 1);
    double *alpha = zeros(&c);
    const tutti_svm_pair_result r = solved(&c, alpha);
    assert_true(alpha[0] == alpha[1] && alpha[0] > 0 && r.nsv == 2);
    free(alpha);
    release_case(&c);
}

static void a_wish_to_stop_is_heard(void **state)
{
    (void)state;
    svm_case c = make_case(50, 3, 16, 0);
    const int stop = 1;
    double *alpha = zeros(&c);
    tutti_svm_pair_result r;
    tutti_failure err = {0};
    c.config.stop = &stop;
    assert_int_equal(solve_alone(&c, alpha, &r, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "stopped"));
    free(alpha);
    release_case(&c);
}

/* --- precomputed kernels, sums --- */

/* The case's kernel values as a set of rows: 0:number, then an entry for every sample. */
static svm_case precomputed_of(const svm_case *c)
{
    svm_case p = *c;
    const int64_t n = c->data.total;
    tutti_svm_data *d = &p.data;
    p.config.kernel.type = TUTTI_SVM_PRECOMPUTED;
    d->width = (int32_t)n;
    d->start = calloc((size_t)n + 1, sizeof *d->start);
    d->index = calloc((size_t)(n * (n + 1)), sizeof *d->index);
    d->value = calloc((size_t)(n * (n + 1)), sizeof *d->value);
    d->label = calloc((size_t)n, sizeof *d->label);
    memcpy(d->label, c->data.label, sizeof *d->label * (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        d->start[i + 1] = (i + 1) * (n + 1);
        d->value[d->start[i]] = (double)i + 1;
        for (int64_t j = 0; j < n; j++) {
            d->index[d->start[i] + 1 + j] = (int32_t)j + 1;
            d->value[d->start[i] + 1 + j] = kernel_by_hand(c, i, j);
        }
    }
    return p;
}

static void a_precomputed_kernel_gives_the_solution_of_the_kernel(void **state)
{
    (void)state;
    svm_case c = make_case(150, 6, 12, 0);
    c.config.kernel.type = TUTTI_SVM_LINEAR, c.config.block = 32;
    svm_case p = precomputed_of(&c);
    double *alpha = zeros(&c), *same = zeros(&c);
    const tutti_svm_pair_result r = solved(&c, alpha), q = solved(&p, same);
    assert_near(q.objective, r.objective, 1e-6);
    assert_true(truth_of(&p, same).gap < 2e-3);
    free(alpha), free(same);
    release_case(&c), release_case(&p);
}

static void sums_are_those_by_hand(void **state)
{
    (void)state;
    svm_case c = make_case(150, 6, 12, 0);
    enum { N = 150 };
    int32_t row[N], target[5] = {3, 149, 0, 77, 77};
    double weight[N], sum[5] = {1, 2, 3, 4, 5};
    tutti_svm_context *context;
    tutti_failure err = {0};
    c.config.kernel.type = TUTTI_SVM_LINEAR; /* multiples of 1/256: exact */
    for (int i = 0; i < N; i++) row[i] = i, weight[i] = i % 3 - 1;
    assert_int_equal(tutti_svm_context_create(NULL, &c.data, &c.config, &context, &err), TUTTI_OK);
    assert_int_equal(tutti_svm_sum_rows(context, &(tutti_svm_weighted){N, row, weight}, 5, target, sum, &err),
                     TUTTI_OK);
    for (int t = 0; t < 5; t++) {
        double wanted = t + 1;
        for (int i = 0; i < N; i++) wanted += weight[i] * kernel_by_hand(&c, i, target[t]);
        assert_true(sum[t] == wanted);
    }
    tutti_svm_context_destroy(context);
    release_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_libsvm),
        cmocka_unit_test(a_set_of_all_samples_takes_the_iterations_of_libsvm),
        cmocka_unit_test(heart_scale_has_the_figures_of_libsvm),
        cmocka_unit_test(every_rule_and_size_of_set_reaches_the_same_objective),
        cmocka_unit_test(samples_are_dropped_and_all_come_back),
        cmocka_unit_test(kept_rows_give_the_bits_of_computed_ones),
        cmocka_unit_test(kept_rows_move_with_the_samples_that_are_dropped),
        cmocka_unit_test(duplicates_with_both_labels_are_solved),
        cmocka_unit_test(one_class_is_refused),
        cmocka_unit_test(values_that_are_no_numbers_are_refused),
        cmocka_unit_test(a_gap_that_no_double_can_reach_ends_all_the_same),
        cmocka_unit_test(a_solution_is_where_a_solve_from_it_ends),
        cmocka_unit_test(values_that_floats_cannot_hold_keep_their_digits),
        cmocka_unit_test(two_samples_are_enough),
        cmocka_unit_test(a_wish_to_stop_is_heard),
        cmocka_unit_test(a_precomputed_kernel_gives_the_solution_of_the_kernel),
        cmocka_unit_test(sums_are_those_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
