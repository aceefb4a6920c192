/* SPDX-License-Identifier: Apache-2.0 */
/* plan_split.c: split layers in a plan: which rank has which part, what is exchanged, what that costs, and the proof of
 * it.
 *
 * The proof has two halves. The first checks each travel, an exchange of a split layer's data. Its collective is the
 * one that its hop requires, between the group's ranks in their order, over all elements, from and to the places that
 * its node reads and writes. The schedule's own proof shows that the collective does what it should. The second half
 * plays the step of each rank twice on tags. A place holds the tag of the datum that was written there last, and
 * nothing while it is exchanged; every reader must find the datum that the graph names. So kernels get all samples of
 * the group, and the outputs or gradients of all members, each at its place. The composition (plan_compose.h) proves
 * that no rank writes what another reads. */
#include <inttypes.h>

#include "../../base/text/strbuf.h"
#include "plan_impl.h"

/* True if the schedule's collective is the one that the hop requires. */
static bool does(const tutti_schedule_header *h, tutti_hop hop)
{
    const tutti_collective c = h->collective;
    switch (hop) {
    case TUTTI_HOP_GATHER_INPUTS:
        return h->in_place && tutti_collective_takes_slices(c) && !tutti_collective_has_root(c);
    case TUTTI_HOP_SUM_GRADS: return h->in_place && tutti_collective_gives_slices(c);
    case TUTTI_HOP_SWAP_OUTPUTS:
    case TUTTI_HOP_SWAP_GRADS: return c == TUTTI_ALL_TO_ALL;
    default: return false;
    }
}

static const tutti_split_layer *split_at(const tutti_plan *p, int layer)
{
    return &p->graph->split[tutti_graph_split_of(p->graph, layer)];
}

/* ---- groups and parts of ranks ---- */

void tutti_plan_part(const tutti_plan *p, int param, int rank, int64_t *first, int64_t *count)
{
    const tutti_graph *g = p->graph;
    const bool is_split = tutti_graph_split_of(g, g->params[param].layer) >= 0;
    *count = is_split ? g->params[param].count / tutti_graph_parts(g) : g->params[param].desc.elements;
    *first = p->param_offset[param] + (is_split ? tutti_plan_position(p, rank) * *count : 0);
}

int tutti_plan_split_memory(const tutti_plan *p, int datum)
{
    return tutti_plan_find_memory(p, TUTTI_ROLE_TRAVELLING, tutti_graph_split_place(p->graph, datum));
}

int64_t tutti_plan_travel_count(const tutti_plan *p, int node)
{
    const tutti_node *n = &p->graph->nodes[node];
    const tutti_split_layer *s = split_at(p, n->layer);
    const bool of_outputs = n->hop == TUTTI_HOP_SWAP_OUTPUTS || n->hop == TUTTI_HOP_SWAP_GRADS;
    return tutti_graph_parts(p->graph) * p->samples_per_call * (of_outputs ? s->noutputs : s->ninputs);
}

int tutti_plan_common_bucket(const tutti_plan *p)
{
    for (int b = 0; b < p->nbuckets; b++)
        if (p->buckets[b].parts == 1) return b;
    return -1;
}

/* ---- refusals ---- */

tutti_status tutti_plan_accept_split(const tutti_plan *p, tutti_failure *err)
{
    const tutti_plan_config *c = &p->config;
    const int parts = tutti_graph_parts(p->graph);
    if (parts == 1) return TUTTI_OK;
    if (c->nranks % parts)
        return tutti_fail(err, TUTTI_ERR_USAGE, "parallel: %d ranks do not make groups of %d", c->nranks, parts);
    if (c->slots || c->accumulate > 1)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "parallel: layers are split of one call a rank and step, without canonical sums and "
                          "micro-batches");
    return TUTTI_OK;
}

/* ---- printing ---- */

static void add_volume(const tutti_plan *p, int parts, tutti_strbuf *sb)
{
    const tutti_plan_config *c = &p->config;
    tutti_split_volume sum = {0};
    for (int s = 0; s < p->graph->nsplit; s++) {
        const tutti_split_volume v = tutti_split_volume_of(&p->graph->split[s], c->nranks, c->batch, parts);
        sum.activations += v.activations;
        sum.params += v.params;
    }
    const double kib = (double)sizeof(float) / 1024;
    tutti_strbuf_printf(sb, "  %6d %15d %17.1f %11.1f %11.1f%s\n", c->nranks / parts, parts,
                        (double)sum.activations * kib, (double)sum.params * kib,
                        (double)(sum.activations + sum.params) * kib,
                        parts == tutti_graph_parts(p->graph) ? "  this plan" : "");
}

void tutti_plan_print_split(const tutti_plan *p, tutti_strbuf *sb)
{
    const tutti_graph *g = p->graph;
    if (!g->nsplit) return;
    const int parts = tutti_graph_parts(g);
    tutti_strbuf_puts(sb, "\nsplit layers:");
    for (int s = 0; s < g->nsplit; s++)
        tutti_strbuf_printf(sb, "%s %s", s ? "," : "", g->model->layers[g->split[s].layer].name);
    tutti_strbuf_printf(sb, "; %d group%s of %d ranks, this rank has part %d of %d of their outputs\n",
                        p->config.nranks / parts, p->config.nranks == parts ? "" : "s", parts,
                        tutti_plan_position(p, p->config.rank), parts);
    tutti_strbuf_puts(sb, "  what a rank receives for them in a step, KiB\n"
                          "  groups ranks in a group  activations, grads  parameters         all\n");
    for (int n = p->config.nranks; n >= 1; n--) {
        bool fits = p->config.nranks % n == 0;
        for (int s = 0; s < g->nsplit; s++) fits = fits && g->split[s].noutputs % n == 0;
        if (fits) add_volume(p, n, sb);
    }
}

/* ---- proof: each travel ---- */

static bool is_group(const tutti_plan *p, const tutti_plan_exchange *x)
{
    const int parts = tutti_graph_parts(p->graph);
    const int first = tutti_plan_member(x, 0);
    bool good = x->nmembers == parts && first % parts == 0;
    for (int i = 0; good && i < parts; i++) good = tutti_plan_member(x, i) == first + i;
    return good;
}

static tutti_status check_travel(const tutti_plan *p, const tutti_plan_exchange *x, tutti_failure *err)
{
    const tutti_graph *g = p->graph;
    const tutti_node *n = &g->nodes[x->node];
    const tutti_schedule_header *h = tutti_schedule_head(p->schedules[x->schedule].compiled);
    const char *wrong = n->kind != TUTTI_NODE_TRAVEL ? "its node is not a travel"
                        : !does(h, n->hop)           ? "it is of another collective"
                        : !is_group(p, x)            ? "its members are no group, in their order"
                        : x->in.memory != tutti_plan_split_memory(p, n->reads[0].index) ? "it takes from another place"
                        : x->out.memory != tutti_plan_split_memory(p, n->writes[0].index) ? "it brings to another place"
                        : x->first || x->count != tutti_plan_travel_count(p, x->node)
                            ? "it is not over all that there is"
                        : p->memories[x->in.memory].type != TUTTI_F32 || x->op != TUTTI_SUM ? "it is not a sum of f32"
                                                                                            : NULL;
    return wrong ? tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", x->name, wrong) : TUTTI_OK;
}

/* ---- proof: each rank ---- */

enum { NOTHING = -1 };

typedef struct {
    const tutti_plan *plan;
    int rank;
    int *holds; /* per place: the datum that lies in the place */
} tag_play;

static tutti_status reads_tag(const tag_play *y, const tutti_node *n, int datum, tutti_failure *err)
{
    const tutti_graph *g = y->plan->graph;
    const int place = tutti_graph_split_place(g, datum);
    if (y->holds[place] == datum) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "rank %d: %s of %s does not find what it reads in %s", y->rank,
                      n->kind == TUTTI_NODE_MOVE || n->kind == TUTTI_NODE_TRAVEL ? tutti_hop_name(n->hop)
                                                                                 : tutti_node_kind_name(n->kind),
                      g->model->layers[n->layer].name, g->split_places[place].name);
}

static tutti_status play_node(tag_play *y, const tutti_node *n, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < n->nreads && !st; i++)
        if (n->reads[i].kind == TUTTI_DATUM_SPLIT) st = reads_tag(y, n, n->reads[i].index, err);
    for (int i = 0; i < n->nwrites; i++)
        if (n->writes[i].kind == TUTTI_DATUM_SPLIT)
            y->holds[tutti_graph_split_place(y->plan->graph, n->writes[i].index)] = n->writes[i].index;
    return st;
}

/* Plays an action on the tags. The source of a started exchange counts as empty, and its target holds nothing until the
 * exchange was waited for. */
static tutti_status play_action(tag_play *y, const tutti_action *a, tutti_failure *err)
{
    const tutti_graph *g = y->plan->graph;
    if (a->node >= 0) return play_node(y, &g->nodes[a->node], err);
    const tutti_plan_exchange *x = a->exchange < 0 ? NULL : &y->plan->exchanges[a->exchange];
    if (!x || !x->is_travel) return TUTTI_OK;
    const tutti_node *n = &g->nodes[x->node];
    const int from = tutti_graph_split_place(g, n->reads[0].index), to = tutti_graph_split_place(g, n->writes[0].index);
    if (tutti_action_starts(a)) {
        const tutti_status st = reads_tag(y, n, n->reads[0].index, err);
        y->holds[to] = NOTHING;
        return st;
    }
    if (tutti_action_awaits(a)) {
        if (from != to && y->holds[from] != n->reads[0].index) return reads_tag(y, n, n->reads[0].index, err);
        y->holds[to] = n->writes[0].index;
    }
    return TUTTI_OK;
}

static tutti_status play_rank(const tutti_plan *p, int rank, tutti_failure *err)
{
    tutti_arena work = {0};
    tutti_loop loops[TUTTI_NDRIVERS];
    tag_play y = {p, rank, TUTTI_ARENA_NEW(&work, int, p->graph->nsplit_places)};
    tutti_plan_list_loops(p, rank, &work, loops);
    const tutti_loop *l = rank == p->config.rank ? &p->loops[TUTTI_EACH_STEP] : &loops[TUTTI_EACH_STEP];
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < p->graph->nsplit_places; i++) y.holds[i] = NOTHING;
    for (int i = 0; i < 2 * l->nactions && !st; i++) st = play_action(&y, &l->actions[i % l->nactions], err);
    tutti_arena_release(&work);
    return st;
}

tutti_status tutti_plan_check_split(const tutti_plan *p, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int x = 0; x < p->nexchanges && !st; x++)
        if (p->exchanges[x].is_travel) st = check_travel(p, &p->exchanges[x], err);
    for (int r = 0; r < p->config.nranks && p->graph->nsplit && !st; r++) st = play_rank(p, r, err);
    return st;
}
