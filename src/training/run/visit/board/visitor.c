/* SPDX-License-Identifier: Apache-2.0 */
/* visitor.c: asks rank 0 for shares, for a worker of another host. Asks and answers lie in one region. Each worker has
 * two lines in it, at the same place on every rank, so that the exchanges can work in place. */
#include "visitor.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../../base/arena.h"

enum { LINE = 64 };
_Static_assert(sizeof(tutti_share_question) <= LINE && sizeof(tutti_share_answer) <= LINE, "a line each");

struct tutti_asks {
    int rank, nranks;
    tutti_region *region;
    /* per rank; NULL: the rank is on rank 0's host, or on another host and not this rank */
    tutti_exchange **ask, **answer;
};

static size_t offset_of(int worker, bool answers)
{
    return LINE * (2 * (size_t)worker + answers);
}

static void *line_of(const tutti_asks *a, int worker, bool answers)
{
    return (char *)tutti_region_base(a->region, a->rank) + offset_of(worker, answers);
}

tutti_exchange *tutti_asks_ask(const tutti_asks *a, int worker)
{
    return a->ask[worker];
}

tutti_exchange *tutti_asks_answer(const tutti_asks *a, int worker)
{
    return a->answer[worker];
}

tutti_share_question *tutti_asks_asked(const tutti_asks *a, int worker)
{
    return line_of(a, worker, false);
}

tutti_share_answer *tutti_asks_answered(const tutti_asks *a, int worker)
{
    return line_of(a, worker, true);
}

/* ---- create and destroy ---- */

typedef struct {
    tutti_exchange_request *requests;
    tutti_exchange ***made; /* where each exchange is stored once it is made */
    tutti_place *places;
    char (*names)[48];
    int n;
} wanted;

/* Adds an exchange between the members of the plan's exchange `exchange`, by its schedule. */
static void want(wanted *w, const tutti_asks *a, const tutti_plan *plan, int exchange, int worker, bool answers)
{
    const tutti_plan_exchange *x = &plan->exchanges[exchange];
    w->places[w->n] = (tutti_place){a->region, offset_of(worker, answers)};
    snprintf(w->names[w->n], sizeof *w->names, answers ? "answer to rank %d" : "question of rank %d", worker);
    w->made[w->n] = answers ? &a->answer[worker] : &a->ask[worker];
    w->requests[w->n] = (tutti_exchange_request){plan->schedules[x->schedule].lowered,
                                                 {.name = w->names[w->n],
                                                  .n = LINE,
                                                  .members = x->members,
                                                  .nmembers = x->nmembers,
                                                  .type = TUTTI_U8,
                                                  .in = &w->places[w->n],
                                                  .nin = 1}};
    w->n++;
}

static tutti_status create_exchanges(tutti_group *group, const tutti_plan *plan, tutti_asks *a, tutti_failure *err)
{
    const size_t most = 2 * (size_t)a->nranks;
    wanted w = {.requests = tutti_alloc(most * sizeof *w.requests),
                .made = tutti_alloc(most * sizeof(tutti_exchange **)),
                .places = tutti_alloc(most * sizeof *w.places),
                .names = tutti_alloc(most * sizeof *w.names)};
    tutti_exchange **made = tutti_alloc(most * sizeof(tutti_exchange *));
    for (int r = 1; r < a->nranks; r++) {
        if (!tutti_plan_is_far(plan, r)) continue;
        want(&w, a, plan, tutti_plan_push_of(plan, r), r, false);
        want(&w, a, plan, tutti_plan_pull_of(plan, r), r, true);
    }
    const tutti_status st = tutti_exchange_create_all(group, w.requests, w.n, made, err);
    for (int i = 0; i < w.n && !st; i++) *w.made[i] = made[i];
    free(made), free(w.requests), free(w.made), free(w.places), free(w.names);
    return st;
}

tutti_status tutti_asks_create(tutti_group *group, const tutti_plan *plan, tutti_asks **out, tutti_failure *err)
{
    const int nranks = plan->config.nranks;
    tutti_asks *a = tutti_alloc(sizeof *a);
    *a = (tutti_asks){.rank = plan->config.rank,
                      .nranks = nranks,
                      .ask = tutti_alloc(sizeof(tutti_exchange *) * (size_t)nranks),
                      .answer = tutti_alloc(sizeof(tutti_exchange *) * (size_t)nranks)};
    *out = a; /* *out is set in any case, so that the caller can destroy it */
    const tutti_status st = tutti_region_create(group, "questions", offset_of(nranks, false), &a->region, err);
    return st ? st : create_exchanges(group, plan, a, err);
}

void tutti_asks_destroy(tutti_asks *a)
{
    if (!a) return;
    for (int r = 0; r < a->nranks; r++) tutti_exchange_destroy(a->ask[r]), tutti_exchange_destroy(a->answer[r]);
    if (a->region) tutti_region_destroy(a->region);
    free(a->ask), free(a->answer);
    free(a);
}

/* ---- the worker's side ---- */

struct tutti_visitor {
    const tutti_asks *asks;
    int rank;
    pthread_mutex_t lock; /* guards the next three members */
    int64_t stock[TUTTI_SHARES_AHEAD];
    int64_t given, taken;
    /* for the owner only: number of shares begun; the next share stays in `stock` until it has begun */
    int64_t begun;
    bool is_asked;             /* this worker has asked for the next share already */
    bool has_ended, wants_end; /* for the owner only: contents of the next ask */
    double loss;
};

tutti_visitor *tutti_visitor_create(const tutti_asks *a, int rank, const int64_t first[TUTTI_SHARES_AHEAD])
{
    tutti_visitor *v = tutti_alloc(sizeof *v);
    v->asks = a;
    v->rank = rank;
    pthread_mutex_init(&v->lock, NULL);
    for (; v->given < TUTTI_SHARES_AHEAD; v->given++) v->stock[v->given] = first[v->given];
    return v;
}

void tutti_visitor_destroy(tutti_visitor *v)
{
    if (!v) return;
    pthread_mutex_destroy(&v->lock);
    free(v);
}

/* Returns the next share from the stock, which is never empty here: the loader takes share n + TUTTI_LOADER_AHEAD only
 * when n shares have been taken from it, and the answer for each of these shares has brought another share. */
int64_t tutti_visitor_deal(tutti_visitor *v)
{
    pthread_mutex_lock(&v->lock);
    assert(v->taken < v->given);
    const int64_t share = v->stock[v->taken++ % TUTTI_SHARES_AHEAD];
    pthread_mutex_unlock(&v->lock);
    return share;
}

static void put_in_stock(tutti_visitor *v, int64_t share)
{
    pthread_mutex_lock(&v->lock);
    v->stock[v->given++ % TUTTI_SHARES_AHEAD] = share;
    pthread_mutex_unlock(&v->lock);
}

static void ask_for(tutti_visitor *v, int64_t share)
{
    *tutti_asks_asked(v->asks, v->rank) =
        (tutti_share_question){.share = share, .has_ended = v->has_ended, .loss = v->loss, .wants_end = v->wants_end};
    v->has_ended = false;
    v->is_asked = true;
    tutti_exchange_start(tutti_asks_answer(v->asks, v->rank), TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    tutti_exchange_start(tutti_asks_ask(v->asks, v->rank), TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
}

void tutti_visitor_ask_ahead(tutti_visitor *v, double loss)
{
    pthread_mutex_lock(&v->lock);
    const int64_t share = v->stock[v->begun % TUTTI_SHARES_AHEAD];
    pthread_mutex_unlock(&v->lock);
    tutti_visitor_end(v, loss);
    ask_for(v, share);
}

tutti_status tutti_visitor_begin(tutti_visitor *v, int64_t share, bool *may, tutti_failure *err)
{
    if (!v->is_asked) ask_for(v, share);
    v->is_asked = false;
    assert(tutti_asks_asked(v->asks, v->rank)->share == share);
    tutti_status st = tutti_exchange_wait(tutti_asks_ask(v->asks, v->rank), err);
    if (!st) st = tutti_exchange_wait(tutti_asks_answer(v->asks, v->rank), err);
    if (st) return st;
    *may = tutti_asks_answered(v->asks, v->rank)->may;
    v->begun += *may;
    if (*may) put_in_stock(v, tutti_asks_answered(v->asks, v->rank)->dealt);
    return TUTTI_OK;
}

void tutti_visitor_end(tutti_visitor *v, double loss)
{
    if (v->is_asked) return; /* the ask for the next share has been sent already, with this information */
    v->has_ended = true;
    v->loss = loss;
}

void tutti_visitor_want_end(tutti_visitor *v)
{
    v->wants_end = true;
}
