/* SPDX-License-Identifier: Apache-2.0 */
/* choice_tree.h: a small decision tree that picks one of several ways to do a thing by features of the thing, and how
 * it is grown from measured times.
 *
 * Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984. A sample's cost of a way is that way's
 * time over the shortest one's, less 1. A node is split where the means of both sides explain the most of what the ways
 * cost, each counted to 5 % at most, as a regression on all ways at once; a leaf takes the way that costs the least
 * there. How deep it grows is chosen by five-fold cross-validation. Deterministic: the same samples in the same order
 * give the same tree. Threads: a tree is frozen once made; growing is owner. */
#ifndef TUTTI_CHOICE_TREE_H
#define TUTTI_CHOICE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/failure.h"

enum { TUTTI_TREE_FEATURES = 16, TUTTI_TREE_WAYS = 8, TUTTI_TREE_NODES = 127 };

/* A node goes on to `less` where its feature is below the threshold, else to `more`: both stand behind it. A leaf has
 * less = more = -1. */
typedef struct {
    int32_t feature;
    double threshold;
    int32_t less, more;
    int32_t way; /* of a leaf */
} tutti_tree_node;

typedef struct {
    int32_t nfeatures, nways, nnodes; /* nnodes 0: there is no tree */
    tutti_tree_node node[TUTTI_TREE_NODES];
} tutti_choice_tree;

typedef struct {
    double feature[TUTTI_TREE_FEATURES];
    double seconds[TUTTI_TREE_WAYS]; /* above 0; INFINITY = that way cannot do it. At least one is finite */
} tutti_tree_sample;

/* n >= 1 samples of finite features. Cost: some milliseconds for a thousand samples. */
void tutti_choice_tree_grow(const tutti_tree_sample *samples, int n, int nfeatures, int nways, tutti_choice_tree *out);
/* The way for these features. Cost: a comparison a level, nanoseconds. */
int tutti_choice_tree_ask(const tutti_choice_tree *t, const double *feature);
/* TUTTI_ERR_DATA: it has no leaf at some end, a loop, a node that nothing leads to, or one that names no feature or way
 * of it. */
tutti_status tutti_choice_tree_check(const tutti_choice_tree *t, tutti_failure *err);

/* What a choice is worth on samples: sums over them. */
typedef struct {
    int n, near;             /* samples; chosen within 2 % of the shortest */
    double chosen_s, best_s; /* the choices' times, the shortest ones' */
} tutti_tree_score;
tutti_tree_score tutti_choice_tree_score(const tutti_choice_tree *t, const tutti_tree_sample *samples, int n);

#endif
