/* SPDX-License-Identifier: Apache-2.0 */
/* plan_check_arena.c: proves that activations which share memory do not overwrite each other. One rank's activations
 * share memory by life time, so each kernel must find its inputs unchanged.
 *
 * The loop of two steps is played on tags: every interval between borders of data carries the tag of the datum that was
 * written there last. A kernel's scratch counts as written by it, wherever it reads or writes. Only a kernel that works
 * in place may have its output where its first input is, and its first input's gradient where its output's gradient is.
 * If a kernel changes its gradient in place, the place holds another datum from then on, so that the proof finds a
 * later reader of the unchanged gradient. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan_compose.h"

enum { UNWRITTEN = 0, SCRATCH_TAG = 1, FIRST_TAG = 2 };

typedef struct {
    int64_t first, last; /* range in the arena, in bytes */
} extent;

typedef struct {
    const tutti_plan *plan;
    int64_t *edges;
    int *tags; /* per interval between edges i and i + 1 of the arena: tag of the datum that lies there */
    int nedges;
} arena_play;

/* Returns the tag of a datum of the arena, a number: first layers' values, then their saved states, then gradients. -1:
 * the datum does not lie in the arena. */
static int tag_of(const tutti_graph *g, tutti_datum d)
{
    const int n = g->model->nlayers;
    if (d.kind == TUTTI_DATUM_VALUE) return FIRST_TAG + d.index;
    if (d.kind == TUTTI_DATUM_SAVED) return FIRST_TAG + n + d.index;
    if (d.kind == TUTTI_DATUM_VALUE_GRAD) return FIRST_TAG + 2 * n + d.index;
    return -1;
}

static int count_data(const tutti_graph *g)
{
    return 2 * g->model->nlayers + g->ngrads;
}

static tutti_datum datum_of(const tutti_graph *g, int tag)
{
    const int n = g->model->nlayers, i = tag - FIRST_TAG;
    return i < n       ? (tutti_datum){TUTTI_DATUM_VALUE, i}
           : i < 2 * n ? (tutti_datum){TUTTI_DATUM_SAVED, i - n}
                       : (tutti_datum){TUTTI_DATUM_VALUE_GRAD, i - 2 * n};
}

static extent extent_of(const tutti_plan *p, int tag)
{
    const tutti_graph *g = p->graph;
    const tutti_datum d = datum_of(g, tag);
    const int64_t first = d.kind == TUTTI_DATUM_VALUE   ? p->value_offset[d.index]
                          : d.kind == TUTTI_DATUM_SAVED ? p->saved_offset[d.index]
                                                        : p->grad_offset[d.index];
    const tutti_kernel *k = &g->kernels[d.kind == TUTTI_DATUM_VALUE_GRAD ? g->grads[d.index].layer : d.index];
    const int64_t bytes = (int64_t)(d.kind == TUTTI_DATUM_SAVED ? k->saved_bytes : k->out.bytes);
    return first < 0 ? (extent){0, 0} : (extent){first, first + bytes};
}

/* Returns the scratch of the kernel that a node runs. */
static extent scratch_of(const tutti_plan *p, int node)
{
    const int64_t at = p->scratch_offset[node];
    return at < 0 ? (extent){0, 0} : (extent){at, at + (int64_t)tutti_graph_scratch_bytes(p->graph, node)};
}

typedef struct {
    char text[320];
} phrase;

/* Returns "the value of fc1" or "the gradient of fc1 (changed by fc1)". */
static phrase name_of(const tutti_plan *p, int tag)
{
    const tutti_graph *g = p->graph;
    const tutti_layer *layers = g->model->layers;
    phrase out = {"nothing"};
    if (tag == SCRATCH_TAG) snprintf(out.text, sizeof out.text, "scratch");
    if (tag < FIRST_TAG) return out;
    const tutti_datum d = datum_of(g, tag);
    if (d.kind != TUTTI_DATUM_VALUE_GRAD) {
        snprintf(out.text, sizeof out.text, "the %s of %s", d.kind == TUTTI_DATUM_VALUE ? "value" : "saved state",
                 layers[d.index].name);
        return out;
    }
    const tutti_grad *grad = &g->grads[d.index];
    const char *by = grad->reader >= 0 ? layers[grad->reader].name : layers[grad->layer].name;
    const int n = snprintf(out.text, sizeof out.text, "the gradient of %s", layers[grad->layer].name);
    if (grad->reader >= 0 || grad->changed)
        snprintf(out.text + n, sizeof out.text - (size_t)n, grad->changed ? " as changed by %s" : " by %s", by);
    return out;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void find_edges(arena_play *y)
{
    const tutti_graph *g = y->plan->graph;
    const int n = count_data(g);
    y->edges = tutti_alloc(sizeof(int64_t) * 2 * (size_t)(n + g->nnodes));
    for (int t = FIRST_TAG; t < FIRST_TAG + n; t++) {
        const extent e = extent_of(y->plan, t);
        y->edges[y->nedges++] = e.first;
        y->edges[y->nedges++] = e.last;
    }
    for (int t = 0; t < g->nnodes; t++) {
        const extent e = scratch_of(y->plan, t);
        y->edges[y->nedges++] = e.first;
        y->edges[y->nedges++] = e.last;
    }
    qsort(y->edges, (size_t)y->nedges, sizeof *y->edges, by_value);
    y->tags = tutti_alloc(sizeof(int) * (size_t)y->nedges);
}

static void write_tag(arena_play *y, extent e, int tag)
{
    for (int i = 0; i + 1 < y->nedges; i++)
        if (y->edges[i] >= e.first && y->edges[i + 1] <= e.last) y->tags[i] = tag;
}

static const char *subject(const arena_play *y, const tutti_node *n)
{
    return y->plan->graph->model->layers[n->layer].name;
}

static tutti_status reads(const arena_play *y, const tutti_node *n, int tag, tutti_failure *err)
{
    const extent e = extent_of(y->plan, tag);
    for (int i = 0; i + 1 < y->nedges; i++) {
        if (y->edges[i] < e.first || y->edges[i + 1] > e.last || y->edges[i] == y->edges[i + 1]) continue;
        if (y->tags[i] == tag) continue;
        return tutti_fail(err, TUTTI_ERR_FAILED, "arena: %s of %s reads %s at byte %" PRId64 ", where %s lies by then",
                          tutti_node_kind_name(n->kind), subject(y, n), name_of(y->plan, tag).text, y->edges[i],
                          name_of(y->plan, y->tags[i]).text);
    }
    return TUTTI_OK;
}

static bool overlap(extent a, extent b)
{
    return a.first < b.last && b.first < a.last;
}

static bool is_part(const tutti_layer_grads *own, int grad)
{
    for (int i = 0; i < own->nparts; i++)
        if (own->parts[i] == grad) return true;
    return false;
}

/* Returns true if `written` may lie exactly where `used` lies, which this node also reads or writes. */
static bool may_share(const tutti_graph *g, const tutti_node *n, tutti_datum used, tutti_datum written)
{
    const tutti_kernel *k = &g->kernels[n->layer];
    if (n->kind == TUTTI_NODE_FORWARD)
        return k->in_place && used.kind == TUTTI_DATUM_VALUE && written.kind == TUTTI_DATUM_VALUE &&
               used.index == g->model->layers[n->layer].in[0] && tutti_layer_reads_once(&g->model->layers[n->layer]);
    if (used.kind != TUTTI_DATUM_VALUE_GRAD || written.kind != TUTTI_DATUM_VALUE_GRAD) return false;
    const tutti_layer_grads *own = &g->layer_grads[n->layer];
    if (n->kind == TUTTI_NODE_SUM) return is_part(own, used.index);
    if (own->takes_parts && is_part(own, used.index) && written.index == own->changed) return true;
    const bool of_output = used.index == own->out || used.index == own->changed;
    if (k->in_place && of_output && written.index == own->in[0]) return true;
    return k->writes_dout && of_output && written.index == own->changed;
}

/* Checks two data that a node uses at the same time, of which it writes the second: they must not overlap, or must lie
 * at the same place if the kernel can work in place. */
static tutti_status apart(const arena_play *y, const tutti_node *n, int used, int written, tutti_failure *err)
{
    const tutti_graph *g = y->plan->graph;
    const extent x = extent_of(y->plan, used), z = extent_of(y->plan, written);
    const tutti_datum a = datum_of(g, used), b = datum_of(g, written);
    const bool same = x.first == z.first && x.last == z.last;
    if (used == written || !overlap(x, z) || (same && (may_share(g, n, a, b) || may_share(g, n, b, a))))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "arena: %s of %s uses %s and %s, which overlap",
                      tutti_node_kind_name(n->kind), subject(y, n), name_of(y->plan, used).text,
                      name_of(y->plan, written).text);
}

/* Checks a kernel that writes where its gradient lies: the place must have the number of bytes that it expects. */
static tutti_status fits(const arena_play *y, const tutti_node *n, tutti_failure *err)
{
    const tutti_graph *g = y->plan->graph;
    if (n->kind == TUTTI_NODE_FORWARD || g->layer_grads[n->layer].out < 0) return TUTTI_OK;
    const tutti_layer_grads *own = &g->layer_grads[n->layer];
    const int64_t *at = y->plan->grad_offset, need = (int64_t)g->kernels[n->layer].out.bytes;
    const int64_t there = (int64_t)g->kernels[g->grads[own->out].layer].out.bytes;
    if (at[own->changed] == at[own->out] && need == there) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED,
                      "arena: %s of %s finds %" PRId64 " bytes of gradient at byte %" PRId64 " and expects %" PRId64
                      " at byte %" PRId64,
                      tutti_node_kind_name(n->kind), subject(y, n), there, at[own->out], need, at[own->changed]);
}

static tutti_status play_node(arena_play *y, const tutti_node *n, tutti_failure *err)
{
    const tutti_graph *g = y->plan->graph;
    const extent scratch = scratch_of(y->plan, (int)(n - g->nodes));
    tutti_status st = fits(y, n, err);
    for (int i = 0; i < n->nreads + n->nwrites && st == TUTTI_OK; i++) {
        const int tag = tag_of(g, i < n->nreads ? n->reads[i] : n->writes[i - n->nreads]);
        if (tag < 0) continue;
        if (overlap(extent_of(y->plan, tag), scratch))
            st = tutti_fail(err, TUTTI_ERR_FAILED, "arena: scratch of %s overlaps %s, which it uses", subject(y, n),
                            name_of(y->plan, tag).text);
        if (st == TUTTI_OK && i < n->nreads) st = reads(y, n, tag, err);
        for (int k = 0; k < n->nwrites && st == TUTTI_OK; k++)
            if (tag_of(g, n->writes[k]) >= 0) st = apart(y, n, tag, tag_of(g, n->writes[k]), err);
    }
    write_tag(y, scratch, SCRATCH_TAG);
    for (int i = 0; i < n->nwrites; i++) {
        const int tag = tag_of(g, n->writes[i]);
        if (tag >= 0) write_tag(y, extent_of(y->plan, tag), tag);
    }
    return st;
}

tutti_status tutti_plan_check_arena(const tutti_plan *p, tutti_failure *err)
{
    arena_play y = {.plan = p};
    tutti_status st = TUTTI_OK;
    find_edges(&y);
    if (y.nedges && y.edges[y.nedges - 1] > p->arena_bytes)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "arena: data end at byte %" PRId64 " of %" PRId64, y.edges[y.nedges - 1],
                        p->arena_bytes);
    const tutti_loop *step = &p->loops[TUTTI_EACH_STEP];
    for (int i = 0; i < 2 * step->nactions && st == TUTTI_OK; i++) {
        const int node = step->actions[i % step->nactions].node;
        if (node >= 0) st = play_node(&y, &p->graph->nodes[node], err);
    }
    free(y.edges);
    free(y.tags);
    return st;
}
