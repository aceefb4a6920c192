/* SPDX-License-Identifier: Apache-2.0 */
/* lower_impl.h: how one rank's part with sends and receives becomes a lowered one.
 *
 * Every send and recv falls into pieces:
 *   pushed  recv: [signal free] ... wait data        send: [wait free], move into the far slice, signal data
 *   pulled  send: signal data ... [wait read]        recv: wait data, move from the far slice, [signal read]
 * Pieces in brackets are left out by NO_ACK, moves of no elements are left out always. Data of channel c are signalled
 * on 2c, free and read on 2c + 1.
 *
 * A message between hosts is pushed by a put. Fusion (in mapped memory only) makes a move part of a neighbour: a pulled
 * slice that one reduce alone reads is read by it where it lies; what a reduce or copy makes and a push hands on is
 * written to the far slice by it; pushes of one slice in a row are one copy with several outputs.
 *
 * Levels. If possible all pieces are brought into one sequence, ordered by (stage, class): class 0 tells, and waits for
 * nothing of its stage; 1 waits for what class 0 told, moves, and tells the outcome; 2 waits for outcomes; 3 is local
 * work on what class 2 brought. As both ends of a message have one stage, a wait always waits for a lower level: no
 * deadlock.
 *
 * Threads: owner. */
#ifndef TUTTI_LOWER_IMPL_H
#define TUTTI_LOWER_IMPL_H

#include "../schedule/part_builder.h"

typedef enum { PIECE_SIGNAL, PIECE_WAIT, PIECE_MOVE, PIECE_LOCAL } tutti_piece_kind;

typedef struct {
    tutti_piece_kind kind;
    int32_t step;   /* of the two-sided part */
    int32_t anchor; /* it stands at this step's place: `step`, or the one that it is fused with */
    int32_t level;  /* 4 * stage + class */
    int8_t part;    /* 0 before, 1 at, 2 after the anchor's move */
    bool ack;       /* on channel 2c + 1 */
    uint32_t when;
} tutti_piece;

typedef struct {
    const tutti_part *in;
    tutti_wire_class wire;
    const int32_t *host_of; /* mixed */
    int32_t nranks;
    bool careful;         /* no pieces out of their place: fuses only messages without acknowledgement */
    int32_t *partner;     /* a step: recv: reduce that reads the far slice; send: step that writes it; -1 = none */
    int32_t *first_fused; /* a step: first send whose far slice it writes, -1 = none */
    int32_t *next_fused;  /* a send: next one with the same partner */
    int32_t *recv_of;     /* a buffer that fusion removed: the recv, else -1 */
    tutti_piece *pieces;
    int32_t npieces, pieces_capacity;
} tutti_lowering;

static inline bool tutti_is_message(const tutti_step *s)
{
    return s->kind == TUTTI_STEP_SEND || s->kind == TUTTI_STEP_RECV;
}
/* A message of no elements moves nothing: it only tells. */
static inline bool tutti_moves_nothing(const tutti_lowering *l, const tutti_step *s)
{
    return l->in->slices[s->kind == TUTTI_STEP_SEND ? s->first_in : s->first_out].count == 0;
}
/* Does the message stay in memory that both ends map? A peer that there is not is the checker's to refuse. */
static inline bool tutti_lowers_near(const tutti_lowering *l, const tutti_step *s)
{
    if (l->wire != TUTTI_WIRE_MIXED) return l->wire == TUTTI_WIRE_MAPPED;
    return s->peer >= 0 && s->peer < l->nranks && l->host_of[s->peer] == l->host_of[l->in->rank];
}
static inline bool tutti_lowers_to_pull(const tutti_lowering *l, const tutti_step *s)
{
    return (s->hint & TUTTI_HINT_PULL) && tutti_lowers_near(l, s);
}
/* Between hosts a pulled message is pushed, and what its hint says of acknowledgements was meant for a pull. */
static inline bool tutti_lowers_with_ack(const tutti_lowering *l, const tutti_step *s)
{
    return !(s->hint & TUTTI_HINT_NO_ACK) || ((s->hint & TUTTI_HINT_PULL) && !tutti_lowers_near(l, s));
}

void tutti_lower_fuse(tutti_lowering *l);                              /* lower_fuse.c: partner, first_fused, ... */
bool tutti_lower_pieces(tutti_lowering *l);                            /* lower_pieces.c: false = no one sequence */
void tutti_lower_emit(tutti_lowering *l, tutti_part_builder *b);       /* lower_emit.c: one sequence */
void tutti_lower_emit_apart(tutti_lowering *l, tutti_part_builder *b); /* the sequences that there were */

#endif
