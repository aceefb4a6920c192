/* SPDX-License-Identifier: Apache-2.0 */
/* plan_covered.c: hashes all that the proof of a plan reads, so that an equal plan need not be proved again.
 * tutti_plan_hash covers what must be equal on all ranks, and is stored in checkpoints. That hash leaves out the loops,
 * because they follow from the rest as long as the method's code stays the same. A proof must not assume that it does.
 *
 * What follows from loops (an exchange's drivers) is left out here: it is computed from the loops of the rank that
 * asks.
 *
 * Numbers are hashed one by one, never structs: bytes between the fields of a struct are undefined. */
#include <string.h>

#include "../../../base/hash.h"
#include "../plan_impl.h"

static void add(tutti_hasher *h, int64_t value)
{
    tutti_hasher_add(h, &value, sizeof value);
}

static void add_all(tutti_hasher *h, const int64_t *values, int n)
{
    add(h, values ? n : -1);
    if (values && n) tutti_hasher_add(h, values, sizeof *values * (size_t)n);
}

static void add_ints(tutti_hasher *h, const int *values, int n)
{
    add(h, values ? n : -1);
    for (int i = 0; i < n && values; i++) add(h, values[i]);
}

static void add_text(tutti_hasher *h, const char *text)
{
    add(h, text ? (int64_t)strlen(text) : -1);
    if (text) tutti_hasher_add(h, text, strlen(text));
}

static void add_config(tutti_hasher *h, const tutti_plan_config *c)
{
    const int64_t values[] = {c->nranks,      c->batch,       c->slots,     c->accumulate, c->by_need,
                              c->only_finite, c->norms,       c->sent,      c->replicated, c->early,
                              c->period,      c->mean_states, c->staleness, c->nstates};
    add_all(h, values, sizeof values / sizeof *values);
    tutti_hasher_add(h, c->own, sizeof c->own);
    add(h, c->host_of != NULL);
    for (int r = 0; r < c->nranks && c->host_of; r++) add(h, c->host_of[r]);
}

static void add_bucket(tutti_hasher *h, const tutti_bucket *b)
{
    const int64_t values[] = {b->offset, b->count, b->first_param, b->nparams, b->parts, b->turn};
    add_all(h, values, sizeof values / sizeof *values);
}

static void add_memory(tutti_hasher *h, const tutti_plan_memory *m)
{
    const int64_t values[] = {m->role,      m->type,       m->elements, m->copies,  m->is_region,
                              m->is_common, m->is_lasting, m->is_saved, m->differs, m->holds};
    add_text(h, m->name);
    add_all(h, values, sizeof values / sizeof *values);
}

static void add_exchange(tutti_hasher *h, const tutti_plan *p, const tutti_plan_exchange *x)
{
    const int64_t values[] = {(int64_t)p->schedules[x->schedule].hash,
                              x->op,
                              x->sent,
                              x->nmembers,
                              x->bucket,
                              x->is_travel,
                              x->node,
                              x->first,
                              x->count,
                              x->in.memory,
                              x->in.copy,
                              x->out.memory,
                              x->out.copy,
                              x->turn};
    add_text(h, x->name);
    add_all(h, values, sizeof values / sizeof *values);
    add_ints(h, x->members, x->nmembers);
}

static void add_data(tutti_hasher *h, const tutti_datum *data, int n)
{
    add(h, n);
    for (int i = 0; i < n; i++) add(h, data[i].kind), add(h, data[i].index);
}

static void add_kernel(tutti_hasher *h, const tutti_graph *g, int layer)
{
    const tutti_kernel *k = &g->kernels[layer];
    const tutti_layer_grads *own = g->layer_grads ? &g->layer_grads[layer] : NULL;
    const tutti_layer *l = &g->model->layers[layer];
    const int64_t values[] = {(int64_t)k->saved_bytes, (int64_t)k->out.bytes, k->in_place, k->writes_dout};
    add_text(h, l->name);
    add_ints(h, l->in, l->nin);
    add_all(h, values, sizeof values / sizeof *values);
    if (!own) return;
    add(h, own->out), add(h, own->changed), add(h, own->takes_parts);
    add_ints(h, own->in, TUTTI_MAX_OP_INPUTS);
    add_ints(h, own->parts, own->nparts);
}

static void add_graph(tutti_hasher *h, const tutti_graph *g)
{
    add(h, g->nnodes), add(h, g->nparams), add(h, g->nkernels), add(h, g->ngrads), add(h, g->nsplit);
    add(h, tutti_graph_parts(g));
    for (int i = 0; i < g->nnodes; i++) {
        const tutti_node *n = &g->nodes[i];
        add(h, n->kind), add(h, n->layer), add(h, n->param), add(h, n->hop);
        add_data(h, n->reads, n->nreads);
        add_data(h, n->writes, n->nwrites);
        add(h, (int64_t)tutti_graph_scratch_bytes(g, i));
    }
    for (int i = 0; i < g->nparams; i++) {
        const tutti_param *p = &g->params[i];
        add_text(h, p->name);
        add(h, p->layer), add(h, p->ordinal), add(h, p->count), add(h, p->desc.elements), add(h, p->desc.kind);
        add(h, p->is_frozen);
    }
    for (int i = 0; i < g->ngrads; i++)
        add(h, g->grads[i].layer), add(h, g->grads[i].reader), add(h, g->grads[i].changed);
    for (int i = 0; i < g->nkernels; i++) add_kernel(h, g, i);
}

/* Hashes counts, orders and offsets. */
static void add_places(tutti_hasher *h, const tutti_plan *p)
{
    const tutti_graph *g = p->graph;
    const int64_t values[] = {p->first_frozen, p->total,      p->nweights, p->answer,     p->admission,
                              p->is_paced,     p->nins,       p->ncopies,  p->nbuckets,   p->nmemories,
                              p->nschedules,   p->nexchanges, p->npairs,   p->arena_bytes};
    add_all(h, values, sizeof values / sizeof *values);
    add_ints(h, p->order, g->nparams);
    add_all(h, p->param_offset, g->nparams);
    add_all(h, p->value_offset, g->nkernels);
    add_all(h, p->saved_offset, g->nkernels);
    add_all(h, p->grad_offset, g->ngrads);
    add_all(h, p->scratch_offset, g->nnodes);
    for (int i = 0; i < p->npairs; i++) add(h, p->pairs[i].small), add(h, p->pairs[i].large), add(h, p->pairs[i].from);
}

uint64_t tutti_plan_covered(const tutti_plan *p)
{
    tutti_hasher *h = tutti_hasher_create();
    add(h, (int64_t)tutti_plan_hash(p));
    add_config(h, &p->config);
    add_graph(h, p->graph);
    add_places(h, p);
    for (int i = 0; i < p->nbuckets; i++) add_bucket(h, &p->buckets[i]);
    add_bucket(h, &p->control);
    for (int i = 0; i < p->nmemories; i++) add_memory(h, &p->memories[i]);
    for (int i = 0; i < p->nschedules; i++) add(h, (int64_t)p->schedules[i].hash);
    for (int i = 0; i < p->nexchanges; i++) add_exchange(h, p, &p->exchanges[i]);
    return tutti_hasher_finish(h);
}

static void add_action(tutti_hasher *h, const tutti_action *a)
{
    const int64_t values[] = {a->kind,     a->steps, a->slot,   a->node,    a->bucket, a->dst,   a->src,
                              a->exchange, a->when,  a->first,  a->count,   a->from,   a->to,    a->verdict,
                              a->norm,     a->share, a->begins, a->weights, a->pulled, a->other, a->worker};
    tutti_hasher_add(h, values, sizeof values);
}

uint64_t tutti_plan_covered_loops(const tutti_plan *p, int rank)
{
    tutti_hasher *h = tutti_hasher_create();
    tutti_arena work = {0};
    tutti_loop loops[TUTTI_NDRIVERS];
    memcpy(loops, p->loops, sizeof loops);
    if (rank != p->config.rank) tutti_plan_list_loops(p, rank, &work, loops);
    for (int d = 0; d < TUTTI_NDRIVERS; d++) {
        add(h, loops[d].driver), add(h, loops[d].nactions);
        for (int i = 0; i < loops[d].nactions; i++) add_action(h, &loops[d].actions[i]);
    }
    tutti_arena_release(&work);
    return tutti_hasher_finish(h);
}
