/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h: the step graph: nodes of one training step, and what each of them reads and writes.
 *
 * The graph is that of one rank (all ranks have the same). Order is not in it: edges follow from reads and writes.
 * Node kinds: load, forward(layer), backward_params(layer), backward_data(layer), exchange(collective, params),
 * sum(layer), update(params). A parameter may have many readers; a gradient is ready after its last writer. Weight
 * gradients come before input gradients, so that their exchange starts earlier. A layer's output may have many readers
 * too: each leaves its part of the gradient, and a sum node adds the parts up in the order of the readers. There may be
 * several losses: the last is the main one, whose right answers are counted, and the loss of a step is the sum of all.
 * The two external conditions of an exchange follow from the graph:
 *   ready(p) = the last writer of p's gradient is done        (it may be exchanged)
 *   free(p)  = the last reader of p's value is done            (it may be overwritten)
 * Layers that ranks share (split.h) have nodes of two more kinds: moves between activations and what travels, and
 * travels themselves.
 *
 * Threads: frozen after build. */
#ifndef TUTTI_GRAPH_H
#define TUTTI_GRAPH_H

#include "../../base/text/options.h"
#include "../../kernel/sparse/sparse_switch.h" /* of its kernels */
#include "split.h"

typedef enum {
    TUTTI_NODE_LOAD,
    TUTTI_NODE_FORWARD,
    TUTTI_NODE_BACKWARD_PARAMS,
    TUTTI_NODE_BACKWARD_DATA,
    TUTTI_NODE_SUM, /* of the gradients that the readers of the layer's output have left; of one: a copy to change */
    TUTTI_NODE_EXCHANGE, /* of one parameter; the plan merges neighbours into buckets */
    TUTTI_NODE_UPDATE,
    TUTTI_NODE_MOVE,   /* of a split layer: between its activations and memory for what travels; hop says which */
    TUTTI_NODE_TRAVEL, /* ... an exchange of the group */
    TUTTI_NNODE_KINDS
} tutti_node_kind;
const char *tutti_node_kind_name(tutti_node_kind k);

/* What nodes read and write. */
typedef enum {
    TUTTI_DATUM_BATCH,      /* samples and labels */
    TUTTI_DATUM_VALUE,      /* a layer's output;     index = layer */
    TUTTI_DATUM_SAVED,      /* a layer's saved state; index = layer */
    TUTTI_DATUM_VALUE_GRAD, /* gradient of a layer's output, or a part of it; index = tutti_graph.grads */
    TUTTI_DATUM_PARAM,      /* a parameter;          index = param */
    TUTTI_DATUM_PARAM_GRAD, /* its gradient on this rank */
    TUTTI_DATUM_PARAM_SUM,  /* its summed gradient (the owner's slice) */
    TUTTI_DATUM_SPLIT,      /* of a split layer; index = TUTTI_NSPLIT_DATA * its number + tutti_split_datum */
} tutti_datum_kind;

typedef struct {
    tutti_datum_kind kind;
    int index;
} tutti_datum;

/* Parameters that keep the value they begin with: no gradient, no exchange, no update. Patterns of names
 * (name_pattern.h) and "true" or "false" by turns; the last that fits counts. */
typedef struct {
    tutti_texts patterns; /* borrowed */
    const char *said;     /* where they were said, which refusals begin with; NULL = nowhere */
} tutti_frozen;

typedef struct {
    /* "conv1.weight", or "@loss" (of each loss), "@correct", "@stop": control numbers that travel as statistics */
    const char *name;
    int layer;             /* -1 for control numbers */
    int ordinal;           /* of the layer's parameters */
    tutti_param_desc desc; /* desc.elements lie in the regions, in the order desc.layout */
    int64_t count;         /* of its shape, row-major */
    bool is_frozen;        /* would be learned, and is not */
} tutti_param;

/* Has a gradient, and is changed by the rule. */
static inline bool tutti_param_is_learned(const tutti_param *p)
{
    return p->desc.kind != TUTTI_PARAM_STATISTIC && !p->is_frozen;
}

/* The gradient of a layer's output as it lies in memory; it is shaped as that output. Where a kernel passes the
 * gradient that it is given on to an input, both are one: the one of the layer that comes later. */
typedef struct {
    int layer;    /* whose output's */
    int reader;   /* the layer that writes it as its part of a sum; -1 = the whole gradient */
    bool changed; /* what the layer's first backward pass makes of the whole one, in its memory (kernel->writes_dout) */
} tutti_grad;

/* Where a layer's backward passes find and leave gradients: indices of tutti_graph.grads; -1 = nobody wants it. */
typedef struct {
    int out;                     /* of its output, as the first pass finds it */
    int changed;                 /* and as it leaves it: = out unless the kernel writes dout, or takes parts */
    int in[TUTTI_MAX_OP_INPUTS]; /* of its inputs, or its part of them; = changed where the kernel passes it on */
    int *parts, nparts;          /* what its sum node makes out of, in this order; 0 = no sum node */
    bool takes_parts;            /* no sum node: the first backward pass sums the parts itself, into changed */
} tutti_layer_grads;

typedef struct {
    tutti_node_kind kind;
    int layer, param; /* -1 where it does not apply */
    tutti_hop hop;    /* of moves and travels */
    tutti_datum *reads, *writes;
    int nreads, nwrites;
} tutti_node;

typedef struct tutti_graph tutti_graph;

typedef struct {
    int64_t batch;      /* samples a kernel call sees (a slot in canonical mode, else this rank's share) */
    const char *engine; /* candidates that are asked for (kernel.h); what computes a layer is kernels[l].chosen */
    int nthreads;
    const struct tutti_device *device; /* that kernels run on; NULL = the cpu. Outlives the graph */
    bool training;                     /* false: forward nodes of what the last loss needs, no control numbers */
    tutti_precision precision;
    bool canonical;                  /* kernels whose sums are of one class */
    const struct tutti_tuned *tuned; /* measured times to choose kernels by; NULL = none */
    bool sparse;                     /* convolutions fed by a ReLU may be told to skip zeros (sparse_switch.h) */
    tutti_frozen frozen;
    /* A graph of the same model whose orders of parameters are taken over (evaluation of weights in training; it must
     * outlive this one), or NULL: row-major, or the kernels' choice where training. */
    const tutti_graph *params_as;
    tutti_split_layers split; /* training only */
} tutti_graph_config;

struct tutti_graph {
    const tutti_model *model; /* borrowed */
    tutti_graph_config config;
    tutti_kernel *kernels; /* one a layer, made for that batch */
    int nkernels;          /* = model->nlayers once built */
    tutti_order order;     /* that convolutions were asked to leave their outputs in */
    /* These four only where training. */
    /* A layer: its backward_params is run: it has learned parameters, or backward_data goes on from it. */
    bool *runs_params;
    /* A layer: its backward_data is run (not before the first layer with learned parameters, nor where backward_params
     * does its work: joint_backward). */
    bool *needs_input_grad;
    tutti_grad *grads;
    int ngrads;
    tutti_layer_grads *layer_grads;
    tutti_param *params; /* layers in order, then control numbers */
    int nparams;
    tutti_split_layer *split; /* layers that ranks share, as the model has them in order */
    int nsplit;               /* 0: nobody shares any */
    tutti_split_place *split_places;
    int nsplit_places;
    tutti_node *nodes; /* a legal order: forward, then backward with exchanges and updates as early as may be */
    int nnodes;
    tutti_arena arena;
};

tutti_status tutti_graph_build(const tutti_model *model, const tutti_graph_config *config, tutti_graph **out,
                               tutti_failure *err);
void tutti_graph_destroy(tutti_graph *g);
/* Once before the calling thread runs kernels of g: refuses where there can be fewer threads than these count on
 * (tutti_crew_prepare). */
tutti_status tutti_graph_prepare_threads(const tutti_graph *g, tutti_failure *err);
/* Memory that the kernel of a node wants for itself. In a layer of which some parameters are frozen and others are not,
 * backward_params leaves the gradients of the frozen ones there too, because kernels make all of them at once: that of
 * p from which byte on. -1: nobody makes it. */
size_t tutti_graph_scratch_bytes(const tutti_graph *g, int node);
int64_t tutti_graph_unwanted_at(const tutti_graph *g, int p);
/* Does nobody but max pools read the output of a layer? Then most of its gradient is zero. */
bool tutti_graph_is_pooled(const tutti_model *m, int layer);
int tutti_graph_losses(const tutti_graph *g);                 /* how many loss layers there are */
int tutti_graph_loss_number(const tutti_graph *g, int layer); /* which of them a loss layer is: its element of @loss */
/* A layer's output as the rank's activations have it: kernels[layer].out, or all outputs of a split layer. */
const tutti_value *tutti_graph_out(const tutti_graph *g, int layer);
/* What split->layers would be, from a graph that trains and does not split them: split->nlayers entries, without `in`
 * and `out`. */
void tutti_graph_describe_split(const tutti_graph *g, const tutti_split_layers *split, tutti_split_layer *out);
int tutti_graph_parts(const tutti_graph *g);                  /* ranks that share a split layer; 1: there is none */
int tutti_graph_split_of(const tutti_graph *g, int layer);    /* its number among these; -1 = it is none */
int tutti_graph_split_place(const tutti_graph *g, int index); /* where a datum of these lies: of split_places */
const char *tutti_hop_name(tutti_hop h);
char *tutti_graph_print(const tutti_graph *g); /* text form, caller frees */
/* Which candidates compute the layers, and why: a table of the layers that had a choice, `before` each line. */
void tutti_graph_add_choices(const tutti_graph *g, const char *before, tutti_strbuf *sb);
/* In one line how many passes each computes, of ops that had a choice, "conv by onednn 1, lanes 5"; of a graph that
 * trains. NULL: none had. The caller frees it. */
char *tutti_graph_say_choices(const tutti_graph *g);
/* Of one layer, pass after pass where they differ: "onednn", "lanes/onednn". */
enum { TUTTI_KERNEL_NAME = 64 };
void tutti_graph_kernel_name(const tutti_kernel *k, char out[TUTTI_KERNEL_NAME]);
/* What of it ranks must have alike. */
void tutti_graph_hash_choices(const tutti_graph *g, tutti_strbuf *sb);
char *tutti_graph_dot(const tutti_graph *g);
/* Initial values of a parameter, desc.elements of them in its order: a function of (seed, name, row-major element). */
void tutti_graph_init_param(const tutti_param *p, uint64_t seed, float *out);

#endif
