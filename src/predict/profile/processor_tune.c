/* SPDX-License-Identifier: Apache-2.0 */
/* processor_tune.c: measures probes (src/predict/probes), fits a processor model to them, and compares it with shipped
 * networks. */
#include "processor_tune.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/sort.h"

enum { MAX_SAMPLES = 16384 };
extern const tutti_embedded_text tutti_device_probes[]; /* the networks of src/predict/probes, which the build embeds */

typedef struct {
    const char *model;
    int batch;
    const char *precision;
} probe;

/* The networks that are measured. Each has several batch sizes, because the sizes of kernels depend on the batch. */
static const probe fitted[] = {
    {"digits", 8, "f32"},     {"digits", 48, "f32"},     {"digits", 160, "f32"},    {"digits", 8, "bf16"},
    {"digits", 48, "bf16"},   {"strokes", 8, "f32"},     {"strokes", 48, "f32"},    {"strokes", 128, "f32"},
    {"strokes", 8, "bf16"},   {"strokes", 48, "bf16"},   {"residual", 2, "f32"},    {"residual", 12, "f32"},
    {"residual", 48, "f32"},  {"residual", 4, "bf16"},   {"residual", 24, "bf16"},  {"bottleneck", 1, "f32"},
    {"bottleneck", 4, "f32"}, {"bottleneck", 12, "f32"}, {"bottleneck", 3, "bf16"}, {"broad", 1, "f32"},
    {"broad", 6, "f32"},      {"broad", 24, "f32"},      {"broad", 4, "bf16"},      {"plain", 1, "f32"},
    {"plain", 3, "f32"},      {"plain", 2, "bf16"},      {"branches", 1, "f32"},    {"branches", 4, "f32"},
    {"branches", 12, "f32"},  {"branches", 1, "bf16"},   {"branches", 8, "bf16"},   {"blocks", 4, "f32"},
    {"blocks", 16, "f32"},    {"blocks", 48, "f32"},     {"blocks", 8, "bf16"},     {"blocks", 40, "bf16"},
    {"broad", 16, "bf16"},    {"bottleneck", 8, "bf16"},
};
static const probe checked[] = {
    {"lenet", 64, "f32"},    {"resnet20", 32, "f32"},  {"alexnet", 16, "f32"},  {"googlenet", 8, "f32"},
    {"resnet50", 8, "f32"},  {"vgg-a", 4, "f32"},      {"lenet", 64, "bf16"},   {"resnet20", 32, "bf16"},
    {"alexnet", 16, "bf16"}, {"googlenet", 4, "bf16"}, {"resnet50", 4, "bf16"},
};
enum { NFITTED = sizeof fitted / sizeof fitted[0], NCHECKED = sizeof checked / sizeof checked[0] };

typedef struct {
    tutti_processor_model_sample *at;
    int n;
    tutti_arena names; /* memory of the layers' names */
} sample_set;

static sample_set set_make(void)
{
    return (sample_set){.at = tutti_alloc(MAX_SAMPLES * sizeof(tutti_processor_model_sample))};
}

static void set_release(sample_set *set)
{
    free(set->at);
    tutti_arena_release(&set->names);
}

typedef struct {
    tutti_model *model, *fused;
    tutti_graph *graph;
} probe_graph;

static void graph_release(probe_graph *g)
{
    tutti_graph_destroy(g->graph);
    tutti_model_destroy(g->fused);
    tutti_model_destroy(g->model);
    *g = (probe_graph){0};
}

enum { CARD_BATCHES = 16 }; /* factor by which a card gets larger batches, because small ones do not fill it */

/* Makes the probe's graph as a job of one rank and one thread would. */
static tutti_status graph_make(const probe *p, const struct tutti_device *card, probe_graph *out, tutti_failure *err)
{
    const char *text = tutti_embedded_find(tutti_device_probes, p->model);
    tutti_graph_config config = {.batch = p->batch, .engine = "auto", .nthreads = 1, .training = true};
    if (card) config.device = card, config.batch *= CARD_BATCHES;
    probe_graph g = {0};
    while (strcmp(p->precision, tutti_precision_name(config.precision)) != 0) config.precision++;
    tutti_status st = text ? tutti_model_parse(p->model, text, strlen(text), &g.model, err)
                           : tutti_model_load(p->model, NULL, &g.model, err);
    if (!st) g.fused = tutti_model_fuse(g.model);
    if (!st) st = tutti_graph_build(g.fused, &config, &g.graph, err);
    if (st)
        graph_release(&g);
    else
        *out = g;
    return st;
}

/* Measures the probe's kernels and adds their times to the set. Of two times of a kernel the shorter one counts,
 * because a busy machine takes caches away. */
static tutti_status probe_measure(const probe *p, const struct tutti_device *card, sample_set *set, tutti_failure *err)
{
    enum { REPEATS = 2 };
    probe_graph r = {0};
    tutti_status st = graph_make(p, card, &r, err);
    int n = 0;
    if (!st && set->n + REPEATS * TUTTI_NPASSES * r.graph->model->nlayers > MAX_SAMPLES)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "more than %d kernels to measure", MAX_SAMPLES);
    for (int k = 0; k < REPEATS && !st; k++) {
        tutti_processor_model_sample *first = set->at + set->n, *again = first + n;
        tutti_profile profile = {0};
        st = tutti_profile_measure(&r.graph, 1, &profile, err);
        const int count = st ? 0 : tutti_processor_model_samples(r.graph, &profile, k ? again : first);
        for (int i = 0; k && count == n && i < n; i++) first[i].seconds = fmin(first[i].seconds, again[i].seconds);
        for (int i = 0; !k && i < count; i++) first[i].layer = tutti_arena_strdup(&set->names, first[i].layer);
        if (!k) n = count;
        tutti_profile_release(&profile);
    }
    set->n += n;
    graph_release(&r);
    return st;
}

static bool is_asked(const tutti_processor_model_tuning *t, const probe *p)
{
    if (!t->models) return true;
    tutti_strbuf all = {0}, one = {0};
    tutti_strbuf_printf(&all, ",%s,", t->models);
    tutti_strbuf_printf(&one, ",%s,", p->model);
    const bool found = strstr(all.text, one.text) != NULL;
    tutti_strbuf_release(&all);
    tutti_strbuf_release(&one);
    return found;
}

static void tell(const tutti_processor_model_tuning *t, bool is_result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void tell(const tutti_processor_model_tuning *t, bool is_result, const char *format, ...)
{
    char words[200];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    t->tell(is_result, words);
}

static tutti_status measure(const tutti_processor_model_tuning *t, const char *why, const probe *probes, int nprobes,
                            sample_set *set, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < nprobes && !st; i++) {
        if (!is_asked(t, &probes[i])) continue;
        tell(t, false, "%s: %s, batch %d, %s", why, probes[i].model, probes[i].batch, probes[i].precision);
        st = probe_measure(&probes[i], t->card, set, err);
    }
    if (!st && !set->n) st = tutti_fail(err, TUTTI_ERR_USAGE, "--models names none of the networks that are measured");
    return st;
}

tutti_status tutti_processor_model_tune(const tutti_processor_model_tuning *t, double cache_bytes, tutti_strbuf *out,
                                        tutti_failure *err)
{
    sample_set set = set_make();
    tutti_status st = measure(t, "measuring", fitted, NFITTED, &set, err);
    if (!st) st = tutti_processor_model_fit(set.at, set.n, cache_bytes, out, err);
    set_release(&set);
    return st;
}

/* ---- comparing the model with measured kernels ---- */

typedef struct {
    double *errors;
    int n;
} error_list;

static void tell_errors(const tutti_processor_model_tuning *t, const char *what, error_list *list)
{
    tutti_sort_doubles(list->errors, (size_t)list->n);
    if (list->n)
        tell(t, true, "%-28s %6d kernels  error: median %5.1f %%  p95 %5.1f %%", what, list->n,
             100 * list->errors[list->n / 2], 100 * list->errors[(list->n * 95 - 1) / 100]);
}

static void add_sums(const tutti_processor_model *d, const sample_set *set, double *predicted_s, double *measured_s)
{
    for (int i = 0; i < set->n; i++) {
        const tutti_processor_model_sample *s = &set->at[i];
        *predicted_s += tutti_processor_model_seconds(d, s->precision, s->pass, &s->work);
        *measured_s += s->seconds;
    }
}

/* Adds a line for each kernel: what it is, its work, and how long it takes. */
static void add_kernels(const probe *p, const tutti_processor_model *d, const sample_set *set, tutti_strbuf *out)
{
    if (!out->length)
        tutti_strbuf_puts(out, "network,batch,precision,layer,class,kernel,pass,flops,bytes,measured_s,predicted_s\n");
    for (int i = 0; i < set->n; i++) {
        const tutti_processor_model_sample *s = &set->at[i];
        const tutti_processor_model_work *w = &s->work;
        tutti_strbuf_printf(out, "%s,%d,%s,%s,%s,%s,%s,%.6g,%.6g,%.6g,%.6g\n", p->model, p->batch, p->precision,
                            s->layer, tutti_processor_model_class_name(w->class), w->by ? w->by : "",
                            tutti_kernel_pass_name(s->pass), w->flops, w->bytes, s->seconds,
                            tutti_processor_model_seconds(d, s->precision, s->pass, w));
    }
}

tutti_status tutti_processor_model_check(const tutti_processor_model_tuning *t, const tutti_processor_model *d,
                                         tutti_strbuf *kernels, tutti_failure *err)
{
    sample_set set = set_make();
    error_list all = {.errors = tutti_alloc(MAX_SAMPLES * sizeof *all.errors)};
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < NCHECKED && !st; i++) {
        double predicted_s = 0, measured_s = 0;
        char what[64];
        if (!is_asked(t, &checked[i])) continue;
        set.n = 0;
        st = measure(t, "checking", &checked[i], 1, &set, err);
        if (st) break;
        if (d->peak[set.at[0].precision] <= 0) continue;
        error_list own = {.errors = all.errors + all.n};
        own.n = tutti_processor_model_errors(d, set.at, set.n, own.errors);
        all.n += own.n;
        if (all.n + TUTTI_NPASSES * 256 > MAX_SAMPLES) break;
        add_sums(d, &set, &predicted_s, &measured_s);
        add_kernels(&checked[i], d, &set, kernels);
        snprintf(what, sizeof what, "%s, batch %d, %s", checked[i].model, checked[i].batch, checked[i].precision);
        tell_errors(t, what, &own);
        tell(t, true, "%-28s %+.1f %% of the kernels of a step together", "", 100 * (predicted_s / measured_s - 1));
    }
    if (!st) tell_errors(t, "all", &all);
    free(all.errors);
    set_release(&set);
    return st;
}
