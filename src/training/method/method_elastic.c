/* SPDX-License-Identifier: Apache-2.0 */
/* method_elastic.c: the parts of a plan that the synchronous elastic-averaging methods share: memories, exchanges and
 * loops.
 *
 * A worker has weights W of its own and takes steps by its own gradients. In the last step of a period its rule also
 * pulls W towards the centre C, and C moves towards all workers: C <- C + alpha (sum of W - P C). Both use the values
 * from before the step. The summed weights are those that the step's kernels read too, so the sums need not wait for
 * the gradients. Workers are pulled to the centre of the period before, which has had a whole period to arrive.
 *
 * Sums go from the weights to a memory that the centre's owners read. The centre is what is tested and saved; every
 * rank holds all of it once its exchange has ended. */
#include "method_elastic.h"

typedef struct {
    tutti_method_handles shared;
    int centre, sum;   /* indices of the memories: the centre, the sum of weights */
    int sums, gathers; /* numbers of the first exchanges: of the sums, of the gathers of the centre */
} handles;

/* ---- declaring memories and exchanges ---- */

static void declare_centre(tutti_plan_builder *b, handles *h)
{
    h->centre = tutti_method_declare_centre(b, false);
    h->sum = tutti_builder_memory(b, &(tutti_plan_memory){.name = "sum of the weights",
                                                          .role = TUTTI_ROLE_CENTRE,
                                                          .type = TUTTI_F32,
                                                          .elements = tutti_builder_plan(b)->total,
                                                          .copies = 1,
                                                          .is_region = true});
}

tutti_status tutti_elastic_declare(tutti_plan_builder *b, const tutti_elastic *e, tutti_failure *err)
{
    char rows[2][TUTTI_ALGORITHM_TEXT];
    const bool chooses = !tutti_plan_algorithms(tutti_builder_plan(b)->config.algorithm, rows);
    const char *algorithm = e->at_root && chooses ? "binomial" : NULL; /* the paper defines Sync EASGD1 by its tree */
    const tutti_builder_request sums = {e->at_root ? TUTTI_REDUCE : TUTTI_REDUCE_SCATTER, algorithm, false, false},
                                centre = {e->at_root ? TUTTI_BROADCAST : TUTTI_ALL_GATHER, algorithm, true, false};
    const tutti_method_vectors vectors = {.own_states = true,
                                          .differ = true,
                                          .weights_hold = TUTTI_HOLDS_ANYTHING,
                                          .states_hold = TUTTI_HOLDS_ANYTHING,
                                          .keeps = sizeof(handles)};
    int schedule = 0;
    handles *h = tutti_method_declare_vectors(b, &vectors);
    declare_centre(b, h);
    tutti_status st = tutti_builder_schedule(b, &sums, &schedule, err);
    if (!st) h->sums = tutti_method_declare_exchanges(b, "sum", h->shared.weights, h->sum, schedule, TUTTI_SUM);
    if (!st) st = tutti_builder_schedule(b, &centre, &schedule, err);
    if (!st) h->gathers = tutti_method_declare_exchanges(b, "centre", h->centre, h->centre, schedule, TUTTI_SUM);
    if (!st) st = tutti_method_declare_control(b, err);
    return st ? st : tutti_method_declare_own_check(b, err);
}

/* ---- a rank's loops ---- */

static void start_sums(tutti_plan_builder *b)
{
    const handles *h = tutti_builder_kept(b);
    tutti_builder_steps(b, TUTTI_IN_LAST_STEP);
    for (int i = 0; i < tutti_builder_plan(b)->nbuckets; i++)
        tutti_builder_start(b, h->sums + tutti_builder_bucket_in_turn(b, i), TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    tutti_builder_steps(b, TUTTI_IN_EVERY_STEP);
}

static void wait_centre(tutti_plan_builder *b, tutti_action_steps steps)
{
    const handles *h = tutti_builder_kept(b);
    tutti_builder_steps(b, steps);
    for (int i = 0; i < tutti_builder_plan(b)->nbuckets; i++) tutti_builder_wait(b, h->gathers + i);
    tutti_builder_steps(b, TUTTI_IN_EVERY_STEP);
}

/* Fills in the part of a bucket's centre that this rank moves; false: it moves none. */
static bool own_centre(tutti_plan_builder *b, const tutti_elastic *e, int bucket, tutti_action *out)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const handles *h = tutti_builder_kept(b);
    *out = tutti_method_on_bucket(p, TUTTI_DO_ELASTIC, bucket, h->sum, h->centre);
    if (e->at_root) return tutti_builder_rank(b) == 0;
    tutti_plan_own_slice(p, bucket, tutti_builder_rank(b), &out->first, &out->count);
    return true;
}

static void update(tutti_plan_builder *b, const tutti_elastic *e, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    tutti_action rule = tutti_method_local_update(b, &h->shared, bucket), elastic;
    tutti_builder_steps(b, TUTTI_IN_OTHER_STEPS);
    tutti_builder_do(b, &rule);
    rule.pulled = true;
    rule.other = h->centre;
    tutti_builder_steps(b, TUTTI_IN_LAST_STEP);
    tutti_builder_wait(b, h->sums + bucket);
    tutti_builder_wait(b, h->gathers + bucket);
    tutti_builder_do(b, &rule);
    if (own_centre(b, e, bucket, &elastic)) tutti_builder_do(b, &elastic);
    tutti_builder_start(b, h->gathers + bucket, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    tutti_builder_steps(b, TUTTI_IN_EVERY_STEP);
}

unsigned tutti_elastic_collectives(const tutti_elastic *e)
{
    return e->at_root ? 1u << TUTTI_REDUCE | 1u << TUTTI_BROADCAST
                      : 1u << TUTTI_REDUCE_SCATTER | 1u << TUTTI_ALL_GATHER;
}

void tutti_elastic_list(tutti_plan_builder *b, const tutti_elastic *e)
{
    static const tutti_walk walk = {.after_counting = tutti_method_start_control};
    const tutti_plan *p = tutti_builder_plan(b);
    const handles *h = tutti_builder_kept(b);
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    if (e->overlaps) start_sums(b);
    tutti_builder_walk(b, &walk);
    tutti_method_list_looks(b, &h->shared);
    if (!e->overlaps) start_sums(b);
    for (int i = 0; i < p->nbuckets; i++) update(b, e, tutti_builder_bucket_in_turn(b, i));
    if (!e->overlaps) wait_centre(b, TUTTI_IN_LAST_STEP);
    tutti_builder_wait(b, h->shared.control);
    if (!e->overlaps) return;
    tutti_builder_loop(b, TUTTI_EACH_TEST);
    wait_centre(b, TUTTI_IN_EVERY_STEP);
}

/* ---- refusals ---- */

tutti_status tutti_elastic_accept(const tutti_plan_config *c, tutti_failure *err)
{
    return tutti_method_accept_own_weights(c, "elastic averaging", "exchanges with the centre", err);
}

/* Refuses an elastic step a = alpha that is unstable. Along one direction of curvature h, with e = rate * h, a step
 * multiplies the pair (mean of the workers, centre) by the matrix [1 - e - a, a; a P, 1 - a P]. Its eigenvalues lie in
 * the unit circle if a < (4 - 2 e) / (2 + P (2 - e)). This bound is largest, 2 / (P + 1), at e = 0. */
tutti_status tutti_elastic_accept_centre(const tutti_centre *c, int nworkers, double largest_rate, tutti_failure *err)
{
    const double alpha = c->rho * largest_rate, bound = 2 / (nworkers + 1.0);
    if (!(alpha >= bound)) return tutti_method_check_rho(c, err);
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "method.rho: %g times the largest rate, %g, moves workers and centre by %g of their distance; between "
        "%d workers and a centre %g or more is unstable whatever the loss; use a rho below %g, or auto",
        c->rho, largest_rate, alpha, nworkers, bound, bound / largest_rate);
}
