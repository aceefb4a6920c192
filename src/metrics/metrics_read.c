/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_read.c: reads metrics.jsonl.
 *
 * If a run was resumed, `seconds` in the lines begin at 0 again. The time before the resumption is added: up to the
 * last line with `seconds`, then the mean time of a step for each step up to the one where the run was resumed.
 * `exchanged_bytes` begin at 0 again, too. Steps between the last line with that key and the resumption count as many
 * bytes as a step afterwards. */
#include "metrics.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/file.h"
#include "../base/text/json.h"

enum { MAX_METRICS_BYTES = 1 << 30 };

/* State of reading. Times and bytes begin at 0 whenever a run is resumed, so they are summed over its starts. */
typedef struct {
    tutti_run_lines *r;
    double before;     /* seconds of the run before it was resumed last */
    int64_t told_step; /* step of the last line that had `seconds` */
    double step_s;     /* seconds of a step, from the last line */
    double bytes, bytes_before;
    /* first_step: the step at which the run was resumed last; bytes_step: step of the last line with `bytes`;
     * untold_steps: steps before a resumption for which no line gives the bytes */
    int64_t first_step, bytes_step, untold_steps;
} reader;

static void add_point(tutti_run_points *p, double x, double y)
{
    if (p->n == p->capacity) {
        p->x = tutti_grow(p->x, p->n, &p->capacity, sizeof *p->x);
        p->y = tutti_realloc(p->y, sizeof *p->y * (size_t)p->capacity);
    }
    p->x[p->n] = x;
    p->y[p->n++] = y;
}

static void release_points(tutti_run_points *p)
{
    free(p->x);
    free(p->y);
}

static void release_way(tutti_run_way *w)
{
    release_points(&w->x);
    release_points(&w->y);
    release_points(&w->distance);
}

void tutti_run_lines_release(tutti_run_lines *r)
{
    tutti_run_points *all[] = {&r->loss, &r->speed, &r->times, &r->restarts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) release_points(all[i]);
    release_way(&r->centre);
    for (int i = 0; i < r->nworkers; i++) release_way(&r->workers[i]);
    free(r->workers);
    free(r->tests);
    for (int i = 0; i < r->nrelus; i++) free(r->relus[i].name);
    free(r->relus);
    free(r->bound);
    free(r->staleness);
    *r = (tutti_run_lines){0};
}

static const char *words(const cJSON *line, const char *key)
{
    const char *text = tutti_json_text_of(line, key);
    return text ? text : "";
}

static void take_seconds(reader *c, const cJSON *line, int64_t step)
{
    c->r->seconds =
        /* falls back to `seconds`, which files of earlier versions have */
        c->before + tutti_json_number_of(line, "train_seconds", tutti_json_number_of(line, "seconds", 0));
    c->told_step = step;
}

/* Returns the bytes that were sent in the whole run up to this line; NAN: the line does not say. */
static double take_bytes(reader *c, const cJSON *line, int64_t step)
{
    const double told = tutti_json_number_of(line, "exchanged_bytes", (double)NAN);
    const int64_t steps = step - c->first_step;
    if (isnan(told)) return told;
    if (steps > 0) c->bytes_before += told / (double)steps * (double)c->untold_steps, c->untold_steps = 0;
    c->bytes = c->bytes_before + told;
    c->bytes_step = step;
    return c->bytes;
}

static void take_step(reader *c, const cJSON *line, int64_t step)
{
    tutti_run_lines *r = c->r;
    add_point(&r->loss, (double)step,
              tutti_json_number_of(line, "loss", (double)NAN)); /* null means that the loss was not finite */
    add_point(&r->speed, (double)step, tutti_json_number_of(line, "ips", 0));
    const double ms = tutti_json_number_of(line, "step_ms", 0);
    add_point(&r->times, (double)step, ms);
    r->step_ms += ms;
    r->comm_ms += tutti_json_number_of(line, "comm_ms", 0);
    c->step_s = 1e-3 * ms;
    r->seconds += c->step_s * (double)(step - c->told_step);
    c->told_step = step;
}

static void take_test(reader *c, const cJSON *line, int64_t step)
{
    tutti_run_lines *r = c->r;
    take_seconds(c, line, step);
    r->tests = tutti_grow(r->tests, r->ntests, &r->test_capacity, sizeof *r->tests);
    r->tests[r->ntests++] =
        (tutti_run_test){step, r->seconds, tutti_json_number_of(line, "accuracy", 0),
                         tutti_json_number_of(line, "loss", (double)NAN), take_bytes(c, line, step)};
}

static void take_place(tutti_run_way *w, const cJSON *line, int64_t step)
{
    add_point(&w->x, (double)step, tutti_json_number_of(line, "x", (double)NAN));
    add_point(&w->y, (double)step, tutti_json_number_of(line, "y", (double)NAN));
}

/* Adds a worker's line. The lines of a step come in the order of the ranks, from 0. */
static void take_worker(tutti_run_lines *r, const cJSON *line, int64_t step)
{
    const int rank = (int)tutti_json_number_of(line, "rank", -1);
    if (rank < 0 || rank > r->nworkers) return;
    if (rank == r->nworkers) {
        r->workers = tutti_grow(r->workers, r->nworkers, &r->worker_capacity, sizeof *r->workers);
        r->workers[r->nworkers++] = (tutti_run_way){0};
    }
    take_place(&r->workers[rank], line, step);
    add_point(&r->workers[rank].distance, (double)step, tutti_json_number_of(line, "distance", (double)NAN));
}

static void take_sparsity(tutti_run_lines *r, const cJSON *line)
{
    const char *name = words(line, "relu");
    const double sparsity = tutti_json_number_of(line, "sparsity", 0);
    int i = 0;
    while (i < r->nrelus && strcmp(r->relus[i].name, name) != 0) i++;
    if (i == r->nrelus) {
        r->relus = tutti_grow(r->relus, r->nrelus, &r->relu_capacity, sizeof *r->relus);
        r->relus[r->nrelus++] = (tutti_run_relu){.name = strdup(name), .first = sparsity};
    }
    r->relus[i].last = sparsity;
    r->relus[i].elements = tutti_json_number_of(line, "elements", 0);
}

static void take_resume(reader *c, int64_t step)
{
    c->r->nstretches++;
    c->r->seconds += c->step_s * (double)(step - c->told_step);
    c->before = c->r->seconds;
    c->told_step = step;
    c->bytes_before = c->bytes;
    c->untold_steps += step - c->bytes_step;
    c->first_step = c->bytes_step = step;
}

static void take_end(reader *c, const cJSON *line, int64_t step)
{
    tutti_run_lines *r = c->r;
    take_seconds(c, line, step);
    take_bytes(c, line, step);
    r->end_step = step;
    r->has_ended = !cJSON_GetObjectItemCaseSensitive(line, "signal");
    snprintf(r->weights, sizeof r->weights, "%s", words(line, "weights"));
}

static void take_line(reader *c, const cJSON *line)
{
    tutti_run_lines *r = c->r;
    const char *ev = words(line, "ev");
    if (!*ev) return;
    const int64_t step = (int64_t)tutti_json_number_of(line, "step", (double)r->last_step);
    if (strcmp(ev, "restart") != 0) r->last_step = step; /* a later restart may have gone back behind this one */
    if (!strcmp(ev, "step")) {
        take_step(c, line, step);
    } else if (!strcmp(ev, "eval")) {
        take_test(c, line, step);
    } else if (!strcmp(ev, "sparsity")) {
        take_sparsity(r, line);
    } else if (!strcmp(ev, "centre")) {
        take_place(&r->centre, line, step);
    } else if (!strcmp(ev, "worker")) {
        take_worker(r, line, step);
    } else if (!strcmp(ev, "cost")) {
        r->nranks = (int)tutti_json_number_of(line, "ranks", 1);
        for (int p = 0; p < TUTTI_NCOSTS; p++)
            r->cost[p] += tutti_json_number_of(line, tutti_cost_key((tutti_cost_part)p), 0);
    } else if (!strcmp(ev, "bound")) {
        free(r->bound);
        r->bound = strdup(words(line, "words"));
    } else if (!strcmp(ev, "visits")) {
        free(r->staleness);
        r->staleness = strdup(words(line, "words"));
    } else if (!strcmp(ev, "resume")) {
        take_resume(c, step);
    } else if (!strcmp(ev, "restart")) {
        add_point(&r->restarts, (double)step, tutti_json_number_of(line, "seconds", 0));
    } else if (!strcmp(ev, "diverged")) {
        r->has_diverged = true;
        r->ended_so = tutti_json_number_of(line, "ends", 0) != 0;
        r->diverged_step = step;
    } else if (!strcmp(ev, "end")) {
        take_end(c, line, step);
    }
}

tutti_status tutti_run_lines_read(const char *path, tutti_run_lines *out, tutti_failure *err)
{
    char *text = NULL;
    size_t nbytes = 0;
    reader c = {.r = out};
    *out = (tutti_run_lines){.nstretches = 1, .end_step = -1};
    tutti_status st = tutti_file_read(path, MAX_METRICS_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    int number_of_line = 0;
    for (char *line = text, *end; st == TUTTI_OK && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        number_of_line++;
        cJSON *json = tutti_json_parse(line, (size_t)(end - line));
        if (json)
            take_line(&c, json);
        else
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d is not JSON", path, number_of_line);
        cJSON_Delete(json);
    }
    free(text);
    return st;
}

bool tutti_run_lines_end_at(const char *path, int64_t step)
{
    tutti_run_lines lines;
    (void)tutti_run_lines_read(path, &lines, NULL); /* a file that cannot be read gives no lines, and so no end */
    const bool found = lines.end_step == step;
    tutti_run_lines_release(&lines);
    return found;
}
