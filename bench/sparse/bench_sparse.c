/* SPDX-License-Identifier: Apache-2.0 */
/* bench_sparse.c: convolutions fed by a ReLU or read by a max pool, of a model as it is trained: the row `sparse` at
 * several sparsities, beside windows and products of oneDNN and OpenBLAS and beside the rows that training takes (what
 * the chooser's rules say). usage: bench_sparse MODEL BATCH ROUNDS OPENBLAS|- [LAYER]
 *
 * One thread; CPU time of that thread, the least of ROUNDS rounds in which all take turns. A line a layer of its own
 * shape, pass and sparsity:
 *
 *   layer|HxW|CxK|kernel|stride|pass|sparsity|sparse|oneDNN's products|OpenBLAS's|the row that training takes
 *   (ms; - = there is none)
 *
 * Where the convolution has a ReLU merged into it its gradient is as sparse as its input; else the input gradient is
 * that of elements which are not zero. Both rows mask the gradient themselves, within the pass `weights`. Passes
 * `by-gradient`: of layers before max pools, from the list of the output's gradient, which has so many zeros. What they
 * compute is compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel/choose/memory_order.h"
#include "kernel/kernel_impl.h"
#include "training/graph/graph.h"
#include "windows_gemm.h"

static const double sparsities[] = {0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99};
enum { NSPARSITIES = sizeof sparsities / sizeof *sparsities };
enum { FORWARD, WEIGHTS, INPUT, POOLED_WEIGHTS, POOLED_INPUT, NPASSES };
static const char *const passes[] = {"forward", "weights", "input", "weights-by-gradient", "input-by-gradient"};
enum { BY_ONEDNN, BY_OPENBLAS, TAKEN, NPEERS };

typedef struct {
    tutti_kernel taken, sparse, pooled; /* taken: the graph's, not owned */
    bool is_rectified, is_pooled, has_din;
    float *in, *out, *dout, *din, *weights, *dweights; /* as the kernels want them */
    float *plain_in, *plain_out, *plain_weights, *windows, *result;
    float *uniform; /* decides what is zero: inputs, then outputs */
    float *value;
    void *scratch;
    windows_gemm windows_of;
    double sparse_ms[NPASSES][NSPARSITIES], peer_ms[NPASSES][NPEERS];
} layer;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void note(double *least, double began)
{
    const double ms = now_ms() - began;
    if (ms < *least) *least = ms;
}

static void *room(size_t nbytes)
{
    void *p = aligned_alloc(64, (nbytes + 127) / 64 * 64);
    if (!p) exit(TUTTI_ERR_FAILED);
    memset(p, 0, (nbytes + 127) / 64 * 64);
    return p;
}

/* In [0, 1), the same in every run. */
static float unit_of(int64_t i, uint32_t salt)
{
    uint32_t x = (uint32_t)i * 2654435761u + salt * 40503u;
    x ^= x >> 15, x *= 2246822519u, x ^= x >> 13, x *= 3266489917u, x ^= x >> 16;
    return (float)(x >> 8) * 0x1p-24f;
}

/* ---- one layer ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void make_sparse(const tutti_kernel *taken, bool rectified, bool pooled, tutti_kernel *k)
{
    const tutti_kernel_request r = {.engine = "onednn",
                                    .op = taken->op,
                                    .attrs = taken->attrs,
                                    .in = taken->in,
                                    .nin = 1,
                                    .training = true,
                                    .nthreads = 1,
                                    .rectified = rectified,
                                    .pooled = pooled,
                                    .order = tutti_order_of(&taken->out),
                                    .params_as = taken->params};
    tutti_failure err = {0};
    if (tutti_kernel_create_by(&tutti_sparse_conv, &r, k, &err)) {
        fprintf(stderr, "bench_sparse: %s\n", err.text);
        exit((int)err.status);
    }
}

static void open_layer(layer *l, const tutti_kernel *taken)
{
    const tutti_conv_attrs *at = taken->attrs;
    l->taken = *taken;
    make_sparse(taken, l->is_rectified, false, &l->sparse);
    make_sparse(taken, l->is_rectified, true, &l->pooled);
    const int64_t *in = taken->in[0].shape.dim, *out = taken->out.shape.dim;
    const int64_t nin = tutti_shape_count(&taken->in[0].shape), nout = tutti_shape_count(&taken->out.shape),
                  n = larger(nin, nout), nweights = tutti_shape_count(&taken->params[0].shape);
    l->windows_of =
        (windows_gemm){in[0], at->groups, in[1], in[2], in[3], out[1], out[2], out[3], at->kernel, at->stride, at->pad};
    l->in = room(taken->in[0].bytes), l->din = room(taken->in[0].bytes);
    l->out = room(taken->out.bytes), l->dout = room(taken->out.bytes);
    l->weights = room((size_t)taken->params[0].elements * sizeof(float));
    l->dweights = room((size_t)taken->params[0].elements * sizeof(float));
    l->plain_in = room((size_t)nin * sizeof(float)), l->plain_out = room((size_t)nout * sizeof(float));
    l->plain_weights = room((size_t)nweights * sizeof(float));
    l->windows = room((size_t)windows_gemm_windows(&l->windows_of) * sizeof(float));
    l->result = room((size_t)larger(n, nweights) * sizeof(float));
    l->uniform = room((size_t)(nin + nout) * sizeof(float)), l->value = room((size_t)n * sizeof(float));
    l->scratch = room((size_t)larger((int64_t)taken->scratch_bytes,
                                     larger((int64_t)l->sparse.scratch_bytes, (int64_t)l->pooled.scratch_bytes)));
    for (int64_t i = 0; i < nin + nout; i++) l->uniform[i] = unit_of(i, 1);
    for (int64_t i = 0; i < n; i++) l->value[i] = 0.5f + unit_of(i, 2);
    for (int64_t i = 0; i < nweights; i++) l->plain_weights[i] = unit_of(i, 3) - 0.5f;
    tutti_param_from_plain(&taken->params[0], l->plain_weights, l->weights);
    for (int p = 0; p < NPASSES; p++) {
        for (int s = 0; s < NSPARSITIES; s++) l->sparse_ms[p][s] = INFINITY;
        for (int i = 0; i < NPEERS; i++) l->peer_ms[p][i] = INFINITY;
    }
}

static void close_layer(layer *l)
{
    void *const all[] = {l->in,        l->out,           l->dout,    l->din,    l->weights, l->dweights, l->plain_in,
                         l->plain_out, l->plain_weights, l->windows, l->result, l->uniform, l->value,    l->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    tutti_kernel_destroy(&l->sparse);
    tutti_kernel_destroy(&l->pooled);
}

static bool has_relu(const layer *l)
{
    return ((const tutti_conv_attrs *)l->taken.attrs)->relu;
}

static void fill_input(const layer *l, double sparsity)
{
    const int64_t n = tutti_shape_count(&l->taken.in[0].shape);
    for (int64_t i = 0; i < n; i++) l->plain_in[i] = l->uniform[i] < (float)sparsity ? 0 : l->value[i];
    tutti_value_from_plain(&l->taken.in[0], l->plain_in, l->in);
}

/* A merged ReLU's output says where it masks the gradient; a pool leaves zeros too. */
static void fill_gradient(const layer *l, bool pooled, double sparsity)
{
    const int64_t nin = tutti_shape_count(&l->taken.in[0].shape), nout = tutti_shape_count(&l->taken.out.shape);
    for (int64_t i = 0; i < nout; i++)
        l->plain_out[i] = (has_relu(l) || pooled) && l->uniform[nin + i] < (float)sparsity ? 0 : l->value[i];
    tutti_value_from_plain(&l->taken.out, l->plain_out, l->out);
    tutti_value_from_plain(&l->taken.out, l->plain_out, l->dout);
}

static tutti_kernel_args args_of(const layer *l)
{
    static float bias[1 << 14], dbias[1 << 14]; /* zeros; a program's own */
    return (tutti_kernel_args){.in = {l->in},
                               .out = l->out,
                               .param = {l->weights, bias},
                               .dout = l->dout,
                               .din = {l->din},
                               .dparam = {l->dweights, dbias},
                               .scratch = l->scratch,
                               .training = true};
}

/* Runs all passes of a kernel. If keep[pass] is not NULL, it receives the output of the pass, row-major. If a pool
 * follows (`pooled`), only backward passes are timed, and inputs have few zeros. */
static void run_kernel(const layer *l, tutti_kernel *k, bool pooled, double sparsity, double *ms[NPASSES],
                       float *keep[NPASSES])
{
    tutti_kernel_args a = args_of(l);
    const int weights = pooled ? POOLED_WEIGHTS : WEIGHTS, input = pooled ? POOLED_INPUT : INPUT;
    fill_input(l, pooled ? 0.1 : sparsity);
    double began = now_ms();
    k->row->forward(k, &a);
    if (!pooled) note(ms[FORWARD], began);
    if (keep[FORWARD]) tutti_value_to_plain(&k->out, l->out, keep[FORWARD]);
    fill_gradient(l, pooled, sparsity);
    began = now_ms();
    k->row->backward_params(k, &a);
    note(ms[weights], began);
    if (keep[weights]) tutti_param_to_plain(&k->params[0], l->dweights, keep[weights]);
    if (!l->has_din) return;
    began = now_ms();
    if (!k->joint_backward) k->row->backward_data(k, &a);
    note(ms[input], began);
    if (keep[input]) tutti_value_to_plain(&k->in[0], l->din, keep[input]);
}

static void run_products(const layer *l, gemm *multiply, int peer, double ms[NPASSES][NPEERS])
{
    if (!multiply) return;
    double began = now_ms();
    windows_gemm_forward(&l->windows_of, multiply, l->plain_in, l->plain_weights, l->windows, l->result);
    note(&ms[FORWARD][peer], began);
    began = now_ms();
    windows_gemm_weight_gradient(&l->windows_of, multiply, l->plain_in, l->plain_out, l->windows, l->result);
    note(&ms[WEIGHTS][peer], began);
    began = now_ms();
    windows_gemm_input_gradient(&l->windows_of, multiply, l->plain_weights, l->plain_out, l->windows, l->result);
    note(&ms[INPUT][peer], began);
}

static void run_round(layer *l, gemm *const products[2])
{
    float *none[NPASSES] = {NULL};
    double *taken[NPASSES];
    for (int p = 0; p < NPASSES; p++) taken[p] = &l->peer_ms[p][TAKEN];
    run_kernel(l, &l->taken, false, 0, taken, none);
    if (l->is_pooled) run_kernel(l, &l->taken, true, 0.9, taken, none);
    for (int i = 0; i < 2 && l->is_rectified; i++) run_products(l, products[i], i, l->peer_ms);
    for (int s = 0; s < NSPARSITIES; s++) {
        double *ms[NPASSES];
        for (int p = 0; p < NPASSES; p++) ms[p] = &l->sparse_ms[p][s];
        if (l->is_rectified) run_kernel(l, &l->sparse, false, sparsities[s], ms, none);
        if (l->is_pooled) run_kernel(l, &l->pooled, true, sparsities[s], ms, none);
    }
}

/* ---- the same numbers ---- */

/* Largest difference over the largest number. */
static double difference(const float *x, const float *y, const float *mask, int64_t n)
{
    double most = 0, apart = 0;
    for (int64_t i = 0; i < n; i++) {
        const double wanted = mask && mask[i] <= 0 ? 0 : (double)y[i];
        most = fmax(most, fabs(wanted));
        apart = fmax(apart, fabs((double)x[i] - wanted));
    }
    return most > 0 ? apart / most : apart;
}

static void check(layer *l, const char *name, bool pooled)
{
    static const double MOST = 1e-4;
    float *kept[2][NPASSES] = {{NULL}};
    double ignored = INFINITY, *ms[NPASSES] = {&ignored, &ignored, &ignored, &ignored, &ignored};
    const int64_t out = tutti_shape_count(&l->taken.out.shape), weights = tutti_shape_count(&l->taken.params[0].shape),
                  in = tutti_shape_count(&l->taken.in[0].shape), n[NPASSES] = {out, weights, in, weights, in};
    for (int i = 0; i < 2; i++) {
        for (int p = 0; p < NPASSES; p++) kept[i][p] = room((size_t)n[p] * sizeof(float));
        run_kernel(l, i ? &l->taken : pooled ? &l->pooled : &l->sparse, pooled, 0.9, ms, kept[i]);
    }
    for (int p = 0; p < NPASSES; p++) {
        const float *mask = p == INPUT && !has_relu(l) && l->is_rectified ? l->plain_in : NULL;
        const double apart = difference(kept[0][p], kept[1][p], mask, n[p]);
        if (apart > MOST) {
            fprintf(stderr, "bench_sparse: %s, %s: results differ by %g of the largest\n", name, passes[p], apart);
            exit(TUTTI_ERR_FAILED);
        }
        free(kept[0][p]), free(kept[1][p]);
    }
}

/* ---- layers of a model ---- */

static void print_ms(double ms)
{
    if (isfinite(ms))
        printf("|%.4f", ms);
    else
        printf("|-");
}

static void print_layer(const layer *l, const char *name)
{
    const windows_gemm *c = &l->windows_of;
    for (int p = 0; p < NPASSES; p++)
        for (int s = 0; s < NSPARSITIES && isfinite(l->sparse_ms[p][s]); s++) {
            printf("%s|%lldx%lld|%lldx%lld|%lld|%lld|%s|%g", name, (long long)c->height, (long long)c->width,
                   (long long)c->channels, (long long)c->out_channels, (long long)c->kernel, (long long)c->stride,
                   passes[p], sparsities[s]);
            print_ms(l->sparse_ms[p][s]);
            for (int i = 0; i < NPEERS; i++) print_ms(l->peer_ms[p][i]);
            printf("\n");
        }
    fflush(stdout);
}

static bool is_same(const tutti_kernel *a, const tutti_kernel *b)
{
    return b->op == a->op && tutti_shape_equal(&a->in[0].shape, &b->in[0].shape) &&
           memcmp(a->attrs, b->attrs, sizeof(tutti_conv_attrs)) == 0;
}

static bool is_new(const tutti_graph *g, const bool *wanted, int l)
{
    for (int i = 0; i < l; i++)
        if (wanted[i] && is_same(&g->kernels[i], &g->kernels[l])) return false;
    return true;
}

static bool reads_all(const tutti_layer *at, const bool *which)
{
    bool all = true;
    for (int i = 0; i < at->nin; i++) all = all && at->in[i] >= 0 && which[at->in[i]];
    return all;
}

/* Convolutions whose input a ReLU made, perhaps with pools and the like behind it, and those that max pools read: each
 * shape once. */
static layer *find_layers(const tutti_graph *g, const char *only)
{
    const tutti_model *m = g->model;
    layer *layers = calloc((size_t)m->nlayers, sizeof *layers);
    bool *rectified = calloc((size_t)m->nlayers, sizeof *rectified),
         *wanted = calloc((size_t)m->nlayers, sizeof *wanted);
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *at = &m->layers[l];
        const bool inputs = reads_all(at, rectified);
        rectified[l] = tutti_layer_relu(at) || (at->op->keeps_zeros && inputs);
        if (at->op != &tutti_op_conv || (only && strcmp(only, at->name) != 0)) continue;
        layers[l] = (layer){.is_rectified = inputs,
                            .is_pooled = tutti_graph_is_pooled(m, l),
                            .has_din = g->needs_input_grad[l] || g->kernels[l].joint_backward};
        wanted[l] = (inputs || layers[l].is_pooled) && is_new(g, wanted, l);
        if (!wanted[l]) layers[l].is_rectified = layers[l].is_pooled = false;
    }
    free(rectified), free(wanted);
    return layers;
}

static int fail(const tutti_failure *err)
{
    fprintf(stderr, "bench_sparse: %s\n", err->text);
    return (int)err->status;
}

int main(int argc, char **argv)
{
    tutti_failure err = {0};
    tutti_model *model = NULL;
    tutti_graph *g = NULL;
    if (argc < 5 || argc > 6) {
        fprintf(stderr, "usage: bench_sparse MODEL BATCH ROUNDS OPENBLAS|- [LAYER]\n");
        return TUTTI_ERR_USAGE;
    }
    gemm *const products[] = {gemm_of_onednn(), strcmp(argv[4], "-") ? gemm_of_openblas(argv[4]) : NULL};
    const tutti_graph_config config = {
        .batch = strtoll(argv[2], NULL, 10), .engine = "auto", .nthreads = 1, .training = true};
    if (tutti_model_load(argv[1], ".", &model, &err)) return fail(&err);
    model = tutti_model_fuse(model); /* as it is trained */
    if (tutti_graph_build(model, &config, &g, &err)) return fail(&err);
    layer *layers = find_layers(g, argc > 5 ? argv[5] : NULL);
    for (int i = 0; i < model->nlayers; i++) {
        layer *l = &layers[i];
        if (!l->is_rectified && !l->is_pooled) continue;
        open_layer(l, &g->kernels[i]);
        if (l->is_rectified) check(l, model->layers[i].name, false);
        if (l->is_pooled) check(l, model->layers[i].name, true);
        for (long round = strtol(argv[3], NULL, 10); round > 0; round--) run_round(l, products);
        print_layer(l, model->layers[i].name);
        close_layer(l);
    }
    free(layers);
    tutti_graph_destroy(g);
    return 0;
}
