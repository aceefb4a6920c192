/* SPDX-License-Identifier: Apache-2.0 */
/* stepping.c: creates and releases a stepping, which plays steps, and a stand-in, which plays some actions in another
 * thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/clock.h"
#include "step_impl.h"

static int find_param(const tutti_graph *g, const char *name)
{
    for (int p = 0; p < g->nparams; p++)
        if (!strcmp(g->params[p].name, name)) return p;
    return -1;
}

tutti_stepping tutti_stepping_begin(tutti_group *group, const tutti_train_config *config)
{
    const tutti_graph *g = config->plan->graph;
    tutti_stepping s = {.group = group,
                        .config = config,
                        .plan = config->plan,
                        .device = config->device,
                        .rank = tutti_group_rank(group),
                        .nranks = tutti_group_nranks(group),
                        .loss = find_param(g, "@loss"),
                        .correct = find_param(g, "@correct"),
                        .stop = find_param(g, "@stop"),
                        .scale = tutti_loss_scale_begin(&config->loss_scale),
                        .last_loss = (double)NAN};
    tutti_account_begin(&s.account, config->began_ns ? config->began_ns : tutti_clock_ns());
    return s;
}

static tutti_status prepare_loops(const tutti_stepping *s, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int d = 0; d < TUTTI_NDRIVERS; d++)
        for (int i = 0; i < s->plan->loops[d].nactions && !st; i++) {
            const tutti_action_row *row = tutti_action_row_of(s->plan->loops[d].actions[i].kind);
            st = tutti_step_prepare_loop(s->device, row->loop, row->words, err);
            if (!st) st = tutti_step_prepare_loop(s->device, row->statistics, row->words, err);
        }
    return st;
}

tutti_status tutti_stepping_make(tutti_stepping *s, tutti_failure *err)
{
    const tutti_plan *p = s->plan;
    s->groups = tutti_groups_make(s->config);
    tutti_status st = tutti_step_prepare(s->device, s->config->update.rule, err);
    if (!st) st = prepare_loops(s, err);
    if (!st) st = tutti_shared_create(s->group, s->device, p, s->config->dir != NULL, &s->shared, err);
    if (!st) st = tutti_staging_make(s->device, p->my_nsamples, &p->graph->model->input, &s->staging, err);
    if (!st && s->device->bring) st = tutti_staging_make_ahead(&s->staging, err);
    return st ? st : tutti_beside_create(s, err);
}

tutti_status tutti_stepping_load(tutti_stepping *s, tutti_failure *err)
{
    const tutti_loader_config config = {.data = s->config->train,
                                        .seed = s->config->seed,
                                        .batch = s->plan->config.batch,
                                        .first = s->plan->my_first_sample,
                                        .n = s->plan->my_nsamples,
                                        .first_step = s->step,
                                        .end_step = s->config->nsteps,
                                        .nthreads = s->config->data_threads,
                                        .deal = s->visits ? tutti_visits_deal : NULL,
                                        .deal_arg = s->visits};
    return tutti_ahead_begin(s, &config, err);
}

void tutti_stepping_release(tutti_stepping *s)
{
    tutti_ahead_end(s);
    tutti_visits_destroy(s->visits);
    tutti_shared_destroy(&s->shared);
    tutti_beside_destroy(s);
    tutti_staging_release(&s->staging);
    free(s->groups);
}

tutti_stepping tutti_stepping_stand_in(const tutti_stepping *own, tutti_visits *visits)
{
    tutti_stepping s = {.group = own->group,
                        .config = own->config,
                        .plan = own->plan,
                        .device = own->device,
                        .rank = own->rank,
                        .nranks = own->nranks,
                        .shared = own->shared,
                        .groups = own->groups,
                        .scale = own->scale,
                        .earlier_updates = own->earlier_updates,
                        .first_step = own->first_step,
                        .visits = visits};
    tutti_account_begin(&s.account, tutti_clock_ns());
    return s;
}

float *tutti_step_answer(const tutti_stepping *s)
{
    return tutti_shared_vector(&s->shared, s->plan->answer, 0);
}
