/* SPDX-License-Identifier: Apache-2.0 */
/* sparsity.c: see sparsity.h. */
#include "sparsity.h"

#include <stdlib.h>

#include "step_work.h"

void tutti_relus_find(const tutti_graph *g, tutti_arena *arena, tutti_relus *out)
{
    const tutti_model *m = g->model;
    *out = (tutti_relus){.relus = TUTTI_ARENA_NEW(arena, tutti_relu, m->nlayers)};
    for (int l = 0; l < m->nlayers; l++) {
        const char *name = tutti_layer_relu(&m->layers[l]);
        const tutti_shape *shape = &g->kernels[l].out.shape;
        if (name) out->relus[out->n++] = (tutti_relu){name, l, tutti_shape_count(shape) / shape->dim[0]};
    }
}

tutti_event tutti_relus_count(const tutti_relus *relus, const tutti_kernel *k, int layer, const void *out,
                              int64_t *zeros, const tutti_device *d, tutti_event last)
{
    for (int i = 0; i < relus->n; i++) {
        const tutti_zeros_work w = {&k->out, out, &zeros[i]};
        if (relus->relus[i].layer == layer) last = d->launch(d, tutti_work_zeros, &w, sizeof w);
    }
    return last;
}

tutti_status tutti_relus_sum(const tutti_relus *relus, int64_t *zeros, tutti_group *group, int nranks,
                             tutti_failure *err)
{
    const size_t n = (size_t)relus->n;
    if (n == 0) return TUTTI_OK;
    int64_t *all = tutti_alloc(n * (size_t)nranks * sizeof *all);
    const tutti_status st = tutti_group_all_gather(group, "zeros of ReLUs", zeros, all, n * sizeof *zeros, err);
    for (size_t i = 0; i < n && !st; i++) {
        zeros[i] = 0;
        for (int r = 0; r < nranks; r++) zeros[i] += all[(size_t)r * n + i];
    }
    free(all);
    return st;
}
