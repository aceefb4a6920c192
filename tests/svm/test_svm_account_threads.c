/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_account_threads.c: what events say of time and traffic: parts sum to the wall time, rows are the same for
 * any number of ranks. */
#include "testing.h"

#include "../collective/comm_ranks.h"
#include "base/clock.h"
#include "svm_problems.h"

typedef struct {
    double first_s, last_s; /* the clock at the first and the last event */
    tutti_svm_event first, last;
    bool grows; /* nothing that adds up ever falls */
    int n;
} account;

typedef struct {
    svm_case *c;
    account of[MOST_COMM_RANKS];
} job;

static double sum_of(const tutti_svm_event *e)
{
    double sum = 0;
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) sum += e->spent_s[w];
    return sum;
}

static void note(void *arg, const tutti_svm_event *e)
{
    account *a = arg;
    if (a->n++ == 0) a->first = a->last = *e, a->first_s = tutti_clock_s(), a->grows = true;
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) a->grows &= e->spent_s[w] >= a->last.spent_s[w];
    a->grows &= e->collectives >= a->last.collectives && e->bytes >= a->last.bytes;
    a->grows &= e->row_bytes >= a->last.row_bytes;
    a->last = *e, a->last_s = tutti_clock_s();
}

static const char *solve_ours(tutti_comm *comm, void *arg)
{
    job *j = arg;
    const int rank = tutti_comm_rank(comm);
    tutti_failure err = {0};
    tutti_svm_pair_result result;
    double *alpha = calloc((size_t)j->c->data.total, sizeof *alpha);
    svm_case c = *j->c;
    c.config.on_event = note, c.config.arg = &j->of[rank];
    EXPECT(!solve_part(comm, rank, tutti_comm_size(comm), &c, alpha, &result, &err));
    free(alpha);
    return NULL;
}

/* 4,000 samples in sets of 256, samples dropped and brought back: every kind of work has something to do. */
static svm_case make_work(void)
{
    svm_case c = make_case(4000, 12, 14, 0);
    c.config.block = 256;
    assert_int_equal(tutti_svm_elimination_parse("multi", "random:500", &c.config.elimination, NULL), TUTTI_OK);
    return c;
}

static void parts_sum_to_the_wall_time_of_the_rounds(void **state)
{
    (void)state;
    svm_case c = make_work();
    for (int p = 1; p <= 3; p++) {
        job j = {.c = &c};
        run_comms(p, 60, solve_ours, &j);
        for (int r = 0; r < p; r++) {
            const account *a = &j.of[r];
            const double wall = a->last_s - a->first_s, sum = sum_of(&a->last) - sum_of(&a->first);
            assert_true(a->n > 5 && a->last.over && a->grows);
            if (fabs(sum - wall) > 0.05 * wall + 0.01) /* a thread may be off the core between two looks at the clock */
                fail_msg("rank %d of %d: parts sum to %g s, the rounds took %g s", r, p, sum, wall);
            for (int w = 0; w < TUTTI_SVM_NWORKS; w++) assert_true(a->last.spent_s[w] > 0);
        }
    }
    release_case(&c);
}

static void rows_are_the_same_for_any_number_of_ranks_and_traffic_is_counted(void **state)
{
    (void)state;
    svm_case c = make_work();
    int64_t rows = 0;
    for (int p = 1; p <= 3; p++) {
        job j = {.c = &c};
        run_comms(p, 60, solve_ours, &j);
        const tutti_svm_event *e = &j.of[0].last;
        if (p == 1) rows = e->row_bytes;
        assert_true(rows > 0 && e->row_bytes == rows && e->block == 256);
        if (p == 1) {
            assert_true(e->collectives == 0 && e->bytes == 0);
        } else { /* an allreduce for each event, two gathers a round */
            assert_true(e->collectives >= j.of[0].n + 2 * e->round);
            assert_true(e->bytes >= rows + 48 * j.of[0].n);
        }
    }
    release_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_sum_to_the_wall_time_of_the_rounds),
        cmocka_unit_test(rows_are_the_same_for_any_number_of_ranks_and_traffic_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
