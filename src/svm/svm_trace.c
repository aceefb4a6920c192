/* SPDX-License-Identifier: Apache-2.0 */
/* svm_trace.c: writes and reads the events of an SVM training as JSON lines. */
#include "svm_trace.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/file.h"
#include "../base/text/json.h"

enum { MOST_BYTES = 1 << 30 };

typedef struct {
    const char *key;
    enum { IS_INT, IS_LONG, IS_REAL } kind;
    size_t at; /* offset of the field in tutti_svm_event */
} field;

#define FIELD(name, kind)                                                                                              \
    {                                                                                                                  \
#name, kind, offsetof(tutti_svm_event, name)                                                                   \
    }
#define SPENT(name, work)                                                                                              \
    {                                                                                                                  \
        name, IS_REAL, offsetof(tutti_svm_event, spent_s) + (work) * sizeof(double)                                    \
    }
static const field fields[] = {
    FIELD(pair, IS_INT),
    FIELD(npairs, IS_INT),
    FIELD(round, IS_LONG),
    FIELD(iterations, IS_LONG),
    FIELD(gap, IS_REAL),
    FIELD(samples, IS_LONG),
    FIELD(active, IS_LONG),
    FIELD(eliminated, IS_LONG),
    FIELD(reconstructed, IS_LONG),
    FIELD(kernel_rows, IS_LONG),
    FIELD(cached_rows, IS_LONG),
    FIELD(block, IS_INT),
    FIELD(row_bytes, IS_LONG),
    FIELD(collectives, IS_LONG),
    FIELD(bytes, IS_LONG),
    FIELD(seconds, IS_REAL),
    SPENT("choosing_s", TUTTI_SVM_CHOOSING),
    SPENT("moving_s", TUTTI_SVM_MOVING),
    SPENT("alike_s", TUTTI_SVM_ALIKE),
    SPENT("updating_s", TUTTI_SVM_UPDATING),
    SPENT("eliminating_s", TUTTI_SVM_ELIMINATING),
    SPENT("other_s", TUTTI_SVM_OTHER),
};
enum { NFIELDS = sizeof fields / sizeof *fields };

tutti_status tutti_svm_trace_begin(tutti_metrics *to, int nranks, int nthreads, tutti_failure *err)
{
    const tutti_metric m[] = {TUTTI_METRIC_INT("ranks", nranks), TUTTI_METRIC_INT("threads", nthreads)};
    return tutti_metrics_write(to, "training", m, 2, err);
}

tutti_status tutti_svm_trace_event(tutti_metrics *to, const tutti_svm_event *event, tutti_failure *err)
{
    tutti_metric m[NFIELDS];
    for (int i = 0; i < NFIELDS; i++) {
        const void *at = (const char *)event + fields[i].at;
        if (fields[i].kind == IS_REAL)
            m[i] = TUTTI_METRIC_REAL(fields[i].key, *(const double *)at);
        else
            m[i] = TUTTI_METRIC_INT(fields[i].key, fields[i].kind == IS_INT ? *(const int *)at : *(const int64_t *)at);
    }
    return tutti_metrics_write(to, event->over ? "solved" : "round", m, NFIELDS, err);
}

static const char first_words[] = "{\"ev\"";

bool tutti_svm_trace_is(const char *path)
{
    char begin[sizeof first_words - 1];
    int fd;
    if (tutti_file_open(path, TUTTI_ERR_DATA, &fd, NULL)) return false;
    const ssize_t n = pread(fd, begin, sizeof begin, 0); /* pread fails for a pipe, so nothing of a pipe is lost */
    close(fd);
    return n == sizeof begin && !memcmp(begin, first_words, sizeof begin);
}

/* Reads a number: whole if it must be, not negative (except the gap), and no larger than a training can make it. */
static bool number_of(const cJSON *line, const field *f, double *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, f->key);
    if (!cJSON_IsNumber(item)) return false;
    const double value = *out = item->valuedouble, most = f->kind == IS_INT ? 1e9 : 1e15;
    if (!isfinite(value) || (value < 0 && strcmp(f->key, "gap") != 0)) return false;
    return f->kind == IS_REAL || (value <= most && value == floor(value));
}

static bool is_event(const cJSON *line, const char *name)
{
    const cJSON *ev = cJSON_GetObjectItemCaseSensitive(line, "ev");
    return cJSON_IsString(ev) && !strcmp(ev->valuestring, name);
}

static const char *take_event(const cJSON *line, tutti_svm_event *out)
{
    out->over = is_event(line, "solved");
    if (!out->over && !is_event(line, "round")) return "ev";
    for (int i = 0; i < NFIELDS; i++) {
        void *at = (char *)out + fields[i].at;
        double value;
        if (!number_of(line, &fields[i], &value)) return fields[i].key;
        if (fields[i].kind == IS_REAL)
            *(double *)at = value;
        else if (fields[i].kind == IS_INT)
            *(int *)at = (int)value;
        else
            *(int64_t *)at = (int64_t)value;
    }
    return NULL;
}

/* Reads the line with ranks and threads. Returns the key that is wrong, or NULL. */
static const char *take_beginning(const cJSON *line, tutti_svm_trace *out)
{
    double ranks, threads;
    if (!is_event(line, "training")) return "ev";
    if (!number_of(line, &(field){"ranks", IS_INT, 0}, &ranks) || ranks < 1) return "ranks";
    if (!number_of(line, &(field){"threads", IS_INT, 0}, &threads) || threads < 1) return "threads";
    out->nranks = (int)ranks, out->nthreads = (int)threads;
    return NULL;
}

static tutti_status take(const char *path, int64_t number, const char *text, int64_t *room, tutti_svm_trace *out,
                         tutti_failure *err)
{
    cJSON *line = tutti_json_parse(text, strlen(text));
    const char *wrong = "JSON";
    if (line && number == 1) {
        wrong = take_beginning(line, out);
    } else if (line) {
        if (out->n == *room) {
            *room = *room ? 2 * *room : 256;
            out->events = tutti_realloc(out->events, sizeof *out->events * (size_t)*room);
        }
        out->events[out->n] = (tutti_svm_event){0};
        wrong = take_event(line, &out->events[out->n]);
        out->n += !wrong;
    }
    cJSON_Delete(line);
    if (!wrong) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %" PRId64 " is none of a trace of svm-train: see its %s", path,
                      number, wrong);
}

tutti_status tutti_svm_trace_read(const char *path, tutti_svm_trace *out, tutti_failure *err)
{
    tutti_svm_trace trace = {0};
    char *text = NULL;
    size_t nbytes = 0;
    int64_t room = 0, number = 0;
    tutti_status st = tutti_file_read(path, MOST_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    for (char *line = text, *end; !st && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        st = take(path, ++number, line, &room, &trace, err);
    }
    free(text);
    if (!st && trace.n == 0) st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no round of svm-train in it yet", path);
    if (st)
        tutti_svm_trace_release(&trace);
    else
        *out = trace;
    return st;
}

void tutti_svm_trace_release(tutti_svm_trace *trace)
{
    free(trace->events);
    *trace = (tutti_svm_trace){0};
}
