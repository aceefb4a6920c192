/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.c: gradients packed in the order in which they become ready, cut into buckets, a schedule for each.
 *
 * Small gradients are merged because every exchange costs two synchronisations whatever its size (MG-WFBP, Shi et al.,
 * INFOCOM 2019). Schedules speak of slices, not of elements, so all buckets share one compiled value for each collective.
 * Control numbers always ride in the last bucket: an exchange of their own would cost more than they weigh. */
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
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
        const int64_t count = padded(param->count);
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

static tutti_status compile(const tutti_plan *p, tutti_collective what, tutti_schedule **compiled,
                            tutti_schedule **lowered, tutti_failure *err)
{
    const tutti_compile_request request = {.collective = what,
                                           .nranks = p->config.nranks,
                                           .slots = what == TUTTI_REDUCE_SCATTER ? p->config.slots : 0,
                                           .in_place = true};
    const char *name = !strcmp(p->config.algorithm, "auto") ? "direct" : p->config.algorithm;
    tutti_status st = tutti_schedule_compile(name, &request, compiled, err);
    if (!st) st = tutti_schedule_lower(*compiled, TUTTI_WIRE_MAPPED, lowered, err);
    return st ? tutti_fail_at(err, "exchange (%s)", tutti_collective_name(what)) : TUTTI_OK;
}

tutti_status tutti_plan_compile_schedules(tutti_plan *p, tutti_failure *err)
{
    tutti_bucket *first = &p->buckets[0];
    tutti_status st = compile(p, TUTTI_REDUCE_SCATTER, &first->reduce_scatter, &first->reduce_scatter_mapped, err);
    if (!st) st = compile(p, TUTTI_ALL_GATHER, &first->all_gather, &first->all_gather_mapped, err);
    if (st) return st;
    const uint64_t both[2] = {tutti_schedule_hash(first->reduce_scatter_mapped),
                              tutti_schedule_hash(first->all_gather_mapped)};
    for (int i = 0; i < p->nbuckets; i++) {
        tutti_bucket *b = &p->buckets[i];
        b->reduce_scatter = first->reduce_scatter;
        b->reduce_scatter_mapped = first->reduce_scatter_mapped;
        b->all_gather = first->all_gather;
        b->all_gather_mapped = first->all_gather_mapped;
        b->hash = tutti_hash(both, sizeof both);
    }
    return TUTTI_OK;
}

void tutti_plan_destroy_schedules(tutti_plan *p)
{
    if (!p->nbuckets) return;
    tutti_bucket *first = &p->buckets[0]; /* the others borrow */
    tutti_schedule_destroy(first->reduce_scatter_mapped);
    tutti_schedule_destroy(first->all_gather_mapped);
    tutti_schedule_destroy(first->reduce_scatter);
    tutti_schedule_destroy(first->all_gather);
}

tutti_status tutti_plan_check_schedules(const tutti_plan *p, tutti_failure *err)
{
    const tutti_schedule *lowered[2] = {p->buckets[0].reduce_scatter_mapped, p->buckets[0].all_gather_mapped};
    for (int i = 0; i < 2; i++) {
        tutti_check_report report;
        if (tutti_schedule_check(lowered[i], &report, err))
            return tutti_fail_at(err, "exchange (%s, lowered)",
                                 tutti_collective_name(tutti_schedule_head(lowered[i])->collective));
    }
    return TUTTI_OK;
}

void tutti_plan_own_slice(const tutti_plan *p, int bucket, int rank, int64_t *first, int64_t *count)
{
    const tutti_bucket *b = &p->buckets[bucket];
    const int64_t nranks = p->config.nranks;
    const int64_t begin = rank * b->count / nranks, end = (rank + 1) * b->count / nranks;
    *first = b->offset + begin;
    *count = end - begin;
}
