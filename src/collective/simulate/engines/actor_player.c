/* SPDX-License-Identifier: Apache-2.0 */
/* actor_player.c: plays one rank's steps as a process. A step of a sequence is idle until its predecessors are done,
 * then waits for its turn, travels, arrives, or works. */
#include "actor_player.h"

#include <math.h>
#include <stdlib.h>

struct tutti_actor_sequence {
    int32_t at, end; /* indices: of the sequence's current step, and of the step behind its last */
    enum { IDLE, QUEUED, TRAVELS, ARRIVES, WANTS_CORE, WORKS } phase;
    int32_t left;  /* number of parts of the step's message that still travel */
    double turn_s; /* in phase QUEUED: seconds left of the message's turn on its lane */
    double due;    /* time at which the phase ARRIVES or WORKS ends */
};
typedef tutti_actor_sequence sequence;

void tutti_actor_player_begin(const tutti_actor_problem *p, int32_t rank, uint8_t *done, const tutti_actor_wire *wire,
                              void *with, tutti_actor_player *out)
{
    const tutti_actor_rank *own = &p->ranks[rank];
    const int64_t nsteps = own[1].first_step - own->first_step;
    *out = (tutti_actor_player){.p = p,
                                .wire = wire,
                                .with = with,
                                .steps = p->steps + own->first_step,
                                .deps = p->deps + own->first_dep,
                                .done = done + own->first_step,
                                .late_s = own->late_s,
                                .lanes = {{.serves = -1}, {.serves = -1}}};
    for (int64_t i = 0; i < nsteps; i++) out->nsequences += out->steps[i].begins;
    out->sequences = calloc((size_t)out->nsequences + 1, sizeof *out->sequences);
    if (!out->sequences) abort();
    for (int64_t i = 0; i < nsteps; i++) {
        if (out->steps[i].begins) out->sequences[out->nopen++].at = (int32_t)i;
        out->sequences[out->nopen - 1].end = (int32_t)i + 1;
    }
}

void tutti_actor_player_release(tutti_actor_player *q)
{
    free(q->sequences);
}

static void complete(tutti_actor_player *q, sequence *s)
{
    q->done[s->at++] = 1;
    s->phase = IDLE;
    q->nopen -= s->at == s->end;
}

static bool is_ready(const tutti_actor_player *q, const tutti_actor_step *step)
{
    for (int32_t i = 0; i < step->ndeps; i++)
        if (!q->done[q->deps[step->first_dep + i]]) return false;
    return true;
}

static bool sends(const tutti_actor_step *step)
{
    return step->kind == TUTTI_ACTOR_SEND || step->kind == TUTTI_ACTOR_SIGNAL;
}

static bool is_message(const tutti_actor_step *step)
{
    return sends(step) || step->kind == TUTTI_ACTOR_RECV || step->kind == TUTTI_ACTOR_WAIT;
}

static void load(tutti_actor_player *q, sequence *s, const tutti_actor_step *step)
{
    s->phase = TRAVELS;
    s->left = step->nloads;
    for (int32_t i = 0; i < step->nloads; i++)
        q->wire->load(q->with, &q->p->loads[step->at + i], (int32_t)(s - q->sequences));
}

/* Hands a message to the transport; a signal, which waits for no receiver, has then ended. */
static void post(tutti_actor_player *q, sequence *s)
{
    const tutti_actor_step *step = &q->steps[s->at];
    const int32_t tag = (int32_t)(s - q->sequences);
    s->phase = TRAVELS;
    s->left = 1;
    if (step->kind == TUTTI_ACTOR_SEND) {
        q->wire->send(q->with, step->at, step->amount, tag);
    } else if (step->kind == TUTTI_ACTOR_SIGNAL) {
        q->wire->signal(q->with, step->at, step->amount);
        complete(q, s);
    } else {
        s->left = q->p->head->nparts;
        q->wire->receive(q->with, step->at, tag);
    }
}

static void enqueue(tutti_actor_player *q, sequence *s)
{
    s->turn_s = q->p->head->soft_s;
    s->phase = QUEUED;
    if (s->turn_s <= 0) post(q, s);
}

/* Returns the sequence of the earliest stage among those in a phase; for idle ones, among those that could begin a
 * message. */
static sequence *earliest(const tutti_actor_player *q, int phase)
{
    sequence *first = NULL;
    for (int32_t i = 0; i < q->nsequences; i++) {
        sequence *s = &q->sequences[i];
        if (s->at == s->end || (int)s->phase != phase) continue;
        const tutti_actor_step *step = &q->steps[s->at];
        if (phase == IDLE && (!is_message(step) || !is_ready(q, step))) continue;
        if (!first || step->stage < q->steps[first->at].stage) first = s;
    }
    return first;
}

/* Begins all steps that can begin and are no message. False: none did. */
static bool begin_others(tutti_actor_player *q)
{
    bool began = false;
    for (int32_t i = 0; i < q->nsequences; i++) {
        sequence *s = &q->sequences[i];
        while (s->at < s->end && s->phase == IDLE) {
            const tutti_actor_step *step = &q->steps[s->at];
            if (is_message(step) || !is_ready(q, step)) break;
            began = true;
            if (step->kind == TUTTI_ACTOR_LOAD)
                load(q, s, step);
            else if (step->kind == TUTTI_ACTOR_WORK && step->amount > 0)
                s->phase = WANTS_CORE;
            else
                complete(q, s);
        }
    }
    return began;
}

/* Returns the message of a lane with the earliest stage. A message of a later stage whose turn had begun waits until
 * the lane is free again. */
static sequence *next_turn(const tutti_actor_player *q, int lane)
{
    sequence *first = NULL;
    for (int32_t i = 0; i < q->nsequences; i++) {
        sequence *s = &q->sequences[i];
        if (s->phase != QUEUED || sends(&q->steps[s->at]) != (lane == 0)) continue;
        if (!first || q->steps[s->at].stage < q->steps[first->at].stage) first = s;
    }
    return first;
}

static void lanes_go_on(tutti_actor_player *q, double now)
{
    for (int lane = 0; lane < 2; lane++) {
        if (q->lanes[lane].serves >= 0) q->sequences[q->lanes[lane].serves].turn_s -= now - q->lanes[lane].since_s;
        q->lanes[lane].since_s = now;
    }
}

/* Posts the messages whose turn on their lane is over. */
static bool lanes_post(tutti_actor_player *q)
{
    bool posted = false;
    for (int lane = 0; lane < 2; lane++) {
        sequence *s = next_turn(q, lane);
        for (; s && s->turn_s <= q->p->head->precision_s; s = next_turn(q, lane)) post(q, s), posted = true;
        q->lanes[lane].serves = s ? (int32_t)(s - q->sequences) : -1;
    }
    return posted;
}

/* Ends the steps whose time has come by now. */
static bool take_due(tutti_actor_player *q, double now)
{
    bool took = false;
    for (int32_t i = 0; i < q->nsequences; i++) {
        sequence *s = &q->sequences[i];
        if ((s->phase != ARRIVES && s->phase != WORKS) || s->due > now + q->p->head->precision_s) continue;
        took = true;
        if (s->phase == ARRIVES && q->steps[s->at].kind == TUTTI_ACTOR_LOAD && q->steps[s->at].amount > 0)
            s->phase = WANTS_CORE;
        else
            complete(q, s);
    }
    return took;
}

/* Lets the core work on the step of the earliest stage among those that wait for the core. */
static bool work(tutti_actor_player *q, double now)
{
    if (q->core_s > now + q->p->head->precision_s) return false;
    sequence *s = earliest(q, WANTS_CORE);
    if (!s) return false;
    s->phase = WORKS;
    s->due = q->core_s = now + q->steps[s->at].amount;
    return true;
}

double tutti_actor_player_go(tutti_actor_player *q, double now)
{
    double next = INFINITY;
    bool goes_on = now >= q->late_s - q->p->head->precision_s;
    if (!goes_on) return q->late_s;
    lanes_go_on(q, now);
    while (goes_on) {
        for (sequence *s; (s = earliest(q, IDLE));) enqueue(q, s);
        goes_on = begin_others(q);
        goes_on |= take_due(q, now);
        goes_on |= lanes_post(q);
        goes_on |= work(q, now);
    }
    for (int32_t i = 0; i < q->nsequences; i++) {
        const sequence *s = &q->sequences[i];
        if (s->phase == ARRIVES || s->phase == WORKS) next = fmin(next, s->due);
    }
    for (int lane = 0; lane < 2; lane++)
        if (q->lanes[lane].serves >= 0) next = fmin(next, now + q->sequences[q->lanes[lane].serves].turn_s);
    return next;
}

void tutti_actor_player_ended(tutti_actor_player *q, int32_t tag, double now)
{
    sequence *s = &q->sequences[tag];
    const tutti_actor_step *step = &q->steps[s->at];
    double latency_s = 0;
    if (--s->left) return;
    if (step->kind != TUTTI_ACTOR_LOAD) latency_s = q->p->lines[step->at].latency_s;
    for (int32_t i = 0; i < step->nloads; i++) latency_s = fmax(latency_s, q->p->loads[step->at + i].latency_s);
    s->phase = ARRIVES;
    s->due = now + (q->p->head->tcp ? 0 : latency_s);
}
