/* SPDX-License-Identifier: Apache-2.0 */
/* method_sync_sgd.c: the method sync-sgd: synchronous SGD (Goyal et al. 2017): every gradient is summed over all ranks
 * while the backward pass goes on.
 *
 * Sharded (after ZeRO, Rajbhandari et al. 2020): a bucket is reduced to the owners of slices. Each owner updates its
 * slice, with states that no other rank keeps, and the slices are gathered. No rank waits for a gather at the end of a
 * step: the first reader of the weights in the next step does. Before a checkpoint rank 0 gathers the states.
 *
 * Replicated: one allreduce, of any algorithm that has one, sums a bucket on every rank, and every rank updates all of
 * it. The same sums and the same rule give the same weights; the proof demands that the sums are the same expressions.
 *
 * Early (for wires that move bytes while a rank computes): an owner updates its slice of a bucket, beside its kernels,
 * as soon as the sums have come and the last kernel that reads the bucket's weights has run, so that gathers run during
 * the backward pass too.
 *
 * Late (all other cases): updates come after all backward work. By then the early sums have arrived, and a rank that
 * waits delays no other.
 *
 * Rounded (exchange.precision; Jia et al. 2018): a rank's gradients are rounded once, into memory that is exchanged
 * instead; the sums of the rounded values are f32. Sharded, the owners get these sums as they are. Replicated, where
 * sums are sent too, the sums are rounded once more, so that all ranks use the same values. Between hosts of several
 * ranks, the hosts' sums are rounded when they are sent. With exchange.rounding: each, any algorithm sums the rounded
 * values in place in 16 bits, and they are widened where they are used.
 *
 * Looks: where gradients may overflow (dynamic loss scale), or their norm is needed, sums are looked at before updates.
 * Sharded, each owner looks at its slices, a few numbers of each rank are summed, and the rule is applied only if all
 * gradients were finite; otherwise the old weights are gathered, so the loop does not depend on the verdict.
 * Replicated, each rank has seen all sums itself.
 *
 * Control numbers are summed on every rank as soon as the forward pass has written them. */
#include "method_impl.h"

typedef struct {
    tutti_method_handles shared;
    int sums, gathers; /* indices of exchanges; gathers: -1 where weights are replicated */
} handles;

/* ---- declaring memories and exchanges ---- */

/* True if each rank rounds its gradients before it sends them; false: only the sums of groups of ranks are rounded
 * before they are sent, or nothing is. */
static bool rounds_all(const tutti_plan_builder *b)
{
    return tutti_method_rounds(&tutti_builder_plan(b)->config) && !tutti_builder_rounds_groups(b);
}

static tutti_status declare_buckets(tutti_plan_builder *b, handles *h, tutti_failure *err)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const bool alone = p->config.replicated, rounds = rounds_all(b), groups = tutti_builder_rounds_groups(b);
    const tutti_builder_request sums = {.collective = alone ? TUTTI_ALLREDUCE : TUTTI_REDUCE_SCATTER,
                                        .in_place = alone ? !groups : !rounds || p->config.rounds_each,
                                        .of_slots = true},
                                weights = {.collective = TUTTI_ALL_GATHER, .in_place = true};
    const tutti_method_handles *n = &h->shared;
    int schedule = 0;
    tutti_status st = tutti_builder_schedule(b, &sums, &schedule, err);
    if (!st)
        h->sums = tutti_method_declare_exchanges(b, "gradients", rounds ? n->sent : n->gradients,
                                                 alone || p->config.rounds_each ? n->sent : n->gradients, schedule,
                                                 TUTTI_SUM);
    h->gathers = -1;
    if (st || alone) return st;
    st = tutti_builder_schedule(b, &weights, &schedule, err);
    if (!st) h->gathers = tutti_method_declare_exchanges(b, "weights", n->weights, n->weights, schedule, TUTTI_SUM);
    return st;
}

static tutti_status declare(tutti_plan_builder *b, tutti_failure *err)
{
    const bool alone = tutti_builder_plan(b)->config.replicated;
    const tutti_method_vectors vectors = {.own_weights = alone,
                                          .own_states = alone,
                                          .weights_hold = TUTTI_HOLDS_ALL,
                                          .states_hold = alone ? TUTTI_HOLDS_ALL : TUTTI_HOLDS_ANYTHING,
                                          .keeps = sizeof(handles)};
    handles *h = tutti_method_declare_vectors(b, &vectors);
    if (rounds_all(b) || (alone && tutti_builder_rounds_groups(b))) tutti_method_declare_sent(b);
    tutti_status st = declare_buckets(b, h, err);
    if (!st) st = tutti_method_declare_control(b, err);
    if (!st) st = tutti_method_declare_check(b, alone, err);
    return st || alone ? st : tutti_method_declare_saves(b, err);
}

/* ---- a rank's loops ---- */

static void wait_weights(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    tutti_builder_wait(b, h->gathers + bucket);
}

static void start_sums(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    if (rounds_all(b)) tutti_method_round(b, bucket);
    tutti_builder_start(b, h->sums + bucket, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
}

static void free_weights(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    tutti_builder_start(b, h->gathers + bucket, TUTTI_WHEN_FREE);
}

/* Returns an action on the part of a bucket that this rank looks at and updates. */
static tutti_action own_part(const tutti_plan_builder *b, int bucket)
{
    const tutti_method_handles *n = tutti_builder_kept(b);
    const tutti_plan *p = tutti_builder_plan(b);
    tutti_action a = tutti_method_update(p, bucket, n->gradients, n->weights);
    a.verdict = n->verdict;
    a.norm = p->config.norms ? n->verdict : -1;
    if (!p->config.replicated) tutti_plan_own_slice(p, bucket, tutti_builder_rank(b), &a.first, &a.count);
    return a;
}

/* Waits for the sums, and widens them to f32 if they arrived in 16 bits. */
static void wait_sums(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    const tutti_plan_config *c = &tutti_builder_plan(b)->config;
    tutti_builder_wait(b, h->sums + bucket);
    if (tutti_method_rounds(c) && (c->replicated || c->rounds_each)) tutti_method_widen(b, bucket);
}

static void look_at_all(tutti_plan_builder *b, const tutti_method_handles *n)
{
    for (int i = 0; i < tutti_builder_plan(b)->nbuckets; i++) {
        const tutti_action update = own_part(b, i);
        wait_sums(b, i);
        tutti_method_look(b, &update, n->flag, n->weights);
    }
    tutti_method_exchange_verdicts(b, n);
}

static void list_step(tutti_plan_builder *b, const handles *h)
{
    static const tutti_walk sharded = {wait_weights, start_sums, free_weights, tutti_method_start_control},
                            replicated = {NULL, start_sums, NULL, tutti_method_start_control};
    const tutti_plan *p = tutti_builder_plan(b);
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    tutti_builder_walk(b, p->config.replicated ? &replicated : &sharded);
    if (tutti_method_looks(&p->config)) look_at_all(b, &h->shared);
    for (int i = 0; i < p->nbuckets && !p->config.early; i++) {
        const int bucket = tutti_builder_bucket_in_turn(b, i);
        const tutti_action update = own_part(b, bucket);
        if (tutti_method_looks(&p->config))
            tutti_builder_wait(b, h->sums + bucket); /* ends at once: the check of gradients has waited already */
        else
            wait_sums(b, bucket);
        tutti_builder_do(b, &update);
        if (h->gathers >= 0) tutti_builder_tell(b, h->gathers + bucket, TUTTI_WHEN_READY);
    }
    tutti_builder_wait(b, h->shared.control);
}

/* Lists the loop TUTTI_EACH_END, which goes on beside the steps: one part for each bucket, played when the bucket's
 * sums have arrived. */
static void list_beside(tutti_plan_builder *b, const handles *h)
{
    const tutti_plan *p = tutti_builder_plan(b);
    tutti_builder_loop(b, TUTTI_EACH_END);
    for (int i = 0; i < p->nbuckets; i++) {
        const int bucket = tutti_builder_bucket_in_turn(b, i);
        const tutti_action update = own_part(b, bucket);
        tutti_builder_wait(b, h->sums + bucket);
        tutti_builder_wait_told(b, h->gathers + bucket, TUTTI_WHEN_FREE);
        tutti_builder_do(b, &update);
        tutti_builder_tell(b, h->gathers + bucket, TUTTI_WHEN_READY);
    }
}

static void list(tutti_plan_builder *b)
{
    const handles *h = tutti_builder_kept(b);
    list_step(b, h);
    if (tutti_builder_plan(b)->config.early) list_beside(b, h);
    if (h->gathers < 0) return;
    tutti_builder_loop(b, TUTTI_EACH_TEST);
    for (int i = 0; i < tutti_builder_plan(b)->nbuckets; i++) tutti_builder_wait(b, h->gathers + i);
    tutti_method_list_saves(b);
}

/* ---- the method's row ---- */

static tutti_status accept(const tutti_plan_config *c, tutti_failure *err)
{
    if (c->early && c->replicated)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "exchange.update_when: early is for exchange.update: sharded, whose gathers it hides");
    if (c->early && tutti_method_looks(c))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "exchange.update_when: early updates cannot wait for a look at all gradients, which "
                          "optimiser.clip_norm, rules that go by norms (lars, lamb), a dynamic loss_scale and "
                          "exchange.precision: f16 ask for; leave the key out");
    if (c->rounds_each && c->early)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "exchange.update_when: early updates go by sums as they come, which 'rounding: each' leaves in "
            "16 bits; leave one of the keys out");
    if (c->slots && tutti_method_rounds(c))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "exchange.precision: which nodes of a canonical sum's tree travel depends on the number of "
                          "ranks, so all of them would be rounded, those within a rank too; leave the key out, or "
                          "'reduction: canonical'");
    return TUTTI_OK;
}

/* Refuses configurations for split layers: these are summed and updated only sharded, late, and without a check of all
 * gradients. */
static tutti_status accept_split(const tutti_plan_config *c, tutti_failure *err)
{
    static const char whole[] = "goes by all gradients, and ranks that share layers have parts of them";
    const char *key = NULL, *why = whole;
    if (c->slots)
        key = "reduction", why = "canonical sums have one order for all ranks, and some sum a part of a layer";
    if (c->accumulate > 1) key = "accumulate", why = "layers are shared in one call a rank and step";
    if (c->replicated) key = "exchange.update", why = "a rank updates its part of shared layers, not all of them";
    if (c->early) key = "exchange.update_when", why = "early updates are of buckets that all ranks have whole";
    if (c->norms == TUTTI_NORM_OF_ALL) key = "optimiser.clip_norm";
    if (c->norms == TUTTI_NORMS_OF_TENSORS) key = "optimiser.rule";
    if (c->only_finite) key = "loss_scale";
    if (tutti_method_rounds(c)) key = "exchange.precision", why = "parts of shared layers travel in f32";
    return key ? tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s; leave that or parallel.layers out", key, why) : TUTTI_OK;
}

static unsigned collectives(const tutti_plan_config *c)
{
    return c->replicated ? 1u << TUTTI_ALLREDUCE : 1u << TUTTI_REDUCE_SCATTER | 1u << TUTTI_ALL_GATHER;
}

static const tutti_emitter emitter = {declare, list};

const tutti_method_row tutti_method_sync_sgd = {
    .name = "sync-sgd",
    .parallelism = "data, model or hybrid",
    .optimisation = "centralised",
    .schedule = "synchronous",
    .lock = "none: each element has one owner",
    .pattern = "sharded all-reduce: reduce-scatter, update of the own slice, all-gather",
    .travels = "gradients, then weights",
    .local_rule = "none: a worker has no weights of its own",
    .centre_rule = "W <- rule(W, sum of all g / P), by the owner of each slice (replicated: by every rank)",
    .period = "every step",
    .overlap =
        "gradients beside the backward pass; weights beside the next forward pass (early: both beside the backward)",
    .paper_rules = "any",
    .source = "Goyal et al. 2017, arXiv 1706.02677; owners of slices: Rajbhandari et al. 2020, arXiv 1910.02054",
    .refuses = "early updates with rounding: each, update: replicated, clip_norm, lars, lamb, a dynamic loss_scale or "
               "precision: f16; "
               "precision: bf16 or f16 with reduction: canonical; parallel.layers with any of these, accumulate or "
               "canonical sums",
    .help = "every rank takes part in every step; what the rule keeps is kept once, by the owner of the slice",
    .concerned_by = {"exchange.update", "exchange.update_when", "exchange.precision", "exchange.rounding",
                     "parallel.layers", "parallel.groups"},
    .accept = accept,
    .collectives = collectives,
    .emitter = &emitter,
    .split = &tutti_method_split_emitter,
    .accept_split = accept_split,
};
