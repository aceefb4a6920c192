/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.c: the round evaluator: stage by stage, messages share links max-min fairly (water filling), shares are not
 * solved again within a stage. Without collisions this is exact; with them it is pessimistic, since freed bandwidth is not
 * handed on and a barrier ends each stage. `lower` is rigorous for the schedule: the bytes of the fullest link at its full
 * rate, or the work of the busiest core. */
#include <math.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "simulate_impl.h"

typedef struct {
    double *left;     /* capacity that no fixed flow has taken, a link */
    int64_t *waiting; /* flows without a share yet, a link */
    double *share;    /* a flow; 0 = none yet */
} filling;

static void filling_start(const tutti_flow *flows, int64_t nflows, const tutti_topology *t, int32_t nranks, filling *f)
{
    int32_t links[TUTTI_MAX_HOPS], nlinks = tutti_topology_nlinks(t, nranks);
    f->left = tutti_alloc((size_t)nlinks * sizeof *f->left);
    f->waiting = tutti_alloc((size_t)nlinks * sizeof *f->waiting);
    f->share = tutti_alloc((size_t)nflows * sizeof *f->share);
    for (int32_t l = 0; l < nlinks; l++) f->left[l] = tutti_topology_link(t, nranks, l).bytes_per_s;
    for (int64_t i = 0; i < nflows; i++) {
        int hops = tutti_topology_route(t, flows[i].src, flows[i].dst, flows[i].channel, links);
        for (int h = 0; h < hops; h++) f->waiting[links[h]]++;
    }
}

/* Smallest equal share that any link can still give. */
static double level_find(const filling *f, int32_t nlinks)
{
    double level = INFINITY;
    for (int32_t l = 0; l < nlinks; l++)
        if (f->waiting[l] > 0 && f->left[l] / (double)f->waiting[l] < level) level = f->left[l] / (double)f->waiting[l];
    return level;
}

/* Gives `level` to the flows through links that have no more than that for each; returns how many. */
static int64_t level_fix(const tutti_flow *flows, int64_t nflows, const tutti_topology *t, double level, filling *f)
{
    int32_t links[TUTTI_MAX_HOPS];
    int64_t fixed = 0;
    const double limit = level * (1 + 1e-12);
    for (int64_t i = 0; i < nflows; i++) {
        if (f->share[i] > 0) continue;
        int hops = tutti_topology_route(t, flows[i].src, flows[i].dst, flows[i].channel, links);
        bool full = false;
        for (int h = 0; h < hops; h++) full |= f->left[links[h]] / (double)f->waiting[links[h]] <= limit;
        if (full) f->share[i] = -level, fixed++; /* negative: counted below, so that one level is one state */
    }
    for (int64_t i = 0; i < nflows; i++) {
        if (f->share[i] >= 0) continue;
        int hops = tutti_topology_route(t, flows[i].src, flows[i].dst, flows[i].channel, links);
        f->share[i] = level;
        for (int h = 0; h < hops; h++) {
            f->left[links[h]] -= level;
            f->waiting[links[h]]--;
        }
    }
    return fixed;
}

double tutti_rounds_fill(const tutti_flow *flows, int64_t nflows, const tutti_topology *t, int32_t nranks, double *load)
{
    filling f;
    int32_t links[TUTTI_MAX_HOPS], nlinks = tutti_topology_nlinks(t, nranks);
    filling_start(flows, nflows, t, nranks, &f);
    for (int64_t left = nflows; left > 0;) left -= level_fix(flows, nflows, t, level_find(&f, nlinks), &f);
    double end = 0;
    for (int64_t i = 0; i < nflows; i++) {
        int hops = tutti_topology_route(t, flows[i].src, flows[i].dst, flows[i].channel, links);
        for (int h = 0; h < hops; h++) load[links[h]] += (double)flows[i].bytes;
        end = fmax(end, (double)flows[i].bytes / f.share[i]);
    }
    free(f.left);
    free(f.waiting);
    free(f.share);
    return end;
}

/* The fullest link of all stages together. */
static double link_bound(const tutti_topology *t, int32_t nranks, const double *load, tutti_simulation *out)
{
    double longest = 0;
    for (int32_t l = 0; l < tutti_topology_nlinks(t, nranks); l++) {
        double seconds = load[l] / tutti_topology_link(t, nranks, l).bytes_per_s;
        if (seconds > longest) longest = seconds, out->bottleneck = l, out->bytes_most = (int64_t)load[l];
    }
    return longest;
}

static void star_evaluate(const tutti_traffic *traffic, const tutti_topology *t, tutti_simulation *out)
{
    int32_t p = traffic->nranks;
    double wire = t->figure[TUTTI_FIGURE_LATENCY], soft = t->figure[TUTTI_FIGURE_SOFTWARE], longest_work = 0;
    double *load = tutti_alloc((size_t)tutti_topology_nlinks(t, p) * sizeof *load);
    double *work = tutti_alloc((size_t)p * sizeof *work);
    int64_t at = 0;
    for (int32_t stage = 0; stage < traffic->nstages; stage++) {
        int64_t end = at;
        while (end < traffic->nflows && traffic->flows[end].stage == stage) end++;
        double most = 0;
        int32_t messages = 0; /* that one rank sends, or receives: its core handles one after the other */
        for (int32_t r = 0; r < p; r++) {
            const tutti_work *w = &traffic->work[(size_t)stage * (size_t)p + (size_t)r];
            int32_t handled = w->sent > w->received ? w->sent : w->received;
            messages = handled > messages ? handled : messages;
            work[r] += w->core_s;
            most = fmax(most, w->core_s);
            longest_work = fmax(longest_work, work[r]);
        }
        if (end > at) {
            out->nrounds++;
            out->latency_s += wire + soft * messages;
            out->transfer_s += tutti_rounds_fill(traffic->flows + at, end - at, t, p, load);
        }
        out->local_s += most;
        at = end;
    }
    double longest_link = link_bound(t, p, load, out);
    out->lower_s = fmax(out->nrounds ? wire + soft + longest_link : 0, longest_work);
    free(load);
    free(work);
}

static void host_evaluate(const tutti_traffic *traffic, const tutti_topology *t, tutti_simulation *out)
{
    int32_t p = traffic->nranks, ncores = tutti_topology_nlinks(t, p) - 1;
    bool cached = traffic->footprint <= t->figure[TUTTI_FIGURE_CACHE];
    double latency = tutti_simulate_host_latency(t, p), memory = 0, busiest = 0;
    double *total = tutti_alloc((size_t)ncores * sizeof *total), *core = tutti_alloc((size_t)ncores * sizeof *core);
    double *rank_bytes = tutti_alloc((size_t)p * sizeof *rank_bytes);
    for (int32_t stage = 0; stage < traffic->nstages; stage++) {
        double bytes = 0, most = 0;
        for (int32_t c = 0; c < ncores; c++) core[c] = 0;
        for (int32_t r = 0; r < p; r++) {
            const tutti_work *work = &traffic->work[(size_t)stage * (size_t)p + (size_t)r];
            core[r % ncores] += work->core_s + (cached ? work->recall_s : 0);
            bytes += work->traffic;
            rank_bytes[r] += work->traffic;
            out->bytes_most = (int64_t)fmax((double)out->bytes_most, rank_bytes[r]);
        }
        for (int32_t c = 0; c < ncores; c++) {
            most = fmax(most, core[c]);
            total[c] += core[c];
            if (total[c] > busiest) busiest = total[c], out->bottleneck = c;
        }
        double through_memory = cached ? 0 : bytes / t->figure[TUTTI_FIGURE_BANDWIDTH];
        memory += through_memory;
        out->local_s += fmax(most, through_memory);
        out->latency_s += traffic->waits[stage] ? latency : 0;
        out->nrounds += traffic->waits[stage];
    }
    if (memory > busiest) out->bottleneck = ncores;
    out->lower_s = fmax(out->nrounds ? t->figure[TUTTI_FIGURE_LATENCY] : 0, fmax(busiest, memory));
    free(total);
    free(core);
    free(rank_bytes);
}

tutti_status tutti_simulate_schedule(const tutti_schedule *s, const tutti_topology *t, int64_t n, tutti_simulation *out,
                                     tutti_failure *err)
{
    const tutti_schedule_header *head = tutti_schedule_head(s);
    bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    if (host ? head->wire != TUTTI_WIRE_MAPPED : head->wire == TUTTI_WIRE_MAPPED)
        return tutti_fail(err, TUTTI_ERR_USAGE, "simulate: a %s schedule does not run on a %s (%s)",
                          tutti_wire_class_name(head->wire), host ? "host" : "star",
                          host ? "lower it for mapped memory" : "hosts of a star map no memory of each other");
    tutti_traffic traffic;
    tutti_traffic_collect(s, t, n, &traffic);
    *out = (tutti_simulation){.bottleneck = -1, .nmessages = traffic.nmessages};
    if (host)
        host_evaluate(&traffic, t, out);
    else
        star_evaluate(&traffic, t, out);
    out->seconds = out->latency_s + out->transfer_s + out->local_s;
    if (out->bottleneck >= 0) {
        tutti_topology_link_name(t, head->nranks, out->bottleneck, out->bottleneck_name);
        double waiting = t->figure[TUTTI_FIGURE_LATENCY] + t->figure[TUTTI_FIGURE_SOFTWARE];
        double busy = fmax(0, out->lower_s - (host || !out->nrounds ? 0 : waiting));
        out->bottleneck_busy = out->seconds > 0 ? fmin(1, busy / out->seconds) : 0;
    }
    tutti_traffic_release(&traffic);
    return TUTTI_OK;
}
