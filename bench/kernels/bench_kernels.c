/* SPDX-License-Identifier: Apache-2.0 */
/* bench_kernels.c: how long one forward and backward pass of a shipped model takes on one rank, kernels alone: no data,
 * no exchange, no update. usage: bench_kernels MODEL BATCH THREADS ENGINE REPEATS [--layers] [--precision P]
 *
 * Prints the median of REPEATS passes in microseconds; --layers prints a line a layer, medians of forward, weight
 * gradient and input gradient. Values do not share memory, gradients of in-place layers do, as in training. ReLUs and
 * additions are merged, as in training. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sort.h"
#include "tensor/convert.h"
#include "training/graph/graph.h"

enum { PARTS = 3, WARMUP = 5 };

typedef struct {
    tutti_graph *graph;
    tutti_kernel_args *args; /* a layer */
    double *seconds[PARTS];  /* [layer * repeats + repeat]: forward, weight gradient, input gradient */
    double *total;
    int repeats;
    float loss;
    int32_t correct, *labels;
} run;

/* Small numbers of both signs, so that nothing overflows or turns denormal. */
static void *typed_numbers(size_t nbytes, tutti_dtype type)
{
    const size_t n = nbytes / tutti_dtype_bytes(type);
    float *p = aligned_alloc(64, (n * sizeof *p + 127) / 64 * 64);
    for (size_t i = 0; i < n; i++) p[i] = (float)((int)(i * 2654435761u >> 8) % 2001 - 1000) * 1e-4f;
    if (type == TUTTI_F32) return p;
    void *halves = aligned_alloc(64, (nbytes + 127) / 64 * 64);
    tutti_convert_from_f32(type, p, halves, (int64_t)n);
    free(p);
    return halves;
}

static float *numbers(size_t nbytes)
{
    return typed_numbers(nbytes, TUTTI_F32);
}

static void give_memory(run *r, int64_t batch)
{
    const tutti_graph *g = r->graph;
    const tutti_model *m = g->model;
    size_t scratch = 0;
    for (int l = 0; l < m->nlayers; l++)
        if (g->kernels[l].scratch_bytes > scratch) scratch = g->kernels[l].scratch_bytes;
    float *shared = numbers(scratch);
    r->labels = calloc((size_t)batch, sizeof *r->labels);
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_kernel *k = &g->kernels[l];
        tutti_kernel_args *a = &r->args[l];
        for (int i = 0; i < k->ninputs; i++) {
            int from = m->layers[l].in[i];
            a->in[i] = from < 0 ? typed_numbers(k->in[i].bytes, k->in[i].dtype) : r->args[from].out;
            a->din[i] = from < 0 || k->passes_gradient >> i & 1 ? NULL : r->args[from].dout;
        }
        a->out = typed_numbers(k->out.bytes, k->out.dtype);
        a->dout = typed_numbers(k->out.bytes, k->out.dtype);
        a->saved = numbers(k->saved_bytes);
        a->scratch = shared;
        a->training = true;
        a->layer = (uint32_t)l;
        a->labels = r->labels;
        a->loss_scale = 1 / (float)batch;
        a->loss = &r->loss;
        a->correct = &r->correct;
        for (int p = 0; p < k->nparams; p++) {
            size_t nbytes = (size_t)k->params[p].elements * sizeof(float);
            a->param[p] = numbers(nbytes);
            a->dparam[p] = numbers(nbytes);
        }
    }
}

static void note(run *r, int part, int layer, int repeat, double seconds)
{
    if (repeat >= 0) r->seconds[part][layer * r->repeats + repeat] = seconds;
}

static void one_pass(run *r, int repeat)
{
    const tutti_graph *g = r->graph;
    double start = tutti_clock_s();
    for (int l = 0; l < g->model->nlayers; l++) {
        double before = tutti_clock_s();
        g->kernels[l].row->forward(&g->kernels[l], &r->args[l]);
        note(r, 0, l, repeat, tutti_clock_s() - before);
    }
    for (int l = g->model->nlayers - 1; l >= 0; l--) {
        tutti_kernel *k = &g->kernels[l];
        double before = tutti_clock_s();
        if (k->nparams) k->row->backward_params(k, &r->args[l]);
        double between = tutti_clock_s();
        if (g->needs_input_grad[l]) k->row->backward_data(k, &r->args[l]);
        note(r, 1, l, repeat, between - before);
        note(r, 2, l, repeat, tutti_clock_s() - between);
    }
    if (repeat >= 0) r->total[repeat] = tutti_clock_s() - start;
}

static double median_us(double *seconds, int n)
{
    tutti_sort_doubles(seconds, (size_t)n);
    return seconds[n / 2] * 1e6;
}

static void print_layers(run *r)
{
    const tutti_model *m = r->graph->model;
    printf("%-28s %10s %10s %10s\n", "layer, us", "forward", "d weights", "d input");
    for (int l = 0; l < m->nlayers; l++) {
        printf("%-28s", m->layers[l].name);
        for (int i = 0; i < PARTS; i++) printf(" %10.1f", median_us(r->seconds[i] + l * r->repeats, r->repeats));
        printf("\n");
    }
}

static int fail(const tutti_failure *err)
{
    fprintf(stderr, "bench_kernels: %s\n", err->text);
    return (int)err->status;
}

static bool find_precision(const char *name, tutti_precision *precision)
{
    for (int p = 0; name && p < TUTTI_NPRECISIONS; p++) {
        *precision = (tutti_precision)p;
        if (strcmp(name, tutti_precision_name(*precision)) == 0) return true;
    }
    return false;
}

/* What follows the repeats; false = not that. */
static bool read_options(char **argv, bool *layers, tutti_precision *precision)
{
    for (; *argv; argv++)
        if (strcmp(*argv, "--layers") == 0)
            *layers = true;
        else if (strcmp(*argv, "--precision") || !find_precision(*++argv, precision))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    bool layers = false;
    tutti_precision precision = TUTTI_PRECISION_F32;
    if (argc < 6 || !read_options(argv + 6, &layers, &precision)) {
        fprintf(stderr,
                "usage: bench_kernels MODEL BATCH THREADS ENGINE REPEATS [--layers] [--precision f32|bf16|f16]\n");
        return TUTTI_ERR_USAGE;
    }
    tutti_failure err = {0};
    tutti_model *model = NULL;
    run r = {.repeats = (int)strtol(argv[5], NULL, 10)};
    int64_t batch = strtoll(argv[2], NULL, 10);
    if (tutti_model_load(argv[1], ".", &model, &err)) return fail(&err);
    const tutti_graph_config config = {.batch = batch,
                                       .engine = argv[4],
                                       .nthreads = (int)strtol(argv[3], NULL, 10),
                                       .precision = precision,
                                       .training = true};
    model = tutti_model_fuse(model); /* as it is trained */
    if (tutti_graph_build(model, &config, &r.graph, &err)) return fail(&err);
    size_t n = (size_t)r.repeats * (size_t)model->nlayers;
    r.args = calloc((size_t)model->nlayers, sizeof *r.args);
    for (int i = 0; i < PARTS; i++) r.seconds[i] = calloc(n, sizeof(double));
    r.total = calloc((size_t)r.repeats, sizeof(double));
    give_memory(&r, batch);
    for (int i = -WARMUP; i < r.repeats; i++) one_pass(&r, i);
    if (layers) print_layers(&r);
    printf("%.1f\n", median_us(r.total, r.repeats));
    return 0;
}
