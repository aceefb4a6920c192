/* SPDX-License-Identifier: Apache-2.0 */
/* cuts.c: least cuts of a network by max-flow. The rate that all ranks can have at once is found from cut to cut
 * (Dinkelbach): a cut that does not let a rate through sets the next, smaller rate, until every cut lets the rate
 * through. */
#include "cuts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/divisor.h"

static int64_t capacity_of(const tutti_link *link)
{
    return (int64_t)llround(link->bytes_per_s);
}

bool tutti_cuts_init(const tutti_topology *t, int32_t nranks, tutti_cuts *out)
{
    *out = (tutti_cuts){.topology = t, .exact = nranks <= TUTTI_CUTS_MAX_RANKS};
    if (!tutti_topology_graph(t, nranks, &out->net)) return false;
    for (int32_t l = 0; l < out->net.nlinks; l++)
        out->unit = tutti_common_divisor(capacity_of(&out->net.links[l]), out->unit);
    if (!out->unit) out->unit = 1;
    return true;
}

void tutti_cuts_release(tutti_cuts *cuts)
{
    tutti_fabric_release(&cuts->net);
}

/* Makes a solver of maximum flows. Capacities are counted in cuts->unit and multiplied by `factor`; the solver has two
 * nodes more than the network. */
static tutti_maxflow *solver_of(const tutti_cuts *cuts, int64_t factor, bool reversed)
{
    const tutti_fabric *net = &cuts->net;
    tutti_maxflow *f = tutti_maxflow_create(net->nnodes + 2);
    for (int32_t l = 0; l < net->nlinks; l++) {
        const tutti_link *link = &net->links[l];
        tutti_maxflow_arc(f, reversed ? link->dst : link->src, reversed ? link->src : link->dst,
                          capacity_of(link) / cuts->unit * factor);
    }
    return f;
}

/* Returns the capacity out of (or, reversed, into) the nodes of a side. */
static int64_t leaving(const tutti_cuts *cuts, const bool *side, bool reversed)
{
    int64_t sum = 0;
    for (int32_t l = 0; l < cuts->net.nlinks; l++) {
        const tutti_link *link = &cuts->net.links[l];
        int32_t from = reversed ? link->dst : link->src, to = reversed ? link->src : link->dst;
        if (side[from] && !side[to]) sum += capacity_of(link);
    }
    return sum;
}

/* Returns the narrowest cut around one rank, or around all ranks but one; used when max-flows would take too long. */
static tutti_cut cut_of_singles(const tutti_cuts *cuts, int32_t root, bool out)
{
    const tutti_fabric *net = &cuts->net;
    tutti_cut cut = {INFINITY, tutti_alloc((size_t)net->nnodes + 2)};
    double *goes = tutti_alloc((size_t)net->nnodes * sizeof *goes),
           *comes = tutti_alloc((size_t)net->nnodes * sizeof *comes);
    int32_t best = root;
    for (int32_t l = 0; l < net->nlinks; l++) {
        goes[net->links[l].src] += net->links[l].bytes_per_s;
        comes[net->links[l].dst] += net->links[l].bytes_per_s;
    }
    for (int32_t r = 0; r < net->nranks; r++) {
        double crosses = (r == root) == out ? goes[r] : comes[r];
        if (crosses < cut.bytes_per_s) cut.bytes_per_s = crosses, best = r;
    }
    for (int32_t v = 0; v < net->nnodes; v++) cut.side[v] = best == root ? v == root : v != best;
    free(goes), free(comes);
    return cut;
}

tutti_cut tutti_cuts_from(const tutti_cuts *cuts, int32_t root, bool out)
{
    if (!cuts->exact) return cut_of_singles(cuts, root, out);
    tutti_cut cut = {INFINITY, tutti_alloc((size_t)cuts->net.nnodes + 2)};
    tutti_maxflow *f = solver_of(cuts, 1, !out);
    int64_t least = TUTTI_MAXFLOW_UNBOUNDED;
    for (int32_t v = 0; v < cuts->net.nranks; v++) {
        if (v == root) continue;
        int64_t flow = tutti_maxflow_solve(f, root, v, least);
        if (flow >= least) continue;
        least = flow;
        tutti_maxflow_cut(f, cut.side);
    }
    tutti_maxflow_destroy(f);
    if (cuts->net.nranks > 1) cut.bytes_per_s = (double)least * (double)cuts->unit;
    return cut;
}

void tutti_cut_links(const tutti_cuts *cuts, const tutti_cut *cut, bool in, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    for (int32_t l = 0; l < cuts->net.nlinks && used + 48 < room; l++) {
        const tutti_link *link = &cuts->net.links[l];
        char name[32];
        if (cut->side[link->src] == in || cut->side[link->dst] != in) continue;
        tutti_topology_link_name(cuts->topology, cuts->net.nranks, l, name);
        used += (size_t)snprintf(out + used, room - used, "%s%s", used ? " " : " (", name);
    }
    if (used) snprintf(out + used, room - used, used + 48 < room ? ")" : " ...)");
}

tutti_cut tutti_cuts_least(const tutti_cuts *cuts)
{
    tutti_cut out = tutti_cuts_from(cuts, 0, true), in = tutti_cuts_from(cuts, 0, false);
    bool inward = in.bytes_per_s < out.bytes_per_s;
    /* the capacity into a set is the capacity out of all other nodes */
    for (int32_t v = 0; v < cuts->net.nnodes; v++) in.side[v] = !in.side[v];
    free(inward ? out.side : in.side);
    return inward ? in : out;
}

double tutti_cuts_leaving(const tutti_cuts *cuts, const int32_t *part, int32_t which)
{
    const tutti_fabric *net = &cuts->net;
    if (!cuts->exact) {
        bool *side = tutti_alloc((size_t)net->nnodes);
        for (int32_t r = 0; r < net->nranks; r++) side[r] = part[r] == which;
        double sum = (double)leaving(cuts, side, false);
        free(side);
        return sum;
    }
    tutti_maxflow *f = solver_of(cuts, 1, false);
    for (int32_t r = 0; r < net->nranks; r++)
        if (part[r] == which)
            tutti_maxflow_arc(f, net->nnodes, r, TUTTI_MAXFLOW_UNBOUNDED / net->nranks);
        else
            tutti_maxflow_arc(f, r, net->nnodes + 1, TUTTI_MAXFLOW_UNBOUNDED / net->nranks);
    int64_t flow = tutti_maxflow_solve(f, net->nnodes, net->nnodes + 1, TUTTI_MAXFLOW_UNBOUNDED);
    tutti_maxflow_destroy(f);
    return (double)flow * (double)cuts->unit;
}

int32_t tutti_cut_nranks(const tutti_cuts *cuts, const tutti_cut *cut)
{
    int32_t n = 0;
    for (int32_t r = 0; r < cuts->net.nranks; r++) n += cut->side[r];
    return n;
}

/* Returns true if each sink gets num/den from every rank at once. If not, side is the set that limits the rate. */
static bool rate_fits(const tutti_cuts *cuts, int64_t num, int64_t den, int32_t to, bool reversed, bool *side)
{
    int32_t p = cuts->net.nranks;
    tutti_maxflow *f = solver_of(cuts, den, reversed);
    bool fits = true;
    for (int32_t r = 0; r < p; r++) tutti_maxflow_arc(f, cuts->net.nnodes, r, num);
    for (int32_t r = to < 0 ? 0 : to; r < (to < 0 ? p : to + 1) && fits; r++)
        fits = tutti_maxflow_solve(f, cuts->net.nnodes, r, num * p) >= num * p;
    if (!fits) tutti_maxflow_cut(f, side);
    tutti_maxflow_destroy(f);
    return fits;
}

tutti_cut tutti_cuts_gather(const tutti_cuts *cuts, int32_t to, bool reversed)
{
    int32_t last = to < 0 ? 0 : to;
    tutti_cut cut = {0, tutti_alloc((size_t)cuts->net.nnodes + 2)};
    for (int32_t v = 0; v < cuts->net.nnodes; v++) cut.side[v] = v != last;
    for (bool fits = false; !fits;) {
        cut.bytes_per_s = (double)leaving(cuts, cut.side, reversed);
        int64_t num = leaving(cuts, cut.side, reversed) / cuts->unit, den = tutti_cut_nranks(cuts, &cut);
        fits = !cuts->exact || !num || rate_fits(cuts, num, den, to, reversed, cut.side);
    }
    return cut;
}
