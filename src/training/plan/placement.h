/* SPDX-License-Identifier: Apache-2.0 */
/* placement.h: offsets of activations, their gradients, saved state and scratch in one private arena.
 *
 * Life times follow from the graph: a datum lives from its first writer to its last reader in the node list. Data
 * whose lives do not meet may share memory; a kernel that works in place hands its input's memory on, and a sum of
 * gradients lies over one of its parts. Works for training and for forward-only graphs. Threads: pure function. */
#ifndef TUTTI_PLACEMENT_H
#define TUTTI_PLACEMENT_H

#include "../graph/graph.h"

typedef struct {
    int64_t bytes, bytes_without_sharing;
    int64_t bytes_at_least; /* most bytes that live at one node: no placement needs less */
    int64_t *value, *saved; /* per layer: offset in bytes, a multiple of 64; -1 = none */
    int64_t *grad;          /* per gradient of the graph: offset in bytes, a multiple of 64; -1 = none */
    int64_t *scratch;       /* per node of the graph: offset of its kernel's scratch in bytes, a multiple of 64; -1 =
                             * none */
} tutti_placement;

/* Computes the placement. The arrays belong to `arena`. */
void tutti_placement_make(const tutti_graph *g, tutti_arena *arena, tutti_placement *out);

#endif
