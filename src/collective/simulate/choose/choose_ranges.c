/* SPDX-License-Identifier: Apache-2.0 */
/* choose_ranges.c: finds which algorithm is best for which sizes: winners at powers of 4, and the sizes where they
 * change, by bisection. Between two sizes only contenders that came near the winner at one of them compete. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "choose_impl.h"

typedef struct {
    const tutti_contenders *all;
    const tutti_topology *t;
    tutti_ranges *out;
} search;

typedef struct {
    int64_t n;
    int winner; /* index of the fastest contender at this size; -1 = none can serve */
    double seconds[TUTTI_MAX_CANDIDATES];
} probe;

/* Times the contenders at n elements. near: marks the contenders that are timed; NULL = all. */
static probe probe_at(const search *s, int64_t n, const bool *near)
{
    probe p = {.n = n, .winner = -1};
    for (int i = 0; i < s->all->n; i++) {
        tutti_simulation sim;
        p.seconds[i] = -1;
        if ((near && !near[i]) || tutti_contender_simulate(&s->all->list[i], s->t, n, &sim, NULL)) continue;
        p.seconds[i] = sim.seconds;
        if (p.winner < 0 || tutti_is_faster(sim.seconds, p.seconds[p.winner])) p.winner = i;
    }
    return p;
}

static void add(search *s, const probe *first, const probe *last)
{
    tutti_range *before = s->out->nranges ? &s->out->ranges[s->out->nranges - 1] : NULL;
    const char *name = s->all->list[first->winner].algorithm;
    if (before && !strcmp(before->algorithm, name)) {
        before->last = last->n, before->last_s = last->seconds[first->winner];
        return;
    }
    if (s->out->nranges == TUTTI_MAX_RANGES) return;
    tutti_range *r = &s->out->ranges[s->out->nranges++];
    *r = (tutti_range){.first = first->n,
                       .last = last->n,
                       .first_s = first->seconds[first->winner],
                       .last_s = last->seconds[first->winner]};
    memcpy(r->algorithm, name, sizeof r->algorithm);
}

static void contenders_near(const probe *a, const probe *b, int n, bool *near)
{
    for (int i = 0; i < n; i++)
        near[i] = a->seconds[i] >= 0 &&
                  (a->seconds[i] < 1.5 * a->seconds[a->winner] || b->seconds[i] < 1.5 * b->seconds[b->winner]);
}

/* Finds every change of the winner between the sizes of `a` and `end`, at which all contenders were timed. The range of
 * a's winner has no last size yet. */
static void refine(search *s, probe a, const probe *end)
{
    bool near[TUTTI_MAX_CANDIDATES];
    contenders_near(&a, end, s->all->n, near);
    while (a.winner != end->winner) {
        probe lo = a, hi = *end; /* at lo the winner is that of `a`, at hi another contender */
        while (hi.n - lo.n > 1 && hi.n - lo.n > lo.n / 256) {
            probe middle = probe_at(s, lo.n + (hi.n - lo.n) / 2, near);
            if (middle.winner == a.winner)
                lo = middle;
            else
                hi = middle;
        }
        add(s, &a, &lo);
        s->out->ranges[s->out->nranges - 1].last = hi.n - 1;
        a = hi;
    }
    add(s, &a, end);
}

static void say_skipped(const tutti_contenders *all, char *out, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < all->n && at < size; i++)
        if (all->list[i].too_many)
            at += (size_t)snprintf(out + at, size - at, "%s%s", at ? ", " : "", all->list[i].algorithm);
}

tutti_status tutti_choose_ranges(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request,
                                 int64_t most, const tutti_topology *t, tutti_ranges *out, tutti_failure *err)
{
    tutti_contenders *all = tutti_alloc(sizeof *all);
    tutti_contenders_open(policy, most_steps, request, t, all);
    *out = (tutti_ranges){0};
    say_skipped(all, out->skipped, sizeof out->skipped);
    search s = {all, t, out};
    probe before = probe_at(&s, 1, NULL);
    tutti_status st = TUTTI_OK;
    if (before.winner < 0)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "no algorithm can do this%s%s", *out->skipped ? " without " : "",
                        out->skipped);
    else
        add(&s, &before, &before);
    while (!st && before.n < most) {
        probe next = probe_at(&s, before.n < most / 4 ? 4 * before.n : most, NULL);
        refine(&s, before, &next);
        before = next;
    }
    tutti_contenders_close(all);
    free(all);
    return st;
}
