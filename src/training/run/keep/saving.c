/* SPDX-License-Identifier: Apache-2.0 */
/* saving.c: when a run saves, and what: the vectors of a checkpoint as the plan holds them, written by rank 0, or by every rank where each
 * has vectors of its own. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../../base/clock.h"
#include "../step/sparsity.h"
#include "../train_impl.h"
#include "checkpoint_impl.h"

/* What is tested, saved and handed on. */
float *tutti_saving_answer(const tutti_trainer *t)
{
    return tutti_shared_vector(&t->shared, t->plan->answer, 0);
}

tutti_checkpoint tutti_saving_of(const tutti_trainer *t)
{
    const tutti_plan *p = t->plan;
    tutti_checkpoint c = {.headway = tutti_group_headway(t->group),
                          .step = t->step,
                          .cursor = t->step * p->config.batch,
                          .loss = t->last_loss,
                          .scale = t->scale,
                          .earlier_updates = t->earlier_updates,
                          .job_text = t->config->job_text,
                          .model_text = t->config->model_text,
                          .data_text = t->config->data_text,
                          .costs_text = p->costs_text,
                          .plan_hash = tutti_plan_hash(p),
                          .nranks = t->nranks,
                          .params = p->graph->params,
                          .nparams = p->graph->nparams,
                          .offset = p->param_offset,
                          .weights = tutti_saving_answer(t),
                          .rank = t->rank};
    tutti_relus_skips(p->graph, c.skips);
    for (int m = 0; m < p->nmemories; m++) {
        const tutti_plan_memory *what = &p->memories[m];
        const bool is_state = what->role == TUTTI_ROLE_STATE || what->role == TUTTI_ROLE_CENTRE;
        float *values = what->is_saved && m != p->answer ? tutti_shared_vector(&t->shared, m, 0) : NULL;
        if (values && what->differs) {
            c.own[c.nown++] = (tutti_checkpoint_own){what->name, is_state, values};
        } else if (values && is_state) {
            c.state_name[c.nstates] = what->name;
            c.state[c.nstates++] = values;
        }
    }
    return c;
}

/* The run ends if its folder was removed, renamed or replaced: another run may have taken the name, and what this one writes would be lost. */
tutti_status tutti_saving_check_folder(tutti_trainer *t, tutti_failure *err)
{
    t->looked_s = tutti_clock_s();
    if (tutti_start_holds(t->start, t->config->dir)) return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_ERR_FAILED,
        "%s: was removed, renamed or replaced during the run (its lock is gone), which ends with step %" PRId64
        "; put the folder back and give the command again, or use another --out",
        t->config->dir, t->step);
}

/* Rank 0's clock counts; the others hear of it as they hear of a signal. Where visits are recorded, or go by a record, all meet at steps that the
 * record knows. */
bool tutti_saving_is_wished(const tutti_trainer *t)
{
    const tutti_train_config *c = t->config;
    return t->rank == 0 && c->dir && !c->pretended && !c->record && !c->replay && c->checkpoint_every_s > 0 &&
           tutti_clock_s() - t->saved_s >= c->checkpoint_every_s;
}

bool tutti_saving_is_due(const tutti_trainer *t, int64_t step)
{
    const tutti_train_config *c = t->config;
    const int64_t every = c->checkpoint_every_steps ? c->checkpoint_every_steps : c->steps_per_epoch;
    return c->dir && !c->pretended && (step == c->nsteps || t->asked_to_stop || t->asked_to_save || step % every == 0);
}

/* Every rank writes what is its own into the folder that rank 0 has made; *files: of all of them, the caller frees. */
static tutti_status save_own(tutti_trainer *t, const tutti_checkpoint *c, tutti_checkpoint_file **files, int *nfiles,
                             tutti_failure *err)
{
    enum { MOST = TUTTI_RULE_MAX_STATES + 1 };
    tutti_checkpoint_file mine[MOST] = {0}, *all = tutti_alloc(sizeof mine * (size_t)t->nranks);
    char none = 0, *told = tutti_alloc((size_t)t->nranks);
    tutti_status st = t->rank == 0 ? tutti_saving_check_folder(t, err) : TUTTI_OK;
    if (!st && t->rank == 0) st = tutti_checkpoint_prepare(t->config->dir, c, err);
    if (!st) st = tutti_group_all_gather(t->group, "checkpoint", &none, told, 1, err);
    if (!st) st = tutti_checkpoint_write_own(t->config->dir, c, mine, err);
    if (!st) st = tutti_group_all_gather(t->group, "checkpoint", mine, all, sizeof mine, err);
    for (int r = 0; r < t->nranks && !st; r++)
        for (int i = 0; i < c->nown; i++) all[(*nfiles)++] = all[r * MOST + i];
    free(told);
    *files = all;
    return st;
}

/* The other ranks go on while rank 0 writes: what it writes is its own, or nobody changes it before rank 0 says so or asks again. */
tutti_status tutti_saving_save(tutti_trainer *t, tutti_failure *err)
{
    const tutti_checkpoint there = tutti_saving_of(t);
    tutti_checkpoint_file *files = NULL;
    int nfiles = 0;
    bool is_bad = false;
    tutti_status st = tutti_step_play_between(t, TUTTI_EACH_SAVE, err);
    const bool writes = t->rank == 0 || there.nown;
    tutti_checkpoint c = writes ? tutti_lent_borrow(t, &there) : there;
    if (writes) tutti_group_long_phase_begin(t->group, "writes a checkpoint", "bytes of a file");
    if (!st) st = tutti_diverge_before_saving(t, &c, &is_bad, err);
    if (!st && c.nown && !is_bad) st = save_own(t, &c, &files, &nfiles, err);
    if (!st && t->rank == 0 && !is_bad) {
        st = tutti_saving_check_folder(t, err);
        if (!st) st = tutti_checkpoint_write(t->config->dir, &c, files, nfiles, t->config->checkpoint_keep, err);
        if (!st) tutti_report_saved(t);
    }
    if (writes) tutti_lent_give_back(t, &there, &c, false);
    if (writes) tutti_group_long_phase_end(t->group);
    if (!st && t->visits)
        st = tutti_group_barrier(t->group, "checkpoint", err); /* what is written is what all change */
    free(files);
    t->asked_to_save = false;
    t->saved_s = tutti_clock_s();
    tutti_did(&t->account, TUTTI_DID_SAVE, 0);
    return st;
}
