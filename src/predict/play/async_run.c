/* SPDX-License-Identifier: Apache-2.0 */
/* async_run.c: plays an asynchronous run as events, which lie in a heap. The events of a worker are, in this order: it
 * has computed up to its visit; its vector is sent, if it had to wait for that; the vector has arrived at the centre;
 * rank 0 has checked the vector; the visit has ended; the answer has arrived at the worker; the worker has ended a
 * step. Messages that travel end between these events (flows.h). */
#include "async_run.h"

#include <math.h>

#include "../../base/arena.h"
#include "../../collective/simulate/events/flows.h"

typedef enum { COMES, SETS_OUT, IS_THERE, IS_LOOKED_AT, LEAVES, IS_BACK, ENDS } want;
enum { NWANTS = ENDS + 1 };

typedef struct {
    double at;
    int worker;
    want want;
} event;

typedef struct {
    const tutti_async_run *run;
    tutti_due_heap next;  /* heap of the events to come */
    int64_t *done;        /* for each worker: local steps done */
    bool *is_held;        /* for each worker: true while it waits for a slower worker */
    double *held_at;      /* for each worker: the time at which this wait began */
    event *turns;         /* in rank order: for each worker that waits for its turn, its visit; worker -1 for the
                           * others */
    int64_t nvisits;      /* in rank order: number of visits that have begun */
    double free_at;       /* time at which the centre becomes free; INFINITY: in rank order, while a worker has its
                          * turn */
    event *brings;        /* in rank order between hosts: for each worker that waits until it may send, its event;
                           * worker -1 for the others */
    int64_t nbrought;     /* in rank order between hosts: number of turns to send that have passed, because the worker's
                           * vector has arrived or the worker sends none */
    bool is_on_way;       /* true while the vector of the next worker in turn travels */
    double granted_at;    /* time since which the next worker in turn may send its vector */
    tutti_due_heap ready; /* by arrival between hosts: workers that wait to send, by the time at which rank 0 knows of
                           * them */
    double waited_s, travelled_s;
    tutti_flows *flows; /* network: route 2w leads from worker w to the centre, route 2w + 1 back; NULL on one host */
    double *sent_at;    /* for each worker: the time at which its last message was sent */
    int64_t least;      /* number of local steps that every worker has done */
    int nleast;         /* number of workers that have done no more than `least` steps */
    int64_t most_ahead;
} play;

/* Adds an event to the heap. Among events at the same time, that of the lower rank comes first, as in rank order. */
static void push(play *p, event e)
{
    tutti_due_heap_add(&p->next, (tutti_due){e.at, (int64_t)e.worker * NWANTS + (int64_t)e.want});
}

static event pop(play *p)
{
    const tutti_due first = p->next.at[0];
    tutti_due_heap_drop(&p->next);
    return (event){first.when, (int)(first.of / NWANTS), (want)(first.of % NWANTS)};
}

static double slowness(const play *p, int worker)
{
    return p->run->slowness ? p->run->slowness[worker] : 1;
}

static bool is_far(const play *p, int worker)
{
    return p->run->far && p->run->far->is[worker];
}

/* Returns the worker's seconds for a part of a step that takes near_s on the centre's host and far_s on others, times
 * its slowness. */
static double of(const play *p, int worker, double near_s, double far_s)
{
    return slowness(p, worker) * (is_far(p, worker) ? far_s : near_s);
}

/* Begins the worker's step now, unless it must wait for slower workers. */
static void begin(play *p, int worker, double now)
{
    const tutti_async_run *r = p->run;
    const bool visits = tutti_ends_period(p->done[worker], r->period);
    if (r->is_paced && p->done[worker] - p->least > r->staleness) {
        p->is_held[worker] = true;
        p->held_at[worker] = now;
        return;
    }
    const double computes_s = visits ? of(p, worker, r->before_s, r->far ? r->far->before_s : 0)
                                     : of(p, worker, r->other_s, r->far ? r->far->other_s : 0);
    push(p, (event){now + computes_s, worker, visits ? COMES : ENDS});
}

static bool is_in_rank_order(const play *p)
{
    return p->run->admission == TUTTI_ADMIT_IN_RANK_ORDER;
}

/* True if a turn includes travelling to the centre and back. If the plan names far workers, vectors travel before the
 * turn and after it, because rank 0 visits for those workers. */
static bool is_turn_whole(const play *p)
{
    return is_in_rank_order(p) && !p->run->far;
}

static double visit_seconds(const play *p, int worker)
{
    return is_far(p, worker) ? p->run->far->visit_s : p->run->visit_s;
}

static bool moves(const play *p, int worker)
{
    const bool *travels = p->run->travels;
    return p->flows && (travels ? travels[worker] : !p->run->far || is_far(p, worker));
}

/* Sends the worker's message to the centre, or back. When it has arrived, the event `then` happens. */
static void travel(play *p, int worker, double now, want then)
{
    const bool brings = then == IS_THERE;
    const int64_t route = 2 * (int64_t)worker + !brings;
    p->sent_at[worker] = now;
    if (!moves(p, worker) ||
        !tutti_flows_send(p->flows, route, brings ? p->run->brought_bytes : p->run->taken_bytes, now))
        push(p, (event){now, worker, then});
}

static event arrive(play *p)
{
    event e;
    const int64_t route = tutti_flows_take(p->flows, &e.at);
    e.worker = (int)(route / 2);
    e.want = route % 2 ? IS_BACK : IS_THERE;
    p->travelled_s += e.at - p->sent_at[e.worker];
    return e;
}

/* In rank order, lets the worker with the next turn send its vector, or visit, as soon as the turn before is over. */
static void take_turns(play *p, double now)
{
    event *next = &p->turns[p->nvisits % p->run->nworkers];
    if (next->worker < 0 || p->free_at == INFINITY) return;
    const double out = p->free_at > next->at ? p->free_at : next->at;
    p->waited_s += out - next->at;
    p->free_at = INFINITY;
    p->nvisits++;
    const double at = out > now ? out : now;
    if (is_turn_whole(p))
        travel(p, next->worker, at, IS_THERE);
    else
        push(p, (event){at + visit_seconds(p, next->worker), next->worker, LEAVES});
    next->worker = -1;
}

static void wait_for_turn(play *p, const event *e)
{
    p->turns[e->worker] = *e;
    take_turns(p, e->at);
}

/* True if workers of other hosts send their vectors one after the other, in rank order: rank 0 lets the next worker
 * send when the vector of the worker before it has arrived. */
static bool brings_in_turn(const play *p, int worker)
{
    return is_in_rank_order(p) && is_far(p, worker) && moves(p, worker);
}

/* True if workers of other hosts send their vectors one after the other, by arrival: workers with large vectors send in
 * the order in which rank 0 learned that they are ready. */
static bool brings_by_turns(const play *p, int worker)
{
    return p->run->brings_by_turns && !is_in_rank_order(p) && is_far(p, worker) && moves(p, worker);
}

static void take_ready(play *p)
{
    if (p->is_on_way || !p->ready.n) return;
    const tutti_due first = p->ready.at[0];
    const double granted = fmax(p->granted_at, first.when);
    p->waited_s += granted - first.when;
    p->is_on_way = true;
    tutti_due_heap_drop(&p->ready);
    push(p, (event){granted + tutti_flows_latency(p->flows, 2 * first.of + 1), (int)first.of, SETS_OUT});
}

static void take_bringing(play *p)
{
    const int n = p->run->nworkers;
    while (!brings_in_turn(p, (int)(p->nbrought % n))) p->nbrought++;
    event *next = &p->brings[p->nbrought % n];
    if (next->worker < 0 || p->is_on_way) return;
    const double told = p->granted_at + tutti_flows_latency(p->flows, 2 * (int64_t)next->worker + 1);
    const double out = told > next->at ? told : next->at;
    p->waited_s += out - next->at;
    p->is_on_way = true;
    push(p, (event){out, next->worker, SETS_OUT});
    next->worker = -1;
}

static void come(play *p, const event *e)
{
    if (is_turn_whole(p)) {
        wait_for_turn(p, e);
    } else if (brings_in_turn(p, e->worker)) {
        p->brings[e->worker] = *e;
        take_bringing(p);
    } else if (brings_by_turns(p, e->worker)) {
        tutti_due_heap_add(&p->ready,
                           (tutti_due){e->at + tutti_flows_latency(p->flows, 2 * (int64_t)e->worker), e->worker});
        take_ready(p);
    } else {
        travel(p, e->worker, e->at, IS_THERE);
    }
}

/* Plays that the worker's vector has arrived: the worker visits when the centre is free. */
static void visit(play *p, const event *e)
{
    if (is_in_rank_order(p) && !is_turn_whole(p)) {
        wait_for_turn(p, e);
        return;
    }
    const double visit_s = visit_seconds(p, e->worker);
    const bool waits = p->run->admission == TUTTI_ADMIT_BY_ARRIVAL && p->free_at > e->at;
    const double in = waits ? p->free_at : e->at;
    p->waited_s += in - e->at;
    if (!is_in_rank_order(p)) p->free_at = in + visit_s;
    push(p, (event){in + visit_s, e->worker, LEAVES});
}

/* Plays that rank 0 checks the vector of a worker of another host before its visit. Other workers may visit
 * meanwhile. */
static void look_at(play *p, const event *e)
{
    if (brings_in_turn(p, e->worker)) {
        p->nbrought++;
        p->is_on_way = false;
        p->granted_at = e->at;
        take_bringing(p);
    }
    if (brings_by_turns(p, e->worker)) {
        p->is_on_way = false;
        p->granted_at = e->at;
        take_ready(p);
    }
    if (is_far(p, e->worker))
        push(p, (event){e->at + p->run->far->look_s, e->worker, IS_LOOKED_AT});
    else
        visit(p, e);
}

static void end_turn(play *p, double now)
{
    p->free_at = now;
    take_turns(p, now);
}

static void leave(play *p, const event *e)
{
    if (is_in_rank_order(p) && !is_turn_whole(p)) end_turn(p, e->at);
    travel(p, e->worker, e->at, IS_BACK);
}

static void come_back(play *p, const event *e)
{
    const tutti_async_run *r = p->run;
    push(p, (event){e->at + of(p, e->worker, r->after_s, r->far ? r->far->after_s : 0), e->worker, ENDS});
    if (is_turn_whole(p)) end_turn(p, e->at);
}

/* Called when all workers have done one local step more than the slowest worker had before. */
static void raise_least(play *p, double now)
{
    p->least++;
    p->nleast = 0;
    for (int w = 0; w < p->run->nworkers; w++) p->nleast += p->done[w] == p->least;
    for (int w = 0; w < p->run->nworkers && p->run->is_paced; w++) {
        if (!p->is_held[w]) continue;
        p->is_held[w] = false;
        p->waited_s += now - p->held_at[w];
        begin(p, w, now);
    }
}

static void end(play *p, const event *e)
{
    const bool was_least = p->done[e->worker]++ == p->least;
    const int64_t ahead = p->done[e->worker] - p->least;
    if (ahead > p->most_ahead) p->most_ahead = ahead;
    if (was_least && --p->nleast == 0) raise_least(p, e->at);
    begin(p, e->worker, e->at);
}

static void play_event(play *p, const event *e)
{
    switch (e->want) {
    case COMES: come(p, e); break;
    case SETS_OUT: travel(p, e->worker, e->at, IS_THERE); break;
    case IS_THERE: look_at(p, e); break;
    case IS_LOOKED_AT: visit(p, e); break;
    case LEAVES: leave(p, e); break;
    case IS_BACK: come_back(p, e); break;
    case ENDS: end(p, e); break;
    }
}

static tutti_flows *create_flows(const tutti_async_run *run, tutti_arena *work)
{
    if (!run->network) return NULL;
    tutti_flow_route *routes = TUTTI_ARENA_NEW(work, tutti_flow_route, 2 * (int64_t)run->nworkers);
    for (int w = 0; w < run->nworkers; w++) {
        routes[2 * w] = (tutti_flow_route){w, 0, 0};
        routes[2 * w + 1] = (tutti_flow_route){0, w, 0};
    }
    tutti_flows *flows = tutti_flows_create(run->network, run->nworkers, routes, 2 * (int64_t)run->nworkers);
    if (run->nworkers <= TUTTI_ASYNC_FEW) tutti_flows_prefer_earlier(flows);
    return flows;
}

tutti_async_time tutti_async_run_play(const tutti_async_run *run, int64_t nsteps)
{
    const int n = run->nworkers;
    const int64_t all = nsteps * n, first = all / 4;
    tutti_arena arena = {0};
    play p = {.run = run,
              .nleast = n,
              .done = TUTTI_ARENA_NEW(&arena, int64_t, n),
              .is_held = TUTTI_ARENA_NEW(&arena, bool, n),
              .held_at = TUTTI_ARENA_NEW(&arena, double, n),
              .turns = TUTTI_ARENA_NEW(&arena, event, n),
              .brings = TUTTI_ARENA_NEW(&arena, event, n),
              .sent_at = TUTTI_ARENA_NEW(&arena, double, n),
              .flows = create_flows(run, &arena)};
    double began = 0, ended = 0, waited = 0, travelled = 0;
    for (int w = 0; w < n; w++) p.turns[w].worker = p.brings[w].worker = -1;
    for (int w = 0; w < n; w++) begin(&p, w, 0);
    for (int64_t played = 0; played < all;) {
        if (p.flows && tutti_flows_end_by(p.flows, p.next.n ? p.next.at[0].when : INFINITY)) {
            push(&p, arrive(&p));
            continue;
        }
        const event e = pop(&p);
        play_event(&p, &e);
        if (e.want != ENDS) continue;
        played++;
        ended = e.at;
        if (played == first) began = e.at, waited = p.waited_s, travelled = p.travelled_s;
    }
    tutti_flows_destroy(p.flows);
    tutti_due_heap_release(&p.next);
    tutti_due_heap_release(&p.ready);
    tutti_arena_release(&arena);
    const double steps = (double)(all - first) / n;
    return (tutti_async_time){.step_s = (ended - began) / steps,
                              .waits_s = (p.waited_s - waited) / n / steps,
                              .travels_s = (p.travelled_s - travelled) / n / steps,
                              .most_ahead = p.most_ahead};
}
