/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.c: packs gradients in the order in which they become ready, and cuts them into buckets: up to a size, at
 * layers, or where merge.h says that the exchanges end soonest.
 *
 * Control numbers are packed apart: they are exchanged in every step, whatever the parameters do. Frozen parameters are
 * never exchanged and lie behind all buckets. Invariant: buckets tile the packed vector in exchange order; padding is
 * zero on every rank. Parameters of split layers come last. Each has a bucket of its own, because its parts are
 * exchanged between other ranks than whole parameters. */
#include <math.h>

#include "plan_impl.h"

enum { ALIGN_ELEMENTS = 16 }; /* parameters begin at multiples of 64 bytes, so that no two share a cache line */

static int64_t padded(int64_t count)
{
    return (count + ALIGN_ELEMENTS - 1) / ALIGN_ELEMENTS * ALIGN_ELEMENTS;
}

static bool is_control(const tutti_param *p)
{
    return p->layer < 0;
}

static bool is_split(const tutti_plan *p, int param)
{
    return tutti_graph_split_of(p->graph, p->graph->params[param].layer) >= 0;
}

static void order_params(tutti_plan *p)
{
    enum { COMMON, SPLIT, CONTROL, NSORTS };
    const tutti_graph *g = p->graph;
    int n = 0;
    p->order = TUTTI_ARENA_NEW(&p->arena, int, g->nparams);
    for (int sort = COMMON; sort < NSORTS; sort++)
        for (int i = 0; i < g->nnodes; i++) {
            const tutti_node *node = &g->nodes[i];
            if (node->kind != TUTTI_NODE_EXCHANGE) continue;
            const int own = is_control(&g->params[node->param]) ? CONTROL : is_split(p, node->param) ? SPLIT : COMMON;
            if (own != sort) continue;
            p->order[n++] = node->param;
            p->control.nparams += sort == CONTROL;
        }
    p->control.first_param = n - p->control.nparams;
    p->first_frozen = n;
    for (int i = 0; i < g->nparams; i++)
        if (g->params[i].is_frozen) p->order[n++] = i;
}

static int layer_of(const tutti_plan *p, int at)
{
    return p->graph->params[p->order[at]].layer;
}

static int64_t bytes_of(const tutti_plan *p, int at)
{
    return padded(p->graph->params[p->order[at]].desc.elements) * (int64_t)sizeof(float);
}

/* ---- which parameters begin a bucket ---- */

static void start_by_rule(const tutti_plan *p, bool *starts)
{
    const int64_t most = p->config.bucket_bytes == TUTTI_BUCKET_SOONEST ? 1 << 20 : p->config.bucket_bytes;
    int64_t bytes = 0;
    for (int i = 0; i < p->control.first_param; i++) {
        const bool fits =
            i && !is_split(p, p->order[i]) &&
            (most == TUTTI_BUCKET_LAYER ? layer_of(p, i) == layer_of(p, i - 1) : bytes + bytes_of(p, i) <= most);
        starts[i] = !fits;
        bytes = starts[i] ? bytes_of(p, i) : bytes + bytes_of(p, i);
    }
}

/* Makes the items for merging: when each gradient is ready. It is ready when its layer's kernel has run; backward
 * kernels run one after the other, in node order. */
static void make_items(tutti_plan *p)
{
    const tutti_graph *g = p->graph;
    const tutti_plan_costs *c = p->config.costs;
    double now_s = 0;
    p->items = TUTTI_ARENA_NEW(&p->arena, tutti_merge_item, g->nparams);
    for (int i = 0, at = 0; i < g->nnodes; i++) {
        const tutti_node *n = &g->nodes[i];
        if (c->params_s.n && n->kind == TUTTI_NODE_BACKWARD_PARAMS) now_s += c->params_s.values[n->layer];
        if (c->data_s.n && n->kind == TUTTI_NODE_BACKWARD_DATA) now_s += c->data_s.values[n->layer];
        if (c->sum_s.n && n->kind == TUTTI_NODE_SUM) now_s += c->sum_s.values[n->layer];
        if (n->kind == TUTTI_NODE_EXCHANGE && !is_control(&g->params[n->param]) && !is_split(p, n->param))
            p->items[p->nitems++] = (tutti_merge_item){llround(now_s * 1e9), bytes_of(p, at++)};
    }
}

static void start_by_costs(const tutti_plan *p, bool *starts)
{
    const tutti_exchange_cost cost = tutti_plan_costs_exchange(p->config.costs);
    if (p->nitems) tutti_merge_best(p->items, p->nitems, &cost, starts);
    for (int i = p->nitems; i < p->control.first_param; i++) starts[i] = true;
}

static tutti_status start_as_cut(const tutti_plan *p, bool *starts, tutti_failure *err)
{
    const tutti_reals *cut = &p->config.cut;
    double n = 0;
    for (int b = 0; b < cut->n; b++) {
        if (n < p->control.first_param) starts[(int)n] = true;
        n += cut->values[b];
    }
    return n == p->control.first_param
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_ERR_USAGE,
                            "exchange.cut: buckets of %g parameters in all, and %d are exchanged; leave the key out", n,
                            p->control.first_param);
}

/* Places a parameter behind the parameters that the bucket holds already. */
static void put(tutti_plan *p, int at, tutti_bucket *bucket)
{
    const int param = p->order[at];
    p->param_offset[param] = bucket->offset + bucket->count;
    bucket->count += padded(p->graph->params[param].desc.elements);
}

/* Notes the bucket of each parameter: walks over the graph ask for it at each node. */
static void note_buckets(tutti_plan *p)
{
    p->bucket_of = TUTTI_ARENA_NEW(&p->arena, int, p->graph->nparams);
    for (int i = 0; i < p->graph->nparams; i++) p->bucket_of[i] = TUTTI_NO_BUCKET;
    for (int i = p->control.first_param; i < p->first_frozen; i++) p->bucket_of[p->order[i]] = TUTTI_CONTROL_BUCKET;
    for (int b = 0; b < p->nbuckets; b++)
        for (int i = 0; i < p->buckets[b].nparams; i++) p->bucket_of[p->order[p->buckets[b].first_param + i]] = b;
}

tutti_status tutti_plan_pack_params(tutti_plan *p, tutti_failure *err)
{
    const tutti_graph *g = p->graph;
    order_params(p);
    p->param_offset = TUTTI_ARENA_NEW(&p->arena, int64_t, g->nparams);
    p->buckets = TUTTI_ARENA_NEW(&p->arena, tutti_bucket, g->nparams);
    bool *starts = TUTTI_ARENA_NEW(&p->arena, bool, g->nparams);
    tutti_status st = TUTTI_OK;
    if (p->config.costs) make_items(p);
    if (p->config.bucket_bytes == TUTTI_BUCKET_CUT)
        st = start_as_cut(p, starts, err);
    else if (p->config.costs && p->config.bucket_bytes == TUTTI_BUCKET_SOONEST)
        start_by_costs(p, starts);
    else
        start_by_rule(p, starts);
    if (st) return st;
    for (int i = 0; i < p->control.first_param; i++) {
        const int parts = is_split(p, p->order[i]) ? tutti_graph_parts(g) : 1;
        if (starts[i]) p->buckets[p->nbuckets++] = (tutti_bucket){.offset = p->total, .first_param = i, .parts = parts};
        tutti_bucket *last = &p->buckets[p->nbuckets - 1];
        put(p, i, last);
        last->nparams++;
        p->total = last->offset + last->count;
    }
    for (int i = p->control.first_param; i < p->first_frozen; i++) put(p, i, &p->control);
    tutti_bucket behind = {.offset = p->total};
    for (int i = p->first_frozen; i < g->nparams; i++) put(p, i, &behind);
    p->nweights = p->total + behind.count;
    note_buckets(p);
    return TUTTI_OK;
}

int tutti_plan_bucket_of(const tutti_plan *p, int param)
{
    return p->bucket_of[param];
}

const tutti_bucket *tutti_plan_bucket_at(const tutti_plan *p, int bucket)
{
    return bucket == TUTTI_CONTROL_BUCKET ? &p->control : &p->buckets[bucket];
}

void tutti_plan_own_slice(const tutti_plan *p, int bucket, int rank, int64_t *first, int64_t *count)
{
    const tutti_bucket *b = &p->buckets[bucket];
    int64_t offset = b->offset, n = b->count, sharers = p->config.nranks, place = rank;
    if (b->parts > 1) {
        tutti_plan_part(p, p->order[b->first_param], rank, &offset, &n);
        sharers /= b->parts;
        place = tutti_plan_group(p, rank);
    }
    const int64_t begin = place * n / sharers, end = (place + 1) * n / sharers;
    *first = offset + begin;
    *count = end - begin;
}
