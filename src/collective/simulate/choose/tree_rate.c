/* SPDX-License-Identifier: Apache-2.0 */
/* tree_rate.c: the best rate of an allreduce over trees: a linear program over the cuts of the network, which are added
 * as they are needed.
 *
 * Columns: b_e and r_e, the capacity of link e for sending results down and for sending sums up, together at most the
 * link's capacity; x_v, the part of the vector whose trees are rooted at v. By Edmonds' theorem parts x can be sent
 * down if and only if for every set U that has a rank, the capacity b into U is at least the sum of x over the ranks
 * outside U. With switches, which do not copy, this holds if as much capacity enters each switch as leaves it
 * (Bang-Jensen, Frank and Jackson 1995), which is a row for each switch. Sending sums up is the mirror image. The
 * program starts with rows for single ranks; a max-flow to each rank finds the sets U that its answer violates. Each
 * answer is an upper bound of the rate, and the first one that violates nothing is the rate. */
#include "tree_rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../pack/simplex.h"

enum { MAX_ROUNDS = 80, MAX_ROWS = 700 };
static const double FINE = 1e7; /* capacities are rounded to whole multiples of largest / FINE */

typedef struct {
    const tutti_fabric *net;
    double largest; /* largest capacity of a link; columns count in fractions of it */
    tutti_lp lp;
    double *z, value;
} search;

/* Returns the column of link l in one of the two phases. The columns of the ranks' parts x follow. */
static int32_t column_of(const tutti_fabric *net, int32_t l, bool handing_out)
{
    return handing_out ? l : net->nlinks + l;
}

/* Adds the row of a set of nodes: its incoming capacity (handing out) or its outgoing capacity (summing up). */
static void set_add(search *s, const bool *in, bool handing_out)
{
    const tutti_fabric *net = s->net;
    double *row = tutti_lp_row(&s->lp, 0);
    for (int32_t l = 0; l < net->nlinks; l++) {
        bool src = in[net->links[l].src], dst = in[net->links[l].dst];
        if (handing_out ? !src && dst : src && !dst) row[column_of(net, l, handing_out)] = -1;
    }
    for (int32_t v = 0; v < net->nranks; v++)
        if (!in[v]) row[2 * net->nlinks + v] = 1;
}

/* Adds the row of a switch: no more goes out than in (handing out), or no more in than out (summing up). */
static void switch_add(search *s, int32_t node, bool handing_out)
{
    double *row = tutti_lp_row(&s->lp, 0);
    for (int32_t l = 0; l < s->net->nlinks; l++) {
        const tutti_link *link = &s->net->links[l];
        if (link->src == node) row[column_of(s->net, l, handing_out)] = handing_out ? 1 : -1;
        if (link->dst == node) row[column_of(s->net, l, handing_out)] = handing_out ? -1 : 1;
    }
}

static void search_begin(const tutti_cuts *cuts, search *s)
{
    const tutti_fabric *net = s->net = &cuts->net;
    tutti_lp_init(&s->lp, 2 * net->nlinks + net->nranks);
    s->z = tutti_alloc((size_t)s->lp.ncolumns * sizeof *s->z);
    s->largest = 0;
    for (int32_t l = 0; l < net->nlinks; l++) s->largest = fmax(s->largest, net->links[l].bytes_per_s);
    for (int32_t l = 0; l < net->nlinks; l++) {
        double *row = tutti_lp_row(&s->lp, net->links[l].bytes_per_s / s->largest);
        row[column_of(net, l, true)] = row[column_of(net, l, false)] = 1;
    }
    for (int32_t v = 0; v < net->nranks; v++) s->lp.goal[2 * net->nlinks + v] = 1;
    bool *in = tutti_alloc((size_t)net->nnodes * sizeof *in);
    for (int32_t v = 0; v < net->nnodes; v++)
        for (int phase = 0; phase < 2; phase++) {
            in[v] = true;
            if (v < net->nranks)
                set_add(s, in, phase);
            else
                switch_add(s, v, phase);
            in[v] = false;
        }
    free(in);
}

/* Computes the flow from a source that gives each rank its x to every rank, over the phase's capacities; sets that
 * limit it become rows. */
static bool violated_add(search *s, bool handing_out)
{
    const tutti_fabric *net = s->net;
    int32_t n = net->nnodes;
    bool *reached = tutti_alloc((size_t)n + 1), found = false;
    tutti_maxflow *f = tutti_maxflow_create(n + 1);
    for (int32_t l = 0; l < net->nlinks; l++) {
        double has = s->z[column_of(net, l, handing_out)];
        int32_t from = net->links[l].src, to = net->links[l].dst;
        tutti_maxflow_arc(f, handing_out ? from : to, handing_out ? to : from, llround(fmax(0, has) * FINE));
    }
    int64_t all = 0;
    for (int32_t v = 0; v < net->nranks; v++) {
        int64_t own = llround(fmax(0, s->z[2 * net->nlinks + v]) * FINE);
        tutti_maxflow_arc(f, n, v, own);
        all += own;
    }
    int64_t enough = all - (int64_t)net->nlinks - net->nranks; /* allows for the rounding of each capacity to a whole
                                                                * number */
    for (int32_t v = 0; v < net->nranks && s->lp.nrows < MAX_ROWS; v++) {
        if (tutti_maxflow_solve(f, n, v, all) >= enough) continue;
        tutti_maxflow_cut(f, reached);
        for (int32_t u = 0; u < n; u++) reached[u] = !reached[u];
        set_add(s, reached, handing_out);
        found = true;
    }
    tutti_maxflow_destroy(f);
    free(reached);
    return found;
}

double tutti_tree_rate(const tutti_cuts *cuts, bool *exact)
{
    *exact = false;
    if (2 * cuts->net.nlinks + cuts->net.nranks > TUTTI_TREE_RATE_MAX_COLUMNS) return 0;
    search s;
    double rate = INFINITY;
    search_begin(cuts, &s);
    for (int round = 0; round < MAX_ROUNDS && !*exact && s.lp.nrows < MAX_ROWS; round++) {
        if (!tutti_lp_solve(&s.lp, s.z, &s.value)) break;
        rate = s.value * s.largest;
        bool out = violated_add(&s, true), up = violated_add(&s, false);
        *exact = !out && !up;
    }
    tutti_lp_release(&s.lp);
    free(s.z);
    return isfinite(rate) ? rate : 0;
}
