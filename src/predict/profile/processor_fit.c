/* SPDX-License-Identifier: Apache-2.0 */
/* processor_fit.c: fits the efficiencies of classes of kernels to measured times. */
#include "processor_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/text/strbuf.h"
#include "processor_figures.h"

int tutti_processor_model_samples(const tutti_graph *g, const tutti_profile *profile, tutti_processor_model_sample *out)
{
    int n = 0;
    for (int l = 0; l < profile->nlayers; l++) {
        const tutti_layer_time *t = &profile->layers[l];
        const double seconds[TUTTI_NPASSES] = {t->forward_s, t->params_s, t->data_s};
        for (int p = 0; p < TUTTI_NPASSES; p++) {
            tutti_processor_model_sample s = {.layer = t->name,
                                              .pass = (tutti_kernel_pass)p,
                                              .precision = g->config.precision,
                                              .seconds = seconds[p]};
            if (seconds[p] > 0 && tutti_processor_model_work_of(g, l, s.pass, &s.work)) out[n++] = s;
        }
    }
    return n;
}

/* ---- figures that all classes share ---- */

typedef struct {
    double peak[TUTTI_NPRECISIONS], rate, cache_bytes, cache_rate, launch_s;
} shared_figures;

/* Returns the FLOP/s of the fastest product in a precision, or 0 if there is none. */
static double fastest_product(const tutti_processor_model_sample *samples, int n, tutti_precision precision)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        if (samples[i].work.is_product && samples[i].precision == precision)
            most = fmax(most, samples[i].work.flops / samples[i].seconds);
    return most;
}

/* Returns the bytes/s of the fastest pass in f32 over a number of bytes in this range, or 0 if there is none. */
static double fastest_pass(const tutti_processor_model_sample *samples, int n, double more_than, double at_most)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        const tutti_processor_model_sample *s = &samples[i];
        if (s->work.is_product || s->precision != TUTTI_PRECISION_F32) continue;
        if (s->work.bytes > more_than && s->work.bytes <= at_most) most = fmax(most, s->work.bytes / s->seconds);
    }
    return most;
}

static shared_figures share(const tutti_processor_model_sample *samples, int n, double cache_bytes)
{
    /* PAST: after a pass over data PAST times as large as a cache, hardly any of the data is in the cache */
    enum { PAST = 4 };
    shared_figures f = {.cache_bytes = cache_bytes};
    for (int p = 0; p < TUTTI_NPRECISIONS; p++) f.peak[p] = fastest_product(samples, n, (tutti_precision)p);
    f.rate = fastest_pass(samples, n, PAST * cache_bytes, INFINITY);
    if (f.rate <= 0) f.rate = fastest_pass(samples, n, 0, INFINITY);
    f.cache_rate = fmax(f.rate, fastest_pass(samples, n, 0, cache_bytes));
    return f;
}

/* ---- one class, pass, precision and perhaps kernel ---- */

enum { NSHARES = TUTTI_DEVICE_CACHE + 1, LEAST_SAMPLES = 6, MOST_TRIED = 48, MOST_SWEEPS = 8 };

static const double launches[] = {0,    1e-7, 2e-7, 3e-7, 5e-7, 7e-7, 1e-6, 1.5e-6,
                                  2e-6, 3e-6, 5e-6, 7e-6, 1e-5, 2e-5, 3e-5, 5e-5};
enum { NLAUNCHES = sizeof launches / sizeof *launches };

/* A sample, with the seconds that each of its terms would take at an efficiency of 1. */
typedef struct {
    double compute_s, memory_s, seconds, log_seconds;
    tutti_processor_model_term near; /* the memory that the sample's bytes are in: TUTTI_DEVICE_CACHE if they fit into
                                      * the cache, else TUTTI_DEVICE_MEMORY */
} timed;
typedef struct {
    timed *at;
    int n;
} timed_list;
typedef struct {
    double share[NSHARES], overlap, launch_s;
    double cost; /* how badly the fit fits: sum of |log(predicted / measured)| over the samples */
} class_fit;

static bool is_of(const tutti_processor_model_sample *s, const tutti_processor_model_figure *group)
{
    const tutti_precision precision = group->precision < 0 ? TUTTI_PRECISION_F32 : (tutti_precision)group->precision;
    return s->work.class == group->class && (int)s->pass == group->pass && s->precision == precision &&
           (!group->kernel || (s->work.by && strcmp(s->work.by, group->kernel) == 0));
}

static timed_list gather(const shared_figures *f, const tutti_processor_model_sample *samples, int n,
                         const tutti_processor_model_figure *group, timed *memory)
{
    timed_list list = {.at = memory};
    for (int i = 0; i < n; i++) {
        const tutti_processor_model_sample *s = &samples[i];
        if (!is_of(s, group)) continue;
        const bool is_cached = s->work.bytes <= f->cache_bytes;
        list.at[list.n++] =
            (timed){.compute_s = s->work.flops / f->peak[s->work.is_product ? s->precision : TUTTI_PRECISION_F32],
                    .memory_s = s->work.bytes / (is_cached ? f->cache_rate : f->rate),
                    .seconds = s->seconds,
                    .log_seconds = log(s->seconds),
                    .near = is_cached ? TUTTI_DEVICE_CACHE : TUTTI_DEVICE_MEMORY};
    }
    return list;
}

/* Returns the cost of a fit. Among equal fits the one with fewer peculiarities wins. So without samples from the cache,
 * the cache's efficiency equals the memory's (and the reverse); without samples that computing limits, the compute
 * efficiency is 1. */
static double cost_of(const timed_list *list, const class_fit *fit)
{
    const double pull = 1e-6, *share = fit->share;
    double cost = pull * (1 - fit->overlap + fabs(log(share[TUTTI_DEVICE_COMPUTE])) +
                          fabs(log(share[TUTTI_DEVICE_MEMORY] / share[TUTTI_DEVICE_CACHE])));
    for (int i = 0; i < list->n; i++) {
        const timed *t = &list->at[i];
        const double compute = t->compute_s / fit->share[TUTTI_DEVICE_COMPUTE],
                     memory = t->memory_s / fit->share[t->near];
        cost += fabs(log(fit->launch_s + fmax(compute, memory) + (1 - fit->overlap) * fmin(compute, memory)) -
                     t->log_seconds);
    }
    return cost;
}

/* Returns the efficiency of one term by which the fit would predict this sample's time exactly; 0 if none does. */
static double implied(const timed *t, const class_fit *fit, int term)
{
    const bool is_compute = term == TUTTI_DEVICE_COMPUTE;
    if (!is_compute && term != (int)t->near) return 0;
    const double at_one = is_compute ? t->compute_s : t->memory_s, apart = 1 - fit->overlap,
                 other =
                     is_compute ? t->memory_s / fit->share[t->near] : t->compute_s / fit->share[TUTTI_DEVICE_COMPUTE];
    double left =
        t->seconds - fit->launch_s - apart * other; /* the seconds left for this term, if it takes longer than the other
                                                     * term (compute or memory) */
    /* the seconds left for this term, if the other term takes longer */
    if (apart > 0 && left < other) left = (t->seconds - fit->launch_s - other) / apart;
    const double share = left > 0 ? at_one / left : 0;
    return share >= 1e-6 && share <= 100 ? share : 0;
}

static void share_try(const timed_list *list, int term, double share, class_fit *fit)
{
    class_fit tried = *fit;
    if (share <= 0) return;
    tried.share[term] = share;
    tried.cost = cost_of(list, &tried);
    if (tried.cost < fit->cost) *fit = tried;
}

/* Finds the best value of one efficiency, with the other efficiencies fixed. */
static void share_improve(const timed_list *list, int term, class_fit *fit)
{
    const int step = 1 + (list->n - 1) / MOST_TRIED;
    const double as_known = term == TUTTI_DEVICE_MEMORY  ? fit->share[TUTTI_DEVICE_CACHE]
                            : term == TUTTI_DEVICE_CACHE ? fit->share[TUTTI_DEVICE_MEMORY]
                                                         : 1;
    share_try(list, term, as_known, fit);
    for (int i = 0; i < list->n; i += step) share_try(list, term, implied(&list->at[i], fit, term), fit);
}

/* Fits the efficiencies from a starting point: the device's own rates, or computing that takes no time, so that the
 * efficiency of memory is fitted first. */
static class_fit fit_from(const timed_list *list, double launch_s, double overlap, double compute)
{
    class_fit fit = {.share = {compute, 1, 1}, .overlap = overlap, .launch_s = launch_s};
    fit.cost = cost_of(list, &fit);
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        const double before = fit.cost;
        for (int term = 0; term < NSHARES; term++) share_improve(list, compute > 1 ? (term + 1) % NSHARES : term, &fit);
        if (fit.cost >= before) break;
    }
    return fit;
}

static class_fit fit_at(const timed_list *list, double launch_s)
{
    class_fit best = {.cost = INFINITY};
    for (double overlap = 1; overlap >= 0; overlap -= 0.5)
        for (double compute = 1; compute <= 100; compute *= 100) {
            const class_fit fit = fit_from(list, launch_s, overlap, compute);
            if (fit.cost < best.cost) best = fit;
        }
    return best;
}

/* Fits a class with each launch time of a grid. Among equally good fits it takes the one whose launch is nearest to the
 * device's. */
static class_fit fit_class(const shared_figures *f, const timed_list *list)
{
    const double pull = 1e-6;
    class_fit best = fit_at(list, f->launch_s);
    for (int l = 0; l < NLAUNCHES; l++) {
        const class_fit fit = fit_at(list, launches[l]);
        const double apart = fabs(log((launches[l] + launches[1]) / (f->launch_s + launches[1])));
        if (fit.cost + pull * apart < best.cost) best = fit, best.cost += pull * apart;
    }
    return best;
}

/* ---- printing: the fitted figures as lines of a device file (docs/devices.md) ---- */

static void print_shared(const shared_figures *f, tutti_strbuf *out)
{
    for (int p = 0; p < TUTTI_NPRECISIONS; p++)
        if (f->peak[p] > 0)
            tutti_strbuf_printf(out, "peak.%s %.6g fitted: the fastest product\n",
                                tutti_precision_name((tutti_precision)p), f->peak[p]);
    tutti_strbuf_printf(out, "memory %.6g fitted: the fastest pass over more than caches hold\n", f->rate);
    if (f->cache_bytes > 0) {
        tutti_strbuf_printf(out, "cache %.0f given: of one core or card, as the system says\n", f->cache_bytes);
        tutti_strbuf_printf(out, "cache.rate %.6g fitted: the fastest pass over what it holds\n", f->cache_rate);
    }
    tutti_strbuf_printf(out, "launch %.6g fitted: with the least error over all kernels\n", f->launch_s);
}

static void print_class(const shared_figures *f, tutti_processor_model_figure group, const class_fit *fit, int n,
                        tutti_strbuf *out)
{
    for (int term = 0; term < TUTTI_DEVICE_NTERMS; term++) {
        char key[TUTTI_DEVICE_KEY];
        if (term == TUTTI_DEVICE_CACHE && f->cache_bytes <= 0) continue;
        const double value = term < NSHARES                 ? fit->share[term]
                             : term == TUTTI_DEVICE_OVERLAP ? fit->overlap
                                                            : fit->launch_s;
        group.term = (tutti_processor_model_term)term;
        tutti_processor_model_key_write(&group, key);
        tutti_strbuf_printf(out, "%s %.6g fitted: %d kernels, mean error %.0f %%\n", key, value, n,
                            100 * (exp(fit->cost / n) - 1));
    }
}

/* Returns the i-th class, pass and precision; false after the last. */
static bool group_at(int i, tutti_processor_model_figure *out)
{
    const int pass = i % TUTTI_NPASSES, precision = i / TUTTI_NPASSES % TUTTI_NPRECISIONS,
              class = i / (TUTTI_NPASSES * TUTTI_NPRECISIONS);
    *out = (tutti_processor_model_figure){.class = (tutti_processor_model_class) class,
                                          .precision = precision == TUTTI_PRECISION_F32 ? -1 : precision,
                                          .pass = pass};
    return class < TUTTI_DEVICE_NCLASSES;
}

/* Returns the launch time that fits all classes best if they must share one. */
static double common_launch(const shared_figures *f, const tutti_processor_model_sample *samples, int n, timed *memory)
{
    double costs[NLAUNCHES] = {0};
    tutti_processor_model_figure group;
    int best = 0;
    for (int i = 0; group_at(i, &group); i++) {
        const timed_list list = gather(f, samples, n, &group, memory);
        for (int l = 0; l < NLAUNCHES; l++) costs[l] += fit_at(&list, launches[l]).cost;
    }
    for (int l = 1; l < NLAUNCHES; l++)
        if (costs[l] < costs[best]) best = l;
    return launches[best];
}

/* Fits the kernels of a class separately if there are enough samples of each. */
static void fit_group(const shared_figures *f, const tutti_processor_model_sample *samples, int n,
                      const tutti_processor_model_figure *group, timed *memory, tutti_strbuf *out)
{
    const timed_list list = gather(f, samples, n, group, memory);
    const int least = group->kernel || group->precision >= 0 ? LEAST_SAMPLES : 1;
    if (list.n < least) return;
    const class_fit fit = fit_class(f, &list);
    print_class(f, *group, &fit, list.n, out);
    for (int i = 0; tutti_candidate_name_at(i) && !group->kernel; i++) {
        tutti_processor_model_figure one = *group;
        one.kernel = tutti_candidate_name_at(i);
        if (one.precision < 0) one.precision = TUTTI_PRECISION_F32;
        const int count = gather(f, samples, n, &one, memory + n).n;
        if (count < list.n) fit_group(f, samples, n, &one, memory + n, out);
    }
}

tutti_status tutti_processor_model_fit(const tutti_processor_model_sample *samples, int n, double cache_bytes,
                                       tutti_strbuf *out, tutti_failure *err)
{
    shared_figures f = share(samples, n, cache_bytes);
    tutti_processor_model_figure group;
    if (f.peak[TUTTI_PRECISION_F32] <= 0 || f.rate <= 0)
        return tutti_fail(err, TUTTI_ERR_FAILED, "no times of %s among %d kernels: nothing to fit a device to",
                          f.peak[TUTTI_PRECISION_F32] <= 0 ? "products in f32" : "passes over memory in f32", n);
    timed *memory = tutti_alloc(2 * (size_t)n * sizeof *memory);
    f.launch_s = common_launch(&f, samples, n, memory);
    print_shared(&f, out);
    for (int i = 0; group_at(i, &group); i++) fit_group(&f, samples, n, &group, memory, out);
    free(memory);
    return TUTTI_OK;
}

int tutti_processor_model_errors(const tutti_processor_model *d, const tutti_processor_model_sample *samples, int n,
                                 double *out)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        const tutti_processor_model_sample *s = &samples[i];
        if (d->peak[s->precision] <= 0) continue;
        out[count++] = fabs(tutti_processor_model_seconds(d, s->precision, s->pass, &s->work) / s->seconds - 1);
    }
    return count;
}
