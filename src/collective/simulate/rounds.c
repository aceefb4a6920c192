/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.c: the round evaluator: stage by stage, messages share links max-min fairly (water filling). The share of a
 * message that ends goes to the others, until the fullest link decides when the stage ends. With one channel per pair
 * and no collisions this is exact; a barrier ends each stage, which is pessimistic. `lower` is rigorous for the
 * schedule: the bytes of the fullest link at its full rate, or the work of the busiest core. */
#include <math.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "events/max_min.h"
#include "events/token_buckets.h"
#include "simulate_impl.h"

/* Flows that end within this fraction of the time so far end together, so that a stage takes a bounded number of
 * solutions. */
static const double GRAIN = 0.05;
/* Shares are not computed again if that could change the end by less than this fraction of the time. */
static const double FINE = 1e-3;

/* Returns when the last flow ends if the shares stay; *least: a lower bound of that time, in which the fullest link can
 * send the remaining bytes at its full rate. */
static double last_end(const tutti_fabric *net, int64_t nflows, tutti_max_min *f, double *least)
{
    double last = 0;
    for (int32_t i = 0; i < f->nused; i++) f->left[f->used[i]] = 0;
    for (int64_t i = 0; i < nflows; i++) {
        last = fmax(last, f->rest[i] / f->share[i]);
        for (int64_t h = f->first[i]; h < f->first[i + 1]; h++) f->left[f->hops[h]] += f->rest[i];
    }
    *least = 0;
    for (int32_t i = 0; i < f->nused; i++)
        *least = fmax(*least, f->left[f->used[i]] / net->links[f->used[i]].bytes_per_s);
    return last;
}

/* Advances to the next ends of flows with the present shares; returns the time until then. */
static double flows_advance(int64_t nflows, double now, tutti_max_min *f)
{
    double next = INFINITY, step = 0;
    for (int64_t i = 0; i < nflows; i++)
        if (f->rest[i] > 0) next = fmin(next, f->rest[i] / f->share[i]);
    const double until = fmax(next * (1 + FINE), GRAIN * now);
    for (int64_t i = 0; i < nflows; i++)
        if (f->rest[i] / f->share[i] <= until) step = fmax(step, f->rest[i] / f->share[i]);
    for (int64_t i = 0; i < nflows; i++)
        f->rest[i] = f->rest[i] / f->share[i] <= until ? 0 : f->rest[i] - f->share[i] * step;
    return step;
}

/* Returns true if no two flows share a link: then each has the rate of its narrowest link, and nothing need be
 * solved. */
static bool flows_are_apart(const tutti_fabric *net, int64_t nflows, tutti_max_min *f, double *end_s)
{
    int64_t looked = 0;
    bool apart = true;
    *end_s = 0;
    for (; looked < nflows && apart; looked++) {
        double rate = INFINITY;
        for (int64_t h = f->first[looked]; h < f->first[looked + 1] && f->rest[looked] > 0; h++) {
            apart &= !f->waiting[f->hops[h]]++;
            const double own = net->links[f->hops[h]].bytes_per_s;
            rate = own < rate ? own : rate;
        }
        const double end = f->rest[looked] / rate;
        *end_s = end > *end_s ? end : *end_s;
    }
    for (int64_t h = 0; h < f->first[looked] && !apart; h++) f->waiting[f->hops[h]] = 0;
    return apart;
}

/* Returns when the last flow ends. When flows end, the others get their shares anew, until that no longer changes the
 * result. */
static double flows_end(const tutti_fabric *net, int64_t nflows, tutti_max_min *f)
{
    double now = 0, least;
    if (flows_are_apart(net, nflows, f, &now)) return now;
    now = 0;
    while (tutti_max_min_find(net, f)) {
        double last = last_end(net, nflows, f, &least);
        if (last <= least + FINE * (now + last)) return now + last;
        now += flows_advance(nflows, now, f);
    }
    return now;
}

tutti_filled tutti_rounds_fill(const tutti_topology *t, const tutti_fabric *net, const tutti_flow *flows,
                               int64_t nflows, double *load)
{
    tutti_max_min f;
    tutti_filled out = {0, 0, INFINITY, 0};
    tutti_max_min_begin(t, net, flows, nflows, &f);
    for (int64_t i = 0; i < nflows; i++) /* leaves out flows over no links: their bytes stay where they are */
        if (flows[i].bytes > 0) tutti_max_min_add(&f, i, (double)flows[i].bytes);
    for (int64_t i = 0; i < nflows; i++) {
        double latency = 0;
        for (int64_t h = f.first[i]; h < f.first[i + 1]; h++) {
            load[f.hops[h]] += (double)flows[i].bytes;
            latency += net->links[f.hops[h]].latency_s;
        }
        out.most_latency_s = latency > out.most_latency_s ? latency : out.most_latency_s;
        out.least_latency_s = latency < out.least_latency_s ? latency : out.least_latency_s;
    }
    out.end_s = flows_end(net, nflows, &f);
    tutti_max_min_release(&f);
    return out;
}

/* Returns the busy time of the link that is busiest over all stages together. */
static double link_bound(const tutti_fabric *net, const double *load, tutti_simulation *out)
{
    double longest = 0;
    for (int32_t l = 0; l < net->nlinks; l++) {
        double seconds = load[l] / net->links[l].bytes_per_s;
        if (seconds > longest) longest = seconds, out->bottleneck = l, out->bytes_most = (int64_t)load[l];
    }
    return longest;
}

tutti_stage_work tutti_stage_work_of(const tutti_traffic *traffic, int32_t stage)
{
    tutti_stage_work out = {0, 0};
    for (int32_t r = 0; r < traffic->nseen; r++) {
        const tutti_work *w = &traffic->work[(size_t)stage * (size_t)traffic->nseen + (size_t)r];
        int32_t handled = w->sent > w->received ? w->sent : w->received;
        out.messages = handled > out.messages ? handled : out.messages;
        out.most_s = fmax(out.most_s, w->core_s);
    }
    return out;
}

/* Returns the work of the busiest rank over all stages. */
static double longest_work(const tutti_traffic *traffic)
{
    double longest = 0;
    for (int32_t r = 0; r < traffic->nseen; r++) {
        double work = 0;
        for (int32_t stage = 0; stage < traffic->nstages; stage++)
            work += traffic->work[(size_t)stage * (size_t)traffic->nseen + (size_t)r].core_s;
        longest = fmax(longest, work);
    }
    return longest;
}

/* Returns the bytes of the rank that sends most. Only the parts of ranks 0 .. nseen - 1 were collected; every other
 * rank sends as much as one of these. */
static int64_t most_sent(const tutti_traffic *traffic)
{
    int64_t most = 0, *sent = tutti_alloc((size_t)traffic->nseen * sizeof *sent);
    for (int64_t i = 0; i < traffic->nflows; i++) {
        int64_t *of_src = &sent[traffic->flows[i].src % traffic->nseen];
        *of_src += traffic->flows[i].bytes;
        if (*of_src > most) most = *of_src;
    }
    free(sent);
    return most;
}

static tutti_status network_evaluate(const tutti_traffic *traffic, const tutti_topology *t, const tutti_fabric *net,
                                     tutti_simulation *out, tutti_lower *lower, tutti_failure *err)
{
    const double soft = t->figure[TUTTI_FIGURE_SOFTWARE], work_s = longest_work(traffic);
    double least_wire = INFINITY, *load = tutti_alloc((size_t)net->nlinks * sizeof *load);
    tutti_stages stages;
    const tutti_status st = tutti_stages_solve(traffic, t, net, load, &stages, err);
    for (int32_t stage = 0; stage < traffic->nstages && !st; stage++) {
        const tutti_stage_work own = tutti_stage_work_of(traffic, stage);
        if (stages.kind[stage] >= 0) {
            const tutti_filled *filled = &stages.kinds[stages.kind[stage]].filled;
            least_wire = fmin(least_wire, filled->least_latency_s);
            out->nrounds++;
            out->fan_in = filled->fan_in > out->fan_in ? filled->fan_in : out->fan_in;
            out->latency_s += filled->most_latency_s + soft * own.messages;
            out->transfer_s += filled->end_s;
        }
        out->local_s += own.most_s;
    }
    out->bytes_sent = most_sent(traffic);
    *lower = (tutti_lower){.link_s = link_bound(net, load, out),
                           .work_s = work_s,
                           .buckets = st ? NULL : tutti_token_buckets_create(traffic, t, net, &stages)};
    /* buckets of shaped links fill while ranks wait, so with them the wait is no part of the lower bound */
    if (out->nrounds && !lower->buckets) lower->wait_s = least_wire + soft;
    out->lower_s = fmax(out->nrounds ? lower->wait_s + lower->link_s : 0, work_s);
    out->busy_s = fmax(0, out->lower_s - lower->wait_s);
    tutti_stages_release(&stages);
    free(load);
    return st;
}

static void host_evaluate(const tutti_traffic *traffic, const tutti_topology *t, tutti_simulation *out,
                          tutti_lower *lower)
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
    out->bytes_sent = out->bytes_most;
    *lower =
        (tutti_lower){.least_s = out->nrounds ? t->figure[TUTTI_FIGURE_LATENCY] : 0, .work_s = fmax(busiest, memory)};
    out->lower_s = fmax(lower->least_s, lower->work_s);
    out->busy_s = out->lower_s;
    free(total);
    free(core);
    free(rank_bytes);
}

/* Checks that ranks which a lowered schedule lets into each other's memory are of one host of the topology. */
static tutti_status maps_check(const tutti_schedule_header *head, const tutti_topology *t, tutti_failure *err)
{
    int32_t *sits = tutti_alloc((size_t)head->nranks * sizeof *sits),
            *first = tutti_alloc((size_t)head->nranks * sizeof *first);
    tutti_status st = TUTTI_OK;
    tutti_topology_hosts(t, head->nranks, sits);
    for (int32_t r = head->nranks - 1; r >= 0; r--) first[head->host_of ? head->host_of[r] : 0] = r;
    for (int32_t r = 0; r < head->nranks && !st; r++) {
        int32_t other = first[head->host_of ? head->host_of[r] : 0];
        if (sits[r] != sits[other])
            st = tutti_fail(
                err, TUTTI_ERR_USAGE,
                "simulate: in this %s schedule ranks %d and %d map each other's memory, on this %s they do not",
                tutti_wire_class_name(head->wire), other, r, tutti_topology_kind_name(t->kind));
    }
    free(sits), free(first);
    return st;
}

tutti_status tutti_simulate_fits(const tutti_schedule_header *head, const tutti_topology *t, tutti_failure *err)
{
    bool mapped = head->wire == TUTTI_WIRE_MAPPED;
    tutti_status st = tutti_topology_fits(t, head->nranks, err);
    if (st) return st;
    if (t->kind == TUTTI_TOPOLOGY_HOST && !mapped)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "simulate: a %s schedule does not run on a host (lower it for mapped memory)",
                          tutti_wire_class_name(head->wire));
    return mapped || head->wire == TUTTI_WIRE_MIXED ? maps_check(head, t, err) : TUTTI_OK;
}

tutti_status tutti_simulate_seen(const tutti_playing *p, int32_t nseen, tutti_simulation *out, tutti_lower *lower,
                                 tutti_traffic *traffic, tutti_failure *err)
{
    const tutti_topology *t = p->topology;
    const int32_t nranks = tutti_schedule_head(p->schedule)->nranks;
    tutti_fabric net = {0};
    tutti_status st = TUTTI_OK;
    tutti_traffic_collect(p->schedule, t, p->n, nseen, traffic);
    *out = (tutti_simulation){.bottleneck = -1, .nmessages = traffic->nmessages};
    if (t->kind == TUTTI_TOPOLOGY_HOST) {
        host_evaluate(traffic, t, out, lower);
    } else {
        tutti_topology_graph(t, nranks, &net);
        st = network_evaluate(traffic, t, &net, out, lower, err);
        tutti_fabric_release(&net);
    }
    out->seconds = out->latency_s + out->transfer_s + out->local_s;
    if (out->bottleneck >= 0) {
        tutti_topology_link_name(t, nranks, out->bottleneck, out->bottleneck_name);
        out->bottleneck_busy = out->seconds > 0 ? fmin(1, out->busy_s / out->seconds) : 0;
    }
    return st;
}

tutti_status tutti_simulate_schedule(const tutti_schedule *s, const tutti_topology *t, int64_t n, tutti_simulation *out,
                                     tutti_failure *err)
{
    tutti_traffic traffic;
    tutti_lower lower;
    tutti_status st = tutti_simulate_fits(tutti_schedule_head(s), t, err);
    if (st) return st;
    const int32_t nranks = tutti_schedule_head(s)->nranks, nseen = tutti_traffic_alike(s);
    st = tutti_simulate_seen(&(tutti_playing){s, t, n}, nseen, out, &lower, &traffic, err);
    const bool all_seen =
        /* at an n that is no multiple of the unit the slices of ranks differ by an element, so every rank must be
         * simulated */
        nseen == nranks || (traffic.unit && n % traffic.unit == 0);
    tutti_traffic_release(&traffic);
    if (!st && !all_seen) {
        tutti_token_buckets_destroy(lower.buckets);
        st = tutti_simulate_seen(&(tutti_playing){s, t, n}, nranks, out, &lower, &traffic, err);
        tutti_traffic_release(&traffic);
    }
    if (!st && lower.buckets) {
        out->transfer_s -= tutti_token_buckets_saved(lower.buckets, 1);
        out->seconds = out->latency_s + out->transfer_s + out->local_s;
    }
    tutti_token_buckets_destroy(lower.buckets);
    return st;
}
