/* SPDX-License-Identifier: Apache-2.0 */
/* coll_engines.c: a column an engine; what one cannot, and why, below. */
#include "coll_engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/text/json.h"
#include "../../base/text/options.h"

tutti_status tutti_coll_read_engines(const char *text, unsigned *engines, tutti_failure *err)
{
    const char *known[TUTTI_MAX_ENGINES];
    const int n = tutti_engine_count();
    *engines = 0;
    for (int e = 0; e < n; e++) known[e] = tutti_engine_at(e)->name;
    while (*text) {
        const size_t length = strcspn(text, ",");
        bool found = false;
        for (int e = 0; e < n; e++) {
            const bool all = length == 3 && !strncmp(text, "all", 3);
            const bool named = strlen(known[e]) == length && !strncmp(known[e], text, length);
            if (all || named) *engines |= 1u << e, found = true;
        }
        if (!found) break;
        text += length + (text[length] == ',');
    }
    if (*engines && !*text) return TUTTI_OK;
    tutti_strbuf names = {0};
    for (int e = 0; e < n; e++) tutti_strbuf_printf(&names, "%s, ", known[e]);
    const char *nearest = tutti_options_nearest(text, known, n);
    tutti_status st = tutti_fail(err, TUTTI_ERR_USAGE, "--engine %s: there are %sand all%s%s%s", text, names.text,
                                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    tutti_strbuf_release(&names);
    return st;
}

tutti_status tutti_coll_read_late(const tutti_flags *f, int32_t nranks, double **late_s, tutti_failure *err)
{
    *late_s = NULL;
    for (int flag = 0; flag < f->nflags; flag++) {
        if (strcmp(f->flags[flag].name, "late")) continue;
        for (int i = 0; i < f->count[flag]; i++) {
            const char *text = f->value[flag][i];
            char *at, *end = NULL;
            const long rank = strtol(text, &at, 10);
            const double ms = at != text && *at == '=' ? strtod(at + 1, &end) : -1;
            if (!tutti_options_is_number(text) || !end || !tutti_options_is_number(at + 1) || end == at + 1 || *end ||
                rank < 0 || rank >= nranks || !(ms >= 0) || ms > 1e9) {
                free(*late_s);
                return tutti_fail(err, TUTTI_ERR_USAGE,
                                  "--late %s: RANK=MILLISECONDS is wanted, of a rank from 0 to %d, such as 1=2.5", text,
                                  (int)nranks - 1);
            }
            if (!*late_s) *late_s = tutti_alloc((size_t)nranks * sizeof **late_s);
            (*late_s)[rank] = ms * 1e-3;
        }
    }
    return TUTTI_OK;
}

static void print_json(const tutti_engine_row *row, int e)
{
    const tutti_engine_answer *a = &row->of[e];
    tutti_strbuf out = {0};
    tutti_json j = {.out = &out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "algorithm", row->algorithm);
    tutti_json_text(&j, "engine", tutti_engine_at(e)->name);
    tutti_json_bool(&j, "can", a->can);
    if (a->can)
        tutti_json_real(&j, "seconds", a->seconds);
    else
        tutti_json_text(&j, "refusal", a->why);
    tutti_json_close(&j, '}');
    puts(out.text);
    tutti_strbuf_release(&out);
}

/* Each reason once, with the first algorithm that it stands for where it is not that of all. */
static void print_reasons(const tutti_engine_row *rows, int nrows, int e)
{
    for (int i = 0; i < nrows; i++) {
        const tutti_engine_answer *a = &rows[i].of[e];
        int same = 0, before = 0;
        if (a->can) continue;
        for (int k = 0; k < nrows; k++) {
            const bool is_same = !rows[k].of[e].can && !strcmp(rows[k].of[e].why, a->why);
            same += is_same;
            before += is_same && k < i;
        }
        if (before) continue;
        if (same == nrows)
            printf("%s cannot: %s\n", tutti_engine_at(e)->name, a->why);
        else if (same > 1)
            printf("%s cannot %s and %d more: %s\n", tutti_engine_at(e)->name, rows[i].algorithm, same - 1, a->why);
        else
            printf("%s cannot %s: %s\n", tutti_engine_at(e)->name, rows[i].algorithm, a->why);
    }
}

static void print_row(const tutti_engine_row *row, int width, unsigned engines)
{
    printf("%-*s", width, row->algorithm);
    for (int e = 0; e < tutti_engine_count(); e++) {
        if (!(engines >> e & 1)) continue;
        if (row->of[e].can)
            printf(" %14s", tutti_time_words(row->of[e].seconds).text);
        else
            printf(" %14s", "-");
    }
    printf("\n");
}

void tutti_coll_print_engines(const tutti_engine_row *rows, int nrows, unsigned engines, bool json)
{
    int width = 18;
    for (int i = 0; i < nrows; i++)
        width = (int)strlen(rows[i].algorithm) > width ? (int)strlen(rows[i].algorithm) : width;
    if (!json) {
        printf("%-*s", width, "algorithm");
        for (int e = 0; e < tutti_engine_count(); e++)
            if (engines >> e & 1) printf(" %14s", tutti_engine_at(e)->name);
        printf("\n");
    }
    for (int i = 0; i < nrows; i++) {
        if (!json) print_row(&rows[i], width, engines);
        for (int e = 0; json && e < tutti_engine_count(); e++)
            if (engines >> e & 1) print_json(&rows[i], e);
    }
    if (json) return;
    printf("\n");
    for (int e = 0; e < tutti_engine_count(); e++) {
        if (!(engines >> e & 1)) continue;
        printf("%-12s %s\n", tutti_engine_at(e)->name, tutti_engine_at(e)->about);
    }
    printf("\n");
    for (int e = 0; e < tutti_engine_count(); e++)
        if (engines >> e & 1) print_reasons(rows, nrows, e);
}
