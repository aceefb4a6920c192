/* SPDX-License-Identifier: Apache-2.0 */
/* method_local_sgd.c: the method local-sgd, local SGD (Stich 2019; post-local and hierarchical variants: Lin et al.
 * 2020). Every rank takes steps of its own, by the mean gradient of its own samples. Every H steps the weights of all
 * ranks are averaged, and the rule's states too if the job asks for it.
 *
 * Every rank has whole weights and states of its own. What is tested and saved is the mean of all weights, which has a
 * memory of its own: testing it changes nothing, also inside a period. H = 1 with sgd is synchronous SGD except for
 * rounding: the mean of w - r g_i is w - r mean(g_i).
 *
 * Control numbers are exchanged in every step, so that losses are those of all samples, and a request to stop reaches
 * all ranks within a step. */
#include "method_impl.h"

typedef struct {
    tutti_method_handles shared;
    /* numbers of exchanges: from `averages` to means - 1 they average weights, then states, at the end of a period;
     * from `means` to end - 1 they average weights for tests */
    int averages, means, end;
} handles;

/* ---- declaring memories and exchanges ---- */

static tutti_status declare(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request in_place = {TUTTI_ALLREDUCE, NULL, true, false},
                                       apart = {TUTTI_ALLREDUCE, NULL, false, false};
    const tutti_plan *p = tutti_builder_plan(b);
    const tutti_memory_content states_hold = p->config.mean_states ? TUTTI_HOLDS_ALL : TUTTI_HOLDS_ANYTHING;
    const tutti_method_vectors vectors = {.own_states = !p->config.mean_states,
                                          .differ = true,
                                          .weights_hold = TUTTI_HOLDS_ALL,
                                          .states_hold = states_hold,
                                          .keeps = sizeof(handles)};
    int schedule = 0;
    handles *h = tutti_method_declare_vectors(b, &vectors);
    const int mean = tutti_builder_memory(b, &(tutti_plan_memory){.name = "mean of the weights",
                                                                  .role = TUTTI_ROLE_WEIGHTS,
                                                                  .type = TUTTI_F32,
                                                                  .elements = p->nweights,
                                                                  .copies = 1,
                                                                  .is_region = true,
                                                                  .is_saved = true});
    tutti_builder_answer(b, mean);
    const int weights = h->shared.weights;
    tutti_status st = tutti_builder_schedule(b, &in_place, &schedule, err);
    if (!st) h->averages = tutti_method_declare_exchanges(b, "weights", weights, weights, schedule, TUTTI_AVG);
    for (int s = 0; s < p->config.nstates && p->config.mean_states && !st; s++) {
        const int state = tutti_plan_find_memory(p, TUTTI_ROLE_STATE, s);
        tutti_method_declare_exchanges(b, p->config.states[s], state, state, schedule, TUTTI_AVG);
    }
    if (!st) st = tutti_builder_schedule(b, &apart, &schedule, err);
    if (!st) h->means = tutti_method_declare_exchanges(b, "mean", weights, mean, schedule, TUTTI_AVG);
    h->end = h->means + p->nbuckets;
    if (!st) st = tutti_method_declare_control(b, err);
    return st ? st : tutti_method_declare_own_check(b, err);
}

/* ---- a rank's loops ---- */

static void wait_period(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    for (int x = h->averages + bucket; x < h->means; x += tutti_builder_plan(b)->nbuckets) tutti_builder_wait(b, x);
}

static void list(tutti_plan_builder *b)
{
    static const tutti_walk walk = {.before_reading = wait_period, .after_counting = tutti_method_start_control};
    const tutti_plan *p = tutti_builder_plan(b);
    const handles *h = tutti_builder_kept(b);
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    tutti_builder_walk(b, &walk);
    tutti_method_list_looks(b, &h->shared);
    for (int i = 0; i < p->nbuckets; i++) {
        const tutti_action update = tutti_method_local_update(b, &h->shared, tutti_builder_bucket_in_turn(b, i));
        tutti_builder_do(b, &update);
    }
    tutti_builder_wait(b, h->shared.control);

    tutti_builder_loop(b, TUTTI_EACH_PERIOD);
    for (int x = h->averages; x < h->means; x++) tutti_builder_start(b, x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);

    tutti_builder_loop(b, TUTTI_EACH_TEST);
    for (int x = h->averages; x < h->means; x++) tutti_builder_wait(b, x);
    for (int x = h->means; x < h->end; x++) tutti_builder_start(b, x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int x = h->means; x < h->end; x++) tutti_builder_wait(b, x);
}

/* ---- the method's row ---- */

static tutti_status accept(const tutti_plan_config *c, tutti_failure *err)
{
    return tutti_method_accept_own_weights(c, "local-sgd", "averages", err);
}

static unsigned collectives(const tutti_plan_config *c)
{
    (void)c;
    return 1u << TUTTI_ALLREDUCE;
}

static const tutti_method_key average = {.field = {"method.average", TUTTI_FIELD_EITHER,
                                                   offsetof(tutti_plan_config, mean_states), "weights", "weights|all",
                                                   1, 0, "local-sgd: all: the rule's states too"}};

static const tutti_emitter emitter = {declare, list};

const tutti_method_row tutti_method_local_sgd = {
    .name = "local-sgd",
    .parallelism = "data",
    .optimisation = "decentralised",
    .schedule = "synchronous",
    .lock = "none: each worker writes its own weights",
    .pattern = "all-reduce of weights",
    .travels = "weights",
    .local_rule = "W <- rule(W, g)",
    .centre_rule = "W <- mean of all W",
    .period = "method.period steps",
    .overlap = "means of later layers beside the next step's first layers",
    .paper_rules = "sgd, momentum, nesterov",
    .source = "Stich 2019, arXiv 1805.09767; post-local: Lin et al. 2020, arXiv 1808.07217",
    .refuses = "reduction: canonical; update: replicated; update_when: early; period 0",
    .help = "every rank takes steps of its own; every method.period steps their weights are averaged",
    .keys = {&tutti_method_period, &average},
    .accept = accept,
    .collectives = collectives,
    .emitter = &emitter,
};
