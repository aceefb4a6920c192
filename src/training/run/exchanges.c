/* SPDX-License-Identifier: Apache-2.0 */
/* exchanges.c: the memory that ranks share, and the exchanges bound to it: for each bucket a reduce-scatter of gradients, an
 * all-gather of weights, and, where checkpoints are kept, a gather of momentum to rank 0. All of them work in place: nothing is
 * copied in order to be sent. */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "train_impl.h"

static tutti_status create_region(tutti_group *group, const char *name, int64_t floats, tutti_region **region,
                                  float **own, tutti_failure *err)
{
    tutti_status st = tutti_region_create(group, name, (size_t)floats * sizeof(float), region, err);
    if (!st) *own = tutti_region_base(*region, tutti_group_rank(group));
    return st;
}

static tutti_status create_regions(tutti_group *group, const tutti_plan *plan, bool momentum, tutti_shared *s,
                                   tutti_failure *err)
{
    tutti_status st = create_region(group, "weights", plan->total, &s->weights_region, &s->weights, err);
    if (!st) st = create_region(group, "gradients", plan->nroots_max * plan->total, &s->grads_region, &s->grads, err);
    if (!st && momentum) st = create_region(group, "momentum", plan->total, &s->momentum_region, &s->momentum, err);
    return st;
}

/* Flag and verdict in cache lines of their own. */
enum { GATE_VERDICT = 64, GATE_FLOATS = 32 };

static tutti_status bind_gate(tutti_group *group, const tutti_plan *plan, tutti_shared *s, tutti_failure *err)
{
    tutti_status st = create_region(group, "gate", GATE_FLOATS, &s->gate_region, &s->flag, err);
    if (st) return st;
    s->verdict = s->flag + GATE_VERDICT / sizeof(float);
    const tutti_place flag = {s->gate_region, 0};
    const tutti_exchange_binding binding = {
        .name = "gate", .n = 1, .in = &flag, .nin = 1, .out = {s->gate_region, GATE_VERDICT}};
    return tutti_exchange_create(group, plan->gate.allreduce_mapped, &binding, &s->gate, err);
}

/* In place: `out` is the first `in`. */
static tutti_status bind(tutti_group *group, const tutti_schedule *schedule, tutti_exchange_binding binding,
                         const char *name, const tutti_place *in, int nin, tutti_exchange **out, tutti_failure *err)
{
    binding.name = name, binding.in = in, binding.nin = nin, binding.out = in[0];
    return tutti_exchange_create(group, schedule, &binding, out, err);
}

static tutti_status bind_bucket(tutti_group *group, const tutti_plan *plan, int b, tutti_shared *s, tutti_failure *err)
{
    const tutti_bucket *bucket = &plan->buckets[b];
    const size_t at = (size_t)bucket->offset * sizeof(float), stride = (size_t)plan->total * sizeof(float);
    char(*names)[48] = &s->names[3 * b];
    tutti_place *roots = tutti_alloc(sizeof *roots * (size_t)plan->nins);
    for (int k = 0; k < plan->nins; k++) roots[k] = (tutti_place){s->grads_region, (size_t)k * stride + at};
    const tutti_place weights = {s->weights_region, at}, momentum = {s->momentum_region, at};
    snprintf(names[0], sizeof *names, "gradients of bucket %d", b);
    snprintf(names[1], sizeof *names, "weights of bucket %d", b);
    snprintf(names[2], sizeof *names, "momentum of bucket %d", b);
    const tutti_exchange_binding all = {.n = bucket->count, .priority = plan->config.by_need ? bucket->turn : 0};
    tutti_status st =
        bind(group, bucket->reduce_scatter_mapped, all, names[0], roots, plan->nins, &s->reduce_scatter[b], err);
    if (!st) st = bind(group, bucket->all_gather_mapped, all, names[1], &weights, 1, &s->all_gather[b], err);
    if (!st && s->gather_mapped) st = bind(group, s->gather_mapped, all, names[2], &momentum, 1, &s->gather[b], err);
    free(roots);
    return st;
}

/* Saving is rare: the plainest gather will do, whatever algorithm trains. It is proved like all others. */
static tutti_status compile_gather(const tutti_group *group, tutti_shared *s, tutti_failure *err)
{
    const tutti_compile_request request = {
        .collective = TUTTI_GATHER, .nranks = tutti_group_nranks(group), .in_place = true};
    tutti_check_report report;
    tutti_status st = tutti_schedule_compile("direct", &request, &s->gather_two_sided, err);
    if (!st) st = tutti_schedule_lower_hosts(s->gather_two_sided, tutti_group_hosts(group), &s->gather_mapped, err);
    if (!st) st = tutti_schedule_check(s->gather_mapped, &report, err);
    return st ? tutti_fail_at(err, "gather of momentum") : TUTTI_OK;
}

tutti_status tutti_shared_create(tutti_group *group, const tutti_plan *plan, bool momentum, bool gather,
                                 tutti_shared *out, tutti_failure *err)
{
    const size_t n = (size_t)plan->nbuckets;
    *out = (tutti_shared){.reduce_scatter = tutti_alloc(n * sizeof(tutti_exchange *)),
                          .all_gather = tutti_alloc(n * sizeof(tutti_exchange *)),
                          .gather = tutti_alloc(n * sizeof(tutti_exchange *)),
                          .gathering = tutti_alloc(n * sizeof(bool)),
                          .names = tutti_alloc(3 * n * sizeof *out->names)};
    tutti_status st = create_regions(group, plan, momentum, out, err);
    if (!st && momentum && gather) st = compile_gather(group, out, err);
    for (int b = 0; b < plan->nbuckets && !st; b++) st = bind_bucket(group, plan, b, out, err);
    if (!st && plan->config.gated) st = bind_gate(group, plan, out, err);
    return st; /* the caller destroys it in any case */
}

void tutti_shared_destroy(tutti_shared *s, const tutti_plan *plan)
{
    for (int b = 0; s->gathering && b < plan->nbuckets; b++) {
        tutti_exchange_destroy(s->reduce_scatter[b]);
        tutti_exchange_destroy(s->all_gather[b]);
        tutti_exchange_destroy(s->gather[b]);
    }
    if (s->gate) tutti_exchange_destroy(s->gate);
    tutti_schedule_destroy(s->gather_mapped);
    tutti_schedule_destroy(s->gather_two_sided);
    if (s->gate_region) tutti_region_destroy(s->gate_region);
    if (s->momentum_region) tutti_region_destroy(s->momentum_region);
    if (s->grads_region) tutti_region_destroy(s->grads_region);
    if (s->weights_region) tutti_region_destroy(s->weights_region);
    free(s->reduce_scatter);
    free(s->all_gather);
    free(s->gather);
    free(s->gathering);
    free(s->names);
    *s = (tutti_shared){0};
}

tutti_status tutti_shared_wait_weights(tutti_shared *s, int bucket, tutti_failure *err)
{
    if (!s->gathering[bucket]) return TUTTI_OK;
    s->gathering[bucket] = false;
    return tutti_exchange_wait(s->all_gather[bucket], err);
}

tutti_status tutti_shared_gather_momentum(tutti_shared *s, const tutti_plan *plan, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (!s->gather_mapped) return TUTTI_OK;
    for (int b = 0; b < plan->nbuckets; b++) tutti_exchange_start(s->gather[b], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int b = 0; b < plan->nbuckets && !st; b++) st = tutti_exchange_wait(s->gather[b], err);
    return st;
}

double tutti_shared_bucket_seconds(const tutti_shared *s, int bucket)
{
    tutti_exchange_stats sums, weights;
    tutti_exchange_stats_read(s->reduce_scatter[bucket], &sums);
    tutti_exchange_stats_read(s->all_gather[bucket], &weights);
    return sums.wait_s + sums.work_s + weights.wait_s + weights.work_s;
}

double tutti_shared_seconds(const tutti_shared *s, const tutti_plan *plan)
{
    double sum = 0;
    if (s->gate) {
        tutti_exchange_stats stats;
        tutti_exchange_stats_read(s->gate, &stats);
        sum = stats.wait_s + stats.work_s;
    }
    for (int b = 0; b < plan->nbuckets; b++) sum += tutti_shared_bucket_seconds(s, b);
    return sum;
}

void tutti_shared_time(tutti_shared *s, const tutti_plan *plan, bool on)
{
    for (int b = 0; b < plan->nbuckets; b++) {
        tutti_exchange_time(s->reduce_scatter[b], on);
        tutti_exchange_time(s->all_gather[b], on);
    }
}
