/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c: fills the weights that a run begins with: with random values, with weights of other files (init_start.c), or
 * from the run's own checkpoint. */
#include <inttypes.h>
#include <stdlib.h>

#include "../step/sparsity.h"
#include "keep.h"

static void init_new(const tutti_stepping *s, float *weights)
{
    const tutti_graph *g = s->plan->graph;
    for (int p = 0; p < g->nparams; p++) {
        if (g->params[p].layer < 0) continue;
        tutti_graph_init_param(&g->params[p], s->config->seed, weights + s->plan->param_offset[p]);
    }
}

/* Makes c name the vectors that this rank fills. If all ranks share the plan's answer (the weights that are tested and
 * saved), rank 0 fills it, and each other rank fills only its own weights, with equal values. In a new run, c also
 * names states that no checkpoint holds. */
static void fit_to_fill(const tutti_stepping *s, bool is_new, tutti_checkpoint *c)
{
    const bool is_anothers = s->rank != 0 && s->plan->memories[s->plan->answer].is_common;
    if (is_anothers) c->weights = tutti_shared_of_role(&s->shared, TUTTI_ROLE_WEIGHTS, 0);
    if (is_anothers) c->nstates = 0;
    for (int m = 0; m < s->plan->nmemories && is_new; m++) {
        const tutti_plan_memory *what = &s->plan->memories[m];
        if (what->role != TUTTI_ROLE_STATE || what->is_saved) continue;
        c->state_name[c->nstates] = what->name;
        c->state[c->nstates++] = tutti_shared_vector(&s->shared, m, 0);
    }
}

/* If the checkpoint was written by as many ranks as this run has, each rank continues with its own vectors. Otherwise
 * each rank begins at the plan's answer (the weights that are tested and saved), with states of zeros. */
static tutti_status read_own(tutti_stepping *s, const char *path, const tutti_checkpoint *there, tutti_failure *err)
{
    bool found = true;
    if (!there->nown) return TUTTI_OK;
    tutti_checkpoint c = tutti_lent_borrow(s, there);
    c.nranks = s->nranks;
    const tutti_status st = tutti_checkpoint_read_own(path, &c, &found, err);
    tutti_lent_give_back(s, there, &c, true);
    if (st || found) return st;
    char *note =
        tutti_checkpoint_path("resuming with another number of ranks: each begins with the %s, and its rule anew",
                              s->plan->memories[s->plan->answer].name);
    if (s->rank == 0) tutti_start_say(s->config, TUTTI_TRAIN_NOTE, note);
    free(note);
    return TUTTI_OK;
}

/* Takes over step, loss and loss scale of the checkpoint or copy from which the run continues. */
static tutti_status take_numbers(tutti_stepping *s, const char *from, const tutti_checkpoint *c, tutti_failure *err)
{
    s->step = c->step;
    s->last_loss = c->loss;
    s->earlier_updates = c->earlier_updates;
    if (!tutti_relus_set_skips(s->plan->graph, c->skips))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: passes that skip zeros are of another network", from);
    if (s->config->loss_scale.dynamic)
        s->scale = c->scale;
    else
        s->scale.skipped = c->scale.skipped;
    return TUTTI_OK;
}

static tutti_status init_resumed(tutti_stepping *s, const char *path, tutti_checkpoint *c, tutti_failure *err)
{
    tutti_status st = tutti_checkpoint_read(path, c, err);
    if (st) return st;
    if (c->cursor % s->plan->config.batch || c->cursor / s->plan->config.batch != c->step)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: step %" PRId64 " and sample %" PRId64 " do not go together", path,
                          c->step, c->cursor);
    return take_numbers(s, path, c, err);
}

static tutti_status fill(tutti_stepping *s, tutti_start *start, const tutti_checkpoint *there, tutti_failure *err)
{
    tutti_status st = start->copied >= 0 ? tutti_copies_complete(s->group, start->copies, err) : TUTTI_OK;
    if (st) return st;
    tutti_checkpoint c = tutti_lent_borrow(s, there);
    if (start->copied >= 0) {
        tutti_copies_read(start->copies, &c);
        st = take_numbers(s, "the copy in memory", &c, err);
    } else if (start->path) {
        st = init_resumed(s, start->path, &c, err);
    } else {
        init_new(s, c.weights);
        st = tutti_start_fill(s->group, s->config, start, &c, err);
        s->earlier_updates = c.earlier_updates;
    }
    tutti_lent_give_back(s, there, &c, true);
    return st;
}

tutti_status tutti_fill_weights(tutti_start *start, tutti_stepping *s, tutti_failure *err)
{
    tutti_checkpoint c = tutti_saving_of(s);
    fit_to_fill(s, !tutti_start_resumes(start), &c);
    if (start->path) tutti_group_long_phase_begin(s->group, "reads its checkpoint", "bytes of a file");
    tutti_status st = fill(s, start, &c, err);
    if (start->path) tutti_group_long_phase_end(s->group);
    char *weights = (char *)tutti_shared_of_role(&s->shared, TUTTI_ROLE_WEIGHTS, 0), *from = (char *)c.weights;
    if (weights != from)
        s->device->copy(s->device, &weights, 1, from, (size_t)s->plan->nweights * sizeof(float), false);
    if (!st && start->copied >= 0) tutti_copies_read_own(start->copies, &c);
    return st || !start->path ? st : read_own(s, start->path, &c, err);
}
