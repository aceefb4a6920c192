/* SPDX-License-Identifier: Apache-2.0 */
/* choose_sizes.c: finds the fastest algorithm of each of several sizes, from one simulation of each schedule. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../events/flows.h"
#include "../simulate_impl.h"
#include "choose_impl.h"

/* Returns true if many ranks send to all others at once: such a schedule is seldom the fastest, and takes longest to
 * simulate. */
static bool has_too_many(const tutti_contender *c)
{
    enum { MOST_SEEN = 1 << 19, MOST_AT_A_TIME = 1 << 19 };
    const int32_t nranks = tutti_schedule_head(c->compiled)->nranks;
    tutti_part part;
    int32_t last = 0;
    if (c->nsteps / nranks * tutti_traffic_alike(c->compiled) > MOST_SEEN) return true;
    tutti_schedule_part(c->compiled, 0, &part);
    for (int32_t i = 0; i < part.nsteps; i++)
        if (part.steps[i].stage > last) last = part.steps[i].stage;
    const int64_t at_a_time = (int64_t)part.nsteps / (last + 1) * nranks;
    tutti_part_release(&part);
    return at_a_time > MOST_AT_A_TIME;
}

/* Fills candidate `at` of the choice for each size, all from one line (flows.h). */
static void take_line(const tutti_contender *from, int at, const int64_t *n, int nsizes, const tutti_topology *t,
                      tutti_choice *out)
{
    tutti_time_line line;
    tutti_failure err = {0};
    tutti_status st = from->compiled ? TUTTI_OK : tutti_fail(&err, TUTTI_ERR_USAGE, "%s", from->refusal);
    if (!st) st = tutti_simulate_line(from->lowered ? from->lowered : from->compiled, t, &line, &err);
    for (int i = 0; i < nsizes; i++) {
        tutti_choice *choice = &out[i];
        tutti_candidate *c = &choice->candidates[at];
        memcpy(c->algorithm, from->algorithm, sizeof c->algorithm);
        c->skipped = from->too_many;
        c->can = !st;
        snprintf(c->refusal, sizeof c->refusal, "%.199s", err.text);
        if (st) continue;
        tutti_time_line_at(&line, n[i], &c->sim);
        if (from->most_fan_in && c->sim.fan_in > from->most_fan_in) {
            c->can = false;
            snprintf(c->refusal, sizeof c->refusal, "%d ranks send to one at a time, and at most %d may", c->sim.fan_in,
                     from->most_fan_in);
        } else if (choice->best < 0 || tutti_is_faster(c->sim.seconds, choice->candidates[choice->best].sim.seconds)) {
            choice->best = at;
        }
    }
}

void tutti_choose_sizes(const tutti_policy *policy, const tutti_compile_request *request, const int64_t *n, int nsizes,
                        const tutti_topology *t, tutti_choice *out)
{
    tutti_contenders *all = tutti_alloc(sizeof *all);
    tutti_contenders_open(policy, 0, request, t, all);
    for (int i = 0; i < nsizes; i++) out[i] = (tutti_choice){.best = -1, .ncandidates = all->n};
    for (int k = 0; k < all->n; k++) {
        tutti_contender *c = &all->list[k];
        const bool skipped = policy->is_brief && c->compiled && has_too_many(c);
        tutti_schedule *compiled = c->compiled;
        if (skipped) c->compiled = NULL, c->too_many = true;
        take_line(c, k, n, nsizes, t, out);
        c->compiled = compiled;
    }
    for (int i = 0; i < nsizes && !policy->is_brief; i++)
        tutti_simulate_bounds(request->collective, request->nranks, n[i], t, &out[i].bounds);
    tutti_contenders_close(all);
    free(all);
}
