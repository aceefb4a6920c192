/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c: predicts a job whose largest dense layer is shared by groups of ranks. */
#include <stdio.h>
#include <string.h>

#include "../../job/job_fields.h"
#include "../exchange_times.h"
#include "../play/timeline.h"
#include "planning_parts.h"

static const double GAIN = 0.02; /* a gain below this part of the step's time is not mentioned */

/* ---- predicting the job with other keys ---- */

static tutti_status play(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                         const double *slowness, void *arg, tutti_failure *err)
{
    tutti_prediction *out = arg;
    const tutti_status st = tutti_timeline_predict(plan, profile, t, slowness, out, err);
    if (!st) out->memory = tutti_rank_memory_of(plan);
    return st;
}

tutti_status tutti_predict_with(const tutti_predict_question *q, const tutti_predict_options *options, int nranks,
                                const char *const *more, int nmore, tutti_prediction *out, tutti_failure *err)
{
    const char *sets[TUTTI_PREDICT_MAX_SETS + TUTTI_PREDICT_MOST_MORE];
    tutti_job *job = NULL;
    int n = 0;
    for (int i = 0; i < q->nsets; i++) sets[n++] = q->sets[i];
    for (int i = 0; i < nmore; i++) sets[n++] = more[i];
    tutti_status st = tutti_job_load_for_any(q->job_path, sets, n, &job, err);
    if (!st) st = tutti_job_look(job, &q->topology, options, nranks, play, out, err);
    tutti_job_destroy(job);
    return st;
}

/* ---- layers that groups could share ---- */

/* The dense layer with the most weights, which is a candidate for sharing among a group's ranks. */
typedef struct {
    char name[64];
    int64_t nweights; /* number of its weights; 0 if there is no such layer */
} dense_layer;

static tutti_status find_dense(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                               const double *slowness, void *arg, tutti_failure *err)
{
    (void)profile, (void)t, (void)slowness, (void)err;
    const tutti_graph *g = plan->graph;
    dense_layer *out = arg;
    for (int l = 0; l < g->model->nlayers; l++) {
        const tutti_kernel *k = &g->kernels[l];
        if (strcmp(k->op->name, "dense")) continue;
        const int parts = tutti_graph_split_of(g, l) < 0 ? 1 : tutti_graph_parts(g);
        const int64_t nweights = parts * k->params[0].shape.dim[0] * k->params[0].shape.dim[1];
        if (nweights <= out->nweights) continue;
        out->nweights = nweights;
        snprintf(out->name, sizeof out->name, "%s", g->model->layers[l].name);
    }
    return TUTTI_OK;
}

bool tutti_predict_sharable(const tutti_predict_question *q, const tutti_predict_options *options, int nranks,
                            char layer[64])
{
    dense_layer dense = {.nweights = 0};
    const tutti_status st = tutti_job_look(q->job, &q->topology, options, nranks, find_dense, &dense, NULL);
    memcpy(layer, dense.name, sizeof dense.name);
    return !st && dense.nweights > 0;
}

/* Returns the i-th number of groups to try. A number equal to that of ranks is left out, because it would be data
 * parallelism. */
const tutti_groups *tutti_predict_groups_at(int i, int nranks)
{
    static const tutti_groups all[] = {{1, "1"}, {2, "2"}, {4, "4"}, {8, "8"}, {16, "16"}, {32, "32"}};
    return i < (int)(sizeof all / sizeof *all) && all[i].n < nranks ? &all[i] : NULL;
}

/* ---- groups that are faster than the job's own plan ---- */

/* Returns true if groups that share layers are to be tried here: if the job says that no layer is shared. If the job
 * leaves that open, the choice of exchanges has tried groups. Groups would change the bits of canonical sums, so they
 * are not tried for these. */
static bool is_asked(const tutti_predict_question *q, const tutti_prediction *own)
{
    return q->topology.kind != TUTTI_TOPOLOGY_HOST && q->options.device && own->nranks > 1 &&
           own->nranks <= TUTTI_EXACT_RANKS && !own->refused[0] && !q->job->parallel.layers.n &&
           q->job->reduction == TUTTI_REDUCTION_FAST && !strcmp(q->job->method.name, "sync-sgd");
}

void tutti_predict_shared(tutti_predict_question *q)
{
    const tutti_prediction *own = tutti_predict_last(q);
    tutti_predict_options options = q->options;
    char layer[64], with[96], set[64];
    const char *const more[] = {set, with};
    const tutti_groups *groups, *best = NULL;
    tutti_prediction p, fastest = {0};
    options.at = NULL;
    options.save_profile = NULL;
    if (!is_asked(q, own) || !tutti_predict_sharable(q, &options, own->nranks, layer)) return;
    snprintf(with, sizeof with, "parallel.layers=%s", layer);
    for (int i = 0; (groups = tutti_predict_groups_at(i, own->nranks)); i++) {
        snprintf(set, sizeof set, "parallel.groups=%s", groups->text);
        if (own->nranks % groups->n || tutti_predict_with(q, &options, own->nranks, more, 2, &p, NULL)) continue;
        if (!best || p.step_s < fastest.step_s) fastest = p, best = groups;
    }
    if (!best || fastest.step_s > own->step_s * (1 - GAIN)) return;
    q->shared_step_s = fastest.step_s;
    snprintf(
        q->shared, sizeof q->shared,
        "Groups of %d ranks that share %s would take %.3f ms, memory %+.1f MiB a rank: --set parallel.groups=%s --set "
        "%s. "
        "The job says that no layer is shared. Sharing rounds sums otherwise, and samples travel (docs/hybrid.md).",
        own->nranks / best->n, layer, fastest.step_s * 1e3, (double)(fastest.memory.all - own->memory.all) / 1048576,
        best->text, with);
}
