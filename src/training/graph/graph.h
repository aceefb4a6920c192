/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h: the step graph: nodes of one training step, and what each of them reads and writes.
 *
 * Each rank has one graph; it is the same on all ranks. The graph holds no order: edges follow from reads and writes.
 * Node kinds: load, forward(layer), backward_params(layer), backward_data(layer), exchange(collective, params),
 * sum(layer), update(params). A parameter may have many readers; its gradient is ready after the gradient's last
 * writer. Weight gradients come before input gradients, so that their exchange starts earlier. A layer's output may
 * have many readers too: each leaves its part of the gradient, and a sum node adds the parts in the order of the
 * readers. A model may have several losses: the last one is the main loss, whose right answers are counted. The loss of
 * a step is the sum of all. The two external conditions of an exchange follow from the graph:
 *   ready(p) = the last writer of p's gradient is done        (the gradient may be exchanged)
 *   free(p)  = the last reader of p's value is done           (the value may be overwritten)
 * Layers that ranks share (split.h) have nodes of two more kinds: a move copies between activations and the memory that
 * is exchanged, and a travel exchanges that memory.
 *
 * Threads: any, after build. */
#ifndef TUTTI_GRAPH_H
#define TUTTI_GRAPH_H

#include "../../base/text/options.h"
#include "../../kernel/sparse/sparse_switch.h" /* for convolutions that may skip zeros */
#include "split.h"

typedef enum {
    TUTTI_NODE_LOAD,
    TUTTI_NODE_FORWARD,
    TUTTI_NODE_BACKWARD_PARAMS,
    TUTTI_NODE_BACKWARD_DATA,
    TUTTI_NODE_SUM, /* adds the gradients that the readers of the layer's output left; with a single part: copies it */
    TUTTI_NODE_EXCHANGE, /* exchanges one parameter's gradient; the plan merges neighbours into buckets */
    TUTTI_NODE_UPDATE,
    /* copies between activations of a split layer and the memory that ranks exchange; `hop` says which */
    TUTTI_NODE_MOVE,
    /* exchanges that memory between the ranks that share the layer, after TUTTI_NODE_MOVE has filled it */
    TUTTI_NODE_TRAVEL,
    TUTTI_NNODE_KINDS
} tutti_node_kind;
const char *tutti_node_kind_name(tutti_node_kind k);

/* The kinds of data that nodes read and write. */
typedef enum {
    TUTTI_DATUM_BATCH,      /* samples and labels */
    TUTTI_DATUM_VALUE,      /* a layer's output;     index = layer */
    TUTTI_DATUM_SAVED,      /* what a layer's kernel saves for its backward pass; index = layer */
    TUTTI_DATUM_VALUE_GRAD, /* gradient of a layer's output, or a part of it; index into tutti_graph.grads */
    TUTTI_DATUM_PARAM,      /* a parameter;          index = param */
    TUTTI_DATUM_PARAM_GRAD, /* a parameter's gradient on this rank */
    TUTTI_DATUM_PARAM_SUM,  /* a parameter's summed gradient (the owner's slice) */
    /* data of a split layer; index = TUTTI_NSPLIT_DATA * the split layer's number + tutti_split_datum */
    TUTTI_DATUM_SPLIT,
} tutti_datum_kind;

typedef struct {
    tutti_datum_kind kind;
    int index;
} tutti_datum;

/* Parameters that keep their initial value: they have no gradient, no exchange and no update. `patterns` holds name
 * patterns (name_pattern.h), each followed by "true" or "false"; the last pattern that matches decides. */
typedef struct {
    tutti_texts patterns; /* name patterns and "true" or "false"; borrowed */
    const char *said;     /* where the job gives the patterns; error messages begin with it. NULL = nowhere */
} tutti_frozen;

typedef struct {
    /* "conv1.weight", or a control number: "@loss" (an element for each loss), "@correct", "@stop". Control numbers are
     * exchanged as statistics are. */
    const char *name;
    int layer;             /* layer of the parameter; -1 for control numbers */
    int ordinal;           /* index among the layer's parameters */
    tutti_param_desc desc; /* shape and memory order; in each vector of parameters it takes desc.elements elements,
                            * padding included */
    int64_t count;         /* number of elements of the parameter's shape, without padding */
    bool is_frozen;        /* the update rule would change the parameter, but the job froze it */
} tutti_param;

/* True if the parameter has a gradient and the rule changes it. */
static inline bool tutti_param_is_learned(const tutti_param *p)
{
    return p->desc.kind != TUTTI_PARAM_STATISTIC && !p->is_frozen;
}

/* The gradient of a layer's output in memory; it has the shape of that output. Where a kernel passes its gradient on to
 * an input unchanged, both layers share one gradient, listed under the later layer. */
typedef struct {
    int layer;  /* the gradient is that of this layer's output */
    int reader; /* the layer that writes this part of a sum; -1 = the whole gradient */
    /* the whole gradient after the layer's first backward pass has changed it in place (kernel->writes_dout) */
    bool changed;
} tutti_grad;

/* Where a layer's backward passes read and write gradients: indices of tutti_graph.grads; -1 = no pass needs it. */
typedef struct {
    int out;     /* gradient of the layer's output, as the layer's first backward pass reads it */
    int changed; /* gradient of the output after the first backward pass: = out unless the kernel writes dout, or takes
                  * parts */
    /* gradients of the layer's inputs, or this layer's parts of these; = `changed` where the kernel passes the gradient
     * on */
    int in[TUTTI_MAX_OP_INPUTS];
    int *parts, nparts; /* the nparts parts that the sum node adds into `out`, in this order; nparts 0 = no sum node */
    /* true if there is no sum node because the first backward pass adds the parts itself, into `changed` */
    bool takes_parts;
} tutti_layer_grads;

typedef struct {
    tutti_node_kind kind;
    int layer, param; /* indices of the node's layer and parameter; -1 where the kind has none */
    tutti_hop hop;    /* which move or travel of a split layer the node is */
    tutti_datum *reads, *writes;
    int nreads, nwrites;
} tutti_node;

typedef struct tutti_graph tutti_graph;

typedef struct {
    int64_t batch;      /* samples of one kernel call: a slot in canonical mode, else this rank's share */
    const char *engine; /* names of candidates to choose from (kernel.h); kernels[l].chosen: those of layer l */
    int nthreads;
    const struct tutti_device *device; /* the device that kernels run on; NULL = the cpu. Outlives the graph */
    /* false: only the forward nodes that the last loss needs, and no control numbers */
    bool training;
    tutti_precision precision;
    bool canonical;                  /* true: all kernels that may be chosen for a pass add in the same order (one class
                                      * of candidate.h) */
    const struct tutti_tuned *tuned; /* measured times that choose kernels; NULL = none */
    bool sparse;                     /* true: convolutions fed by a ReLU may be told to skip zeros (sparse_switch.h) */
    tutti_frozen frozen;
    /* A graph of the same model whose parameter orders this graph uses (to evaluate weights in training); it must
     * outlive this graph. NULL: row-major, or in training the order that the kernels choose. */
    const tutti_graph *params_as;
    tutti_split_layers split; /* layers that ranks share; only in training */
} tutti_graph_config;

struct tutti_graph {
    const tutti_model *model; /* the model, borrowed */
    tutti_graph_config config;
    tutti_kernel *kernels; /* one kernel for each layer, made for config.batch samples */
    int nkernels;          /* number of kernels: = model->nlayers once built */
    tutti_order order;     /* the memory order that convolutions were asked to leave their outputs in */
    /* The next four fields are filled only in a graph that trains. */
    /* Per layer: true if its backward_params runs, because it has learned parameters or because its backward_data uses
     * results of backward_params. */
    bool *runs_params;
    /* Per layer: true if its backward_data runs. False before the first layer with learned parameters, and where
     * backward_params does both (joint_backward). */
    bool *needs_input_grad;
    tutti_grad *grads;
    int ngrads;
    tutti_layer_grads *layer_grads;
    tutti_param *params; /* parameters of the layers, in the layers' order; then the control numbers */
    int nparams;
    tutti_split_layer *split; /* layers that ranks share, in the model's order */
    int nsplit;               /* 0 = ranks share no layer */
    tutti_split_place *split_places;
    int nsplit_places;
    tutti_node *nodes; /* one legal order: forward, then backward, with exchanges and updates as early as possible */
    int nnodes;
    tutti_arena arena;
};

tutti_status tutti_graph_build(const tutti_model *model, const tutti_graph_config *config, tutti_graph **out,
                               tutti_failure *err);
void tutti_graph_destroy(tutti_graph *g);
/* To be called once before the calling thread runs kernels of g. Fails if the system may grant fewer threads than the
 * kernels need (tutti_crew_prepare). */
tutti_status tutti_graph_prepare_threads(const tutti_graph *g, tutti_failure *err);
/* tutti_graph_scratch_bytes: bytes of private memory that the kernel of a node needs. In a layer with both frozen and
 * learned parameters, backward_params writes the gradients of the frozen ones there too, because kernels make all
 * gradients at once. tutti_graph_unwanted_at: the byte in that memory where the gradient of parameter p begins; -1 = no
 * kernel makes it. */
size_t tutti_graph_scratch_bytes(const tutti_graph *g, int node);
int64_t tutti_graph_unwanted_at(const tutti_graph *g, int p);
/* True if only max pools read the layer's output. Then most of its gradient is zero. */
bool tutti_graph_is_pooled(const tutti_model *m, int layer);
int tutti_graph_losses(const tutti_graph *g); /* number of loss layers */
/* returns the index of this loss layer among the losses: its element of @loss */
int tutti_graph_loss_number(const tutti_graph *g, int layer);
/* Returns the description of a layer's output in this rank's activations: kernels[layer].out, or for a split layer all
 * outputs. */
const tutti_value *tutti_graph_out(const tutti_graph *g, int layer);
/* Describes the layers named in `split` as if they were split, from a graph that trains and splits no layer: writes
 * split->nlayers entries, without `in` and `out`. */
void tutti_graph_describe_split(const tutti_graph *g, const tutti_split_layers *split, tutti_split_layer *out);
/* number of ranks that share a split layer; 1 = no layer is split */
int tutti_graph_parts(const tutti_graph *g);
/* index of the layer among the split layers; -1 = it is not split */
int tutti_graph_split_of(const tutti_graph *g, int layer);
/* Returns the index into split_places of the place where the split datum `index` lies. */
int tutti_graph_split_place(const tutti_graph *g, int index);
const char *tutti_hop_name(tutti_hop h);
char *tutti_graph_print(const tutti_graph *g); /* returns the graph as text, which the caller frees */
/* Adds a table of the layers that had a choice: which candidate computes each pass, and why. `before` begins each
 * line. */
void tutti_graph_add_choices(const tutti_graph *g, const char *before, tutti_strbuf *sb);
/* Returns one line that counts, for ops that had a choice, how many passes each candidate computes: "conv by onednn 1,
 * lanes 5". The graph must train. NULL: no op had a choice. The caller frees the text. */
char *tutti_graph_say_choices(const tutti_graph *g);
/* Writes which candidate computes one layer, for each pass where they differ: "onednn", "lanes/onednn". */
enum { TUTTI_KERNEL_NAME = 64 };
void tutti_graph_kernel_name(const tutti_kernel *k, char out[TUTTI_KERNEL_NAME]);
/* Adds the part of the choice of kernels that must be equal on all ranks. */
void tutti_graph_hash_choices(const tutti_graph *g, tutti_strbuf *sb);
char *tutti_graph_dot(const tutti_graph *g);
/* Writes a parameter's initial values, desc.elements of them in its order. Each is a function of (seed, name, row-major
 * element). */
void tutti_graph_init_param(const tutti_param *p, uint64_t seed, float *out);

#endif
