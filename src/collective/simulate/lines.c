/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c: one simulation where all slices are whole, or two on a host, whose caches hold small vectors. */
#include "lines.h"

#include <math.h>

#include "../compile/algorithms.h"
#include "credit.h"
#include "simulate_impl.h"

static const int64_t FIRST_GUESS =
    1 << 20; /* elements of a rank: most units divide their product with a power of two */

/* Steps that are looked at: those of the compiled parts, of which a lowered one has as many or more. */
static tutti_status check_steps(const tutti_schedule *s, int32_t nseen, tutti_failure *err)
{
    const int32_t nranks = tutti_schedule_head(s)->nranks;
    const int64_t nsteps = tutti_compile_steps(s) / nranks * nseen;
    if (nsteps <= TUTTI_LINE_STEPS) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "simulate: %s between %d ranks has about %lld million steps, more than the %d million that are "
                      "looked at; take an "
                      "algorithm of fewer messages",
                      tutti_schedule_head(s)->algorithm, nranks, (long long)(nsteps >> 20), TUTTI_LINE_STEPS >> 20);
}

/* At a multiple of what all slices are whole of. */
static tutti_status find_part(const tutti_schedule *s, const tutti_topology *t, tutti_time_line_part *out,
                              double *bytes_an_element, tutti_failure *err)
{
    const int32_t nseen = tutti_traffic_alike(s);
    int64_t n = FIRST_GUESS * tutti_schedule_head(s)->nranks;
    tutti_traffic traffic;
    tutti_lower lower;
    tutti_status st = tutti_simulate_seen(s, t, n, nseen, &out->at, &lower, &traffic, err);
    if (!st && traffic.unit && n % traffic.unit) {
        n = (n / traffic.unit + 1) * traffic.unit;
        tutti_traffic_release(&traffic);
        st = tutti_simulate_seen(s, t, n, nseen, &out->at, &lower, &traffic, err);
    }
    *bytes_an_element = traffic.footprint / (double)n;
    tutti_traffic_release(&traffic);
    out->elements = (double)n;
    out->least_s = lower.least_s, out->wait_s = lower.wait_s;
    out->link_s = lower.link_s, out->work_s = lower.work_s;
    return st;
}

tutti_status tutti_simulate_line(const tutti_schedule *s, const tutti_topology *t, tutti_time_line *out,
                                 tutti_failure *err)
{
    tutti_topology caches = *t;
    double bytes_an_element = 0;
    tutti_status st = tutti_simulate_fits(tutti_schedule_head(s), t, err);
    if (!st) st = check_steps(s, tutti_traffic_alike(s), err);
    *out = (tutti_time_line){.turn = INFINITY, .credit_s = tutti_credit_begin(t).most_s};
    if (st) return st;
    if (t->kind != TUTTI_TOPOLOGY_HOST) return find_part(s, t, &out->below, &bytes_an_element, err);
    caches.figure[TUTTI_FIGURE_CACHE] = INFINITY;
    st = find_part(s, &caches, &out->below, &bytes_an_element, err);
    caches.figure[TUTTI_FIGURE_CACHE] = -1;
    if (!st) st = find_part(s, &caches, &out->above, &bytes_an_element, err);
    if (bytes_an_element > 0) out->turn = t->figure[TUTTI_FIGURE_CACHE] / bytes_an_element;
    return st;
}

void tutti_time_line_at(const tutti_time_line *line, int64_t n, tutti_simulation *out)
{
    const tutti_time_line_part *p = (double)n <= line->turn ? &line->below : &line->above;
    const double part = (double)n / p->elements;
    *out = p->at;
    out->transfer_s = p->at.transfer_s * part;
    out->local_s = p->at.local_s * part;
    out->seconds = out->latency_s + out->transfer_s + out->local_s;
    tutti_credit_take(line->credit_s, out);
    out->lower_s = fmax(p->least_s, fmax(p->wait_s + p->link_s * part, p->work_s * part));
    out->busy_s = fmax(0, out->lower_s - p->wait_s);
    out->bytes_most = (int64_t)((double)p->at.bytes_most * part);
    out->bytes_sent = (int64_t)((double)p->at.bytes_sent * part);
    out->bottleneck_busy = out->bottleneck >= 0 && out->seconds > 0 ? fmin(1, out->busy_s / out->seconds) : 0;
}
