/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h: what one training step does, as a frozen value: nodes and what each of them reads and writes.
 *
 * The graph is that of one rank (all ranks have the same). Order is not in it: edges follow from reads and writes.
 * Node kinds: load, forward(layer), backward_params(layer), backward_data(layer), exchange(collective, params),
 * update(params). A parameter may have many readers; a gradient is ready after its last writer. Weight gradients come
 * before input gradients, so that their exchange starts earlier. The two external conditions of an exchange follow
 * from the graph:
 *   ready(p) = the last writer of p's gradient is done        (reduce-scatter may read it)
 *   free(p)  = the last reader of p's value is done            (all-gather may overwrite it)
 *
 * Threads: frozen after build. */
#ifndef TUTTI_GRAPH_H
#define TUTTI_GRAPH_H

#include "../model/model.h"

typedef enum {
    TUTTI_NODE_LOAD,
    TUTTI_NODE_FORWARD,
    TUTTI_NODE_BACKWARD_PARAMS,
    TUTTI_NODE_BACKWARD_DATA,
    TUTTI_NODE_EXCHANGE, /* of one parameter; the plan merges neighbours into buckets */
    TUTTI_NODE_UPDATE,
    TUTTI_NNODE_KINDS
} tutti_node_kind;
const char *tutti_node_kind_name(tutti_node_kind k);

/* What nodes read and write. */
typedef enum {
    TUTTI_DATUM_BATCH,      /* samples and labels */
    TUTTI_DATUM_VALUE,      /* a layer's output;     index = layer */
    TUTTI_DATUM_SAVED,      /* a layer's saved state; index = layer */
    TUTTI_DATUM_VALUE_GRAD, /* gradient of it;       index = layer */
    TUTTI_DATUM_PARAM,      /* a parameter;          index = param */
    TUTTI_DATUM_PARAM_GRAD, /* its gradient on this rank */
    TUTTI_DATUM_PARAM_SUM,  /* its summed gradient (the owner's slice) */
} tutti_datum_kind;

typedef struct {
    tutti_datum_kind kind;
    int index;
} tutti_datum;

typedef struct {
    const char *name; /* "conv1.weight", or "@loss", "@correct", "@stop": control numbers that travel as statistics */
    int layer;        /* -1 for control numbers */
    int ordinal;      /* of the layer's parameters */
    tutti_param_desc desc; /* desc.elements lie in the regions, in the order desc.layout */
    int64_t count;         /* of its shape, row-major */
} tutti_param;

typedef struct {
    tutti_node_kind kind;
    int layer, param; /* -1 where it does not apply */
    tutti_datum *reads, *writes;
    int nreads, nwrites;
} tutti_node;

typedef struct tutti_graph tutti_graph;

typedef struct {
    int64_t batch;      /* samples a kernel call sees (a slot in canonical mode, else this rank's share) */
    const char *engine; /* as asked for; a layer's own is kernels[l].row->engine */
    int nthreads;
    bool training; /* false: forward nodes only, no control numbers */
    tutti_precision precision;
    /* A graph of the same model whose orders of parameters are taken over (evaluation of weights in training; it must
     * outlive this one), or NULL: row-major, or the kernels' choice where training. */
    const tutti_graph *params_as;
} tutti_graph_config;

struct tutti_graph {
    const tutti_model *model; /* borrowed */
    tutti_graph_config config;
    tutti_kernel *kernels;  /* one a layer, made for that batch */
    int nkernels;           /* = model->nlayers once built */
    bool *needs_input_grad; /* a layer: its backward_data is run (false before the first layer with parameters) */
    tutti_param *params;    /* layers in order, then control numbers */
    int nparams;
    tutti_node *nodes; /* a legal order: forward, then backward with exchanges and updates as early as may be */
    int nnodes;
    tutti_arena arena;
};

tutti_status tutti_graph_build(const tutti_model *model, const tutti_graph_config *config, tutti_graph **out,
                               tutti_failure *err);
void tutti_graph_destroy(tutti_graph *g);
char *tutti_graph_print(const tutti_graph *g); /* text form, caller frees */
char *tutti_graph_dot(const tutti_graph *g);
/* Initial values of a parameter, desc.elements of them in its order: a function of (seed, name, row-major element). */
void tutti_graph_init_param(const tutti_param *p, uint64_t seed, float *out);

#endif
