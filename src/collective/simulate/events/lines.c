/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c: the time of an exchange as a straight line over sizes: a fixed part, and a part that grows with the bytes.
 * The line needs one simulation at a size where all slices are whole; a host, whose caches hold small vectors, needs
 * two. */
#include "flows.h"

#include <math.h>

#include "../../compile/algorithms.h"
#include "../simulate_impl.h"
#include "token_buckets.h"

static const int64_t FIRST_GUESS = 1 << 20; /* elements of a rank at the first simulation: a power of two, so that in
                                             * most schedules all slices are whole */

/* Refuses a schedule if the parts of nseen ranks have too many steps to simulate. The steps are counted in the compiled
 * parts; lowered parts have as many or more. */
static tutti_status check_steps(const tutti_schedule *s, int32_t nseen, tutti_failure *err)
{
    const int32_t nranks = tutti_schedule_head(s)->nranks;
    const int64_t nsteps = tutti_compile_steps(s) / nranks * nseen;
    if (nsteps <= TUTTI_LINE_STEPS) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "simulate: %s between %d ranks has about %lld million steps, more than the %d million that are "
                      "simulated; choose an algorithm with fewer messages",
                      tutti_schedule_head(s)->algorithm, nranks, (long long)(nsteps >> 20), TUTTI_LINE_STEPS >> 20);
}

static double elements_at(int size)
{
    return TUTTI_LINE_SMALLEST * exp2((double)size / TUTTI_LINE_DOUBLES);
}

/* Returns the time that shaped links save at n elements. */
static double saved_at(const tutti_time_line *line, double n)
{
    int k = 0;
    while (k < TUTTI_LINE_SIZES && elements_at(k) < n) k++;
    if (k == TUTTI_LINE_SIZES) return line->saved_s[k - 1];
    const double below = k ? elements_at(k - 1) : 0, least_s = k ? line->saved_s[k - 1] : 0;
    return least_s + (line->saved_s[k] - least_s) * (n - below) / (elements_at(k) - below);
}

/* Simulates at a size at which all slices are whole. */
static tutti_status find_part(const tutti_schedule *s, const tutti_topology *t, tutti_time_line_part *out,
                              double *bytes_an_element, double saved_s[TUTTI_LINE_SIZES], tutti_failure *err)
{
    const int32_t nseen = tutti_traffic_alike(s);
    int64_t n = FIRST_GUESS * tutti_schedule_head(s)->nranks;
    tutti_traffic traffic;
    tutti_lower lower;
    tutti_status st = tutti_simulate_seen(&(tutti_playing){s, t, n}, nseen, &out->at, &lower, &traffic, err);
    if (!st && traffic.unit && n % traffic.unit) {
        n = (n / traffic.unit + 1) * traffic.unit;
        tutti_traffic_release(&traffic);
        tutti_token_buckets_destroy(lower.buckets);
        st = tutti_simulate_seen(&(tutti_playing){s, t, n}, nseen, &out->at, &lower, &traffic, err);
    }
    *bytes_an_element = traffic.footprint / (double)n;
    tutti_traffic_release(&traffic);
    out->elements = (double)n;
    out->least_s = lower.least_s, out->wait_s = lower.wait_s;
    out->link_s = lower.link_s, out->work_s = lower.work_s;
    for (int k = 0; k < TUTTI_LINE_SIZES && lower.buckets; k++)
        saved_s[k] = tutti_token_buckets_saved(lower.buckets, elements_at(k) / (double)n);
    tutti_token_buckets_destroy(lower.buckets);
    return st;
}

tutti_status tutti_simulate_line(const tutti_schedule *s, const tutti_topology *t, tutti_time_line *out,
                                 tutti_failure *err)
{
    tutti_topology caches = *t;
    double bytes_an_element = 0;
    tutti_status st = tutti_simulate_fits(tutti_schedule_head(s), t, err);
    if (!st) st = check_steps(s, tutti_traffic_alike(s), err);
    *out = (tutti_time_line){.turn = INFINITY};
    if (st) return st;
    if (t->kind != TUTTI_TOPOLOGY_HOST) return find_part(s, t, &out->below, &bytes_an_element, out->saved_s, err);
    caches.figure[TUTTI_FIGURE_CACHE] = INFINITY;
    st = find_part(s, &caches, &out->below, &bytes_an_element, out->saved_s, err);
    caches.figure[TUTTI_FIGURE_CACHE] = -1;
    if (!st) st = find_part(s, &caches, &out->above, &bytes_an_element, out->saved_s, err);
    if (bytes_an_element > 0) out->turn = t->figure[TUTTI_FIGURE_CACHE] / bytes_an_element;
    return st;
}

void tutti_time_line_at(const tutti_time_line *line, int64_t n, tutti_simulation *out)
{
    const tutti_time_line_part *p = (double)n <= line->turn ? &line->below : &line->above;
    const double part = (double)n / p->elements;
    *out = p->at;
    out->transfer_s = p->at.transfer_s * part - saved_at(line, (double)n);
    out->local_s = p->at.local_s * part;
    out->seconds = out->latency_s + out->transfer_s + out->local_s;
    out->lower_s = fmax(p->least_s, fmax(p->wait_s + p->link_s * part, p->work_s * part));
    out->busy_s = fmax(0, out->lower_s - p->wait_s);
    out->bytes_most = (int64_t)((double)p->at.bytes_most * part);
    out->bytes_sent = (int64_t)((double)p->at.bytes_sent * part);
    out->bottleneck_busy = out->bottleneck >= 0 && out->seconds > 0 ? fmin(1, out->busy_s / out->seconds) : 0;
}
