/* SPDX-License-Identifier: Apache-2.0 */
/* list_kernel_rows.c: prints which candidates `auto` takes for the layers of each network that ships
 * (tests/oracle/kernel_rows.py).
 *
 * usage: list_kernel_rows PRECISION THREADS LIBRARY. oneDNN says that it has the instructions LIBRARY (sse41, avx2,
 * avx512, bf16, amx), so that rules answer as on such a processor. A graph of f32 is built, kernels and all. The
 * library cannot make kernels of bf16 on a processor that does not multiply it, so there the rules of convolutions are
 * asked alone. A line: network, op, candidate, how many passes (forward, params, data) and how many layers it has. */
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/choose/candidate.h"
#include "kernel/choose/memory_order.h"
#include "kernel/choose/order_rule.h"
#include "training/graph/graph.h"

enum { BATCH = 16 };

static const struct {
    const char *name;
    dnnl_cpu_isa_t isa;
} libraries[] = {{"sse41", dnnl_cpu_isa_sse41},
                 {"avx2", dnnl_cpu_isa_avx2},
                 {"avx512", dnnl_cpu_isa_avx512_core},
                 {"bf16", dnnl_cpu_isa_avx512_core_bf16},
                 {"amx", dnnl_cpu_isa_avx512_core_amx}};
enum { NLIBRARIES = sizeof libraries / sizeof *libraries };

static int library; /* which of them the program was told */

/* Stands before oneDNN's own. */
dnnl_cpu_isa_t dnnl_get_effective_cpu_isa(void)
{
    return libraries[library].isa;
}

/* ---- what was taken ---- */

typedef struct {
    const char *by[TUTTI_NPASSES]; /* NULL: the pass is not run */
} taken;

static bool is_run(const tutti_graph *g, int layer, int pass)
{
    return pass == TUTTI_PASS_FORWARD  ? true
           : pass == TUTTI_PASS_PARAMS ? g->runs_params[layer]
                                       : g->needs_input_grad[layer];
}

static void list(const tutti_graph *g, const taken *layers, const tutti_op_row *op, const char *candidate)
{
    int passes[TUTTI_NPASSES] = {0}, n = 0;
    for (int l = 0; l < g->model->nlayers; l++) {
        bool any = false;
        for (int p = 0; p < TUTTI_NPASSES && g->kernels[l].op == op; p++) {
            const bool does = layers[l].by[p] && is_run(g, l, p) && !strcmp(layers[l].by[p], candidate);
            passes[p] += does;
            any = any || does;
        }
        n += any;
    }
    if (n)
        printf("%s %s %s %d %d %d %d\n", g->model->name, op->name, candidate, passes[TUTTI_PASS_FORWARD],
               passes[TUTTI_PASS_PARAMS], passes[TUTTI_PASS_DATA], n);
}

/* ---- 16 bits: the rules' first choice ---- */

static tutti_order order_of(const tutti_graph *g, tutti_precision precision)
{
    tutti_order_vote votes[256];
    int n = 0;
    for (int l = 0; l < g->model->nlayers && n < 256; l++) {
        const tutti_kernel *k = &g->kernels[l];
        n += tutti_order_vote_of(k->op, k->attrs, &k->in[0].shape, &k->out.shape, &votes[n]);
    }
    return tutti_order_rule("auto", precision, votes, n);
}

static const char *soonest(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    const tutti_candidate_table table = tutti_candidates();
    const char *name = NULL;
    double least = 0;
    for (int i = 0; i < table.n; i++) {
        const tutti_kernel_candidate *c = &table.rows[i];
        const bool is_for =
            c->op && !strcmp(c->op, k->op->name) && c->passes >> pass & 1 && c->precisions >> r->precision & 1;
        if (!is_for || !c->row->takes_halves || c->device || !c->fits(k, r, pass)) continue;
        const double seconds = c->seconds ? c->seconds(k, r, pass) : -1;
        if (seconds < 0 || (name && seconds >= least)) continue;
        name = c->name, least = seconds;
    }
    return name;
}

static void ask_rules(const tutti_graph *g, tutti_precision precision, int layer, taken *to)
{
    const tutti_kernel *wide = &g->kernels[layer];
    const bool is_first = g->model->layers[layer].in[0] < 0; /* it reads samples of f32, row-major */
    tutti_value in = {.shape = wide->in[0].shape, .dtype = is_first ? TUTTI_F32 : tutti_precision_dtype(precision)};
    tutti_layout layout;
    tutti_kernel k;
    const tutti_order order = order_of(g, precision);
    tutti_order_apply(is_first ? TUTTI_ORDER_NCHW : order, &in, &layout);
    const tutti_kernel_request r = {.engine = "auto",
                                    .op = wide->op,
                                    .attrs = wide->attrs,
                                    .in = &in,
                                    .nin = 1,
                                    .precision = precision,
                                    .training = true,
                                    .nthreads = g->config.nthreads,
                                    .order = order};
    if (tutti_kernel_begin(&r, &k, NULL) != TUTTI_OK) return;
    for (int pass = 0; pass < TUTTI_NPASSES; pass++) to->by[pass] = soonest(&k, &r, (tutti_kernel_pass)pass);
}

/* ---- networks ---- */

static void list_all(const tutti_graph *g, tutti_precision precision)
{
    taken *layers = calloc((size_t)g->model->nlayers, sizeof *layers);
    const char *candidate;
    for (int l = 0; l < g->model->nlayers; l++) {
        if (precision != TUTTI_PRECISION_F32) {
            if (g->kernels[l].op == &tutti_op_conv) ask_rules(g, precision, l, &layers[l]);
            continue;
        }
        for (int p = 0; p < TUTTI_NPASSES; p++) layers[l].by[p] = g->kernels[l].chosen[p].name;
    }
    for (int op = 0; op < tutti_op_count(); op++)
        for (int i = 0; (candidate = tutti_candidate_name_at(i)); i++) list(g, layers, tutti_op_at(op), candidate);
    free(layers);
}

static tutti_status list_network(const char *name, tutti_precision precision, int nthreads, tutti_failure *err)
{
    const tutti_graph_config config = {.batch = BATCH, .engine = "auto", .nthreads = nthreads, .training = true};
    tutti_model *model = NULL;
    tutti_graph *g = NULL;
    tutti_status st = tutti_model_load(name, ".", &model, err);
    if (st != TUTTI_OK) return st;
    model = tutti_model_fuse(model); /* as it is trained */
    st = tutti_graph_build(model, &config, &g, err);
    if (st == TUTTI_OK) list_all(g, precision);
    tutti_graph_destroy(g);
    tutti_model_destroy(model);
    return st;
}

int main(int argc, char **argv)
{
    tutti_failure err = {0};
    const char *name;
    if (argc != 4) return TUTTI_ERR_USAGE;
    while (library < NLIBRARIES - 1 && strcmp(libraries[library].name, argv[3]) != 0) library++;
    const tutti_precision precision = strcmp(argv[1], "bf16") == 0 ? TUTTI_PRECISION_BF16 : TUTTI_PRECISION_F32;
    for (int m = 0; (name = tutti_model_shipped_at(m)); m++)
        if (list_network(name, precision, (int)strtol(argv[2], NULL, 10), &err) != TUTTI_OK) {
            fprintf(stderr, "list_kernel_rows: %s: %s\n", name, err.text);
            return (int)err.status;
        }
    return 0;
}
