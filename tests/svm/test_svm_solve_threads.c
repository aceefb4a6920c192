/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_solve_threads.c: ranks as threads: the same bits for any number of ranks and threads, ranks without samples,
 * failures that all ranks see. */
#include "testing.h"

#include "../collective/comm_ranks.h"
#include "svm_problems.h"

typedef struct {
    svm_case *c;
    double *alpha; /* [total]; each rank writes its own */
    tutti_svm_pair_result result[MOST_COMM_RANKS];
    tutti_status wanted;
} job;

static const char *solve_ours(tutti_comm *comm, void *arg)
{
    job *j = arg;
    tutti_failure err = {0};
    const int rank = tutti_comm_rank(comm), p = tutti_comm_size(comm);
    const tutti_status s = solve_part(comm, rank, p, j->c, j->alpha, &j->result[rank], &err);
    EXPECT(s == j->wanted);
    EXPECT(s == TUTTI_OK || strlen(err.text) > 20);
    return NULL;
}

static double *solve_with(svm_case *c, int p, int nthreads, tutti_svm_pair_result *result)
{
    job j = {.c = c, .alpha = calloc((size_t)c->data.total, sizeof(double))};
    c->config.nthreads = nthreads;
    run_comms(p, 60, solve_ours, &j);
    for (int r = 1; r < p; r++) assert_memory_equal(&j.result[r], &j.result[0], sizeof *j.result);
    *result = j.result[0];
    return j.alpha;
}

static void assert_same_bits(svm_case *c, int most)
{
    tutti_svm_pair_result first, other;
    double *alpha = solve_with(c, 1, 1, &first);
    assert_true(first.gap < c->config.eps && first.nsv > 0);
    for (int p = 1; p <= most; p++)
        for (int nthreads = 1; nthreads <= 2; nthreads++) {
            double *same = solve_with(c, p, nthreads, &other);
            assert_memory_equal(&other, &first, sizeof first);
            assert_memory_equal(same, alpha, sizeof *alpha * (size_t)c->data.total);
            free(same);
        }
    free(alpha);
}

static void any_number_of_ranks_and_threads_gives_the_same_bits(void **state)
{
    (void)state;
    static const struct {
        tutti_svm_kernel kernel;
        tutti_svm_precision precision;
        int block;
        const char *kind, *threshold;
    } with[] = {
        {{TUTTI_SVM_RBF, 3, 0, 0}, TUTTI_SVM_F32, 0, "none", NULL},
        {{TUTTI_SVM_RBF, 3, 0.5, 0}, TUTTI_SVM_F32, 64, "multi", "random:2"},
        {{TUTTI_SVM_RBF, 3, 0.5, 0}, TUTTI_SVM_F64, 50, "single", "samples:10%"},
        {{TUTTI_SVM_POLY, 2, 0.5, 1}, TUTTI_SVM_F32, 64, "multi", "samples:5%"},
        {{TUTTI_SVM_LINEAR, 3, 0, 0}, TUTTI_SVM_F64, 128, "none", NULL},
        {{TUTTI_SVM_SIGMOID, 3, 0.02, 0}, TUTTI_SVM_F32, 32, "single", "random:500"},
    };
    svm_case c = make_case(500, 8, 10, 0);
    c.cost_positive = 4, c.cost_negative = 2;
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        c.config.kernel = with[i].kernel, c.config.precision = with[i].precision, c.config.block = with[i].block;
        assert_int_equal(tutti_svm_elimination_parse(with[i].kind, with[i].threshold, &c.config.elimination, NULL),
                         TUTTI_OK);
        assert_same_bits(&c, 4);
    }
    release_case(&c);
}

/* One rank has nearly all violators of the one side, more than it offers at first. */
static void a_rank_that_has_all_violators_offers_more(void **state)
{
    (void)state;
    svm_case c = make_case(900, 6, 12, 5);
    c.config.block = 128, c.config.eps = 1e-4;
    assert_same_bits(&c, 4);
    release_case(&c);
}

static void ranks_with_caches_of_their_own_give_the_same_bits(void **state)
{
    (void)state;
    svm_case c = make_case(400, 64, 12, 0);
    c.config.block = 64, c.cost_positive = c.cost_negative = 10, c.config.cache_mb = 0.3;
    assert_int_equal(tutti_svm_elimination_parse("multi", "random:2", &c.config.elimination, NULL), TUTTI_OK);
    assert_same_bits(&c, 3);
    release_case(&c);
}

static void ranks_without_samples_take_part(void **state)
{
    (void)state;
    svm_case c = make_case(3, 3, 16, 1);
    assert_same_bits(&c, 5);
    release_case(&c);
    c = make_case(40, 3, 16, 0);
    c.config.block = 8;
    assert_same_bits(&c, 7);
    release_case(&c);
}

static void precomputed_rows_travel_too(void **state)
{
    (void)state;
    enum { N = 60 };
    svm_case c = make_case(N, N + 1, 16, 0);
    tutti_svm_data *d = &c.data;
    c.config.kernel.type = TUTTI_SVM_PRECOMPUTED, c.config.block = 16;
    d->width = N;
    for (int64_t i = 0; i < N; i++) {
        d->start[i + 1] = (i + 1) * (N + 1);
        for (int32_t f = 0; f <= N; f++) {
            const int64_t apart = i + 1 > f ? i + 1 - f : f - i - 1;
            d->index[d->start[i] + f] = f;
            d->value[d->start[i] + f] = f == 0 ? (double)i + 1 : 1 / (1 + (double)apart);
        }
    }
    assert_same_bits(&c, 4);
    release_case(&c);
}

static void failures_are_the_same_on_all_ranks(void **state)
{
    (void)state;
    svm_case c = make_case(60, 4, 16, 0);
    job j = {.c = &c, .alpha = calloc(60, sizeof(double)), .wanted = TUTTI_ERR_DATA};
    c.data.value[100] = NAN;
    c.config.kernel.type = TUTTI_SVM_LINEAR;
    for (int block = 0; block <= 8; block += 8) {
        c.config.block = block;
        run_comms(3, 60, solve_ours, &j);
    }
    for (int64_t i = 0; i < 60; i++) c.data.label[i] = 1;
    run_comms(3, 60, solve_ours, &j);
    free(j.alpha);
    release_case(&c);
}

/* --- sums --- */

enum { ROWS = 2500 }; /* more than two chunks */

typedef struct {
    svm_case *c;
    double *sum;
} sum_job;

static const char *sum_ours(tutti_comm *comm, void *arg)
{
    const sum_job *j = arg;
    tutti_failure err = {0};
    const int rank = tutti_comm_rank(comm), p = tutti_comm_size(comm);
    tutti_svm_data d = part_of(&j->c->data, rank, p);
    int32_t row[ROWS];
    double weight[ROWS];
    for (int64_t i = 0; i < d.nrows; i++) row[i] = (int32_t)i, weight[i] = (double)((d.first + i) % 7 - 3) / 3;
    const int64_t ntargets = rank == 1 ? 0 : d.nrows; /* one has none */
    tutti_svm_context *context;
    EXPECT(!tutti_svm_context_create(comm, &d, &j->c->config, &context, &err));
    EXPECT(!tutti_svm_sum_rows(context, &(tutti_svm_weighted){d.nrows, row, weight}, ntargets, row, j->sum + d.first,
                               &err));
    tutti_svm_context_destroy(context);
    free(d.start);
    return NULL;
}

static void sums_over_ranks_have_the_bits_of_one(void **state)
{
    (void)state;
    svm_case c = make_case(ROWS, 5, 12, 0);
    double *first = calloc(ROWS, sizeof *first);
    run_comms(1, 60, sum_ours, &(sum_job){&c, first});
    for (int p = 2; p <= 4; p++) {
        double *sum = calloc(ROWS, sizeof *sum);
        run_comms(p, 60, sum_ours, &(sum_job){&c, sum});
        const int64_t begin = ROWS / p, end = 2 * ROWS / p; /* rank 1's */
        for (int64_t i = 0; i < ROWS; i++) assert_true(sum[i] == (i >= begin && i < end ? 0 : first[i]));
        free(sum);
    }
    free(first);
    release_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_and_threads_gives_the_same_bits),
        cmocka_unit_test(a_rank_that_has_all_violators_offers_more),
        cmocka_unit_test(ranks_with_caches_of_their_own_give_the_same_bits),
        cmocka_unit_test(ranks_without_samples_take_part),
        cmocka_unit_test(precomputed_rows_travel_too),
        cmocka_unit_test(failures_are_the_same_on_all_ranks),
        cmocka_unit_test(sums_over_ranks_have_the_bits_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
