/* SPDX-License-Identifier: Apache-2.0 */
/* choice_tree.h: a small decision tree, grown from measured times, that picks the fastest of several ways to do a thing
 * by features of the thing.
 *
 * Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984. The cost of a way for a sample is the
 * way's time over the shortest way's time, minus 1. A node is split where the mean costs of the two sides explain most
 * of the variance of the ways' costs, as in a regression on all ways at once. A cost above 0.05 counts as 0.05 there. A
 * leaf takes the way whose cost is least for its samples. Five-fold cross-validation chooses the depth. Deterministic:
 * the same samples in the same order give the same tree. Threads: any may read a tree that is grown; one thread grows
 * it. */
#ifndef TUTTI_CHOICE_TREE_H
#define TUTTI_CHOICE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/failure.h"

enum { TUTTI_TREE_FEATURES = 16, TUTTI_TREE_WAYS = 8, TUTTI_TREE_NODES = 127 };

/* A node. The search goes on at node `less` if the value of its feature is below the threshold, else at node `more`.
 * Both come after it in the array. A leaf has less = more = -1. */
typedef struct {
    int32_t feature;
    double threshold;
    int32_t less, more;
    int32_t way; /* in a leaf: the chosen way */
} tutti_tree_node;

typedef struct {
    int32_t nfeatures, nways, nnodes; /* nnodes: nodes of the tree; 0 if there is no tree */
    tutti_tree_node node[TUTTI_TREE_NODES];
} tutti_choice_tree;

typedef struct {
    double feature[TUTTI_TREE_FEATURES];
    double seconds[TUTTI_TREE_WAYS]; /* seconds of each way, above 0; INFINITY if the way cannot compute the sample. At
                                      * least one is finite */
} tutti_tree_sample;

/* Grows a tree from n >= 1 samples, whose features are finite. Cost: some milliseconds for a thousand samples. */
void tutti_choice_tree_grow(const tutti_tree_sample *samples, int n, int nfeatures, int nways, tutti_choice_tree *out);
/* Returns the way that the tree chooses for these features. Cost: one comparison for each level of the tree, some
 * nanoseconds. */
int tutti_choice_tree_ask(const tutti_choice_tree *t, const double *feature);
/* Returns TUTTI_ERR_DATA if the tree has a loop, a branch without a leaf, a node that no other leads to, or a node that
 * names a feature or way that does not exist. */
tutti_status tutti_choice_tree_check(const tutti_choice_tree *t, tutti_failure *err);

/* How good a tree's choices are, summed over samples. */
typedef struct {
    int n, near;             /* n: number of samples; near: number of choices within 2 % of the shortest time */
    double chosen_s, best_s; /* chosen_s: sum of the times of the chosen ways; best_s: sum of the shortest times */
} tutti_tree_score;
tutti_tree_score tutti_choice_tree_score(const tutti_choice_tree *t, const tutti_tree_sample *samples, int n);

#endif
