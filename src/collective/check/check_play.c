/* SPDX-License-Identifier: Apache-2.0 */
/* check_play.c: plays a step: the effect of each kind on cells, channels and clocks. */
#include "check_impl.h"

static const int32_t *folds(const int32_t *args)
{
    return tutti_check_outputs(args) + args[2];
}

bool tutti_check_give_up(tutti_checker *c, const tutti_channel *ch, const char *what)
{
    c->finished = true;
    tutti_fail(c->err, TUTTI_ERR_FAILED, "channel %d from rank %d to rank %d: %s", ch->number, ch->src, ch->dst, what);
    return false;
}

/* Checks that operations on one end of a channel are ordered; otherwise the pairs would depend on the interleaving. */
bool tutti_check_in_order(tutti_checker *c, const tutti_channel *ch, const tutti_clock *t, int32_t *last,
                          int32_t *clock, const char *what)
{
    c->suspicion = *last >= 0 && tutti_clock_of(t, *last) < *clock;
    if (c->suspicion) return tutti_check_give_up(c, ch, what);
    *last = t->thread;
    return true;
}

/* Computes the results of the step from its inputs and stores them in c->pieces. */
static void evaluate(tutti_checker *c, const tutti_check_step *s, const int32_t *args, int32_t e)
{
    const int32_t *in = tutti_check_inputs(args), *fold = folds(args);
    c->npieces = 0;
    for (int32_t at = s->lo, ncells; at < s->hi; at += ncells) {
        int32_t depth = 0;
        ncells = s->hi - at;
        for (int32_t k = 0; k < args[1]; k++) tutti_runs_value(c, tutti_cell_at(c, in[k], e, at), &ncells);
        for (int32_t k = 0; k < args[1]; k++) {
            c->stack[depth++] = tutti_runs_value(c, tutti_cell_at(c, in[k], e, at), &ncells);
            for (int32_t f = 0; s->kind == TUTTI_STEP_REDUCE && f < fold[k]; f++) {
                depth--;
                c->stack[depth - 1] = tutti_values_add(&c->values, c->stack[depth - 1], c->stack[depth]);
            }
        }
        if (c->source->rounds_sums && s->kind == TUTTI_STEP_REDUCE)
            c->stack[0] = tutti_values_round(&c->values, c->stack[0]);
        tutti_pieces_add(c, c->stack[0], ncells);
    }
}

static bool play_moves(tutti_checker *c, tutti_thread *t, const tutti_check_step *s)
{
    const int32_t *args = c->ranks[t->rank].args + s->args, e = c->ranks[t->rank].invocation;
    if (s->lo == s->hi) return true;
    for (int32_t k = 0; k < args[1]; k++)
        if (!tutti_access_read(c, t, s, tutti_check_inputs(args)[k])) return false;
    evaluate(c, s, args, e);
    for (int32_t k = 0; k < args[2]; k++)
        if (!tutti_access_write(c, t, s, tutti_check_outputs(args)[k])) return false;
    return true;
}

bool tutti_check_same_message(tutti_checker *c, const tutti_channel *ch, const tutti_check_step *send,
                              const tutti_check_step *recv)
{
    if (send->lo != recv->lo || send->hi != recv->hi) {
        c->finished = true;
        tutti_fail(c->err, TUTTI_ERR_FAILED, "rank %d step %d sends another slice than rank %d step %d receives",
                   ch->src, send->index, ch->dst, recv->index);
        return false;
    }
    return send->hint == recv->hint || tutti_check_give_up(c, ch, "the two ends of a message carry different hints");
}

/* Moves a message once its send and its recv have both been reached. */
static bool transfer(tutti_checker *c, tutti_thread *from, const tutti_check_step *send, tutti_thread *to,
                     const tutti_check_step *recv)
{
    tutti_channel *ch = &c->channels[send->channel];
    if (!tutti_check_same_message(c, ch, send, recv)) return false;
    int32_t source = tutti_check_inputs(c->ranks[from->rank].args + send->args)[0];
    int32_t target = tutti_check_outputs(c->ranks[to->rank].args + recv->args)[0];
    if (!tutti_check_in_order(c, ch, &from->clock, &ch->gave_thread, &ch->gave_clock, "two sends are not ordered") ||
        !tutti_check_in_order(c, ch, &to->clock, &ch->took_thread, &ch->took_clock, "two receives are not ordered"))
        return false;
    bool empty = send->lo == send->hi;
    if (!empty && !tutti_access_read(c, from, send, source)) return false;
    ch->gave_clock = tutti_clock_event(&from->clock);
    tutti_news news = tutti_clock_tell(&from->clock);
    news.depth++;
    tutti_clock_hear(&c->clocks, &to->clock, &news);
    tutti_clock_drop(&c->clocks, &news);
    ch->took_clock = tutti_clock_event(&to->clock);
    c->npieces = 0;
    for (int32_t at = send->lo, ncells; at < send->hi; at += ncells) {
        ncells = send->hi - at;
        int64_t cell = tutti_cell_at(c, source, c->ranks[from->rank].invocation, at);
        uint32_t value = tutti_runs_value(c, cell, &ncells);
        tutti_pieces_add(c, value, ncells);
    }
    if (!empty && !tutti_access_write(c, to, recv, target)) return false;
    ch->ngiven++;
    ch->ntaken++;
    return true;
}

static bool play_message(tutti_checker *c, int32_t thread, const tutti_check_step *s)
{
    tutti_channel *ch = &c->channels[s->channel];
    bool sends = s->kind == TUTTI_STEP_SEND;
    int32_t *mine = sends ? &ch->giver : &ch->taker, *theirs = sends ? &ch->taker : &ch->giver;
    if (*mine >= 0 && *mine != thread)
        return tutti_check_give_up(c, ch, sends ? "two sends at a time" : "two receives at a time");
    if (*theirs < 0) {
        *mine = thread;
        return false;
    }
    int32_t other = *theirs;
    tutti_thread *t = &c->threads[thread], *o = &c->threads[other];
    const tutti_check_step *os = &c->ranks[o->rank].steps[o->first + o->at];
    *mine = *theirs = -1;
    if (!(sends ? transfer(c, t, s, o, os) : transfer(c, o, os, t, s))) return false;
    tutti_check_complete(c, other);
    tutti_check_wake(c, other);
    return true;
}

tutti_signal_note *tutti_check_give(tutti_checker *c, tutti_channel *ch, tutti_clock *t)
{
    ch->gave_clock = tutti_clock_event(t);
    ch->ngiven++;
    tutti_signal_note *note = c->spare_note;
    if (note)
        c->spare_note = note->next;
    else
        note = TUTTI_ARENA_NEW(&c->arena, tutti_signal_note, 1);
    *note = (tutti_signal_note){.news = tutti_clock_tell(t)};
    note->news.depth++;
    if (ch->oldest)
        ch->last->next = note;
    else
        ch->oldest = note;
    ch->last = note;
    if (ch->taker >= 0) tutti_check_wake(c, ch->taker);
    return note;
}

tutti_signal_note *tutti_check_take(tutti_checker *c, tutti_channel *ch, tutti_clock *t, const char *at_a_time,
                                    const char *not_ordered)
{
    if (ch->taker >= 0 && ch->taker != t->thread) tutti_check_give_up(c, ch, at_a_time);
    if (c->finished) return NULL;
    tutti_signal_note *note = ch->oldest;
    ch->taker = note ? -1 : t->thread;
    if (!note || !tutti_check_in_order(c, ch, t, &ch->took_thread, &ch->took_clock, not_ordered)) return NULL;
    ch->oldest = note->next;
    tutti_clock_hear(&c->clocks, t, &note->news);
    tutti_clock_drop(&c->clocks, &note->news);
    note->next = c->spare_note;
    c->spare_note = note;
    ch->took_clock = tutti_clock_event(t);
    return note;
}

static bool play_signal(tutti_checker *c, tutti_thread *t, const tutti_check_step *s)
{
    tutti_channel *ch = &c->channels[s->channel];
    return tutti_check_in_order(c, ch, &t->clock, &ch->gave_thread, &ch->gave_clock, "two signals are not ordered") &&
           tutti_check_give(c, ch, &t->clock);
}

/* Plays a put. It becomes visible by the next signal of its channel, in every interleaving. */
static bool play_put(tutti_checker *c, tutti_thread *t, const tutti_check_step *s)
{
    tutti_channel *ch = &c->channels[s->channel];
    if (!tutti_check_in_order(c, ch, &t->clock, &ch->gave_thread, &ch->gave_clock,
                              "a put and a signal are not ordered"))
        return false;
    ch->gave_clock = tutti_clock_event(&t->clock);
    return play_moves(c, t, s);
}

static void note_seen(tutti_channel *ch, int32_t thread, int32_t clock)
{
    ch->seen = tutti_grow(ch->seen, ch->ntaken, &ch->seen_capacity, 2 * sizeof *ch->seen);
    ch->seen[2 * ch->ntaken] = thread;
    ch->seen[2 * ch->ntaken + 1] = clock;
}

static bool play_wait(tutti_checker *c, tutti_thread *t, const tutti_check_step *s)
{
    tutti_channel *ch = &c->channels[s->channel];
    if (!tutti_check_take(c, ch, &t->clock, "two waits at a time", "two waits are not ordered")) return false;
    if (ch->seen) note_seen(ch, t->clock.thread, ch->took_clock);
    ch->ntaken++;
    return true;
}

bool tutti_check_play(tutti_checker *c, int32_t thread, const tutti_check_step *s)
{
    tutti_thread *t = &c->threads[thread];
    switch ((tutti_step_kind)s->kind) {
    case TUTTI_STEP_SEND:
    case TUTTI_STEP_RECV: return c->source->capacity ? tutti_check_play_buffered(c, t, s) : play_message(c, thread, s);
    case TUTTI_STEP_SIGNAL: return play_signal(c, t, s);
    case TUTTI_STEP_WAIT: return play_wait(c, t, s);
    case TUTTI_STEP_REDUCE:
    case TUTTI_STEP_COPY: return play_moves(c, t, s);
    case TUTTI_STEP_PUT: return play_put(c, t, s);
    case TUTTI_STEP_NOP:
    case TUTTI_NSTEP_KINDS: break;
    }
    return true;
}
