/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_predict.c: labels and probabilities are those of LIBSVM (tests/golden/svm, made by svm-train and svm-predict
 * of libsvm-tools 3.24), decision values those of the formula, and threads do not show. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tutti/svm.h"

#define GOLDEN TUTTI_SOURCE_DIR "/tests/golden/svm/"

static tutti_svm_model parse_model(const char *text)
{
    tutti_svm_model m;
    tutti_failure err = {0};
    if (tutti_svm_model_parse("m", text, strlen(text), false, &m, &err)) fail_msg("%s", err.text);
    return m;
}

static tutti_svm_data parse_rows(const char *text, bool precomputed)
{
    tutti_svm_data d;
    tutti_failure err = {0};
    const tutti_svm_reading how = {.precomputed = precomputed, .unlabelled = true, .lenient = true};
    if (tutti_svm_data_parse("d", text, strlen(text), &how, &d, &err)) fail_msg("%s", err.text);
    return d;
}

static void read_golden(const char *set, const char *name, tutti_svm_data *d, tutti_svm_model *m)
{
    char path[512];
    tutti_failure err = {0};
    const tutti_svm_reading how = {.precomputed = strcmp(set, "precomputed") == 0, .unlabelled = true};
    snprintf(path, sizeof path, GOLDEN "%s.svm", set);
    if (tutti_svm_data_read(NULL, path, &how, d, &err)) fail_msg("%s", err.text);
    snprintf(path, sizeof path, GOLDEN "%s.model", name);
    if (tutti_svm_model_read(path, false, m, &err)) fail_msg("%s", err.text);
}

static FILE *open_golden(const char *name, const char *what)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN "%s.%s", name, what);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s is not there", path);
    return f;
}

/* --- against the formula --- */

static double entry(const tutti_svm_data *d, int64_t row, int32_t index)
{
    for (int64_t k = d->start[row]; k < d->start[row + 1]; k++)
        if (d->index[k] == index) return d->value[k];
    return 0;
}

static double kernel_of(const tutti_svm_model *m, int64_t v, const tutti_svm_data *d, int64_t row)
{
    const tutti_svm_kernel *k = &m->kernel;
    if (k->type == TUTTI_SVM_PRECOMPUTED) return entry(d, row, (int32_t)m->sv.value[m->sv.start[v]]);
    double dot = 0, square = 0;
    const int32_t width = d->width > m->sv.width ? d->width : m->sv.width;
    for (int32_t i = 1; i <= width; i++) {
        const double a = entry(&m->sv, v, i), b = entry(d, row, i);
        dot += a * b;
        square += (a - b) * (a - b);
    }
    switch (k->type) {
    case TUTTI_SVM_LINEAR: return dot;
    case TUTTI_SVM_POLY: return pow(k->gamma * dot + k->coef0, k->degree);
    case TUTTI_SVM_RBF: return exp(-k->gamma * square);
    default: return tanh(k->gamma * dot + k->coef0);
    }
}

/* What class i's vectors say about the pair with class j. */
static double side(const tutti_svm_model *m, int i, int j, const tutti_svm_data *d, int64_t row)
{
    int64_t first = 0;
    double sum = 0;
    for (int c = 0; c < i; c++) first += m->nsv_of[c];
    for (int64_t v = first; v < first + m->nsv_of[i]; v++)
        sum += m->coef[(j < i ? j : j - 1) * m->nsv + v] * kernel_of(m, v, d, row);
    return sum;
}

static void check_decisions(const tutti_svm_model *m, const tutti_svm_data *d, const double *decisions)
{
    for (int64_t row = 0; row < d->nrows; row++)
        for (int i = 0, pair = 0; i < m->nclasses; i++)
            for (int j = i + 1; j < m->nclasses; j++, pair++) {
                const double want = side(m, i, j, d, row) + side(m, j, i, d, row) - m->rho[pair], got = *decisions++;
                if (!(fabs(got - want) <= 1e-12 * (1 + fabs(want)))) fail_msg("%.17g instead of %.17g", got, want);
            }
}

static const struct {
    const char *set, *model;
} CASES[] = {{"two", "linear"},          {"two", "polynomial"}, {"two", "rbf"},
             {"two", "two_probability"}, {"four", "sigmoid"},   {"four", "four"},
             {"four", "probability"},    {"two", "one_class"},  {"precomputed", "precomputed"}};

static void labels_are_those_of_libsvm_and_decisions_those_of_the_formula(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof CASES / sizeof *CASES; c++) {
        tutti_svm_data d;
        tutti_svm_model m;
        tutti_failure err = {0};
        read_golden(CASES[c].set, CASES[c].model, &d, &m);
        double *label = calloc((size_t)d.nrows, sizeof *label), *decisions = calloc((size_t)d.nrows * 6, sizeof *label);
        if (tutti_svm_predict(&m, &d, 1, label, decisions, NULL, &err)) fail_msg("%s", err.text);
        check_decisions(&m, &d, decisions);
        FILE *f = open_golden(CASES[c].model, "predicted");
        for (int64_t row = 0; row < d.nrows; row++) {
            double want;
            assert_int_equal(fscanf(f, "%lf", &want), 1);
            if (label[row] != want)
                fail_msg("%s row %d: %g, LIBSVM says %g", CASES[c].model, (int)row, label[row], want);
        }
        fclose(f);
        free(label);
        free(decisions);
        tutti_svm_data_release(&d);
        tutti_svm_model_release(&m);
    }
}

static void probabilities_of(const char *set, const char *name)
{
    tutti_svm_data d;
    tutti_svm_model m;
    tutti_failure err = {0};
    read_golden(set, name, &d, &m);
    double *label = calloc((size_t)d.nrows, sizeof *label), *p = calloc((size_t)(d.nrows * m.nclasses), sizeof *p);
    if (tutti_svm_predict(&m, &d, 2, label, NULL, p, &err)) fail_msg("%s", err.text);
    FILE *f = open_golden(name, "probabilities");
    int heading;
    assert_int_equal(fscanf(f, "labels"), 0);
    for (int c = 0; c < m.nclasses; c++) {
        assert_int_equal(fscanf(f, "%d", &heading), 1);
        assert_int_equal(heading, m.label[c]);
    }
    for (int64_t row = 0; row < d.nrows; row++) {
        double want;
        assert_int_equal(fscanf(f, "%lf", &want), 1);
        assert_true(label[row] == want);
        for (int c = 0; c < m.nclasses; c++) { /* six digits are printed */
            const double got = p[row * m.nclasses + c];
            assert_int_equal(fscanf(f, "%lf", &want), 1);
            if (!(fabs(got - want) <= 5.1e-6 * want)) fail_msg("row %d: %.9g, LIBSVM says %.9g", (int)row, got, want);
        }
    }
    fclose(f);
    free(label);
    free(p);
    tutti_svm_data_release(&d);
    tutti_svm_model_release(&m);
}

static void probabilities_are_those_of_libsvm(void **state)
{
    (void)state;
    probabilities_of("four", "probability");
    probabilities_of("two", "two_probability");
}

/* --- on their own --- */

/* Class k's only vector is the k-th unit vector: decisions are differences of entries. */
static const char UNITS[] = "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho 0 0 0\nlabel 5 -3 2\n"
                            "nr_sv 1 1 1\nSV\n1 1 1:1 \n-1 1 2:1 \n-1 -1 3:1 \n";

static void the_class_with_most_votes_wins(void **state)
{
    (void)state;
    tutti_svm_model m = parse_model(UNITS);
    tutti_svm_data d = parse_rows("0 1:3 2:2 3:1\n0 1:1 2:3 3:2\n0 1:1 2:2 3:3 900:5\n", false);
    tutti_failure err = {0};
    double label[3], decisions[9];
    assert_int_equal(tutti_svm_predict(&m, &d, 1, label, decisions, NULL, &err), TUTTI_OK);
    const double want[] = {1, 2, 1, -2, -1, 1, -1, -2, -1}, labels[] = {5, -3, 2};
    assert_memory_equal(decisions, want, sizeof want);
    assert_memory_equal(label, labels, sizeof labels);
    tutti_svm_data_release(&d);
    tutti_svm_model_release(&m);
}

static void of_equal_votes_the_first_class_wins(void **state)
{
    (void)state;
    /* 5 beats -3, -3 beats 2, 2 beats 5: one vote each */
    tutti_svm_model m =
        parse_model("svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 0\nrho -1 1 -1\nlabel 5 -3 2\n"
                    "nr_sv 0 0 0\nSV\n");
    tutti_svm_data d = parse_rows("0 1:3\n", false);
    tutti_failure err = {0};
    double label;
    assert_int_equal(tutti_svm_predict(&m, &d, 1, &label, NULL, NULL, &err), TUTTI_OK);
    assert_true(label == 5);
    tutti_svm_model_release(&m);
    /* a decision of 0 is a vote for the second of the pair */
    m = parse_model("svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho 0\nlabel 5 -3\nnr_sv 0 0\nSV\n");
    assert_int_equal(tutti_svm_predict(&m, &d, 1, &label, NULL, NULL, &err), TUTTI_OK);
    assert_true(label == -3);
    tutti_svm_model_release(&m);
    tutti_svm_data_release(&d);
}

static void threads_and_blocks_do_not_show(void **state)
{
    (void)state;
    enum { N = 1700 };
    char *text = malloc(N * 40), *at = text;
    for (int i = 0; i < N; i++)
        at += sprintf(at, "0 %d:%d.%d 5:0.%d 6:%d\n", i % 4 + 1, i % 3, i % 97, i % 89, -(i % 5));
    tutti_svm_data d = parse_rows(text, false), unused;
    tutti_svm_model m;
    tutti_failure err = {0};
    read_golden("four", "probability", &unused, &m);
    double *label[2], *decisions[2], *p[2];
    for (int k = 0; k < 2; k++) {
        label[k] = calloc(N, sizeof **label);
        decisions[k] = calloc(N * 6, sizeof **label);
        p[k] = calloc(N * 4, sizeof **label);
        assert_int_equal(tutti_svm_predict(&m, &d, k ? 3 : 1, label[k], decisions[k], p[k], &err), TUTTI_OK);
    }
    check_decisions(&m, &d, decisions[0]);
    assert_memory_equal(label[0], label[1], N * sizeof **label);
    assert_memory_equal(decisions[0], decisions[1], N * 6 * sizeof **label);
    assert_memory_equal(p[0], p[1], N * 4 * sizeof **label);
    for (int k = 0; k < 2; k++) free(label[k]), free(decisions[k]), free(p[k]);
    free(text);
    tutti_svm_data_release(&d);
    tutti_svm_data_release(&unused);
    tutti_svm_model_release(&m);
}

static void no_rows_are_no_failure(void **state)
{
    (void)state;
    tutti_svm_model m = parse_model(UNITS);
    tutti_svm_data d = parse_rows("", false);
    tutti_failure err = {0};
    double label = 7;
    assert_int_equal(tutti_svm_predict(&m, &d, 4, &label, NULL, NULL, &err), TUTTI_OK);
    assert_true(label == 7);
    tutti_svm_data_release(&d);
    tutti_svm_model_release(&m);
}

static void probabilities_of_a_model_without_them_are_refused(void **state)
{
    (void)state;
    tutti_svm_model m = parse_model(UNITS);
    tutti_svm_data d = parse_rows("0 1:1\n", false);
    tutti_failure err = {0};
    double label, p[3];
    assert_int_equal(tutti_svm_predict(&m, &d, 1, &label, NULL, p, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "the model has no probabilities"));
    tutti_svm_data_release(&d);
    tutti_svm_model_release(&m);
}

static void rows_without_the_columns_of_the_model_are_refused(void **state)
{
    (void)state;
    tutti_svm_model m =
        parse_model("svm_type c_svc\nkernel_type precomputed\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 2\n"
                    "nr_sv 1 1\nSV\n1 0:2\n-1 0:4\n");
    tutti_svm_data d = parse_rows("0 0:1 1:1 2:5 3:1\n", true);
    tutti_failure err = {0};
    double label, decision;
    assert_int_equal(tutti_svm_predict(&m, &d, 1, &label, NULL, NULL, &err), TUTTI_ERR_DATA);
    assert_non_null(
        strstr(err.text, "the model wants column 4 of a precomputed kernel, the rows have columns up to 3"));
    tutti_svm_data_release(&d);
    d = parse_rows("0 0:1 1:1 2:5 4:3\n", true);
    assert_int_equal(tutti_svm_predict(&m, &d, 1, &label, &decision, NULL, &err), TUTTI_OK);
    assert_true(label == 1 && decision == 2);
    tutti_svm_data_release(&d);
    tutti_svm_model_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_those_of_libsvm_and_decisions_those_of_the_formula),
        cmocka_unit_test(probabilities_are_those_of_libsvm),
        cmocka_unit_test(the_class_with_most_votes_wins),
        cmocka_unit_test(of_equal_votes_the_first_class_wins),
        cmocka_unit_test(threads_and_blocks_do_not_show),
        cmocka_unit_test(no_rows_are_no_failure),
        cmocka_unit_test(probabilities_of_a_model_without_them_are_refused),
        cmocka_unit_test(rows_without_the_columns_of_the_model_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
