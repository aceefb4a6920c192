/* SPDX-License-Identifier: Apache-2.0 */
/* series_lines.c: takes the lines of metrics.jsonl (docs/metrics.md) into rows and a summary. Rows of steps that are
 * played again go: a curve shows each step once, as it was played last. Lines "restart" say nothing about rows: they
 * stay in the file although a later restart went back behind them. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/sort.h"
#include "series_impl.h"

enum { NTIMES = sizeof((tutti_series_lines *)0)->times / sizeof(double) };

const tutti_series_kind tutti_series_kinds[TUTTI_SERIES_NKINDS] = {
    [TUTTI_SERIES_STEPS] =
        {"step", {{"loss", "loss"}, {"lr", "lr"}, {"ips", "ips"}, {"step_ms", "step_ms"}, {"comm_ms", "comm_ms"}}},
    [TUTTI_SERIES_TESTS] = {"eval", {{"accuracy", "accuracy"}, {"test_loss", "loss"}}},
};

tutti_series_summary tutti_series_none(void)
{
    const double none = (double)NAN;
    return (tutti_series_summary){.step = -1,
                                  .epoch = none,
                                  .loss = none,
                                  .ips = none,
                                  .accuracy = none,
                                  .at = none,
                                  .step_at = none,
                                  .step_gap = none};
}

void tutti_series_lines_begin(tutti_series_lines *l)
{
    *l = (tutti_series_lines){.sum = tutti_series_none()};
}

void tutti_series_lines_release(tutti_series_lines *l)
{
    for (int k = 0; k < TUTTI_SERIES_NKINDS; k++) {
        for (int i = 0; i < TUTTI_SERIES_MAX_COLUMNS; i++) tutti_series_column_release(&l->rows[k].columns[i]);
        free(l->rows[k].steps);
    }
    free(l->restarts);
    *l = (tutti_series_lines){0};
}

static double number(const cJSON *line, const char *key)
{
    return tutti_json_number_of(line, key, (double)NAN);
}

/* ---- rows ---- */

static void cut_rows(tutti_series_rows *r, int32_t n)
{
    r->n = n;
    for (int i = 0; i < TUTTI_SERIES_MAX_COLUMNS; i++) tutti_series_column_cut(&r->columns[i], n);
}

static void take_back(tutti_series_lines *l, int64_t step)
{
    for (int k = 0; k < TUTTI_SERIES_NKINDS; k++) cut_rows(&l->rows[k], tutti_series_rows_until(&l->rows[k], step));
    l->ntimes = 0;
}

static void take_row(tutti_series_lines *l, int kind, const cJSON *line, int64_t step)
{
    tutti_series_rows *r = &l->rows[kind];
    for (int k = 0; k < TUTTI_SERIES_NKINDS; k++)
        cut_rows(&l->rows[k], tutti_series_rows_until(&l->rows[k], k == kind ? step - 1 : step));
    if (r->n == TUTTI_SERIES_MAX_ROWS) return;
    r->steps = tutti_grow(r->steps, r->n, &r->capacity, sizeof *r->steps);
    r->steps[r->n++] = step;
    for (int i = 0; i < TUTTI_SERIES_MAX_COLUMNS; i++) {
        const char *key = tutti_series_kinds[kind].columns[i].key;
        if (key && cJSON_GetObjectItemCaseSensitive(line, key)) r->columns[i].has_values = true;
        tutti_series_column_push(&r->columns[i], key ? number(line, key) : (double)NAN);
    }
}

/* ---- the summary ---- */

static void take_step(tutti_series_lines *l, const cJSON *line)
{
    l->sum.epoch = number(line, "epoch");
    l->sum.loss = number(line, "loss");
    l->sum.ips = number(line, "ips");
    l->sum.is_recovering = false;
    const double at = number(line, "ts");
    if (isfinite(at)) l->times[l->ntimes++ % NTIMES] = at;
}

static void take_restart(tutti_series_lines *l, const cJSON *line, int64_t step)
{
    const double lost = number(line, "lost");
    l->restarts = tutti_grow(l->restarts, l->nrestarts, &l->restart_capacity, sizeof *l->restarts);
    l->restarts[l->nrestarts++] =
        (tutti_series_restart){step, number(line, "seconds"), lost >= 0 && lost < 1e6 ? (int)lost : -1};
    l->sum.nrestarts = l->nrestarts;
    l->sum.is_recovering = true;
}

static void take_cost(tutti_series_lines *l, const cJSON *line)
{
    for (int p = 0; p < TUTTI_NCOSTS; p++) {
        const double seconds = number(line, tutti_cost_key((tutti_cost_part)p));
        if (isfinite(seconds)) l->cost[p] += seconds;
    }
    l->has_cost = true;
}

static void take_end(tutti_series_lines *l, const cJSON *line)
{
    const cJSON *weights = cJSON_GetObjectItemCaseSensitive(line, "weights");
    if (cJSON_IsString(weights)) snprintf(l->sum.weights, sizeof l->sum.weights, "%s", weights->valuestring);
    if (isfinite(number(line, "accuracy"))) l->sum.accuracy = number(line, "accuracy");
    l->sum.has_ended = !cJSON_GetObjectItemCaseSensitive(line, "signal");
}

static void take_event(tutti_series_lines *l, const char *event, const cJSON *line)
{
    const double told = number(line, "step");
    const bool has_step = told >= 0 && told < 9e15;
    const int64_t step = has_step ? (int64_t)told : l->sum.step < 0 ? 0 : l->sum.step;
    const bool is_step = !strcmp(event, "step"), is_test = !strcmp(event, "eval"),
               is_restart = !strcmp(event, "restart");
    if (has_step && !is_restart) l->sum.step = step;
    l->sum.at = number(line, "ts");
    if (is_step || is_test || is_restart) l->sum.step_at = l->sum.at;
    l->sum.has_ended = false;
    if (is_step) {
        take_step(l, line);
    } else if (is_test) {
        l->sum.accuracy = number(line, "accuracy");
    } else if (is_restart) {
        take_restart(l, line, step);
    } else if (!strcmp(event, "resume")) {
        take_back(l, step);
    } else if (!strcmp(event, "cost")) {
        take_cost(l, line);
    } else if (!strcmp(event, "end")) {
        take_end(l, line);
    }
    for (int k = 0; k < TUTTI_SERIES_NKINDS; k++)
        if (has_step && !strcmp(event, tutti_series_kinds[k].event)) take_row(l, k, line, step);
}

void tutti_series_lines_take(tutti_series_lines *l, const char *line, size_t nbytes)
{
    cJSON *root = tutti_json_parse(line, nbytes);
    const cJSON *event = cJSON_GetObjectItemCaseSensitive(root, "ev");
    l->sum.nlines++;
    if (cJSON_IsString(event))
        take_event(l, event->valuestring, root);
    else
        l->sum.nbad++;
    cJSON_Delete(root);
}

void tutti_series_summarise(const tutti_series *s, tutti_series_summary *out)
{
    const tutti_series_lines *l = &s->lines;
    const int n = l->ntimes < NTIMES ? (int)l->ntimes : NTIMES;
    double gaps[NTIMES];
    *out = l->sum;
    if (n < 2) return;
    const int64_t first = l->ntimes - n;
    for (int i = 0; i < n - 1; i++) gaps[i] = l->times[(first + i + 1) % NTIMES] - l->times[(first + i) % NTIMES];
    tutti_sort_doubles(gaps, (size_t)(n - 1));
    out->step_gap = (n - 1) % 2 ? gaps[(n - 1) / 2] : 0.5 * (gaps[(n - 1) / 2 - 1] + gaps[(n - 1) / 2]);
}
