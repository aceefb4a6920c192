/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c: merges gradients so that their exchanges end soonest, by dynamic programming over prefixes.
 *
 * A grouping of the first i items is described by two times: `lane`, when the hidden parts of its exchanges have ended,
 * and `own`, the sum of the parts that are not hidden (merge.h). A next group (i .. j) turns them into
 *     lane' = max(lane, ready of item j) + hidden part,   own' = own + the other part.
 * The exchanges end at lane + own of the last group. Both times grow with their predecessors. So if one grouping of a
 * prefix is no better than another in either time, it can be dropped, whatever follows, and the result stays exact.
 * With overlap 0 or 1 one of the two times is the same for all groupings of a prefix and a single state remains. */
#include "merge.h"

#include <stdlib.h>

#include "../../base/arena.h"

/* llround of a time, which is not negative. */
static int64_t rounded(double ns)
{
    const int64_t whole = (int64_t)ns;
    return whole + (ns - (double)whole >= 0.5);
}

/* Nanoseconds for each byte of the line between the points k - 1 and k. */
static double slope_of(const tutti_exchange_cost *c, int k)
{
    return (double)(c->ns[k] - c->ns[k - 1]) / (double)(c->bytes[k] - c->bytes[k - 1]);
}

/* Returns the measured point at the upper end of the line on which a size lies; the search begins at point k. */
static int point_from(const tutti_exchange_cost *c, int k, int64_t bytes)
{
    while (k < c->npoints - 1 && bytes > c->bytes[k]) k++;
    return k;
}

static int64_t ns_on_line(const tutti_exchange_cost *c, int k, double slope, int64_t bytes)
{
    if (bytes <= c->bytes[0]) return c->ns[0];
    if (c->npoints == 1) return rounded((double)c->ns[0] * ((double)bytes / (double)c->bytes[0]));
    return c->ns[k - 1] + rounded(slope * (double)(bytes - c->bytes[k - 1]));
}

int64_t tutti_exchange_cost_ns(const tutti_exchange_cost *c, int64_t bytes)
{
    const int k = point_from(c, 1, bytes);
    return ns_on_line(c, k, c->npoints > 1 ? slope_of(c, k) : 0, bytes);
}

/* ---- one grouping ---- */

/* The two parts of an exchange's time: hidden behind compute, and not. */
typedef struct {
    int64_t hidden_ns, own_ns;
} parts;

static parts parts_of(const tutti_exchange_cost *cost, int64_t whole_ns)
{
    const int64_t hidden = rounded(cost->overlap * (double)whole_ns);
    return (parts){hidden, whole_ns - hidden};
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t tutti_merge_play(const tutti_merge_item *items, int n, const tutti_exchange_cost *cost, const bool *starts,
                         tutti_merge_group *groups, int *ngroups)
{
    int64_t lane = 0, own = 0;
    int count = 0;
    for (int first = 0, i; first < n; first = i) {
        tutti_merge_group g = {.first = first, .nitems = 1, .bytes = items[first].bytes};
        for (i = first + 1; i < n && !starts[i]; i++) g.bytes += items[i].bytes, g.nitems++;
        const parts time = parts_of(cost, tutti_exchange_cost_ns(cost, g.bytes));
        g.begin_ns = later(lane, items[i - 1].ready_ns);
        g.end_ns = lane = g.begin_ns + time.hidden_ns;
        g.own_ns = time.own_ns;
        own += g.own_ns;
        if (groups) groups[count] = g;
        count++;
    }
    if (ngroups) *ngroups = count;
    return lane + own;
}

/* ---- the best grouping ---- */

typedef struct {
    int64_t lane_ns, own_ns;
    int ngroups;
    int from_prefix, from_state; /* the state of a shorter prefix that the last group was added to */
} state;

typedef struct {
    state *states;
    int nstates, capacity;
} prefix;

/* True if no time of `a` is longer than that of `b`, and `a` has a shorter time or at most as many groups. */
static bool beats(const state *a, const state *b)
{
    if (a->lane_ns > b->lane_ns || a->own_ns > b->own_ns) return false;
    return a->lane_ns < b->lane_ns || a->own_ns < b->own_ns || a->ngroups <= b->ngroups;
}

static bool is_beaten(const prefix *p, const state *s)
{
    for (int i = 0; i < p->nstates; i++)
        if (beats(&p->states[i], s)) return true;
    return false;
}

static void keep(prefix *p, const state *s)
{
    int kept = 0;
    if (is_beaten(p, s)) return; /* a state that is beaten beats no kept state, so nothing changes */
    for (int i = 0; i < p->nstates; i++)
        if (!beats(s, &p->states[i])) p->states[kept++] = p->states[i];
    p->nstates = kept;
    p->states = tutti_grow(p->states, p->nstates, &p->capacity, sizeof *p->states);
    p->states[p->nstates++] = *s;
}

/* Tries all groups that end with item `end - 1`, the smallest first. slopes: slope of the line up to each point. If a
 * group grows, its hidden part does not get shorter, and its other part shrinks by at most a nanosecond, through
 * rounding. So once a kept state beats these two times, it beats all larger groups, and the search ends. */
static void extend(prefix *prefixes, const tutti_merge_item *items, int end, const tutti_exchange_cost *cost,
                   const double *slopes)
{
    const int64_t ready_ns = items[end - 1].ready_ns;
    int64_t bytes = 0;
    int point = 1;
    for (int first = end - 1; first >= 0; first--) {
        bytes += items[first].bytes;
        point = point_from(cost, point, bytes);
        const parts time = parts_of(cost, ns_on_line(cost, point, slopes[point], bytes));
        const int64_t own_ns = time.own_ns > 0 ? time.own_ns - 1 : 0;
        if (is_beaten(&prefixes[end], &(state){ready_ns + time.hidden_ns, own_ns, 0, 0, 0})) break;
        for (int k = 0; k < prefixes[first].nstates; k++) {
            const state *before = &prefixes[first].states[k];
            const int64_t lane_ns = later(before->lane_ns, ready_ns) + time.hidden_ns;
            keep(&prefixes[end], &(state){lane_ns, before->own_ns + time.own_ns, before->ngroups + 1, first, k});
        }
    }
}

static const state *best_of(const prefix *p)
{
    const state *best = &p->states[0];
    for (int i = 1; i < p->nstates; i++) {
        const state *s = &p->states[i];
        const int64_t by = s->lane_ns + s->own_ns - best->lane_ns - best->own_ns;
        if (by < 0 || (by == 0 && s->ngroups < best->ngroups)) best = s;
    }
    return best;
}

int64_t tutti_merge_best(const tutti_merge_item *items, int n, const tutti_exchange_cost *cost, bool *starts)
{
    if (n == 0) return 0;
    prefix *prefixes = tutti_alloc(sizeof *prefixes * (size_t)(n + 1));
    keep(&prefixes[0], &(state){0});
    double slopes[TUTTI_MAX_COST_POINTS + 1] = {0};
    for (int k = 1; k < cost->npoints; k++) slopes[k] = slope_of(cost, k);
    for (int end = 1; end <= n; end++) extend(prefixes, items, end, cost, slopes);

    for (int i = 0; i < n; i++) starts[i] = false;
    const state *s = best_of(&prefixes[n]);
    const int64_t end_ns = s->lane_ns + s->own_ns;
    for (; s->ngroups; s = &prefixes[s->from_prefix].states[s->from_state]) starts[s->from_prefix] = true;

    for (int i = 0; i <= n; i++) free(prefixes[i].states);
    free(prefixes);
    return end_ns;
}
