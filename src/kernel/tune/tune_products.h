/* SPDX-License-Identifier: Apache-2.0 */
/* tune_products.h: measures every way to dense's forward pass at many sizes and grows the tree that chooses between
 * them (nt_selector.h).
 *
 * The tree learns from m in 16, 64, .. 4096, n and k in 128, 512, .. 8192 with m n k <= 2^33, and from random whole
 * numbers between, evenly distributed on a logarithmic scale. It is judged by other random sizes, none of which it has
 * learned from. All sizes are measured three times, minutes apart, because disturbances by other programs last longer
 * than the measurement of one size. Threads: owner. */
#ifndef TUTTI_TUNE_PRODUCTS_H
#define TUTTI_TUNE_PRODUCTS_H

#include "../choose/nt_selector.h"

enum { TUTTI_PRODUCT_WAYS = TUTTI_TREE_WAYS };

typedef struct {
    int nthreads;
    double most_products;                             /* m n k of the largest size; at most 2^33 */
    void (*progress)(void *arg, int done, int total); /* NULL if the caller wants no progress */
    void *arg;
} tutti_products_request;

typedef struct {
    tutti_nt_size size;
    /* is_grid: each side is a power of two; is_held: the size only judges the tree */
    bool is_grid, is_held;
    double seconds[TUTTI_PRODUCT_WAYS];                           /* the shortest time of all sweeps */
    double first[TUTTI_PRODUCT_WAYS], second[TUTTI_PRODUCT_WAYS]; /* the times of these two sweeps */
} tutti_products_sample;

typedef struct {
    const char *way[TUTTI_PRODUCT_WAYS]; /* names of candidates */
    int nways;
    tutti_products_sample *samples; /* to be released by free() */
    int n;
    tutti_choice_tree tree;
    tutti_tree_score learned, held; /* scores of the tree, on sizes that it has learned from and on others */
} tutti_products_tuned;

/* Measures and learns. TUTTI_ERR_USAGE if there is nothing to choose between (a build without the library). Takes
 * minutes and up to 1 GiB. */
tutti_status tutti_tune_products(const tutti_products_request *r, tutti_products_tuned *out, tutti_failure *err);
/* Puts the tree into the file. */
void tutti_tune_products_add(const tutti_products_tuned *t, tutti_tune_file *f);
/* Returns the seconds that one way takes for all held sizes; for way < 0, the sum of the shortest times. The second
 * function returns the seconds of the tree's choices. */
double tutti_tune_products_held_s(const tutti_products_tuned *t, int way);
/* Returns for which share of the held sizes the way that was fastest in one sweep took at most 2 % longer than the
 * fastest way of the other sweep (the mean of both directions). This is how often even a perfect choice would count as
 * good. */
double tutti_tune_products_agree(const tutti_products_tuned *t);

#endif
