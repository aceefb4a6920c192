/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c: finds the life times of activations, gradients and scratch of a step graph, and gives them offsets in
 * memory.
 *
 * A *block* is memory with a life time. Each datum is in exactly one block; a block holds several data only if kernels
 * work in place. A kernel's scratch lives at one node. */
#include "placement.h"

#include "pack.h"

enum { NOWHERE = -1 };

typedef struct {
    const tutti_graph *graph;
    tutti_block *blocks;
    int nblocks;
    int *of_value, *of_saved; /* per layer: index of the block that holds its output, its saved state; NOWHERE = none */
    int *of_grad;             /* per gradient: index of its block, or NOWHERE */
    int *of_scratch;          /* per node: index of the block of its kernel's scratch, or NOWHERE */
} packing;

/* Returns the address of the variable with a datum's block index; NULL for data that are not in the arena. */
static int *slot_of(packing *p, tutti_datum d)
{
    switch (d.kind) {
    case TUTTI_DATUM_VALUE: return &p->of_value[d.index];
    case TUTTI_DATUM_VALUE_GRAD: return &p->of_grad[d.index];
    case TUTTI_DATUM_SAVED: return &p->of_saved[d.index];
    default: return NULL;
    }
}

static int64_t bytes_of(const tutti_graph *g, tutti_datum d)
{
    const tutti_kernel *k = &g->kernels[d.kind == TUTTI_DATUM_VALUE_GRAD ? g->grads[d.index].layer : d.index];
    return (int64_t)(d.kind == TUTTI_DATUM_SAVED ? k->saved_bytes : k->out.bytes);
}

static void live_at(packing *p, tutti_datum d, int node)
{
    int *slot = slot_of(p, d);
    if (!slot) return;
    if (*slot == NOWHERE) {
        *slot = p->nblocks++;
        p->blocks[*slot] = (tutti_block){.bytes = bytes_of(p->graph, d), .first = node};
    }
    p->blocks[*slot].last = node;
}

static bool runs_kernel(const tutti_node *n)
{
    return n->kind == TUTTI_NODE_FORWARD || n->kind == TUTTI_NODE_BACKWARD_PARAMS ||
           n->kind == TUTTI_NODE_BACKWARD_DATA;
}

static void find_lives(packing *p)
{
    for (int t = 0; t < p->graph->nnodes; t++) {
        const tutti_node *n = &p->graph->nodes[t];
        for (int i = 0; i < n->nreads; i++) live_at(p, n->reads[i], t);
        for (int i = 0; i < n->nwrites; i++) live_at(p, n->writes[i], t);
        const int64_t scratch = runs_kernel(n) ? (int64_t)tutti_graph_scratch_bytes(p->graph, t) : 0;
        if (!scratch) continue;
        p->of_scratch[t] = p->nblocks++;
        p->blocks[p->of_scratch[t]] = (tutti_block){.bytes = scratch, .first = t, .last = t};
    }
}

static void join(packing *p, const int *earlier, int *later)
{
    tutti_block *from = &p->blocks[*earlier], *to = &p->blocks[*later];
    if (from->last < to->last) from->last = to->last;
    to->bytes = 0; /* empty blocks need no memory */
    *later = *earlier;
}

/* Gives the memory of `earlier` to `later`, and returns true, if the last use of `earlier` is the node that first
 * writes `later`. */
static bool hand_on(packing *p, int *earlier, int *later)
{
    if (*earlier == NOWHERE || *later == NOWHERE || *earlier == *later) return false;
    const tutti_block *from = &p->blocks[*earlier], *to = &p->blocks[*later];
    if (from->last != to->first || from->bytes != to->bytes) return false;
    join(p, earlier, later);
    return true;
}

/* Lets gradients share memory in three cases: a sum lies over one of its parts, whichever node makes it; a gradient
 * that a kernel changes lies over the gradient that it was given; the gradient of the first input lies over the
 * output's if the kernel works in place. */
static void hand_gradients_on(packing *p, int l)
{
    const tutti_graph *g = p->graph;
    const tutti_layer_grads *own = &g->layer_grads[l];
    if (own->out < 0) return;
    for (int i = 0; i < own->nparts; i++)
        if (hand_on(p, &p->of_grad[own->parts[i]], &p->of_grad[own->out])) break;
    if (own->changed != own->out) join(p, &p->of_grad[own->out], &p->of_grad[own->changed]);
    if (g->kernels[l].in_place && own->in[0] >= 0) hand_on(p, &p->of_grad[own->changed], &p->of_grad[own->in[0]]);
}

static void work_in_place(packing *p)
{
    const tutti_graph *g = p->graph;
    const tutti_model *m = g->model;
    for (int l = 0; l < m->nlayers; l++) /* forward pass, from the first layer on: an output takes over the memory of
                                          * its layer's first input */
        if (g->kernels[l].in_place && m->layers[l].in[0] >= 0 && tutti_layer_reads_once(&m->layers[l]))
            hand_on(p, &p->of_value[m->layers[l].in[0]], &p->of_value[l]);
    for (int l = m->nlayers - 1; l >= 0 && g->ngrads; l--) hand_gradients_on(p, l);
}

static int64_t *offsets(const packing *p, const int *of, int n, tutti_arena *arena)
{
    int64_t *out = TUTTI_ARENA_NEW(arena, int64_t, n);
    for (int l = 0; l < n; l++) out[l] = of[l] == NOWHERE ? -1 : p->blocks[of[l]].offset;
    return out;
}

static int *nowhere(tutti_arena *arena, int n)
{
    int *of = TUTTI_ARENA_NEW(arena, int, n);
    for (int i = 0; i < n; i++) of[i] = NOWHERE;
    return of;
}

static int64_t sum_of_blocks(const packing *p)
{
    int64_t sum = 0;
    for (int i = 0; i < p->nblocks; i++) sum += (p->blocks[i].bytes + 63) / 64 * 64;
    return sum;
}

void tutti_placement_make(const tutti_graph *g, tutti_arena *arena, tutti_placement *out)
{
    const int n = g->model->nlayers;
    tutti_arena work = {0};
    packing p = {.graph = g,
                 .blocks = TUTTI_ARENA_NEW(&work, tutti_block, 2 * n + g->ngrads + g->nnodes),
                 .of_value = nowhere(&work, n),
                 .of_saved = nowhere(&work, n),
                 .of_grad = nowhere(&work, g->ngrads),
                 .of_scratch = nowhere(&work, g->nnodes)};
    find_lives(&p);
    out->bytes_without_sharing = sum_of_blocks(&p);
    work_in_place(&p);
    out->bytes = tutti_pack(p.blocks, p.nblocks);
    out->bytes_at_least = tutti_pack_bound(p.blocks, p.nblocks);
    out->value = offsets(&p, p.of_value, n, arena);
    out->grad = offsets(&p, p.of_grad, g->ngrads, arena);
    out->saved = offsets(&p, p.of_saved, n, arena);
    out->scratch = offsets(&p, p.of_scratch, g->nnodes, arena);
    tutti_arena_release(&work);
}
