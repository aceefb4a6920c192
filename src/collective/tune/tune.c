/* SPDX-License-Identifier: Apache-2.0 */
/* tune.c: fits alpha, beta and gamma of this host to measured exchanges. Order matters: each figure is fitted with the
 * earlier ones in place. The memory figure is the rate that all cores reach together, so it needs as many ranks as
 * cores; vectors must exceed the caches fourfold, or the fit says nothing. `remote` needs inputs that their ranks have
 * just written, as gradients are: lines that are only read again and again would lie in both caches and cost
 * nothing. */
#include "tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/host/memory.h"
#include "../compile/algorithms.h"
#include "../lower/prepare.h"

enum { SMALL_BYTES = 1 << 18, LEAST_LARGE_BYTES = 1 << 25 };

/* Simulates the schedule with the figures that are fitted so far; all time but the latency is bytes divided by a
 * rate. */
static tutti_status simulate_case(const tutti_tune_case *c, const tutti_topology *t, tutti_simulation *out,
                                  tutti_failure *err)
{
    const tutti_compile_request request = {.collective = c->collective, .nranks = c->nranks, .in_place = true};
    tutti_prepared made = {0};
    tutti_status st = tutti_schedule_prepare(c->algorithm, &request, NULL, NULL, &made, err);
    if (!st) st = tutti_simulate_schedule(made.lowered, t, c->n, out, err);
    tutti_prepared_release(&made);
    return st;
}

/* Rounds to three digits, because further digits are not reproducible. */
static double rounded(double v)
{
    char text[32];
    snprintf(text, sizeof text, "%.3g", v);
    return strtod(text, NULL);
}

/* Fits one rate figure. A simulation with this figure infinitely fast gives the part of the time that other figures
 * explain; the rest of the measured time is proportional to 1 / figure. */
static tutti_status rate_fit(const tutti_tune_case *c, tutti_figure figure, const tutti_topology *t, double *value,
                             tutti_failure *err)
{
    tutti_simulation without = {0}, slow = {0};
    tutti_topology other = *t;
    other.figure[figure] = 1e18;
    tutti_status st = simulate_case(c, &other, &without, err);
    other.figure[figure] = 1e8; /* a low rate, at which the other figures hardly change the time */
    if (!st) st = simulate_case(c, &other, &slow, err);
    double share = figure == TUTTI_FIGURE_BANDWIDTH ? slow.local_s : slow.local_s - without.local_s;
    double rest = figure == TUTTI_FIGURE_BANDWIDTH ? without.latency_s : without.seconds;
    *value = 1e8 * share / fmax(c->measured_s - rest, c->measured_s / 20);
    return st;
}

static tutti_status case_run(tutti_tune_case *c, tutti_figure figure, tutti_topology *t, tutti_failure *err)
{
    tutti_simulation sim = {0};
    bool touch = figure == TUTTI_FIGURE_REMOTE;
    tutti_status st = TUTTI_OK;
    if (figure == TUTTI_FIGURE_ADD || figure == TUTTI_FIGURE_COPY) {
        c->measured_s = tutti_tune_local(figure == TUTTI_FIGURE_ADD, c->n);
        c->value = (figure == TUTTI_FIGURE_ADD ? 3.0 : 2.0) * (double)c->n * TUTTI_ELEMENT_BYTES / c->measured_s;
    } else {
        st = tutti_tune_time(c->algorithm, c->collective, c->nranks, c->n, touch, &c->measured_s, err);
        if (!st) st = simulate_case(c, t, &sim, err);
        if (st) return st;
        double round_s = c->measured_s / (sim.nrounds > 0 ? sim.nrounds : 1);
        double turns = ceil(c->nranks / t->figure[TUTTI_FIGURE_CORES]);
        if (figure == TUTTI_FIGURE_LATENCY)
            c->value = round_s;
        else if (figure == TUTTI_FIGURE_SWITCH)
            c->value = fmax(0, round_s - t->figure[TUTTI_FIGURE_LATENCY]) / turns;
        else
            st = rate_fit(c, figure, t, &c->value, err);
    }
    c->value = rounded(c->value);
    t->figure[figure] = c->value;
    t->from[figure] = TUTTI_FROM_FITTED;
    return st;
}

int64_t tutti_tune_large_bytes(double cache_bytes, int nranks, int64_t left)
{
    const double wanted = fmax(4 * cache_bytes / nranks, LEAST_LARGE_BYTES), most = (double)left / (4.0 * nranks);
    const int64_t large = (int64_t)fmin(wanted, most) & ~(int64_t)4095;
    return (double)large * nranks < 2 * cache_bytes ? 0 : large;
}

tutti_status tutti_tune_host(tutti_topology *t, tutti_tune_case cases[TUTTI_NTUNE_CASES], tutti_failure *err)
{
    int cores = (int)t->figure[TUTTI_FIGURE_CORES], all = cores < 2 ? 2 : cores < 16 ? cores : 16;
    const int64_t large = tutti_tune_large_bytes(t->figure[TUTTI_FIGURE_CACHE], all, tutti_memory_left());
    const struct {
        tutti_figure figure;
        const char *algorithm; /* algorithm of the exchange that is timed; NULL: one core alone works */
        tutti_collective collective;
        int nranks;
        int64_t nbytes;
    } rows[TUTTI_NTUNE_CASES] = {
        {TUTTI_FIGURE_LATENCY, "one-shot", TUTTI_ALLREDUCE, 2, 4},
        {TUTTI_FIGURE_SWITCH, "one-shot", TUTTI_ALLREDUCE, 2 * cores < 64 ? 2 * cores : 64, 4},
        {TUTTI_FIGURE_ADD, NULL, TUTTI_REDUCE_SCATTER, 1, SMALL_BYTES},
        {TUTTI_FIGURE_COPY, NULL, TUTTI_ALL_GATHER, 1, SMALL_BYTES},
        {TUTTI_FIGURE_REMOTE, "direct", TUTTI_REDUCE_SCATTER, 2, SMALL_BYTES},
        {TUTTI_FIGURE_BANDWIDTH, "direct", TUTTI_ALLREDUCE, all, large},
    };
    for (int i = 0; i < TUTTI_NTUNE_CASES; i++) {
        cases[i] = (tutti_tune_case){.what = tutti_figure_name(rows[i].figure),
                                     .algorithm = rows[i].algorithm,
                                     .collective = rows[i].collective,
                                     .nranks = rows[i].nranks,
                                     .n = rows[i].nbytes / TUTTI_ELEMENT_BYTES};
        if (!cases[i].n) continue;
        tutti_status st = case_run(&cases[i], rows[i].figure, t, err);
        if (st) return tutti_fail_at(err, "tune: %s", cases[i].what);
    }
    return TUTTI_OK;
}

tutti_status tutti_tune_compare(const tutti_topology *t, tutti_tune_check *rows, int max, int *nrows,
                                tutti_failure *err)
{
    static const int64_t sizes[] = {4, 4096, 65536, 1 << 20, 1 << 24};
    *nrows = 0;
    for (int a = 0; a < tutti_algorithm_count(); a++)
        for (int nranks = 2; nranks <= 4; nranks += 2)
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && *nrows < max; i++) {
                tutti_tune_case c = {.algorithm = tutti_algorithm_at(a)->name,
                                     .collective = TUTTI_ALLREDUCE,
                                     .nranks = nranks,
                                     .n = sizes[i] / TUTTI_ELEMENT_BYTES};
                tutti_simulation sim;
                tutti_failure refusal = {0};
                if (simulate_case(&c, t, &sim, &refusal)) continue; /* the algorithm cannot serve this case */
                tutti_status st = tutti_tune_time(c.algorithm, c.collective, nranks, c.n, true, &c.measured_s, err);
                if (st) return st;
                rows[(*nrows)++] = (tutti_tune_check){c.algorithm, nranks, c.n, sim.seconds, c.measured_s};
            }
    return TUTTI_OK;
}
