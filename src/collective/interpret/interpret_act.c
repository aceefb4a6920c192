/* SPDX-License-Identifier: Apache-2.0 */
/* interpret_act.c: plays one action of one actor: it reads or writes an element (or slice), signals, waits, or offers a
 * message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "interpret_impl.h"

static tutti_word *word_at(tutti_run *run, const tutti_slice *s, int32_t invocation)
{
    const tutti_world *w = run->world;
    int32_t banks = w->parts[s->rank].buffers[s->buffer].banks;
    return run->state.words + w->place[s->rank][s->buffer] + (invocation % banks) * w->n;
}

typedef struct {
    int32_t actor, rank, invocation;
    const tutti_actor *a;
    const tutti_part *part;
    const tutti_step *step;
    int32_t index; /* index of the step */
    tutti_actor_state *state;
    tutti_word *registers;
} position;

static position locate(tutti_run *run, int32_t actor)
{
    const tutti_world *w = run->world;
    position p = {.actor = actor, .a = &w->actors[actor], .state = &run->state.actors[actor]};
    p.rank = p.a->actor_rank;
    p.part = &w->parts[p.rank];
    p.invocation = run->state.ranks[p.rank].completed;
    p.registers = run->state.registers + (size_t)actor * (size_t)((w->max_inputs + 1) * w->chunk);
    p.index = p.a->sequence >= 0 && p.state->at < p.a->nsteps ? p.a->steps[p.state->at] : -1;
    p.step = p.index >= 0 ? &p.part->steps[p.index] : NULL;
    return p;
}

static void end_of_sequence(tutti_run *run, const position *p)
{
    tutti_rank_state *rank = &run->state.ranks[p->rank];
    const tutti_world *w = run->world;
    if (--rank->running > 0) return;
    if (!tutti_run_may_end(run, p->rank)) return;
    rank->completed++;
    memset(run->state.done + w->first_done[p->rank], 0, (size_t)p->part->nsteps);
    if (rank->completed == w->ninvocations) return;
    rank->running = tutti_world_nrunning(w, p->rank);
    for (int32_t a = w->first_actor[p->rank]; a < w->first_actor[p->rank + 1] - 2; a++)
        run->state.actors[a] = (tutti_actor_state){0, 0};
}

static tutti_act complete(tutti_run *run, const position *p)
{
    run->state.done[run->world->first_done[p->rank] + p->index] = 1;
    memset(p->registers, 0, sizeof(tutti_word) * (size_t)((run->world->max_inputs + 1) * run->world->chunk));
    p->state->at++;
    p->state->micro = 0;
    if (p->state->at == p->a->nsteps) end_of_sequence(run, p);
    return TUTTI_ACT_DONE;
}

static bool may_start(const tutti_run *run, const position *p)
{
    const tutti_rank_state *rank = &run->state.ranks[p->rank];
    if ((p->step->when & TUTTI_WHEN_READY) && rank->ready <= rank->completed) return false;
    if ((p->step->when & TUTTI_WHEN_FREE) && rank->is_free <= rank->completed) return false;
    for (int32_t k = 0; k < p->step->ndeps; k++)
        if (!run->state.done[run->world->first_done[p->rank] + p->part->deps[p->step->first_dep + k]]) return false;
    return true;
}

/* Elements [*from, *to) of the slice that chunk `at` moves; false if there is no such chunk. */
static bool chunk_of(const tutti_world *w, const tutti_slice *s, int64_t at, int64_t *from, int64_t *to)
{
    int64_t lo, hi;
    tutti_world_range(s, w->n, &lo, &hi);
    *from = lo + at * w->chunk;
    *to = *from + w->chunk < hi ? *from + w->chunk : hi;
    return *from < hi;
}

static void put_into_flight(tutti_run *run, const position *p, int64_t to, tutti_word value)
{
    int32_t line = run->world->line_of[p->rank][p->index];
    run->flights = tutti_grow(run->flights, run->nflights, &run->flights_capacity, sizeof *run->flights);
    run->flights[run->nflights++] = (tutti_word_flight){to, value, line, run->state.lines[line].given + 1};
}

/* Plays a copy, reduce or put: for each chunk, each input is read, then each output is written. */
static tutti_act act_move(tutti_run *run, const position *p)
{
    const tutti_world *w = run->world;
    const tutti_step *s = p->step;
    int32_t per_chunk = s->nins + s->nouts, k = p->state->micro % per_chunk, at = p->state->micro / per_chunk,
            depth = 0;
    int64_t from, to;
    const tutti_slice *slice = &p->part->slices[k < s->nins ? s->first_in + k : s->first_out + k - s->nins];
    if (!chunk_of(w, slice, at, &from, &to)) return complete(run, p);
    tutti_word *memory = word_at(run, slice, p->invocation) + from;
    p->state->micro++;
    if (k >= s->nins) {
        for (int64_t i = 0; i < to - from; i++)
            if (s->kind == TUTTI_STEP_PUT)
                put_into_flight(run, p, memory + i - run->state.words, p->registers[i]);
            else
                memory[i] = p->registers[i];
        return TUTTI_ACT_DONE;
    }
    for (int32_t i = 0; s->kind == TUTTI_STEP_REDUCE && i < k; i++) depth += 1 - p->part->folds[s->first_fold + i];
    memcpy(p->registers + depth * w->chunk, memory, sizeof *memory * (size_t)(to - from));
    for (int32_t f = s->kind == TUTTI_STEP_REDUCE ? p->part->folds[s->first_fold + k] : 0; f > 0; f--, depth--)
        for (int64_t i = 0; i < to - from; i++) {
            tutti_word *older = &p->registers[(depth - 1) * w->chunk + i];
            *older = tutti_world_add(*older, p->registers[depth * w->chunk + i]);
        }
    return TUTTI_ACT_DONE;
}

static void land_flights(tutti_run *run, int32_t line, int32_t ordinal)
{
    for (int32_t i = 0; i < run->nflights;) {
        if (run->flights[i].line != line || run->flights[i].ordinal > ordinal) {
            i++;
            continue;
        }
        run->state.words[run->flights[i].to] = run->flights[i].value;
        run->flights[i] = run->flights[--run->nflights];
    }
}

static tutti_act act_wait(tutti_run *run, const position *p)
{
    int32_t l = run->world->line_of[p->rank][p->index];
    tutti_line_state *line = &run->state.lines[l];
    if (line->given <= line->taken) return TUTTI_ACT_BLOCKED;
    land_flights(run, l, ++line->taken);
    return complete(run, p);
}

static tutti_act act_say(tutti_run *run, const position *p, const char *what)
{
    run->wrong = true;
    snprintf(run->world->text, TUTTI_VERDICT_TEXT, "rank %d step %d, invocation %d: %s", p->rank, p->index,
             p->invocation, what);
    return TUTTI_ACT_DONE;
}

static tutti_act act_send(tutti_run *run, const position *p)
{
    const tutti_world *w = run->world;
    int32_t l = w->line_of[p->rank][p->index];
    tutti_line_state *line = &run->state.lines[l];
    const tutti_slice *slice = &p->part->slices[p->step->first_in];
    int64_t lo, hi, from, to;
    tutti_world_range(slice, w->n, &lo, &hi);
    if (w->capacity == 0) { /* offers the message; the receiver sets micro to 2 when it has received it */
        if (p->state->micro == 2) return complete(run, p);
        if (p->state->micro == 1 || line->sender) return TUTTI_ACT_BLOCKED;
        line->sender = p->actor + 1;
        p->state->micro = 1;
        return TUTTI_ACT_DONE;
    }
    tutti_parcel **partial = &run->partial[p->actor];
    if (!*partial) {
        if (line->queued >= w->capacity) return TUTTI_ACT_BLOCKED;
        *partial = tutti_alloc(sizeof **partial + sizeof(tutti_word) * (size_t)(hi - lo));
    }
    if (chunk_of(w, slice, p->state->micro, &from, &to)) {
        memcpy((*partial)->words + (from - lo), word_at(run, slice, p->invocation) + from,
               sizeof(tutti_word) * (size_t)(to - from));
        p->state->micro++;
        return TUTTI_ACT_DONE;
    }
    (*partial)->nwords = hi - lo;
    tutti_parcel **last = &run->parcels[l];
    while (*last) last = &(*last)->next;
    *last = *partial;
    *partial = NULL;
    line->queued++;
    return complete(run, p);
}

/* Receives element by element: from the sender's memory into a register, from the register into own memory. */
static tutti_act receive_offered(tutti_run *run, const position *p, tutti_line_state *line)
{
    const tutti_world *w = run->world;
    position sender = locate(run, line->sender - 1);
    const tutti_slice *source = &sender.part->slices[sender.step->first_in],
                      *target = &p->part->slices[p->step->first_out];
    int64_t from, to, source_from, source_to;
    bool more = chunk_of(w, target, p->state->micro / 2, &from, &to);
    bool has = chunk_of(w, source, p->state->micro / 2, &source_from, &source_to);
    if (more != has || (more && to - from != source_to - source_from))
        return act_say(run, p, "receives another length than is sent");
    if (!more) {
        line->sender = 0;
        sender.state->micro = 2;
        return complete(run, p);
    }
    size_t bytes = sizeof(tutti_word) * (size_t)(to - from);
    if (p->state->micro % 2 == 0)
        memcpy(p->registers, word_at(run, source, sender.invocation) + source_from, bytes);
    else
        memcpy(word_at(run, target, p->invocation) + from, p->registers, bytes);
    p->state->micro++;
    return TUTTI_ACT_DONE;
}

static tutti_act act_recv(tutti_run *run, const position *p)
{
    int32_t l = run->world->line_of[p->rank][p->index];
    tutti_line_state *line = &run->state.lines[l];
    if (run->world->capacity == 0) return line->sender ? receive_offered(run, p, line) : TUTTI_ACT_BLOCKED;
    tutti_parcel *parcel = run->parcels[l];
    if (!parcel) return TUTTI_ACT_BLOCKED;
    const tutti_slice *target = &p->part->slices[p->step->first_out];
    int64_t lo, hi, from, to;
    tutti_world_range(target, run->world->n, &lo, &hi);
    if (parcel->nwords != hi - lo) return act_say(run, p, "receives another length than is sent");
    if (chunk_of(run->world, target, p->state->micro, &from, &to)) {
        memcpy(word_at(run, target, p->invocation) + from, parcel->words + (from - lo),
               sizeof(tutti_word) * (size_t)(to - from));
        p->state->micro++;
        return TUTTI_ACT_DONE;
    }
    run->parcels[l] = parcel->next;
    line->queued--;
    free(parcel);
    return complete(run, p);
}

static tutti_act act_sequence(tutti_run *run, const position *p)
{
    tutti_rank_state *rank = &run->state.ranks[p->rank];
    if (rank->completed == run->world->ninvocations) return TUTTI_ACT_OVER;
    if (!p->step) {
        bool empty = p->part->nsteps == 0 && p->a->sequence == 0;
        if (!empty) return TUTTI_ACT_BLOCKED;
        end_of_sequence(run, p);
        return TUTTI_ACT_DONE;
    }
    if (p->state->micro == 0 && !may_start(run, p)) return TUTTI_ACT_BLOCKED;
    switch (p->step->kind) {
    case TUTTI_STEP_SEND: return act_send(run, p);
    case TUTTI_STEP_RECV: return act_recv(run, p);
    case TUTTI_STEP_WAIT: return act_wait(run, p);
    case TUTTI_STEP_PUT:
    case TUTTI_STEP_REDUCE:
    case TUTTI_STEP_COPY: return act_move(run, p);
    case TUTTI_STEP_SIGNAL: run->state.lines[run->world->line_of[p->rank][p->index]].given++; return complete(run, p);
    case TUTTI_STEP_NOP:
    case TUTTI_NSTEP_KINDS: break;
    }
    return complete(run, p);
}

tutti_act tutti_run_act(tutti_run *run, int32_t actor)
{
    position p = locate(run, actor);
    if (p.a->sequence == TUTTI_SCRIBBLER) return tutti_run_scribble(run, actor);
    if (p.a->sequence == TUTTI_FEEDER) return tutti_run_feed(run, actor);
    return act_sequence(run, &p);
}

static bool touches_shared(const tutti_world *w, const tutti_slice *s, int64_t at)
{
    int64_t from, to;
    if (!chunk_of(w, s, at, &from, &to)) return false;
    for (int64_t i = from; i < to; i++)
        if (w->shared[w->place[s->rank][s->buffer] + i]) return true;
    return false;
}

bool tutti_run_is_shared(tutti_run *run, int32_t actor)
{
    position p = locate(run, actor);
    const tutti_world *w = run->world;
    if (p.a->sequence < 0) return true;
    if (!p.step || (p.state->micro == 0 && !may_start(run, &p))) return false;
    const tutti_step *s = p.step;
    int32_t micro = p.state->micro, per_chunk = s->nins + s->nouts;
    if (s->kind == TUTTI_STEP_RECV && micro % 2 == 1)
        return touches_shared(w, &p.part->slices[s->first_out], micro / 2);
    if (s->kind == TUTTI_STEP_RECV) {
        int32_t offer = run->state.lines[w->line_of[p.rank][p.index]].sender;
        if (!offer) return false;
        position sender = locate(run, offer - 1);
        return touches_shared(w, &sender.part->slices[sender.step->first_in], micro / 2);
    }
    if (s->kind != TUTTI_STEP_REDUCE && s->kind != TUTTI_STEP_COPY) return false;
    int32_t k = micro % per_chunk;
    return touches_shared(w, &p.part->slices[k < s->nins ? s->first_in + k : s->first_out + k - s->nins],
                          micro / per_chunk);
}

bool tutti_run_is_over(const tutti_run *run)
{
    for (int32_t r = 0; r < run->world->nranks; r++)
        if (run->state.ranks[r].completed < run->world->ninvocations ||
            run->state.ranks[r].judged < run->world->ninvocations)
            return false;
    return true;
}

void tutti_run_say_hang(tutti_run *run)
{
    run->wrong = true;
    for (int32_t a = 0; a < run->world->nactors; a++) {
        position p = locate(run, a);
        if (p.a->sequence < 0 || !p.step || p.invocation == run->world->ninvocations) continue;
        snprintf(run->world->text, TUTTI_VERDICT_TEXT, "hang: rank %d is at step %d of invocation %d for ever", p.rank,
                 p.index, p.invocation);
        return;
    }
}
