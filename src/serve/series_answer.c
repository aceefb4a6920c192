/* SPDX-License-Identifier: Apache-2.0 */
/* series_answer.c: writes what a series knows as JSON: tags, restarts, costs, and curves in buckets. */
#include <math.h>
#include <string.h>

#include "series_impl.h"

void tutti_series_write_tags(const tutti_series *s, tutti_json *j)
{
    tutti_json_open(j, "tags", '[');
    for (int k = 0; k < TUTTI_SERIES_NKINDS; k++) {
        const tutti_series_rows *r = &s->lines.rows[k];
        for (int i = 0; i < TUTTI_SERIES_MAX_COLUMNS; i++)
            if (r->n && r->columns[i].has_values) tutti_json_text(j, NULL, tutti_series_kinds[k].columns[i].tag);
    }
    tutti_json_close(j, ']');
}

void tutti_series_write_restarts(const tutti_series *s, tutti_json *j)
{
    tutti_json_open(j, "restarts", '[');
    for (int i = 0; i < s->lines.nrestarts; i++) {
        const tutti_series_restart *r = &s->lines.restarts[i];
        tutti_json_open(j, NULL, '{');
        tutti_json_int(j, "step", r->step);
        tutti_json_real(j, "seconds", r->seconds);
        tutti_json_int(j, "lost", r->lost);
        tutti_json_close(j, '}');
    }
    tutti_json_close(j, ']');
}

void tutti_series_write_cost(const tutti_series *s, tutti_json *j)
{
    tutti_json_open(j, "cost", '{');
    for (int p = 0; s->lines.has_cost && p < TUTTI_NCOSTS; p++)
        tutti_json_real(j, tutti_cost_key((tutti_cost_part)p), s->lines.cost[p]);
    tutti_json_close(j, '}');
}

/* ---- curves ---- */

static const tutti_series_column *column_of(const tutti_series *s, const char *tag, const tutti_series_rows **rows)
{
    for (int k = 0; k < TUTTI_SERIES_NKINDS; k++) {
        const tutti_series_rows *r = &s->lines.rows[k];
        for (int i = 0; i < TUTTI_SERIES_MAX_COLUMNS; i++) {
            const char *name = tutti_series_kinds[k].columns[i].tag;
            if (!name || strcmp(name, tag) != 0) continue;
            *rows = r;
            return r->n && r->columns[i].has_values ? &r->columns[i] : NULL;
        }
    }
    return NULL;
}

/* Rows first..end-1 in buckets of 2^shift rows. Buckets begin at multiples of their size, so that a curve that grows
 * keeps the buckets that it had. */
typedef struct {
    int32_t first, end, shift;
} cut;

static int32_t count_buckets(const cut *c)
{
    return c->first < c->end ? ((c->end - 1) >> c->shift) - (c->first >> c->shift) + 1 : 0;
}

static void bounds_of(const cut *c, int32_t bucket, int32_t *first, int32_t *end)
{
    const int64_t from = (int64_t)((c->first >> c->shift) + bucket) << c->shift, to = from + ((int64_t)1 << c->shift);
    *first = from < c->first ? c->first : (int32_t)from;
    *end = to > c->end ? c->end : (int32_t)to;
}

static double pick(const tutti_series_bucket *b, char what)
{
    if (b->count == 0) return (double)NAN;
    return what == 'n' ? b->min : what == 'x' ? b->max : b->sum / (double)b->count;
}

static void write_values(const tutti_series_column *column, const cut *c, const char *key, char what, tutti_json *j)
{
    tutti_json_open(j, key, '[');
    for (int32_t i = 0; i < count_buckets(c); i++) {
        int32_t first, end;
        bounds_of(c, i, &first, &end);
        const tutti_series_bucket b = tutti_series_column_fold(column, first, end);
        if (what == 'c')
            tutti_json_int(j, NULL, b.count);
        else
            tutti_json_real(j, NULL, pick(&b, what));
    }
    tutti_json_close(j, ']');
}

bool tutti_series_write_points(const tutti_series *s, const tutti_series_ask *ask, tutti_json *j)
{
    const tutti_series_rows *rows = NULL;
    const tutti_series_column *column = column_of(s, ask->tag, &rows);
    if (!column) return false;
    const int32_t npoints = ask->npoints < 1 ? 1 : ask->npoints > 10000 ? 10000 : ask->npoints;
    cut c = {.first = ask->from == INT64_MIN ? 0 : tutti_series_rows_until(rows, ask->from - 1),
             .end = tutti_series_rows_until(rows, ask->to)};
    while (count_buckets(&c) > npoints) c.shift++;
    tutti_json_text(j, "tag", ask->tag);
    tutti_json_int(j, "points", count_buckets(&c));
    tutti_json_open(j, "step", '[');
    for (int32_t i = 0; i < count_buckets(&c); i++) {
        int32_t first, end;
        bounds_of(&c, i, &first, &end);
        tutti_json_int(j, NULL, rows->steps[first]);
    }
    tutti_json_close(j, ']');
    write_values(column, &c, "min", 'n', j);
    write_values(column, &c, "max", 'x', j);
    write_values(column, &c, "mean", 'm', j);
    write_values(column, &c, "count", 'c', j);
    tutti_json_int(j, "total", c.end > c.first ? c.end - c.first : 0);
    return true;
}
