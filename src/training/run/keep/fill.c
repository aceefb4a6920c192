/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c: the weights that a run begins with: drawn, of somebody else (init_start.c), or of its own checkpoint. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../step/sparsity.h"
#include "../train_impl.h"
#include "checkpoint_impl.h"

static void init_new(const tutti_trainer *t, float *weights)
{
    const tutti_graph *g = t->plan->graph;
    for (int p = 0; p < g->nparams; p++) {
        if (g->params[p].layer < 0) continue;
        tutti_graph_init_param(&g->params[p], t->config->seed, weights + t->plan->param_offset[p]);
    }
}

/* A memory that all touch is rank 0's to fill: another rank fills the weights of its own, which begin alike. States of its own that no
 * checkpoint holds can begin at others', too. */
static void fit_to_fill(const tutti_trainer *t, bool is_new, tutti_checkpoint *c)
{
    const bool is_anothers = t->rank != 0 && t->plan->memories[t->plan->answer].is_common;
    if (is_anothers) c->weights = tutti_shared_of_role(&t->shared, TUTTI_ROLE_WEIGHTS, 0);
    if (is_anothers) c->nstates = 0;
    for (int m = 0; m < t->plan->nmemories && is_new; m++) {
        const tutti_plan_memory *what = &t->plan->memories[m];
        if (what->role != TUTTI_ROLE_STATE || what->is_saved) continue;
        c->state_name[c->nstates] = what->name;
        c->state[c->nstates++] = tutti_shared_vector(&t->shared, m, 0);
    }
}

/* Workers that were as many go on as they were; others begin at the answer, with states of zeros. */
static tutti_status read_own(tutti_trainer *t, const char *path, const tutti_checkpoint *there, tutti_failure *err)
{
    bool found = true;
    if (!there->nown) return TUTTI_OK;
    tutti_checkpoint c = tutti_lent_borrow(t, there);
    c.nranks = t->nranks;
    const tutti_status st = tutti_checkpoint_read_own(path, &c, &found, err);
    tutti_lent_give_back(t, there, &c, true);
    if (st || found) return st;
    char *note =
        tutti_checkpoint_path("resuming with another number of ranks: each begins with the %s, and its rule anew",
                              t->plan->memories[t->plan->answer].name);
    tutti_report_note(t, note);
    free(note);
    return TUTTI_OK;
}

static tutti_status init_resumed(tutti_trainer *t, const char *path, tutti_checkpoint *c, tutti_failure *err)
{
    tutti_status st = tutti_checkpoint_read(path, c, err);
    if (st) return st;
    if (c->cursor % t->plan->config.batch || c->cursor / t->plan->config.batch != c->step)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: step %" PRId64 " and sample %" PRId64 " do not go together", path,
                          c->step, c->cursor);
    t->step = t->logged_step = c->step;
    t->last_loss = c->loss;
    t->earlier_updates = c->earlier_updates;
    if (!tutti_relus_set_skips(t->plan->graph, c->skips))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: passes that skip zeros are of another network", path);
    if (t->config->loss_scale.dynamic)
        t->scale = c->scale;
    else
        t->scale.skipped = c->scale.skipped;
    return TUTTI_OK;
}

static tutti_status fill(tutti_trainer *t, tutti_start *start, const tutti_checkpoint *there, tutti_failure *err)
{
    tutti_checkpoint c = tutti_lent_borrow(t, there);
    tutti_status st = TUTTI_OK;
    if (start->path) {
        st = init_resumed(t, start->path, &c, err);
    } else {
        init_new(t, c.weights);
        st = tutti_start_fill(t->group, t->config, start, &c, err);
        t->earlier_updates = c.earlier_updates;
    }
    tutti_lent_give_back(t, there, &c, true);
    return st;
}

tutti_status tutti_fill_weights(tutti_trainer *t, tutti_start *start, tutti_checkpoint *c, tutti_failure *err)
{
    fit_to_fill(t, !start->path, c);
    if (start->path) tutti_group_long_phase_begin(t->group, "reads its checkpoint", "bytes of a file");
    tutti_status st = fill(t, start, c, err);
    if (start->path) tutti_group_long_phase_end(t->group);
    char *weights = (char *)tutti_shared_of_role(&t->shared, TUTTI_ROLE_WEIGHTS, 0), *from = (char *)c->weights;
    if (weights != from)
        t->device->copy(t->device, &weights, 1, from, (size_t)t->plan->nweights * sizeof(float), false);
    return st || !start->path ? st : read_own(t, start->path, c, err);
}
