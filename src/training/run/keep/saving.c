/* SPDX-License-Identifier: Apache-2.0 */
/* saving.c: decides when a run saves a checkpoint, and which vectors go into it. Rank 0 writes what all ranks have;
 * every rank writes vectors that only it has. A thread of rank 0 writes beside the training (writing.c), except where
 * ranks have vectors of their own: their files need an answer of every rank before the manifest is written. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../../base/clock.h"
#include "../step/sparsity.h"
#include "keep.h"

static bool is_state(const tutti_plan_memory *m)
{
    return m->role == TUTTI_ROLE_STATE || m->role == TUTTI_ROLE_CENTRE;
}

tutti_saved_kind tutti_saving_kind(const tutti_plan *p, int memory)
{
    const tutti_plan_memory *what = &p->memories[memory];
    if (memory == p->answer) return TUTTI_SAVED_ANSWER;
    if (!what->is_saved) return TUTTI_SAVED_NOT;
    return what->differs ? TUTTI_SAVED_OWN : is_state(what) ? TUTTI_SAVED_STATE : TUTTI_SAVED_NOT;
}

tutti_checkpoint tutti_saving_of(const tutti_stepping *s)
{
    const tutti_plan *p = s->plan;
    tutti_checkpoint c = {.headway = tutti_group_headway(s->group),
                          .step = s->step,
                          .cursor = s->step * p->config.batch,
                          .loss = s->last_loss,
                          .scale = s->scale,
                          .earlier_updates = s->earlier_updates,
                          .job_text = s->config->job_text,
                          .model_text = s->config->model_text,
                          .data_text = s->config->data_text,
                          .costs_text = p->costs_text,
                          .plan_hash = tutti_plan_hash(p),
                          .nranks = s->nranks,
                          .params = p->graph->params,
                          .nparams = p->graph->nparams,
                          .offset = p->param_offset,
                          .weights = tutti_step_answer(s),
                          .rank = s->rank};
    tutti_relus_skips(p->graph, c.skips, sizeof c.skips);
    for (int m = 0; m < p->nmemories; m++) {
        const tutti_plan_memory *what = &p->memories[m];
        const tutti_saved_kind kind = tutti_saving_kind(p, m);
        const bool has_values = kind == TUTTI_SAVED_OWN || kind == TUTTI_SAVED_STATE;
        float *values = has_values ? tutti_shared_vector(&s->shared, m, 0) : NULL;
        if (values && kind == TUTTI_SAVED_OWN) {
            c.own[c.nown++] = (tutti_checkpoint_own){what->name, is_state(what), values};
        } else if (values) {
            c.state_name[c.nstates] = what->name;
            c.state[c.nstates++] = values;
        }
    }
    return c;
}

int64_t tutti_saving_bytes(const tutti_plan *p)
{
    int64_t copy = 0, file = 0;
    bool have_own = false;
    for (int m = 0; m < p->nmemories; m++) {
        const tutti_plan_memory *what = &p->memories[m];
        const tutti_saved_kind kind = tutti_saving_kind(p, m);
        const int64_t nbytes = tutti_plan_memory_bytes(what) / what->copies;
        if (kind == TUTTI_SAVED_ANSWER) file = nbytes;
        if (kind == TUTTI_SAVED_ANSWER || kind == TUTTI_SAVED_STATE) copy += nbytes;
        have_own = have_own || kind == TUTTI_SAVED_OWN;
    }
    return file + (have_own ? 0 : copy);
}

/* The run ends if its folder was removed, renamed or replaced: another run may have taken the name, and whatever this
 * run writes would be lost. */
tutti_status tutti_saving_check_folder(tutti_keeping *k, const tutti_stepping *s, tutti_failure *err)
{
    k->looked_s = tutti_clock_s();
    if (tutti_start_holds(&k->start, s->config->dir)) return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_ERR_FAILED,
        "%s: was removed, renamed or replaced during the run (its lock is gone), which ends with step %" PRId64
        "; put the folder back and give the command again, or use another --out",
        s->config->dir, s->step);
}

/* True if rank 0's clock asks for a checkpoint. The other ranks learn of it as they learn of a signal. False if visits
 * are recorded or follow a record: then all ranks must meet at the steps that the record has. */
bool tutti_saving_is_wished(const tutti_keeping *k, const tutti_stepping *s)
{
    const tutti_train_config *c = s->config;
    return s->rank == 0 && c->dir && !c->pretended && !c->record && !c->replay && c->checkpoint_every_minutes > 0 &&
           tutti_clock_s() - k->saved_s >= 60 * c->checkpoint_every_minutes;
}

bool tutti_saving_is_due(const tutti_stepping *s, int64_t step)
{
    const tutti_train_config *c = s->config;
    const int64_t every = c->checkpoint_every_steps ? c->checkpoint_every_steps : c->steps_per_epoch;
    return c->dir && !c->pretended && (step == c->nsteps || s->asked_to_stop || s->asked_to_save || step % every == 0);
}

/* Every rank writes its own vectors into the folder that rank 0 has made; *files: the files of all ranks, the caller
 * frees it. */
static tutti_status save_own(tutti_keeping *k, const tutti_stepping *s, const tutti_checkpoint *c,
                             tutti_checkpoint_file **files, int *nfiles, tutti_failure *err)
{
    enum { MOST = TUTTI_RULE_MAX_STATES + 1 };
    tutti_checkpoint_file mine[MOST] = {0}, *all = tutti_alloc(sizeof mine * (size_t)s->nranks);
    char none = 0, *told = tutti_alloc((size_t)s->nranks);
    tutti_status st = s->rank == 0 ? tutti_saving_check_folder(k, s, err) : TUTTI_OK;
    if (!st && s->rank == 0) st = tutti_checkpoint_prepare(s->config->dir, c, err);
    if (!st) st = tutti_group_all_gather(s->group, "checkpoint", &none, told, 1, err);
    if (!st) st = tutti_checkpoint_write_own(s->config->dir, c, mine, err);
    if (!st) st = tutti_group_all_gather(s->group, "checkpoint", mine, all, sizeof mine, err);
    for (int r = 0; r < s->nranks && !st; r++)
        for (int i = 0; i < c->nown; i++) all[(*nfiles)++] = all[r * MOST + i];
    free(told);
    *files = all;
    return st;
}

/* True if this checkpoint is the last: then no step follows during which a thread could write it. */
static bool is_last(const tutti_stepping *s)
{
    return s->step >= s->config->nsteps || s->asked_to_stop;
}

void tutti_saving_begin(const tutti_stepping *s, tutti_saving *out)
{
    *out = (tutti_saving){.there = tutti_saving_of(s)};
    out->writes = s->rank == 0 || out->there.nown;
    out->lent = out->writes ? tutti_lent_borrow(s, &out->there) : out->there;
    if (out->writes) tutti_group_long_phase_begin(s->group, "writes a checkpoint", "bytes of a file");
}

/* The other ranks go on while rank 0 writes or copies. This is safe: either the vectors are rank 0's own, or no rank
 * changes them before rank 0 takes part in the next exchange. */
tutti_status tutti_saving_write(tutti_keeping *k, const tutti_stepping *s, tutti_saving *saving, tutti_failure *err)
{
    const tutti_checkpoint *c = &saving->lent;
    tutti_checkpoint_file *files = NULL;
    int nfiles = 0;
    tutti_status st = c->nown ? save_own(k, s, c, &files, &nfiles, err) : TUTTI_OK;
    if (!st && s->rank == 0) st = tutti_saving_check_folder(k, s, err);
    const bool may_be_beside = k->writing && !c->nown && !is_last(s);
    saving->is_beside = !st && may_be_beside && tutti_writing_start(k->writing, saving);
    if (!st && s->rank == 0 && !saving->is_beside)
        st = tutti_checkpoint_write(s->config->dir, c, files, nfiles, s->config->checkpoint_keep, err);
    free(files);
    return st;
}

void tutti_saving_end(const tutti_stepping *s, tutti_saving *saving)
{
    if (!saving->writes) return;
    if (!saving->is_beside || s->device->shares_host) tutti_lent_give_back(s, &saving->there, &saving->lent, false);
    tutti_group_long_phase_end(s->group);
}
