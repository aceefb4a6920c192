/* SPDX-License-Identifier: Apache-2.0 */
/* tell_engines.c: prints a table with a column for each engine, and why an engine cannot answer. */
#include <string.h>

#include "../../../base/clock.h"
#include "../../../base/text/json.h"
#include "../../../base/text/options.h"
#include "tell_choice.h"

tutti_status tutti_tell_read_engines(const char *text, unsigned *engines, tutti_failure *err)
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

static void tell_json(const tutti_engine_row *row, int e, tutti_strbuf *out)
{
    const tutti_engine_answer *a = &row->of[e];
    tutti_json j = {.out = out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "algorithm", row->algorithm);
    tutti_json_text(&j, "engine", tutti_engine_at(e)->name);
    tutti_json_bool(&j, "can", a->can);
    if (a->can)
        tutti_json_real(&j, "seconds", a->seconds);
    else
        tutti_json_text(&j, "refusal", a->why);
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(out, "\n");
}

/* Writes why an engine cannot answer: each reason once, with the first algorithm that has the reason, unless all have
 * it. */
static void tell_reasons(const tutti_engine_row *rows, int nrows, int e, tutti_strbuf *out)
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
            tutti_strbuf_printf(out, "%s cannot: %s\n", tutti_engine_at(e)->name, a->why);
        else if (same > 1)
            tutti_strbuf_printf(out, "%s cannot %s and %d more: %s\n", tutti_engine_at(e)->name, rows[i].algorithm,
                                same - 1, a->why);
        else
            tutti_strbuf_printf(out, "%s cannot %s: %s\n", tutti_engine_at(e)->name, rows[i].algorithm, a->why);
    }
}

static void tell_row(const tutti_engine_row *row, int width, unsigned engines, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "%-*s", width, row->algorithm);
    for (int e = 0; e < tutti_engine_count(); e++) {
        if (!(engines >> e & 1)) continue;
        if (row->of[e].can)
            tutti_strbuf_printf(out, " %14s", tutti_time_words(row->of[e].seconds).text);
        else
            tutti_strbuf_printf(out, " %14s", "-");
    }
    tutti_strbuf_printf(out, "\n");
}

void tutti_tell_engines(const tutti_engine_row *rows, int nrows, unsigned engines, bool json, tutti_strbuf *out)
{
    int width = 18;
    for (int i = 0; i < nrows; i++)
        width = (int)strlen(rows[i].algorithm) > width ? (int)strlen(rows[i].algorithm) : width;
    if (!json) {
        tutti_strbuf_printf(out, "%-*s", width, "algorithm");
        for (int e = 0; e < tutti_engine_count(); e++)
            if (engines >> e & 1) tutti_strbuf_printf(out, " %14s", tutti_engine_at(e)->name);
        tutti_strbuf_printf(out, "\n");
    }
    for (int i = 0; i < nrows; i++) {
        if (!json) tell_row(&rows[i], width, engines, out);
        for (int e = 0; json && e < tutti_engine_count(); e++)
            if (engines >> e & 1) tell_json(&rows[i], e, out);
    }
    if (json) return;
    tutti_strbuf_printf(out, "\n");
    for (int e = 0; e < tutti_engine_count(); e++) {
        if (!(engines >> e & 1)) continue;
        tutti_strbuf_printf(out, "%-12s %s\n", tutti_engine_at(e)->name, tutti_engine_at(e)->about);
    }
    tutti_strbuf_printf(out, "\n");
    for (int e = 0; e < tutti_engine_count(); e++)
        if (engines >> e & 1) tell_reasons(rows, nrows, e, out);
}
