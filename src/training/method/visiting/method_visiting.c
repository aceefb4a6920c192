/* SPDX-License-Identifier: Apache-2.0 */
/* method_visiting.c: the parts of a plan that all asynchronous methods share: memories, visits and loops. Workers of
 * these methods take steps of their own and visit a centre.
 *
 * A worker's step consists of its kernels, on its own weights and its share of a batch, and a visit. There are two
 * kinds of visits. In a visit by gradients the rule is applied to the centre, with states that lie beside it, and the
 * worker continues from the new centre. In an elastic visit, in the last step of a period, worker and centre move
 * towards each other, by the values of both from before. The worker's own rule pulls it, in the same pass, to the
 * centre that it has seen, so during a visit only the centre's move keeps other workers out. The weights have not
 * changed since the step began, so the formula is the same whether a visit comes before or after the kernels; after
 * them the centre is newer.
 *
 * The centre is in the memory of rank 0, and all workers of its host use it there. A worker of another host sends the
 * vector of its visit to a seat at rank 0, a memory for this worker, and takes the result along: two exchanges. Between
 * them rank 0 makes the visit for the worker: its loop TUTTI_EACH_ARRIVAL has a part for each such worker. With visits
 * by gradients, that part checks the gradients that it applies; elastic workers check their own gradients, which are
 * not sent.
 *
 * The centre is what is tested and saved; other hosts get it before a test. The workers of a resumed run begin at the
 * centre. */
#include "method_visiting.h"

#include <stdio.h>

/* Numbers of memories and exchanges for a worker of another host. */
typedef struct {
    int rank;
    int seat, verdict;    /* memories: the worker's seat; counts of values that are not finite in the vector that the
                           * worker brings, -1 = none */
    int push, pull, test; /* exchanges: the vector of a visit, its result, the centre for tests */
} far_worker;

typedef struct {
    tutti_method_handles shared;
    int centre, seen; /* indices of memories: the centre; the values that the centre had at the worker's last visit */
    int nfar;
    far_worker *far;
} handles;

/* ---- declaring memories and exchanges ---- */

static void declare_centre(tutti_plan_builder *b, const tutti_visiting *v, handles *h)
{
    h->centre = tutti_method_declare_centre(b, true);
    if (!v->by_gradients)
        h->seen = tutti_builder_memory(b, &(tutti_plan_memory){.name = "centre as seen",
                                                               .role = TUTTI_ROLE_CENTRE,
                                                               .type = TUTTI_F32,
                                                               .elements = tutti_builder_plan(b)->total,
                                                               .copies = 1,
                                                               .is_region = tutti_plan_has_far(tutti_builder_plan(b))});
}

/* ---- workers of other hosts ---- */

static void declare_seats(tutti_plan_builder *b, const tutti_visiting *v, handles *h)
{
    const tutti_plan *p = tutti_builder_plan(b);
    char name[64];
    h->far = tutti_builder_keep(b, sizeof *h->far * (size_t)p->config.nranks);
    for (int r = 1; r < p->config.nranks; r++) {
        if (!tutti_plan_is_far(p, r)) continue;
        snprintf(name, sizeof name, "seat of rank %d", r);
        h->far[h->nfar++] = (far_worker){.rank = r,
                                         .verdict = -1,
                                         .seat = tutti_builder_memory(b, &(tutti_plan_memory){.name = name,
                                                                                              .role = TUTTI_ROLE_SEAT,
                                                                                              .type = TUTTI_F32,
                                                                                              .elements = p->total,
                                                                                              .copies = 1,
                                                                                              .is_region = true})};
    }
    for (int k = 0; v->by_gradients && tutti_method_looks(&p->config) && k < h->nfar; k++) {
        snprintf(name, sizeof name, "verdict of rank %d", h->far[k].rank);
        h->far[k].verdict = tutti_method_declare_own_numbers(b, name);
    }
}

/* Declares an exchange from a memory of members[0] to the place where members[1] has that memory. */
static tutti_status declare_way(tutti_plan_builder *b, tutti_plan_exchange x, const int32_t members[2], int *out,
                                tutti_failure *err)
{
    const tutti_builder_request move = {TUTTI_BROADCAST, "binomial", true, false};
    x.members = members;
    x.nmembers = 2;
    x.bucket = TUTTI_NO_BUCKET;
    x.count = tutti_builder_plan(b)->total;
    const tutti_status st = tutti_builder_schedule_among(b, &move, members, 2, &x.schedule, err);
    if (!st) *out = tutti_builder_exchange(b, &x);
    return st;
}

/* Declares the exchanges of workers of other hosts. For tests each worker gets the centre by an exchange of its own, so
 * that it does not depend on another worker, which may be lost. */
static tutti_status declare_ways(tutti_plan_builder *b, const tutti_visiting *v, const handles *h, tutti_failure *err)
{
    const int brought = v->by_gradients ? h->shared.gradients : h->shared.weights,
              taken = v->by_gradients ? h->shared.weights : h->seen;
    tutti_status st = TUTTI_OK;
    for (far_worker *f = h->far; f < h->far + h->nfar && !st; f++) {
        const int32_t brings[2] = {f->rank, 0}, takes[2] = {0, f->rank};
        char name[64];
        tutti_plan_exchange x = {.name = name, .in = {brought, 0}, .out = {f->seat, 0}};
        snprintf(name, sizeof name, "%s of rank %d", v->by_gradients ? "gradients" : "weights", f->rank);
        st = declare_way(b, x, brings, &f->push, err);
        snprintf(name, sizeof name, "centre for rank %d", f->rank);
        x.in.memory = f->seat, x.out.memory = taken;
        if (!st) st = declare_way(b, x, takes, &f->pull, err);
        snprintf(name, sizeof name, "centre for a test of rank %d", f->rank);
        x.in.memory = x.out.memory = h->centre;
        if (!st) st = declare_way(b, x, takes, &f->test, err);
    }
    return st;
}

tutti_status tutti_visiting_declare(tutti_plan_builder *b, const tutti_visiting *v, tutti_failure *err)
{
    tutti_builder_admit(b, v->admission);
    const tutti_method_vectors vectors = {.own_weights = !tutti_plan_has_far(tutti_builder_plan(b)),
                                          .own_states = !v->by_gradients,
                                          .common_states = v->by_gradients,
                                          .begin_anew = true,
                                          .keeps = sizeof(handles)};
    handles *h = tutti_method_declare_vectors(b, &vectors);
    declare_centre(b, v, h);
    tutti_method_declare_own_control(b);
    tutti_status st = tutti_method_declare_check(b, true, err);
    declare_seats(b, v, h);
    return st ? st : declare_ways(b, v, h, err);
}

/* ---- a worker's loops ---- */

static void visit_with_gradients(tutti_plan_builder *b, const handles *h)
{
    const tutti_plan *p = tutti_builder_plan(b);
    tutti_builder_do(b, &(tutti_action){.kind = TUTTI_DO_ENTER});
    for (int i = 0; i < p->nbuckets; i++) {
        tutti_action rule = tutti_method_local_update(b, &h->shared, i);
        const tutti_action copy = tutti_method_on_bucket(p, TUTTI_DO_COPY, i, h->centre, h->shared.weights);
        rule.to = h->centre;
        tutti_builder_do(b, &rule);
        tutti_builder_do(b, &copy);
    }
    tutti_builder_do(b, &(tutti_action){.kind = TUTTI_DO_LEAVE});
}

static void visit_with_weights(tutti_plan_builder *b, const handles *h)
{
    const tutti_plan *p = tutti_builder_plan(b);
    tutti_builder_do(b, &(tutti_action){.kind = TUTTI_DO_ENTER});
    for (int i = 0; i < p->nbuckets; i++) {
        tutti_action meet = tutti_method_on_bucket(p, TUTTI_DO_MEET, i, h->shared.weights, h->centre);
        meet.other = h->seen;
        tutti_builder_do(b, &meet);
    }
    tutti_builder_do(b, &(tutti_action){.kind = TUTTI_DO_LEAVE});
}

/* Lists the update of the worker's weights by its own rule. In a step with a visit the rule also pulls them towards the
 * centre that the worker has seen. */
static void update_elastically(tutti_plan_builder *b, const handles *h)
{
    const tutti_plan *p = tutti_builder_plan(b);
    for (int i = 0; i < p->nbuckets; i++) {
        tutti_action rule = tutti_method_local_update(b, &h->shared, i);
        tutti_builder_steps(b, TUTTI_IN_OTHER_STEPS);
        tutti_builder_do(b, &rule);
        rule.pulled = true;
        rule.other = h->seen;
        tutti_builder_steps(b, TUTTI_IN_LAST_STEP);
        tutti_builder_do(b, &rule);
    }
    tutti_builder_steps(b, TUTTI_IN_EVERY_STEP);
}

enum { WHOLE = TUTTI_WHEN_READY | TUTTI_WHEN_FREE };

/* Starts push and pull at the same time: so rank 0 knows already that it may write the result into the worker's
 * memory. */
static void send_and_fetch(tutti_plan_builder *b, const far_worker *f)
{
    tutti_builder_start(b, f->push, WHOLE);
    tutti_builder_start(b, f->pull, WHOLE);
    tutti_builder_wait(b, f->push);
    tutti_builder_wait(b, f->pull);
}

static void visit(tutti_plan_builder *b, const tutti_visiting *v, const handles *h)
{
    if (v->by_gradients)
        visit_with_gradients(b, h);
    else
        visit_with_weights(b, h);
}

/* Lists the part that serves a worker. In this part the vector that the worker brought takes the place of its
 * gradients, or of its weights and of the centre that it has seen. */
static void serve(tutti_plan_builder *b, const tutti_visiting *v, const far_worker *f)
{
    const handles *kept = tutti_builder_kept(b);
    handles h = *kept;
    tutti_builder_part(b, f->rank);
    if (v->is_paced) tutti_builder_do(b, &(tutti_action){.kind = TUTTI_DO_PACE});
    tutti_builder_start(b, f->push, WHOLE);
    tutti_builder_wait(b, f->push);
    h.shared.weights = h.shared.gradients = h.seen = f->seat;
    h.shared.flag = h.shared.verdict = f->verdict;
    if (v->by_gradients) tutti_method_list_looks(b, &h.shared);
    visit(b, v, &h);
    tutti_builder_start(b, f->pull, WHOLE);
    tutti_builder_wait(b, f->pull);
}

/* Lists the exchanges before a test, when all ranks have met: workers of other hosts get the centre. */
static void list_test(tutti_plan_builder *b, const far_worker *begin, const far_worker *end)
{
    tutti_builder_loop(b, TUTTI_EACH_TEST);
    for (const far_worker *f = begin; f < end; f++) tutti_builder_start(b, f->test, WHOLE);
    for (const far_worker *f = begin; f < end; f++) tutti_builder_wait(b, f->test);
}

void tutti_visiting_list(tutti_plan_builder *b, const tutti_visiting *v)
{
    static const tutti_walk walk = {0};
    const handles *h = tutti_builder_kept(b);
    const far_worker *end = h->far + h->nfar, *own = h->far; /* own: this rank's entry, if the rank is on another
                                                              * host */
    while (own < end && own->rank != tutti_builder_rank(b)) own++;
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    if (v->is_paced && own == end) tutti_builder_do(b, &(tutti_action){.kind = TUTTI_DO_PACE});
    tutti_builder_walk(b, &walk);
    if (!v->by_gradients || own == end) tutti_method_list_looks(b, &h->shared);
    if (!v->by_gradients) tutti_builder_steps(b, TUTTI_IN_LAST_STEP);
    if (own < end)
        send_and_fetch(b, own);
    else
        visit(b, v, h);
    if (!v->by_gradients) update_elastically(b, h);
    if (tutti_builder_rank(b) == 0) {
        for (const far_worker *f = h->far; f < end; f++) serve(b, v, f);
        list_test(b, h->far, end);
    } else {
        list_test(b, own, own + (own < end));
    }
}

/* ---- refusals ---- */

tutti_status tutti_visiting_accept(const tutti_plan_config *c, const tutti_visiting *v, const char *name,
                                   tutti_failure *err)
{
    tutti_status st = tutti_method_accept_own_weights(c, name, "visits to the centre", err);
    if (st) return st;
    if (v->by_gradients && c->norms == TUTTI_NORMS_OF_TENSORS)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "optimiser.rule: %s updates a centre that others change meanwhile, and this rule goes by the norms of "
            "its tensors; use a method whose workers have weights of their own, such as async-measgd, or another "
            "rule",
            name);
    if (v->wants_states && !c->nstates)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "optimiser.rule: %s keeps a momentum; use momentum, nesterov or another rule with states, or "
                          "async-%s",
                          name, name + sizeof "async-m" - 1);
    if (v->is_plain && c->nstates)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "optimiser.rule: %s moves by plain SGD, and this rule is more than that; use async-m%s, or "
                          "'rule: sgd'",
                          name, name + sizeof "async-" - 1);
    if (c->only_finite)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "loss_scale: a dynamic one is one for all workers, and those of %s know nothing of each other; "
            "give a number, or use bf16",
            name);
    if (c->bucket_bytes == TUTTI_BUCKET_SOONEST)
        return tutti_fail(err, TUTTI_ERR_USAGE, "exchange.buckets: workers of %s exchange nothing; leave the key out",
                          name);
    return TUTTI_OK;
}

/* Refuses an elastic step a = alpha that is unstable. Along one direction of curvature h, with e = rate * h, a visit
 * takes one worker W and the centre C to W - e W - a (W - C) and C + a (W - C). That is stable for a < (4 - 2 e) / (4 -
 * e), a bound that is largest, 1, at e = 0. Below the bound several workers are stable too, if they visit one at a
 * time, in any order. For a > 1 no order is stable, because the determinant of each visit is below -1. */
tutti_status tutti_visiting_accept_centre(const tutti_centre *c, int nworkers, double largest_rate, tutti_failure *err)
{
    const double alpha = c->rho * largest_rate;
    (void)nworkers;
    if (!(alpha >= 1)) return tutti_method_check_rho(c, err);
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "method.rho: %g times the largest rate, %g, moves a worker and the centre by %g of their distance; "
        "1 or more is unstable whatever the loss; use a rho below %g, or auto",
        c->rho, largest_rate, alpha, 1 / largest_rate);
}
