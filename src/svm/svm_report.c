/* SPDX-License-Identifier: Apache-2.0 */
/* report_svm.c: how a training of an SVM went: samples that still took part, and the gap, over time. With several classes the
 * subproblems stand one behind the other. */
#include "report_svm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/text/strbuf.h"
#include "../../metrics/chart/chart.h"
#include "../../svm/svm_trace.h"
#include "../cli.h"

typedef struct {
    int n;
    double *seconds, *active, *gap;                                                  /* [n] */
    int problems;                                                                    /* solved */
    double samples, iterations, eliminated, reconstructed, kernel_rows, cached_rows; /* sums over the solved ones */
    double work, all;                 /* kernel values computed, and if nobody had been dropped */
    double spent_s[TUTTI_SVM_NWORKS]; /* of all subproblems */
    double collectives, bytes, rounds;
} svm_run;

/* What a subproblem came to, from its last event. */
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

static tutti_status draw(const svm_run *r, const char *path, const char *picture, tutti_failure *err)
{
    const tutti_chart_series active = {"active samples", r->seconds, r->active, r->n, .steps = true},
                             gap = {"gap", r->seconds, r->gap, r->n, .points = false};
    const tutti_chart_panel panels[] = {{.title = "active samples", .series = &active, .nseries = 1},
                                        {.title = "log10 of the gap", .series = &gap, .nseries = 1}};
    tutti_strbuf svg = {0}, title = {0};
    tutti_strbuf_printf(&title, "Samples still in training, %s", path);
    tutti_chart_svg(title.text, "seconds", panels, 2, &svg);
    tutti_strbuf_release(&title);
    const tutti_status st = tutti_file_write_atomic(picture, svg.text, svg.length, err);
    tutti_strbuf_release(&svg);
    return st;
}

/* Where the time of the rounds went, and what they exchanged. */
static void print_work(const svm_run *r, int nranks)
{
    double sum = 0;
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) sum += r->spent_s[w];
    printf("rounds       %.0f in %.2f s", r->rounds, sum);
    if (nranks > 1) printf(", of rank 0 of %d", nranks);
    printf("\n");
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++)
        printf("  %-10s %8.3f s %5.1f %%\n", tutti_svm_work_name((tutti_svm_work)w), r->spent_s[w],
               sum > 0 ? 100 * r->spent_s[w] / sum : 0);
    if (r->collectives > 0 && r->rounds > 0)
        printf("  a round has %.1f collectives that bring %.1f kB\n", r->collectives / r->rounds,
               r->bytes / r->rounds / 1e3);
}

static void print(const svm_run *r, int nranks, const char *picture)
{
    const int last = r->n - 1;
    if (r->problems == 0) printf("not finished: gap %.3g after %.1f s\n", pow(10, r->gap[last]), r->seconds[last]);
    if (r->problems > 0)
        printf("problems     %d solved, %.0f samples, %.0f pairs optimised\n"
               "eliminated   %.0f samples, %.0f gradients made anew\n"
               "kernel rows  %.0f computed, %.0f from the cache\n",
               r->problems, r->samples, r->iterations, r->eliminated, r->reconstructed, r->kernel_rows, r->cached_rows);
    if (r->all > 0) printf("work         %.1f %% of what all samples would have taken\n", 100 * r->work / r->all);
    print_work(r, nranks);
    printf("seconds      %.2f\npicture      %s\n", r->seconds[last], picture);
}

tutti_status tutti_report_svm(const char *path, const char *picture, tutti_failure *err)
{
    svm_run r = {0};
    tutti_svm_trace trace = {0};
    tutti_strbuf name = {0};
    const char *dot = strrchr(path, '.');
    const int stem = dot && !strcmp(dot, ".jsonl") ? (int)(dot - path) : (int)strlen(path);
    tutti_strbuf_printf(&name, "%.*s.svg", stem, path);
    if (!picture) picture = name.text;
    const tutti_cli_file files[] = {{.what = "the trace", .path = path},
                                    {.what = "the picture", .path = picture, .written = true}};
    tutti_status st = tutti_cli_check_files(files, 2, err);
    if (!st) st = tutti_svm_trace_read(path, &trace, err);
    if (!st) sum_up(&trace, &r);
    if (!st) st = draw(&r, path, picture, err);
    if (!st) print(&r, trace.nranks, picture);
    tutti_svm_trace_release(&trace);
    tutti_strbuf_release(&name);
    free(r.seconds);
    free(r.active);
    free(r.gap);
    return st;
}
