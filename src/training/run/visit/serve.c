/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c: rank 0's threads that stand in for workers of other hosts: each plays one worker's visits to the centre.
 *
 * Once in each local step the worker asks which share it may begin (visitor.h). Its stand-in looks on the board for it,
 * waits for its pace, and answers. If the step ends a period, the stand-in takes what the worker brings, visits, and
 * gives back the result, before it looks at the next ask, which may have arrived by then: so a share has always been
 * played before the next one begins, even if the ask for the next one came early. The stand-in sleeps until something
 * has come, however long that takes: a rank that waits for a missing worker has a deadline, and names that worker. When
 * a share may not begin, the worker goes to where all meet, and its stand-in rests until the next stop is opened; so
 * nothing is in flight at a stop.
 *
 * When its worker is gone, a stand-in completes a change of the centre that it has begun, and then ends. Only then are
 * the worker's turns passed on, so that no two workers change the centre if they are to do it one at a time. An
 * exchange that has been left half done is never started again.
 *
 * A stand-in plays in the memories of the rank itself, with its exchanges, rule and rates. It has visits, an account
 * and a count of local steps of its own (tutti_stepping_stand_in). It neither saves nor reports anything. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/clock.h"
#include "../../../base/signals.h"
#include "board/bringing.h"
#include "serve.h"

typedef struct {
    tutti_serve *serve;
    int worker;
    tutti_stepping own;
    tutti_loop part;
    int before;   /* number of the part's actions that are done before the worker begins its step */
    bool hears;   /* true if the worker's next ask may arrive */
    int64_t turn; /* the worker's turn to send its vector (bringing.h); -1 = none */
    pthread_t thread;
} stand_in;

struct tutti_serve {
    pthread_mutex_t lock; /* guards the next three members */
    pthread_cond_t changed;
    int64_t nopened; /* number of stops that were opened */
    int nresting;
    atomic_bool ends;
    tutti_bringing *bringing; /* turns of sending in order of arrival; NULL: workers send as soon as they are ready, or
                               * in rank order (visits.h) */
    stand_in *all;
    int n;
    tutti_arena arena;
};

/* ---- waits ---- */

static bool has_lost_its_worker(const stand_in *s)
{
    return tutti_group_is_gone(s->own.group, s->worker);
}

/* Waits until the exchange has ended; false: the run has ended, or the worker is gone. */
static bool await_end(stand_in *s, tutti_exchange *x)
{
    static const double LOOK_S = 0.1;
    const tutti_group *g = s->own.group;
    int ended;
    do ended = tutti_exchange_wait_any(&x, 1, LOOK_S, tutti_group_gone_flag(g, s->worker));
    while (ended < 0 && !has_lost_its_worker(s) && !tutti_group_is_over(g) && !atomic_load(&s->serve->ends));
    tutti_did(&s->own.account, TUTTI_DID_WAIT, 0);
    return ended == 0;
}

/* Starts an exchange and waits for it. False: the run has ended, or the worker is gone. */
static bool run_exchange(stand_in *s, tutti_exchange *x)
{
    if (has_lost_its_worker(s)) return false;
    tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    return await_end(s, x);
}

/* Waits until a stop is opened that this stand-in has not served yet; false: the run has ended. */
static bool rest(tutti_serve *serve, int64_t nserved)
{
    pthread_mutex_lock(&serve->lock);
    serve->nresting++;
    pthread_cond_broadcast(&serve->changed);
    while (serve->nopened == nserved && !atomic_load(&serve->ends)) pthread_cond_wait(&serve->changed, &serve->lock);
    serve->nresting--;
    pthread_mutex_unlock(&serve->lock);
    return !atomic_load(&serve->ends);
}

/* ---- serving ---- */

static bool may_wait_for(const tutti_action *a)
{
    return a->exchange >= 0;
}

/* Starts the exchange that brings the worker's next ask, which is read later. False: the worker is gone. */
static bool hear(stand_in *s)
{
    if (has_lost_its_worker(s)) return false;
    if (!s->hears)
        tutti_exchange_start(tutti_asks_ask(tutti_visits_asks(s->own.visits), s->worker),
                             TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    s->hears = true;
    return true;
}

static bool take_question(stand_in *s, tutti_share_question *asked)
{
    const tutti_asks *asks = tutti_visits_asks(s->own.visits);
    if (!hear(s) || !await_end(s, tutti_asks_ask(asks, s->worker))) return false;
    *asked = *tutti_asks_asked(asks, s->worker);
    s->hears = false;
    return true;
}

/* Stores the contents of the worker's ask, and answers; *may: the worker may begin the share. False: the run has ended,
 * or the worker is gone. */
static bool answer(stand_in *s, bool *may, int64_t *share)
{
    tutti_visits *visits = s->own.visits;
    const tutti_asks *asks = tutti_visits_asks(visits);
    tutti_share_question asked;
    if (!take_question(s, &asked)) return false;
    if (asked.has_ended) tutti_visits_end(visits, asked.loss);
    if (asked.wants_end) tutti_visits_ask_to_end(visits);
    *share = asked.share;
    if (tutti_visits_begin(visits, asked.share, may, NULL)) return false;
    const tutti_update_step update = {0};
    if (*may && tutti_step_play_served(&s->own, &update, s->part.actions, s->before, NULL)) return false;
    *tutti_asks_answered(asks, s->worker) =
        (tutti_share_answer){.may = *may, .dealt = *may ? tutti_visits_deal(visits) : -1};
    if (*may && !hear(s)) return false;
    return run_exchange(s, tutti_asks_answer(asks, s->worker));
}

static bool has_ended(const void *arg)
{
    const stand_in *s = arg;
    return tutti_group_is_over(s->own.group) || atomic_load(&s->serve->ends);
}

/* Takes a turn for the worker when it is ready to send its vector, which is when it asks for its next share. False: the
 * run has ended, or the worker is gone. */
static bool bring_begin(stand_in *s)
{
    if (tutti_visits_bring_begin(s->own.visits, NULL)) return false;
    if (!s->serve->bringing) return true;
    if (!hear(s) || !await_end(s, tutti_asks_ask(tutti_visits_asks(s->own.visits), s->worker))) return false;
    s->turn = tutti_bringing_draw(s->serve->bringing);
    return tutti_bringing_await(s->serve->bringing, s->turn, has_ended, s);
}

static void end_turn(stand_in *s)
{
    if (s->turn >= 0) tutti_bringing_end(s->serve->bringing, s->turn);
    s->turn = -1;
}

/* Plays the part from the action that takes the worker's vector. The worker may write its vector here once the exchange
 * has been started on this side. False: the run has ended, or the worker is gone. */
static bool play_actions(stand_in *s, const tutti_update_step *update)
{
    tutti_stepping *own = &s->own;
    const tutti_loop *l = &s->part;
    const int push = tutti_plan_push_of(own->plan, s->worker);
    for (int i = s->before, n; i < l->nactions; i += n) {
        const tutti_action *a = &l->actions[i];
        n = 1;
        if (tutti_action_starts(a)) {
            if (a->exchange == push && !bring_begin(s)) return false;
            if (has_lost_its_worker(s)) return false;
            tutti_exchange_start(own->shared.exchange[a->exchange], a->when);
        } else if (tutti_action_tells(a)) {
            tutti_exchange_tell(own->shared.exchange[a->exchange], a->when);
        } else if (tutti_action_awaits(a)) {
            if (!await_end(s, own->shared.exchange[a->exchange])) return false;
            if (a->exchange == push) tutti_visits_bring_end(own->visits), end_turn(s);
        } else {
            while (i + n < l->nactions && !may_wait_for(&l->actions[i + n])) n++;
            if (tutti_step_play_served(own, update, a, n, NULL)) return false; /* the group keeps the failure */
        }
    }
    return true;
}

static bool play_part(stand_in *s, const tutti_update_step *update)
{
    const bool played = play_actions(s, update);
    end_turn(s); /* ends the turn of a worker that is gone */
    return played;
}

/* Serves from one stop to the next; false: the run has ended, or the worker is gone. */
static bool serve_stretch(stand_in *s)
{
    bool may = true;
    int64_t share;
    while (answer(s, &may, &share) && may) {
        /* the same numbers as the worker itself computes with */
        const tutti_update_step update = tutti_step_numbers(&s->own, share / s->own.nranks, 0);
        if (tutti_ends_period(s->own.local_steps++, s->own.plan->config.period) && !play_part(s, &update)) return false;
    }
    return !may;
}

static void *run(void *arg)
{
    stand_in *s = arg;
    int64_t nserved = 0;
    while (rest(s->serve, nserved) && serve_stretch(s)) nserved++;
    if (has_lost_its_worker(s)) tutti_visits_retire(s->own.visits);
    pthread_mutex_lock(&s->serve->lock);
    s->serve->nresting++;
    pthread_cond_broadcast(&s->serve->changed);
    pthread_mutex_unlock(&s->serve->lock);
    return NULL;
}

/* ---- create and destroy ---- */

static void prepare(stand_in *s, tutti_serve *serve, const tutti_stepping *of, int worker)
{
    *s = (stand_in){.serve = serve,
                    .worker = worker,
                    .own = tutti_stepping_stand_in(of, tutti_visits_stand_in(of->visits, worker)),
                    .part = tutti_loop_part(&of->plan->loops[TUTTI_EACH_ARRIVAL], worker),
                    .turn = -1};
    while (s->before < s->part.nactions && s->part.actions[s->before].exchange < 0) s->before++;
}

/* Starts the thread with signals blocked: the main thread handles them. */
static tutti_status start(stand_in *s, tutti_failure *err)
{
    sigset_t before;
    tutti_signals_hold(&before);
    const int problem = pthread_create(&s->thread, NULL, run, s);
    tutti_signals_release(&before);
    if (!problem) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "no thread to serve %s: %s", tutti_group_describe(s->own.group, s->worker),
                      strerror(problem));
}

tutti_status tutti_serve_create(const tutti_stepping *s, tutti_serve **out, tutti_failure *err)
{
    if (s->rank != 0 || !tutti_plan_has_far(s->plan)) return TUTTI_OK;
    tutti_serve *serve = *out = tutti_alloc(sizeof *serve);
    if (tutti_plan_brings_by_turns(s->plan)) serve->bringing = tutti_bringing_create();
    tutti_status st = TUTTI_OK;
    pthread_mutex_init(&serve->lock, NULL);
    pthread_cond_init(&serve->changed, NULL);
    serve->all = TUTTI_ARENA_NEW(&serve->arena, stand_in, s->nranks);
    for (int r = 1; r < s->nranks && !st; r++) {
        if (!tutti_plan_is_far(s->plan, r)) continue;
        prepare(&serve->all[serve->n], serve, s, r);
        st = start(&serve->all[serve->n], err);
        serve->n += !st;
    }
    return st;
}

void tutti_serve_destroy(tutti_serve *serve)
{
    if (!serve) return;
    pthread_mutex_lock(&serve->lock);
    atomic_store(&serve->ends, true);
    pthread_cond_broadcast(&serve->changed);
    pthread_mutex_unlock(&serve->lock);
    for (int i = 0; i < serve->n; i++) pthread_join(serve->all[i].thread, NULL);
    tutti_bringing_destroy(serve->bringing);
    pthread_cond_destroy(&serve->changed);
    pthread_mutex_destroy(&serve->lock);
    tutti_arena_release(&serve->arena);
    free(serve);
}

void tutti_serve_open(tutti_serve *serve)
{
    if (!serve) return;
    pthread_mutex_lock(&serve->lock);
    serve->nopened++;
    pthread_cond_broadcast(&serve->changed);
    pthread_mutex_unlock(&serve->lock);
}

static bool all_rest(tutti_serve *serve)
{
    pthread_mutex_lock(&serve->lock);
    const bool rest = serve->nresting == serve->n;
    pthread_mutex_unlock(&serve->lock);
    return rest;
}

int64_t tutti_serve_spent(const tutti_serve *serve, int worker, tutti_cost_part part)
{
    for (int i = 0; serve && i < serve->n; i++)
        if (serve->all[i].worker == worker) return serve->all[i].own.account.cost.ns[part];
    return 0;
}

/* Waits until all threads rest. Their workers have been answered, or are gone, so this takes only moments. */
tutti_status tutti_serve_rest(tutti_serve *serve, tutti_group *group, tutti_failure *err)
{
    static const double NAP_S = 50e-6;
    tutti_status st = TUTTI_OK;
    while (serve && !st && !all_rest(serve)) {
        tutti_clock_sleep_s(NAP_S);
        st = tutti_group_poll(group, err);
    }
    return st;
}
