/* SPDX-License-Identifier: Apache-2.0 */
/* check_result.c: checks whether the outputs hold what the collective owes.
 *
 * Inputs of all ranks must tile the leaves (one for each rank, more if the source says so, or the slots of a canonical
 * sum). When a rank completes an invocation, every cell that it owes must hold an expression that contains each leaf of
 * that invocation exactly once (a reduction) or is the leaf of the rank that the cell belongs to (a gather). Equal
 * expressions are one node and are proved once. After a barrier, the rank must know that all ranks were READY in that
 * invocation. */
#include <stdio.h>
#include <stdlib.h>

#include "check_impl.h"

static bool reduces(const tutti_checker *c)
{
    return tutti_collective_reduces(c->head->collective);
}

static void find_outputs(tutti_checker *c, tutti_check_rank *rank)
{
    rank->nouts = c->head->collective == TUTTI_ALL_TO_ALL ? c->head->nranks : 1;
    rank->outs = TUTTI_ARENA_NEW(&c->arena, int32_t, rank->nouts);
    for (int32_t k = 0; k < rank->nouts; k++) rank->outs[k] = -1;
    for (int32_t b = 0; b < rank->nbuffers; b++)
        if (rank->buffers[b].role == TUTTI_BUFFER_OUT) rank->outs[rank->buffers[b].ordinal] = rank->storage_of[b];
    for (int32_t b = 0; b < rank->nbuffers && c->head->in_place && rank->outs[0] < 0; b++)
        if (rank->buffers[b].role == TUTTI_BUFFER_IN && rank->buffers[b].ordinal == 0)
            rank->outs[0] = rank->storage_of[b];
}

/* ---- leaves: the inputs ---- */

static tutti_status count_inputs(tutti_checker *c)
{
    for (int32_t r = 0; r < c->head->nranks; r++) {
        tutti_check_rank *rank = &c->ranks[r];
        int32_t highest = -1;
        find_outputs(c, rank);
        rank->first_leaf = c->nleaves;
        for (int32_t b = 0; b < rank->nbuffers; b++) {
            if (rank->buffers[b].role != TUTTI_BUFFER_IN) continue;
            rank->nleaves++;
            if (rank->buffers[b].ordinal > highest) highest = rank->buffers[b].ordinal;
        }
        if (highest != rank->nleaves - 1)
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "rank %d: ordinals of its %d inputs are not 0, 1, ...", r,
                              rank->nleaves);
        c->nleaves += rank->nleaves;
    }
    return TUTTI_OK;
}

typedef struct {
    int32_t first, count, rank;
} span;

static int by_first(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static tutti_status tile(tutti_checker *c, span *spans)
{
    qsort(spans, (size_t)c->nleaves, sizeof *spans, by_first);
    const int64_t of_ranks = (int64_t)c->head->nranks * (c->source->leaves_a_rank ? c->source->leaves_a_rank : 1);
    int64_t end = c->head->slots ? c->head->slots : of_ranks, at = 0;
    for (int32_t i = 0; i < c->nleaves; i++) {
        if (spans[i].first != at)
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "leaf %d is %s the inputs (next is an input of rank %d)",
                              spans[i].first < at ? spans[i].first : (int)at,
                              spans[i].first < at ? "twice in" : "missing in", spans[i].rank);
        at += spans[i].count;
    }
    if (at != end)
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "inputs hold leaves 0 to %ld instead of %ld", (long)at, (long)end);
    return TUTTI_OK;
}

static uint32_t leaf_at(const tutti_checker *c, int32_t first, int32_t count)
{
    for (int32_t i = 0; i < c->nleaves; i++)
        if (c->leaf_first[i] == first && c->leaf_count[i] == count) return 1 + (uint32_t)i;
    return 0;
}

/* Builds the balanced tree over leaves [first, first + count) bottom up. An input that holds the sum of several leaves
 * is one subtree. Returns 0 if an input does not fit into the tree. */
static uint32_t balanced(tutti_checker *c, int32_t first, int32_t count)
{
    uint32_t leaf = leaf_at(c, first, count);
    if (leaf || count == 1) return leaf;
    uint32_t left = balanced(c, first, count / 2);
    uint32_t right = left ? balanced(c, first + count / 2, count / 2) : 0;
    return right ? tutti_values_add(&c->values, left, right) : 0;
}

tutti_status tutti_check_leaves(tutti_checker *c)
{
    tutti_status st = count_inputs(c);
    if (st != TUTTI_OK) return st;
    c->leaf_rank = TUTTI_ARENA_NEW(&c->arena, int32_t, c->nleaves + 1);
    c->leaf_ordinal = TUTTI_ARENA_NEW(&c->arena, int32_t, c->nleaves + 1);
    c->leaf_first = TUTTI_ARENA_NEW(&c->arena, int32_t, c->nleaves + 1);
    c->leaf_count = TUTTI_ARENA_NEW(&c->arena, int32_t, c->nleaves + 1);
    span *spans = TUTTI_ARENA_NEW(&c->arena, span, c->nleaves + 1);
    for (int32_t r = 0; r < c->head->nranks; r++)
        for (int32_t b = 0; b < c->ranks[r].nbuffers; b++) {
            const tutti_buffer *buffer = &c->ranks[r].buffers[b];
            if (buffer->role != TUTTI_BUFFER_IN) continue;
            int32_t leaf = c->ranks[r].first_leaf + buffer->ordinal;
            c->leaf_rank[leaf] = r;
            c->leaf_ordinal[leaf] = buffer->ordinal;
            c->leaf_first[leaf] = buffer->leaf;
            c->leaf_count[leaf] = buffer->nleaves;
            spans[leaf] = (span){buffer->leaf, buffer->nleaves, r};
        }
    if (reduces(c)) st = tile(c, spans);
    /* one invocation more, because the caller's accesses after the last one write the leaves of the next */
    tutti_values_init(&c->values, (uint32_t)(c->nleaves * (c->ninvocations + 1)));
    c->first_root = TUTTI_ARENA_NEW(&c->arena, uint32_t, c->ninvocations);
    if (c->head->collective == TUTTI_ALLREDUCE)
        c->held = TUTTI_ARENA_NEW(&c->arena, uint32_t, (int64_t)c->ninvocations * c->grid.ncells + 1);
    c->fixed = c->agree = true;
    c->canonical = c->head->slots > 0 && c->nleaves <= c->head->slots;
    if (c->canonical && st == TUTTI_OK) {
        c->canonical_root = balanced(c, 0, c->head->slots);
        c->canonical = c->canonical_root != 0;
    }
    return st;
}

/* ---- outputs: what ranks must hold ---- */

static bool wrong(tutti_checker *c, int32_t r, int32_t e, const tutti_cell *cell, const char *what)
{
    char where[120];
    tutti_explain_cell(c, cell, where, sizeof where);
    c->finished = true;
    tutti_fail(c->err, TUTTI_ERR_FAILED, "rank %d, end of invocation %d: %s %s", r, e, where, what);
    return false;
}

static bool prove_sum(tutti_checker *c, int32_t r, int32_t e, const tutti_cell *cell)
{
    uint32_t first = 1 + (uint32_t)(e * c->nleaves), culprit = 0;
    int times = 0;
    if (!tutti_values_prove(&c->values, cell->value, first, (uint32_t)c->nleaves, &culprit, &times)) {
        char leaf[100], what[160];
        tutti_explain_leaf(c, culprit, e, leaf, sizeof leaf);
        static const char *const words[] = {"lacks the contribution of %s", "holds a contribution of %s",
                                            "holds the contribution of %s twice"};
        snprintf(what, sizeof what, words[times], leaf);
        if (c->source->sums_wrong) *c->source->sums_wrong = true;
        return wrong(c, r, e, cell, what);
    }
    if (!c->first_root[e]) c->first_root[e] = cell->value;
    if (c->first_root[e] != cell->value) c->fixed = c->canonical = false;
    if (e == 0 && c->canonical_root != cell->value) c->canonical = false;
    return true;
}

static bool prove_copy(tutti_checker *c, int32_t r, int32_t e, const tutti_cell *cell, int32_t owner)
{
    uint32_t want = 1 + (uint32_t)(e * c->nleaves + c->ranks[owner].first_leaf);
    if (cell->value == want) return true;
    char what[160], leaf[100] = "something that was summed";
    if (cell->value <= c->values.nleaves) tutti_explain_leaf(c, cell->value, e, leaf, sizeof leaf);
    snprintf(what, sizeof what, "holds %s instead of the contribution of rank %d", leaf, owner);
    return wrong(c, r, e, cell, what);
}

/* Compares the value with that of the other ranks in the intervals [lo, hi) of the grid. */
static void compare_held(tutti_checker *c, int32_t e, int64_t lo, int64_t hi, uint32_t value)
{
    uint32_t *held = c->held + (int64_t)e * c->grid.ncells;
    for (int64_t i = lo; i < hi; i++) {
        if (!held[i]) held[i] = value;
        if (held[i] != value) c->agree = false;
    }
}

/* Proves that a slice of rank r's output (number slice->buffer) holds the right result. */
static bool prove_slice(tutti_checker *c, int32_t r, int32_t e, const tutti_slice *slice, int32_t owner)
{
    int32_t lo, hi, out = c->ranks[r].outs[slice->buffer];
    tutti_grid_find(&c->grid, slice, &lo, &hi);
    if (lo == hi) return true;
    if (out < 0 || lo < c->storages[out].lo || hi > c->storages[out].hi) {
        c->finished = true;
        tutti_fail(c->err, TUTTI_ERR_FAILED, "rank %d has no buffer `out` that holds the slice %d+%d/%d, which it owes",
                   r, slice->first, slice->count, slice->of);
        return false;
    }
    int64_t first = tutti_cell_at(c, out, e, lo), end = first + hi - lo;
    tutti_runs_cut(c, first, end);
    for (int64_t at = first; at < end; at = tutti_run_after(c, at)) {
        const tutti_cell *cell = &c->cells[at];
        if (!cell->value) return wrong(c, r, e, cell, "was never written");
        if (tutti_access_displaced(c, cell, out)) return wrong(c, r, e, cell, "holds other elements of the vector");
        if (!tutti_access_known(c, &c->threads[c->ranks[r].first_thread].clock, cell)) {
            c->suspicion = true;
            return wrong(c, r, e, cell, "may not be there yet: no step waits for what fills it");
        }
        if (!(reduces(c) ? prove_sum(c, r, e, cell) : prove_copy(c, r, e, cell, owner))) return false;
        const int64_t next = tutti_run_after(c, at);
        if (c->held) compare_held(c, e, lo + at - first, lo + (next < end ? next : end) - first, cell->value);
    }
    return true;
}

/* Proves that the slice is what rank `owner` gave as input. */
static bool prove_from(tutti_checker *c, int32_t r, int32_t e, const tutti_slice *slice, int32_t owner)
{
    if (c->ranks[owner].nleaves > 0) return prove_slice(c, r, e, slice, owner);
    c->finished = true;
    tutti_fail(c->err, TUTTI_ERR_FAILED, "rank %d has no input", owner);
    return false;
}

static bool prove_barrier(tutti_checker *c, int32_t r, int32_t e)
{
    const tutti_clock *end = &c->threads[c->ranks[r].first_thread].clock;
    for (int32_t q = 0; q < c->head->nranks; q++) {
        if (tutti_clock_marked(end, 2 * q) > e) continue;
        c->finished = c->suspicion = true;
        tutti_fail(c->err, TUTTI_ERR_FAILED, "rank %d may be through invocation %d before rank %d has begun it", r, e,
                   q);
        return false;
    }
    return true;
}

/* Proves the output of an allreduce: all of the vector, or the slices that the source names. */
static bool prove_owed(tutti_checker *c, int32_t r, int32_t e)
{
    tutti_slice slice = {.rank = r, .count = 1, .of = 1};
    if (!c->source->owed) return prove_slice(c, r, e, &slice, -1);
    for (int32_t i = 0; c->source->owed(c->source->owner, r, i, &slice); i++)
        if (!prove_slice(c, r, e, &slice, -1)) return false;
    return true;
}

bool tutti_result_rank(tutti_checker *c, int32_t r, int32_t invocation)
{
    int32_t p = c->head->nranks;
    const tutti_slice all = {.rank = r, .count = 1, .of = 1};
    switch (c->head->collective) {
    case TUTTI_ALLREDUCE: return prove_owed(c, r, invocation);
    case TUTTI_REDUCE_SCATTER: return prove_slice(c, r, invocation, &(tutti_slice){r, 0, r, 1, p}, -1);
    case TUTTI_REDUCE: return r != c->head->root || prove_slice(c, r, invocation, &all, -1);
    case TUTTI_BROADCAST: return prove_from(c, r, invocation, &all, c->head->root);
    case TUTTI_BARRIER: return prove_barrier(c, r, invocation);
    case TUTTI_ALL_GATHER:
    case TUTTI_GATHER:
    case TUTTI_ALL_TO_ALL:
    case TUTTI_NCOLLECTIVES: break;
    }
    bool matrix = c->head->collective == TUTTI_ALL_TO_ALL;
    for (int32_t q = 0; q < p && tutti_check_owes(c->head, r); q++) {
        const tutti_slice slice = {r, 0, q, 1, p}, block = {r, q, q * p + r, 1, p * p};
        if (!prove_from(c, r, invocation, matrix ? &block : &slice, q)) return false;
    }
    return true;
}

tutti_status tutti_result_end(tutti_checker *c)
{
    for (int32_t i = 0; i < c->nchannels; i++) {
        const tutti_channel *ch = &c->channels[i];
        if (ch->ngiven == ch->ntaken) continue;
        return tutti_fail(c->err, TUTTI_ERR_FAILED,
                          "channel %d from rank %d to rank %d: %d %s but %d %s in %d invocations", ch->number, ch->src,
                          ch->dst, ch->ngiven, c->source->capacity ? "sends" : "signals", ch->ntaken,
                          c->source->capacity ? "receives" : "waits", c->ninvocations);
    }
    tutti_determinism best = TUTTI_DETERMINISM_PER_SLICE;
    if (c->fixed) best = TUTTI_DETERMINISM_FIXED;
    if (c->canonical || !reduces(c)) best = TUTTI_DETERMINISM_CANONICAL;
    c->report.determinism = best;
    c->report.agree = c->agree;
    if (c->head->determinism <= best || c->source->rounds_sums) return TUTTI_OK;
    return tutti_fail(c->err, TUTTI_ERR_FAILED, "claims %s sums, but the strongest class that holds is %s",
                      tutti_determinism_name(c->head->determinism), tutti_determinism_name(best));
}
