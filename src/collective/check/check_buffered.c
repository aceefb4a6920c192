/* SPDX-License-Identifier: Apache-2.0 */
/* check_buffered.c: messages over channels that buffer a number of them: a send completes when its channel has room,
 * and the message carries the values of that moment. Races are judged as at capacity 0, where the sender learns nothing
 * from its message either. */
#include <string.h>

#include "check_impl.h"

static void carry(tutti_checker *c, tutti_signal_note *note, int32_t storage, int32_t invocation)
{
    const tutti_check_step *s = note->send;
    c->npieces = 0;
    for (int32_t at = s->lo, ncells; at < s->hi; at += ncells) {
        ncells = s->hi - at;
        uint32_t value = tutti_runs_value(c, tutti_cell_at(c, storage, invocation, at), &ncells);
        tutti_pieces_add(c, value, ncells);
    }
    note->npieces = c->npieces;
    note->pieces = TUTTI_ARENA_NEW(&c->arena, tutti_value_piece, c->npieces + 1);
    if (c->npieces) memcpy(note->pieces, c->pieces, sizeof *c->pieces * (size_t)c->npieces);
}

static bool play_send(tutti_checker *c, tutti_thread *t, const tutti_check_step *s)
{
    tutti_channel *ch = &c->channels[s->channel];
    const tutti_check_rank *rank = &c->ranks[t->rank];
    if (ch->giver >= 0 && ch->giver != t->clock.thread) return tutti_check_give_up(c, ch, "two sends at a time");
    bool full = ch->ngiven - ch->ntaken >= c->source->capacity;
    ch->giver = full ? t->clock.thread : -1;
    if (full) return false;
    if (!tutti_check_in_order(c, ch, &t->clock, &ch->gave_thread, &ch->gave_clock, "two sends are not ordered"))
        return false;
    int32_t source = tutti_check_inputs(rank->args + s->args)[0];
    if (s->lo < s->hi && !tutti_access_read(c, t, s, source)) return false;
    tutti_signal_note *note = tutti_check_give(c, ch, &t->clock);
    note->send = s;
    carry(c, note, source, rank->invocation);
    return true;
}

static bool play_recv(tutti_checker *c, tutti_thread *t, const tutti_check_step *s)
{
    tutti_channel *ch = &c->channels[s->channel];
    const tutti_signal_note *note =
        tutti_check_take(c, ch, &t->clock, "two receives at a time", "two receives are not ordered");
    if (!note || !tutti_check_same_message(c, ch, note->send, s)) return false;
    c->npieces = 0;
    for (int32_t i = 0; i < note->npieces; i++) tutti_pieces_add(c, note->pieces[i].value, note->pieces[i].ncells);
    int32_t target = tutti_check_outputs(c->ranks[t->rank].args + s->args)[0];
    if (s->lo < s->hi && !tutti_access_write(c, t, s, target)) return false;
    ch->ntaken++;
    if (ch->giver >= 0) tutti_check_wake(c, ch->giver);
    return true;
}

bool tutti_check_play_buffered(tutti_checker *c, tutti_thread *t, const tutti_check_step *s)
{
    return s->kind == TUTTI_STEP_SEND ? play_send(c, t, s) : play_recv(c, t, s);
}
