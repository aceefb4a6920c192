/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c: the chooser: compile, lower, simulate, compare. */
#include "choose.h"

#include <stdio.h>
#include <string.h>

#include "../compile/compile.h"

static tutti_status candidate_simulate(const tutti_compile_request *request, int64_t n, const tutti_topology *t,
                                       tutti_candidate *c, tutti_failure *err)
{
    tutti_schedule *compiled = NULL, *lowered = NULL;
    tutti_status status = tutti_schedule_compile(c->algorithm, request, &compiled, err);
    if (!status) memcpy(c->algorithm, tutti_schedule_head(compiled)->algorithm, sizeof c->algorithm);
    bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    if (!status && host) status = tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, &lowered, err);
    if (!status) status = tutti_simulate_schedule(host ? lowered : compiled, t, n, &c->sim, err);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(compiled);
    return status;
}

static bool is_known(const tutti_choice *choice, const char *algorithm)
{
    for (int i = 0; i < choice->ncandidates; i++)
        if (!strcmp(choice->candidates[i].algorithm, algorithm)) return true;
    return false;
}

/* variant: parameters, NULL = what stands initially. A variant that is no other or cannot be had is left out. */
static void candidate_add(const tutti_compile_request *request, int64_t n, const tutti_topology *t,
                          const tutti_algorithm *a, const char *variant, tutti_choice *out)
{
    if (out->ncandidates == TUTTI_MAX_CANDIDATES) return;
    tutti_candidate c = {0};
    tutti_failure err = {0};
    snprintf(c.algorithm, sizeof c.algorithm, "%s%s%s", a->name, variant ? "," : "", variant ? variant : "");
    c.can = candidate_simulate(request, n, t, &c, &err) == TUTTI_OK;
    if (variant && (!c.can || is_known(out, c.algorithm))) return;
    snprintf(c.refusal, sizeof c.refusal, "%.199s", err.text);
    tutti_simulate_closed_form(c.algorithm, request->collective, request->nranks, n, t, &c.form);
    if (c.can && (out->best < 0 || c.sim.seconds < out->candidates[out->best].sim.seconds))
        out->best = out->ncandidates;
    out->candidates[out->ncandidates++] = c;
}

void tutti_choose_algorithm(const tutti_compile_request *request, int64_t n, const tutti_topology *t, tutti_choice *out)
{
    tutti_compile_request q = *request;
    q.topology = t;
    *out = (tutti_choice){.best = -1};
    for (int i = 0; i < tutti_algorithm_count(); i++) {
        const tutti_algorithm *a = tutti_algorithm_at(i);
        candidate_add(&q, n, t, a, NULL, out);
        for (int v = 0; a->variants[v]; v++) candidate_add(&q, n, t, a, a->variants[v], out);
    }
    tutti_simulate_bounds(request->collective, request->nranks, n, t, &out->bounds);
}
