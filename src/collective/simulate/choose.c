/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c: the chooser: compile, lower, simulate, compare. */
#include "choose.h"

#include <stdio.h>

#include "../compile/compile.h"

static tutti_status candidate_simulate(const tutti_compile_request *request, int64_t n, const tutti_topology *t,
                                       tutti_candidate *c, tutti_failure *err)
{
    tutti_schedule *compiled = NULL, *lowered = NULL;
    tutti_status status = tutti_schedule_compile(c->algorithm, request, &compiled, err);
    bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    if (!status && host) status = tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, &lowered, err);
    if (!status) status = tutti_simulate_schedule(host ? lowered : compiled, t, n, &c->sim, err);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(compiled);
    return status;
}

void tutti_choose_algorithm(const tutti_compile_request *request, int64_t n, const tutti_topology *t, tutti_choice *out)
{
    *out = (tutti_choice){.best = -1};
    for (int i = 0; i < tutti_algorithm_count() && i < TUTTI_MAX_CANDIDATES; i++) {
        tutti_candidate *c = &out->candidates[out->ncandidates];
        tutti_failure err = {0};
        c->algorithm = tutti_algorithm_at(i)->name;
        c->can = candidate_simulate(request, n, t, c, &err) == TUTTI_OK;
        snprintf(c->refusal, sizeof c->refusal, "%.199s", err.text);
        tutti_simulate_closed_form(c->algorithm, request->collective, request->nranks, 0, n, t, &c->form);
        if (c->can && (out->best < 0 || c->sim.seconds < out->candidates[out->best].sim.seconds))
            out->best = out->ncandidates;
        out->ncandidates++;
    }
    tutti_simulate_bounds(request->collective, request->nranks, n, t, &out->bounds);
}
