/* SPDX-License-Identifier: Apache-2.0 */
/* step_log.c: stretches of a step, and the chain of them that is the longest. The rank's own lane is without gaps but for waits, so the
 * chain is found from its end: what was computed until then, else the exchange that was waited for; that one had waited for the lane,
 * which another exchange left, or for what was computed until it began. */
#include "step_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"

static const char *const names[] = {
    [TUTTI_STRETCH_LOAD] = "loading",  [TUTTI_STRETCH_FORWARD] = "forward",      [TUTTI_STRETCH_BACKWARD] = "backward",
    [TUTTI_STRETCH_UPDATE] = "update", [TUTTI_STRETCH_BESIDE] = "update beside", [TUTTI_STRETCH_EXCHANGE] = "exchange",
    [TUTTI_STRETCH_WAIT] = "waiting",
};
_Static_assert(sizeof names / sizeof *names == TUTTI_NSTRETCHES, "a name each");

const char *tutti_stretch_name(tutti_stretch_kind k)
{
    return (unsigned)k < TUTTI_NSTRETCHES ? names[k] : "?";
}

static bool is_computing(const tutti_step_stretch *s)
{
    return s->kind < TUTTI_STRETCH_BESIDE;
}

/* Neighbours that are one: of computing of one kind and layer. */
static bool goes_on(const tutti_step_stretch *s, tutti_stretch_kind kind, int what, double begin_s)
{
    return s->kind == kind && s->what == what && s->end_s == begin_s && kind < TUTTI_STRETCH_BESIDE;
}

void tutti_step_log_add(tutti_step_log *log, tutti_stretch_kind kind, int what, double begin_s, double end_s)
{
    if (!log || !(end_s > begin_s)) return;
    if (log->n && goes_on(&log->list[log->n - 1], kind, what, begin_s)) {
        log->list[log->n - 1].end_s = end_s;
        return;
    }
    if (log->n == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 256;
        tutti_step_stretch *more = tutti_alloc(sizeof *more * (size_t)log->capacity);
        if (log->n) memcpy(more, log->list, sizeof *more * (size_t)log->n);
        free(log->list);
        log->list = more;
    }
    log->list[log->n++] = (tutti_step_stretch){kind, what, what, begin_s, end_s};
}

void tutti_step_log_release(tutti_step_log *log)
{
    free(log->list);
    *log = (tutti_step_log){0};
}

void tutti_step_log_cut(tutti_step_log *log, double begin_s, double end_s)
{
    int n = 0;
    for (int i = 0; i < log->n; i++) {
        tutti_step_stretch s = log->list[i];
        s.begin_s = fmax(s.begin_s, begin_s) - begin_s;
        s.end_s = fmin(s.end_s, end_s) - begin_s;
        if (s.end_s > s.begin_s) log->list[n++] = s;
    }
    log->n = n;
    log->begin_s = 0;
    log->end_s = end_s - begin_s;
}

double tutti_step_log_computing(const tutti_step_log *log, double a, double b)
{
    double sum = 0;
    for (int i = 0; i < log->n; i++)
        if (is_computing(&log->list[i])) sum += fmax(0, fmin(b, log->list[i].end_s) - fmax(a, log->list[i].begin_s));
    return sum;
}

/* Until when it computes without a gap from t on; t itself if it does not compute then. *next: when it begins to, INFINITY: never. */
static double computes_until(const tutti_step_log *log, double t, double *next)
{
    double until = t;
    *next = INFINITY;
    for (int i = 0; i < log->n; i++) {
        const tutti_step_stretch *s = &log->list[i]; /* the lane's stretches are in the order of their times */
        if (!is_computing(s)) continue;
        if (s->begin_s <= until && s->end_s > until) until = s->end_s;
        if (s->begin_s > t) *next = fmin(*next, s->begin_s);
    }
    return until;
}

int tutti_step_log_split(const tutti_step_log *log, const tutti_step_stretch *exchange, tutti_step_stretch *out,
                         bool *exposed, int most)
{
    double at = exchange->begin_s;
    int n = 0;
    while (at < exchange->end_s && n < most) {
        double next;
        const double until = computes_until(log, at, &next);
        const bool waits = until <= at;
        out[n] = *exchange;
        out[n].begin_s = at;
        out[n].end_s = at = fmin(exchange->end_s, waits ? next : until);
        exposed[n++] = waits;
    }
    return n;
}

/* ---- the chain ---- */

static const tutti_step_stretch *ends_at(const tutti_step_log *log, double t, bool (*fits)(const tutti_step_stretch *s))
{
    for (int i = log->n - 1; i >= 0; i--)
        if (fits(&log->list[i]) && log->list[i].end_s == t) return &log->list[i];
    return NULL;
}

static const tutti_step_stretch *computing_at(const tutti_step_log *log, double t)
{
    for (int i = log->n - 1; i >= 0; i--)
        if (is_computing(&log->list[i]) && log->list[i].begin_s < t && log->list[i].end_s >= t) return &log->list[i];
    return NULL;
}

static bool is_on_the_way(const tutti_step_stretch *s)
{
    return !is_computing(s);
}

/* What had to end for `before` to begin at t; NULL: it is not known. */
static const tutti_step_stretch *cause_of(const tutti_step_log *log, const tutti_step_stretch *before, double t)
{
    const tutti_step_stretch *computed = computing_at(log, t), *sent = ends_at(log, t, is_on_the_way);
    if (before && is_on_the_way(before)) return sent ? sent : computed;
    return computed ? computed : sent;
}

static double last_end_before(const tutti_step_log *log, double t)
{
    double last = 0;
    for (int i = 0; i < log->n; i++)
        if (log->list[i].end_s < t) last = fmax(last, log->list[i].end_s);
    return last;
}

static void turn_round(tutti_step_stretch *list, int n)
{
    for (int i = 0; i < n / 2; i++) {
        const tutti_step_stretch s = list[i];
        list[i] = list[n - 1 - i];
        list[n - 1 - i] = s;
    }
}

int tutti_step_log_path(const tutti_step_log *log, tutti_step_stretch **out)
{
    tutti_step_stretch *path = tutti_alloc(sizeof *path * (size_t)(2 * log->n + 2));
    const tutti_step_stretch *before = NULL;
    double t = log->end_s;
    int n = 0;
    while (t > 0 && n < 2 * log->n + 2) {
        const tutti_step_stretch *s = cause_of(log, before, t);
        tutti_step_stretch part = {TUTTI_STRETCH_WAIT, -1, -1, last_end_before(log, t), t};
        if (s) part = (tutti_step_stretch){s->kind, s->what, s->what, s->begin_s, t};
        if (n && path[n - 1].kind == part.kind) {
            path[n - 1].what = part.what;
            path[n - 1].begin_s = part.begin_s;
        } else {
            path[n++] = part;
        }
        before = s;
        t = part.begin_s;
    }
    turn_round(path, n);
    *out = path;
    return n;
}
