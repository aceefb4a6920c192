/* SPDX-License-Identifier: Apache-2.0 */
/* graph_impl.h: the parts of a graph under construction, in the order in which tutti_graph_build calls them. */
#ifndef TUTTI_GRAPH_IMPL_H
#define TUTTI_GRAPH_IMPL_H

#include "graph.h"

static inline bool tutti_param_is_learned(const tutti_param *p)
{
    return p->desc.kind != TUTTI_PARAM_STATISTIC;
}

/* Which gradients there are, which of them are sums, and which layers run their backward_data (gradients.c). */
void tutti_graph_list_grads(tutti_graph *g);
/* The nodes in one legal order (nodes.c). */
void tutti_graph_list_nodes(tutti_graph *g);

/* Control numbers: the last parameters of a graph that trains. */
enum { TUTTI_CONTROL_LOSS, TUTTI_CONTROL_CORRECT, TUTTI_CONTROL_STOP, TUTTI_NCONTROLS };

#endif
