/* SPDX-License-Identifier: Apache-2.0 */
/* choice_shared.c: chooses the dense layers that groups of ranks share, and the number of groups.
 *
 * A candidate is a number of ranks in a group and a number of dense layers that the ranks of each group share, the
 * largest layers that they can. Each number of ranks is tried with all such layers, and the best one also with one
 * layer and with two. Three plans of each candidate are played: by the fixed rule in both orders, and with the
 * algorithm and buckets of the best plan without shared layers. Only the candidate with the fastest plan is searched
 * with all algorithms, buckets and orders, because such a search costs as much as that of the plan without shared
 * layers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choice_impl.h"

enum { MOST_CANDIDATES = 48 };

typedef struct {
    int parts;           /* number of ranks in a group */
    int nlayers;         /* number of shared layers; they are the largest of the dense layers that a group can share */
    double step_s;       /* predicted seconds of a step by the fixed rule */
    tutti_graph *graph;  /* the model's graph with these layers shared */
    tutti_profile times; /* seconds of the nodes of `graph` */
} candidate;

typedef struct {
    const tutti_choice_question *q;
    const char **names; /* dense layers with parameters, the largest first */
    int64_t *noutputs;
    int nnames;
    const tutti_exchange_choice *best; /* the best plan in which no layer is shared */
    candidate list[MOST_CANDIDATES];
    int n, nplayed;
    tutti_arena arena;
} sharing;

/* ---- candidates ---- */

static int64_t weights_of(const tutti_kernel *k)
{
    int64_t n = 0;
    for (int p = 0; p < k->nparams; p++) n += tutti_shape_count(&k->params[p].shape);
    return n;
}

/* Lists the layers whose outputs can be divided, the largest first. */
static void list_layers(sharing *s)
{
    const tutti_graph *g = s->q->graph;
    const int nlayers = g->model->nlayers;
    int64_t *weights = TUTTI_ARENA_NEW(&s->arena, int64_t, nlayers + 1);
    s->names = TUTTI_ARENA_NEW(&s->arena, const char *, nlayers + 1);
    s->noutputs = TUTTI_ARENA_NEW(&s->arena, int64_t, nlayers + 1);
    for (int l = 0; l < nlayers; l++) {
        const int64_t n = g->model->layers[l].op->divide ? weights_of(&g->kernels[l]) : 0;
        int at = s->nnames;
        if (!n) continue;
        for (; at > 0 && weights[at - 1] < n; at--) {
            weights[at] = weights[at - 1];
            s->names[at] = s->names[at - 1], s->noutputs[at] = s->noutputs[at - 1];
        }
        weights[at] = n;
        s->names[at] = g->model->layers[l].name;
        s->noutputs[at] = tutti_shape_count(&g->kernels[l].out.shape) / g->config.batch;
        s->nnames++;
    }
}

/* Writes the names of the n largest layers that `parts` ranks can share; returns how many there are, at most n. A layer
 * with fewer outputs than there are ranks is left out: some ranks would own no element of its bias, and a plan with
 * such slices is proved as a whole, which takes long (plan_alike.h). */
static int take_names(const sharing *s, int parts, int n, const char **out)
{
    int taken = 0;
    for (int i = 0; i < s->nnames && taken < n; i++)
        if (s->noutputs[i] % parts == 0 && s->noutputs[i] >= s->q->config.nranks) out[taken++] = s->names[i];
    return taken;
}

/* Returns the question about a candidate's graph. Ranks that share layers update them sharded and late. */
static tutti_choice_question question_of(const sharing *s, const candidate *c)
{
    tutti_choice_question q = *s->q;
    q.graph = c->graph;
    q.profile = &c->times;
    q.config.method = s->q->method->split;
    q.config.replicated = q.config.early = false;
    q.open.update = q.open.update_when = q.open.layers = false;
    return q;
}

static bool make_graph(sharing *s, candidate *c)
{
    tutti_graph_config config = s->q->graph->config;
    const char **names = TUTTI_ARENA_NEW(&s->arena, const char *, s->nnames + 1);
    config.split = (tutti_split_layers){c->parts, names, take_names(s, c->parts, c->nlayers, names)};
    if (tutti_graph_build(s->q->graph->model, &config, &c->graph, NULL)) return false;
    if (!s->q->profile_of(s->q->profile_arg, c->graph, &c->times, NULL)) return true;
    tutti_graph_destroy(c->graph);
    return false;
}

/* Plays one plan of the candidate. */
static void play(sharing *s, candidate *c, const tutti_choice_question *q)
{
    tutti_exchange_choice played;
    if (tutti_choice_search(q, true, &played, NULL)) return;
    c->step_s = fmin(c->step_s, played.step_s);
    s->nplayed += played.nplayed;
    tutti_exchange_choice_release(&played);
}

/* Adds a candidate. It is played by the fixed rule in both orders, and with the algorithm and buckets of the best plan
 * without shared layers. */
static void add(sharing *s, int parts, int nlayers)
{
    candidate *c = &s->list[s->n];
    if (s->n == MOST_CANDIDATES) return;
    *c = (candidate){.parts = parts, .nlayers = nlayers, .step_s = INFINITY};
    if (!make_graph(s, c)) return;
    s->n++;
    tutti_choice_question q = question_of(s, c);
    play(s, c, &q);
    q.config.by_need |= q.open.order;
    play(s, c, &q);
    if (q.open.algorithm) q.config.algorithm = s->best->algorithm;
    if (q.open.buckets) q.config.bucket_bytes = s->best->largest;
    if (q.open.order) q.config.by_need = s->best->by_need;
    play(s, c, &q);
}

/* ---- the search ---- */

/* Returns the candidate with the shortest step; NULL if none can be played. */
static const candidate *find_best(const sharing *s)
{
    const candidate *best = NULL;
    for (int i = 0; i < s->n; i++)
        if (isfinite(s->list[i].step_s) && (!best || s->list[i].step_s < best->step_s)) best = &s->list[i];
    return best;
}

/* Plays groups of each size with all layers that they can share. Then plays the best size with one layer and with
 * two. */
static void list_candidates(sharing *s)
{
    const int nranks = s->q->config.nranks;
    const char **names = TUTTI_ARENA_NEW(&s->arena, const char *, s->nnames + 1);
    for (int parts = 2; parts <= nranks; parts++) {
        const int most = nranks % parts ? 0 : take_names(s, parts, s->nnames, names);
        if (most) add(s, parts, most);
    }
    const candidate *best = find_best(s);
    const int parts = best ? best->parts : 0, most = best ? best->nlayers : 0;
    for (int n = 1; n <= 2 && n < most; n++) add(s, parts, n);
}

static bool can_share(const tutti_choice_question *q)
{
    const tutti_open_keys *open = &q->open;
    tutti_plan_config c = q->config;
    if (q->topology->kind == TUTTI_TOPOLOGY_HOST || c.nranks > TUTTI_EXACT_RANKS || !q->method->split) return false;
    if ((c.replicated && !open->update) || (c.early && !open->update_when)) return false;
    c.replicated = c.early = false;
    return q->graph->config.precision == TUTTI_PRECISION_F32 && !q->method->accept_split(&c, NULL);
}

static void take(const sharing *s, const candidate *c, const tutti_exchange_choice *found, tutti_exchange_choice *out)
{
    const int nplayed = out->nplayed, nsimulated = out->nsimulated;
    tutti_exchange_choice_release(out);
    *out = *found;
    out->nplayed = nplayed, out->nsimulated = nsimulated;
    out->shared = tutti_alloc(sizeof *out->shared * (size_t)(s->nnames + 1));
    out->nshared = take_names(s, c->parts, c->nlayers, out->shared);
    out->ngroups = s->q->config.nranks / c->parts;
}

/* Searches the candidate, and takes its best plan if that gains more than the margin. */
static void search(const sharing *s, const candidate *c, tutti_exchange_choice *out)
{
    const tutti_choice_question q = question_of(s, c);
    tutti_exchange_choice found;
    if (tutti_choice_search(&q, false, &found, NULL)) return;
    out->nplayed += found.nplayed, out->nsimulated += found.nsimulated;
    if (found.is_chosen && found.step_s < out->step_s * (1 - s->q->margin))
        take(s, c, &found, out);
    else
        tutti_exchange_choice_release(&found);
}

void tutti_choice_share(const tutti_choice_question *q, tutti_exchange_choice *out)
{
    sharing s = {.q = q, .best = out};
    if (!can_share(q)) return;
    list_layers(&s);
    list_candidates(&s);
    out->nplayed += s.nplayed;
    const candidate *best = find_best(&s);
    if (best) search(&s, best, out);
    for (int i = 0; i < s.n; i++) {
        tutti_graph_destroy(s.list[i].graph);
        tutti_profile_release(&s.list[i].times);
    }
    tutti_arena_release(&s.arena);
}
