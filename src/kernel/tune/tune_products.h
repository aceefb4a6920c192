/* SPDX-License-Identifier: Apache-2.0 */
/* tune_products.h: measures every way to compute dense's forward pass, at many sizes, and grows the decision tree that
 * chooses between the ways (nt_selector.h).
 *
 * The tree learns from m in 16, 64, .. 4096, n and k in 128, 512, .. 8192 with m n k <= 2^33, and from random sizes
 * between these, evenly distributed on a logarithmic scale. Other random sizes judge the tree. All sizes are measured
 * three times, minutes apart, because disturbances by other programs last longer than the measurement of one size.
 * Threads: one at a time. */
#ifndef TUTTI_TUNE_PRODUCTS_H
#define TUTTI_TUNE_PRODUCTS_H

#include "../choose/nt_selector.h"

enum { TUTTI_PRODUCT_WAYS = TUTTI_TREE_WAYS };

typedef struct {
    int nthreads;
    double most_products;                             /* largest m n k that is measured; at most 2^33 */
    void (*progress)(void *arg, int done, int total); /* NULL if the caller wants no progress */
    void *arg;
} tutti_products_request;

typedef struct {
    tutti_nt_size size;
    /* is_grid: each side is a power of two; is_held: the size only judges the tree */
    bool is_grid, is_held;
    double seconds[TUTTI_PRODUCT_WAYS]; /* for each way: its shortest time in all sweeps */
    /* for each way: its time in the first sweep, and in the second */
    double first[TUTTI_PRODUCT_WAYS], second[TUTTI_PRODUCT_WAYS];
} tutti_products_sample;

typedef struct {
    const char *way[TUTTI_PRODUCT_WAYS]; /* names of the candidates that are the ways */
    int nways;
    tutti_products_sample *samples; /* to be released by free() */
    int n;
    tutti_choice_tree tree;
    /* scores of the tree: on the sizes that it has learned from, and on the held sizes */
    tutti_tree_score learned, held;
} tutti_products_tuned;

/* Measures all sizes and grows the tree. TUTTI_ERR_USAGE if there is only one way, as in a build without the library.
 * Takes minutes and up to 1 GiB. */
tutti_status tutti_tune_products(const tutti_products_request *r, tutti_products_tuned *out, tutti_failure *err);
/* Puts the tree into the file. */
void tutti_tune_products_add(const tutti_products_tuned *t, tutti_tune_file *f);
/* Return seconds, summed over the held sizes. tutti_tune_products_held_s: of one way, or for way < 0 of the fastest way
 * of each size. The second function: of the ways that the tree chooses. */
double tutti_tune_products_held_s(const tutti_products_tuned *t, int way);
/* Returns how well two sweeps agree: for which part of the held sizes the fastest way of one sweep took, in the other
 * sweep, at most 2 % longer than that sweep's fastest way (the mean of both directions). Even a perfect choice would
 * count as good only this often. */
double tutti_tune_products_agree(const tutti_products_tuned *t);

#endif
