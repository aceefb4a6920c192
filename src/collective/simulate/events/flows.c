/* SPDX-License-Identifier: Apache-2.0 */
/* flows.c: flows of messages with max-min shares of the links. If a message begins or ends soon after shares were
 * computed, nothing changes until shares are computed anew. Until then a new message does not move, and the share of an
 * ended message stays unused. This lasts for at most a small part of the time of the new message, or of the remaining
 * time of the others. So shares that were computed once serve many messages. */
#include "flows.h"

#include <math.h>
#include <stdlib.h>

#include "../../../base/arena.h"
#include "max_min.h"

/* A rest of fewer bytes than this is a rounding error. */
static const double CRUMB = 1e-6;
/* Time for which shares are kept, as a fraction of a message's time, or of the remaining time of the messages under
 * way. */
static const double GRAIN = 1e-3;
/* Fraction by which the earliest message gets more of a link than the latest, if both use it. */
static const double ADVANTAGE = 0.25;

struct tutti_flows {
    tutti_fabric net;
    tutti_max_min shares;
    double *latency; /* for each route: its latency */
    double *ends;    /* for each route: time of its end with the present shares; INFINITY: it has none yet. Bytes are
                      * updated when shares are computed */
    tutti_due_heap next; /* heap of the flows by their ends; each entry is an index into shares.active */
    double now;
    double found_s;  /* time at which shares were last computed */
    double left_s;   /* mean remaining seconds of the messages under way at found_s */
    double find_by;  /* time at which to compute shares anew; INFINITY: all messages under way have shares */
    int32_t *loaded; /* for each link: number of flows under way on it */
    int64_t first;   /* index of the flow that ends first, and that time; INFINITY: none ends with the present shares */
    double first_s;
    int64_t ended;                                /* a message that has ended and was not taken yet; -1 = none */
    bool prefers;                                 /* true if messages that began earlier get larger shares */
    int64_t *after, *before, oldest, youngest, n; /* doubly linked list of routes, sorted by the time at which their
                                                   * messages began; -1 = none */
};

tutti_flows *tutti_flows_create(const tutti_topology *t, int32_t nranks, const tutti_flow_route *routes, int64_t n)
{
    tutti_flows *f = tutti_alloc(sizeof *f);
    tutti_flow *flows = tutti_alloc((size_t)n * sizeof *flows);
    tutti_topology_graph(t, nranks, &f->net);
    for (int64_t i = 0; i < n; i++)
        flows[i] = (tutti_flow){.src = routes[i].src, .dst = routes[i].dst, .channel = routes[i].channel};
    tutti_max_min_begin(t, &f->net, flows, n, &f->shares);
    tutti_max_min_charge_incast(t, &f->net, &f->shares);
    f->latency = tutti_alloc((size_t)n * sizeof *f->latency);
    f->ends = tutti_alloc((size_t)n * sizeof *f->ends);
    f->after = tutti_alloc((size_t)n * sizeof *f->after);
    f->before = tutti_alloc((size_t)n * sizeof *f->before);
    f->oldest = f->youngest = -1;
    f->loaded = tutti_alloc((size_t)f->net.nlinks * sizeof *f->loaded);
    f->first_s = f->find_by = INFINITY;
    f->found_s = -INFINITY;
    f->ended = -1;
    for (int64_t i = 0; i < n; i++) {
        f->latency[i] = f->shares.first[i + 1] > f->shares.first[i] ? t->figure[TUTTI_FIGURE_SOFTWARE] : 0;
        for (int64_t h = f->shares.first[i]; h < f->shares.first[i + 1]; h++)
            f->latency[i] += f->net.links[f->shares.hops[h]].latency_s;
    }
    free(flows);
    return f;
}

void tutti_flows_destroy(tutti_flows *f)
{
    if (!f) return;
    tutti_max_min_release(&f->shares);
    tutti_fabric_release(&f->net);
    tutti_due_heap_release(&f->next);
    free(f->loaded);
    free(f->latency);
    free(f->ends);
    free(f->after);
    free(f->before);
    free(f);
}

double tutti_flows_latency(const tutti_flows *f, int64_t route)
{
    return f->latency[route];
}

void tutti_flows_prefer_earlier(tutti_flows *f)
{
    f->prefers = true;
}

static void take_in(tutti_flows *f, int64_t route)
{
    f->before[route] = f->youngest;
    f->after[route] = -1;
    if (f->youngest >= 0)
        f->after[f->youngest] = route;
    else
        f->oldest = route;
    f->youngest = route;
    f->n++;
}

static void let_out(tutti_flows *f, int64_t route)
{
    const int64_t before = f->before[route], after = f->after[route];
    if (before >= 0)
        f->after[before] = after;
    else
        f->oldest = after;
    if (after >= 0)
        f->before[after] = before;
    else
        f->youngest = before;
    f->n--;
}

/* Makes shares be computed anew, at most GRAIN * after_s after the last time. */
static void change(tutti_flows *f, double after_s)
{
    f->find_by = fmin(f->find_by, fmax(f->now, f->found_s + GRAIN * after_s));
}

/* Adds `more` flows (or removes them) on the links of a route; returns the seconds that `bytes` take if each link is
 * shared evenly. */
static double load(tutti_flows *f, int64_t route, int32_t more, double bytes)
{
    double slowest = 0;
    for (int64_t h = f->shares.first[route]; h < f->shares.first[route + 1]; h++) {
        const int32_t link = f->shares.hops[h];
        f->loaded[link] += more;
        slowest = fmax(slowest, f->loaded[link] / f->net.links[link].bytes_per_s);
    }
    return slowest * bytes;
}

bool tutti_flows_send(tutti_flows *f, int64_t route, double bytes, double now)
{
    f->now = fmax(f->now, now);
    if (bytes <= 0 || !tutti_max_min_add(&f->shares, route, fmax(bytes, 2 * CRUMB))) return false;
    take_in(f, route);
    f->ends[route] = INFINITY;
    change(f, load(f, route, 1, bytes));
    return true;
}

static void find_first(tutti_flows *f)
{
    f->first_s = f->next.n ? f->next.at[0].when : INFINITY;
    if (f->next.n) f->first = f->shares.active[f->next.at[0].of];
}

static void weigh(tutti_flows *f)
{
    int64_t younger = f->n - 1;
    for (int64_t i = f->oldest; i >= 0; i = f->after[i], younger--)
        f->shares.weight[i] = 1 + (f->n > 1 ? ADVANTAGE * (double)younger / (double)(f->n - 1) : 0);
}

static void find_shares(tutti_flows *f)
{
    tutti_max_min *s = &f->shares;
    double left_s = 0;
    for (int64_t k = 0; k < s->nactive; k++) {
        const int64_t i = s->active[k];
        if (s->rest[i] > 0 && f->ends[i] < INFINITY) s->rest[i] = fmax(CRUMB / 2, (f->ends[i] - f->now) * s->share[i]);
    }
    if (f->prefers) weigh(f);
    tutti_max_min_find(&f->net, s);
    tutti_due_heap_reserve(&f->next, s->nactive);
    for (int64_t k = 0; k < s->nactive; k++) {
        const int64_t i = s->active[k];
        f->ends[i] = f->now + (s->rest[i] < CRUMB ? 0 : s->rest[i] / s->share[i]);
        f->next.at[k] = (tutti_due){f->ends[i], k};
        left_s += f->ends[i] - f->now;
    }
    tutti_due_heap_order(&f->next, s->nactive);
    find_first(f);
    f->found_s = f->now;
    f->find_by = INFINITY;
    f->left_s = s->nactive ? left_s / (double)s->nactive : 0;
}

bool tutti_flows_end_by(tutti_flows *f, double by)
{
    if (by <= f->now) return f->ended >= 0;
    while (f->ended < 0) {
        const bool ends_now = f->first_s <= f->now; /* the next message to end does so now and needs no new shares */
        if (f->now >= f->find_by && !ends_now) find_shares(f);
        const double until = ends_now ? f->first_s : fmin(f->first_s, f->find_by);
        if (until > by || until == INFINITY) return false;
        f->now = fmax(f->now, until);
        if (until == f->first_s) f->ended = f->first;
    }
    return true;
}

int64_t tutti_flows_take(tutti_flows *f, double *arrives)
{
    const int64_t route = f->ended;
    *arrives = f->now + f->latency[route];
    f->shares.rest[route] = 0;
    let_out(f, route);
    load(f, route, -1, 0);
    f->ended = -1;
    if (f->n) change(f, f->left_s);
    tutti_due_heap_drop(&f->next);
    find_first(f);
    return route;
}
