/* SPDX-License-Identifier: Apache-2.0 */
/* method_lookahead.c: Lookahead over ranks (Zhang et al. 2019): every rank takes H steps of its own by the job's rule;
 * then the centre goes a part of the way to the mean of all weights, and every rank goes on from the centre, if the job
 * says so with states that begin anew.
 *
 * The part is a number of the centre. Whether states begin anew nobody but this method knows: config.own[0]. */
#include "method_impl.h"

typedef struct {
    tutti_method_handles shared;
    int centre; /* a memory */
    int means;  /* exchanges */
} handles;

static tutti_status declare(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request mean = {TUTTI_ALLREDUCE, NULL, true, false};
    const tutti_method_vectors vectors = {.own_states = true,
                                          .differ = true,
                                          .weights_hold = TUTTI_HOLDS_ALL,
                                          .states_hold = TUTTI_HOLDS_ANYTHING,
                                          .keeps = sizeof(handles)};
    const tutti_plan_memory centre = {.name = "centre",
                                      .role = TUTTI_ROLE_CENTRE,
                                      .type = TUTTI_F32,
                                      .elements = tutti_builder_plan(b)->nweights,
                                      .copies = 1,
                                      .is_lasting = true,
                                      .is_saved = true,
                                      .holds = TUTTI_HOLDS_ALL};
    int schedule = 0;
    handles *h = tutti_method_declare_vectors(b, &vectors);
    const int weights = h->shared.weights;
    h->centre = tutti_builder_memory(b, &centre);
    tutti_builder_answer(b, h->centre);
    tutti_status st = tutti_builder_schedule(b, &mean, &schedule, err);
    if (!st) h->means = tutti_method_declare_exchanges(b, "mean", weights, weights, schedule, TUTTI_AVG);
    if (!st) st = tutti_method_declare_control(b, err);
    return st ? st : tutti_method_declare_own_check(b, err);
}

static void clear_states(tutti_plan_builder *b, int bucket)
{
    const tutti_plan *p = tutti_builder_plan(b);
    for (int s = 0; s < p->config.nstates && p->config.own[0] > 0; s++) {
        const int state = tutti_plan_find_memory(p, TUTTI_ROLE_STATE, s);
        const tutti_action clear = tutti_method_on_bucket(p, TUTTI_DO_CLEAR, bucket, state, state);
        tutti_builder_do(b, &clear);
    }
}

static void list(tutti_plan_builder *b)
{
    static const tutti_walk walk = {.after_counting = tutti_method_start_control};
    const tutti_plan *p = tutti_builder_plan(b);
    const handles *h = tutti_builder_kept(b);
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    tutti_builder_walk(b, &walk);
    tutti_method_list_looks(b, &h->shared);
    for (int i = 0; i < p->nbuckets; i++) {
        const tutti_action update = tutti_method_local_update(b, &h->shared, i);
        tutti_builder_do(b, &update);
    }
    tutti_builder_wait(b, h->shared.control);
    tutti_builder_loop(b, TUTTI_EACH_PERIOD);
    for (int i = 0; i < p->nbuckets; i++)
        tutti_builder_start(b, h->means + tutti_builder_bucket_in_turn(b, i), TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int i = 0; i < p->nbuckets; i++) {
        const int bucket = tutti_builder_bucket_in_turn(b, i);
        tutti_builder_wait(b, h->means + bucket);
        const tutti_action move = tutti_method_on_bucket(p, TUTTI_DO_LOOKAHEAD, bucket, h->shared.weights, h->centre);
        tutti_builder_do(b, &move);
        clear_states(b, bucket);
    }
}

static tutti_status accept(const tutti_plan_config *c, tutti_failure *err)
{
    return tutti_method_accept_own_weights(c, "lookahead", "slow steps", err);
}

static tutti_status accept_centre(const tutti_centre *c, int nworkers, double largest_rate, tutti_failure *err)
{
    (void)nworkers, (void)largest_rate;
    if (!(c->outer_rate > 0))
        return tutti_fail(err, TUTTI_ERR_USAGE, "method.slow.rate: a rate above 0 is needed, such as 0.5");
    return TUTTI_OK;
}

static unsigned collectives(const tutti_plan_config *c)
{
    (void)c;
    return 1u << TUTTI_ALLREDUCE;
}

static const tutti_method_key rate = {.field = {"method.slow.rate", TUTTI_FIELD_REAL,
                                                offsetof(tutti_centre, outer_rate), "0.5", NULL, 0, 1,
                                                "lookahead: the part of the way to the mean that the centre goes"},
                                      .of_centre = true},
                              anew = {.field = {"method.slow.anew", TUTTI_FIELD_REAL, offsetof(tutti_plan_config, own),
                                                "0", NULL, 0, 1, "lookahead: 1: states are 0 after a slow step"}};

static const tutti_emitter emitter = {declare, list};

const tutti_method_row tutti_method_lookahead = {
    .name = "lookahead",
    .parallelism = "data",
    .optimisation = "decentralised",
    .schedule = "synchronous",
    .lock = "none: every rank makes the same slow step",
    .pattern = "all-reduce of weights, slow step on every rank",
    .travels = "weights",
    .local_rule = "W <- rule(W, g)",
    .centre_rule = "C <- C + s (mean of all W - C); W <- C; s: method.slow.rate",
    .period = "method.period steps",
    .overlap = "a bucket's slow step beside the travel of later buckets",
    .paper_rules = "any",
    .source = "Zhang et al. 2019, arXiv 1907.08610",
    .refuses = "slow.rate 0; reduction: canonical; update: replicated; update_when: early; period 0",
    .help = "every rank takes steps of its own; then a centre goes a part of the way to their mean",
    .keys = {&tutti_method_period, &rate, &anew},
    .accept = accept,
    .accept_centre = accept_centre,
    .collectives = collectives,
    .emitter = &emitter,
};
