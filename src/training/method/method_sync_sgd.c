/* SPDX-License-Identifier: Apache-2.0 */
/* method_sync_sgd.c: synchronous SGD, sharded (Goyal et al. 2017; the sharding is ZeRO's, Rajbhandari et al. 2020): a bucket's gradients
 * are reduced to the owners of slices while the backward pass goes on; each owner updates its slice, with states that nobody else keeps,
 * and the slices are gathered. Nothing waits at the end of a step: the first reader of the next one does.
 *
 * Updates come after all backward work: by then the early sums have long been there, and a rank that waits holds nobody up. Where
 * gradients may overflow (dynamic loss scale), each owner looks at its slices first, one number of each rank is summed, and only if all
 * were finite the rule is applied; what is gathered then are the old weights, so the loop does not depend on the verdict.
 *
 * Control numbers are summed on every rank as soon as the forward pass has written them.
 *
 * Before a checkpoint is written, rank 0 gathers the states. */
#include <stdio.h>

#include "method_impl.h"

/* A bucket's exchanges come one after the other, in this order. */
enum { SUMS, WEIGHTS, PER_BUCKET };

/* What the loops need to know again of what was declared: numbers follow from the configuration. */
typedef struct {
    int weights, gradients, verdict, flag; /* memories */
    int control, check, first_save;        /* exchanges */
} names;

static names names_of(const tutti_plan *p)
{
    const int flag = tutti_plan_find_memory(p, TUTTI_ROLE_NUMBERS, 2);
    const int in_step = PER_BUCKET * p->nbuckets;
    return (names){.weights = tutti_plan_find_memory(p, TUTTI_ROLE_WEIGHTS, 0),
                   .gradients = tutti_plan_find_memory(p, TUTTI_ROLE_GRADIENTS, 0),
                   .flag = flag,
                   .verdict = p->config.only_finite ? flag + 1 : -1,
                   .control = in_step,
                   .check = in_step + 1,
                   .first_save = in_step + 1 + p->config.only_finite};
}

/* ---- what there is ---- */

static void declare_bucket(tutti_plan_builder *b, int bucket, const int schedule[PER_BUCKET])
{
    const tutti_plan *p = tutti_builder_plan(b);
    const tutti_bucket *range = &p->buckets[bucket];
    const names n = names_of(p);
    static const char *const what[PER_BUCKET] = {"gradients", "weights"};
    for (int i = 0; i < PER_BUCKET; i++) {
        const tutti_operand at = {i == SUMS ? n.gradients : n.weights, 0};
        char name[48];
        snprintf(name, sizeof name, "%s of bucket %d", what[i], bucket);
        tutti_builder_exchange(b, &(tutti_plan_exchange){.name = name,
                                                         .schedule = schedule[i],
                                                         .bucket = bucket,
                                                         .first = range->offset,
                                                         .count = range->count,
                                                         .in = at,
                                                         .out = at,
                                                         .turn = p->config.by_need ? range->turn : 0});
    }
}

static tutti_status declare_buckets(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request sums = {TUTTI_REDUCE_SCATTER, NULL, true, true},
                                       weights = {TUTTI_ALL_GATHER, NULL, true, false};
    int schedule[PER_BUCKET] = {0};
    tutti_status st = tutti_builder_schedule(b, &sums, &schedule[SUMS], err);
    if (!st) st = tutti_builder_schedule(b, &weights, &schedule[WEIGHTS], err);
    for (int i = 0; i < tutti_builder_plan(b)->nbuckets && !st; i++) declare_bucket(b, i, schedule);
    return st;
}

static tutti_status declare(tutti_plan_builder *b, tutti_failure *err)
{
    tutti_method_declare_vectors(b, TUTTI_HOLDS_ANYTHING); /* a rank's states: of its slices only */
    tutti_status st = declare_buckets(b, err);
    if (!st) st = tutti_method_declare_control(b, err);
    if (!st) st = tutti_method_declare_check(b, err);
    return st ? st : tutti_method_declare_saves(b, err);
}

/* ---- what a rank does ---- */

static void wait_weights(tutti_plan_builder *b, int bucket)
{
    tutti_builder_wait(b, PER_BUCKET * bucket + WEIGHTS);
}

static void start_sums(tutti_plan_builder *b, int bucket)
{
    tutti_builder_start(b, PER_BUCKET * bucket + SUMS, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
}

static void free_weights(tutti_plan_builder *b, int bucket)
{
    tutti_builder_start(b, PER_BUCKET * bucket + WEIGHTS, TUTTI_WHEN_FREE);
}

static void start_control(tutti_plan_builder *b)
{
    tutti_builder_start(b, names_of(tutti_builder_plan(b)).control, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
}

/* The own slice of a bucket, for a look or an update. */
static tutti_action own_slice(const tutti_plan_builder *b, int bucket, const names *n)
{
    tutti_action a = {.bucket = bucket, .from = n->gradients, .to = n->weights, .verdict = n->verdict};
    tutti_plan_own_slice(tutti_builder_plan(b), bucket, tutti_builder_rank(b), &a.first, &a.count);
    return a;
}

static void look_at_all(tutti_plan_builder *b, const names *n)
{
    for (int i = 0; i < tutti_builder_plan(b)->nbuckets; i++) {
        tutti_action look = own_slice(b, i, n);
        look.to = n->flag;
        look.begins = i == 0;
        tutti_builder_wait(b, PER_BUCKET * i + SUMS);
        tutti_builder_look(b, &look);
    }
    tutti_builder_start(b, n->check, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    tutti_builder_wait(b, n->check);
}

static void list(tutti_plan_builder *b)
{
    static const tutti_walk walk = {wait_weights, start_sums, free_weights, start_control};
    const tutti_plan *p = tutti_builder_plan(b);
    const names n = names_of(p);
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    tutti_builder_walk(b, &walk);
    if (p->config.only_finite) look_at_all(b, &n);
    for (int i = 0; i < p->nbuckets; i++) {
        const int bucket = tutti_builder_bucket_in_turn(b, i);
        const tutti_action update = own_slice(b, bucket, &n);
        tutti_builder_wait(b, PER_BUCKET * bucket + SUMS);
        tutti_builder_apply(b, &update);
        tutti_builder_tell(b, PER_BUCKET * bucket + WEIGHTS, TUTTI_WHEN_READY);
    }
    tutti_builder_wait(b, n.control);
    tutti_method_list_saves(b, n.first_save);
}

static const tutti_emitter emitter = {declare, list};

const tutti_method_row tutti_method_sync_sgd = {
    .name = "sync-sgd",
    .optimisation = "centralised",
    .schedule = "synchronous",
    .pattern = "sharded all-reduce: reduce-scatter, update of the own slice, all-gather",
    .travels = "gradients, then weights",
    .help = "every rank takes part in every step; what the rule keeps is kept once, by the owner of the slice",
    .emitter = &emitter,
};
