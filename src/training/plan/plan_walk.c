/* SPDX-License-Identifier: Apache-2.0 */
/* plan_walk.c: walks over the kernels of one rank's step, and calls the method at the places between them at which an
 * exchange can start.
 *
 * The graph marks these places: its exchange node of a parameter stands right after the last writer of the gradient,
 * its update node right after the last reader of the value. The method is called for a bucket when the walk has passed
 * the last of the bucket's nodes. That happens only in the last slot; folds of gradients are listed in each slot.
 *
 * Summing slots in tree order is counting in binary: slot j of a root goes to place popcount(j) of a stack, and after
 * it one pair is folded for each trailing one bit of j. So equal subtrees meet, older + newer, and the stack of a root
 * of 2^m slots never holds more than m + 1 sums:
 *     j = 0: [0]   1: [01]   2: [01][2]   3: [01][23] -> [0123]   ... */
#include <stdlib.h>
#include <string.h>

#include "../../collective/compile/algorithms.h"
#include "plan_impl.h"
#include "tutti/compile.h"

int tutti_plan_roots(int slots, int nranks, int rank, tutti_slot_run out[TUTTI_MAX_SLOT_RUNS])
{
    tutti_root roots[TUTTI_MAX_ROOTS];
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = nranks, .slots = slots};
    const int n = tutti_compile_roots(&q, rank, roots);
    for (int i = 0; i < n; i++) out[i] = (tutti_slot_run){roots[i].first, roots[i].count};
    return n;
}

void tutti_plan_count_copies(tutti_plan *p)
{
    tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
    for (int r = 0; r < p->config.nranks; r++) {
        const int n = tutti_plan_roots(p->config.slots, p->config.nranks, r, roots);
        if (n > p->nins) p->nins = n;
        for (int i = 0; i < n; i++) {
            const int need = i + __builtin_ctz((unsigned)roots[i].nslots) + 1;
            if (need > p->ncopies) p->ncopies = need;
        }
    }
    if (p->config.accumulate > 1) p->ncopies = 2;
}

/* ---- which bucket is read first ---- */

/* Returns the first bucket that the node reads and that is not among `seen`; -1 = none. */
static int next_read(const tutti_plan *p, const tutti_node *n, const bool *seen)
{
    int next = -1;
    for (int i = 0; i < n->nreads; i++) {
        const int b = n->reads[i].kind == TUTTI_DATUM_PARAM ? tutti_plan_bucket_of(p, n->reads[i].index) : -1;
        if (b >= 0 && !seen[b] && (next < 0 || b < next)) next = b;
    }
    return next;
}

static bool is_kernel(const tutti_node *n)
{
    return n->kind == TUTTI_NODE_FORWARD || n->kind == TUTTI_NODE_BACKWARD_PARAMS ||
           n->kind == TUTTI_NODE_BACKWARD_DATA || n->kind == TUTTI_NODE_SUM || n->kind == TUTTI_NODE_MOVE;
}

void tutti_plan_find_turns(tutti_plan *p)
{
    int turn = 0;
    bool *seen = tutti_alloc((size_t)p->nbuckets);
    for (int i = 0; i < p->graph->nnodes; i++) {
        const tutti_node *n = &p->graph->nodes[i];
        for (int b; is_kernel(n) && (b = next_read(p, n, seen)) >= 0; p->buckets[b].turn = turn++) seen[b] = true;
    }
    for (int b = 0; b < p->nbuckets; b++)
        if (!seen[b]) p->buckets[b].turn = turn++;
    free(seen);
}

/* ---- the walk ---- */

/* One slot's place in the binary counter. */
typedef struct {
    int slot, copy, nfolds;
    bool first, last;
} turn;

typedef struct {
    tutti_plan_builder *b;
    const tutti_plan *plan;
    const tutti_walk *walk;
    bool *seen; /* per bucket: its weights were read in this step */
    /* nodes that are still to come in this slot: for each bucket to sum and to read it, and to count control numbers */
    int *to_sum, *to_read, to_count;
} walker;

/* True if kernels and folds are left out from here on. */
static bool leaves_kernels(const walker *w)
{
    return w->b->leaves_kernels && w->b->loops[w->b->driver].nactions > 0;
}

static void add_kernel(walker *w, int node, const turn *t)
{
    if (leaves_kernels(w)) return;
    tutti_builder_add(w->b, (tutti_action){.kind = TUTTI_DO_KERNEL,
                                           .slot = t->slot,
                                           .node = node,
                                           .bucket = TUTTI_NO_BUCKET,
                                           .exchange = -1,
                                           .dst = t->copy,
                                           .src = -1});
}

static void add_folds(walker *w, int bucket, const turn *t)
{
    for (int f = 0; f < t->nfolds && !leaves_kernels(w); f++)
        tutti_builder_add(w->b, (tutti_action){.kind = TUTTI_DO_FOLD,
                                               .slot = t->slot,
                                               .node = -1,
                                               .bucket = bucket,
                                               .exchange = -1,
                                               .dst = t->copy - 1 - f,
                                               .src = t->copy - f});
}

static void ask(walker *w, void (*what)(tutti_plan_builder *, int), int bucket)
{
    if (what) what(w->b, bucket);
}

static void before_kernel(walker *w, const tutti_node *n)
{
    for (int b; (b = next_read(w->plan, n, w->seen)) >= 0;) {
        w->seen[b] = true;
        ask(w, w->walk->before_reading, b);
    }
}

static void pass_exchange(walker *w, int param, const turn *t)
{
    const int bucket = tutti_plan_bucket_of(w->plan, param);
    int *left = bucket == TUTTI_CONTROL_BUCKET ? &w->to_count : &w->to_sum[bucket];
    if (--*left) return;
    add_folds(w, bucket, t);
    if (!t->last) return;
    if (bucket != TUTTI_CONTROL_BUCKET)
        ask(w, w->walk->after_summing, bucket);
    else if (w->walk->after_counting)
        w->walk->after_counting(w->b);
}

static void pass_update(walker *w, int param, const turn *t)
{
    const int bucket = tutti_plan_bucket_of(w->plan, param);
    if (bucket != TUTTI_CONTROL_BUCKET && --w->to_read[bucket] == 0 && t->last) ask(w, w->walk->after_reading, bucket);
}

static void walk_slot(walker *w, const turn *t)
{
    const tutti_graph *g = w->plan->graph;
    for (int b = 0; b < w->plan->nbuckets; b++) w->to_sum[b] = w->to_read[b] = w->plan->buckets[b].nparams;
    w->to_count = w->plan->control.nparams;
    for (int i = 0; i < g->nnodes; i++) {
        const tutti_node *n = &g->nodes[i];
        if (is_kernel(n)) {
            before_kernel(w, n);
            add_kernel(w, i, t);
        }
        if (n->kind == TUTTI_NODE_TRAVEL && w->b->travel) w->b->travel(w->b, i);
        if (n->kind == TUTTI_NODE_EXCHANGE) pass_exchange(w, n->param, t);
        if (n->kind == TUTTI_NODE_UPDATE) pass_update(w, n->param, t);
    }
}

void tutti_builder_walk(tutti_plan_builder *b, const tutti_walk *walk)
{
    const tutti_plan *p = b->plan;
    tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
    const int nroots = tutti_plan_roots(p->config.slots, p->config.nranks, b->rank, roots);
    tutti_arena work = {0};
    walker w = {.b = b,
                .plan = p,
                .walk = walk,
                .seen = TUTTI_ARENA_NEW(&work, bool, p->nbuckets),
                .to_sum = TUTTI_ARENA_NEW(&work, int, p->nbuckets),
                .to_read = TUTTI_ARENA_NEW(&work, int, p->nbuckets)};
    turn t = {0};
    const int nmicro = p->config.slots ? 0 : tutti_plan_naccumulated(&p->config);
    for (; t.slot < nmicro; t.slot++) {
        t.copy = t.nfolds = t.slot > 0;
        t.last = t.slot == nmicro - 1;
        walk_slot(&w, &t);
    }
    for (int i = 0; i < nroots && !nmicro; i++)
        for (int j = 0; j < roots[i].nslots; j++, t.slot++) {
            t.copy = i + __builtin_popcount((unsigned)j);
            t.nfolds = __builtin_ctz(~(unsigned)j);
            t.last = i == nroots - 1 && j == roots[i].nslots - 1;
            walk_slot(&w, &t);
        }
    tutti_arena_release(&work);
}
