/* SPDX-License-Identifier: Apache-2.0 */
/* choice_tree.c: grows and checks small decision trees, and looks up their choices (choice_tree.h). */
#include "choice_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"

enum { MAX_DEPTH = 6, LEAST_IN_LEAF = 10, FOLDS = 5 };
/* NEVER: the cost of a way that cannot compute a sample, as if it took eleven times the shortest time. FAR: a higher
 * cost counts as FAR when splits are compared, so that small differences between ways still decide a split. NEAR: a
 * choice that takes at most NEAR times the shortest time counts as good. SLACK: a split replaces another one only if it
 * explains more by at least this amount, so that rounding decides nothing. */
static const double NEVER = 10, NEAR = 1.02, FAR = 0.05, SLACK = 1e-9;

int tutti_choice_tree_ask(const tutti_choice_tree *t, const double *feature)
{
    int i = 0;
    while (t->node[i].less >= 0)
        i = feature[t->node[i].feature] < t->node[i].threshold ? t->node[i].less : t->node[i].more;
    return t->node[i].way;
}

static bool is_leaf(const tutti_tree_node *d)
{
    return d->less < 0 && d->more < 0;
}

tutti_status tutti_choice_tree_check(const tutti_choice_tree *t, tutti_failure *err)
{
    bool is_reached[TUTTI_TREE_NODES] = {true};
    if (t->nnodes < 1 || t->nnodes > TUTTI_TREE_NODES || t->nfeatures < 1 || t->nfeatures > TUTTI_TREE_FEATURES ||
        t->nways < 1 || t->nways > TUTTI_TREE_WAYS)
        return tutti_fail(err, TUTTI_ERR_DATA, "a tree of %d nodes, %d features and %d ways", (int)t->nnodes,
                          (int)t->nfeatures, (int)t->nways);
    for (int i = 0; i < t->nnodes; i++) {
        const tutti_tree_node *d = &t->node[i];
        if (!is_reached[i]) return tutti_fail(err, TUTTI_ERR_DATA, "nothing leads to node %d", i);
        if (is_leaf(d)) {
            if (d->way < 0 || d->way >= t->nways)
                return tutti_fail(err, TUTTI_ERR_DATA, "node %d chooses way %d of %d", i, (int)d->way, (int)t->nways);
            continue;
        }
        if (d->feature < 0 || d->feature >= t->nfeatures || !isfinite(d->threshold))
            return tutti_fail(err, TUTTI_ERR_DATA, "node %d asks for feature %d of %d, or for no number", i,
                              (int)d->feature, (int)t->nfeatures);
        if (d->less <= i || d->less >= t->nnodes || d->more <= i || d->more >= t->nnodes || d->less == d->more ||
            is_reached[d->less] || is_reached[d->more])
            return tutti_fail(err, TUTTI_ERR_DATA, "node %d leads to %d and %d: two that stand behind it, each its own",
                              i, (int)d->less, (int)d->more);
        is_reached[d->less] = is_reached[d->more] = true;
    }
    return TUTTI_OK;
}

static double shortest(const tutti_tree_sample *s, int nways)
{
    double best = INFINITY;
    for (int w = 0; w < nways; w++) best = fmin(best, s->seconds[w]);
    return best;
}

tutti_tree_score tutti_choice_tree_score(const tutti_choice_tree *t, const tutti_tree_sample *samples, int n)
{
    tutti_tree_score score = {.n = n};
    for (int i = 0; i < n; i++) {
        const double best = shortest(&samples[i], t->nways),
                     chosen = samples[i].seconds[tutti_choice_tree_ask(t, samples[i].feature)];
        score.near += chosen <= NEAR * best;
        score.chosen_s += chosen;
        score.best_s += best;
    }
    return score;
}

/* ---- growing ---- */

/* A sample while the tree grows. cost: the cost of each way (choice_tree.h). behind: the cost of each way, at most FAR,
 * minus the mean of these over the ways. Splits are chosen by `behind`. */
typedef struct {
    const tutti_tree_sample *of;
    double cost[TUTTI_TREE_WAYS], behind[TUTTI_TREE_WAYS];
} grown_sample;

typedef struct {
    grown_sample *samples;
    grown_sample *room; /* scratch memory, as large as `samples` */
    int nfeatures, nways;
    tutti_choice_tree *tree;
} grower;

/* Sums of `cost` and of `behind` over n samples. */
typedef struct {
    double cost[TUTTI_TREE_WAYS], behind[TUTTI_TREE_WAYS], n;
} tally;

static void tally_add(tally *t, const grown_sample *s, int nways, double sign)
{
    for (int w = 0; w < nways; w++) {
        t->cost[w] += sign * s->cost[w];
        t->behind[w] += sign * s->behind[w];
    }
    t->n += sign;
}

static int cheapest(const tally *t, int nways)
{
    int best = 0;
    for (int w = 1; w < nways; w++)
        if (t->cost[w] < t->cost[best]) best = w;
    return best;
}

/* Returns how much of the sum of squares of `behind` the mean explains: that sum, minus the sum of squares around the
 * mean. */
static double explained(const tally *t, int nways)
{
    double squares = 0;
    for (int w = 0; w < nways; w++) squares += t->behind[w] * t->behind[w];
    return t->n > 0 ? squares / t->n : 0;
}

typedef struct {
    int feature; /* -1 means that nothing splits the node */
    double threshold, explained;
} split;

static double feature_of(const grown_sample *s, int feature)
{
    return s->of->feature[feature];
}

/* Sorts samples by a feature. Samples with the same value of the feature keep their order. */
static void sort_by(grown_sample *samples, grown_sample *room, int n, int feature)
{
    for (int width = 1; width < n; width *= 2) {
        for (int begin = 0; begin < n; begin += 2 * width) {
            const int middle = begin + width < n ? begin + width : n,
                      end = begin + 2 * width < n ? begin + 2 * width : n;
            for (int i = begin, j = middle, k = begin; k < end; k++)
                room[k] =
                    j >= end || (i < middle && feature_of(&samples[i], feature) <= feature_of(&samples[j], feature))
                        ? samples[i++]
                        : samples[j++];
        }
        memcpy(samples, room, (size_t)n * sizeof *samples);
    }
}

static split split_find(const grower *g, grown_sample *samples, int n, const tally *all)
{
    split best = {.feature = -1, .explained = explained(all, g->nways)};
    for (int f = 0; f < g->nfeatures; f++) {
        tally less = {0}, more = *all;
        sort_by(samples, g->room, n, f);
        for (int i = 0; i + 1 < n; i++) {
            const double here = feature_of(&samples[i], f), next = feature_of(&samples[i + 1], f);
            tally_add(&less, &samples[i], g->nways, 1);
            tally_add(&more, &samples[i], g->nways, -1);
            if (i + 1 < LEAST_IN_LEAF || n - i - 1 < LEAST_IN_LEAF || !(here < next)) continue;
            const split tried = {.feature = f,
                                 .threshold = here + (next - here) / 2,
                                 .explained = explained(&less, g->nways) + explained(&more, g->nways)};
            if (here < tried.threshold && tried.explained > best.explained + SLACK) best = tried;
        }
    }
    return best;
}

/* Grows the node of these samples and all nodes below it. Returns its number. */
static int node_grow(grower *g, grown_sample *samples, int n, int depth)
{
    tutti_choice_tree *t = g->tree;
    tally all = {0};
    for (int i = 0; i < n; i++) tally_add(&all, &samples[i], g->nways, 1);
    const int at = t->nnodes++, way = cheapest(&all, g->nways);
    t->node[at] = (tutti_tree_node){.less = -1, .more = -1, .way = way};
    if (depth == 0 || all.cost[way] <= 0) return at;
    const split s = split_find(g, samples, n, &all);
    if (s.feature < 0) return at;
    int nless = 0;
    sort_by(samples, g->room, n, s.feature);
    while (nless < n && feature_of(&samples[nless], s.feature) < s.threshold) nless++;
    const int less = node_grow(g, samples, nless, depth - 1),
              more = node_grow(g, samples + nless, n - nless, depth - 1);
    t->node[at] = (tutti_tree_node){.feature = s.feature, .threshold = s.threshold, .less = less, .more = more};
    return at;
}

/* Appends node i and all nodes below it to `to`, and returns the node's new number. A node whose two leaves choose the
 * same way becomes a leaf. */
static int node_prune(const tutti_choice_tree *from, int i, tutti_choice_tree *to)
{
    const tutti_tree_node *d = &from->node[i];
    const int at = to->nnodes++;
    to->node[at] = *d;
    if (is_leaf(d)) return at;
    const int less = node_prune(from, d->less, to), more = node_prune(from, d->more, to);
    if (is_leaf(&to->node[less]) && is_leaf(&to->node[more]) && to->node[less].way == to->node[more].way) {
        to->node[at] = to->node[less];
        to->nnodes = at + 1;
    } else {
        to->node[at].less = less;
        to->node[at].more = more;
    }
    return at;
}

static grown_sample grown_from(const tutti_tree_sample *of, int nways)
{
    const double best = shortest(of, nways);
    grown_sample s = {.of = of};
    double mean = 0;
    for (int w = 0; w < nways; w++) {
        s.cost[w] = fmin(of->seconds[w] / best - 1, NEVER);
        s.behind[w] = fmin(s.cost[w], FAR);
        mean += s.behind[w] / nways;
    }
    for (int w = 0; w < nways; w++) s.behind[w] -= mean;
    return s;
}

/* Grows a tree from all samples outside of a fold, or from all samples if fold < 0. */
static void tree_grow(const grower *g, const tutti_tree_sample *samples, int n, int fold, int depth,
                      tutti_choice_tree *out)
{
    tutti_choice_tree whole = {.nfeatures = g->nfeatures, .nways = g->nways};
    grower own = *g;
    int taken = 0;
    for (int i = 0; i < n; i++) {
        if (fold >= 0 && i % FOLDS == fold) continue;
        own.samples[taken++] = grown_from(&samples[i], g->nways);
    }
    own.tree = &whole;
    node_grow(&own, own.samples, taken, depth);
    *out = (tutti_choice_tree){.nfeatures = g->nfeatures, .nways = g->nways};
    node_prune(&whole, 0, out);
}

/* Returns the cost of trees of this depth on samples that they have not seen. A cost above FAR counts as FAR, so that a
 * few samples do not decide. */
static double depth_cost(const grower *g, const tutti_tree_sample *samples, int n, int depth)
{
    double cost = 0;
    tutti_choice_tree t;
    for (int fold = 0; fold < FOLDS; fold++) {
        tree_grow(g, samples, n, fold, depth, &t);
        for (int i = fold; i < n; i += FOLDS) {
            const double chosen = samples[i].seconds[tutti_choice_tree_ask(&t, samples[i].feature)];
            cost += fmin(chosen / shortest(&samples[i], g->nways) - 1, FAR);
        }
    }
    return cost;
}

void tutti_choice_tree_grow(const tutti_tree_sample *samples, int n, int nfeatures, int nways, tutti_choice_tree *out)
{
    grower g = {.samples = tutti_alloc((size_t)n * sizeof *g.samples),
                .room = tutti_alloc((size_t)n * sizeof *g.room),
                .nfeatures = nfeatures,
                .nways = nways};
    int best = 0;
    double least = INFINITY;
    for (int depth = 0; depth <= MAX_DEPTH && n > FOLDS; depth++) {
        const double cost = depth_cost(&g, samples, n, depth);
        if (!(cost < least * (1 - 1e-3))) continue; /* a deeper tree must have a cost that is lower by a thousandth */
        least = cost;
        best = depth;
    }
    tree_grow(&g, samples, n, -1, best, out);
    free(g.samples);
    free(g.room);
}
