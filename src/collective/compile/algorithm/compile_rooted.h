/* SPDX-License-Identifier: Apache-2.0 */
/* compile_rooted.h: collectives along rooted trees: sums go up, results come down, slices are gathered; a row gives the
 * shape.
 *
 * A shape says, for any rank, who its parent is and who its children are, each edge with its level (0 = at the root).
 * What travels on one tree is a run of equal chunks, one after the other; the message of chunk k over an edge of level
 * l has stage nlevels - 1 - l + k going up and `base` + l + k coming down, so that chunks follow each other through the
 * tree.
 *
 * Sums: at each level, deepest first, what the children of that level bring is added to what is there, in the order of
 * ranks as a balanced tree. Where all parts of an interval tree are equally large this is the canonical sum.
 *
 * Two invocations. Going up, parents pull. In an allreduce the result that comes down says that what went up was read,
 * and what goes up carries FREE, so that nothing is acknowledged; in a reduce the last chunk is. Coming down, parents
 * push: alone, a child says first that its output is free. Every message of a tree and direction has a channel and a
 * sequence of its own.
 *
 * Threads: owner. */
#ifndef TUTTI_COMPILE_ROOTED_H
#define TUTTI_COMPILE_ROOTED_H

#include "../compile_impl.h"

enum { TUTTI_MAX_CHILDREN = 256, TUTTI_MAX_RADIX = 64, TUTTI_MAX_CHUNKS = 256 };

typedef struct {
    int32_t rank, level;
    int32_t lo, hi; /* interval trees: the ranks below this edge */
} tutti_branch;

typedef struct {
    int32_t parent, level; /* of the edge to the parent; -1: this is the root */
    int32_t lo, hi;        /* interval trees: the ranks that it stands for */
    int32_t nchildren;
    tutti_branch children[TUTTI_MAX_CHILDREN]; /* by level, then rank */
} tutti_tree_place;

/* One tree of a schedule as one rank sees it. */
typedef struct tutti_tree {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r;
    int32_t index; /* of the schedule's trees */
    int32_t nlevels;
    int32_t first, nchunks, of;      /* chunk k is the slice (first + k, 1, of) */
    const struct tutti_tree *before; /* the tree whose scratch buffers stand before ours, NULL = none */
    void (*place)(const struct tutti_tree *t, int32_t rank, tutti_tree_place *out);
    tutti_tree_place own, parent; /* where r and its parent stand */
} tutti_tree;

/* [0, p) is cut into `radix` parts (as equal as can be), each but the root's headed by its first rank, and so on:
 * subtrees are intervals for any p and any root. radix 2: the binomial tree. */
void tutti_interval_place(int32_t p, int32_t root, int32_t radix, int32_t rank, tutti_tree_place *out);
int32_t tutti_interval_levels(int32_t p, int32_t radix);

/* All of a rank's part: buffers, then what the collective asks of these trees (gather: of one interval tree). `own` and
 * `parent` are filled here. */
void tutti_rooted_part(tutti_tree *trees, int ntrees);

#endif
