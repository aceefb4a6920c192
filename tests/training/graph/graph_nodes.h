/* SPDX-License-Identifier: Apache-2.0 */
/* graph_nodes.h: which nodes of a step graph there are, and who reads what last. */
#ifndef TUTTI_GRAPH_NODES_H
#define TUTTI_GRAPH_NODES_H

#include "training/graph/graph.h"

static inline int find(const tutti_graph *g, tutti_node_kind kind, int layer, int param)
{
    for (int i = 0; i < g->nnodes; i++)
        if (g->nodes[i].kind == kind && g->nodes[i].layer == layer && (param < 0 || g->nodes[i].param == param))
            return i;
    return -1;
}

static inline bool has(const tutti_datum *data, int n, tutti_datum d)
{
    for (int i = 0; i < n; i++)
        if (data[i].kind == d.kind && data[i].index == d.index) return true;
    return false;
}

static inline int last_reader(const tutti_graph *g, tutti_datum d)
{
    int last = -1;
    for (int i = 0; i < g->nnodes; i++)
        if (g->nodes[i].kind != TUTTI_NODE_UPDATE && has(g->nodes[i].reads, g->nodes[i].nreads, d)) last = i;
    return last;
}

#endif
