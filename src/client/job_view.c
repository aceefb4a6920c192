/* SPDX-License-Identifier: Apache-2.0 */
/* job_view.c: reads the JSON of jobs and prints jobs as a line and as a table. */
#include "job_view.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/text/json.h"

void tutti_server_answer_free(tutti_server_answer *answer)
{
    cJSON_Delete(answer);
}

void tutti_server_answer_print(const tutti_server_answer *answer, tutti_strbuf *out)
{
    char *text = cJSON_Print(answer);
    tutti_strbuf_puts(out, text ? text : "");
    cJSON_free(text);
}

/* ---- reading ---- */

static int64_t whole_of(const cJSON *object, const char *key, int64_t otherwise)
{
    const double value = tutti_json_number_of(object, key, NAN);
    return value > -9e15 && value < 9e15 ? (int64_t)value : otherwise;
}

bool tutti_job_view_read(const struct cJSON *json, tutti_job_view *out)
{
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(json, "ranks");
    *out = (tutti_job_view){
        .id = whole_of(json, "id", -1),
        .ranks_min = whole_of(ranks, "min", -1),
        .ranks_max = whole_of(ranks, "max", -1),
        .threads = whole_of(json, "threads", -1),
        .priority = whole_of(json, "priority", 0),
        .attempt = whole_of(json, "attempt", 0),
        .name = tutti_json_text_of(json, "name"),
        .kind = tutti_json_text_of(json, "kind"),
        .state = tutti_json_text_of(json, "state"),
        .cause = tutti_json_text_of(json, "cause"),
        .weights = tutti_json_text_of(json, "weights"),
        .folder = tutti_json_text_of(json, "folder"),
        .liveness = tutti_json_text_of(json, "liveness"),
        .step = whole_of(json, "step", -1),
        .steps = whole_of(json, "steps", -1),
        .code = whole_of(json, "code", -1),
        .created = tutti_json_number_of(json, "created", NAN),
        .started = tutti_json_number_of(json, "started", NAN),
        .ended = tutti_json_number_of(json, "ended", NAN),
        .epoch = tutti_json_number_of(json, "epoch", NAN),
        .loss = tutti_json_number_of(json, "loss", NAN),
        .accuracy = tutti_json_number_of(json, "accuracy", NAN),
        .ips = tutti_json_number_of(json, "ips", NAN),
    };
    return out->id >= 0 && out->state;
}

bool tutti_job_view_has_ended(const tutti_job_view *v)
{
    static const char *const ends[] = {"done", "failed", "stopped", "lost"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!strcmp(v->state, ends[i])) return true;
    return false;
}

int tutti_job_view_code(const tutti_job_view *v)
{
    const bool is_done = !strcmp(v->state, "done");
    if (v->code > 0 && v->code < 256) return (int)v->code;
    return is_done ? 0 : 1;
}

/* ---- printing ---- */

void tutti_view_add(tutti_strbuf *out, const char *text)
{
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        const char shown = c < ' ' || c == 127 ? '?' : (char)c;
        tutti_strbuf_add(out, &shown, 1);
    }
}

void tutti_job_view_line(const tutti_job_view *v, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "job %lld", (long long)v->id);
    if (v->name) {
        tutti_strbuf_puts(out, " (");
        tutti_view_add(out, v->name);
        tutti_strbuf_puts(out, ")");
    }
    tutti_strbuf_puts(out, " ");
    tutti_view_add(out, v->state);
    if (v->step >= 0) tutti_strbuf_printf(out, ", step %lld", (long long)v->step);
    if (v->step >= 0 && v->steps > 0) tutti_strbuf_printf(out, " of %lld", (long long)v->steps);
    if (!isnan(v->loss)) tutti_strbuf_printf(out, ", loss %.4f", v->loss);
    if (v->code > 0) tutti_strbuf_printf(out, ", exit code %lld", (long long)v->code);
    if (v->cause) {
        tutti_strbuf_puts(out, ": ");
        tutti_view_add(out, v->cause);
    }
}

/* Appends an age with one unit: "12 s", "3 min", "5 h", "2 d". */
static void add_age(tutti_strbuf *out, double seconds)
{
    const double s = seconds > 0 ? seconds : 0;
    if (isnan(seconds))
        tutti_strbuf_puts(out, "-");
    else if (s < 100)
        tutti_strbuf_printf(out, "%.0f s", floor(s));
    else if (s < 6000)
        tutti_strbuf_printf(out, "%.0f min", floor(s / 60));
    else if (s < 48 * 3600)
        tutti_strbuf_printf(out, "%.0f h", floor(s / 3600));
    else
        tutti_strbuf_printf(out, "%.0f d", floor(s / 86400));
}

enum { NCOLUMNS = 7, COLUMN_NAME = 1, COLUMN_STATE = 2 };
static const char *const titles[NCOLUMNS] = {"id", "name", "state", "ranks", "step", "loss", "age"};

typedef struct {
    char *cell[NCOLUMNS];
} row;

static void fill_row(const tutti_job_view *v, double as_of, row *out)
{
    tutti_strbuf cell[NCOLUMNS] = {{0}};
    tutti_strbuf_printf(&cell[0], "%lld", (long long)v->id);
    tutti_view_add(&cell[1], v->name ? v->name : "-");
    tutti_view_add(&cell[2], v->state);
    if (v->ranks_min == v->ranks_max)
        tutti_strbuf_printf(&cell[3], "%lld", (long long)v->ranks_max);
    else
        tutti_strbuf_printf(&cell[3], "%lld:%lld", (long long)v->ranks_min, (long long)v->ranks_max);
    tutti_strbuf_puts(&cell[4], "");
    if (v->step >= 0) tutti_strbuf_printf(&cell[4], "%lld", (long long)v->step);
    if (v->step >= 0 && v->steps > 0) tutti_strbuf_printf(&cell[4], "/%lld", (long long)v->steps);
    if (v->step < 0) tutti_strbuf_puts(&cell[4], "-");
    if (isnan(v->loss))
        tutti_strbuf_puts(&cell[5], "-");
    else
        tutti_strbuf_printf(&cell[5], "%.4f", v->loss);
    add_age(&cell[6], as_of - v->created);
    for (int i = 0; i < NCOLUMNS; i++) out->cell[i] = tutti_strbuf_detach(&cell[i]);
}

/* Number of characters, not bytes: those of UTF-8 that go on do not count. */
static int width_of(const char *text)
{
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void add_row(char *const *cells, const int *width, tutti_strbuf *out)
{
    for (int i = 0; i < NCOLUMNS; i++) {
        const bool is_word = i == COLUMN_NAME || i == COLUMN_STATE;
        const int blanks = width[i] - width_of(cells[i]);
        if (i) tutti_strbuf_puts(out, "  ");
        if (!is_word) tutti_strbuf_printf(out, "%*s", blanks, "");
        tutti_strbuf_puts(out, cells[i]);
        if (is_word) tutti_strbuf_printf(out, "%*s", blanks, "");
    }
    tutti_strbuf_puts(out, "\n");
}

void tutti_job_view_table(const struct cJSON *answer, tutti_strbuf *out)
{
    const cJSON *jobs = cJSON_GetObjectItemCaseSensitive(answer, "jobs"), *json;
    const double as_of = tutti_json_number_of(answer, "as_of", NAN);
    row *rows = tutti_alloc(sizeof *rows * (size_t)(cJSON_GetArraySize(jobs) + 1));
    int width[NCOLUMNS], n = 0;
    tutti_job_view v;
    cJSON_ArrayForEach(json, jobs) if (tutti_job_view_read(json, &v)) fill_row(&v, as_of, &rows[n++]);
    for (int i = 0; i < NCOLUMNS; i++) {
        width[i] = (int)strlen(titles[i]);
        for (int k = 0; k < n; k++) {
            const int w = width_of(rows[k].cell[i]);
            if (w > width[i]) width[i] = w;
        }
    }
    char *head[NCOLUMNS];
    for (int i = 0; i < NCOLUMNS; i++) head[i] = (char *)(uintptr_t)titles[i]; /* the cast is safe: it is only read */
    add_row(head, width, out);
    for (int k = 0; k < n; k++) {
        add_row(rows[k].cell, width, out);
        for (int i = 0; i < NCOLUMNS; i++) free(rows[k].cell[i]);
    }
    free(rows);
}
