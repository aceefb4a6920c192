/* SPDX-License-Identifier: Apache-2.0 */
/* compile_double_tree.c: double-tree: two binary trees at once, each with half of the vector, in chunks that follow
 * each other.
 *
 * An inner rank of one tree is a leaf in the other, so every link carries equally many bytes. With many chunks c the
 * vector moves once (twice in an allreduce) at full bandwidth after about lg p steps: Sanders, Speck and Traeff 2009.
 *
 * Both trees hang below the root, which has one child in each. The ranks below the root are numbered from 1 on. In the
 * first tree the lowest set bit of a number is its height; moving that bit gives parent and children (the in-order tree
 * that NCCL uses as well). Odd numbers are leaves. So the second tree is the first with the numbers mirrored (odd p) or
 * shifted by one (even p), which turns even numbers into odd ones.
 *
 *   broadcast, reduce   ceil(lg p) + c - 1 steps with chunks of n / 2c
 *   allreduce           2 ceil(lg p) + c - 1 steps: a chunk comes down as soon as its sum is at the root. The halves
 *                       are summed in two different trees: no canonical sums.
 *
 * compile_rooted.h says why two invocations do not race. Both trees have channels and sequences of their own. */
#include "compile_rooted.h"

enum { CHUNKS }; /* indices of the parameters */

/* Convert ranks, numbered from the root, to numbers of the second tree and back; the root stays 0. For even p the shift
 * wraps around. */
static int32_t number_in(int32_t tree, int32_t p, int32_t v)
{
    if (!tree || !v) return v;
    return p % 2 ? p - v : v > 1 ? v - 1 : p - 1;
}

static int32_t number_from(int32_t tree, int32_t p, int32_t w)
{
    if (!tree || !w) return w;
    return p % 2 ? p - w : w < p - 1 ? w + 1 : 1;
}

static int32_t parent_of(int32_t p, int32_t w)
{
    int32_t low = w & -w, up = (w ^ low) | low << 1;
    return up < p ? up : w ^ low;
}

static int32_t level_of(int32_t p, int32_t w)
{
    int32_t n = 0;
    while ((w = parent_of(p, w))) n++;
    return n;
}

static int32_t rank_of(const tutti_tree *t, int32_t w)
{
    return tutti_rank_at(t->q, (int64_t)number_from(t->index, t->q->nranks, w) + t->q->root);
}

static void add_child(const tutti_tree *t, int32_t w, int32_t level, tutti_tree_place *out)
{
    out->children[out->nchildren++] = (tutti_branch){.rank = rank_of(t, w), .level = level};
}

static void place(const tutti_tree *t, int32_t rank, tutti_tree_place *out)
{
    int32_t p = t->q->nranks, w = number_in(t->index, p, tutti_rank_at(t->q, (int64_t)rank - t->q->root));
    *out = (tutti_tree_place){.parent = -1};
    if (!w) {
        int32_t top = 1;
        while (2 * top < p) top *= 2;
        add_child(t, top, 0, out);
        return;
    }
    out->parent = rank_of(t, parent_of(p, w));
    out->level = level_of(p, w);
    int32_t low = w & -w, above = low / 2;
    while (above && w + above >= p) above /= 2;
    if (low > 1) add_child(t, w - low / 2, out->level + 1, out);
    if (above) add_child(t, w + above, out->level + 1, out);
}

static void double_tree_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t nchunks = q->param[CHUNKS], nlevels = tutti_interval_levels(q->nranks, 2);
    tutti_tree trees[2];
    for (int32_t i = 0; i < 2; i++)
        trees[i] = (tutti_tree){.q = q,
                                .b = b,
                                .r = r,
                                .index = i,
                                .nlevels = nlevels,
                                .first = i * nchunks,
                                .nchunks = nchunks,
                                .of = 2 * nchunks,
                                .before = i ? &trees[0] : NULL,
                                .place = place};
    tutti_rooted_part(trees, 2);
}

static tutti_status double_tree_accept(const tutti_compile_request *q, tutti_failure *err)
{
    return tutti_accept_fast_sums("double-tree", "the halves of the vector are summed in two different trees", q, err);
}

const tutti_algorithm tutti_algorithm_double_tree = {
    .name = "double-tree",
    .summary = "two binary trees, each with half of the vector, in chunks: full bandwidth after lg p rounds",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_BROADCAST | 1u << TUTTI_REDUCE,
    .determinism = TUTTI_DETERMINISM_PER_SLICE,
    .accept = double_tree_accept,
    .part = double_tree_part,
    .parameters = {{"chunks", 4, 1, TUTTI_MAX_CHUNKS, "that each half of the vector is cut into"}},
    .variants = {"chunks=1", "chunks=16", "chunks=64"},
};
