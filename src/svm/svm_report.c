/* SPDX-License-Identifier: Apache-2.0 */
/* svm_report.c: reports an SVM training from its trace: active samples and gap over time. With several classes the
 * subproblems follow each other on the time axis. */
#include "svm_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../metrics/chart/chart.h"

typedef struct {
    int n;
    /* [n] points of the curves: time, active samples, gap */
    double *seconds, *active, *gap;
    int problems;                                                                    /* number of solved problems */
    double samples, iterations, eliminated, reconstructed, kernel_rows, cached_rows; /* sums over all solved problems */
    double work, all;                 /* kernel values that were computed, and those that a training without elimination
                                       * would compute */
    double spent_s[TUTTI_SVM_NWORKS]; /* seconds of each kind of work, over all subproblems */
    double collectives, bytes, rounds;
} svm_run;

/* Adds a subproblem's result, from its last event. */
static void add_problem(svm_run *r, const tutti_svm_event *e)
{
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) r->spent_s[w] += e->spent_s[w];
    r->collectives += (double)e->collectives, r->bytes += (double)e->bytes, r->rounds += (double)e->round;
    if (!e->over) return;
    r->problems++;
    r->samples += (double)e->samples, r->iterations += (double)e->iterations;
    r->eliminated += (double)e->eliminated, r->reconstructed += (double)e->reconstructed;
    r->kernel_rows += (double)e->kernel_rows, r->cached_rows += (double)e->cached_rows;
}

static void sum_up(const tutti_svm_trace *t, svm_run *r)
{
    r->seconds = tutti_alloc(sizeof *r->seconds * (size_t)t->n);
    r->active = tutti_alloc(sizeof *r->active * (size_t)t->n);
    r->gap = tutti_alloc(sizeof *r->gap * (size_t)t->n);
    for (; r->n < t->n; r->n++) {
        const tutti_svm_event *e = &t->events[r->n], *before = r->n && !e[-1].over ? e - 1 : NULL;
        const double rows = (double)(e->kernel_rows - (before ? before->kernel_rows : 0));
        r->seconds[r->n] = e->seconds;
        r->active[r->n] = (double)e->active;
        r->gap[r->n] = e->gap > 0 ? log10(e->gap) : (double)NAN;
        r->work += rows * (double)e->active, r->all += rows * (double)e->samples;
        if (e->over || r->n == t->n - 1) add_problem(r, e);
    }
}

static void draw(const svm_run *r, const char *path, tutti_strbuf *svg)
{
    const tutti_chart_series active = {"active samples", r->seconds, r->active, r->n, .steps = true},
                             gap = {"gap", r->seconds, r->gap, r->n, .points = false};
    const tutti_chart_panel panels[] = {{.title = "active samples", .series = &active, .nseries = 1},
                                        {.title = "log10 of the gap", .series = &gap, .nseries = 1}};
    tutti_strbuf title = {0};
    tutti_strbuf_printf(&title, "Samples still in training, %s", path);
    tutti_chart_svg(title.text, "seconds", panels, 2, svg);
    tutti_strbuf_release(&title);
}

/* Prints how the time of the rounds was spent, and how much they exchanged. */
static void print_work(const svm_run *r, int nranks, tutti_strbuf *out)
{
    double sum = 0;
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) sum += r->spent_s[w];
    tutti_strbuf_printf(out, "rounds       %.0f in %.2f s", r->rounds, sum);
    if (nranks > 1) tutti_strbuf_printf(out, ", of rank 0 of %d", nranks);
    tutti_strbuf_printf(out, "\n");
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++)
        tutti_strbuf_printf(out, "  %-10s %8.3f s %5.1f %%\n", tutti_svm_work_name((tutti_svm_work)w), r->spent_s[w],
                            sum > 0 ? 100 * r->spent_s[w] / sum : 0);
    if (r->collectives > 0 && r->rounds > 0)
        tutti_strbuf_printf(out, "  a round has %.1f collectives that bring %.1f kB\n", r->collectives / r->rounds,
                            r->bytes / r->rounds / 1e3);
}

static void print(const svm_run *r, int nranks, tutti_strbuf *out)
{
    const int last = r->n - 1;
    if (r->problems == 0)
        tutti_strbuf_printf(out, "not finished: gap %.3g after %.1f s\n", pow(10, r->gap[last]), r->seconds[last]);
    if (r->problems > 0)
        tutti_strbuf_printf(out,
                            "problems     %d solved, %.0f samples, %.0f pairs optimised\n"
                            "eliminated   %.0f samples, %.0f gradients made anew\n"
                            "kernel rows  %.0f computed, %.0f from the cache\n",
                            r->problems, r->samples, r->iterations, r->eliminated, r->reconstructed, r->kernel_rows,
                            r->cached_rows);
    if (r->all > 0)
        tutti_strbuf_printf(out, "work         %.1f %% of what all samples would have taken\n", 100 * r->work / r->all);
    print_work(r, nranks, out);
    tutti_strbuf_printf(out, "seconds      %.2f\n", r->seconds[last]);
}

tutti_status tutti_svm_trace_report(const char *path, tutti_strbuf *text, tutti_strbuf *svg, tutti_failure *err)
{
    svm_run r = {0};
    tutti_svm_trace trace = {0};
    const tutti_status st = tutti_svm_trace_read(path, &trace, err);
    if (st) return st;
    sum_up(&trace, &r);
    draw(&r, path, svg);
    print(&r, trace.nranks, text);
    tutti_svm_trace_release(&trace);
    free(r.seconds);
    free(r.active);
    free(r.gap);
    return TUTTI_OK;
}
