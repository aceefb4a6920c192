/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_jsonl.c: writes metrics.jsonl. Each line is one write() to a file opened for appending: lines are complete
 * unless the machine dies in between. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/file.h"
#include "../base/text/json.h"
#include "metrics.h"

struct tutti_metrics {
    int fd;
    char *path;
    tutti_strbuf line;
};

static const size_t MAX_METRICS_BYTES = (size_t)1 << 32;

/* True if a line stays in the file when a run is resumed after last_step. A line without a step stays (this version
 * writes no such line). A restart happened even if a later one went back behind it, so its line stays, too. */
static bool keeps(const char *line, size_t nbytes, int64_t last_step)
{
    cJSON *root = tutti_json_parse(line, nbytes);
    const cJSON *step = cJSON_GetObjectItemCaseSensitive(root, "step");
    const cJSON *event = cJSON_GetObjectItemCaseSensitive(root, "ev");
    const bool kept =
        cJSON_IsString(event) && strcmp(event->valuestring, "end") != 0 &&
        (!cJSON_IsNumber(step) || step->valuedouble <= (double)last_step || !strcmp(event->valuestring, "restart"));
    cJSON_Delete(root);
    return kept;
}

static tutti_status cut_back(const char *path, int64_t last_step, tutti_failure *err)
{
    char *text;
    size_t nbytes;
    if (access(path, F_OK) != 0) return TUTTI_OK;
    tutti_status st = tutti_file_read(path, MAX_METRICS_BYTES, TUTTI_ERR_FAILED, &text, &nbytes, err);
    if (st) return st;
    tutti_strbuf kept = {0};
    tutti_strbuf_puts(&kept, "");
    for (char *line = text, *end; line < text + nbytes; line = end + 1) {
        end = memchr(line, '\n', nbytes - (size_t)(line - text));
        if (!end) break; /* the last line is torn */
        if (keeps(line, (size_t)(end - line), last_step)) tutti_strbuf_add(&kept, line, (size_t)(end - line) + 1);
    }
    if (kept.length != nbytes) st = tutti_file_write_atomic(path, kept.text, kept.length, err);
    tutti_strbuf_release(&kept);
    free(text);
    return st;
}

tutti_status tutti_metrics_open(const char *path, int64_t last_step, tutti_metrics **out, tutti_failure *err)
{
    tutti_status st = last_step < 0 ? TUTTI_OK : cut_back(path, last_step, err);
    if (st) return st;
    int fd;
    st = tutti_file_open_to_write(path, O_CREAT | O_APPEND | (last_step < 0 ? O_TRUNC : 0), &fd, err);
    if (st) return st;
    tutti_metrics *m = tutti_alloc(sizeof *m);
    m->fd = fd;
    m->path = strdup(path);
    *out = m;
    return TUTTI_OK;
}

static void add_metric(tutti_json *j, const tutti_metric *x)
{
    switch (x->kind) {
    case TUTTI_METRIC_IS_INT: tutti_json_int(j, x->key, x->number); break;
    case TUTTI_METRIC_IS_REAL: tutti_json_real(j, x->key, x->real); break;
    case TUTTI_METRIC_IS_TEXT: tutti_json_text(j, x->key, x->text); break;
    }
}

static void add_nan_list(tutti_json *j, const tutti_metric *metrics, int n)
{
    bool open = false;
    for (int i = 0; i < n; i++) {
        if (metrics[i].kind != TUTTI_METRIC_IS_REAL || isfinite(metrics[i].real)) continue;
        if (!open) tutti_json_open(j, "nan", '[');
        open = true;
        tutti_json_text(j, NULL, metrics[i].key);
    }
    if (open) tutti_json_close(j, ']');
}

tutti_status tutti_metrics_write(tutti_metrics *m, const char *event, const tutti_metric *metrics, int n,
                                 tutti_failure *err)
{
    m->line.length = 0;
    tutti_json j = {.out = &m->line};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "ev", event);
    for (int i = 0; i < n; i++) add_metric(&j, &metrics[i]);
    add_nan_list(&j, metrics, n);
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(&m->line, "\n");
    if (!tutti_file_is_there(m->fd, m->path)) /* lines written to a removed file would be lost */
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: was removed, renamed or replaced while it was written", m->path);
    return tutti_file_write_all(m->fd, m->path, m->line.text, m->line.length, err);
}

tutti_status tutti_metrics_sync(tutti_metrics *m, tutti_failure *err)
{
    if (tutti_file_sync(m->fd)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot sync: %s", m->path, strerror(errno));
}

void tutti_metrics_close(tutti_metrics *m)
{
    if (!m) return;
    close(m->fd);
    tutti_strbuf_release(&m->line);
    free(m->path);
    free(m);
}
