/* SPDX-License-Identifier: Apache-2.0 */
/* servers.c: packs trees over several servers in three phases (after Blink): sums go up to a root on each server, the
 * roots exchange in one hop, results go down.
 *
 * The vector is cut where any server's tree or root changes, so that a piece has one tree and one root on every server,
 * even if servers have different numbers of ranks. On a server all ranks are roots of equally many pieces, so each NIC
 * carries its part. In a piece the root of each server in turn collects the sums of the other servers. The collector's
 * local tree and the local trees of the other servers, each attached to it by one edge, form one tree over all ranks.
 * So a schedule on trees needs to know nothing of servers. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "pack_impl.h"
#include "packers.h"

/* number of equal pieces into which the vector is cut; divisible by 1 .. 8, the usual numbers of ranks of a server */
enum { SHARES = 840 };

typedef struct {
    int32_t first, n;      /* the server's ranks are consecutive: n of them from `first` */
    tutti_packing packing; /* trees in the server's own links; none: one-hop trees are used */
    int64_t weight;        /* total weight of the packing */
} server;

/* The tree and the root of a server in a piece of the vector. */
typedef struct {
    int32_t tree, root;
} local;

/* Adds the tree that these undirected edges make, from its root down. */
static void add_tree(tutti_packing *out, const int32_t *ends, int32_t root, int64_t weight)
{
    int32_t n = out->nranks, *order = tutti_alloc((size_t)n * sizeof *order), reached = 1;
    bool *seen = tutti_alloc((size_t)n * sizeof *seen);
    tutti_packing_tree(out, root, weight);
    order[0] = root, seen[root] = true;
    for (int32_t i = 0; i < reached; i++)
        for (int32_t e = 0; e < 2 * (n - 1); e++) {
            int32_t u = ends[e], v = ends[e ^ 1];
            if (u != order[i] || seen[v]) continue;
            tutti_packing_edge(out, u, v, NULL, 0);
            seen[v] = true, order[reached++] = v;
        }
    assert(reached == n);
    free(order), free(seen);
}

/* Writes the edges of one server's part of a piece from `at` on; returns the next index. */
static int32_t local_edges(const server *s, local l, int32_t *ends, int32_t at)
{
    for (int32_t k = 0; k < s->n - 1; k++) {
        if (s->packing.ntrees) {
            const tutti_tree_edge *e = &s->packing.edges[s->packing.trees[l.tree].first_edge + k];
            ends[at++] = s->first + e->src, ends[at++] = s->first + e->dst;
        } else {
            ends[at++] = s->first + l.root, ends[at++] = s->first + (l.root + k + 1) % s->n;
        }
    }
    return at;
}

/* The vector is cut into SHARES equal pieces. Finds the tree by which a server sums piece `at`, and the root rank of
 * that tree; returns the next piece that has another tree or root. */
static int32_t lookup(const server *s, int32_t at, local *l)
{
    int32_t upto = SHARES;
    int64_t before = 0;
    l->root = (int32_t)((int64_t)at * s->n / SHARES);
    for (int32_t r = 0; r <= s->n; r++) { /* finds the piece at which the next rank becomes the root */
        int32_t begins = (r * SHARES + s->n - 1) / s->n;
        if (begins > at && begins < upto) upto = begins;
    }
    l->tree = 0;
    for (int32_t t = 0; t < s->packing.ntrees; t++) {
        int32_t begins = (int32_t)(before * SHARES / s->weight);
        if (begins <= at) l->tree = t;
        if (begins > at && begins < upto) upto = begins;
        before += s->packing.trees[t].weight;
    }
    return upto;
}

/* Adds a piece: one tree for each server that may collect. A broadcast or reduction has one root, whose server
 * collects. */
static void add_piece(const server *s, int32_t nservers, const local *l, int64_t weight, tutti_packing *out)
{
    int32_t *ends = tutti_alloc((2 * (size_t)out->nranks + 1) * sizeof *ends);
    bool one_root = out->use == TUTTI_PACKING_BROADCAST;
    for (int32_t owner = 0; owner < nservers; owner++) {
        bool has_root = out->root >= s[owner].first && out->root < s[owner].first + s[owner].n;
        int32_t at = 0, middle = s[owner].first + l[owner].root;
        if (one_root && !has_root) continue;
        for (int32_t k = 0; k < nservers; k++) {
            at = local_edges(&s[k], l[k], ends, at);
            if (k != owner) ends[at++] = middle, ends[at++] = s[k].first + l[k].root;
        }
        add_tree(out, ends, one_root ? out->root : middle, weight);
    }
    free(ends);
}

/* Packs trees for the ranks of one server. If the server's links do not join its ranks, it returns TUTTI_OK and no
 * trees. */
static tutti_status pack_server(const tutti_network *g, server *s, double loss, tutti_failure *err)
{
    tutti_network own;
    int32_t *ranks = tutti_alloc((size_t)s->n * sizeof *ranks);
    for (int32_t i = 0; i < s->n; i++) ranks[i] = s->first + i;
    tutti_network_subset(g, ranks, s->n, &own);
    free(ranks);
    tutti_status st = TUTTI_OK;
    tutti_packing_init(&s->packing, TUTTI_PACKING_ALLREDUCE, &own);
    if (s->n > 1 && tutti_network_connected(&own))
        st = tutti_packing_of_links(&own, TUTTI_PACKING_ALLREDUCE, 0, loss, &s->packing, err);
    s->weight = st == TUTTI_OK ? tutti_packing_weight(&s->packing) : 0;
    tutti_network_release(&own);
    return st;
}

tutti_status tutti_packing_of_servers(const tutti_network *g, const int32_t *server_of, double loss, tutti_packing *out,
                                      tutti_failure *err)
{
    int32_t nservers = 0;
    server *s = tutti_alloc((size_t)g->nranks * sizeof *s);
    local *l = tutti_alloc((size_t)g->nranks * sizeof *l);
    tutti_status st = TUTTI_OK;
    for (int32_t r = 0; r < g->nranks; r++) {
        if (!r || server_of[r] != server_of[r - 1]) s[nservers++] = (server){.first = r};
        s[nservers - 1].n++;
    }
    for (int32_t k = 0; k < nservers && st == TUTTI_OK; k++) st = pack_server(g, &s[k], loss, err);
    for (int32_t at = 0, upto; at < SHARES && st == TUTTI_OK; at = upto) {
        upto = SHARES;
        for (int32_t k = 0; k < nservers; k++) {
            int32_t ends = lookup(&s[k], at, &l[k]);
            if (ends < upto) upto = ends;
        }
        add_piece(s, nservers, l, upto - at, out);
    }
    for (int32_t k = 0; k < nservers; k++) tutti_packing_release(&s[k].packing);
    free(s), free(l);
    if (st == TUTTI_OK) tutti_packing_tidy(out);
    return st;
}
