/* SPDX-License-Identifier: Apache-2.0 */
/* bench_layers.c: what computes layers of networks, and how near to a loop of multiply-adds it comes: what the
 * calibrated rules of candidates are made from. One thread. usage: bench_layers ROW [--only WORD] [--order ORDER]
 * [--precision f32|bf16] [--rounds N]
 *
 * A line a pass of a layer and candidate that fits: layer;pass;candidate;microseconds;microseconds of the same
 * multiply-adds in registers, by the instructions of a row of products, measured before;1: `auto` takes it. Candidates
 * take turns; the least CPU time of this thread counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/choose/memory_order.h"
#include "kernel/tune/tune_trial.h"
#include "product_peak.h"

typedef struct {
    const char *name;
    tutti_shape in;
    int64_t out, kernel, stride; /* kernel 0: dense */
} layer;

#define CONV(name, b, c, side, out, kernel, stride)                                                                    \
    {                                                                                                                  \
        name, {4, {b, c, side, side}}, out, kernel, stride                                                             \
    }
#define DENSE(name, rows, in, out)                                                                                     \
    {                                                                                                                  \
        name, {2, {rows, in}}, out, 0, 1                                                                               \
    }
static const layer layers[] = {
    CONV("conv 64-64 56", 16, 64, 56, 64, 1, 1),
    CONV("conv 64-256 56", 16, 64, 56, 256, 1, 1),
    CONV("conv 512-128 28", 16, 512, 28, 128, 1, 1),
    CONV("conv 256-1024 14", 16, 256, 14, 1024, 1, 1),
    CONV("conv 1024-256 14", 16, 1024, 14, 256, 1, 1),
    CONV("conv 512-2048 7", 16, 512, 7, 2048, 1, 1),
    CONV("conv 512-1024 /2 14", 16, 512, 28, 1024, 1, 2),
    CONV("conv 64-64 3x3 56", 16, 64, 56, 64, 3, 1),
    CONV("conv 256-256 3x3 14", 16, 256, 14, 256, 3, 1),
    CONV("conv 512-512 3x3 7", 16, 512, 7, 512, 3, 1),
    CONV("conv 128-128 3x3/2 28", 16, 128, 56, 128, 3, 2),
    CONV("conv 256-256 3x3/2 14", 16, 256, 28, 256, 3, 2),
    CONV("conv 256-512 3x3/2 7", 16, 256, 14, 512, 3, 2),
    CONV("conv 512-512 3x3/2 7", 16, 512, 14, 512, 3, 2),
    CONV("conv 256-384 5x5/2 7", 16, 256, 14, 384, 5, 2),
    DENSE("dense 16 x 2048-1000", 16, 2048, 1000),
    DENSE("dense 16 x 4096-4096", 16, 4096, 4096),
    DENSE("dense 32 x 512-512", 32, 512, 512),
    DENSE("dense 64 x 784-128", 64, 784, 128),
    DENSE("dense 64 x 512-512", 64, 512, 512),
    DENSE("dense 64 x 1000-1000", 64, 1000, 1000),
    DENSE("dense 64 x 2048-2048", 64, 2048, 2048),
    DENSE("dense 64 x 4096-1000", 64, 4096, 1000),
    DENSE("dense 64 x 4096-4096", 64, 4096, 4096),
    DENSE("dense 256 x 4096-4096", 256, 4096, 4096),
    DENSE("dense 512 x 1024-1024", 512, 1024, 1024),
    CONV("dense 64 x 256x6x6-4096", 64, 256, 6, 4096, 0, 1),
    CONV("dense 16 x 512x7x7-4096", 16, 512, 7, 4096, 0, 1),
    CONV("dense 64 x 50x4x4-500", 64, 50, 4, 500, 0, 1),
};
enum { NLAYERS = sizeof layers / sizeof *layers };

typedef struct {
    const char *row;
    tutti_precision precision;
    tutti_order order;
    int rounds;
    tutti_trial_memory memory;
} bench;

static void measure_pass(const layer *l, const tutti_kernel_request *r, tutti_kernel_pass pass, const char *by_auto,
                         bench *b)
{
    tutti_trial_contender contenders[TUTTI_TRIAL_CONTENDERS];
    tutti_kernel *kernels[TUTTI_TRIAL_CONTENDERS];
    double seconds[TUTTI_TRIAL_CONTENDERS];
    const int n = tutti_trial_contenders(r, pass, contenders);
    const double peak = product_peak(b->row);
    for (int i = 0; i < n; i++) kernels[i] = &contenders[i].kernel;
    if (n) tutti_trial_measure(&(tutti_trial){kernels, n, pass, 1, b->rounds}, &b->memory, seconds);
    for (int i = 0; i < n; i++) {
        const char *name = contenders[i].of->name;
        printf("%s;%s;%s;%.6g;%.6g;%d\n", l->name, tutti_kernel_pass_name(pass), name, seconds[i] * 1e6,
               tutti_candidate_flops(kernels[i]) / peak * 1e6, by_auto && strcmp(by_auto, name) == 0);
        tutti_kernel_destroy(kernels[i]);
    }
    fflush(stdout);
}

static void measure_layer(const layer *l, bench *b)
{
    const tutti_conv_attrs conv = {
        .out_channels = l->out, .kernel = l->kernel, .stride = l->stride, .pad = l->kernel / 2, .groups = 1};
    const tutti_dense_attrs dense = {.units = l->out, .bias = true};
    tutti_value in = {.shape = l->in, .dtype = tutti_precision_dtype(b->precision)};
    tutti_layout layout;
    tutti_order_apply(b->order, &in, &layout);
    const tutti_kernel_request r = {.engine = "auto",
                                    .op = l->kernel ? &tutti_op_conv : &tutti_op_dense,
                                    .attrs = l->kernel ? (const void *)&conv : &dense,
                                    .in = &in,
                                    .nin = 1,
                                    .precision = b->precision,
                                    .training = true,
                                    .nthreads = 1,
                                    .order = b->order};
    tutti_kernel chosen;
    tutti_failure err = {0};
    if (tutti_kernel_create(&r, &chosen, &err) != TUTTI_OK) {
        fprintf(stderr, "bench_layers: %s: %s\n", l->name, err.text);
        return;
    }
    for (int pass = 0; pass < TUTTI_NPASSES; pass++)
        measure_pass(l, &r, (tutti_kernel_pass)pass, chosen.chosen[pass].name, b);
    tutti_kernel_destroy(&chosen);
}

static int fail(const char *program)
{
    fprintf(stderr,
            "usage: %s ROW [--only WORD] [--order nchw|nchw8c|nchw16c|nhwc] [--precision f32|bf16] [--rounds N]\n",
            program);
    return 2;
}

int main(int argc, char **argv)
{
    const char *only = "";
    if (argc < 2 || argc % 2 || product_peak(argv[1]) == 0) return fail(argv[0]);
    bench b = {.row = argv[1], .rounds = 10, .order = TUTTI_ORDER_NHWC};
    for (int i = 2; i + 1 < argc; i += 2) {
        const char *key = argv[i], *value = argv[i + 1];
        const bool half = !strcmp(value, "bf16");
        bool known = true;
        if (!strcmp(key, "--only"))
            only = value;
        else if (!strcmp(key, "--rounds"))
            b.rounds = (int)strtol(value, NULL, 10);
        else if (!strcmp(key, "--order"))
            known = tutti_order_find(value, &b.order);
        else if (!strcmp(key, "--precision") && (half || !strcmp(value, "f32")))
            b.precision = half ? TUTTI_PRECISION_BF16 : TUTTI_PRECISION_F32;
        else
            known = false;
        if (!known) return fail(argv[0]);
    }
    for (int i = 0; i < NLAYERS; i++)
        if (strstr(layers[i].name, only)) measure_layer(&layers[i], &b);
    tutti_trial_memory_release(&b.memory);
    return 0;
}
