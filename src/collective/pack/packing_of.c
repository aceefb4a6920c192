/* SPDX-License-Identifier: Apache-2.0 */
/* packing_of.c: turns the links of a topology into a network, and packs trees into it. */
#include <math.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "pack_impl.h"
#include "packers.h"

enum { MAX_PACKED_RANKS = 32, MAX_ONE_HOP_RANKS = 64 };

tutti_status tutti_network_of(const tutti_topology *t, int32_t nranks, bool direct_only, tutti_network *out,
                              tutti_failure *err)
{
    tutti_fabric fabric;
    tutti_status st = tutti_topology_fits(t, nranks, err);
    if (st != TUTTI_OK) return st;
    if (!tutti_topology_graph(t, nranks, &fabric))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "topology %s: ranks of one host have no links to pack trees into; dgx1v or torus have",
                          tutti_topology_kind_name(t->kind));
    if (!direct_only && fabric.nnodes > TUTTI_PACKING_MAX_NODES) {
        st = tutti_fail(err, TUTTI_ERR_USAGE, "topology %s: %d nodes; trees are packed into networks of at most %d",
                        tutti_topology_kind_name(t->kind), fabric.nnodes, TUTTI_PACKING_MAX_NODES);
        tutti_fabric_release(&fabric);
        return st;
    }
    tutti_network_init(out, nranks, direct_only ? nranks : fabric.nnodes);
    for (int32_t i = 0; i < fabric.nlinks; i++) {
        const tutti_link *l = &fabric.links[i];
        if (direct_only && (l->src >= nranks || l->dst >= nranks)) continue;
        double sum = (double)tutti_network_capacity(out, l->src, l->dst) + l->bytes_per_s;
        if (sum >= (double)TUTTI_NETWORK_MAX_CAPACITY - 1) {
            st = tutti_fail(err, TUTTI_ERR_USAGE, "topology %s: %.4g TB/s between two nodes, trees take less than %.4g",
                            tutti_topology_kind_name(t->kind), sum / 1e12, (double)TUTTI_NETWORK_MAX_CAPACITY / 1e12);
            tutti_network_release(out);
            break;
        }
        tutti_network_add(out, l->src, l->dst, llround(l->bytes_per_s));
    }
    tutti_fabric_release(&fabric);
    return st;
}

/* Makes one-hop trees from every rank, or from the root alone. */
static void pack_one_hop(const tutti_network *g, tutti_packing_use use, int32_t root, tutti_packing *out)
{
    tutti_packing_init(out, use, g);
    out->root = root;
    for (int32_t r = 0; r < g->nranks; r++) {
        if (use == TUTTI_PACKING_BROADCAST && r != root) continue;
        tutti_packing_tree(out, r, 1);
        for (int32_t k = 1; k < g->nranks; k++) tutti_packing_edge(out, r, (r + k) % g->nranks, NULL, 0);
    }
}

tutti_status tutti_packing_of_links(const tutti_network *g, tutti_packing_use use, int32_t root, double loss,
                                    tutti_packing *out, tutti_failure *err)
{
    const tutti_fewest_options options = {.loss = loss};
    tutti_fewest_report report;
    tutti_packing all;
    tutti_status st = tutti_packing_exact(g, use, root, &all, NULL);
    if (st != TUTTI_OK) st = tutti_packing_by_weights(g, use, root, 0.01, &all, err);
    if (st != TUTTI_OK) return st;
    st = tutti_packing_fewest(g, &all, &options, out, &report, err);
    tutti_packing_release(&all);
    return st;
}

/* Finds the server of each rank; returns the number of servers, 1 if the topology has none or a server's ranks are not
 * consecutive. */
static int32_t find_servers(const tutti_topology *t, int32_t nranks, int32_t *server_of)
{
    bool kinds = t->kind == TUTTI_TOPOLOGY_CLUSTER || t->kind == TUTTI_TOPOLOGY_PCIE ||
                 t->kind == TUTTI_TOPOLOGY_DGX1P || t->kind == TUTTI_TOPOLOGY_DGX1V;
    int32_t n = 1;
    for (int32_t r = 0; r < nranks; r++) {
        server_of[r] = kinds ? tutti_topology_group_of(t, r) : 0;
        if (!r || server_of[r] == server_of[r - 1]) continue;
        for (int32_t before = 0; before < r; before++)
            if (server_of[before] == server_of[r]) return 1;
        n++;
    }
    return n;
}

static tutti_status too_many(int32_t nranks, int32_t most, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "%d ranks: trees are packed for at most %d here; 'direct' serves any rank count", nranks, most);
}

tutti_status tutti_packing_of(const tutti_topology *t, int32_t nranks, const tutti_packing_wish *wish,
                              tutti_packing *out, tutti_failure *err)
{
    tutti_network g;
    if (nranks > MAX_ONE_HOP_RANKS) return too_many(nranks, MAX_ONE_HOP_RANKS, err);
    tutti_status st = tutti_network_of(t, nranks, true, &g, err);
    if (st != TUTTI_OK) return st;
    int32_t *server_of = tutti_alloc((size_t)nranks * sizeof *server_of), nservers = find_servers(t, nranks, server_of);
    bool links = nranks > 1 && nservers == 1 && tutti_network_connected(&g);
    if (links && nranks > MAX_PACKED_RANKS) {
        st = too_many(nranks, MAX_PACKED_RANKS, err);
    } else if (links) {
        st = tutti_packing_of_links(&g, wish->use, wish->root, wish->loss, out, err);
    } else if (nservers > 1) {
        tutti_packing_init(out, wish->use, &g);
        out->root = wish->root;
        st = tutti_packing_of_servers(&g, server_of, wish->loss, out, err);
        if (st != TUTTI_OK) tutti_packing_release(out);
    } else {
        pack_one_hop(&g, wish->use, wish->root, out);
    }
    free(server_of);
    tutti_network_release(&g);
    return st;
}
