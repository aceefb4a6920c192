/* SPDX-License-Identifier: Apache-2.0 */
/* compare_figures.c: the figures of runs that `tutti compare` holds side by side. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../metrics/metrics.h"
#include "compare.h"

enum { LEAST_SHOWN = 5 }; /* fewest pairs of runs that can show a difference */

/* True if the run ended before the time asked for, so that its accuracy at that time is unknown. */
static bool ends_before(const tutti_compare *c, const tutti_run_lines *l)
{
    return c->goal == TUTTI_UNTIL_SECONDS && l->seconds < c->goal_value;
}

/* Returns the test that counts for the goal, or NULL if there is none. */
static const tutti_run_test *test_of(const tutti_compare *c, const tutti_run_lines *l)
{
    const tutti_run_test *found = NULL;
    for (int i = 0; i < l->ntests; i++) {
        const tutti_run_test *t = &l->tests[i];
        if (c->goal == TUTTI_UNTIL_ACCURACY && t->accuracy >= c->goal_value) return t;
        if (c->goal == TUTTI_UNTIL_END || (c->goal == TUTTI_UNTIL_SECONDS && t->seconds <= c->goal_value)) found = t;
    }
    return ends_before(c, l) ? NULL : found;
}

tutti_compare_figures tutti_compare_figures_of(const tutti_compare *c, const tutti_compare_run *r)
{
    const tutti_run_lines *l = &r->lines;
    const tutti_run_test *t = test_of(c, l);
    /* for the goal `accuracy`, a run that diverged counts if it reached the accuracy before it diverged */
    const bool counts = t && (!l->has_diverged || c->goal == TUTTI_UNTIL_ACCURACY);
    tutti_compare_figures f = {.is_there = counts, .last = NAN};
    f.lacks = l->has_diverged                   ? "diverged"
              : c->goal == TUTTI_UNTIL_ACCURACY ? "not reached"
              : ends_before(c, l)               ? "ended before"
                                                : "no test";
    if (t) {
        f.seconds = t->seconds;
        f.samples = (double)(t->step * r->batch);
        f.accuracy = t->accuracy;
        f.bytes = t->bytes;
    }
    if (l->ntests) f.last = l->tests[l->ntests - 1].accuracy;
    f.speed = l->seconds > 0 ? (double)(l->last_step * r->batch) / l->seconds : NAN;
    return f;
}

void tutti_compare_diverged(const tutti_compare *c, int m, int *n, char words[48])
{
    *n = 0;
    words[0] = '\0';
    for (int s = 0; s < c->nseeds; s++) {
        const tutti_run_lines *l = &tutti_compare_at(c, m, s)->lines;
        if (!l->has_diverged) continue;
        ++*n;
        snprintf(words, 48, "diverged at step %lld", (long long)l->diverged_step);
    }
    if (*n > 1) snprintf(words, 48, "diverged by %d of %d", *n, c->nseeds);
    if (*n == 1 && c->nseeds > 1) snprintf(words + strlen(words), 48 - strlen(words), " by 1 of %d", c->nseeds);
}

const char *tutti_compare_lacks(const tutti_compare *c, int m)
{
    for (int s = 0; s < c->nseeds; s++) {
        const tutti_compare_figures f = tutti_compare_figures_of(c, tutti_compare_at(c, m, s));
        if (!f.is_there) return f.lacks;
    }
    return NULL;
}

tutti_compare_spread tutti_compare_spread_of(const tutti_compare *c, int m, size_t offset, bool needs_goal)
{
    tutti_compare_spread s = {.least = INFINITY, .most = -INFINITY};
    double sum = 0, value;
    for (int i = 0; i < c->nseeds; i++) {
        const tutti_compare_figures f = tutti_compare_figures_of(c, tutti_compare_at(c, m, i));
        memcpy(&value, (const char *)&f + offset, sizeof value);
        if ((needs_goal && !f.is_there) || !isfinite(value)) continue;
        s.n++;
        sum += value;
        s.least = fmin(s.least, value);
        s.most = fmax(s.most, value);
    }
    s.mean = s.n ? sum / s.n : NAN;
    return s;
}

/* Returns 1 if a is better, -1 if b is, 0 if neither is. Better means sooner at the goal, or more accurate if the goal
 * is a time. */
static int compare(const tutti_compare *c, const tutti_compare_figures *a, const tutti_compare_figures *b)
{
    if (!a->is_there || !b->is_there) return (int)a->is_there - (int)b->is_there;
    const double x = c->goal == TUTTI_UNTIL_ACCURACY ? b->seconds : a->accuracy;
    const double y = c->goal == TUTTI_UNTIL_ACCURACY ? a->seconds : b->accuracy;
    return (x > y) - (x < y);
}

static tutti_compare_pair pair_of(const tutti_compare *c, int a, int b)
{
    tutti_compare_pair pair = {.a = a, .b = b};
    for (int s = 0; s < c->nseeds; s++) {
        const tutti_compare_figures x = tutti_compare_figures_of(c, tutti_compare_at(c, a, s));
        const tutti_compare_figures y = tutti_compare_figures_of(c, tutti_compare_at(c, b, s));
        const int who = compare(c, &x, &y);
        pair.wins += who > 0;
        pair.ties += who == 0;
    }
    pair.p = tutti_sign_test(pair.wins, c->nseeds - pair.ties);
    pair.shown = pair.wins == c->nseeds && c->nseeds >= LEAST_SHOWN;
    return pair;
}

int tutti_compare_pairs(const tutti_compare *c, tutti_compare_pair *out, int most)
{
    int n = 0;
    for (int a = 0; a < c->nmethods; a++)
        for (int b = 0; b < c->nmethods && n < most; b++)
            if (c->methods[a].row->twin && !strcmp(c->methods[a].row->twin, c->methods[b].row->name))
                out[n++] = pair_of(c, a, b);
    return n;
}
