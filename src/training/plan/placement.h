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
    int64_t bytes_at_least; /* that live at one node: no placement needs less */
    int64_t *value, *saved; /* a layer: offset in bytes, a multiple of 64; -1 = none */
    int64_t *grad;          /* a gradient of the graph: the same */
    int64_t *scratch;       /* a node of the graph: the same, of its kernel's scratch */
} tutti_placement;

/* The arrays are the arena's. */
void tutti_placement_make(const tutti_graph *g, tutti_arena *arena, tutti_placement *out);

#endif
