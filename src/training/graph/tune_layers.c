/* SPDX-License-Identifier: Apache-2.0 */
/* tune_layers.c: times the candidates of a graph's layers, one pass after the other (tune_layers.h). */
#include "tune_layers.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../kernel/choose/candidate.h"
#include "../../kernel/tune/tune_trial.h"

enum { ROUNDS = 7, LONG_ROUNDS = 3 };
static const double LONG_FLOPS = 2e8; /* a pass with this many operations takes milliseconds */

/* Makes the same request as graph.c. */
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

static bool is_known(const tutti_tune_file *f, const tutti_tuned_entry *e)
{
    return tutti_tune_file_seconds(f, e->op, e->shape, e->precision, e->pass, e->candidate) > 0;
}

/* Rounds to four digits: further digits are noise. */
static double rounded(double seconds)
{
    char text[32];
    snprintf(text, sizeof text, "%.3e", seconds);
    return strtod(text, NULL);
}

/* Measures the candidates of a pass. Returns true if anything was measured. */
static bool measure_pass(const tutti_graph *g, int l, tutti_kernel_pass pass, tutti_trial_memory *memory,
                         tutti_tune_file *f)
{
    const tutti_kernel_request r = request_of(g, l);
    tutti_trial_contender contenders[TUTTI_TRIAL_CONTENDERS];
    tutti_kernel *kernels[TUTTI_TRIAL_CONTENDERS];
    double seconds[TUTTI_TRIAL_CONTENDERS];
    char shape[TUTTI_CANDIDATE_SHAPE];
    bool known = true;
    const int n = tutti_trial_contenders(&r, pass, contenders);
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
        tutti_trial_measure(&(tutti_trial){kernels, n, pass, r.nthreads, rounds}, memory, seconds);
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
