/* SPDX-License-Identifier: Apache-2.0 */
/* device_fit.c: efficiencies of classes of kernels from measured times. */
#include "device_fit.h"

#include <math.h>
#include <stdlib.h>

#include "../base/sort.h"
#include "../base/strbuf.h"

int tutti_device_samples(const tutti_graph *g, const tutti_profile *profile, tutti_device_sample *out)
{
    int n = 0;
    for (int l = 0; l < profile->nlayers; l++) {
        const tutti_layer_time *t = &profile->layers[l];
        const double seconds[TUTTI_NPASSES] = {t->forward_s, t->params_s, t->data_s};
        for (int p = 0; p < TUTTI_NPASSES; p++) {
            tutti_device_sample s = {
                .pass = (tutti_kernel_pass)p, .precision = g->config.precision, .seconds = seconds[p]};
            if (seconds[p] > 0 && tutti_device_work_of(g, l, s.pass, &s.work)) out[n++] = s;
        }
    }
    return n;
}

/* Of the peak and of the memory's rate. */
typedef struct {
    double compute, memory;
} shares;

/* What all classes share, and the best efficiencies of one class and pass with it. */
typedef struct {
    double peak, rate, cache_bytes, cache_rate, launch_s;
} shared_figures;
typedef struct {
    shares e;
    double cost; /* sum of |log(predicted / measured)| */
    int n;       /* samples; 0: the class has none */
} class_fit;
typedef struct {
    shared_figures shared;
    class_fit of[TUTTI_DEVICE_NCLASSES][TUTTI_NPASSES];
    double cost;
} whole_fit;

/* Samples of one class and pass, in f32. */
typedef struct {
    const tutti_device_sample **at;
    int n;
} sample_list;

static double rate_of(const shared_figures *f, double bytes)
{
    return bytes <= f->cache_bytes ? f->cache_rate : f->rate;
}

static double cost_of(const shared_figures *f, const sample_list *list, shares e)
{
    double cost = 0;
    for (int i = 0; i < list->n; i++) {
        const tutti_device_sample *s = list->at[i];
        const double compute = s->work.flops / (f->peak * e.compute);
        const double memory = s->work.bytes / (rate_of(f, s->work.bytes) * e.memory);
        cost += fabs(log((f->launch_s + fmax(compute, memory)) / s->seconds));
    }
    return cost;
}

/* What a sample says if all of its time were computing, or all were memory; 0: it says nothing. */
static double implied(const shared_figures *f, const tutti_device_sample *s, bool is_memory)
{
    const double left = s->seconds - f->launch_s;
    if (left <= 0) return 0;
    const double share =
        is_memory ? s->work.bytes / (rate_of(f, s->work.bytes) * left) : s->work.flops / (f->peak * left);
    return share > 0 && share <= 100 ? share : 0;
}

static class_fit fit_class(const shared_figures *f, const sample_list *list)
{
    class_fit best = {.e = {1, 1}, .cost = INFINITY, .n = list->n};
    for (int i = -1; i < list->n; i++)
        for (int j = -1; j < list->n; j++) {
            const shares e = {i < 0 ? 1 : implied(f, list->at[i], false), j < 0 ? 1 : implied(f, list->at[j], true)};
            if (e.compute <= 0 || e.memory <= 0) continue;
            const double cost = cost_of(f, list, e);
            if (cost < best.cost) best.e = e, best.cost = cost;
        }
    if (!list->n) best.cost = 0;
    return best;
}

static whole_fit fit_with(const shared_figures *f, sample_list lists[TUTTI_DEVICE_NCLASSES][TUTTI_NPASSES])
{
    whole_fit fit = {.shared = *f};
    for (int c = 0; c < TUTTI_DEVICE_NCLASSES; c++)
        for (int p = 0; p < TUTTI_NPASSES; p++) {
            fit.of[c][p] = fit_class(f, &lists[c][p]);
            fit.cost += fit.of[c][p].cost;
        }
    return fit;
}

/* The fastest product, and the fastest of the passes over most bytes; 0: there is none. */
static double fastest(const tutti_device_sample *samples, int n, bool product, double more_than_bytes)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        const tutti_device_sample *s = &samples[i];
        if (s->work.is_product != product || s->precision != TUTTI_PRECISION_F32 || s->work.bytes <= more_than_bytes)
            continue;
        most = fmax(most, (product ? s->work.flops : s->work.bytes) / s->seconds);
    }
    return most;
}

static whole_fit fit_best(shared_figures f, sample_list lists[TUTTI_DEVICE_NCLASSES][TUTTI_NPASSES])
{
    static const double launches[] = {0, 3e-7, 1e-6, 3e-6}, ratios[] = {1, 1.5, 2, 3, 4, 6};
    const double rate = f.rate;
    whole_fit best = {.cost = INFINITY};
    for (size_t l = 0; l < sizeof launches / sizeof *launches; l++)
        for (size_t r = 0; r < sizeof ratios / sizeof *ratios; r++) {
            f.launch_s = launches[l];
            f.cache_rate = rate * ratios[r];
            const whole_fit fit = fit_with(&f, lists);
            if (fit.cost < best.cost) best = fit;
        }
    return best;
}

/* With the efficiencies of f32; NaN: no sample is of that precision. */
static double peak_of(const tutti_device_sample *samples, int n, const whole_fit *fit, tutti_precision precision)
{
    double *all = tutti_alloc((size_t)n * sizeof *all);
    int count = 0;
    for (int i = 0; i < n; i++) {
        const tutti_device_sample *s = &samples[i];
        const class_fit *own = &fit->of[s->work.class][s->pass];
        const double left = s->seconds - fit->shared.launch_s;
        if (s->precision != precision || !s->work.is_product || !own->n || left <= 0) continue;
        all[count++] = s->work.flops / (left * own->e.compute);
    }
    tutti_sort_doubles(all, (size_t)count);
    const double peak = count ? all[count / 2] : (double)NAN;
    free(all);
    return peak;
}

static void print_shared(const whole_fit *fit, tutti_strbuf *out)
{
    const shared_figures *f = &fit->shared;
    tutti_strbuf_printf(out, "peak.f32 %.6g fitted: the fastest product\n", f->peak);
    tutti_strbuf_printf(out, "memory %.6g fitted: the fastest pass over more than caches hold\n", f->rate);
    if (f->cache_bytes > 0) {
        tutti_strbuf_printf(out, "cache %.0f given: of one core, as the operating system says\n", f->cache_bytes);
        tutti_strbuf_printf(out, "cache.rate %.6g fitted: with the least error over all kernels\n", f->cache_rate);
    }
    tutti_strbuf_printf(out, "launch %.6g fitted: with the least error over all kernels\n", f->launch_s);
}

static void print_fit(const whole_fit *fit, tutti_strbuf *out)
{
    print_shared(fit, out);
    for (int c = 0; c < TUTTI_DEVICE_NCLASSES; c++)
        for (int p = 0; p < TUTTI_NPASSES; p++) {
            const class_fit *own = &fit->of[c][p];
            const char *class = tutti_device_class_name((tutti_device_class)c),
                       *pass = tutti_kernel_pass_name((tutti_kernel_pass)p);
            if (!own->n) continue;
            const double error = 100 * (exp(own->cost / own->n) - 1);
            tutti_strbuf_printf(out, "%s.compute.%s %.6g fitted: %d kernels, mean error %.0f %%\n", class, pass,
                                own->e.compute, own->n, error);
            tutti_strbuf_printf(out, "%s.memory.%s %.6g fitted: %d kernels, mean error %.0f %%\n", class, pass,
                                own->e.memory, own->n, error);
        }
}

tutti_status tutti_device_fit(const tutti_device_sample *samples, int n, double cache_bytes, tutti_strbuf *out,
                              tutti_failure *err)
{
    shared_figures f = {.peak = fastest(samples, n, true, 0), .cache_bytes = cache_bytes};
    for (double more = 4 * cache_bytes; f.rate <= 0 && more >= 0; more = more > 0 ? 0 : -1)
        f.rate = fastest(samples, n, false, more);
    if (f.peak <= 0 || f.rate <= 0)
        return tutti_fail(err, TUTTI_ERR_FAILED, "no times of %s among %d kernels: nothing to fit a device to",
                          f.peak <= 0 ? "products in f32" : "passes over memory in f32", n);
    sample_list lists[TUTTI_DEVICE_NCLASSES][TUTTI_NPASSES] = {0};
    const tutti_device_sample **all = tutti_alloc((size_t)n * TUTTI_DEVICE_NCLASSES * TUTTI_NPASSES * sizeof(void *));
    for (int c = 0; c < TUTTI_DEVICE_NCLASSES; c++)
        for (int p = 0; p < TUTTI_NPASSES; p++) lists[c][p].at = all + (size_t)n * (size_t)(c * TUTTI_NPASSES + p);
    for (int i = 0; i < n; i++) {
        sample_list *list = &lists[samples[i].work.class][samples[i].pass];
        if (samples[i].precision == TUTTI_PRECISION_F32) list->at[list->n++] = &samples[i];
    }
    const whole_fit fit = fit_best(f, lists);
    print_fit(&fit, out);
    for (int p = TUTTI_PRECISION_F32 + 1; p < TUTTI_NPRECISIONS; p++) {
        const double peak = peak_of(samples, n, &fit, (tutti_precision)p);
        if (isfinite(peak))
            tutti_strbuf_printf(out, "peak.%s %.6g fitted: median of products, with the efficiencies of f32\n",
                                tutti_precision_name((tutti_precision)p), peak);
    }
    free(all);
    return TUTTI_OK;
}

int tutti_device_errors(const tutti_device *d, const tutti_device_sample *samples, int n, double *out)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        const tutti_device_sample *s = &samples[i];
        if (d->peak[s->precision] <= 0) continue;
        out[count++] = fabs(tutti_device_seconds(d, s->precision, s->pass, &s->work) / s->seconds - 1);
    }
    return count;
}
