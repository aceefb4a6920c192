/* SPDX-License-Identifier: Apache-2.0 */
/* actions.c: the loop of one rank, derived from the graph and the buckets.
 *
 * For each of the rank's slots the kernels run in node order. A bucket's conditions are hung on nodes: its last
 * gradient writer (fold, and ready after the last slot), its last reader (free, after the last slot), its first reader
 * (wait for the weights of the step before, in the first slot). Updates come after all backward work, in exchange
 * order: by then the early reduce-scatters have long been done, and a rank that waits there holds nobody up; or, by_need,
 * in the order in which the next step reads the weights. Nothing waits at the end of a step. A gate stands before the
 * updates, and before it the own slices are looked at.
 *
 * Summing slots in tree order is counting in binary: slot j of a root goes to the place popcount(j) of a stack, and as
 * many pairs are folded after it as j has trailing ones. So equal subtrees meet, older + newer, and the stack of a
 * root of 2^m slots never holds more than m + 1 sums:
 *      j = 0: [0]   1: [01]   2: [01][2]   3: [01][23] -> [0123]   ... */
#include <stdlib.h>
#include <string.h>

#include "../../collective/compile/algorithms.h"
#include "plan_impl.h"
#include "tutti/compile.h"

const char *tutti_action_kind_name(tutti_action_kind k)
{
    static const char *const names[TUTTI_NACTIONS] = {"forward", "backward-params", "backward-data", "sum",
                                                      "fold",    "ready",           "free",          "check",
                                                      "gate",    "update",          "wait-weights"};
    return (unsigned)k < TUTTI_NACTIONS ? names[k] : "?";
}

int tutti_plan_roots(int slots, int nranks, int rank, tutti_slot_run out[TUTTI_MAX_SLOT_RUNS])
{
    tutti_root roots[TUTTI_MAX_ROOTS];
    const tutti_compile_request q = {.collective = TUTTI_REDUCE_SCATTER, .nranks = nranks, .slots = slots};
    const int n = tutti_compile_roots(&q, rank, roots);
    for (int i = 0; i < n; i++) out[i] = (tutti_slot_run){roots[i].first, roots[i].count};
    return n;
}

void tutti_plan_count_buffers(tutti_plan *p)
{
    tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
    for (int r = 0; r < p->config.nranks; r++) {
        const int n = tutti_plan_roots(p->config.slots, p->config.nranks, r, roots);
        if (n > p->nins) p->nins = n;
        for (int i = 0; i < n; i++) {
            const int need = i + __builtin_ctz((unsigned)roots[i].nslots) + 1;
            if (need > p->nroots_max) p->nroots_max = need;
        }
    }
}

/* Node indices on which a bucket's actions hang. */
typedef struct {
    int first_reader, last_reader, last_writer;
} hooks;

typedef struct {
    const tutti_plan *plan;
    hooks *hooks;
    tutti_action *actions;
    int nactions, capacity;
} listing;

static void add(listing *l, tutti_action a)
{
    if (l->nactions == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 64;
        l->actions = tutti_realloc(l->actions, sizeof(tutti_action) * (size_t)l->capacity);
    }
    l->actions[l->nactions++] = a;
}

static int bucket_of(const tutti_plan *p, int param)
{
    int b = p->nbuckets - 1;
    while (p->buckets[b].offset > p->param_offset[param]) b--;
    return b;
}

static void find_hooks(listing *l)
{
    const tutti_graph *g = l->plan->graph;
    for (int b = 0; b < l->plan->nbuckets; b++) l->hooks[b] = (hooks){-1, -1, -1};
    for (int t = 0; t < g->nnodes; t++) {
        const tutti_node *n = &g->nodes[t];
        if (n->kind == TUTTI_NODE_EXCHANGE || n->kind == TUTTI_NODE_UPDATE) continue;
        for (int i = 0; i < n->nreads; i++) {
            if (n->reads[i].kind != TUTTI_DATUM_PARAM) continue;
            hooks *h = &l->hooks[bucket_of(l->plan, n->reads[i].index)];
            if (h->first_reader < 0) h->first_reader = t;
            h->last_reader = t;
        }
        for (int i = 0; i < n->nwrites; i++)
            if (n->writes[i].kind == TUTTI_DATUM_PARAM_GRAD)
                l->hooks[bucket_of(l->plan, n->writes[i].index)].last_writer = t;
    }
}

/* One slot's place in the counter. */
typedef struct {
    int slot, buffer, nfolds;
    bool first, last;
} turn;

static void add_bucket_actions(listing *l, tutti_action_kind kind, int node, const turn *t)
{
    for (int b = 0; b < l->plan->nbuckets; b++) {
        const hooks *h = &l->hooks[b];
        const int hook = kind == TUTTI_DO_WAIT_WEIGHTS ? h->first_reader
                         : kind == TUTTI_DO_FREE       ? h->last_reader
                                                       : h->last_writer;
        if (hook != node) continue;
        tutti_action a = {.kind = kind, .slot = t->slot, .layer = -1, .bucket = b};
        if (kind != TUTTI_DO_FOLD) {
            add(l, a);
            continue;
        }
        for (int f = 0; f < t->nfolds; f++) {
            a.root_dst = t->buffer - 1 - f;
            a.root_src = t->buffer - f;
            add(l, a);
        }
    }
}

static void add_slot(listing *l, const turn *t)
{
    const tutti_graph *g = l->plan->graph;
    for (int i = 0; i < g->nnodes; i++) {
        const tutti_node *n = &g->nodes[i];
        tutti_action a = {
            .slot = t->slot, .layer = n->layer, .bucket = -1, .node = i, .root_dst = t->buffer, .root_src = -1};
        if (n->kind == TUTTI_NODE_FORWARD)
            a.kind = TUTTI_DO_FORWARD;
        else if (n->kind == TUTTI_NODE_BACKWARD_PARAMS)
            a.kind = TUTTI_DO_BACKWARD_PARAMS;
        else if (n->kind == TUTTI_NODE_BACKWARD_DATA)
            a.kind = TUTTI_DO_BACKWARD_DATA;
        else if (n->kind == TUTTI_NODE_SUM)
            a.kind = TUTTI_DO_SUM;
        else
            continue;
        if (t->first) add_bucket_actions(l, TUTTI_DO_WAIT_WEIGHTS, i, t);
        add(l, a);
        add_bucket_actions(l, TUTTI_DO_FOLD, i, t);
        if (t->last) add_bucket_actions(l, TUTTI_DO_READY, i, t);
        if (t->last) add_bucket_actions(l, TUTTI_DO_FREE, i, t);
    }
}

void tutti_plan_find_turns(tutti_plan *p)
{
    listing l = {.plan = p, .hooks = tutti_alloc(sizeof(hooks) * (size_t)p->nbuckets)};
    find_hooks(&l);
    for (int b = 0; b < p->nbuckets; b++)
        for (int other = 0; other < p->nbuckets; other++) {
            const int mine = l.hooks[b].first_reader, its = l.hooks[other].first_reader;
            p->buckets[b].turn += its < mine || (its == mine && other < b);
        }
    free(l.hooks);
}

/* The bucket whose update is number `i`. */
static int bucket_to_update(const tutti_plan *p, int i)
{
    int b = i;
    if (!p->config.by_need) return b;
    for (b = 0; p->buckets[b].turn != i;) b++;
    return b;
}

void tutti_plan_list_actions(const tutti_plan *p, int rank, tutti_arena *arena, tutti_action **out, int *nactions)
{
    listing l = {.plan = p, .hooks = tutti_alloc(sizeof(hooks) * (size_t)p->nbuckets)};
    find_hooks(&l);
    tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
    const int nroots = tutti_plan_roots(p->config.slots, p->config.nranks, rank, roots);
    turn t = {.first = true};
    for (int i = 0; i < nroots; i++)
        for (int j = 0; j < roots[i].nslots; j++) {
            t.buffer = i + __builtin_popcount((unsigned)j);
            t.nfolds = __builtin_ctz(~(unsigned)j);
            t.last = i == nroots - 1 && j == roots[i].nslots - 1;
            add_slot(&l, &t);
            t.first = false;
            t.slot++;
        }
    for (int b = 0; b < p->nbuckets && p->config.gated; b++)
        add(&l, (tutti_action){.kind = TUTTI_DO_CHECK, .slot = t.slot - 1, .layer = -1, .bucket = b});
    if (p->config.gated) add(&l, (tutti_action){.kind = TUTTI_DO_GATE, .slot = t.slot - 1, .layer = -1, .bucket = -1});
    for (int i = 0; i < p->nbuckets; i++)
        add(&l,
            (tutti_action){.kind = TUTTI_DO_UPDATE, .slot = t.slot - 1, .layer = -1, .bucket = bucket_to_update(p, i)});
    *out = TUTTI_ARENA_NEW(arena, tutti_action, l.nactions);
    memcpy(*out, l.actions, sizeof(tutti_action) * (size_t)l.nactions);
    *nactions = l.nactions;
    free(l.actions);
    free(l.hooks);
}
