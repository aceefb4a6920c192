/* SPDX-License-Identifier: Apache-2.0 */
/* profile_trace.c: makes a profile of a layer trace of a run on one rank.
 *
 * A trace has one backward time for each layer, but a plan has two backward kernels. Where a layer runs both kernels
 * (the gradients of its parameters, then of its input), each gets half of the time, because both multiply as often (Das
 * et al. 2016: a layer is three products of one size). The backward time includes the time for adding up gradients,
 * which is therefore divided with it.
 *
 * The trace gives the times of an update and of loading after its layers. Traces of other programs give neither: then
 * the time of an update is assumed, and loading takes no time. */
#include "profile.h"

#include <math.h>
#include <string.h>

/* Returns true if a backward node of this kind is run for the layer. */
static bool runs(const tutti_graph *g, tutti_node_kind kind, int layer)
{
    for (int i = 0; i < g->nnodes; i++)
        if (g->nodes[i].kind == kind && g->nodes[i].layer == layer) return true;
    return false;
}

tutti_status tutti_profile_of_trace(const char *name, const tutti_layer_trace *trace, const tutti_graph *g,
                                    tutti_profile *out, tutti_failure *err)
{
    const tutti_model *m = g->model;
    if (trace->nlayers != m->nlayers)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: %d layers, model %s has %d", name, trace->nlayers, m->name,
                          m->nlayers);
    for (int l = 0; l < m->nlayers; l++)
        if (strcmp(trace->layers[l].name, m->layers[l].name) != 0)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: layer %d is '%s', in model %s it is '%s'", name, l,
                              trace->layers[l].name, m->name, m->layers[l].name);
    *out = (tutti_profile){.samples_per_call = g->config.batch,
                           .precision = g->config.precision,
                           .nbusy = 1,
                           .nlayers = m->nlayers,
                           .update_s_per_element = isnan(trace->update_s_per_element) ? TUTTI_ASSUMED_UPDATE_S
                                                                                      : trace->update_s_per_element,
                           .load_s_per_sample = isnan(trace->load_s_per_sample) ? 0 : trace->load_s_per_sample};
    out->layers = TUTTI_ARENA_NEW(&out->arena, tutti_layer_time, out->nlayers);
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer_cost *c = &trace->layers[l];
        const bool params = runs(g, TUTTI_NODE_BACKWARD_PARAMS, l), data = runs(g, TUTTI_NODE_BACKWARD_DATA, l);
        const double share = params && data ? 0.5 : 1;
        out->layers[l] = (tutti_layer_time){.name = tutti_arena_strdup(&out->arena, c->name),
                                            .forward_s = c->forward_us * 1e-6,
                                            .sum_s = params || data ? 0 : c->backward_us * 1e-6,
                                            .params_s = params ? share * c->backward_us * 1e-6 : 0,
                                            .data_s = data ? share * c->backward_us * 1e-6 : 0};
    }
    return TUTTI_OK;
}
