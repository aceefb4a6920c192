/* SPDX-License-Identifier: Apache-2.0 */
/* closed_form.c: formulas of the algorithms' times: steps, bytes and additions in the alpha-beta-gamma model, one row
 * each, from the papers. Only parameters are read from the table of compilers, nothing from a compiled schedule; a test
 * compares both.
 *
 * ring: Patarasuk and Yuan 2009. halving-doubling: Rabenseifner 2004. direct: every rank owns a slice (our reading of
 * GDRAA). hierarchical: Jia et al. 2018: in groups of k a ring reduce to the master in 2(k-1) steps, a ring over the
 * p/k masters in 2(p/k-1), a broadcast in 2(k-1); the master's link carries all of it. binary-blocks: after gloo.
 * bruck: Bruck et al. 1997. split-rail and torus: rings along the two directions of a grid, in which every rank carries
 * 2(p-1)/p. recursive-doubling, binomial, k-nomial: Thakur, Rabenseifner and Gropp 2005. dissemination: Hensgen, Finkel
 * and Manber 1988. double-tree: Sanders, Speck and Traeff 2009. parameter servers: Li et al. 2014, with servers on the
 * ranks' own hosts. */
#include <math.h>
#include <string.h>

#include "../../compile/algorithms.h"
#include "../simulate.h"
#include "tutti/compile.h"

typedef struct {
    double nsteps, bytes, added; /* nsteps: number of messages that follow one another; bytes on a rank's link, and
                                  * bytes that a rank adds, as factors of the vector's bytes */
    double nmessages;            /* number of messages that one rank handles in all */
} cost;

static cost plus(cost a, cost b)
{
    return (cost){a.nsteps + b.nsteps, a.bytes + b.bytes, a.added + b.added, a.nmessages + b.nmessages};
}

/* Returns (p - 1) / p. */
static double most_of(int32_t p)
{
    return (double)(p - 1) / p;
}

static bool cost_direct(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    (void)param;
    cost reduce = {1, most_of(p), most_of(p), p - 1}, gather = {1, most_of(p), 0, p - 1};
    switch (c) {
    case TUTTI_ALLREDUCE:
    case TUTTI_REDUCE: *out = plus(reduce, gather); return true;
    case TUTTI_BROADCAST: *out = plus(gather, gather); return true;
    case TUTTI_REDUCE_SCATTER: *out = reduce; return true;
    case TUTTI_ALL_GATHER:
    /* the root's link receives as many bytes as any rank receives in an all-gather */
    case TUTTI_GATHER: *out = gather; return true;
    case TUTTI_ALL_TO_ALL:
        *out = (cost){1, most_of(p) / p, 1.0 / p / p, p - 1};
        return true; /* `added` counts the copy of a rank's own block as an addition */
    case TUTTI_BARRIER: *out = (cost){1, 0, 0, p - 1}; return true;
    default: return false;
    }
}

/* A server's link carries a slice of every other rank, each way. */
static bool cost_parameter_servers(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    const double slices = (double)(p - 1) / param[0];
    *out = (cost){2, 2 * slices, slices, 2 * (p - 1)};
    return c == TUTTI_ALLREDUCE && param[0] <= p;
}

static bool cost_one_shot(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    (void)param;
    *out = (cost){1, p - 1, p, p - 1}; /* `added`: p - 1 additions, and the copy into scratch counts as one more */
    return c == TUTTI_ALLREDUCE;
}

/* Costs as much as direct, except that `added` also counts copies: of the input's other slices, and of the rank's sum
 * into scratch and output. */
static bool cost_two_shot(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    (void)param;
    *out = (cost){2, 2 * most_of(p), 2 * most_of(p), 2 * (p - 1)};
    return c == TUTTI_ALLREDUCE;
}

static bool cost_ring(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    (void)param;
    cost reduce = {p - 1, most_of(p), most_of(p), p - 1}, gather = {p - 1, most_of(p), 0, p - 1};
    *out = c == TUTTI_ALLREDUCE ? plus(reduce, gather) : c == TUTTI_REDUCE_SCATTER ? reduce : gather;
    return c <= TUTTI_ALL_GATHER;
}

static bool cost_halving_doubling(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    (void)param;
    cost reduce = {log2(p), most_of(p), most_of(p), log2(p)}, gather = {log2(p), most_of(p), 0, log2(p)};
    /* a reduce-scatter alone has one more message, from the rank that holds a block (its bits reversed) to the owner;
     * below 4 ranks both are the same rank */
    cost home = p > 2 ? (cost){1, 1.0 / p, 0, 1} : (cost){0, 0, 0, 0};
    *out = c == TUTTI_ALLREDUCE ? plus(reduce, gather) : c == TUTTI_REDUCE_SCATTER ? plus(reduce, home) : gather;
    return c <= TUTTI_ALL_GATHER && !(p & (p - 1));
}

/* Return the cost of a ring over n ranks that sums a range (a part of the vector) so that each member has the sum of
 * its slice; and of a ring that sends all slices to all members. */
static cost ring_scatter(int32_t n, double range)
{
    return (cost){n - 1, most_of(n) * range, most_of(n) * range, n - 1};
}

static cost ring_gather(int32_t n, double range)
{
    return (cost){n - 1, most_of(n) * range, 0, n - 1};
}

/* Returns the cost in groups of k ranks. If k does not divide p, one group is smaller, and its slices are larger. All
 * groups work at the same time, in 2(k - 1) stages. */
static cost to_or_from_master(int32_t p, int32_t k, bool sums)
{
    int32_t rest = p % k ? p % k : k;
    cost out = {2 * (k - 1), 0, 0, 2 * (k - 1)};
    for (int32_t t = 0; t < 2 * (k - 1); t++) {
        out.bytes += t < 2 * (rest - 1) ? 1.0 / rest : 1.0 / k;
        if (sums && t < k - 1) out.added += t < rest - 1 ? 1.0 / rest : 1.0 / k;
    }
    return out;
}

static bool cost_hierarchical(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    int32_t k = param[0], masters = (p + k - 1) / k;
    if (c != TUTTI_ALLREDUCE || k > p) return false;
    cost across = plus(ring_scatter(masters, 1), ring_gather(masters, 1));
    *out = plus(plus(to_or_from_master(p, k, true), across), to_or_from_master(p, k, false));
    return true;
}

static cost grid_of(int32_t near, int32_t far)
{
    double slice = 1.0 / near;
    return plus(plus(ring_scatter(near, 1), ring_gather(near, 1)),
                plus(ring_scatter(far, slice), ring_gather(far, slice)));
}

static bool cost_split_rail(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    int32_t k = param[0], ngroups = p / k;
    if (p % k) return false;
    cost reduce = plus(ring_scatter(k, 1), ring_scatter(ngroups, 1.0 / k));
    cost gather = plus(ring_gather(k, 1), ring_gather(ngroups, 1.0 / k));
    *out = c == TUTTI_ALLREDUCE ? plus(reduce, gather) : c == TUTTI_REDUCE_SCATTER ? reduce : gather;
    /* in a reduce-scatter or all-gather alone a member's part of the group's vector is ngroups separate slices, each of
     * them a message */
    if (c != TUTTI_ALLREDUCE) out->nmessages += (k - 1) * (ngroups - 1);
    return c <= TUTTI_ALL_GATHER;
}

/* With two ways at once, both share the one link that a rank of a star has, so there is no closed form. */
static bool cost_torus(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    int32_t rows = param[0], columns = param[1], ways = param[2];
    if (c != TUTTI_ALLREDUCE || (int64_t)rows * columns != p || ways > 1) return false;
    *out = grid_of(columns, rows);
    return true;
}

static bool cost_swing(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    return c == TUTTI_ALLREDUCE && cost_halving_doubling(c, p, param, out);
}

/* Up: in stage s the blocks of more than 2^s ranks halve, and a block of 2^s ranks receives the slices of the next
 * smaller block, of 2^g ranks, each of which sends 2^(s - g) messages. Down: the same without sums. */
static bool cost_binary_blocks(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    (void)param;
    cost up = {0};
    for (int32_t s = 0; 1 << s <= p; s++) {
        int32_t below = p & ((1 << s) - 1), g = 0;
        bool halves = 2 << s <= p, joins = (p >> s & 1) && below;
        while (2 << g <= below) g++;
        if (!halves && !joins) continue;
        up.nsteps++;
        up.bytes += joins ? 1.0 / (1 << g) : 0.5 / (1 << s);
        up.added += joins ? 1.0 / (1 << s) : 0.5 / (1 << s);
        up.nmessages += joins ? 1 << (s - g) : 1;
    }
    *out = plus(up, (cost){up.nsteps, up.bytes, 0, up.nmessages});
    return c == TUTTI_ALLREDUCE;
}

/* Returns the number of messages of a step that moves `count` slices. A run that wraps around the last slice is two
 * messages; cut > 0: the sums end within the run, which costs one more. */
static int32_t runs_of(int32_t count, int32_t cut)
{
    return cut ? 2 + (count > 2) : 1 + (count > 1);
}

/* In the round of bit s a rank sends runs of up to 2^s blocks. The first block of a run is one message; the rest of the
 * run is one message, or two if it wraps around after rank p - 1. */
static cost bruck_blocks(int32_t p)
{
    cost out = {0, 0, 1.0 / p / p, 0}; /* `added` counts the copy of a rank's own block as an addition */
    for (int32_t step = 1; step < p; step *= 2) {
        out.nsteps++;
        for (int32_t h = 0; h + step < p; h += 2 * step) {
            int32_t count = p - h - step < step ? p - h - step : step;
            out.bytes += (double)count / p / p;
            out.nmessages += 1 + (count > 1) + (count > 2);
        }
    }
    return out;
}

static bool cost_bruck(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    (void)param;
    cost reduce = {0}, gather = {0};
    int32_t lg = 0;
    while (1 << lg < p) lg++;
    for (int32_t s = 0; s < lg; s++) {
        int32_t last = p - (1 << (lg - 1)), count = s == lg - 1 ? last : 1 << s;
        double share = (double)count / p;
        int32_t cut = s == lg - 2 ? last % count : 0; /* the sums of the first step end within the run of the second
                                                       * step */
        reduce = plus(reduce, (cost){1, share, share, runs_of(count, cut)});
        gather = plus(gather, (cost){1, share, 0, runs_of(count, 0)});
    }
    *out = c == TUTTI_ALLREDUCE ? plus(reduce, gather) : c == TUTTI_REDUCE_SCATTER ? reduce : gather;
    if (c == TUTTI_ALL_TO_ALL) *out = bruck_blocks(p);
    return c <= TUTTI_ALL_GATHER || c == TUTTI_ALL_TO_ALL;
}

/* Every step sends whole vectors. If p is no power of two, a step before and a step after serve the extra ranks. The
 * first sum counts as a copy. */
static bool cost_recursive_doubling(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    (void)param;
    int32_t lg = 0;
    while (2 << lg <= p) lg++;
    double steps = lg + (p & (p - 1) ? 2 : 0);
    *out = c == TUTTI_BARRIER ? (cost){steps, 0, 0, steps} : (cost){steps, steps, lg + 1, steps};
    return c == TUTTI_ALLREDUCE || c == TUTTI_BARRIER;
}

static bool cost_dissemination(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    *out = (cost){0};
    for (int64_t distance = 1; distance < p; distance *= param[0]) {
        int64_t reached = (p - 1) / distance;
        out->nsteps++, out->nmessages += (double)(reached < param[0] - 1 ? reached : param[0] - 1);
    }
    return c == TUTTI_BARRIER;
}

/* Computes the cost down or up the tree that cuts intervals into `radix` parts: at each level one rank exchanges with
 * at most radix - 1 others. In a gather this rank receives the largest interval without its own part. If a link carries
 * several parts, there is a closed form only for equal parts. In a gather, ranks with children copy their own slice. */
static bool cost_tree(tutti_collective c, int32_t p, int32_t radix, cost *out)
{
    cost up = {0}, gather = {.added = p > radix ? 1.0 / p : 0};
    bool equal = true;
    for (int32_t n = p; n > 1; n = (n + radix - 1) / radix) {
        int32_t parts = n < radix ? n : radix;
        equal = equal && n % parts == 0;
        up = plus(up, (cost){1, parts - 1, parts - 1, parts - 1});
        gather = plus(gather, (cost){1, (double)(n - n / parts) / p, 0, parts - 1});
    }
    cost down = {up.nsteps, up.bytes, 0, up.nmessages};
    switch (c) {
    case TUTTI_ALLREDUCE: *out = plus(up, down); return true;
    case TUTTI_REDUCE: *out = up; return true;
    case TUTTI_BROADCAST: *out = down; return true;
    case TUTTI_GATHER: *out = gather; return equal || radix == 2;
    default: return false;
    }
}

static bool cost_binomial(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    (void)param;
    return cost_tree(c, p, 2, out);
}

/* An allreduce is halving-doubling with k parts; before and after it, the first rank of each run of ranks exchanges
 * with the others of the run. */
static bool cost_knomial(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    int32_t k = param[0], core = 1, digits = 0;
    if (c != TUTTI_ALLREDUCE) return cost_tree(c, p, k, out);
    while ((int64_t)core * k <= p) core *= k, digits++;
    double others = (p + core - 1) / core - 1, messages = digits * (k - 1);
    cost reduce = {digits, most_of(core), most_of(core), messages}, gather = {digits, most_of(core), 0, messages};
    cost before = {core < p, others, others, others}, after = {core < p, others, 0, others};
    *out = plus(plus(before, reduce), plus(gather, after));
    return true;
}

/* In each stage some rank sends or receives two chunks, of n / 2c each. Exception: if the tree has one rank more than a
 * power of two, its topmost inner rank has one child, and if nothing else is under way only one chunk moves. */
static cost double_tree_once(int32_t p, int32_t nlevels, int32_t c)
{
    bool single = p > 2 && !((p - 1) & (p - 2)) && (p == 3 || c == 1);
    double stages = nlevels + c - 1, chunks = 2 * stages - single;
    return (cost){stages, chunks / (2 * c), chunks / (2 * c), chunks};
}

/* Returns the most chunks that a rank sends or receives in a stage of an allreduce of 2^nlevels ranks. Three kinds of
 * rank can have the most: a rank that is inner in one tree and a leaf of the other; the root; and the rank that is a
 * leaf of both trees. */
static int32_t double_tree_chunks(int32_t stage, int32_t nlevels, int32_t c)
{
#define MOVES(since) (stage >= (since) && stage < (since) + c)
    int32_t most = 2 * (MOVES(0) || MOVES(nlevels - 1) || MOVES(nlevels) || MOVES(2 * nlevels - 1));
    for (int32_t l = 0; l < nlevels - 1; l++) {
        int32_t sent = MOVES(nlevels - 1 - l) + MOVES(0) + 2 * MOVES(nlevels + l + 1);
        int32_t received = 2 * MOVES(nlevels - 2 - l) + MOVES(nlevels + l) + MOVES(2 * nlevels - 1);
        if (sent > most) most = sent;
        if (received > most) most = received;
    }
    return most;
#undef MOVES
}

static bool cost_double_tree(tutti_collective c, int32_t p, const int32_t *param, cost *out)
{
    int32_t nlevels = 0, nchunks = param[0];
    while (1 << nlevels < p) nlevels++;
    cost once = double_tree_once(p, nlevels, nchunks);
    *out = once;
    if (c != TUTTI_REDUCE) out->added = 0;
    if (c == TUTTI_REDUCE || c == TUTTI_BROADCAST) return true;
    *out = (cost){.nsteps = 2 * nlevels + nchunks - 1, .added = once.added};
    for (int32_t s = 0; s < (int32_t)out->nsteps; s++) out->nmessages += double_tree_chunks(s, nlevels, nchunks);
    out->bytes = out->nmessages / (2 * nchunks);
    return c == TUTTI_ALLREDUCE && !(p & (p - 1)); /* at other rank counts the leaves lie on two levels, for which there
                                                    * is no closed form */
}

static const struct {
    const char *algorithm;
    bool (*cost)(tutti_collective c, int32_t p, const int32_t *param, cost *out);
} rows[] = {
    {"direct", cost_direct},
    {"one-shot", cost_one_shot},
    {"two-shot", cost_two_shot},
    {"ring", cost_ring},
    {"halving-doubling", cost_halving_doubling},
    {"recursive-doubling", cost_recursive_doubling},
    {"dissemination", cost_dissemination},
    {"binomial", cost_binomial},
    {"k-nomial", cost_knomial},
    {"double-tree", cost_double_tree},
    {"binary-blocks", cost_binary_blocks},
    {"bruck", cost_bruck},
    {"hierarchical", cost_hierarchical},
    {"split-rail", cost_split_rail},
    {"torus", cost_torus},
    {"swing", cost_swing},
    {"ps", cost_parameter_servers},
};

/* Sets the values of the parameters as they would be compiled. */
static bool read_parameters(const char *text, tutti_collective collective, int32_t nranks, tutti_compile_request *q)
{
    const tutti_algorithm *a = tutti_algorithm_find(text);
    *q = (tutti_compile_request){.collective = collective, .nranks = nranks};
    if (!a || tutti_algorithm_read(a, text, q->param, NULL)) return false;
    if (a->settle) a->settle(q);
    return true;
}

bool tutti_simulate_closed_form(const char *algorithm, tutti_collective collective, int32_t nranks, int64_t n,
                                const tutti_topology *t, tutti_closed_form *out)
{
    tutti_compile_request q;
    size_t length = strcspn(algorithm, ",");
    if (t->figure[TUTTI_FIGURE_INCAST] > 0) return false; /* no paper models incast */
    if (nranks < 1 || t->kind != TUTTI_TOPOLOGY_STAR || !read_parameters(algorithm, collective, nranks, &q))
        return false;
    if (t->figure[TUTTI_FIGURE_BURST] > 0) return false; /* the papers know no shaped links */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cost c = {0};
        bool named = strlen(rows[i].algorithm) == length && !strncmp(rows[i].algorithm, algorithm, length);
        if (!named || !rows[i].cost(collective, nranks, q.param, &c)) continue;
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
