/* SPDX-License-Identifier: Apache-2.0 */
/* step_log.c: logs the stretches of a predicted step (times in which a rank does one thing), and finds the longest
 * chain of them. The compute lane has no gaps except waits, so the chain is found from its end. Before a moment in the
 * chain comes the stretch of computing that ends then, else the exchange for which the rank waited. Before an exchange
 * comes the exchange that ended when this one took the lane, or the stretch of computing that ended when this one
 * began. */
#include "play/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/sort.h"

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

/* True if the new stretch continues the stretch s: computing of the same kind and layer, without a gap. */
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

/* Returns the time until which the lane computes without a gap from t on, at most `most`; t itself if it does not
 * compute at t. *next becomes the time at which computing begins again, or INFINITY. Stretches are sorted by time, so
 * only those from *near on are looked at. */
static double computes_until(const tutti_step_log *log, double t, double most, int *near, double *next)
{
    double until = t;
    int i = *near;
    *next = INFINITY;
    while (i > 0 && !(is_computing(&log->list[i]) && log->list[i].begin_s <= t)) i--;
    *near = i;
    for (; i < log->n && until < most; i++) {
        const tutti_step_stretch *s = &log->list[i];
        if (!is_computing(s)) continue;
        if (s->begin_s <= until && s->end_s > until) until = s->end_s;
        if (s->begin_s <= t) continue;
        *next = fmin(*next, s->begin_s);
        if (s->begin_s > until) break;
    }
    return until;
}

int tutti_step_log_split(const tutti_step_log *log, const tutti_step_stretch *exchange, tutti_step_stretch *out,
                         bool *exposed, int most)
{
    double at = exchange->begin_s;
    int n = 0, near = (int)(exchange - log->list);
    while (at < exchange->end_s && n < most) {
        double next;
        const double until = computes_until(log, at, exchange->end_s, &near, &next);
        const bool waits = until <= at;
        out[n] = *exchange;
        out[n].begin_s = at;
        out[n].end_s = at = fmin(exchange->end_s, waits ? next : until);
        exposed[n++] = waits;
    }
    return n;
}

/* ---- the chain of stretches that determines the step's length ---- */

/* Stretches in the order in which the search from the end of a step to its begin needs them. A period may have a
 * million, so each is passed once. */
typedef struct {
    /* computing: stretches of computing, sorted by begin; sent: exchanges, sorted by end, those of equal end in the
     * order in which they were played */
    const tutti_step_stretch **computing, **sent;
    double *ends;                 /* the times at which stretches end, ascending */
    int ncomputing, nsent, nends; /* for each of the three arrays: number of its first entries that the
                                                   * search may still need */
} walk;

static int compare_ends(const void *a, const void *b)
{
    const tutti_step_stretch *x = *(const tutti_step_stretch *const *)a, *y = *(const tutti_step_stretch *const *)b;
    if (x->end_s != y->end_s) return x->end_s < y->end_s ? -1 : 1;
    return x < y ? -1 : x > y;
}

static walk walk_begin(const tutti_step_log *log)
{
    const size_t room = (size_t)log->n + 1;
    walk w = {.computing = tutti_alloc(sizeof *w.computing * room),
              .sent = tutti_alloc(sizeof *w.sent * room),
              .ends = tutti_alloc(sizeof *w.ends * room)};
    for (int i = 0; i < log->n; i++) {
        const tutti_step_stretch *s = &log->list[i];
        if (is_computing(s))
            w.computing[w.ncomputing++] = s;
        else
            w.sent[w.nsent++] = s;
        w.ends[w.nends++] = s->end_s;
    }
    qsort(w.sent, (size_t)w.nsent, sizeof *w.sent, compare_ends);
    tutti_sort_doubles(w.ends, (size_t)w.nends);
    return w;
}

static void walk_end(walk *w)
{
    free(w->computing), free(w->sent), free(w->ends);
}

/* Returns the lane's stretch that ends at t or lasts beyond t, or NULL. In this and the next functions, t never grows
 * from call to call. */
static const tutti_step_stretch *computing_at(walk *w, double t)
{
    while (w->ncomputing && w->computing[w->ncomputing - 1]->begin_s >= t) w->ncomputing--;
    const tutti_step_stretch *s = w->ncomputing ? w->computing[w->ncomputing - 1] : NULL;
    return s && s->end_s >= t ? s : NULL;
}

/* Returns the exchange that began last among those that end at t. */
static const tutti_step_stretch *sent_at(walk *w, double t)
{
    while (w->nsent && w->sent[w->nsent - 1]->end_s > t) w->nsent--;
    const tutti_step_stretch *s = w->nsent ? w->sent[w->nsent - 1] : NULL;
    return s && s->end_s == t ? s : NULL;
}

static double last_end_before(walk *w, double t)
{
    while (w->nends && w->ends[w->nends - 1] >= t) w->nends--;
    return w->nends ? fmax(0, w->ends[w->nends - 1]) : 0;
}

/* Returns the stretch whose end let `before` begin at t, or NULL if it is unknown. */
static const tutti_step_stretch *cause_of(walk *w, const tutti_step_stretch *before, double t)
{
    const tutti_step_stretch *computed = computing_at(w, t), *sent = sent_at(w, t);
    if (before && !is_computing(before)) return sent ? sent : computed;
    return computed ? computed : sent;
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
    walk w = walk_begin(log);
    double t = log->end_s;
    int n = 0;
    while (t > 0 && n < 2 * log->n + 2) {
        const tutti_step_stretch *s = cause_of(&w, before, t);
        const double from = s ? s->begin_s : last_end_before(&w, t);
        const tutti_step_stretch part = {s ? s->kind : TUTTI_STRETCH_WAIT, s ? s->what : -1, s ? s->what : -1, from, t};
        if (n && path[n - 1].kind == part.kind) {
            path[n - 1].what = part.what;
            path[n - 1].begin_s = part.begin_s;
        } else {
            path[n++] = part;
        }
        before = s;
        t = part.begin_s;
    }
    walk_end(&w);
    turn_round(path, n);
    *out = path;
    return n;
}
