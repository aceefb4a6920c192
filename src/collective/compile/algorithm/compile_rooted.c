/* SPDX-License-Identifier: Apache-2.0 */
/* compile_rooted.c: collectives along a rooted tree of any shape (compile_rooted.h). */
#include "compile_rooted.h"

/* ---- interval trees ---- */

int32_t tutti_interval_levels(int32_t p, int32_t radix)
{
    int32_t n = 0;
    for (; p > 1; p = (p + radix - 1) / radix) n++;
    return n;
}

typedef struct {
    int32_t lo, hi, head;
} interval;

/* Returns part j of k of an interval. */
static interval part_of(interval all, int32_t j, int32_t k)
{
    int64_t n = all.hi - all.lo;
    interval part = {all.lo + (int32_t)(n * j / k), all.lo + (int32_t)(n * (j + 1) / k), 0};
    part.head = all.head >= part.lo && all.head < part.hi ? all.head : part.lo;
    return part;
}

void tutti_interval_place(int32_t p, int32_t root, int32_t radix, int32_t rank, tutti_tree_place *out)
{
    interval at = {0, p, root};
    out->parent = -1, out->level = 0, out->lo = 0, out->hi = p, out->nchildren = 0;
    for (int32_t level = 0; at.hi - at.lo > 1; level++) {
        int32_t k = at.hi - at.lo < radix ? at.hi - at.lo : radix;
        interval mine = at;
        for (int32_t j = 0; j < k; j++) {
            interval part = part_of(at, j, k);
            if (rank >= part.lo && rank < part.hi) mine = part;
            if (rank == at.head && part.head != rank)
                out->children[out->nchildren++] = (tutti_branch){part.head, level, part.lo, part.hi};
        }
        if (rank == mine.head && rank != at.head)
            out->parent = at.head, out->level = level, out->lo = mine.lo, out->hi = mine.hi;
        at = mine;
    }
}

/* ---- places of sums and chunks ---- */

/* Returns true if the rank keeps its sum in scratch: it has children, but in a reduce only the root has an output. */
static bool keeps_sum(const tutti_tree *t, const tutti_tree_place *place)
{
    return t->q->collective == TUTTI_REDUCE && place->parent >= 0 && place->nchildren > 0;
}

static int32_t first_scratch(const tutti_tree *t, int32_t rank)
{
    int32_t n = tutti_compile_first_scratch(t->q, rank);
    for (const tutti_tree *b = t->before; b; b = b->before) {
        tutti_tree_place place;
        b->place(b, rank, &place);
        n += keeps_sum(b, &place) + place.nchildren * b->nchunks;
    }
    return n;
}

static tutti_slice chunk(const tutti_tree *t, int32_t rank, int32_t buffer, int32_t k)
{
    return tutti_slice_at(rank, buffer, t->first + k, 1, t->of);
}

/* Returns the number of the buffer that holds a rank's sum. */
static int32_t sums(const tutti_tree *t, int32_t rank, const tutti_tree_place *place)
{
    return keeps_sum(t, place) ? first_scratch(t, rank) : tutti_compile_out(t->q, rank);
}

/* Returns the slice that a rank sends up: its sum, or its input if it has no children. */
static tutti_slice handed_up(const tutti_tree *t, int32_t rank, const tutti_tree_place *place, int32_t k)
{
    return chunk(t, rank, place->nchildren ? sums(t, rank, place) : 0, k);
}

/* Returns the place where chunk k of the rank's child i arrives. */
static tutti_slice inbox(const tutti_tree *t, int32_t rank, const tutti_tree_place *place, int32_t i, int32_t k)
{
    return chunk(t, rank, first_scratch(t, rank) + keeps_sum(t, place) + i * t->nchunks + k, k);
}

static void find_place(tutti_tree *t)
{
    t->place(t, t->r, &t->own);
    t->parent.nchildren = 0;
    if (t->own.parent >= 0) t->place(t, t->own.parent, &t->parent);
}

/* ---- sums that go up the tree ---- */

static int32_t up_stage(const tutti_tree *t, int32_t level, int32_t k)
{
    return t->nlevels - 1 - level + k;
}

static uint32_t up_hint(const tutti_tree *t, int32_t k)
{
    bool last = t->q->collective == TUTTI_REDUCE && k == t->nchunks - 1;
    return TUTTI_HINT_PULL | (last ? 0 : TUTTI_HINT_NO_ACK);
}

static void add_scratch(const tutti_tree *t)
{
    if (keeps_sum(t, &t->own)) tutti_compile_scratch(t->b, tutti_slice_at(t->r, 0, t->first, t->nchunks, t->of), 1);
    for (int32_t i = 0; i < t->own.nchildren; i++)
        for (int32_t k = 0; k < t->nchunks; k++) tutti_compile_scratch(t->b, chunk(t, t->r, 0, k), 1);
}

/* Receives the chunks of children from .. to - 1, all of one level, and adds them in the order of ranks to the sum that
 * step `sum` made (-1: to the input). */
static int32_t add_level(const tutti_tree *t, int32_t k, int32_t from, int32_t to, int32_t sum)
{
    const tutti_tree_place *own = &t->own;
    int32_t stage = up_stage(t, own->children[from].level, k), at = sums(t, t->r, own);
    const tutti_message recv = {
        .sequence = 4 * t->index + 1, .stage = stage, .channel = 2 * t->index, .hint = up_hint(t, k)};
    for (int32_t i = from; i < to; i++) {
        tutti_tree_place child;
        t->place(t, own->children[i].rank, &child);
        tutti_compile_recv(t->b, &recv, inbox(t, t->r, own, i, k), handed_up(t, own->children[i].rank, &child, k));
    }
    uint32_t when = (sum < 0 ? TUTTI_WHEN_READY : 0) | (keeps_sum(t, own) ? 0 : TUTTI_WHEN_FREE);
    tutti_step reduce = tutti_local_step(TUTTI_STEP_REDUCE, recv.sequence, stage, when);
    int32_t made = tutti_part_step(t->b, &reduce);
    tutti_balance tree = {0};
    bool added = false; /* true once this rank's own value is in the sum */
    for (int32_t i = from; i <= to; i++) {
        bool last = added ? i == to - 1 : i == to;
        if (!added && (i == to || own->children[i].rank > t->r)) {
            tutti_part_fold(t->b, chunk(t, t->r, sum < 0 ? 0 : at, k), tutti_balance_push(&tree, 1, i == to));
            added = true;
            last = i == to - 1;
        }
        if (i < to) tutti_part_fold(t->b, inbox(t, t->r, own, i, k), tutti_balance_push(&tree, 1, last));
    }
    tutti_part_out(t->b, chunk(t, t->r, at, k));
    return made;
}

static void send_up(const tutti_tree *t, int32_t k, int32_t sum)
{
    bool all = t->q->collective == TUTTI_ALLREDUCE;
    uint32_t when = sum < 0 ? TUTTI_WHEN_READY | (all ? TUTTI_WHEN_FREE : 0) : 0;
    const tutti_message send = {.sequence = 4 * t->index,
                                .stage = up_stage(t, t->own.level, k),
                                .channel = 2 * t->index,
                                .hint = up_hint(t, k),
                                .when = when};
    int32_t i = 0;
    while (t->parent.children[i].rank != t->r) i++;
    tutti_compile_send(t->b, &send, handed_up(t, t->r, &t->own, k), inbox(t, t->own.parent, &t->parent, i, k));
    if (sum >= 0) tutti_part_dep(t->b, sum);
}

static void sum_up(const tutti_tree *t, int32_t *made)
{
    add_scratch(t);
    for (int32_t k = 0; k < t->nchunks; k++) {
        int32_t sum = -1;
        for (int32_t to = t->own.nchildren, from; to > 0; to = from) { /* the deepest level first */
            from = to - 1;
            while (from > 0 && t->own.children[from - 1].level == t->own.children[to - 1].level) from--;
            sum = add_level(t, k, from, to, sum);
        }
        if (t->own.parent >= 0)
            send_up(t, k, sum);
        else
            made[k] = sum;
    }
}

/* ---- results that come down the tree ---- */

/* Returns the slice that holds the result on a rank; on the root of a broadcast it is in the input. */
static tutti_slice result(const tutti_tree *t, int32_t rank, int32_t k)
{
    bool given = t->q->collective == TUTTI_BROADCAST && rank == t->q->root;
    return chunk(t, rank, given ? 0 : tutti_compile_out(t->q, rank), k);
}

static void hand_down(const tutti_tree *t, const int32_t *made)
{
    bool all = t->q->collective == TUTTI_ALLREDUCE;
    int32_t base = all ? t->nlevels : 0;
    for (int32_t k = 0; k < t->nchunks; k++) {
        tutti_message m = {.channel = 2 * t->index + 1, .hint = all || k ? TUTTI_HINT_NO_ACK : 0};
        int32_t got = made && t->own.parent < 0 ? made[k] : -1;
        if (t->own.parent >= 0) {
            m.sequence = 4 * t->index + 3, m.stage = base + t->own.level + k, m.when = TUTTI_WHEN_FREE;
            got = tutti_compile_recv(t->b, &m, result(t, t->r, k), result(t, t->own.parent, k));
        }
        m.sequence = 4 * t->index + 2, m.when = got < 0 ? TUTTI_WHEN_READY : 0;
        for (int32_t i = 0; i < t->own.nchildren; i++) {
            const tutti_branch *child = &t->own.children[i];
            m.stage = base + child->level + k;
            tutti_compile_send(t->b, &m, result(t, t->r, k), result(t, child->rank, k));
            /* only the send to the first child of a level depends on the step that received the result: lowering makes
             * one copy for all children of the level */
            bool first = !i || child[-1].level != child->level;
            if (got >= 0 && first) tutti_part_dep(t->b, got);
        }
    }
}

/* ---- slices that are gathered ---- */

/* Returns where a rank collects the slices of the ranks below it. */
static tutti_slice collected(const tutti_tree *t, int32_t rank, const tutti_tree_place *place, int32_t lo, int32_t hi)
{
    int32_t buffer = !place->nchildren ? 0 : tutti_compile_first_scratch(t->q, rank) - (place->parent < 0);
    return tutti_slice_at(rank, buffer, lo, hi - lo, t->q->nranks);
}

static void gather_up(const tutti_tree *t)
{
    const tutti_tree_place *own = &t->own;
    tutti_slice in = tutti_slice_at(t->r, 0, t->r, 1, t->q->nranks), kept = collected(t, t->r, own, t->r, t->r + 1);
    int32_t got = -1;
    if (own->parent < 0) {
        tutti_compile_own_copy(t->q, t->b, in, kept);
    } else if (own->nchildren) {
        tutti_compile_scratch(t->b, tutti_slice_at(t->r, 0, own->lo, own->hi - own->lo, t->q->nranks), 1);
        tutti_compile_copy(t->b, 0, 0, TUTTI_WHEN_READY, in, kept);
    }
    for (int32_t i = own->nchildren - 1; i >= 0; i--) {
        const tutti_branch *child = &own->children[i];
        const tutti_message recv = {.sequence = 1, .stage = up_stage(t, child->level, 0), .when = TUTTI_WHEN_FREE};
        tutti_tree_place place;
        t->place(t, child->rank, &place);
        got = tutti_compile_recv(t->b, &recv, collected(t, t->r, own, child->lo, child->hi),
                                 collected(t, child->rank, &place, child->lo, child->hi));
    }
    if (own->parent < 0) return;
    const tutti_message send = {.stage = up_stage(t, own->level, 0), .when = got < 0 ? TUTTI_WHEN_READY : 0};
    tutti_compile_send(t->b, &send, collected(t, t->r, own, own->lo, own->hi),
                       collected(t, own->parent, &t->parent, own->lo, own->hi));
    if (got >= 0) tutti_part_dep(t->b, got);
}

/* ---- one rank's part ---- */

void tutti_rooted_part(tutti_tree *trees, int ntrees)
{
    const tutti_compile_request *q = trees[0].q;
    int32_t r = trees[0].r, out = tutti_compile_out(q, r), made[TUTTI_MAX_CHUNKS];
    tutti_compile_buffers(q, r, trees[0].b);
    if (q->collective == TUTTI_BROADCAST && r == q->root)
        tutti_compile_own_copy(q, trees[0].b, tutti_slice_at(r, 0, 0, 1, 1), tutti_slice_at(r, out, 0, 1, 1));
    for (int i = 0; i < ntrees; i++) {
        find_place(&trees[i]);
        if (tutti_collective_reduces(q->collective)) sum_up(&trees[i], made);
        if (q->collective == TUTTI_ALLREDUCE) hand_down(&trees[i], made);
        if (q->collective == TUTTI_BROADCAST) hand_down(&trees[i], NULL);
        if (q->collective == TUTTI_GATHER) gather_up(&trees[i]);
    }
}
