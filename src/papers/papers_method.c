/* SPDX-License-Identifier: Apache-2.0 */
/* papers_method.c: computes our figure for a published one, by one row for each way of computing.
 *
 * schedule-rounds counts stages with messages in the compiled schedule of that many ranks, which is the schedule that
 * would run. seconds-ratio sweeps sizes. The least certain figure is always the baseline's latency, so seconds-ratio
 * also computes with half and with double the assumed latency. */
#include <math.h>
#include <string.h>

#include "../collective/simulate/simulate.h"
#include "papers.h"
#include "tutti/compile.h"

static tutti_status topology_of(const tutti_paper_figure *f, tutti_topology *out, tutti_failure *err)
{
    return tutti_topology_parse(f->topology ? f->topology : "star", out, err);
}

static tutti_status no_form(const char *algorithm, const tutti_paper_figure *f, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_USAGE, "no closed form for an allreduce by '%s' over %lld ranks", algorithm,
                      (long long)f->ranks);
}

static tutti_status schedule_rounds(tutti_paper_figure *f, tutti_failure *err)
{
    const tutti_compile_request request = {
        .collective = TUTTI_ALLREDUCE, .nranks = (int32_t)f->ranks, .in_place = true};
    tutti_schedule *schedule = NULL;
    tutti_simulation sim = {0};
    tutti_topology t;
    tutti_status st = topology_of(f, &t, err);
    if (!st) st = tutti_schedule_compile(f->algorithm, &request, &schedule, err);
    if (!st) st = tutti_simulate_schedule(schedule, &t, f->ranks, &sim, err);
    tutti_schedule_destroy(schedule);
    f->lo = f->hi = sim.nrounds;
    return st;
}

static tutti_status closed_form_steps(tutti_paper_figure *f, tutti_failure *err)
{
    tutti_closed_form form;
    tutti_topology t;
    tutti_status st = topology_of(f, &t, err);
    if (st) return st;
    if (!tutti_simulate_closed_form(f->algorithm, TUTTI_ALLREDUCE, (int32_t)f->ranks, 1, &t, &form))
        return no_form(f->algorithm, f, err);
    f->lo = f->hi = (double)form.nsteps;
    return TUTTI_OK;
}

static tutti_status seconds_ratio(tutti_paper_figure *f, tutti_failure *err)
{
    tutti_topology t;
    tutti_status st = topology_of(f, &t, err);
    if (st) return st;
    f->lo = INFINITY, f->hi = 0;
    for (int i = 0; i < f->bytes.n; i++)
        for (double factor = 0.5; factor <= 2; factor *= 2) {
            tutti_topology other = t;
            tutti_closed_form ours, baseline;
            int64_t n = (int64_t)f->bytes.values[i] / TUTTI_ELEMENT_BYTES;
            int32_t p = (int32_t)f->ranks;
            other.figure[TUTTI_FIGURE_LATENCY] *= factor;
            if (!tutti_simulate_closed_form(f->algorithm, TUTTI_ALLREDUCE, p, n, &t, &ours))
                return no_form(f->algorithm, f, err);
            if (!tutti_simulate_closed_form(f->baseline ? f->baseline : "", TUTTI_ALLREDUCE, p, n, &other, &baseline))
                return no_form(f->baseline ? f->baseline : "", f, err);
            f->lo = fmin(f->lo, baseline.seconds / ours.seconds);
            f->hi = fmax(f->hi, baseline.seconds / ours.seconds);
        }
    return f->bytes.n ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_USAGE, "seconds-ratio needs 'bytes', a list of sizes");
}

static const struct {
    const char *name;
    tutti_status (*compute)(tutti_paper_figure *f, tutti_failure *err);
} methods[] = {
    {"schedule-rounds", schedule_rounds},
    {"closed-form-steps", closed_form_steps},
    {"seconds-ratio", seconds_ratio},
};
enum { NMETHODS = sizeof methods / sizeof methods[0] };

tutti_status tutti_paper_compute(tutti_paper_figure *f, tutti_failure *err)
{
    const char *known[NMETHODS];
    for (int i = 0; i < NMETHODS; i++) {
        known[i] = methods[i].name;
        if (!strcmp(methods[i].name, f->method)) return methods[i].compute(f, err);
    }
    const char *nearest = tutti_options_nearest(f->method, known, NMETHODS);
    return tutti_fail(err, TUTTI_ERR_USAGE, "no method '%s'%s%s", f->method, nearest ? "; did you mean " : "",
                      nearest ? nearest : "");
}
