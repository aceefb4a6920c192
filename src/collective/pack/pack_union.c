/* SPDX-License-Identifier: Apache-2.0 */
/* pack_union.c: packs spanning trees of an undirected multigraph exactly, by matroid union.
 *
 * For the bound a/b every link becomes (b times its capacity) parallel edges; then `a` edge-disjoint spanning trees
 * exist (Tutte; Nash-Williams 1961). Edges are added to the trees one by one. For a new edge e0 a search finds the
 * shortest chain e0, e1, ... in which e(i) would close a circle through e(i+1) in the tree of e(i+1), and the last edge
 * would close no circle in some tree. Then each edge takes the place of the next edge, and the last edge moves to that
 * tree (Edmonds 1965; Roskind and Tarjan 1985). In one search parallel edges are alike, so a chain never visits two
 * edges of the same link and tree. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "pack_impl.h"

enum { MAX_EDGES = 600 };

/* links: pairs u < v. holds[t * nlinks + l]: whether tree t has an edge of link l. Edges of a link differ only in their
 * tree, so an edge is (link, tree). */
typedef struct {
    int32_t n, nlinks, ntrees;
    const tutti_arc *links;
    bool *holds;
    int32_t *queue, *from, *tree_of_entry; /* for a search: `queue` of entries (link, tree), tree -1 = the new edge; for
                                            * each entry the entry before it; the tree of each entry */
    bool *seen;
    int32_t *parent_link, *order, *where; /* for a breadth-first search in a tree. where: parent of each node;
                                           * parent_link: link to that parent; order: queue of nodes */
} joined;

/* Finds the links on the path from u to v in the tree; returns their number, -1 = not connected. */
static int32_t way_between(joined *j, int32_t tree, int32_t u, int32_t v, int32_t *links)
{
    const bool *has = j->holds + (size_t)tree * (size_t)j->nlinks;
    int32_t head = 0, tail = 0, n = 0;
    for (int32_t x = 0; x < j->n; x++) j->parent_link[x] = -2;
    j->parent_link[u] = -1;
    j->order[tail++] = u;
    while (head < tail && j->parent_link[v] == -2) {
        int32_t x = j->order[head++];
        for (int32_t l = 0; l < j->nlinks; l++) {
            if (!has[l] || (j->links[l].src != x && j->links[l].dst != x)) continue;
            int32_t y = j->links[l].src == x ? j->links[l].dst : j->links[l].src;
            if (j->parent_link[y] != -2) continue;
            j->parent_link[y] = l, j->where[y] = x;
            j->order[tail++] = y;
        }
    }
    if (j->parent_link[v] == -2) return -1;
    for (int32_t x = v; x != u; x = j->where[x]) links[n++] = j->parent_link[x];
    return n;
}

/* Moves the edges of a chain, from entry `at` back to the new edge: the edge of `at` goes into `tree`, and each earlier
 * edge goes into the tree that the edge after it has left. */
static void shift(joined *j, int32_t at, int32_t tree)
{
    while (at >= 0) {
        int32_t link = j->queue[at], old = j->tree_of_entry[at];
        j->holds[(size_t)tree * (size_t)j->nlinks + (size_t)link] = true;
        if (old >= 0) j->holds[(size_t)old * (size_t)j->nlinks + (size_t)link] = false;
        tree = old, at = j->from[at];
    }
}

/* Finds a place for one more edge of the link. */
static bool insert(joined *j, int32_t link)
{
    int32_t head = 0, tail = 0, *circle = tutti_alloc((size_t)j->n * sizeof *circle);
    bool placed = false;
    memset(j->seen, 0, (size_t)j->ntrees * (size_t)j->nlinks * sizeof *j->seen);
    j->queue[tail] = link, j->tree_of_entry[tail] = -1, j->from[tail++] = -1;
    while (head < tail && !placed) {
        int32_t at = head++;
        const tutti_arc *e = &j->links[j->queue[at]];
        for (int32_t t = 0; t < j->ntrees && !placed; t++) {
            if (t == j->tree_of_entry[at]) continue;
            int32_t n = way_between(j, t, e->src, e->dst, circle);
            if (n < 0) {
                shift(j, at, t);
                placed = true;
            }
            for (int32_t i = 0; i < n; i++) {
                size_t key = (size_t)t * (size_t)j->nlinks + (size_t)circle[i];
                if (j->seen[key]) continue;
                j->seen[key] = true;
                j->queue[tail] = circle[i], j->tree_of_entry[tail] = t, j->from[tail++] = at;
            }
        }
    }
    free(circle);
    return placed;
}

/* Writes the complete trees to the packing. */
static void to_trees(const joined *j, tutti_packing *made)
{
    bool *reached = tutti_alloc((size_t)j->n * sizeof *reached);
    for (int32_t t = 0; t < j->ntrees; t++) {
        const bool *has = j->holds + (size_t)t * (size_t)j->nlinks;
        tutti_packing_tree(made, made->root, 1);
        memset(reached, 0, (size_t)j->n * sizeof *reached);
        reached[made->root] = true;
        for (int32_t n = 1; n < j->n;)
            for (int32_t l = 0; l < j->nlinks; l++) {
                int32_t u = j->links[l].src, v = j->links[l].dst;
                if (!has[l] || reached[u] == reached[v]) continue;
                tutti_packing_edge(made, reached[u] ? u : v, reached[u] ? v : u, NULL, 0);
                reached[u] = reached[v] = true;
                n++;
            }
    }
    free(reached);
}

static int32_t undirected_links(const tutti_network *g, int64_t scale, int64_t unit, tutti_arc *links, int64_t *sum)
{
    int32_t n = 0;
    *sum = 0;
    for (int32_t i = 0; i < g->narcs; i++) {
        int64_t a = g->arcs[i].capacity, b = tutti_network_capacity(g, g->arcs[i].dst, g->arcs[i].src);
        if (g->arcs[i].src > g->arcs[i].dst || !b) continue;
        links[n] = g->arcs[i];
        links[n].capacity = (a < b ? a : b) / unit * scale;
        *sum += links[n++].capacity;
    }
    return n;
}

static void pack_links(joined *j, tutti_packing *made)
{
    size_t cells = (size_t)j->ntrees * (size_t)j->nlinks + 1, bytes = (size_t)j->n * sizeof(int32_t);
    j->holds = tutti_alloc(cells * sizeof *j->holds), j->seen = tutti_alloc(cells * sizeof *j->seen);
    j->queue = tutti_alloc(cells * sizeof *j->queue), j->from = tutti_alloc(cells * sizeof *j->from);
    j->tree_of_entry = tutti_alloc(cells * sizeof *j->tree_of_entry);
    j->parent_link = tutti_alloc(bytes), j->order = tutti_alloc(bytes), j->where = tutti_alloc(bytes);
    int64_t missing = (int64_t)j->ntrees * (j->n - 1);
    for (int64_t turn = 0; missing; turn++) /* one edge of each link in turn, so that trees get different shapes */
        for (int32_t l = 0; l < j->nlinks && missing; l++)
            if (turn < j->links[l].capacity) missing -= insert(j, l);
    to_trees(j, made);
    free(j->holds), free(j->seen), free(j->queue), free(j->from), free(j->tree_of_entry);
    free(j->parent_link), free(j->order), free(j->where);
}

tutti_status tutti_packing_union(const tutti_network *g, tutti_packing *made, tutti_failure *err)
{
    tutti_arc *links = tutti_alloc((size_t)(g->narcs + 1) * sizeof *links);
    int64_t unit = tutti_network_unit(g), sum;
    tutti_ratio rate = tutti_ratio_of(made->bound.num, made->bound.den * unit);
    int32_t nlinks = undirected_links(g, rate.den, unit, links, &sum);
    if (sum > MAX_EDGES) {
        free(links);
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "%lld unit links: an exact packing takes at most %d; give capacities with a larger common "
                          "divisor, or pack by weights",
                          (long long)sum, MAX_EDGES);
    }
    joined j = {.n = g->nranks, .nlinks = nlinks, .ntrees = (int32_t)rate.num, .links = links};
    made->unit = tutti_ratio_of(unit, rate.den);
    pack_links(&j, made);
    tutti_packing_tidy(made);
    free(links);
    return TUTTI_OK;
}
