/* SPDX-License-Identifier: Apache-2.0 */
/* nt_selector.h: chooses the fastest way to a dense product C (m, n) = A (m, k) B (n, k)^T. B is the weights of dense
 * as they lie in memory.
 *
 * Shi, Xu, Chu: Supervised Learning Based Algorithm Selection for Deep Neural Networks, arXiv 1702.03192 (MTNN): a
 * model that has learned on measured sizes chooses between cuBLAS's NT and a transposition with NN after it. Here the
 * ways are all candidates of dense's forward pass, and the model is a tree in the tune file, "tree nt f32"
 * (tune_file.h). Threads: any (pure functions). */
#ifndef TUTTI_NT_SELECTOR_H
#define TUTTI_NT_SELECTOR_H

#include "../tune/tune_file.h"
#include "candidate.h"

#define TUTTI_NT_TREE "nt"

typedef struct {
    int64_t m, n, k;
} tutti_nt_size;

enum { TUTTI_NT_FEATURES = 14 };
/* Returns the name of feature number i. */
const char *tutti_nt_feature_name(int i);
/* Writes the features of a size. Most are base-2 logarithms: of the sides, of the sides' ratios, and of each matrix's
 * bytes divided by the bytes of each cache of the processor. Others are the exponent of two in n and in k (rows at
 * distances of powers of two share cache sets), and how often a packed element is multiplied. */
void tutti_nt_features(const tutti_processor *p, const tutti_nt_size *s, double out[TUTTI_NT_FEATURES]);

/* Returns TUTTI_ERR_DATA if the tree asks for features that this program does not know. */
tutti_status tutti_nt_check_tree(const tutti_tune_tree *t, tutti_failure *err);
/* Returns the name of the candidate to use: by the tree t, which must have been checked, or by a rule of thumb
 * (docs/selector.md) if t is NULL. Cost: under a microsecond. */
const char *tutti_nt_choose(const tutti_tune_tree *t, const tutti_processor *p, const tutti_nt_size *s);

#endif
