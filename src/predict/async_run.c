/* SPDX-License-Identifier: Apache-2.0 */
/* async_run.c: a heap of events: a worker has computed so far that it wants to be let in, or has ended a step. */
#include "async_run.h"

#include <stdlib.h>

#include "../base/arena.h"

typedef enum { COMES, ENDS } want;

typedef struct {
    double at;
    int worker;
    want want;
} event;

typedef struct {
    const tutti_async_run *run;
    event *heap;
    int n;
    int64_t *done;   /* a worker: local steps */
    bool *is_held;   /* a worker: waits for who is behind */
    double *held_at; /* since when */
    event *turns;    /* in rank order: who has come and must wait for its turn; worker -1 = nobody */
    int64_t nvisits; /* that have begun, in rank order */
    double free_at;  /* when the centre is */
    double waited_s;
    int64_t least; /* local steps that all have done */
    int nleast;    /* workers that have done no more */
    int64_t most_ahead;
} play;

/* Equal moments: the lower rank first, as in rank order. */
static bool is_sooner(const event *a, const event *b)
{
    return a->at < b->at || (a->at == b->at && a->worker < b->worker);
}

static void push(play *p, event e)
{
    int i = p->n++;
    while (i > 0 && is_sooner(&e, &p->heap[(i - 1) / 2])) {
        p->heap[i] = p->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    p->heap[i] = e;
}

static event pop(play *p)
{
    const event first = p->heap[0], last = p->heap[--p->n];
    int i = 0;
    for (int child; (child = 2 * i + 1) < p->n; i = child) {
        if (child + 1 < p->n && is_sooner(&p->heap[child + 1], &p->heap[child])) child++;
        if (!is_sooner(&p->heap[child], &last)) break;
        p->heap[i] = p->heap[child];
    }
    p->heap[i] = last;
    return first;
}

static double slowness(const play *p, int worker)
{
    return p->run->slowness ? p->run->slowness[worker] : 1;
}

/* Its step begins now, as far as it may. */
static void begin(play *p, int worker, double now)
{
    const tutti_async_run *r = p->run;
    const bool visits = (p->done[worker] + 1) % r->period == 0;
    if (r->is_paced && p->done[worker] - p->least > r->staleness) {
        p->is_held[worker] = true;
        p->held_at[worker] = now;
        return;
    }
    const double computes_s = slowness(p, worker) * (visits ? r->before_s : r->other_s);
    push(p, (event){now + computes_s, worker, visits ? COMES : ENDS});
}

/* Let in at that moment, which is not before the centre is free. */
static void visit(play *p, const event *e, double now)
{
    const double in = p->run->admission == TUTTI_ADMIT_EVERYBODY || p->free_at < now ? now : p->free_at;
    p->waited_s += in - e->at;
    p->free_at = in + p->run->visit_s;
    push(p, (event){p->free_at + slowness(p, e->worker) * p->run->after_s, e->worker, ENDS});
}

static void come(play *p, const event *e)
{
    if (p->run->admission != TUTTI_ADMIT_IN_RANK_ORDER) {
        visit(p, e, e->at);
        return;
    }
    p->turns[e->worker] = *e;
    for (event *next; (next = &p->turns[p->nvisits % p->run->nworkers])->worker >= 0; p->nvisits++) {
        visit(p, next, e->at);
        next->worker = -1;
    }
}

/* All have done one more than the least that some had done so far. */
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

tutti_async_time tutti_async_run_play(const tutti_async_run *run, int64_t nsteps)
{
    const int n = run->nworkers;
    const int64_t all = nsteps * n, first = all / 4;
    tutti_arena arena = {0};
    play p = {.run = run,
              .nleast = n,
              .heap = TUTTI_ARENA_NEW(&arena, event, 2 * n),
              .done = TUTTI_ARENA_NEW(&arena, int64_t, n),
              .is_held = TUTTI_ARENA_NEW(&arena, bool, n),
              .held_at = TUTTI_ARENA_NEW(&arena, double, n),
              .turns = TUTTI_ARENA_NEW(&arena, event, n)};
    double began = 0, ended = 0, waited = 0;
    for (int w = 0; w < n; w++) p.turns[w].worker = -1;
    for (int w = 0; w < n; w++) begin(&p, w, 0);
    for (int64_t played = 0; played < all;) {
        const event e = pop(&p);
        if (e.want == COMES) {
            come(&p, &e);
            continue;
        }
        end(&p, &e);
        played++;
        ended = e.at;
        if (played == first) began = e.at, waited = p.waited_s;
    }
    tutti_arena_release(&arena);
    const double steps = (double)(all - first) / n;
    return (tutti_async_time){
        .step_s = (ended - began) / steps, .waits_s = (p.waited_s - waited) / n / steps, .most_ahead = p.most_ahead};
}
