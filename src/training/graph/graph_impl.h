/* SPDX-License-Identifier: Apache-2.0 */
/* graph_impl.h: declarations that the files of the graph share: its parts, in the order in which tutti_graph_build
 * calls them. */
#ifndef TUTTI_GRAPH_IMPL_H
#define TUTTI_GRAPH_IMPL_H

#include "graph.h"

/* Fills in tutti_param.is_frozen (frozen.c). TUTTI_ERR_USAGE, with the place in the job: a pattern matches no
 * parameter, or no parameter is left to learn. */
tutti_status tutti_graph_freeze(tutti_graph *g, tutti_failure *err);
/* Finds which layers are split (split.c). Failures name the layer. */
tutti_status tutti_graph_find_split(tutti_graph *g, tutti_failure *err);
/* Checks that the parameters of split layers are learned. Call it once parameters are known. */
tutti_status tutti_graph_check_split(const tutti_graph *g, tutti_failure *err);
/* Makes the kernel of a split layer: it computes this rank's part of the outputs for all samples of the group. */
tutti_status tutti_graph_create_split(tutti_graph *g, int layer, tutti_kernel_request *request, tutti_failure *err);
/* Records for each split layer whether its inputs need gradients, and lists the places. Call it once gradients are
 * listed. */
void tutti_graph_place_split(tutti_graph *g);
/* Lists the gradients, decides which of them are sums, and which layers run their backward_data (gradients.c). */
void tutti_graph_list_grads(tutti_graph *g);
/* Lists the nodes in one legal order (nodes.c). */
void tutti_graph_list_nodes(tutti_graph *g);

/* The control numbers: the last parameters of a graph that trains. */
enum { TUTTI_CONTROL_LOSS, TUTTI_CONTROL_CORRECT, TUTTI_CONTROL_STOP, TUTTI_NCONTROLS };

#endif
