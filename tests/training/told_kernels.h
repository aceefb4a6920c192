/* SPDX-License-Identifier: Apache-2.0 */
/* told_kernels.h: measured times that nobody has measured, so that the chooser takes for each pass of each product what
 * a test wants. */
#ifndef TUTTI_TOLD_KERNELS_H
#define TUTTI_TOLD_KERNELS_H

#include "testing.h"

#include <string.h>

#include "kernel/choose/candidate.h"
#include "kernel/tune/tune_file.h"
#include "training/graph/graph.h"

enum { TOLD_MOST = 24 };

/* Whose name is returned takes the least time, then plain loops, for where it cannot be made after all. fits: what can
 * compute the pass, plain loops last. */
typedef const char *told_choice(const void *arg, int layer, tutti_kernel_pass pass,
                                const tutti_kernel_candidate *const *fits, int n);

static inline bool told_is_product(const tutti_kernel *k)
{
    return !strcmp(k->op->name, "conv") || !strcmp(k->op->name, "dense");
}

static inline void told_pass(const tutti_graph *g, int layer, tutti_kernel_pass pass, told_choice *choose,
                             const void *arg, tutti_tune_file *f)
{
    const tutti_kernel *k = &g->kernels[layer];
    const tutti_kernel_request r = {.engine = "auto",
                                    .op = k->op,
                                    .attrs = k->attrs,
                                    .in = k->in,
                                    .nin = k->ninputs,
                                    .precision = g->config.precision,
                                    .training = true,
                                    .nthreads = g->config.nthreads,
                                    .order = g->order};
    const tutti_candidate_table table = tutti_candidates();
    const tutti_kernel_candidate *fits[TOLD_MOST];
    char shape[TUTTI_CANDIDATE_SHAPE];
    const int n = tutti_candidates_that_fit(&table, &r, pass, fits, TOLD_MOST);
    if (n == 0) return; /* widened first */
    const char *wanted = choose(arg, layer, pass, fits, n);
    tutti_candidate_shape(k, &r, shape);
    for (int i = 0; i < n; i++) {
        const char *name = fits[i]->name;
        const double seconds = !strcmp(name, wanted) ? 1e-6 : !strcmp(name, "reference") ? 1e-3 : 1;
        tutti_tune_file_add(f, &(tutti_tuned_entry){k->op->name, shape, tutti_precision_name(r.precision),
                                                    tutti_kernel_pass_name(pass), name, seconds});
    }
}

/* Of every product of the graph; layers of one shape are told alike. f: zero, or with its place. */
static inline void told_kernels(const tutti_graph *g, told_choice *choose, const void *arg, tutti_tune_file *f)
{
    for (int l = 0; l < g->nkernels; l++)
        for (int pass = 0; pass < TUTTI_NPASSES && told_is_product(&g->kernels[l]); pass++)
            told_pass(g, l, (tutti_kernel_pass)pass, choose, arg, f);
}

/* Each pass by another, as far as they go; arg: int, a number that turns them round. */
static inline const char *told_another(const void *arg, int layer, tutti_kernel_pass pass,
                                       const tutti_kernel_candidate *const *fits, int n)
{
    return fits[(*(const int *)arg + layer + (int)pass) % n]->name;
}

/* arg: a name; plain loops where it does not fit. */
static inline const char *told_name(const void *arg, int layer, tutti_kernel_pass pass,
                                    const tutti_kernel_candidate *const *fits, int n)
{
    (void)layer, (void)pass;
    for (int i = 0; i < n; i++)
        if (!strcmp(fits[i]->name, arg)) return arg;
    return "reference";
}

/* Products whose passes are computed by several candidates. */
static inline int told_joined(const tutti_graph *g)
{
    int n = 0;
    for (int l = 0; l < g->nkernels; l++) {
        const tutti_kernel_chosen *c = g->kernels[l].chosen;
        bool several = false;
        for (int pass = 1; pass < TUTTI_NPASSES; pass++)
            several = several || (c[pass].name && strcmp(c[pass].name, c[0].name) != 0);
        n += several && told_is_product(&g->kernels[l]);
    }
    return n;
}

#endif
