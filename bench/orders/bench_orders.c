/* SPDX-License-Identifier: Apache-2.0 */
/* bench_orders.c: the ops that memory bounds, in every memory order and type: forward and backward pass of our kernel,
 * and the time that reading and writing what it must takes at the speed of memory (stream_bound.h), in turn on the same
 * buffers. usage: bench_orders OPS ORDERS TYPES THREADS REPEATS (lists with commas; - = all)
 * Prints a line a pass: op, order, type, threads, pass, MB of the input, microseconds of ours and of the bound
 * (medians). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sort.h"
#include "kernel/choose/memory_order.h"
#include "stream_bound.h"

/* x, X the inputs; y the output; g its gradient; d the first input's; s what is saved. "xX>y": x and X are read, y is
 * written;
 * | between walks that follow each other. */
typedef struct {
    const char *name, *op;
    const void *attrs;
    tutti_shape in;
    int nin;
    const char *forward, *backward;
} bench_case;

static const tutti_batch_norm_attrs norm = {.eps = 1e-5, .momentum = 0.1, .scale_init = 1},
                                    norm_relu = {.eps = 1e-5, .momentum = 0.1, .scale_init = 1, .relu = true};
static const tutti_pool_attrs pool3 = {.kernel = 3, .stride = 2, .pad = 1}, pool2 = {.kernel = 2, .stride = 2};
static const tutti_lrn_attrs lrn = {5, 1e-4, 0.75, 1};
static const tutti_dropout_attrs dropout = {0.5};

/* Shapes of ResNet-50's first stages, and channels that fill no vectors. */
/* clang-format off */
#define WIDE {4, {16, 64, 112, 112}}
#define DEEP {4, {16, 256, 56, 56}}
#define ODD {4, {16, 50, 56, 56}}
/* clang-format on */
static const bench_case cases[] = {
    {"batch-norm, 64 channels", "batch-norm", &norm, WIDE, 1, "x|x>y", "xg|xg>d"},
    {"batch-norm, 50 channels", "batch-norm", &norm, ODD, 1, "x|x>y", "xg|xg>d"},
    {"batch-norm + relu, 64 channels", "batch-norm", &norm_relu, WIDE, 1, "x|x>y", "xg|xg>d"},
    {"batch-norm + add + relu, 256 channels", "batch-norm", &norm_relu, DEEP, 2, "x|xX>y", "xg>g|xg>d"},
    {"relu, 64 channels", "relu", NULL, WIDE, 1, "x>y", "yg>d"},
    {"sigmoid, 64 channels", "sigmoid", NULL, WIDE, 1, "x>y", "yg>d"},
    {"tanh, 64 channels", "tanh", NULL, WIDE, 1, "x>y", "yg>d"},
    {"add of 2, 256 channels", "add", NULL, DEEP, 2, "xX>y", NULL},
    {"max-pool 3/2, 64 channels", "max-pool", &pool3, WIDE, 1, "x>ys", "gs>d"},
    {"max-pool 2/2, 64 channels", "max-pool", &pool2, WIDE, 1, "x>ys", "gs>d"},
    {"avg-pool 2/2, 64 channels", "avg-pool", &pool2, WIDE, 1, "x>y", "g>d"},
    {"global-avg-pool, 256 channels", "global-avg-pool", NULL, DEEP, 1, "x>y", "g>d"},
    {"lrn, 64 channels", "lrn", &lrn, WIDE, 1, "x>y", "xg>d"},
    {"dropout, 256 channels", "dropout", &dropout, DEEP, 1, "x>ys", "gs>d"},
};
enum { NCASES = sizeof cases / sizeof *cases, NPASSES = 2 };

typedef struct {
    const bench_case *c;
    tutti_kernel k;
    tutti_kernel_args a;
    tutti_layout layout; /* of the inputs; the kernel borrows it */
} rig;

static bool is_listed(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == '\0' || at[n] == ',')) return true;
    return strcmp(list, "-") == 0;
}

/* Small numbers of both signs. */
static void *numbers(size_t nbytes, tutti_dtype type)
{
    const size_t size = (nbytes + 127) / 64 * 64;
    void *p = aligned_alloc(64, size);
    for (size_t i = 0; i < size / 4 && type == TUTTI_F32; i++)
        ((float *)p)[i] = (float)((int)(i * 2654435761u >> 8) % 2001 - 1000) * 1e-3f;
    for (size_t i = 0; i < size / 2 && type != TUTTI_F32; i++)
        ((uint16_t *)p)[i] = (uint16_t)(0x3800 + i * 40503u % 0x380 + (i & 1 ? 0x8000 : 0));
    return p;
}

static void open_rig(rig *r, const bench_case *c, tutti_order order, tutti_precision precision, int nthreads)
{
    tutti_failure err = {0};
    tutti_value in[2] = {{.shape = c->in, .dtype = tutti_precision_dtype(precision)}};
    *r = (rig){.c = c};
    tutti_order_apply(order, &in[0], &r->layout);
    in[1] = in[0];
    const tutti_kernel_request request = {.engine = "auto",
                                          .op = tutti_op_find(c->op),
                                          .attrs = c->attrs,
                                          .in = in,
                                          .nin = c->nin,
                                          .precision = precision,
                                          .training = true,
                                          .nthreads = nthreads};
    if (tutti_kernel_create(&request, &r->k, &err)) {
        fprintf(stderr, "bench_orders: %s: %s\n", c->name, err.text);
        exit(1);
    }
    const tutti_kernel *k = &r->k;
    for (int i = 0; i < k->ninputs; i++) {
        r->a.in[i] = numbers(k->in[i].bytes, k->in[i].dtype);
        r->a.din[i] = k->passes_gradient >> i & 1 ? NULL : numbers(k->in[i].bytes, k->in[i].dtype);
    }
    r->a.out = numbers(k->out.bytes, k->out.dtype), r->a.dout = numbers(k->out.bytes, k->out.dtype);
    r->a.saved = numbers(k->saved_bytes, TUTTI_F32), r->a.scratch = numbers(k->scratch_bytes, TUTTI_F32);
    for (int p = 0; p < k->nparams; p++) {
        const size_t nbytes = (size_t)k->params[p].elements * sizeof(float);
        r->a.param[p] = numbers(nbytes, TUTTI_F32), r->a.dparam[p] = numbers(nbytes, TUTTI_F32);
    }
    r->a.training = true;
}

static void close_rig(rig *r)
{
    for (int i = 0; i < r->k.ninputs; i++) free((void *)r->a.in[i]), free(r->a.din[i]);
    for (int p = 0; p < r->k.nparams; p++) free((void *)r->a.param[p]), free(r->a.dparam[p]);
    free(r->a.out), free(r->a.dout), free(r->a.saved), free(r->a.scratch);
    tutti_kernel_destroy(&r->k);
}

static void add_buffer(const rig *r, char letter, bool is_written, stream_walk *w)
{
    void *memory = letter == 'x'   ? (void *)r->a.in[0]
                   : letter == 'X' ? (void *)r->a.in[1]
                   : letter == 'y' ? r->a.out
                   : letter == 'g' ? r->a.dout
                   : letter == 'd' ? r->a.din[0]
                                   : r->a.saved;
    const int i = w->nread + w->nwritten;
    w->memory[i] = memory;
    w->bytes[i] = letter == 's' ? r->k.saved_bytes : letter == 'y' || letter == 'g' ? r->k.out.bytes : r->k.in[0].bytes;
    *(is_written ? &w->nwritten : &w->nread) += 1;
}

static int walks_of(const rig *r, const char *text, stream_walk *walks)
{
    int n = 0;
    bool written = false;
    walks[0] = (stream_walk){.nread = 0};
    for (; *text; text++) {
        if (*text == '|')
            walks[++n] = (stream_walk){.nread = 0}, written = false;
        else if (*text == '>')
            written = true;
        else
            add_buffer(r, *text, written, &walks[n]);
    }
    return n + 1;
}

static void run_pass(rig *r, int pass)
{
    tutti_kernel *k = &r->k;
    if (pass == 0) {
        k->row->forward(k, &r->a);
        return;
    }
    if (k->nparams) k->row->backward_params(k, &r->a);
    if (!k->nparams || !k->joint_backward) k->row->backward_data(k, &r->a);
}

static double median_us(double *seconds, int n)
{
    tutti_sort_doubles(seconds, (size_t)n);
    return 1e6 * seconds[n / 2];
}

static void measure(const bench_case *c, tutti_order order, tutti_precision precision, int nthreads, int repeats)
{
    rig r;
    open_rig(&r, c, order, precision, nthreads);
    double *ours[NPASSES], *bound[NPASSES];
    const char *texts[] = {c->forward, c->backward};
    for (int p = 0; p < NPASSES; p++)
        ours[p] = calloc((size_t)repeats, sizeof(double)), bound[p] = calloc((size_t)repeats, sizeof(double));
    for (int i = -1; i < repeats; i++)
        for (int p = 0; p < NPASSES; p++) {
            stream_walk walks[3];
            if (!texts[p]) continue;
            const double start = tutti_clock_s();
            run_pass(&r, p);
            const double end = tutti_clock_s(), least = stream_seconds(walks, walks_of(&r, texts[p], walks), nthreads);
            if (i >= 0) ours[p][i] = end - start, bound[p][i] = least;
        }
    for (int p = 0; p < NPASSES; p++) {
        if (texts[p])
            printf("%s|%s|%s|%d|%s|%.1f|%.1f|%.1f\n", c->name, tutti_order_name(order), tutti_precision_name(precision),
                   nthreads, p ? "backward" : "forward", (double)r.k.in[0].bytes / 1e6, median_us(ours[p], repeats),
                   median_us(bound[p], repeats));
        free(ours[p]), free(bound[p]);
    }
    fflush(stdout);
    close_rig(&r);
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: bench_orders OPS ORDERS TYPES THREADS REPEATS\n");
        return TUTTI_ERR_USAGE;
    }
    for (int c = 0; c < NCASES; c++)
        for (int precision = 0; precision < TUTTI_NPRECISIONS; precision++)
            for (int order = 0; order < TUTTI_NORDERS; order++)
                if (is_listed(argv[1], cases[c].op) && is_listed(argv[2], tutti_order_name((tutti_order)order)) &&
                    is_listed(argv[3], tutti_precision_name((tutti_precision)precision)))
                    for (const char *t = argv[4]; t; t = strchr(t, ',') ? strchr(t, ',') + 1 : NULL)
                        measure(&cases[c], (tutti_order)order, (tutti_precision)precision, (int)strtol(t, NULL, 10),
                                (int)strtol(argv[5], NULL, 10));
    return 0;
}
