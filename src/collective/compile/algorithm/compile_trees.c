/* SPDX-License-Identifier: Apache-2.0 */
/* compile_trees.c: trees: several trees at once, packed into the links of the topology (collective/pack; after Blink).
 *
 *   allreduce   a tree carries a part of the vector that is proportional to its weight, in chunks: sums go up; as
 *               soon as the root has the sum of a chunk, it goes down again while later chunks still go up;
 *   reduce      up only; broadcast: down only. In both all trees begin at the collective's root.
 * Chunk c of a tree of height H: a rank at depth d sends it up in stage c + H - d and gets it back in stage c + H + d -
 * 1, so the pipeline takes chunks + 2 H - 1 stages. A tree of an allreduce is rooted in its middle. Every tree has four
 * sequences on a rank (take and add, send up, take down, send down), each in the order of chunks, and its own channel.
 *
 * Why two invocations do not race. Allreduce: a rank's message up says READY and FREE. It need not be acknowledged: the
 * result that comes down is made of it, so the sum that it sent was read. The message down may be written at once,
 * because the message up said that the output is free. Reduce: messages up are acknowledged. Broadcast: messages down
 * wait until the receiver's out is free. */
#include <math.h>
#include <stdlib.h>

#include "../../../base/arena.h"
#include "../../../base/divisor.h"
#include "../../pack/packers.h"
#include "../compile_impl.h"

enum { CHUNKS, LOSS };                           /* indices of the parameters */
enum { TAKE_UP, SEND_UP, TAKE_DOWN, SEND_DOWN }; /* sequences of a tree on a rank */
enum { MAX_SHARES = 1024 };

typedef struct {
    int32_t root, height;
    int32_t first, count; /* the tree carries the slice (first, count, of) of the vector, where `of` is trees.shares */
    int32_t channel;
    int32_t *parent, *depth; /* parent and depth of each rank; parent of the root: -1 */
    int32_t *nchildren;      /* number of children of each rank */
    int32_t *place;          /* number of each rank among its siblings */
    int32_t *scratch;        /* for each rank: number of its first scratch buffer for this tree */
} packed_tree;

typedef struct {
    int32_t ntrees, shares;
    packed_tree *trees;
    tutti_arena arena;
} trees;

typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    const trees *all;
    int32_t r, chunks;
    int32_t tree; /* index of the current tree */
} planting;

/* ---- data that all parts share ---- */

/* Sets each tree's share of the vector as a whole number: exact if the weights allow small numbers, else rounded to 1 /
 * MAX_SHARES. */
static void set_shares(const int64_t *weight, trees *all)
{
    int64_t unit = 0, sum = 0, given = 0, before = 0;
    for (int32_t i = 0; i < all->ntrees; i++) unit = tutti_common_divisor(weight[i], unit), sum += weight[i];
    bool exact = unit && sum / unit <= MAX_SHARES;
    all->shares = (int32_t)(exact ? sum / unit : MAX_SHARES);
    for (int32_t i = 0; i < all->ntrees; i++) { /* rounds the running sum, not each share, so that the shares add up to
                                                 * the whole */
        before += weight[i];
        int64_t upto = exact ? before / unit : (before * MAX_SHARES + sum / 2) / sum;
        all->trees[i].first = (int32_t)given, all->trees[i].count = (int32_t)(upto - given);
        given = upto;
    }
}

/* Makes the given rank the root: sets parents and depths of all ranks; returns the height. */
static int32_t hang(int32_t nranks, const int32_t *ends, int32_t root, int32_t *parent, int32_t *depth)
{
    int32_t height = 0, reached = 1;
    for (int32_t v = 0; v < nranks; v++) depth[v] = v == root ? 0 : -1, parent[v] = -1;
    for (int32_t d = 0; reached < nranks; d++)
        for (int32_t e = 0; e < nranks - 1; e++)
            for (int32_t turn = 0; turn < 2; turn++) {
                int32_t u = ends[2 * e + turn], v = ends[2 * e + 1 - turn];
                if (depth[u] != d || depth[v] >= 0) continue;
                depth[v] = height = d + 1, parent[v] = u;
                reached++;
            }
    return height;
}

static void set_tree(const tutti_packing *p, const tutti_packed_tree *from, bool any_root, tutti_arena *arena,
                     packed_tree *t)
{
    int32_t n = p->nranks, *ends = tutti_alloc((2 * (size_t)n + 1) * sizeof *ends);
    for (int32_t e = 0; e < n - 1; e++) {
        ends[2 * e] = p->edges[from->first_edge + e].src;
        ends[2 * e + 1] = p->edges[from->first_edge + e].dst;
    }
    t->parent = TUTTI_ARENA_NEW(arena, int32_t, n), t->depth = TUTTI_ARENA_NEW(arena, int32_t, n);
    t->root = from->root;
    t->height = hang(n, ends, t->root, t->parent, t->depth);
    for (int32_t r = 0; r < n && any_root; r++) {
        int32_t height = hang(n, ends, r, t->parent, t->depth);
        if (height < t->height) t->height = height, t->root = r;
    }
    hang(n, ends, t->root, t->parent, t->depth);
    free(ends);
}

/* Returns the number of scratch buffers of a tree on a rank: an inbox for each child and, in a reduce, one for partial
 * sums if there is no out. */
static int32_t nscratch(const tutti_compile_request *q, const packed_tree *t, int32_t rank)
{
    bool partial = q->collective == TUTTI_REDUCE && t->nchildren[rank] && rank != q->root;
    return q->collective == TUTTI_BROADCAST ? 0 : t->nchildren[rank] + partial;
}

/* Numbers each rank's children and scratch buffers, so that both ends of a message know the receiver's buffer. */
static void number_buffers(const tutti_compile_request *q, trees *all)
{
    int32_t p = q->nranks, *next = tutti_alloc((size_t)p * sizeof *next);
    for (int32_t r = 0; r < p; r++) next[r] = tutti_compile_first_scratch(q, r);
    for (int32_t i = 0; i < all->ntrees; i++) {
        packed_tree *t = &all->trees[i];
        t->nchildren = TUTTI_ARENA_NEW(&all->arena, int32_t, p), t->place = TUTTI_ARENA_NEW(&all->arena, int32_t, p);
        t->scratch = TUTTI_ARENA_NEW(&all->arena, int32_t, p);
        for (int32_t r = 0; r < p; r++)
            if (t->parent[r] >= 0) t->place[r] = t->nchildren[t->parent[r]]++;
        for (int32_t r = 0; r < p; r++) t->scratch[r] = next[r], next[r] += nscratch(q, t, r);
    }
    free(next);
}

static void trees_release(void *prepared)
{
    trees *all = prepared;
    tutti_arena_release(&all->arena);
    free(all);
}

/* Appends the trees of a packing; their weights are multiplied by `scale`. */
static void add_trees(const tutti_packing *p, bool any_root, double scale, trees *all, int64_t *weight)
{
    for (int32_t i = 0; i < p->ntrees; i++) {
        weight[all->ntrees] = scale == 1 ? p->trees[i].weight : llround((double)p->trees[i].weight * scale);
        set_tree(p, &p->trees[i], any_root, &all->arena, &all->trees[all->ntrees++]);
    }
}

/* Uses both kinds of links: even channels go over NVLink, odd ones over PCIe. Trees are packed into NVLink and a chain
 * goes over PCIe, with shares by their rates, so that both end together. */
static tutti_status split_prepare(const tutti_compile_request *q, tutti_packing_use use, trees *all, tutti_failure *err)
{
    tutti_topology nvlink = *q->topology;
    tutti_packing packed, chain;
    double rate;
    nvlink.figure[TUTTI_FIGURE_WIRES] = TUTTI_WIRES_NVLINK;
    tutti_status st =
        tutti_packing_of(&nvlink, q->nranks, &(tutti_packing_wish){use, q->root, q->param[LOSS] / 100.0}, &packed, err);
    if (st != TUTTI_OK) return st;
    tutti_packing_chain(q->topology, q->nranks, 1, &(tutti_packing_wish){use, q->root, 0}, &chain, &rate);
    int64_t *weight = tutti_alloc(((size_t)packed.ntrees + 2) * sizeof *weight);
    all->trees = TUTTI_ARENA_NEW(&all->arena, packed_tree, packed.ntrees + 2);
    const double together = (double)tutti_packing_weight(&packed);
    if (packed.ntrees)
        add_trees(&packed, use == TUTTI_PACKING_ALLREDUCE, tutti_packing_rate(&packed) / together, all, weight);
    for (int32_t i = 0; i < all->ntrees; i++) all->trees[i].channel = 2 * i;
    if (all->ntrees) {
        add_trees(&chain, use == TUTTI_PACKING_ALLREDUCE, rate, all, weight);
        all->trees[all->ntrees - 1].channel = 1;
        set_shares(weight, all);
    }
    free(weight);
    tutti_packing_release(&packed), tutti_packing_release(&chain);
    return TUTTI_OK;
}

static tutti_status wires_prepare(const tutti_compile_request *q, tutti_packing_use use, trees *all, tutti_failure *err)
{
    tutti_packing p;
    tutti_status st =
        tutti_packing_of(q->topology, q->nranks, &(tutti_packing_wish){use, q->root, q->param[LOSS] / 100.0}, &p, err);
    if (st != TUTTI_OK) return st;
    int64_t *weight = tutti_alloc(((size_t)p.ntrees + 1) * sizeof *weight);
    all->trees = TUTTI_ARENA_NEW(&all->arena, packed_tree, p.ntrees + 1);
    add_trees(&p, use == TUTTI_PACKING_ALLREDUCE, 1, all, weight);
    for (int32_t i = 0; i < all->ntrees; i++) all->trees[i].channel = i;
    if (all->ntrees) set_shares(weight, all);
    free(weight);
    tutti_packing_release(&p);
    return TUTTI_OK;
}

static bool is_split(const tutti_topology *t)
{
    return (t->kind == TUTTI_TOPOLOGY_DGX1P || t->kind == TUTTI_TOPOLOGY_DGX1V) &&
           t->figure[TUTTI_FIGURE_WIRES] == TUTTI_WIRES_SPLIT;
}

static tutti_status trees_prepare(const tutti_compile_request *q, void **prepared, tutti_failure *err)
{
    const tutti_packing_use use = q->collective == TUTTI_ALLREDUCE ? TUTTI_PACKING_ALLREDUCE : TUTTI_PACKING_BROADCAST;
    trees *all = tutti_alloc(sizeof *all);
    *all = (trees){0};
    tutti_status st =
        is_split(q->topology) && q->nranks > 1 ? split_prepare(q, use, all, err) : wires_prepare(q, use, all, err);
    if (st != TUTTI_OK) {
        trees_release(all);
        return st;
    }
    number_buffers(q, all);
    *prepared = all;
    return TUTTI_OK;
}

static tutti_status trees_accept(const tutti_compile_request *q, tutti_failure *err)
{
    tutti_status st = tutti_accept_fast_sums("trees", "the order of sums differs between trees", q, err);
    if (st != TUTTI_OK || q->topology) return st;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "trees are packed into the links of a topology, and none is given (--topology dgx1v)");
}

/* ---- one rank's part ---- */

static tutti_slice chunk(const planting *g, int32_t rank, int32_t buffer, int32_t c)
{
    const packed_tree *t = &g->all->trees[g->tree];
    return tutti_slice_at(rank, buffer, t->first * g->chunks + t->count * c, t->count, g->all->shares * g->chunks);
}

static bool is_child(const planting *g, int32_t r)
{
    return g->all->trees[g->tree].parent[r] == g->r;
}

/* Returns the buffer of the parent in which the child's sums arrive. */
static int32_t inbox(const planting *g, int32_t child)
{
    const packed_tree *t = &g->all->trees[g->tree];
    return t->scratch[t->parent[child]] + t->place[child];
}

/* Returns the buffer that a rank sends up: its input if it has no children, else the sum, in out or behind the
 * inboxes. */
static int32_t sums(const planting *g, int32_t rank)
{
    const packed_tree *t = &g->all->trees[g->tree];
    if (!t->nchildren[rank]) return 0;
    if (g->q->collective == TUTTI_REDUCE && rank != g->q->root) return t->scratch[rank] + t->nchildren[rank];
    return tutti_compile_out(g->q, rank);
}

static tutti_message message(const planting *g, int sequence, int32_t stage)
{
    return (tutti_message){
        .sequence = 4 * g->tree + sequence, .stage = stage, .channel = g->all->trees[g->tree].channel};
}

/* Takes chunk c from all children and adds; returns the step that has the sum. */
static int32_t take_up(const planting *g, int32_t c, uint32_t hint)
{
    const packed_tree *t = &g->all->trees[g->tree];
    int32_t stage = c + t->height - t->depth[g->r] - 1, to = sums(g, g->r);
    tutti_message m = message(g, TAKE_UP, stage);
    m.hint = hint;
    for (int32_t v = 0; v < g->q->nranks; v++)
        if (is_child(g, v)) tutti_compile_recv(g->b, &m, chunk(g, g->r, inbox(g, v), c), chunk(g, v, sums(g, v), c));
    bool to_out = g->q->collective == TUTTI_ALLREDUCE || g->r == g->q->root;
    tutti_step add =
        tutti_local_step(TUTTI_STEP_REDUCE, m.sequence, stage, TUTTI_WHEN_READY | (to_out ? TUTTI_WHEN_FREE : 0));
    int32_t made = tutti_part_step(g->b, &add);
    tutti_part_fold(g->b, chunk(g, g->r, 0, c), 0);
    for (int32_t v = 0; v < g->q->nranks; v++)
        if (is_child(g, v)) tutti_part_fold(g->b, chunk(g, g->r, inbox(g, v), c), 1);
    tutti_part_out(g->b, chunk(g, g->r, to, c));
    return made;
}

/* Sends chunk c of the sum to the parent. made: the step that makes the data, -1 = it is the input. */
static int32_t send_up(const planting *g, int32_t c, int32_t made, uint32_t hint)
{
    const packed_tree *t = &g->all->trees[g->tree];
    int32_t parent = t->parent[g->r];
    tutti_message m = message(g, SEND_UP, c + t->height - t->depth[g->r]);
    bool both = g->q->collective == TUTTI_ALLREDUCE;
    m.hint = hint, m.when = made < 0 ? TUTTI_WHEN_READY | (both ? TUTTI_WHEN_FREE : 0) : 0;
    int32_t step = tutti_compile_send(g->b, &m, chunk(g, g->r, sums(g, g->r), c), chunk(g, parent, inbox(g, g->r), c));
    if (made >= 0) tutti_part_dep(g->b, made);
    return step;
}

/* Returns the buffer from which the rank sends down. */
static int32_t result(const planting *g, int32_t rank)
{
    bool input = g->q->collective == TUTTI_BROADCAST && rank == g->q->root;
    return input ? 0 : tutti_compile_out(g->q, rank);
}

/* Receives chunk c of the result from the parent. after: the step that must be over before out is written, -1 =
 * none. */
static int32_t take_down(const planting *g, int32_t c, int32_t after, uint32_t hint)
{
    const packed_tree *t = &g->all->trees[g->tree];
    int32_t parent = t->parent[g->r], turn = g->q->collective == TUTTI_ALLREDUCE ? t->height : 0;
    tutti_message m = message(g, TAKE_DOWN, c + turn + t->depth[g->r] - 1);
    m.hint = hint, m.when = TUTTI_WHEN_FREE;
    int32_t step =
        tutti_compile_recv(g->b, &m, chunk(g, g->r, result(g, g->r), c), chunk(g, parent, result(g, parent), c));
    if (after >= 0) tutti_part_dep(g->b, after);
    return step;
}

static void send_down(const planting *g, int32_t c, int32_t made, uint32_t hint)
{
    const packed_tree *t = &g->all->trees[g->tree];
    int32_t turn = g->q->collective == TUTTI_ALLREDUCE ? t->height : 0;
    tutti_message m = message(g, SEND_DOWN, c + turn + t->depth[g->r]);
    m.hint = hint, m.when = made < 0 ? TUTTI_WHEN_READY : 0;
    for (int32_t v = 0; v < g->q->nranks; v++) {
        if (!is_child(g, v)) continue;
        tutti_compile_send(g->b, &m, chunk(g, g->r, result(g, g->r), c), chunk(g, v, result(g, v), c));
        if (made >= 0) tutti_part_dep(g->b, made);
    }
}

static void grow_chunk(const planting *g, int32_t c)
{
    const packed_tree *t = &g->all->trees[g->tree];
    bool up = g->q->collective != TUTTI_BROADCAST, down = g->q->collective != TUTTI_REDUCE;
    bool leaf = !t->nchildren[g->r], root = t->root == g->r;
    uint32_t up_hint = TUTTI_HINT_PULL | (down ? TUTTI_HINT_NO_ACK : 0), down_hint = up ? TUTTI_HINT_NO_ACK : 0;
    int32_t made = -1;
    if (up && !leaf) made = take_up(g, c, up_hint);
    if (up && !root) made = send_up(g, c, made, up_hint);
    if (!down) return;
    if (!root) made = take_down(g, c, made, down_hint);
    if (!leaf) send_down(g, c, made, down_hint);
}

static void trees_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    const trees *all = q->prepared;
    planting g = {.q = q, .b = b, .all = all, .r = r, .chunks = q->param[CHUNKS]};
    tutti_compile_buffers(q, r, b);
    for (g.tree = 0; g.tree < all->ntrees; g.tree++)
        for (int32_t i = 0; i < nscratch(q, &all->trees[g.tree], r); i++) {
            const packed_tree *t = &all->trees[g.tree];
            tutti_compile_scratch(b, tutti_slice_at(r, 0, t->first, t->count, all->shares), 1);
        }
    if (q->collective == TUTTI_BROADCAST && r == q->root)
        tutti_compile_own_copy(q, b, tutti_slice_at(r, 0, 0, 1, 1), tutti_slice_at(r, 1, 0, 1, 1));
    for (g.tree = 0; g.tree < all->ntrees; g.tree++)
        for (int32_t c = 0; c < g.chunks; c++) grow_chunk(&g, c);
}

const tutti_algorithm tutti_algorithm_trees = {
    .name = "trees",
    .summary = "trees packed into the topology's links, sums up and results down in chunks (after Blink)",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_BROADCAST | 1u << TUTTI_REDUCE,
    .determinism = TUTTI_DETERMINISM_PER_SLICE,
    .is_bound = true,
    .accept = trees_accept,
    .part = trees_part,
    .parameters = {{"chunks", 8, 1, 256, "pieces of a tree's share that follow each other"},
                   {"loss", 5, 0, 50, "percent of the rate that may go for having fewer trees"}},
    .variants = {"chunks=1", "chunks=32", "chunks=16,loss=0"},
    .prepare = trees_prepare,
    .release = trees_release,
};
