/* SPDX-License-Identifier: Apache-2.0 */
/* coll_verify_all.c: `tutti coll verify-all`: proves every schedule of a matrix of algorithms and rank counts
 * (verify.h), and prints the counter-example of the first wrong one. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../collective/compile/algorithms.h"
#include "../../collective/verify/verify.h"
#include "../progress.h"
#include "coll.h"
#include "tutti/check.h"

static const tutti_flag flags[] = {
    {"ranks", "P,..", "these rank counts (default 1 to 33, 48, 64, 96, 127, 128, 255, 256, 1000, 1024)", 0},
    {"jobs", "J", "proofs at a time (default 1); the largest needs 3 GB", 0},
};
enum { MOST_COUNTS = 64 };
static const double REDRAW_S = 0.1, LINE_S = 10;

/* Totals of the schedules that were proved for one row of the matrix (verify.h). */
typedef struct {
    int64_t nschedules, nsteps;
    double seconds, slowest_s;
    char slowest[200];
} row_tally;

typedef struct {
    const tutti_verify_matrix *m;
    row_tally *rows;
    bool tty;
    double began, drawn;
    pthread_mutex_t lock; /* guards the fields below and the tallies */
    int64_t next, ndone;
    tutti_failure err; /* the failure of the first wrong schedule; schedules behind it are not checked */
    bool failed;
    char failed_name[200];
} verification;

static double thread_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void draw(verification *v, const tutti_verify_case *c)
{
    const double now = tutti_clock_s();
    if (now - v->drawn < (v->tty ? REDRAW_S : LINE_S)) return;
    v->drawn = now;
    if (!v->tty) {
        printf("%" PRId64 " of %" PRId64 " schedules proved, now %s at %d ranks, %.0f s\n", v->ndone, v->m->ncases,
               c->algorithm, c->request.nranks, now - v->began);
    } else {
        char bar[TUTTI_PROGRESS_BAR + 3];
        tutti_progress_bar(v->ndone, v->m->ncases, bar);
        printf("\r%s %" PRId64 "/%" PRId64 " %s, %d ranks, %.0f s\x1b[K", bar, v->ndone, v->m->ncases, c->algorithm,
               c->request.nranks, now - v->began);
    }
    fflush(stdout);
}

static void note(verification *v, const tutti_verify_case *c, const tutti_check_report *report, double took_s)
{
    row_tally *row = &v->rows[c->row];
    row->nschedules++;
    row->nsteps += report->nsteps;
    row->seconds += took_s;
    v->ndone++;
    if (took_s <= row->slowest_s) return;
    row->slowest_s = took_s;
    tutti_verify_name(c, row->slowest);
}

static void *work(void *arg)
{
    verification *v = arg;
    pthread_mutex_lock(&v->lock);
    while (v->next < v->m->ncases && !v->failed) {
        const tutti_verify_case *c = &v->m->cases[v->next++];
        tutti_check_report report;
        tutti_failure err = {0};
        draw(v, c);
        pthread_mutex_unlock(&v->lock);
        const double begin = thread_s();
        tutti_status st = tutti_verify_prove(c, &report, &err);
        const double took_s = thread_s() - begin;
        pthread_mutex_lock(&v->lock);
        if (st == TUTTI_OK) {
            note(v, c, &report, took_s);
        } else if (!v->failed) {
            v->failed = true;
            v->err = err;
            tutti_verify_name(c, v->failed_name);
        }
    }
    pthread_mutex_unlock(&v->lock);
    return NULL;
}

static void print_table(const verification *v)
{
    double seconds = 0;
    int64_t nschedules = 0;
    printf("%-20s %9s %14s %9s  %s\n", "algorithm", "schedules", "steps", "seconds", "slowest");
    for (int i = 0; i < tutti_algorithm_count(); i++) {
        const row_tally *row = &v->rows[i];
        printf("%-20s %9" PRId64 " %14" PRId64 " %9.1f", tutti_algorithm_at(i)->name, row->nschedules, row->nsteps,
               row->seconds);
        if (row->nschedules) printf("  %.2f s: %s", row->slowest_s, row->slowest);
        printf("\n");
        seconds += row->seconds;
        nschedules += row->nschedules;
    }
    printf("%" PRId64
           " schedules, unlowered and lowered for mapped, one-sided and mixed wires: right for every vector length,\n"
           "invocations back to back, no deadlock at capacity 0, in %.1f s of processor time, %.1f s on the clock\n",
           nschedules, seconds, tutti_clock_s() - v->began);
    printf("above 33 ranks: each row's own parameters, fast sums, not in place\n");
    if (!v->m->left_out.text) return;
    printf("left out, because above 33 ranks what has more than %.1f million steps is proved at %d ranks only, and "
           "lowered\n"
           "only for the first collective of its row:\n%s",
           1e-6 * TUTTI_VERIFY_STEPS, TUTTI_VERIFY_MOST, v->m->left_out.text);
}

static tutti_status verify(const tutti_verify_matrix *m, long jobs, tutti_failure *err)
{
    verification v = {.m = m, .tty = isatty(STDOUT_FILENO), .began = tutti_clock_s()};
    v.drawn = v.began;
    v.rows = tutti_alloc(sizeof *v.rows * (size_t)tutti_algorithm_count());
    pthread_mutex_init(&v.lock, NULL);
    pthread_t *threads = tutti_alloc(sizeof *threads * (size_t)jobs);
    long started = 0;
    while (started + 1 < jobs && !pthread_create(&threads[started], NULL, work, &v)) started++;
    work(&v);
    for (long i = 0; i < started; i++) pthread_join(threads[i], NULL);
    if (v.tty) printf("\r\x1b[K");
    if (!v.failed) print_table(&v);
    tutti_status st = TUTTI_OK;
    if (v.failed) st = tutti_fail(err, TUTTI_ERR_FAILED, "%s is wrong: %s", v.failed_name, v.err.text);
    pthread_mutex_destroy(&v.lock);
    free(threads);
    free(v.rows);
    return st;
}

static tutti_status verify_flags(const tutti_flags *f, tutti_failure *err)
{
    long jobs = 1, counts[MOST_COUNTS];
    int32_t ranks[MOST_COUNTS];
    tutti_cli_list given = {counts, MOST_COUNTS, 0};
    tutti_status st = tutti_cli_int(f, "jobs", (tutti_cli_range){1, 256}, 1, &jobs, err);
    if (st == TUTTI_OK && tutti_cli_has(f, "ranks"))
        st = tutti_cli_ints(f, "ranks", (tutti_cli_range){1, TUTTI_VERIFY_MOST}, &given, err);
    if (st != TUTTI_OK) return st;
    for (int i = 0, k; i < given.n; i++) { /* sorts the rank counts, ascending */
        for (k = i; k > 0 && ranks[k - 1] > counts[i]; k--) ranks[k] = ranks[k - 1];
        ranks[k] = (int32_t)counts[i];
    }
    tutti_verify_matrix m;
    tutti_verify_create(given.n ? ranks : NULL, given.n, &m);
    st = verify(&m, jobs, err);
    tutti_verify_release(&m);
    return st;
}

int tutti_coll_verify_all(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "coll verify-all",
        .usage = "tutti coll verify-all [options]",
        .about = "Proves every algorithm of the table for every collective, variant and rank count, unlowered and\n"
                 "lowered for every wire class, and says what was left out and why. Ends at the first wrong one\n"
                 "with its counter-example (exit code 1). How well the checker itself finds mistakes is a test of its\n"
                 "own: test_mutants.",
        TUTTI_CLI_FLAGS(flags),
        .run = verify_flags,
    };
    return tutti_cli_run(&form, argc, argv);
}
