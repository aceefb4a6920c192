/* SPDX-License-Identifier: Apache-2.0 */
/* exchanges.c: the memory that ranks share, and the exchanges bound to it: for each bucket a reduce-scatter of gradients, an
 * all-gather of weights, and, where checkpoints are kept, a gather of the rule's states to rank 0. All of them work in place: nothing is
 * copied in order to be sent. */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../collective/exchange/prove.h"
#include "train_impl.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static tutti_status create_region(tutti_group *group, const char *name, int64_t floats, tutti_region **region,
                                  float **own, tutti_failure *err)
{
    tutti_status st = tutti_region_create(group, name, (size_t)floats * sizeof(float), region, err);
    if (!st) *own = tutti_region_base(*region, tutti_group_rank(group));
    return st;
}

static tutti_status create_regions(tutti_group *group, const tutti_plan *plan, tutti_shared *s, tutti_failure *err)
{
    tutti_status st = create_region(group, "weights", plan->total, &s->weights_region, &s->weights, err);
    if (!st) st = create_region(group, "gradients", plan->nroots_max * plan->total, &s->grads_region, &s->grads, err);
    for (int i = 0; i < s->nstates && !st; i++)
        st = create_region(group, plan->config.states[i], plan->total, &s->state_region[i], &s->state[i], err);
    return st;
}

/* Saving is rare: the plainest gather will do, whatever algorithm trains. It is proved like all others. */
static tutti_status compile_gather(tutti_group *group, tutti_shared *s, tutti_failure *err)
{
    const tutti_compile_request request = {
        .collective = TUTTI_GATHER, .nranks = tutti_group_nranks(group), .in_place = true};
    uint64_t hash;
    tutti_status st = tutti_schedule_compile("direct", &request, &s->gather_two_sided, err);
    if (!st) st = tutti_schedule_lower_hosts(s->gather_two_sided, tutti_group_hosts(group), &s->gather_mapped, err);
    if (!st) st = tutti_group_prove(group, s->gather_mapped, &hash, err);
    return st ? tutti_fail_at(err, "gather of the rule's states") : TUTTI_OK;
}

/* Flag and verdict in cache lines of their own. */
enum { GATE_VERDICT = 64, GATE_FLOATS = 32 };

/* All exchanges of a plan: they are made together, in as many rounds as one. */
typedef struct {
    tutti_exchange_request *requests;
    tutti_exchange ***where; /* where each belongs */
    int n;
    tutti_place *places; /* so many as in_bucket says a bucket, and the gate's */
} order;

/* Of a bucket: its roots, its weights, the rule's states. */
static size_t in_bucket(const tutti_plan *plan)
{
    return (size_t)(plan->nins + 1 + plan->config.nstates);
}

/* In place: `out` is the first `in`. */
static void want(order *o, const tutti_schedule *schedule, tutti_exchange_binding binding, const char *name,
                 const tutti_place *in, int nin, tutti_exchange **where)
{
    binding.name = name, binding.in = in, binding.nin = nin;
    if (!binding.out.region) binding.out = in[0];
    o->requests[o->n] = (tutti_exchange_request){schedule, binding};
    o->where[o->n++] = where;
}

static void want_bucket(order *o, const tutti_plan *plan, int b, tutti_shared *s)
{
    const tutti_bucket *bucket = &plan->buckets[b];
    const size_t at = (size_t)bucket->offset * sizeof(float), stride = (size_t)plan->total * sizeof(float);
    char(*names)[48] = &s->names[(2 + s->nstates) * b];
    tutti_place *roots = &o->places[(size_t)b * in_bucket(plan)], *weights = roots + plan->nins, *states = weights + 1;
    for (int k = 0; k < plan->nins; k++) roots[k] = (tutti_place){s->grads_region, (size_t)k * stride + at};
    *weights = (tutti_place){s->weights_region, at};
    snprintf(names[0], sizeof *names, "gradients of bucket %d", b);
    snprintf(names[1], sizeof *names, "weights of bucket %d", b);
    const tutti_exchange_binding all = {.n = bucket->count, .priority = plan->config.by_need ? bucket->turn : 0};
    want(o, bucket->reduce_scatter_mapped, all, names[0], roots, plan->nins, &s->reduce_scatter[b]);
    want(o, bucket->all_gather_mapped, all, names[1], weights, 1, &s->all_gather[b]);
    for (int i = 0; i < s->nstates && s->gather_mapped; i++) {
        states[i] = (tutti_place){s->state_region[i], at};
        snprintf(names[2 + i], sizeof *names, "%s of bucket %d", plan->config.states[i], b);
        want(o, s->gather_mapped, all, names[2 + i], &states[i], 1, &s->gather[s->nstates * b + i]);
    }
}

static void want_gate(order *o, const tutti_plan *plan, tutti_shared *s)
{
    tutti_place *flag = &o->places[(size_t)plan->nbuckets * in_bucket(plan)];
    *flag = (tutti_place){s->gate_region, 0};
    const tutti_exchange_binding one = {.n = 1, .out = {s->gate_region, GATE_VERDICT}};
    want(o, plan->gate.allreduce_mapped, one, "gate", flag, 1, &s->gate);
}

static tutti_status bind_all(tutti_group *group, const tutti_plan *plan, tutti_shared *s, tutti_failure *err)
{
    const size_t nbuckets = (size_t)plan->nbuckets, most = (size_t)(2 + s->nstates) * nbuckets + 1;
    order o = {.requests = tutti_alloc(most * sizeof *o.requests),
               .where = tutti_alloc(most * sizeof *o.where),
               .places = tutti_alloc((nbuckets * in_bucket(plan) + 1) * sizeof *o.places)};
    tutti_exchange **made = tutti_alloc(most * sizeof *made);
    for (int b = 0; b < plan->nbuckets; b++) want_bucket(&o, plan, b, s);
    if (plan->config.gated) want_gate(&o, plan, s);
    const tutti_status st = tutti_exchange_create_all(group, o.requests, o.n, made, err);
    for (int i = 0; i < o.n && !st; i++) *o.where[i] = made[i];
    free(made), free(o.requests), free(o.where), free(o.places);
    return st;
}

tutti_status tutti_shared_create(tutti_group *group, const tutti_plan *plan, bool gather, tutti_shared *out,
                                 tutti_failure *err)
{
    const size_t n = (size_t)plan->nbuckets, nstates = (size_t)plan->config.nstates;
    *out = (tutti_shared){.reduce_scatter = tutti_alloc(n * sizeof(tutti_exchange *)),
                          .all_gather = tutti_alloc(n * sizeof(tutti_exchange *)),
                          .nstates = plan->config.nstates,
                          .gather = tutti_alloc(nstates * n * sizeof(tutti_exchange *)),
                          .gathering = tutti_alloc(n * sizeof(bool)),
                          .names = tutti_alloc((2 + nstates) * n * sizeof *out->names)};
    tutti_status st = create_regions(group, plan, out, err);
    if (!st && nstates && gather) st = compile_gather(group, out, err);
    if (!st && plan->config.gated) st = create_region(group, "gate", GATE_FLOATS, &out->gate_region, &out->flag, err);
    if (!st && plan->config.gated) out->verdict = out->flag + GATE_VERDICT / sizeof(float);
    return st ? st : bind_all(group, plan, out, err); /* the caller destroys it in any case */
}

void tutti_shared_destroy(tutti_shared *s, const tutti_plan *plan)
{
    for (int b = 0; s->gathering && b < plan->nbuckets; b++) {
        tutti_exchange_destroy(s->reduce_scatter[b]);
        tutti_exchange_destroy(s->all_gather[b]);
        for (int i = 0; i < s->nstates; i++) tutti_exchange_destroy(s->gather[s->nstates * b + i]);
    }
    if (s->gate) tutti_exchange_destroy(s->gate);
    tutti_schedule_destroy(s->gather_mapped);
    tutti_schedule_destroy(s->gather_two_sided);
    if (s->gate_region) tutti_region_destroy(s->gate_region);
    for (int i = 0; i < s->nstates; i++)
        if (s->state_region[i]) tutti_region_destroy(s->state_region[i]);
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

tutti_status tutti_shared_gather_states(tutti_shared *s, const tutti_plan *plan, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (!s->gather_mapped) return TUTTI_OK;
    const int n = plan->nbuckets * s->nstates;
    for (int i = 0; i < n; i++) tutti_exchange_start(s->gather[i], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int i = 0; i < n && !st; i++) st = tutti_exchange_wait(s->gather[i], err);
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
