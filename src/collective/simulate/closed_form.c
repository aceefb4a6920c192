/* SPDX-License-Identifier: Apache-2.0 */
/* closed_form.c: steps, bytes and additions of the algorithms on a star, one row each, from the papers, in the alpha-beta-
 * gamma model (full duplex, one link each way a rank). Nothing here looks at a compiled schedule: that both agree is a test.
 *
 * ring: Patarasuk and Yuan 2009. halving-doubling: Rabenseifner 2004. direct: every rank owns a slice (our reading of GDRAA).
 * hierarchical: Jia et al. 2018: in groups of k a ring reduce to the master in 2(k-1) steps, a ring over the p/k masters
 * in 2(p/k-1), a broadcast in 2(k-1); the master's link carries all of it. */
#include <math.h>
#include <string.h>

#include "simulate.h"

typedef struct {
    double nsteps, bytes, added; /* bytes and added: factors of the vector */
    double nmessages;            /* that one rank handles in all */
} cost;

static cost plus(cost a, cost b)
{
    return (cost){a.nsteps + b.nsteps, a.bytes + b.bytes, a.added + b.added, a.nmessages + b.nmessages};
}

/* (p - 1) / p */
static double most_of(int32_t p)
{
    return (double)(p - 1) / p;
}

static bool cost_direct(tutti_collective c, int32_t p, int32_t group, cost *out)
{
    (void)group;
    cost reduce = {1, most_of(p), most_of(p), p - 1}, gather = {1, most_of(p), 0, p - 1};
    switch (c) {
    case TUTTI_ALLREDUCE: *out = plus(reduce, gather); return true;
    case TUTTI_REDUCE_SCATTER: *out = reduce; return true;
    case TUTTI_ALL_GATHER:
    case TUTTI_GATHER: *out = gather; return true; /* the root's link receives what an all-gather sends */
    case TUTTI_ALL_TO_ALL:
        *out = (cost){1, most_of(p) / p, 1.0 / p / p, p - 1};
        return true; /* its own block is copied */
    case TUTTI_BARRIER: *out = (cost){1, 0, 0, p - 1}; return true;
    default: return false;
    }
}

static bool cost_one_shot(tutti_collective c, int32_t p, int32_t group, cost *out)
{
    (void)group;
    *out = (cost){1, p - 1, p, p - 1}; /* additions, and the copy that lets go of the input at once */
    return c == TUTTI_ALLREDUCE;
}

static bool cost_ring(tutti_collective c, int32_t p, int32_t group, cost *out)
{
    (void)group;
    cost reduce = {p - 1, most_of(p), most_of(p), p - 1}, gather = {p - 1, most_of(p), 0, p - 1};
    *out = c == TUTTI_ALLREDUCE ? plus(reduce, gather) : c == TUTTI_REDUCE_SCATTER ? reduce : gather;
    return c <= TUTTI_ALL_GATHER;
}

static bool cost_halving_doubling(tutti_collective c, int32_t p, int32_t group, cost *out)
{
    (void)group;
    cost reduce = {log2(p), most_of(p), most_of(p), log2(p)}, gather = {log2(p), most_of(p), 0, log2(p)};
    /* alone, the reduce-scatter brings its blocks home from the bit-reversed ranks; nothing moves below 4 ranks */
    cost home = p > 2 ? (cost){1, 1.0 / p, 0, 1} : (cost){0, 0, 0, 0};
    *out = c == TUTTI_ALLREDUCE ? plus(reduce, gather) : c == TUTTI_REDUCE_SCATTER ? plus(reduce, home) : gather;
    return c <= TUTTI_ALL_GATHER && !(p & (p - 1));
}

static cost hierarchy_of(int32_t p, int32_t k)
{
    double in = 2 * (k - 1), across = 2 * (p / k - 1);
    cost to_master = {in, 2 * most_of(k), most_of(k), in}, from_master = {in, 2 * most_of(k), 0, in};
    cost masters = {across, 2 * most_of(p / k), most_of(p / k), across};
    return plus(plus(to_master, masters), from_master);
}

static bool cost_hierarchical(tutti_collective c, int32_t p, int32_t group, cost *out)
{
    if (c != TUTTI_ALLREDUCE || group < 0 || (group && p % group)) return false;
    *out = hierarchy_of(p, group ? group : 1);
    for (int32_t k = 1; !group && k <= p; k++) /* the fewest steps, the smallest such k */
        if (p % k == 0 && hierarchy_of(p, k).nsteps < out->nsteps) *out = hierarchy_of(p, k);
    return true;
}

static const struct {
    const char *algorithm;
    bool (*cost)(tutti_collective c, int32_t p, int32_t group, cost *out);
} rows[] = {
    {"direct", cost_direct},
    {"one-shot", cost_one_shot},
    {"ring", cost_ring},
    {"halving-doubling", cost_halving_doubling},
    {"hierarchical", cost_hierarchical},
};

bool tutti_simulate_closed_form(const char *algorithm, tutti_collective collective, int32_t nranks, int32_t group,
                                int64_t n, const tutti_topology *t, tutti_closed_form *out)
{
    if (nranks < 1 || t->kind != TUTTI_TOPOLOGY_STAR) return false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cost c = {0};
        if (strcmp(rows[i].algorithm, algorithm) || !rows[i].cost(collective, nranks, group, &c)) continue;
        if (nranks == 1) c = (cost){0};
        double bytes = (double)n * TUTTI_ELEMENT_BYTES;
        out->nsteps = (int64_t)c.nsteps;
        out->bytes_per_link = c.bytes * bytes;
        out->bytes_added = c.added * bytes;
        out->seconds = c.nsteps * t->figure[TUTTI_FIGURE_LATENCY] + c.nmessages * t->figure[TUTTI_FIGURE_SOFTWARE] +
                       out->bytes_per_link / t->figure[TUTTI_FIGURE_BANDWIDTH] +
                       out->bytes_added / t->figure[TUTTI_FIGURE_ADD];
        return true;
    }
    return false;
}
