/* SPDX-License-Identifier: Apache-2.0 */
/* tune_device.c: `tutti tune device`: times the layers of networks made for it (src/predict/probes) on one thread and writes the device that
 * fits them; --check compares it with shipped networks, none of whose layers it has seen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/sort.h"
#include "../../job/on_card.h"
#include "../../predict/profile/device.h"
#include "../cli.h"
#include "tune_verbs.h"
#include "tutti/topology.h"

static const tutti_flag flags[] = {
    {"out", "FILE", "write the device there (default: only print it)", TUTTI_FLAG_WRITES},
    {"check", NULL, "compare it with shipped networks, which it was not fitted to (minutes)", 0},
    {"device", "FILE", "do not measure for a fit: check this device; 'cuda': as --on cuda", 0},
    {"on", "cpu|cuda",
     "whose kernels are timed: this processor's, one thread (default), or those of the first CUDA card", 0},
    {"kernels", "FILE", "write each kernel that is checked there, as CSV: measured and predicted", TUTTI_FLAG_WRITES},
    {"models", "M,M,...", "of the networks, probes and shipped ones, these alone", 0},
};
enum { NFLAGS = sizeof flags / sizeof flags[0], MAX_SAMPLES = 16384 };
extern const tutti_embedded_text tutti_device_probes[]; /* made by the build */

typedef struct {
    const char *model;
    int batch;
    const char *precision;
} probe;

/* Of each several batch sizes, because that is what sizes of kernels follow. */
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
    tutti_device_sample *at;
    int n;
    tutti_arena names; /* of their layers */
} sample_set;

static sample_set set_make(void)
{
    return (sample_set){.at = tutti_alloc(MAX_SAMPLES * sizeof(tutti_device_sample))};
}

static void set_release(sample_set *set)
{
    free(set->at);
    tutti_arena_release(&set->names);
}

static bool is_asked(const tutti_flags *f, const probe *p)
{
    const char *models = tutti_cli_value(f, "models", NULL);
    if (!models) return true;
    tutti_strbuf all = {0}, one = {0};
    tutti_strbuf_printf(&all, ",%s,", models);
    tutti_strbuf_printf(&one, ",%s,", p->model);
    const bool found = strstr(all.text, one.text) != NULL;
    tutti_strbuf_release(&all);
    tutti_strbuf_release(&one);
    return found;
}

/* One call of the command: its flags, and the card whose kernels it times. */
typedef struct {
    const tutti_flags *flags;
    tutti_on_card card;
} tuning;

/* The name of the device whose kernels are timed: "cpu" or "cuda". */
static const char *where_of(const tutti_flags *f)
{
    const char *device = tutti_cli_value(f, "device", "");
    return tutti_cli_value(f, "on", strcmp(device, "cuda") ? "cpu" : "cuda");
}

/* The device file to check, or NULL. */
static const char *given_file(const tutti_flags *f)
{
    const char *device = tutti_cli_value(f, "device", NULL);
    return device && strcmp(device, "cuda") ? device : NULL;
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

enum { CARD_BATCHES = 16 }; /* a card is filled by so many times the samples */

/* As a job of one rank and one thread would have it. */
static tutti_status graph_make(const probe *p, const tutti_on_card *card, probe_graph *out, tutti_failure *err)
{
    const char *text = tutti_embedded_find(tutti_device_probes, p->model);
    tutti_graph_config config = {.batch = p->batch, .engine = "auto", .nthreads = 1, .training = true};
    if (card->device) config.device = card->device, config.batch *= CARD_BATCHES;
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

/* Adds the times of its kernels to the set: of each the shorter of two measurements, because a busy machine takes caches away. */
static tutti_status probe_measure(const probe *p, const tutti_on_card *card, sample_set *set, tutti_failure *err)
{
    enum { REPEATS = 2 };
    probe_graph r = {0};
    tutti_status st = graph_make(p, card, &r, err);
    int n = 0;
    if (!st && set->n + REPEATS * TUTTI_NPASSES * r.graph->model->nlayers > MAX_SAMPLES)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "more than %d kernels to measure", MAX_SAMPLES);
    for (int k = 0; k < REPEATS && !st; k++) {
        tutti_device_sample *first = set->at + set->n, *again = first + n;
        tutti_profile profile = {0};
        st = tutti_profile_measure(&r.graph, 1, &profile, err);
        const int count = st ? 0 : tutti_device_samples(r.graph, &profile, k ? again : first);
        for (int i = 0; k && count == n && i < n; i++) first[i].seconds = fmin(first[i].seconds, again[i].seconds);
        for (int i = 0; !k && i < count; i++) first[i].layer = tutti_arena_strdup(&set->names, first[i].layer);
        if (!k) n = count;
        tutti_profile_release(&profile);
    }
    set->n += n;
    graph_release(&r);
    return st;
}

static tutti_status measure(const tuning *t, const char *why, const probe *probes, int nprobes, sample_set *set,
                            tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < nprobes && !st; i++) {
        if (!is_asked(t->flags, &probes[i])) continue;
        fprintf(stderr, "%s: %s, batch %d, %s\n", why, probes[i].model, probes[i].batch, probes[i].precision);
        st = probe_measure(&probes[i], &t->card, set, err);
    }
    if (!st && !set->n) st = tutti_fail(err, TUTTI_ERR_USAGE, "--models names none of the networks that are measured");
    return st;
}

/* ---- the file ---- */

/* Writes the first lines of the file, which say what is measured. Returns the bytes of its last level of cache. */
static double describe(const tutti_on_card *card, tutti_strbuf *out)
{
    tutti_host_shape machine;
    char engine[96];
    tutti_strbuf_puts(out, "# Measured by 'tutti tune device'; measure again when the machine or tutti changes.\n");
    if (card->device) {
        tutti_strbuf_printf(out, "about: %s, driver of CUDA %d.%d\nkernels: auto\n", card->name, card->driver / 1000,
                            card->driver % 1000 / 10);
        return (double)card->l2_bytes;
    }
    tutti_topology_detect(&machine);
    tutti_kernel_engine_describe("auto", engine);
    tutti_strbuf_printf(out, "about: one thread of this processor, %s\nkernels: auto\nranks: share a host\n", engine);
    return (double)machine.core_cache;
}

static tutti_status device_fit(const tuning *t, tutti_strbuf *out, tutti_failure *err)
{
    sample_set set = set_make();
    const double cache_bytes = describe(&t->card, out);
    tutti_status st = measure(t, "measuring", fitted, NFITTED, &set, err);
    if (!st) st = tutti_device_fit(set.at, set.n, cache_bytes, out, err);
    set_release(&set);
    return st;
}

/* ---- the check ---- */

typedef struct {
    double *errors;
    int n;
} error_list;

static void print_errors(const char *what, error_list *list)
{
    tutti_sort_doubles(list->errors, (size_t)list->n);
    if (list->n)
        printf("%-28s %6d kernels  error: median %5.1f %%  p95 %5.1f %%\n", what, list->n,
               100 * list->errors[list->n / 2], 100 * list->errors[(list->n * 95 - 1) / 100]);
}

static void add_sums(const tutti_device *d, const sample_set *set, double *predicted_s, double *measured_s)
{
    for (int i = 0; i < set->n; i++) {
        const tutti_device_sample *s = &set->at[i];
        *predicted_s += tutti_device_seconds(d, s->precision, s->pass, &s->work);
        *measured_s += s->seconds;
    }
}

/* A line each: what it is, what it does and how long that takes. */
static void print_kernels(const probe *p, const tutti_device *d, const sample_set *set, tutti_strbuf *out)
{
    if (!out->length)
        tutti_strbuf_puts(out, "network,batch,precision,layer,class,kernel,pass,flops,bytes,measured_s,predicted_s\n");
    for (int i = 0; i < set->n; i++) {
        const tutti_device_sample *s = &set->at[i];
        const tutti_device_work *w = &s->work;
        tutti_strbuf_printf(out, "%s,%d,%s,%s,%s,%s,%s,%.6g,%.6g,%.6g,%.6g\n", p->model, p->batch, p->precision,
                            s->layer, tutti_device_class_name(w->class), w->by ? w->by : "",
                            tutti_kernel_pass_name(s->pass), w->flops, w->bytes, s->seconds,
                            tutti_device_seconds(d, s->precision, s->pass, w));
    }
}

static tutti_status check(const tuning *t, const tutti_device *d, tutti_failure *err)
{
    const tutti_flags *f = t->flags;
    sample_set set = set_make();
    error_list all = {.errors = tutti_alloc(MAX_SAMPLES * sizeof *all.errors)};
    tutti_strbuf kernels = {0};
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < NCHECKED && !st; i++) {
        double predicted_s = 0, measured_s = 0;
        char what[64];
        if (!is_asked(f, &checked[i])) continue;
        set.n = 0;
        st = measure(t, "checking", &checked[i], 1, &set, err);
        if (st) break;
        if (d->peak[set.at[0].precision] <= 0) continue;
        error_list own = {.errors = all.errors + all.n};
        own.n = tutti_device_errors(d, set.at, set.n, own.errors);
        all.n += own.n;
        if (all.n + TUTTI_NPASSES * 256 > MAX_SAMPLES) break;
        add_sums(d, &set, &predicted_s, &measured_s);
        print_kernels(&checked[i], d, &set, &kernels);
        snprintf(what, sizeof what, "%s, batch %d, %s", checked[i].model, checked[i].batch, checked[i].precision);
        print_errors(what, &own);
        printf("%-28s %+.1f %% of the kernels of a step together\n", "", 100 * (predicted_s / measured_s - 1));
    }
    if (!st) print_errors("all", &all);
    if (!st && tutti_cli_has(f, "kernels"))
        st = tutti_cli_write(tutti_cli_value(f, "kernels", NULL), kernels.text, err);
    tutti_strbuf_release(&kernels);
    free(all.errors);
    set_release(&set);
    return st;
}

static tutti_status tune(const tutti_flags *f, tutti_failure *err)
{
    tutti_strbuf text = {0};
    tutti_device d = {0};
    const char *given = given_file(f), *path = tutti_cli_value(f, "out", NULL);
    if (given && path)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--device is checked as it is; nothing is made for --out");
    if (tutti_cli_has(f, "kernels") && !given && !tutti_cli_has(f, "check"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--kernels is of those that are checked: give --check or --device too");
    tuning t = {.flags = f};
    tutti_status st = tutti_on_card_open(where_of(f), &t.card, err);
    if (!st) st = given ? tutti_device_open(given, &d, err) : device_fit(&t, &text, err);
    if (!st && !given) st = tutti_device_parse("what was fitted", text.text, &d, err);
    if (!st && !given) st = tutti_cli_write(path, text.text, err);
    if (!st && path) printf("written to %s\n", path);
    if (!st && (given || tutti_cli_has(f, "check"))) st = check(&t, &d, err);
    tutti_on_card_close(&t.card);
    tutti_device_release(&d);
    tutti_strbuf_release(&text);
    return st;
}

int tutti_tune_device(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "tune device",
        .usage = "tutti tune device [options]",
        .about =
            "Times the kernels of networks made for it on one thread of this processor, or on a CUDA card, alone, and "
            "prints the device that\n"
            "fits them best: `tutti predict JOB --device FILE` then times any job on it. Takes a minute or two "
            "and 1 GB;\n"
            "nothing else should run meanwhile. docs/devices.md",
        .flags = flags,
        .nflags = NFLAGS,
        .run = tune,
    };
    return tutti_cli_run(&form, argc, argv);
}
