/* SPDX-License-Identifier: Apache-2.0 */
/* pack_chain.c: a chain of ranks as a tree, and its rate. */
#include <math.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "packers.h"

static void way_add(const tutti_topology *t, int32_t channel, int32_t src, int32_t dst, int32_t *uses)
{
    int32_t links[TUTTI_MAX_HOPS];
    const int nhops = tutti_topology_route(t, src, dst, channel, links);
    for (int h = 0; h < nhops; h++) uses[links[h]]++;
}

void tutti_packing_chain(const tutti_topology *t, int32_t nranks, int32_t channel, const tutti_packing_wish *wish,
                         tutti_packing *out, double *rate)
{
    const tutti_packing_use use = wish->use;
    const tutti_network nothing = {.nranks = nranks, .nnodes = nranks};
    tutti_fabric net;
    tutti_topology_graph(t, nranks, &net);
    int32_t *uses = tutti_alloc(((size_t)net.nlinks + 1) * sizeof *uses);
    tutti_packing_init(out, use, &nothing);
    out->root = use == TUTTI_PACKING_BROADCAST ? wish->root : 0;
    tutti_packing_tree(out, out->root, 1);
    for (int32_t r = out->root + 1; r < nranks; r++) tutti_packing_edge(out, r - 1, r, NULL, 0);
    for (int32_t r = out->root - 1; r >= 0; r--) tutti_packing_edge(out, r + 1, r, NULL, 0);
    for (int32_t e = 0; e < out->nedges; e++) {
        way_add(t, channel, out->edges[e].src, out->edges[e].dst, uses);
        if (use != TUTTI_PACKING_BROADCAST) way_add(t, channel, out->edges[e].dst, out->edges[e].src, uses);
    }
    *rate = INFINITY;
    for (int32_t l = 0; l < net.nlinks; l++)
        if (uses[l]) *rate = fmin(*rate, net.links[l].bytes_per_s / uses[l]);
    free(uses);
    tutti_fabric_release(&net);
}
