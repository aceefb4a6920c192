/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.c: gradients packed in the order in which they become ready, and cut into buckets.
 *
 * Small gradients are merged because every exchange costs two synchronisations whatever its size (MG-WFBP, Shi et al.,
 * INFOCOM 2019). Control numbers always ride in the last bucket: an exchange of their own would cost more than they
 * weigh. Invariant: buckets tile the packed vector in exchange order; what no parameter fills is zero on every rank. */
#include "plan_impl.h"

enum { ALIGN_ELEMENTS = 16 }; /* 64 bytes: no two parameters share a cache line */

static int64_t padded(int64_t count)
{
    return (count + ALIGN_ELEMENTS - 1) / ALIGN_ELEMENTS * ALIGN_ELEMENTS;
}

static void order_params(tutti_plan *p)
{
    const tutti_graph *g = p->graph;
    int n = 0;
    p->order = TUTTI_ARENA_NEW(&p->arena, int, g->nparams);
    for (int i = 0; i < g->nnodes; i++)
        if (g->nodes[i].kind == TUTTI_NODE_EXCHANGE) p->order[n++] = g->nodes[i].param;
}

void tutti_plan_pack_params(tutti_plan *p)
{
    const tutti_graph *g = p->graph;
    order_params(p);
    p->param_offset = TUTTI_ARENA_NEW(&p->arena, int64_t, g->nparams);
    p->buckets = TUTTI_ARENA_NEW(&p->arena, tutti_bucket, g->nparams);
    tutti_bucket *b = NULL;
    for (int i = 0; i < g->nparams; i++) {
        const tutti_param *param = &g->params[p->order[i]];
        const int64_t count = padded(param->desc.elements);
        const bool joins =
            b && (param->layer < 0 || (b->count + count) * (int64_t)sizeof(float) <= p->config.bucket_bytes);
        if (!joins) {
            b = &p->buckets[p->nbuckets++];
            *b = (tutti_bucket){.offset = p->total, .first_param = i};
        }
        p->param_offset[p->order[i]] = p->total;
        p->total += count;
        b->count += count;
        b->nparams++;
    }
}

void tutti_plan_own_slice(const tutti_plan *p, int bucket, int rank, int64_t *first, int64_t *count)
{
    const tutti_bucket *b = &p->buckets[bucket];
    const int64_t nranks = p->config.nranks;
    const int64_t begin = rank * b->count / nranks, end = (rank + 1) * b->count / nranks;
    *first = b->offset + begin;
    *count = end - begin;
}
