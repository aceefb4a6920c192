/* SPDX-License-Identifier: Apache-2.0 */
/* compile_rooted.h: collectives along rooted trees: sums go up, results come down, slices are gathered. The row of an
 * algorithm gives the shape.
 *
 * A shape gives the parent and the children of any rank, and the level of each edge (0 = at the root). The vector of a
 * tree is cut into equal chunks, which travel one after the other. The message of chunk k over an edge of level l has
 * stage
 * nlevels - 1 - l + k going up and `base` + l + k coming down, so that chunks follow each other through the tree.
 *
 * Sums: at each level, deepest first, the rank adds the sums of its children of that level, in the order of ranks, as a
 * balanced tree. If all parts of an interval tree are equally large, this is the canonical sum.
 *
 * Why two invocations do not race. On the way up, parents pull. In an allreduce the result that comes down is made of
 * the sum that went up, so it shows that the sum was read; and the message up says FREE. So nothing is acknowledged. In
 * a reduce the last chunk is acknowledged. On the way down, parents push. In a collective without a way up, a child
 * first reports that its output is free. Every message of a tree and direction has a channel and a sequence of its own.
 *
 * Threads: one at a time. */
#ifndef TUTTI_COMPILE_ROOTED_H
#define TUTTI_COMPILE_ROOTED_H

#include "../compile_impl.h"

enum { TUTTI_MAX_CHILDREN = 256, TUTTI_MAX_RADIX = 64, TUTTI_MAX_CHUNKS = 256 };

typedef struct {
    int32_t rank, level;
    int32_t lo, hi; /* interval trees: the child's subtree has the ranks lo .. hi - 1 */
} tutti_branch;

typedef struct {
    int32_t parent, level; /* rank of the parent, and level of the edge to it; both -1 at the root */
    int32_t lo, hi;        /* interval trees: this rank's subtree has the ranks lo .. hi - 1 */
    int32_t nchildren;
    tutti_branch children[TUTTI_MAX_CHILDREN]; /* the children, sorted by level, then by rank */
} tutti_tree_place;

/* One tree of a schedule as one rank sees it. */
typedef struct tutti_tree {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r;
    int32_t index; /* number of this tree among the schedule's trees */
    int32_t nlevels;
    int32_t first, nchunks, of;      /* chunk k is the slice (first + k, 1, of) */
    const struct tutti_tree *before; /* the tree whose scratch buffers come before those of this tree; NULL = none */
    void (*place)(const struct tutti_tree *t, int32_t rank, tutti_tree_place *out);
    tutti_tree_place own, parent; /* places of this rank and of its parent */
} tutti_tree;

/* Cuts [0, p) into `radix` parts as equal as can be, each headed by its first rank (the root's part by the root), and
 * cuts each part again. Subtrees are intervals for any p and any root. radix 2: the binomial tree. */
void tutti_interval_place(int32_t p, int32_t root, int32_t radix, int32_t rank, tutti_tree_place *out);
int32_t tutti_interval_levels(int32_t p, int32_t radix);

/* Makes all of a rank's part: buffers, then the steps of the collective on these trees (gather: one interval tree).
 * Fills `own` and `parent`. */
void tutti_rooted_part(tutti_tree *trees, int ntrees);

#endif
