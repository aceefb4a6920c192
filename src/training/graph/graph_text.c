/* SPDX-License-Identifier: Apache-2.0 */
/* graph_text.c: prints a step graph: one line for each node, or a drawing for Graphviz.
 *
 * Names in the text: "batch"; "conv1" a layer's output; "conv1.weight" a parameter; d(x) the gradient of x on this
 * rank; d(x by l) the part of it that layer l leaves; d'(x) the gradient after x's layer has changed it in place;
 * sum(x) the sum over ranks; saved(l) what a kernel keeps for its backward pass; blocks of(l) and the like: shared data
 * of a split layer l. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/text/strbuf.h"
#include "graph.h"

static void add_grad(const tutti_graph *g, const tutti_grad *grad, tutti_strbuf *sb)
{
    const tutti_layer *layers = g->model->layers;
    tutti_strbuf_printf(sb, "d%s(%s", grad->changed ? "'" : "", layers[grad->layer].name);
    if (grad->reader >= 0) tutti_strbuf_printf(sb, " by %s", layers[grad->reader].name);
    tutti_strbuf_puts(sb, ")");
}

static void add_split(const tutti_graph *g, int index, tutti_strbuf *sb)
{
    static const char *const words[] = {
        [TUTTI_SPLIT_OWN_INPUTS] = "own-inputs",
        [TUTTI_SPLIT_INPUTS] = "inputs",
        [TUTTI_SPLIT_OUTPUTS] = "outputs",
        [TUTTI_SPLIT_BLOCKS] = "blocks",
        [TUTTI_SPLIT_BLOCK_GRADS] = "d-blocks",
        [TUTTI_SPLIT_OUTPUT_GRADS] = "d-outputs",
        [TUTTI_SPLIT_MASKED_GRADS] = "d'-outputs",
        [TUTTI_SPLIT_INPUT_GRADS] = "d-inputs",
        [TUTTI_SPLIT_OWN_INPUT_GRADS] = "d-own-inputs",
    };
    _Static_assert(sizeof words / sizeof *words == TUTTI_NSPLIT_DATA, "a word for each");
    tutti_strbuf_printf(sb, "%s(%s)", words[index % TUTTI_NSPLIT_DATA],
                        g->model->layers[g->split[index / TUTTI_NSPLIT_DATA].layer].name);
}

static void add_datum(const tutti_graph *g, tutti_datum d, tutti_strbuf *sb)
{
    switch (d.kind) {
    case TUTTI_DATUM_BATCH: tutti_strbuf_puts(sb, "batch"); break;
    case TUTTI_DATUM_VALUE: tutti_strbuf_puts(sb, g->model->layers[d.index].name); break;
    case TUTTI_DATUM_SAVED: tutti_strbuf_printf(sb, "saved(%s)", g->model->layers[d.index].name); break;
    case TUTTI_DATUM_VALUE_GRAD: add_grad(g, &g->grads[d.index], sb); break;
    case TUTTI_DATUM_PARAM: tutti_strbuf_puts(sb, g->params[d.index].name); break;
    case TUTTI_DATUM_PARAM_GRAD: tutti_strbuf_printf(sb, "d(%s)", g->params[d.index].name); break;
    case TUTTI_DATUM_PARAM_SUM: tutti_strbuf_printf(sb, "sum(%s)", g->params[d.index].name); break;
    case TUTTI_DATUM_SPLIT: add_split(g, d.index, sb); break;
    }
}

static void add_data(const tutti_graph *g, const tutti_datum *data, int n, tutti_strbuf *sb)
{
    for (int i = 0; i < n; i++) {
        if (i) tutti_strbuf_puts(sb, " ");
        add_datum(g, data[i], sb);
    }
}

static const char *node_subject(const tutti_graph *g, const tutti_node *n)
{
    return n->param >= 0 ? g->params[n->param].name : n->layer >= 0 ? g->model->layers[n->layer].name : "";
}

static void add_head(const tutti_graph *g, tutti_strbuf *sb)
{
    int64_t learned = 0, statistics = 0, frozen = 0;
    for (int i = 0; i < g->nparams; i++) {
        if (g->params[i].layer < 0) continue;
        *(g->params[i].is_frozen                  ? &frozen
          : tutti_param_is_learned(&g->params[i]) ? &learned
                                                  : &statistics) += g->params[i].count;
    }
    tutti_strbuf_printf(sb,
                        "graph %s: %d layers, %" PRId64 " learned parameters, %" PRId64 " statistics, %" PRId64
                        " samples a call, engine %s, %s",
                        g->model->name, g->model->nlayers, learned, statistics, g->config.batch, g->config.engine,
                        tutti_precision_name(g->config.precision));
    const int nlosses = tutti_graph_losses(g);
    if (frozen) tutti_strbuf_printf(sb, ", %" PRId64 " parameters frozen", frozen);
    if (nlosses > 1) tutti_strbuf_printf(sb, ", %d losses, the last is the main one", nlosses);
    for (int s = 0; s < g->nsplit; s++)
        tutti_strbuf_printf(sb, "%s%s", s ? " " : ", split: ", g->model->layers[g->split[s].layer].name);
    if (g->nsplit) tutti_strbuf_printf(sb, " by %d ranks", tutti_graph_parts(g));
    tutti_strbuf_puts(sb, "\n");
}

char *tutti_graph_print(const tutti_graph *g)
{
    tutti_strbuf sb = {0};
    add_head(g, &sb);
    tutti_strbuf_puts(&sb, "\nlayers: name, op, output, kernel, bytes saved for backward, bytes of scratch\n");
    for (int l = 0; l < g->model->nlayers; l++) {
        const tutti_kernel *k = &g->kernels[l];
        char shape[96] = "-";
        if (!k->op->is_loss) tutti_shape_text(&k->out.shape, shape);
        const char *merged = g->model->layers[l].merged;
        char op[80];
        snprintf(op, sizeof op, "%s%s%s", k->op->name, merged ? " + " : "", merged ? merged : "");
        char name[TUTTI_KERNEL_NAME];
        tutti_graph_kernel_name(k, name);
        tutti_strbuf_printf(&sb, "  %-24s %-22s %-20s %-10s %10zu %10zu%s\n", g->model->layers[l].name, op, shape, name,
                            k->saved_bytes, k->scratch_bytes, k->in_place ? "  in place" : "");
    }
    tutti_strbuf_puts(&sb, "\nnodes: number, kind, subject: reads -> writes\n");
    for (int i = 0; i < g->nnodes; i++) {
        const tutti_node *n = &g->nodes[i];
        tutti_strbuf_printf(&sb, "  %3d %-15s %-24s: ", i, tutti_node_kind_name(n->kind), node_subject(g, n));
        add_data(g, n->reads, n->nreads, &sb);
        tutti_strbuf_puts(&sb, n->nreads ? " -> " : "-> ");
        add_data(g, n->writes, n->nwrites, &sb);
        tutti_strbuf_puts(&sb, "\n");
    }
    return tutti_strbuf_detach(&sb);
}

/* ---- drawing ---- */

static const char *node_style(tutti_node_kind k)
{
    static const char *const styles[TUTTI_NNODE_KINDS] = {
        "shape=cylinder fillcolor=\"#eeeeee\"", "shape=box fillcolor=\"#cfe2ff\"",
        "shape=box fillcolor=\"#ffe5b4\"",      "shape=box fillcolor=\"#fff3cd\"",
        "shape=circle fillcolor=\"#fff3cd\"",   "shape=oval fillcolor=\"#d1e7dd\"",
        "shape=box fillcolor=\"#e2d9f3\"",      "shape=box fillcolor=\"#eeeeee\"",
        "shape=oval fillcolor=\"#d1e7dd\""};
    return styles[k];
}

/* Returns the newest node before node `reader` that writes the datum, whose value `reader` reads; -1 = none. */
static int writer_before(const tutti_graph *g, tutti_datum d, int reader)
{
    for (int i = reader - 1; i >= 0; i--)
        for (int j = 0; j < g->nodes[i].nwrites; j++)
            if (g->nodes[i].writes[j].kind == d.kind && g->nodes[i].writes[j].index == d.index) return i;
    return -1;
}

/* Draws dashed edges from the nodes that still read weights which an update overwrites: the `free` condition. */
static void add_free_edges(const tutti_graph *g, int update, tutti_strbuf *sb)
{
    const int p = g->nodes[update].param;
    for (int i = update - 1; i >= 0; i--)
        for (int j = 0; j < g->nodes[i].nreads; j++)
            if (g->nodes[i].reads[j].kind == TUTTI_DATUM_PARAM && g->nodes[i].reads[j].index == p) {
                tutti_strbuf_printf(sb, "  n%d -> n%d [style=dashed label=\"free\"];\n", i, update);
                return; /* only the last reader gets an edge */
            }
}

char *tutti_graph_dot(const tutti_graph *g)
{
    tutti_strbuf sb = {0};
    tutti_strbuf_printf(&sb, "digraph \"%s\" {\n  rankdir=TB; node [style=filled fontname=\"sans-serif\"];\n",
                        g->model->name);
    for (int i = 0; i < g->nnodes; i++)
        tutti_strbuf_printf(&sb, "  n%d [label=\"%s\\n%s\" %s];\n", i, tutti_node_kind_name(g->nodes[i].kind),
                            node_subject(g, &g->nodes[i]), node_style(g->nodes[i].kind));
    for (int i = 0; i < g->nnodes; i++) {
        for (int j = 0; j < g->nodes[i].nreads; j++) {
            const int from = writer_before(g, g->nodes[i].reads[j], i);
            if (from < 0) continue;
            tutti_strbuf_printf(&sb, "  n%d -> n%d [label=\"", from, i);
            add_datum(g, g->nodes[i].reads[j], &sb);
            tutti_strbuf_puts(&sb, "\"];\n");
        }
        if (g->nodes[i].kind == TUTTI_NODE_UPDATE) add_free_edges(g, i, &sb);
    }
    tutti_strbuf_puts(&sb, "}\n");
    return tutti_strbuf_detach(&sb);
}
