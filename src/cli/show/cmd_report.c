/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c: `tutti report DIR`: sums up a run from its metrics.jsonl, as a few lines and as pictures. If the
 * argument is a file, it is a trace of svm-train (src/svm/svm_report.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/sort.h"
#include "../../metrics/chart/chart.h"
#include "../../metrics/metrics.h"
#include "../../svm/svm_report.h"
#include "../cli.h"

static const tutti_flag flags[] = {
    {"out", "FILE", "where to draw (default DIR/report.svg; of a trace its name with .svg)", TUTTI_FLAG_WRITES},
};

static tutti_status read_run(const char *path, tutti_run_lines *r, tutti_failure *err)
{
    const tutti_status st = tutti_run_lines_read(path, r, err);
    if (st == TUTTI_OK && r->loss.n == 0)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: no step in it yet; a line comes every log_every steps", path);
    return st;
}

static tutti_status write_picture(tutti_strbuf *svg, const char *path, tutti_failure *err)
{
    const tutti_status st = tutti_file_write_atomic(path, svg->text, svg->length, err);
    tutti_strbuf_release(svg);
    return st;
}

/* Returns the loss of the first line of metrics.jsonl at this step or later. */
static double loss_at(const tutti_run_lines *r, double step)
{
    int i = 0;
    while (i + 1 < r->loss.n && r->loss.x[i] < step) i++;
    return r->loss.y[i];
}

/* Draws the curve of losses: losses of single steps pale, their mean in front of them, tests and restarts as dots. */
static tutti_status draw(const tutti_run_lines *r, const char *dir, const char *path, tutti_failure *err)
{
    enum { LOW = 170 };
    const int n = r->ntests, nlines = r->loss.n, nrestarts = r->restarts.n;
    double *room = tutti_alloc(sizeof *room * (size_t)(3 * n + 2 * nlines + nrestarts + 1));
    double *steps = room, *percent = room + n, *tested = room + 2 * n, *mean = room + 3 * n, *speed = mean + nlines,
           *restarted = speed + nlines;
    for (int i = 0; i < n; i++) {
        steps[i] = (double)r->tests[i].step;
        percent[i] = 100 * r->tests[i].accuracy;
        tested[i] = r->tests[i].loss;
    }
    for (int i = 0; i < nrestarts; i++) restarted[i] = loss_at(r, r->restarts.x[i]);
    tutti_chart_smooth(r->loss.y, nlines, mean);
    tutti_chart_smooth(r->speed.y, nlines, speed);
    tutti_chart_series losses[4] = {{"training, mean", r->loss.x, mean, nlines, .points = false},
                                    {"training, a step", r->loss.x, r->loss.y, nlines, .pale = true}};
    int nlosses = 2;
    if (n) losses[nlosses++] = (tutti_chart_series){"test", steps, tested, n, .points = true};
    if (nrestarts)
        losses[nlosses++] = (tutti_chart_series){"restart", r->restarts.x, restarted, nrestarts, .marks = true};
    const tutti_chart_series accuracy = {"test", steps, percent, n, .points = true};
    const tutti_chart_series speeds[] = {{"mean", r->speed.x, speed, nlines, .points = false},
                                         {"each line", r->speed.x, r->speed.y, nlines, .pale = true}};
    tutti_chart_panel panels[3];
    int npanels = 0;
    panels[npanels++] = (tutti_chart_panel){.title = "loss", .series = losses, .nseries = nlosses};
    if (n)
        panels[npanels++] = (tutti_chart_panel){
            .title = "accuracy, %", .series = &accuracy, .nseries = 1, .least_range = 5, .height = LOW};
    panels[npanels++] = (tutti_chart_panel){.title = "samples a second", .series = speeds, .nseries = 2, .height = LOW};
    tutti_strbuf svg = {0}, title = {0};
    tutti_strbuf_printf(&title, "Training in %s", dir);
    tutti_chart_svg(title.text, "step", panels, npanels, &svg);
    tutti_strbuf_release(&title);
    free(room);
    return write_picture(&svg, path, err);
}

/* Draws DIR/layers.svg if there is a DIR/layers.txt, and sets *drawn to whether it did. */
static tutti_status draw_layers(const char *dir, bool *drawn, tutti_failure *err)
{
    tutti_strbuf from = {0}, to = {0}, svg = {0}, title = {0};
    tutti_layer_trace trace;
    tutti_status st = TUTTI_OK;
    tutti_strbuf_printf(&from, "%s/layers.txt", dir);
    tutti_strbuf_printf(&to, "%s/layers.svg", dir);
    *drawn = access(from.text, F_OK) == 0;
    if (*drawn) st = tutti_layer_trace_read(from.text, &trace, err);
    if (*drawn && !st) {
        tutti_strbuf_printf(&title, "Time of each layer, %s", dir);
        tutti_layer_chart_svg(title.text, trace.layers, trace.nlayers, &svg);
        st = write_picture(&svg, to.text, err);
        tutti_layer_trace_release(&trace);
    }
    tutti_strbuf_release(&from);
    tutti_strbuf_release(&to);
    tutti_strbuf_release(&title);
    return st;
}

/* Draws DIR/sparsity.svg, if the run has counted zeros of ReLUs. */
static tutti_status draw_sparsity(const tutti_run_lines *r, const char *dir, tutti_failure *err)
{
    tutti_strbuf to = {0}, svg = {0}, title = {0};
    if (r->nrelus == 0) return TUTTI_OK;
    tutti_sparsity_row *rows = tutti_alloc(sizeof *rows * (size_t)r->nrelus);
    for (int i = 0; i < r->nrelus; i++)
        rows[i] = (tutti_sparsity_row){r->relus[i].name, r->relus[i].first, r->relus[i].last};
    tutti_strbuf_printf(&to, "%s/sparsity.svg", dir);
    tutti_strbuf_printf(&title, "Zeros that ReLUs make, %s", dir);
    tutti_sparsity_chart_svg(title.text, rows, r->nrelus, &svg);
    const tutti_status st = write_picture(&svg, to.text, err);
    tutti_strbuf_release(&to);
    tutti_strbuf_release(&title);
    free(rows);
    return st;
}

static tutti_chart_way way_of(const tutti_run_way *w, const char *name, int n)
{
    const int skipped = w->x.n - n;
    return (tutti_chart_way){.name = name,
                             .step = w->x.x + skipped,
                             .x = w->x.y + skipped,
                             .y = w->y.y + skipped,
                             .distance = w->distance.n ? w->distance.y + skipped : NULL,
                             .n = n};
}

/* Counts the workers 0, 1, .. that have a line at the step of the centre's last line. *n: the number of last steps for
 * which all of them and the centre have lines. */
static int count_workers(const tutti_run_lines *r, int *n)
{
    const tutti_run_points *centre = &r->centre.x;
    int nworkers = 0;
    *n = centre->n;
    while (nworkers < r->nworkers) {
        const tutti_run_points *x = &r->workers[nworkers].x;
        if (!centre->n || x->x[x->n - 1] != centre->x[centre->n - 1]) break;
        *n = x->n < *n ? x->n : *n;
        nworkers++;
    }
    return nworkers;
}

/* Returns the number of points before the first point that is not finite: a run that diverged is drawn up to there. */
static int count_finite(const tutti_chart_way *ways, int nways, int n)
{
    for (int i = 0; i < n; i++)
        for (int w = 0; w < nways; w++)
            if (!isfinite(ways[w].x[i]) || !isfinite(ways[w].y[i])) return i;
    return n;
}

/* Draws DIR/workers.svg, if the run records how far workers are from a centre. */
static tutti_status draw_workers(const tutti_run_lines *r, const char *dir, tutti_failure *err)
{
    enum { NAME = 24 };
    int n;
    const int nworkers = count_workers(r, &n);
    tutti_strbuf to = {0}, svg = {0}, title = {0};
    if (!nworkers) return TUTTI_OK;
    tutti_chart_way *ways = tutti_alloc(sizeof *ways * (size_t)(nworkers + 1));
    char(*names)[NAME] = tutti_alloc(sizeof *names * (size_t)nworkers);
    ways[0] = way_of(&r->centre, "centre", n);
    for (int i = 0; i < nworkers; i++) {
        snprintf(names[i], NAME, "worker %d", i);
        ways[i + 1] = way_of(&r->workers[i], names[i], n);
    }
    n = count_finite(ways, nworkers + 1, n);
    for (int i = 0; i <= nworkers; i++) ways[i].n = n;
    tutti_strbuf_printf(&to, "%s/workers.svg", dir);
    tutti_strbuf_printf(&title, "Workers and centre, %s", dir);
    if (n) tutti_workers_chart_svg(title.text, ways, nworkers + 1, &svg);
    const tutti_status st = n ? write_picture(&svg, to.text, err) : TUTTI_OK;
    tutti_strbuf_release(&to);
    tutti_strbuf_release(&title);
    free(ways);
    free(names);
    return st;
}

static void print_workers(const tutti_run_lines *r, const char *dir)
{
    int n, rank = 0;
    const int nworkers = count_workers(r, &n);
    double most = -1, step = 0;
    for (int w = 0; w < nworkers; w++)
        for (int i = 0; i < r->workers[w].distance.n; i++)
            if (r->workers[w].distance.y[i] > most) {
                most = r->workers[w].distance.y[i];
                step = r->workers[w].distance.x[i];
                rank = w;
            }
    if (most >= 0) /* if `most` is negative, no distance was finite */
        printf("workers   at most %.4g from the centre (rank %d after step %.0f), %s/workers.svg\n", most, rank, step,
               dir);
}

/* Prints the fraction of zeros among all elements of all ReLUs' outputs in the last test. */
static void print_sparsity(const tutti_run_lines *r, const char *dir)
{
    double zeros = 0, elements = 0, least = 1, most = 0;
    for (int i = 0; i < r->nrelus; i++) {
        zeros += r->relus[i].last * r->relus[i].elements;
        elements += r->relus[i].elements;
        least = fmin(least, r->relus[i].last);
        most = fmax(most, r->relus[i].last);
    }
    char range[48] = "";
    if (100 * (most - least) >= 0.1) snprintf(range, sizeof range, " (%.1f to %.1f %%)", 100 * least, 100 * most);
    if (elements > 0)
        printf("sparsity  %.1f %% of what ReLUs make is zero%s, %s/sparsity.svg\n", 100 * zeros / elements, range, dir);
}

static void print_cost(const tutti_run_lines *r)
{
    tutti_strbuf table = {0};
    if (!r->nranks) return;
    tutti_cost_table(r->cost, r->nranks, &table);
    fputs(table.text, stdout);
    tutti_strbuf_release(&table);
}

/* Prints the median speed over all lines, and how far the lines differ. Each line has the mean of the steps since the
 * line before. */
static void print_speed(const tutti_run_lines *r)
{
    const size_t n = (size_t)r->speed.n;
    double *sorted = tutti_alloc(sizeof *sorted * n);
    memcpy(sorted, r->speed.y, sizeof *sorted * n);
    tutti_sort_doubles(sorted, n);
    printf("speed     %.0f samples/s", sorted[n / 2]);
    if (n > 1) printf(" (median of %zu lines, %.0f to %.0f)", n, sorted[0], sorted[n - 1]);
    printf("\n");
    free(sorted);
}

/* Prints which part of the run's whole time exchanges took, as the table of costs below this line does. While the run
 * has not ended, prints their part of the time of its steps. */
static void print_exchange(const tutti_run_lines *r)
{
    double all = 0;
    for (int p = 0; p < TUTTI_NCOSTS; p++) all += r->cost[p];
    if (r->nranks && all > 0)
        printf("exchange  %.1f %% of the run's time\n", 100 * r->cost[TUTTI_COST_EXCHANGE] / all);
    else if (!r->nranks && r->step_ms > 0)
        printf("exchange  %.1f %% of the time of the steps so far\n", 100 * r->comm_ms / r->step_ms);
}

static void print_restarts(const tutti_run_lines *r)
{
    const int n = r->restarts.n;
    double *seconds = tutti_alloc(sizeof *seconds * (size_t)(n + 1));
    if (n) memcpy(seconds, r->restarts.y, sizeof *seconds * (size_t)n);
    tutti_sort_doubles(seconds, (size_t)n);
    if (n)
        printf("restarts  %d, from a loss to the next finished step %.2f s (median), %.2f s (longest)\n", n,
               seconds[n / 2], seconds[n - 1]);
    free(seconds);
}

static void print_summary(const tutti_run_lines *r, const char *path)
{
    printf("steps     %lld\n", (long long)r->last_step);
    const double loss = r->loss.y[r->loss.n - 1];
    if (isnan(loss))
        printf("loss      not finite\n");
    else
        printf("loss      %.6g\n", loss);
    if (r->ntests) printf("accuracy  %.2f %%\n", 100 * r->tests[r->ntests - 1].accuracy);
    if (r->has_diverged) printf("diverged  at step %lld\n", (long long)r->diverged_step);
    print_speed(r);
    print_exchange(r);
    print_restarts(r);
    if (r->bound) printf("bound     %s\n", r->bound);
    if (r->weights[0]) printf("weights   %s\n", r->weights);
    printf("picture   %s\n", path);
}

/* Checks where the picture of the run in `dir` will be written: it must not overwrite a file that is read, nor another
 * picture. */
static tutti_status check_out(const char *dir, const char *picture, tutti_failure *err)
{
    tutti_strbuf layers_picture = {0}, relus_picture = {0}, workers_picture = {0};
    tutti_strbuf_printf(&layers_picture, "%s/layers.svg", dir);
    tutti_strbuf_printf(&relus_picture, "%s/sparsity.svg", dir);
    tutti_strbuf_printf(&workers_picture, "%s/workers.svg", dir);
    const tutti_output files[] = {{.what = "the run", .path = dir},
                                  {.what = "the picture", .path = picture, .written = true},
                                  {.what = "the layers' picture", .path = layers_picture.text, .written = true},
                                  {.what = "the ReLUs' picture", .path = relus_picture.text, .written = true},
                                  {.what = "the workers' picture", .path = workers_picture.text, .written = true}};
    const int n = sizeof files / sizeof *files;
    tutti_status st = tutti_outputs_check(files, n, err);
    if (!st && tutti_file_is_folder(dir)) st = tutti_outputs_try(files, n, err);
    tutti_strbuf_release(&layers_picture);
    tutti_strbuf_release(&relus_picture);
    tutti_strbuf_release(&workers_picture);
    return st;
}

/* Reports a trace of svm-train. If no picture is named, its path is that of the trace with .svg instead of .jsonl. */
static tutti_status report_svm(const char *path, const char *picture, tutti_failure *err)
{
    tutti_strbuf name = {0}, text = {0}, svg = {0};
    const char *dot = strrchr(path, '.');
    const int stem = dot && !strcmp(dot, ".jsonl") ? (int)(dot - path) : (int)strlen(path);
    tutti_strbuf_printf(&name, "%.*s.svg", stem, path);
    if (!picture) picture = name.text;
    const tutti_output files[] = {{.what = "the trace", .path = path},
                                  {.what = "the picture", .path = picture, .written = true}};
    tutti_status st = tutti_outputs_check(files, 2, err);
    if (!st) st = tutti_svm_trace_report(path, &text, &svg, err);
    if (!st) st = tutti_cli_write(picture, svg.text, err);
    if (!st) printf("%spicture      %s\n", text.text, picture);
    tutti_strbuf_release(&name);
    tutti_strbuf_release(&text);
    tutti_strbuf_release(&svg);
    return st;
}

static tutti_status report(const tutti_flags *f, tutti_failure *err)
{
    if (access(f->rest[0], F_OK) == 0 && !tutti_file_is_folder(f->rest[0]))
        return report_svm(f->rest[0], tutti_cli_value(f, "out", NULL), err);
    tutti_strbuf metrics = {0}, picture = {0};
    tutti_strbuf_printf(&metrics, "%s/metrics.jsonl", f->rest[0]);
    tutti_strbuf_printf(&picture, "%s/report.svg", f->rest[0]);
    const char *path = tutti_cli_value(f, "out", picture.text);
    tutti_run_lines r = {0};
    bool layers = false;
    tutti_status st = check_out(f->rest[0], path, err);
    if (st == TUTTI_OK) st = read_run(metrics.text, &r, err);
    if (st == TUTTI_OK) st = draw(&r, f->rest[0], path, err);
    if (st == TUTTI_OK) st = draw_layers(f->rest[0], &layers, err);
    if (st == TUTTI_OK) st = draw_sparsity(&r, f->rest[0], err);
    if (st == TUTTI_OK) st = draw_workers(&r, f->rest[0], err);
    if (st == TUTTI_OK) {
        print_summary(&r, path);
        if (layers) printf("layers    %s/layers.svg\n", f->rest[0]);
        print_sparsity(&r, f->rest[0]);
        print_workers(&r, f->rest[0]);
        print_cost(&r);
    }
    tutti_run_lines_release(&r);
    tutti_strbuf_release(&metrics);
    tutti_strbuf_release(&picture);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "report",
        .usage = "tutti report DIR|FILE [--out FILE]",
        .about = "Sums up a run from DIR/metrics.jsonl and draws its loss, accuracy and speed as SVG; the costs of its "
                 "layers "
                 "as DIR/layers.svg if\nsteps were traced (tutti train --trace N), zeros of its ReLUs as "
                 "DIR/sparsity.svg; if its workers have weights of their own and a centre, how both\nmove, as "
                 "DIR/workers.svg. Of a FILE made by `tutti svm-train "
                 "--trace FILE`: active samples and gap "
                 "over time.",
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one folder is needed, that of `tutti train --out DIR`, or a trace of svm-train",
        .run = report,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_report = {"report", "sum up a run and draw its curves", run_command};
