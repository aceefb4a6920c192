/* SPDX-License-Identifier: Apache-2.0 */
/* method_central_sgd.c: synchronous SGD with one owner of everything: gradients are reduced to rank 0, which alone
 * updates, with states that nobody else keeps, and broadcasts the weights. The other ranks never see a sum.
 *
 * Control numbers are summed on every rank as soon as the forward pass has written them. */
#include "method_impl.h"

typedef struct {
    tutti_method_handles shared;
    int sums, weights; /* exchanges */
} handles;

static tutti_status declare(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request sums = {TUTTI_REDUCE, NULL, true, true},
                                       weights = {TUTTI_BROADCAST, NULL, true, false};
    const tutti_method_vectors vectors = {.own_states = true,
                                          .weights_hold = TUTTI_HOLDS_ALL,
                                          .states_hold = TUTTI_HOLDS_ANYTHING,
                                          .keeps = sizeof(handles)};
    int schedule = 0;
    handles *h = tutti_method_declare_vectors(b, &vectors);
    const int gradients = h->shared.gradients, values = h->shared.weights;
    tutti_status st = tutti_builder_schedule(b, &sums, &schedule, err);
    if (st) return st;
    h->sums = tutti_method_declare_exchanges(b, "gradients", gradients, gradients, schedule, TUTTI_SUM);
    st = tutti_builder_schedule(b, &weights, &schedule, err);
    if (st) return st;
    h->weights = tutti_method_declare_exchanges(b, "weights", values, values, schedule, TUTTI_SUM);
    return tutti_method_declare_control(b, err);
}

static void wait_weights(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    tutti_builder_wait(b, h->weights + bucket);
}

static void start_sums(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    tutti_builder_start(b, h->sums + bucket, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
}

static void free_weights(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    tutti_builder_start(b, h->weights + bucket, TUTTI_WHEN_FREE);
}

static void update(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    const tutti_action whole =
        tutti_method_update(tutti_builder_plan(b), bucket, h->shared.gradients, h->shared.weights);
    tutti_builder_wait(b, h->sums + bucket);
    if (tutti_builder_rank(b) == 0) tutti_builder_do(b, &whole);
    tutti_builder_tell(b, h->weights + bucket, TUTTI_WHEN_READY);
}

static void list(tutti_plan_builder *b)
{
    static const tutti_walk walk = {wait_weights, start_sums, free_weights, tutti_method_start_control};
    const int nbuckets = tutti_builder_plan(b)->nbuckets;
    const handles *h = tutti_builder_kept(b);
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    tutti_builder_walk(b, &walk);
    for (int i = 0; i < nbuckets; i++) update(b, tutti_builder_bucket_in_turn(b, i));
    tutti_builder_wait(b, h->shared.control);
    tutti_builder_loop(b, TUTTI_EACH_TEST);
    for (int i = 0; i < nbuckets; i++) wait_weights(b, i);
}

static tutti_status accept(const tutti_plan_config *c, tutti_failure *err)
{
    if (c->replicated)
        return tutti_fail(err, TUTTI_ERR_USAGE, "exchange.update: central-sgd updates on rank 0 in any case");
    if (tutti_method_looks(c))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "method: central-sgd looks at no gradients: neither a dynamic loss scale nor clip_norm");
    return TUTTI_OK;
}

static unsigned collectives(const tutti_plan_config *c)
{
    (void)c;
    return 1u << TUTTI_REDUCE | 1u << TUTTI_BROADCAST;
}

static const tutti_emitter emitter = {declare, list};

const tutti_method_row tutti_method_central_sgd = {
    .name = "central-sgd",
    .parallelism = "data",
    .optimisation = "centralised",
    .schedule = "synchronous",
    .lock = "none: rank 0 alone writes",
    .pattern = "reduce to rank 0, update there, broadcast",
    .travels = "gradients, then weights",
    .local_rule = "none: a worker has no weights of its own",
    .centre_rule = "W <- rule(W, sum of all g / P), by rank 0",
    .period = "every step",
    .overlap = "gradients beside the backward pass",
    .paper_rules = "any",
    .source = "Li et al. 2014, one server",
    .refuses = "update: replicated, clip_norm, a dynamic loss_scale",
    .help = "rank 0 updates all weights and sends them to everybody",
    .accept = accept,
    .collectives = collectives,
    .emitter = &emitter,
};
