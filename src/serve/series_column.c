/* SPDX-License-Identifier: Apache-2.0 */
/* series_column.c: a column of numbers with a pyramid of minima, maxima, sums and counts, one level for each power of
 * two. */
#include <math.h>
#include <stdlib.h>

#include "../base/arena.h"
#include "series_impl.h"

static const tutti_series_bucket empty = {.min = INFINITY, .max = -INFINITY};

static void add_value(tutti_series_bucket *b, double value)
{
    if (!isfinite(value)) return;
    if (value < b->min) b->min = value;
    if (value > b->max) b->max = value;
    b->sum += value;
    b->count++;
}

static void add_bucket(tutti_series_bucket *b, const tutti_series_bucket *other)
{
    if (other->min < b->min) b->min = other->min;
    if (other->max > b->max) b->max = other->max;
    b->sum += other->sum;
    b->count += other->count;
}

void tutti_series_column_push(tutti_series_column *c, double value)
{
    c->values = tutti_grow(c->values, c->n, &c->capacity, sizeof *c->values);
    c->values[c->n++] = value;
    for (int l = 0; l < TUTTI_SERIES_NLEVELS; l++) {
        const int32_t size = (int32_t)1 << (TUTTI_SERIES_LOWEST + l);
        if (c->n % size != 0) return;
        const int32_t at = c->n / size - 1;
        c->levels[l] = tutti_grow(c->levels[l], at, &c->level_capacity[l], sizeof **c->levels);
        c->levels[l][at] = empty;
        if (l > 0) {
            add_bucket(&c->levels[l][at], &c->levels[l - 1][2 * at]);
            add_bucket(&c->levels[l][at], &c->levels[l - 1][2 * at + 1]);
        } else {
            for (int32_t i = c->n - size; i < c->n; i++) add_value(&c->levels[l][at], c->values[i]);
        }
    }
}

void tutti_series_column_cut(tutti_series_column *c, int32_t n)
{
    c->n = n;
}

/* Returns the highest level whose bucket begins at this value and ends before `end`; -1: none. */
static int level_at(int32_t first, int32_t end)
{
    int found = -1;
    for (int l = 0; l < TUTTI_SERIES_NLEVELS; l++) {
        const int32_t size = (int32_t)1 << (TUTTI_SERIES_LOWEST + l);
        if (first % size != 0 || size > end - first) break;
        found = l;
    }
    return found;
}

tutti_series_bucket tutti_series_column_fold(const tutti_series_column *c, int32_t first, int32_t end)
{
    tutti_series_bucket b = empty;
    while (first < end) {
        const int level = level_at(first, end);
        if (level < 0) {
            add_value(&b, c->values[first++]);
            continue;
        }
        const int shift = TUTTI_SERIES_LOWEST + level;
        add_bucket(&b, &c->levels[level][first >> shift]);
        first += (int32_t)1 << shift;
    }
    return b;
}

void tutti_series_column_release(tutti_series_column *c)
{
    free(c->values);
    for (int l = 0; l < TUTTI_SERIES_NLEVELS; l++) free(c->levels[l]);
    *c = (tutti_series_column){0};
}

int32_t tutti_series_rows_until(const tutti_series_rows *r, int64_t step)
{
    int32_t low = 0, high = r->n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (r->steps[middle] <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
