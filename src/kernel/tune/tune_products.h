/* SPDX-License-Identifier: Apache-2.0 */
/* tune_products.h: measures every way to dense's forward pass at many sizes and grows the tree that chooses between
 * them (nt_selector.h).
 *
 * Sizes that the tree learns from: m in 16, 64, .. 4096, n and k in 128, 512, .. 8192 with m n k <= 2^33, and whole
 * numbers between, drawn evenly on a logarithmic scale; sizes that it is judged by are drawn apart and are none of
 * them. All are measured three times over, minutes apart: what else the machine does lasts longer than it takes to
 * measure one. Threads: owner. */
#ifndef TUTTI_TUNE_PRODUCTS_H
#define TUTTI_TUNE_PRODUCTS_H

#include "../choose/nt_selector.h"

enum { TUTTI_PRODUCT_WAYS = TUTTI_TREE_WAYS };

typedef struct {
    int nthreads;
    double most_products;                             /* m n k of the largest size, at most 2^33 */
    void (*progress)(void *arg, int done, int total); /* NULL = nobody wants to know */
    void *arg;
} tutti_products_request;

typedef struct {
    tutti_nt_size size;
    bool is_grid, is_held;                                        /* a power of two in each side; judged by */
    double seconds[TUTTI_PRODUCT_WAYS];                           /* the shortest of all sweeps */
    double first[TUTTI_PRODUCT_WAYS], second[TUTTI_PRODUCT_WAYS]; /* of these sweeps */
} tutti_products_sample;

typedef struct {
    const char *way[TUTTI_PRODUCT_WAYS]; /* names of candidates */
    int nways;
    tutti_products_sample *samples; /* free() */
    int n;
    tutti_choice_tree tree;
    tutti_tree_score learned, held; /* of the tree, on what it has learned from and what it has not */
} tutti_products_tuned;

/* TUTTI_ERR_USAGE: nothing to choose between (a build without the library).  Takes minutes and up to a GiB. */
tutti_status tutti_tune_products(const tutti_products_request *r, tutti_products_tuned *out, tutti_failure *err);
/* Puts the tree into the file. */
void tutti_tune_products_add(const tutti_products_tuned *t, tutti_tune_file *f);
/* What always going one way would have taken, and what the tree chose, on the held sizes; way < 0: the shortest. */
double tutti_tune_products_held_s(const tutti_products_tuned *t, int way);
/* At how many of the held sizes the way that was the soonest in one sweep is within 2 % of the soonest of the other,
 * the mean of both directions: no choice can be seen to be better than that. */
double tutti_tune_products_agree(const tutti_products_tuned *t);

#endif
