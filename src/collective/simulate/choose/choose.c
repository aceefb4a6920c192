/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c: the chooser of algorithms: compiles, lowers and simulates schedules, and compares their times. */
#include "choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "choose_impl.h"

void tutti_choose_by(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request, int64_t n,
                     const tutti_topology *t, tutti_choice *out)
{
    tutti_contenders *all = tutti_alloc(sizeof *all);
    tutti_contenders_open(policy, most_steps, request, t, all);
    *out = (tutti_choice){.best = -1, .ncandidates = all->n};
    for (int i = 0; i < all->n; i++) {
        tutti_candidate *c = &out->candidates[i];
        tutti_failure err = {0};
        memcpy(c->algorithm, all->list[i].algorithm, sizeof c->algorithm);
        c->skipped = all->list[i].too_many;
        c->can = tutti_contender_simulate(&all->list[i], t, n, &c->sim, &err) == TUTTI_OK;
        snprintf(c->refusal, sizeof c->refusal, "%.199s", err.text);
        tutti_simulate_closed_form(c->algorithm, request->collective, request->nranks, n, t, &c->form);
        if (c->can && (out->best < 0 || tutti_is_faster(c->sim.seconds, out->candidates[out->best].sim.seconds)))
            out->best = i;
    }
    tutti_contenders_close(all);
    free(all);
    tutti_simulate_bounds(request->collective, request->nranks, n, t, &out->bounds);
}

void tutti_choose_algorithm(const tutti_compile_request *request, int64_t n, const tutti_topology *t, tutti_choice *out)
{
    tutti_choose_by(tutti_policy_at(0), TUTTI_CHOOSE_STEPS, request, n, t, out);
}

bool tutti_choice_ties(const tutti_choice *choice, int i)
{
    if (choice->best < 0 || !choice->candidates[i].can) return false;
    const double best = choice->candidates[choice->best].sim.seconds, own = choice->candidates[i].sim.seconds;
    return !tutti_is_faster(best, own) && !tutti_is_faster(own, best);
}
