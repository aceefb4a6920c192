/* SPDX-License-Identifier: Apache-2.0 */
/* topology_table.c: the table of the kinds of topology, and functions for all kinds: links, routes, and the network as
 * a whole. A new kind is its file and its name at the end of KINDS. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/arena.h"
#include "../base/rng.h"
#include "topology_impl.h"

#define KINDS(row)                                                                                                     \
    row(host) row(star) row(cluster) row(pcie) row(dgx1p) row(dgx1v) row(dgx2) row(fat_tree) row(bigraph) row(torus)   \
        row(cards) row(nvswitch)

#define DECLARE(name) extern const tutti_topology_row tutti_topology_##name##_row;
KINDS(DECLARE)

#define ROW(name) &tutti_topology_##name##_row,
static const tutti_topology_row *const rows[] = {KINDS(ROW)};

/* Numbers of the rows. The kinds that topology.h names have the same numbers. */
#define NUMBER(name) NUMBER_##name,
enum { KINDS(NUMBER) NKINDS };
#define IS(name, kind) static_assert((int)NUMBER_##name == (int)TUTTI_TOPOLOGY_##kind, "KINDS is out of order");
IS(host, HOST)
IS(star, STAR)
IS(cluster, CLUSTER)
IS(pcie, PCIE)
IS(dgx1p, DGX1P)
IS(dgx1v, DGX1V)
IS(dgx2, DGX2)
IS(fat_tree, FAT_TREE)
IS(bigraph, BIGRAPH)
IS(torus, TORUS)
IS(cards, CARDS)
IS(nvswitch, NVSWITCH)
static_assert((int)NKINDS <= (int)TUTTI_TOPOLOGY_MAX_KINDS, "topology_impl.h: room for more kinds is wanted");

int tutti_topology_nkinds(void)
{
    return NKINDS;
}

const tutti_topology_row *tutti_topology_row_at(int kind)
{
    return kind >= 0 && kind < NKINDS ? rows[kind] : NULL;
}

const tutti_preset *tutti_topology_preset(const tutti_topology_row *row, tutti_figure f)
{
    for (int i = 0; i < row->npresets; i++)
        if (row->presets[i].figure == f) return &row->presets[i];
    return NULL;
}

const char *tutti_topology_kind_name(tutti_topology_kind kind)
{
    return rows[kind]->name;
}

const char *tutti_topology_kind_about(tutti_topology_kind kind)
{
    return rows[kind]->about;
}

void tutti_topology_kind_keys(tutti_topology_kind kind, char out[400])
{
    const tutti_topology_row *row = rows[kind];
    int used = 0;
    for (int i = 0; i < row->npresets; i++)
        used +=
            snprintf(out + used, (size_t)(400 - used), "%s%s", i ? " " : "", tutti_figure_name(row->presets[i].figure));
}

int32_t tutti_topology_nseats(const tutti_topology *t, int32_t nranks)
{
    return rows[t->kind]->nseats(t, nranks);
}

int32_t tutti_topology_nlinks(const tutti_topology *t, int32_t nranks)
{
    return rows[t->kind]->nlinks(t, nranks);
}

tutti_link tutti_cable_link(int32_t link, int32_t a, int32_t b, double bytes_per_s, double latency_s)
{
    bool back = link % 2;
    return (tutti_link){back ? b : a, back ? a : b, bytes_per_s, latency_s};
}

/* Numbers the nodes of seats. The node of a taken seat has the number of its rank; empty seats get the numbers behind
 * the ranks. */
static void seats_number(const tutti_topology *t, int32_t nranks, int32_t nseats, int32_t *node_of)
{
    int32_t next = nranks;
    tutti_place_invert(t, nranks, nseats, node_of);
    for (int32_t s = 0; s < nseats; s++)
        if (node_of[s] < 0) node_of[s] = next++;
}

bool tutti_topology_graph(const tutti_topology *t, int32_t nranks, tutti_fabric *out)
{
    const tutti_topology_row *row = rows[t->kind];
    if (!row->nnodes || tutti_topology_fits(t, nranks, NULL)) return false;
    int32_t nseats = row->nseats(t, nranks);
    int32_t *node_of = tutti_alloc((size_t)nseats * sizeof *node_of);
    seats_number(t, nranks, nseats, node_of);
    *out = (tutti_fabric){nranks, row->nnodes(t, nranks), row->nlinks(t, nranks), NULL};
    out->links = tutti_alloc((size_t)out->nlinks * sizeof *out->links);
    for (int32_t l = 0; l < out->nlinks; l++) {
        tutti_link link = row->link(t, nranks, l);
        if (link.src < nseats) link.src = node_of[link.src];
        if (link.dst < nseats) link.dst = node_of[link.dst];
        out->links[l] = link;
    }
    free(node_of);
    return true;
}

void tutti_fabric_release(tutti_fabric *network)
{
    free(network->links);
    *network = (tutti_fabric){0};
}

/* Returns the number that the kind's row uses for node `node`: a seat or a switch. */
static int32_t node_in_row(const tutti_topology *t, int32_t nranks, int32_t node)
{
    int32_t nseats = rows[t->kind]->nseats(t, nranks), found = node;
    if (node < nranks) return tutti_topology_seat_of(t, node);
    if (node >= nseats) return node;
    int32_t *node_of = tutti_alloc((size_t)nseats * sizeof *node_of);
    seats_number(t, nranks, nseats, node_of);
    for (int32_t s = 0; s < nseats; s++)
        if (node_of[s] == node) found = s;
    free(node_of);
    return found;
}

void tutti_topology_node_name(const tutti_topology *t, int32_t nranks, int32_t node, char out[40])
{
    const tutti_topology_row *row = rows[t->kind];
    if (row->nnodes)
        row->node_name(t, nranks, node_in_row(t, nranks, node), out);
    else
        snprintf(out, 40, "rank%d", (int)node);
}

bool tutti_topology_cell(const tutti_topology *t, int32_t nranks, int32_t node, double at[2])
{
    const tutti_topology_row *row = rows[t->kind];
    return row->cell && row->cell(t, node_in_row(t, nranks, node), at);
}

tutti_link tutti_topology_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    const tutti_topology_row *row = rows[t->kind];
    assert(link >= 0 && link < tutti_topology_nlinks(t, nranks));
    tutti_link found = row->link(t, nranks, link);
    int32_t nseats = row->nseats(t, nranks);
    if (!row->nnodes || (found.src >= nseats && found.dst >= nseats)) return found;
    int32_t *node_of = tutti_alloc((size_t)nseats * sizeof *node_of);
    seats_number(t, nranks, nseats, node_of);
    if (found.src < nseats) found.src = node_of[found.src];
    if (found.dst < nseats) found.dst = node_of[found.dst];
    free(node_of);
    return found;
}

void tutti_topology_link_name(const tutti_topology *t, int32_t nranks, int32_t link, char out[32])
{
    const tutti_topology_row *row = rows[t->kind];
    if (row->link_name) {
        row->link_name(t, nranks, link, out);
        return;
    }
    char from[40], to[40];
    tutti_link found = row->link(t, nranks, link);
    row->node_name(t, nranks, found.src, from);
    row->node_name(t, nranks, found.dst, to);
    snprintf(out, 32, "%.15s>%.15s", from, to);
}

int tutti_topology_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                         int32_t links[TUTTI_MAX_HOPS])
{
    const tutti_topology_row *row = rows[t->kind];
    if (!row->nnodes) return row->route(t, src, dst, channel, links);
    if (src == dst) return 0;
    return row->route(t, tutti_topology_seat_of(t, src), tutti_topology_seat_of(t, dst), channel, links);
}

int tutti_topology_port(const tutti_topology *t, int nlinks)
{
    const int behind = rows[t->kind]->behind_port;
    /* a route that is too short to leave a host and enter another stays inside one host and has no port, so the result
     * is -1 */
    return behind && nlinks >= 2 * behind ? nlinks - behind : -1;
}

int32_t tutti_topology_npaths(const tutti_topology *t)
{
    bool hashed = tutti_topology_preset(rows[t->kind], TUTTI_FIGURE_ROUTING) &&
                  tutti_count(t, TUTTI_FIGURE_ROUTING) == TUTTI_ROUTING_ECMP;
    return hashed ? tutti_count(t, TUTTI_FIGURE_PATHS) : 1;
}

int32_t tutti_ecmp_pick(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel, int level, int32_t n)
{
    uint64_t pair = (uint64_t)(uint32_t)src << 32 | (uint32_t)dst;
    uint64_t use = (uint64_t)(uint32_t)channel << 8 | (uint64_t)level;
    tutti_random4 drawn = tutti_random((uint64_t)t->figure[TUTTI_FIGURE_SEED], TUTTI_STREAM_ROUTE, pair, use);
    return (int32_t)tutti_random_below(drawn, (uint64_t)n);
}

const char *tutti_provenance_name(tutti_provenance p)
{
    switch (p) {
    case TUTTI_FROM_ASSUMED: return "assumed";
    case TUTTI_FROM_DETECTED: return "detected";
    case TUTTI_FROM_FITTED: return "fitted";
    case TUTTI_FROM_GIVEN: return "given";
    case TUTTI_FROM_READ: return "read";
    case TUTTI_FROM_MEASURED: return "measured";
    case TUTTI_FROM_RECALLED: return "recalled";
    }
    return "unknown";
}
