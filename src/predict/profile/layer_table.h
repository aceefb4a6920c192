/* SPDX-License-Identifier: Apache-2.0 */
/* layer_table.h: what each layer with parameters means for scaling, after Das et al. 2016 (arXiv 1602.06709): how much it
 * computes for each byte it exchanges, how long the rest of the backward pass and the next forward pass can hide its
 * exchange, and into how many groups hybrid parallelism would split a dense layer. Each layer is looked at alone, as if
 * nothing else travelled. Threads: shared (pure). */
#ifndef TUTTI_LAYER_TABLE_H
#define TUTTI_LAYER_TABLE_H

#include "../predict_costs.h"
#include "tutti/predict.h"

/* out: an entry for each layer of the model; *nrows of them are filled in, model order. */
tutti_status tutti_layer_table(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                               tutti_layer_prediction *out, int *nrows, tutti_failure *err);

/* How many groups of nranks / G ranks give a dense layer the least traffic, if a group splits the layer and groups split
 * the batch: G divides nranks and has the smallest
 *     2 batch / G (activations and errors, inside a group of several)  +  noutputs G / nranks (gradients, between groups).
 * nranks = data parallel, 1 = model parallel; the smaller of equals. */
int tutti_layer_hybrid_groups(int nranks, int64_t batch, int64_t noutputs);

#endif
