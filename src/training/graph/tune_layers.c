/* SPDX-License-Identifier: Apache-2.0 */
/* tune_layers.c: candidates of a graph's layers, made and timed one pass after the other (tune_layers.h). */
#include "tune_layers.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../kernel/candidate.h"
#include "../../kernel/tune_trial.h"

enum { MOST = 16, ROUNDS = 7, LONG_ROUNDS = 3 };
static const double LONG_FLOPS = 2e8; /* takes milliseconds */

typedef struct {
    const tutti_kernel_candidate *of;
    tutti_kernel kernel;
} contender;

/* As graph.c asks for it. */
static tutti_kernel_request request_of(const tutti_graph *g, int l)
{
    const tutti_layer *layer = &g->model->layers[l];
    return (tutti_kernel_request){.engine = "auto",
                                  .op = layer->op,
                                  .attrs = layer->attrs,
                                  .in = g->kernels[l].in,
                                  .nin = layer->nin,
                                  .precision = g->config.precision,
                                  .training = true,
                                  .nthreads = g->config.nthreads,
                                  .order = g->order};
}

/* A row with all passes behind what adapters it needs; one without is made for the pass that it has. */
static tutti_status make(const tutti_kernel_candidate *c, const tutti_kernel_request *r, tutti_kernel *k)
{
    const tutti_kernel_rows rows = {.of = {c->row, c->row, c->row}};
    tutti_kernel_request by = *r;
    by.by = &rows;
    return c->passes == TUTTI_DOES_ALL ? tutti_kernel_create(&by, k, NULL) : tutti_kernel_create_by(c->row, r, k, NULL);
}

/* Those that fit and can be made. */
static int find_contenders(const tutti_kernel_request *r, tutti_kernel_pass pass, contender *out)
{
    const tutti_kernel_candidate *fitting[MOST];
    const tutti_candidate_table table = tutti_candidates();
    const int nfitting = tutti_candidates_that_fit(&table, r, pass, fitting, MOST);
    int n = 0;
    for (int i = 0; i < nfitting; i++)
        if (fitting[i]->row && make(fitting[i], r, &out[n].kernel) == TUTTI_OK) out[n++].of = fitting[i];
    return n;
}

static bool is_known(const tutti_tune_file *f, const tutti_tuned_entry *e)
{
    return tutti_tune_file_seconds(f, e->op, e->shape, e->precision, e->pass, e->candidate) > 0;
}

/* To four digits: more of them say nothing. */
static double rounded(double seconds)
{
    char text[32];
    snprintf(text, sizeof text, "%.3e", seconds);
    return strtod(text, NULL);
}

/* Returns whether anything was measured. */
static bool measure_pass(const tutti_graph *g, int l, tutti_kernel_pass pass, tutti_trial_memory *memory,
                         tutti_tune_file *f)
{
    const tutti_kernel_request r = request_of(g, l);
    contender contenders[MOST];
    tutti_kernel *kernels[MOST];
    double seconds[MOST];
    char shape[TUTTI_CANDIDATE_SHAPE];
    bool known = true;
    const int n = find_contenders(&r, pass, contenders);
    tutti_candidate_shape(&g->kernels[l], &r, shape);
    tutti_tuned_entry e = {.op = r.op->name,
                           .shape = shape,
                           .precision = tutti_precision_name(r.precision),
                           .pass = tutti_kernel_pass_name(pass)};
    for (int i = 0; i < n; i++) {
        kernels[i] = &contenders[i].kernel;
        e.candidate = contenders[i].of->name;
        known = known && is_known(f, &e);
    }
    const bool measures = n > 1 && !known;
    if (measures) {
        const int rounds = tutti_candidate_flops(&g->kernels[l]) > LONG_FLOPS ? LONG_ROUNDS : ROUNDS;
        tutti_trial_measure(kernels, n, pass, r.nthreads, rounds, memory, seconds);
    }
    for (int i = 0; i < n; i++) {
        e.candidate = contenders[i].of->name;
        e.seconds = measures ? rounded(seconds[i]) : 0;
        if (measures) tutti_tune_file_add(f, &e);
        tutti_kernel_destroy(&contenders[i].kernel);
    }
    return measures;
}

int tutti_tune_layers(const tutti_graph *g, const tutti_tune_watch *watch, tutti_tune_file *f)
{
    int nadded = 0;
    tutti_trial_memory memory = {0};
    const tutti_model *m = g->model;
    for (int l = 0; l < m->nlayers; l++) {
        if (watch->progress) watch->progress(watch->arg, l, m->nlayers, m->layers[l].name);
        if (tutti_graph_split_of(g, l) >= 0) continue;
        for (int pass = 0; pass < TUTTI_NPASSES; pass++) {
            if (pass == TUTTI_PASS_PARAMS && g->kernels[l].nparams == 0) continue;
            nadded += measure_pass(g, l, (tutti_kernel_pass)pass, &memory, f);
        }
    }
    if (watch->progress) watch->progress(watch->arg, m->nlayers, m->nlayers, "");
    tutti_trial_memory_release(&memory);
    return nadded;
}
