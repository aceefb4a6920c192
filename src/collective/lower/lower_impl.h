/* SPDX-License-Identifier: Apache-2.0 */
/* lower_impl.h: declarations that the files of lowering share: how one rank's part with sends and receives becomes a
 * lowered one.
 *
 * Every send and recv becomes several pieces:
 *   pushed  recv: [signal free] ... wait data        send: [wait free], move into the far slice, signal data
 *   pulled  send: signal data ... [wait read]        recv: wait data, move from the far slice, [signal read]
 * NO_ACK leaves out the pieces in brackets; moves of no elements are always left out. Data of channel c are signalled
 * on 2c, free and read on 2c + 1.
 *
 * A message between hosts is pushed by a put. A put must be ordered before or after each signal of its channel, else
 * timing would decide which signal announces it; the checker refuses such a put. Fusion (in mapped memory only) makes a
 * move part of a neighbour. If one reduce alone reads a pulled slice, it reads it in place. If a push sends the result
 * of a reduce or copy, that step itself writes the far slice. Several pushes of one slice in a row are one copy with
 * several outputs.
 *
 * Levels. If possible all pieces form one sequence, ordered by (stage, class). Class 0 signals, and waits for nothing
 * of its stage; class 1 waits for signals of class 0, moves, and signals the outcome; class 2 waits for outcomes; class
 * 3 is local work on the results of class 2. As both ends of a message have one stage, a wait always waits for a lower
 * level: no deadlock.
 *
 * Threads: one at a time. */
#ifndef TUTTI_LOWER_IMPL_H
#define TUTTI_LOWER_IMPL_H

#include "../schedule/part_builder.h"

typedef enum { PIECE_SIGNAL, PIECE_WAIT, PIECE_MOVE, PIECE_LOCAL } tutti_piece_kind;

typedef struct {
    tutti_piece_kind kind;
    int32_t step;   /* index of the step in the two-sided part */
    int32_t anchor; /* the step at whose place in the sequence the piece is put: `step`, or the step that it is fused
                     * with */
    int32_t level;  /* the level of the piece: 4 * stage + class */
    int8_t part;    /* when the piece runs: 0: before the move of the step `anchor`, 1: with it, 2: after it */
    bool ack;       /* true if the message, on channel c, has an acknowledgement, which travels on channel 2c + 1 */
    uint32_t when;
} tutti_piece;

typedef struct {
    const tutti_part *in;
    tutti_wire_class wire;
    const int32_t *host_of; /* host of each rank, for mixed wires */
    int32_t nranks;
    bool careful;         /* true: each piece must stay at its step's place, so only messages without an acknowledgement
                           * may be fused */
    int32_t *partner;     /* partner of each step, -1 = none. Partner of a recv: the reduce that reads the far slice; of
                           * a send: the step that writes the far slice */
    int32_t *first_fused; /* for each step: first send whose far slice the step writes, -1 = none */
    int32_t *next_fused;  /* for each send: next send with the same partner */
    int32_t *recv_of;     /* for each buffer: the recv that used it, if fusion removed the buffer; else -1 */
    tutti_piece *pieces;
    int32_t npieces, pieces_capacity;
} tutti_lowering;

static inline bool tutti_is_message(const tutti_step *s)
{
    return s->kind == TUTTI_STEP_SEND || s->kind == TUTTI_STEP_RECV;
}
/* Returns true for a message of no elements, which only signals. */
static inline bool tutti_moves_nothing(const tutti_lowering *l, const tutti_step *s)
{
    return l->in->slices[s->kind == TUTTI_STEP_SEND ? s->first_in : s->first_out].count == 0;
}
/* Returns true if both ends of the message map its memory. A peer out of range passes; the checker refuses it. */
static inline bool tutti_lowers_near(const tutti_lowering *l, const tutti_step *s)
{
    if (l->wire != TUTTI_WIRE_MIXED) return l->wire == TUTTI_WIRE_MAPPED;
    return s->peer >= 0 && s->peer < l->nranks && l->host_of[s->peer] == l->host_of[l->in->rank];
}
static inline bool tutti_lowers_to_pull(const tutti_lowering *l, const tutti_step *s)
{
    return (s->hint & TUTTI_HINT_PULL) && tutti_lowers_near(l, s);
}
/* Returns true if the message needs an acknowledgement. Between hosts a pulled message is pushed, so a hint that was
 * meant for the pull does not count. */
static inline bool tutti_lowers_with_ack(const tutti_lowering *l, const tutti_step *s)
{
    return !(s->hint & TUTTI_HINT_NO_ACK) || ((s->hint & TUTTI_HINT_PULL) && !tutti_lowers_near(l, s));
}

void tutti_lower_fuse(tutti_lowering *l); /* sets partner, first_fused, ... (lower_fuse.c) */
/* finds the pieces and their levels (lower_pieces.c); false = no single sequence will do */
bool tutti_lower_pieces(tutti_lowering *l);
void tutti_lower_emit(tutti_lowering *l, tutti_part_builder *b);       /* writes the part as one sequence
                                                                        * (lower_emit.c) */
void tutti_lower_emit_apart(tutti_lowering *l, tutti_part_builder *b); /* writes the part with the sequences of the
                                                                        * two-sided part */

#endif
