/* SPDX-License-Identifier: Apache-2.0 */
/* coll_pack_table.c: what trees carry on the allocations that a queueing system hands out: subsets of a DGX-1's GPUs, those that
 * are alike once, beside the most rings that share no NVLink. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../collective/pack/rings.h"
#include "../../collective/simulate/simulate.h"
#include "coll_pack.h"
#include "tutti/compile.h"

enum { NGPUS = 8, MAX_CLASSES = 256, BYTES = 102400000 };

typedef struct {
    unsigned gpus; /* of the first subset */
    int32_t alike;
    tutti_network g;
} subset_class;

static tutti_status subset_network(const tutti_topology *machine, unsigned gpus, tutti_topology *t, tutti_network *g,
                                   tutti_failure *err)
{
    *t = *machine;
    t->figure[TUTTI_FIGURE_GPUS] = gpus;
    return tutti_network_of(t, __builtin_popcount(gpus), true, g, err);
}

/* Subsets of 3 to 8 GPUs that NVLinks join, small ones first. */
static tutti_status find_classes(const tutti_topology *machine, subset_class *classes, int *n, int *nsubsets,
                                 tutti_failure *err)
{
    *n = *nsubsets = 0;
    for (int size = 3; size <= NGPUS; size++)
        for (unsigned gpus = 1; gpus < 1u << NGPUS; gpus++) {
            tutti_topology t;
            tutti_network g;
            int k = 0;
            if (__builtin_popcount(gpus) != size) continue;
            tutti_status st = subset_network(machine, gpus, &t, &g, err);
            if (st != TUTTI_OK) return st;
            bool joined = tutti_network_connected(&g);
            while (joined && k < *n && !tutti_network_alike(&classes[k].g, &g)) k++;
            if (joined) classes[k].alike++, ++*nsubsets;
            if (joined && k == *n)
                classes[(*n)++] = (subset_class){gpus, 1, g};
            else
                tutti_network_release(&g);
        }
    return TUTTI_OK;
}

/* The fastest of the row's variants, as simulated; 0 = it cannot be had. */
static double simulated(const char *const *names, const tutti_topology *t, int32_t nranks)
{
    double best = INFINITY;
    for (; *names; names++) {
        const tutti_compile_request q = {.nranks = nranks, .in_place = true, .topology = t};
        tutti_schedule *s = NULL;
        tutti_simulation sim;
        if (tutti_schedule_compile(*names, &q, &s, NULL)) continue;
        if (!tutti_simulate_schedule(s, t, BYTES / TUTTI_ELEMENT_BYTES, &sim, NULL)) best = fmin(best, sim.seconds);
        tutti_schedule_destroy(s);
    }
    return isfinite(best) ? best : 0;
}

/* One ring in the best order of the GPUs, over NVLinks where two neighbours have one, else over PCIe. */
static double best_ring(const tutti_topology *t, int32_t n)
{
    static const char *const ring[] = {"ring", NULL};
    tutti_topology both = *t;
    int32_t order[NGPUS];
    double best = INFINITY;
    both.figure[TUTTI_FIGURE_WIRES] = TUTTI_WIRES_BOTH;
    for (int32_t i = 0; i < n; i++) order[i] = i;
    for (;;) { /* orders 0, then all permutations of the others */
        tutti_topology_place(&both, n, order);
        best = fmin(best, simulated(ring, &both, n));
        int32_t i = n - 2, k = n - 1;
        while (i > 0 && order[i] > order[i + 1]) i--;
        if (i <= 0) return best;
        while (order[k] < order[i]) k--;
        int32_t swap = order[i];
        order[i] = order[k], order[k] = swap;
        for (int32_t a = i + 1, b = n - 1; a < b; a++, b--) swap = order[a], order[a] = order[b], order[b] = swap;
    }
}

static void print_head(const tutti_pack_question *q)
{
    printf("%-16s %5s %8s | %8s %5s %5s | %5s %5s | %8s %5s %s", "GPUs", "alike", "bound", "weights", "gap%", "trees",
           "gap%", "trees", "fewest", "trees", "");
    if (q->use == TUTTI_PACKING_ALLREDUCE)
        printf("| %5s %6s %6s | %9s %9s", "rings", "rate", "gain", "trees ms", "ring ms");
    printf("\n");
}

static void print_rings(const tutti_topology *t, const tutti_network *g, double bound)
{
    static const char *const trees[] = {"trees", "trees,chunks=32", "trees,chunks=16,loss=0", NULL};
    const int32_t rings = tutti_rings_most(g);
    const double rate = tutti_ratio_value(tutti_rings_rate(g, rings)) / (double)tutti_network_unit(g);
    if (rings)
        printf("| %5d %6.4g %6.2f", rings, rate, bound / rate);
    else
        printf("| %5d %6s %6s", rings, "-", "-");
    printf(" | %9.3f %9.3f", 1e3 * simulated(trees, t, g->nranks), 1e3 * best_ring(t, g->nranks));
}

/* Of both packings' trees, whichever needs fewer. */
static tutti_status fewest_of(const tutti_network *g, const tutti_packing *a, const tutti_packing *b,
                              const tutti_pack_question *q, tutti_packing *out, tutti_fewest_report *report,
                              tutti_failure *err)
{
    tutti_packing other;
    tutti_fewest_report of_other;
    tutti_status st = tutti_packing_fewest(g, a, &q->fewest, out, report, err);
    if (st != TUTTI_OK) return st;
    st = tutti_packing_fewest(g, b, &q->fewest, &other, &of_other, err);
    if (st == TUTTI_OK && other.ntrees < out->ntrees) {
        tutti_packing swap = *out;
        *out = other, other = swap, *report = of_other;
    }
    tutti_packing_release(st == TUTTI_OK ? &other : out);
    return st;
}

static tutti_status print_class(const tutti_topology *machine, const subset_class *c, const tutti_pack_question *q,
                                tutti_failure *err)
{
    tutti_topology t;
    tutti_network g;
    tutti_packing mixed, exact, few;
    tutti_fewest_report report;
    char gpus[2 * NGPUS + 1] = "";
    int length = 0;
    for (int i = 0; i < NGPUS; i++)
        if (c->gpus >> i & 1)
            length += snprintf(gpus + length, sizeof gpus - (size_t)length, "%s%d", length ? "." : "", i);
    tutti_status st = subset_network(machine, c->gpus, &t, &g, err);
    if (st == TUTTI_OK) st = tutti_packing_by_weights(&g, q->use, 0, 0.005, &mixed, err);
    if (st == TUTTI_OK) st = tutti_packing_exact(&g, q->use, 0, &exact, err);
    if (st == TUTTI_OK) st = fewest_of(&g, &mixed, &exact, q, &few, &report, err);
    if (st == TUTTI_OK) st = tutti_packing_check(&few, &g, err);
    if (st != TUTTI_OK) return st;
    const double unit = (double)tutti_network_unit(&g), bound = tutti_ratio_value(exact.bound) / unit;
    printf("%-16s %5d %8.5g | %8.5g %5.2f %5d | %5.2g %5d | %8.5g %5d %s", gpus, c->alike, bound,
           tutti_packing_rate(&mixed) / unit, 100 * tutti_packing_gap(&mixed), mixed.ntrees,
           100 * tutti_packing_gap(&exact), exact.ntrees, tutti_packing_rate(&few) / unit, few.ntrees,
           !report.solved && few.ntrees > 1 ? "g"
           : report.fewest                  ? " "
                                            : "?");
    if (q->use == TUTTI_PACKING_ALLREDUCE) print_rings(&t, &g, bound);
    printf("\n");
    tutti_packing_release(&mixed), tutti_packing_release(&exact), tutti_packing_release(&few);
    tutti_network_release(&g);
    return TUTTI_OK;
}

tutti_status tutti_coll_pack_table(const tutti_topology *machine, const tutti_pack_question *q, tutti_failure *err)
{
    tutti_topology nvlinks = *machine;
    int n, nsubsets;
    if (machine->kind != TUTTI_TOPOLOGY_DGX1P && machine->kind != TUTTI_TOPOLOGY_DGX1V)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--subsets goes through the GPUs of dgx1p or dgx1v");
    if (q->use == TUTTI_PACKING_ALL_GATHER)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--subsets: for allreduce or broadcast");
    nvlinks.figure[TUTTI_FIGURE_WIRES] = TUTTI_WIRES_NVLINK;
    subset_class *classes = tutti_alloc(MAX_CLASSES * sizeof *classes);
    tutti_status st = find_classes(&nvlinks, classes, &n, &nsubsets, err);
    if (st == TUTTI_OK) {
        printf("%s, %s, rates in NVLinks; %d subsets of 3 to 8 GPUs that NVLinks join, %d kinds\n",
               tutti_topology_kind_name(machine->kind), tutti_packing_use_name(q->use), nsubsets, n);
        print_head(q);
    }
    for (int k = 0; k < n && st == TUTTI_OK; k++) st = print_class(&nvlinks, &classes[k], q, err);
    for (int k = 0; k < n; k++) tutti_network_release(&classes[k].g);
    free(classes);
    return st;
}
