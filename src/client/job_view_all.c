/* SPDX-License-Identifier: Apache-2.0 */
/* job_view_all.c: prints all that the job server says about one job: numbers, attempts, restarts, checkpoints,
 * costs. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "../base/clock.h"
#include "../base/text/json.h"
#include "job_view.h"

/* Appends a local time, "2026-11-29 01:20:33"; "-" for none. */
static void add_time(tutti_strbuf *out, double seconds)
{
    char text[32] = "-";
    struct tm parts;
    const time_t at = seconds > 0 && seconds < 1e11 ? (time_t)seconds : 0;
    if (at && localtime_r(&at, &parts)) strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
    tutti_strbuf_puts(out, text);
}

static void add_word(tutti_strbuf *out, const char *before, const char *word)
{
    tutti_strbuf_puts(out, before);
    tutti_view_add(out, word ? word : "-");
}

static const cJSON *list_of(const cJSON *json, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(json, key);
}

static void add_progress(const tutti_job_view *v, tutti_strbuf *out)
{
    if (v->step < 0) return;
    tutti_strbuf_printf(out, "step %lld", (long long)v->step);
    if (v->steps > 0) tutti_strbuf_printf(out, " of %lld", (long long)v->steps);
    if (!isnan(v->epoch)) tutti_strbuf_printf(out, ", epoch %.2f", v->epoch);
    if (!isnan(v->loss)) tutti_strbuf_printf(out, ", loss %.6f", v->loss);
    if (!isnan(v->accuracy)) tutti_strbuf_printf(out, ", accuracy %.2f %%", 100 * v->accuracy);
    if (!isnan(v->ips)) tutti_strbuf_printf(out, ", %.0f samples/s", v->ips);
    tutti_strbuf_puts(out, "\n");
}

static void add_attempts(const cJSON *list, tutti_strbuf *out)
{
    const cJSON *a;
    cJSON_ArrayForEach(a, list)
    {
        const double code = tutti_json_number_of(a, "code", NAN);
        const char *cause = tutti_json_text_of(a, "cause");
        tutti_strbuf_printf(out, "attempt %.0f", tutti_json_number_of(a, "number", 0));
        add_word(out, " by ", tutti_json_text_of(a, "engine"));
        tutti_strbuf_puts(out, ": started ");
        add_time(out, tutti_json_number_of(a, "started", NAN));
        tutti_strbuf_puts(out, ", ended ");
        add_time(out, tutti_json_number_of(a, "ended", NAN));
        if (!isnan(code)) tutti_strbuf_printf(out, ", exit code %.0f", code);
        if (cause) add_word(out, ", ", cause);
        tutti_strbuf_puts(out, "\n");
    }
}

static void add_events(const cJSON *json, tutti_strbuf *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list_of(json, "restarts"))
    {
        tutti_strbuf_printf(out, "restart: went on after step %.0f", tutti_json_number_of(item, "step", NAN));
        const double seconds = tutti_json_number_of(item, "seconds", NAN);
        if (!isnan(seconds)) tutti_strbuf_printf(out, ", %s after the loss", tutti_time_words(seconds).text);
        tutti_strbuf_puts(out, "\n");
    }
    cJSON_ArrayForEach(item, list_of(json, "checkpoints"))
    {
        tutti_strbuf_printf(out, "checkpoint: step %.0f, %.0f bytes, ", tutti_json_number_of(item, "step", NAN),
                            tutti_json_number_of(item, "bytes", NAN));
        add_time(out, tutti_json_number_of(item, "at", NAN));
        tutti_strbuf_puts(out, "\n");
    }
}

static void add_costs(const cJSON *cost, tutti_strbuf *out)
{
    const cJSON *part;
    int n = 0;
    cJSON_ArrayForEach(part, cost)
    {
        if (!cJSON_IsNumber(part) || !part->string) continue;
        tutti_strbuf_puts(out, n++ ? ", " : "time: ");
        tutti_view_add(out, part->string);
        tutti_strbuf_printf(out, " %s", tutti_time_words(part->valuedouble).text);
    }
    if (n) tutti_strbuf_puts(out, "\n");
}

static void add_command(const cJSON *argv, tutti_strbuf *out)
{
    const cJSON *word;
    if (!cJSON_GetArraySize(argv)) return;
    tutti_strbuf_puts(out, "command");
    cJSON_ArrayForEach(word, argv) if (cJSON_IsString(word)) add_word(out, " ", word->valuestring);
    tutti_strbuf_puts(out, "\n");
}

void tutti_job_view_all(const struct cJSON *json, tutti_strbuf *out)
{
    tutti_job_view v;
    if (!tutti_job_view_read(json, &v)) return;
    tutti_job_view_line(&v, out);
    tutti_strbuf_puts(out, "\n");
    add_command(list_of(json, "argv"), out);
    tutti_strbuf_printf(out, "ranks %lld", (long long)v.ranks_min);
    if (v.ranks_max != v.ranks_min) tutti_strbuf_printf(out, " to %lld", (long long)v.ranks_max);
    tutti_strbuf_printf(out, ", threads %lld, priority %lld, attempt %lld", (long long)v.threads, (long long)v.priority,
                        (long long)v.attempt);
    if (v.liveness) add_word(out, ", ", v.liveness);
    tutti_strbuf_puts(out, "\ncreated ");
    add_time(out, v.created);
    tutti_strbuf_puts(out, ", started ");
    add_time(out, v.started);
    tutti_strbuf_puts(out, ", ended ");
    add_time(out, v.ended);
    tutti_strbuf_puts(out, "\n");
    add_progress(&v, out);
    add_events(json, out);
    add_attempts(list_of(json, "attempts"), out);
    add_costs(list_of(json, "cost"), out);
    add_word(out, "folder ", v.folder);
    add_word(out, "\nweights ", v.weights);
    tutti_strbuf_puts(out, "\n");
}
