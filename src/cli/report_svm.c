/* SPDX-License-Identifier: Apache-2.0 */
/* report_svm.c: how a training of an SVM went: samples that still took part, and the gap, over time. With several classes the
 * subproblems stand one behind the other. */
#include "report_svm.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/file.h"
#include "../base/strbuf.h"
#include "../metrics/chart.h"

enum { MOST_BYTES = 1 << 30 };

typedef struct {
    int n, room;
    double *seconds, *active, *gap;
    int problems;                                                                    /* solved */
    double samples, iterations, eliminated, reconstructed, kernel_rows, cached_rows; /* sums over the solved ones */
    double work, all; /* kernel values computed, and if nobody had been dropped */
    double rows_before;
} svm_run;

static double number_of(const cJSON *line, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, key);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static void grow(svm_run *r)
{
    if (r->n < r->room) return;
    r->room = r->room ? 2 * r->room : 256;
    r->seconds = tutti_realloc(r->seconds, sizeof *r->seconds * (size_t)r->room);
    r->active = tutti_realloc(r->active, sizeof *r->active * (size_t)r->room);
    r->gap = tutti_realloc(r->gap, sizeof *r->gap * (size_t)r->room);
}

static tutti_status take(svm_run *r, const cJSON *line, const char *path, int64_t at, tutti_failure *err)
{
    const cJSON *ev = cJSON_GetObjectItemCaseSensitive(line, "ev");
    const bool solved = cJSON_IsString(ev) && !strcmp(ev->valuestring, "solved");
    if (!solved && !(cJSON_IsString(ev) && !strcmp(ev->valuestring, "round")))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %" PRId64 " is no round of svm-train --trace", path, at);
    const double gap = number_of(line, "gap"), rows = number_of(line, "kernel_rows"),
                 samples = number_of(line, "samples");
    grow(r);
    r->seconds[r->n] = number_of(line, "seconds");
    r->active[r->n] = number_of(line, "active");
    r->gap[r->n] = gap > 0 ? log10(gap) : (double)NAN;
    r->work += (rows - r->rows_before) * r->active[r->n];
    r->all += (rows - r->rows_before) * samples;
    r->rows_before = solved ? 0 : rows;
    r->n++;
    if (solved) {
        r->problems++;
        r->samples += samples;
        r->iterations += number_of(line, "iterations");
        r->eliminated += number_of(line, "eliminated");
        r->reconstructed += number_of(line, "reconstructed");
        r->kernel_rows += rows;
        r->cached_rows += number_of(line, "cached_rows");
    }
    return TUTTI_OK;
}

/* A torn last line (the run was killed) is passed over. */
static tutti_status read_trace(const char *path, svm_run *r, tutti_failure *err)
{
    char *text = NULL;
    size_t nbytes = 0;
    tutti_status st = tutti_file_read(path, MOST_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    int64_t at = 0;
    for (char *line = text, *end; !st && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        at++;
        cJSON *json = cJSON_Parse(line);
        st = json ? take(r, json, path, at, err)
                  : tutti_fail(err, TUTTI_ERR_DATA, "%s: line %" PRId64 " is not JSON", path, at);
        cJSON_Delete(json);
    }
    free(text);
    if (!st && r->n == 0) st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no round in it yet", path);
    return st;
}

static tutti_status draw(const svm_run *r, const char *title, const char *picture, tutti_failure *err)
{
    const tutti_chart_series active = {"active samples", r->seconds, r->active, r->n, false},
                             gap = {"gap", r->seconds, r->gap, r->n, false};
    const tutti_chart_panel panels[] = {{"active samples", &active, 1}, {"log10 of the gap", &gap, 1}};
    tutti_strbuf svg = {0};
    tutti_chart_svg(title, "seconds", panels, 2, &svg);
    const tutti_status st = tutti_file_write_atomic(picture, svg.text, svg.length, err);
    tutti_strbuf_release(&svg);
    return st;
}

static void print(const svm_run *r, const char *picture)
{
    const int last = r->n - 1;
    if (r->problems == 0) printf("not finished: gap %.3g after %.1f s\n", pow(10, r->gap[last]), r->seconds[last]);
    if (r->problems > 0)
        printf("problems     %d solved, %.0f samples, %.0f pairs optimised\n"
               "eliminated   %.0f samples, %.0f gradients made anew\n"
               "kernel rows  %.0f computed, %.0f from the cache\n",
               r->problems, r->samples, r->iterations, r->eliminated, r->reconstructed, r->kernel_rows, r->cached_rows);
    if (r->all > 0) printf("work         %.1f %% of what all samples would have taken\n", 100 * r->work / r->all);
    printf("seconds      %.2f\npicture      %s\n", r->seconds[last], picture);
}

tutti_status tutti_report_svm(const char *path, const char *picture, tutti_failure *err)
{
    svm_run r = {0};
    tutti_strbuf name = {0};
    const char *dot = strrchr(path, '.');
    const int stem = dot && !strcmp(dot, ".jsonl") ? (int)(dot - path) : (int)strlen(path);
    tutti_strbuf_printf(&name, "%.*s.svg", stem, path);
    if (!picture) picture = name.text;
    tutti_status st = read_trace(path, &r, err);
    if (!st) st = draw(&r, path, picture, err);
    if (!st) print(&r, picture);
    tutti_strbuf_release(&name);
    free(r.seconds);
    free(r.active);
    free(r.gap);
    return st;
}
