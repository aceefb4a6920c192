/* SPDX-License-Identifier: Apache-2.0 */
/* method_diloco.c: the method diloco: DiLoCo (Douillard et al. 2023): every rank takes H steps of its own by the job's
 * rule, the inner rule. Then the difference between the centre and the mean of all weights is the gradient of an outer
 * step, SGD with Nesterov momentum. Every rank continues from the centre and keeps the states of its inner rule.
 *
 * An allreduce of any algorithm averages the weights in place, and every rank does the outer step on all of them: from
 * the same mean every rank gets the same centre and the same momentum, which no other rank touches. The alternative,
 * owners of slices, would save two vectors on each rank and cost a second exchange; once in H steps the arithmetic
 * costs next to nothing. A bucket's outer step is done while later buckets are exchanged. The centre is what is tested
 * and saved. With an outer rate of 1 and no momentum the method is local SGD except for rounding. */
#include "method_impl.h"

static const char momentum_name[] = "outer-momentum";

typedef struct {
    tutti_method_handles shared;
    int centre, momentum; /* indices of the memories: the centre, the outer rule's momentum */
    int means;            /* number of the first exchange that averages the weights */
} handles;

static int declare_own(tutti_plan_builder *b, const char *name, int64_t elements)
{
    return tutti_builder_memory(b, &(tutti_plan_memory){.name = name,
                                                        .role = TUTTI_ROLE_CENTRE,
                                                        .type = TUTTI_F32,
                                                        .elements = elements,
                                                        .copies = 1,
                                                        .is_lasting = true,
                                                        .is_saved = true,
                                                        .holds = TUTTI_HOLDS_ALL});
}

static tutti_status declare(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request mean = {TUTTI_ALLREDUCE, NULL, true, false};
    const tutti_method_vectors vectors = {.own_states = true,
                                          .differ = true,
                                          .weights_hold = TUTTI_HOLDS_ALL,
                                          .states_hold = TUTTI_HOLDS_ANYTHING,
                                          .keeps = sizeof(handles)};
    int schedule = 0;
    handles *h = tutti_method_declare_vectors(b, &vectors);
    const int weights = h->shared.weights;
    h->centre = declare_own(b, "centre", tutti_builder_plan(b)->nweights);
    tutti_builder_answer(b, h->centre);
    h->momentum = declare_own(b, momentum_name, tutti_builder_plan(b)->total);
    tutti_status st = tutti_builder_schedule(b, &mean, &schedule, err);
    if (!st) h->means = tutti_method_declare_exchanges(b, "mean", weights, weights, schedule, TUTTI_AVG);
    if (!st) st = tutti_method_declare_control(b, err);
    return st ? st : tutti_method_declare_own_check(b, err);
}

/* ---- a rank's loops ---- */

static void list_outer(tutti_plan_builder *b, const handles *h)
{
    const tutti_plan *p = tutti_builder_plan(b);
    for (int i = 0; i < p->nbuckets; i++)
        tutti_builder_start(b, h->means + tutti_builder_bucket_in_turn(b, i), TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int i = 0; i < p->nbuckets; i++) {
        const int bucket = tutti_builder_bucket_in_turn(b, i);
        tutti_action outer = tutti_method_on_bucket(p, TUTTI_DO_OUTER, bucket, h->shared.weights, h->centre);
        outer.other = h->momentum;
        tutti_builder_wait(b, h->means + bucket);
        tutti_builder_do(b, &outer);
    }
}

static void list(tutti_plan_builder *b)
{
    static const tutti_walk walk = {.after_counting = tutti_method_start_control};
    const handles *h = tutti_builder_kept(b);
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    tutti_builder_walk(b, &walk);
    tutti_method_list_looks(b, &h->shared);
    for (int i = 0; i < tutti_builder_plan(b)->nbuckets; i++) {
        const tutti_action update = tutti_method_local_update(b, &h->shared, i);
        tutti_builder_do(b, &update);
    }
    tutti_builder_wait(b, h->shared.control);
    tutti_builder_loop(b, TUTTI_EACH_PERIOD);
    list_outer(b, h);
}

/* ---- the method's row ---- */

static tutti_status accept(const tutti_plan_config *c, tutti_failure *err)
{
    return tutti_method_accept_own_weights(c, "diloco", "outer steps", err);
}

static tutti_status accept_centre(const tutti_centre *c, int nworkers, double largest_rate, tutti_failure *err)
{
    (void)nworkers, (void)largest_rate;
    if (!(c->outer_rate > 0))
        return tutti_fail(err, TUTTI_ERR_USAGE, "method.outer.rate: a rate above 0 is needed, such as 0.7");
    if (!(c->outer_mu < 1))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "method.outer.momentum: of 1 never ends; one below 1 is needed, such as 0.9");
    return TUTTI_OK;
}

static unsigned collectives(const tutti_plan_config *c)
{
    (void)c;
    return 1u << TUTTI_ALLREDUCE;
}

static const tutti_method_key outer_rate = {.field = {"method.outer.rate", TUTTI_FIELD_REAL,
                                                      offsetof(tutti_centre, outer_rate), "0.7", NULL, 0, 1e6,
                                                      "diloco: rate of the outer step"},
                                            .of_centre = true},
                              outer_momentum = {.field = {"method.outer.momentum", TUTTI_FIELD_REAL,
                                                          offsetof(tutti_centre, outer_mu), "0.9", NULL, 0, 1,
                                                          "diloco: Nesterov momentum of it, below 1"},
                                                .of_centre = true};

static const tutti_emitter emitter = {declare, list};

const tutti_method_row tutti_method_diloco = {
    .name = "diloco",
    .parallelism = "data",
    .optimisation = "decentralised",
    .schedule = "synchronous",
    .lock = "none: every rank makes the same outer step",
    .pattern = "all-reduce of weights, outer step on every rank",
    .travels = "weights",
    .local_rule = "W <- rule(W, g)",
    .centre_rule =
        "d = C - mean of all W; v <- m v + d; C <- C - o (d + m v); W <- C; o, m: method.outer.rate, .momentum",
    .period = "method.period steps",
    .overlap = "a bucket's outer step beside the travel of later buckets",
    .paper_rules = "adamw",
    .source = "Douillard et al. 2023, arXiv 2311.08105 (500 steps of AdamW, o = 0.7, m = 0.9)",
    .refuses = "outer.rate 0; outer.momentum 1; reduction: canonical; update: replicated; update_when: early; period 0",
    .help = "every rank takes steps of its own; their mean is the gradient of an outer step with Nesterov momentum",
    .keys = {&tutti_method_period, &outer_rate, &outer_momentum},
    .centre_state = momentum_name,
    .accept = accept,
    .accept_centre = accept_centre,
    .collectives = collectives,
    .emitter = &emitter,
};
