/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c: `tutti report DIR`: what came out of a run, from its metrics.jsonl, as a few lines and as DIR/report.svg; from its
 * layers.txt, if steps were traced, DIR/layers.svg. A file is a trace of svm-train: report_svm.c. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/file.h"
#include "../metrics/chart.h"
#include "../metrics/cost.h"
#include "../metrics/layer_chart.h"
#include "cli.h"
#include "report_svm.h"

enum { MAX_METRICS_BYTES = 1 << 30 };

static const tutti_flag flags[] = {
    {"out", "FILE", "where to draw (default DIR/report.svg; of a trace its name with .svg)", TUTTI_FLAG_WRITES},
};

typedef struct {
    double *x, *y;
    int n, capacity;
} points;

typedef struct {
    points loss, accuracy, speed;
    double comm_ms, step_ms;
    double cost[TUTTI_NCOSTS]; /* of all stretches of the run */
    int nranks;                /* of the last one; 0 = none has ended */
    int64_t last_step;
    char weights[32];
} run;

static void add_point(points *p, double x, double y)
{
    if (p->n == p->capacity) {
        p->x = tutti_grow(p->x, p->n, &p->capacity, sizeof *p->x);
        p->y = tutti_realloc(p->y, sizeof *p->y * (size_t)p->capacity);
    }
    p->x[p->n] = x;
    p->y[p->n++] = y;
}

static void release(run *r)
{
    points *all[] = {&r->loss, &r->accuracy, &r->speed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]->x);
        free(all[i]->y);
    }
}

static double number(const cJSON *line, const char *key, double otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, key);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

static void take_line(run *r, const cJSON *line)
{
    const cJSON *ev = cJSON_GetObjectItemCaseSensitive(line, "ev");
    if (!cJSON_IsString(ev)) return;
    double step = number(line, "step", (double)r->last_step);
    r->last_step = (int64_t)step;
    if (!strcmp(ev->valuestring, "step")) {
        add_point(&r->loss, step, number(line, "loss", (double)NAN)); /* null: it was not finite */
        add_point(&r->speed, step, number(line, "ips", 0));
        r->step_ms += number(line, "step_ms", 0);
        r->comm_ms += number(line, "comm_ms", 0);
    } else if (!strcmp(ev->valuestring, "eval")) {
        add_point(&r->accuracy, step, 100 * number(line, "accuracy", 0));
    } else if (!strcmp(ev->valuestring, "cost")) {
        r->nranks = (int)number(line, "ranks", 1);
        for (int p = 0; p < TUTTI_NCOSTS; p++) r->cost[p] += number(line, tutti_cost_key((tutti_cost_part)p), 0);
    } else if (!strcmp(ev->valuestring, "end")) {
        const cJSON *weights = cJSON_GetObjectItemCaseSensitive(line, "weights");
        if (cJSON_IsString(weights)) snprintf(r->weights, sizeof r->weights, "%s", weights->valuestring);
    }
}

/* A torn last line (the run was killed) is passed over; any other line must be JSON. */
static tutti_status read_run(const char *path, run *r, tutti_failure *err)
{
    char *text = NULL;
    size_t nbytes = 0;
    tutti_status st = tutti_file_read(path, MAX_METRICS_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    int number_of_line = 0;
    for (char *line = text, *end; st == TUTTI_OK && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        number_of_line++;
        cJSON *json = cJSON_Parse(line);
        if (json)
            take_line(r, json);
        else
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d is not JSON", path, number_of_line);
        cJSON_Delete(json);
    }
    free(text);
    if (st == TUTTI_OK && r->loss.n == 0)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no step in it yet; a line comes every log_every steps", path);
    return st;
}

static tutti_status draw(const run *r, const char *title, const char *path, tutti_failure *err)
{
    const tutti_chart_series loss = {"training loss", r->loss.x, r->loss.y, r->loss.n, false};
    const tutti_chart_series accuracy = {"test accuracy", r->accuracy.x, r->accuracy.y, r->accuracy.n, true};
    const tutti_chart_panel panels[] = {{"loss", &loss, 1}, {"accuracy, %", &accuracy, 1}};
    tutti_strbuf svg = {0};
    tutti_chart_svg(title, "step", panels, r->accuracy.n ? 2 : 1, &svg);
    tutti_status st = tutti_file_write_atomic(path, svg.text, svg.length, err);
    tutti_strbuf_release(&svg);
    return st;
}

/* drawn: DIR/layers.svg was, because there is a DIR/layers.txt. */
static tutti_status draw_layers(const char *dir, bool *drawn, tutti_failure *err)
{
    tutti_strbuf from = {0}, to = {0}, svg = {0};
    tutti_layer_trace trace;
    tutti_status st = TUTTI_OK;
    tutti_strbuf_printf(&from, "%s/layers.txt", dir);
    tutti_strbuf_printf(&to, "%s/layers.svg", dir);
    *drawn = access(from.text, F_OK) == 0;
    if (*drawn) st = tutti_layer_trace_read(from.text, &trace, err);
    if (*drawn && !st) {
        tutti_layer_chart_svg(dir, trace.layers, trace.nlayers, &svg);
        st = tutti_file_write_atomic(to.text, svg.text, svg.length, err);
        tutti_layer_trace_release(&trace);
    }
    tutti_strbuf_release(&from);
    tutti_strbuf_release(&to);
    tutti_strbuf_release(&svg);
    return st;
}

static void print_cost(const run *r)
{
    tutti_strbuf table = {0};
    if (!r->nranks) return;
    tutti_cost_table(r->cost, r->nranks, &table);
    fputs(table.text, stdout);
    tutti_strbuf_release(&table);
}

static void print_summary(const run *r, const char *path)
{
    printf("steps     %lld\n", (long long)r->last_step);
    const double loss = r->loss.y[r->loss.n - 1];
    if (isnan(loss))
        printf("loss      not finite\n");
    else
        printf("loss      %.6g\n", loss);
    if (r->accuracy.n) printf("accuracy  %.2f %%\n", r->accuracy.y[r->accuracy.n - 1]);
    printf("speed     %.0f samples/s\n", r->speed.y[r->speed.n - 1]);
    if (r->step_ms > 0) printf("exchange  %.1f %% of a step\n", 100 * r->comm_ms / r->step_ms);
    if (r->weights[0]) printf("weights   %s\n", r->weights);
    printf("picture   %s\n", path);
}

/* Of a run's folder: the picture must not take the place of what is read, nor of the other picture. */
static tutti_status check_out(const char *dir, const char *metrics, const char *picture, tutti_failure *err)
{
    tutti_strbuf layers = {0}, layers_picture = {0};
    tutti_strbuf_printf(&layers, "%s/layers.txt", dir);
    tutti_strbuf_printf(&layers_picture, "%s/layers.svg", dir);
    const tutti_cli_file files[] = {{"the run's lines", metrics, false},
                                    {"the run's layers", layers.text, false},
                                    {"the picture", picture, true},
                                    {"the layers' picture", layers_picture.text, true}};
    const tutti_status st = tutti_cli_check_files(files, sizeof files / sizeof *files, err);
    tutti_strbuf_release(&layers);
    tutti_strbuf_release(&layers_picture);
    return st;
}

static tutti_status report(const tutti_flags *f, tutti_failure *err)
{
    if (access(f->rest[0], F_OK) == 0 && !tutti_file_is_folder(f->rest[0]))
        return tutti_report_svm(f->rest[0], tutti_cli_value(f, "out", NULL), err);
    tutti_strbuf metrics = {0}, picture = {0};
    tutti_strbuf_printf(&metrics, "%s/metrics.jsonl", f->rest[0]);
    tutti_strbuf_printf(&picture, "%s/report.svg", f->rest[0]);
    const char *path = tutti_cli_value(f, "out", picture.text);
    run r = {0};
    bool layers = false;
    tutti_status st = check_out(f->rest[0], metrics.text, path, err);
    if (st == TUTTI_OK) st = read_run(metrics.text, &r, err);
    if (st == TUTTI_OK) st = draw(&r, f->rest[0], path, err);
    if (st == TUTTI_OK) st = draw_layers(f->rest[0], &layers, err);
    if (st == TUTTI_OK) {
        print_summary(&r, path);
        if (layers) printf("layers    %s/layers.svg\n", f->rest[0]);
        print_cost(&r);
    }
    release(&r);
    tutti_strbuf_release(&metrics);
    tutti_strbuf_release(&picture);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "report",
        .usage = "tutti report DIR|FILE [--out FILE]",
        .about = "Sums up a run from DIR/metrics.jsonl and draws its loss and accuracy as SVG; the costs of its layers "
                 "as DIR/layers.svg if\nsteps were traced (tutti train --trace N). Of a FILE made by `tutti svm-train "
                 "--trace FILE`: active samples and gap "
                 "over time.",
        .flags = flags,
        .nflags = sizeof flags / sizeof *flags,
        .wanted = "one folder is needed, that of `tutti train --out DIR`, or a trace of svm-train",
        .run = report,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_report = {"report", "sum up a run and draw its curves", run_command};
