/* SPDX-License-Identifier: Apache-2.0 */
/* lower_pieces.c: the pieces of each step and their levels (see lower_impl.h).
 *
 * If a step must come after a piece of a higher level, the part does not fit into one sequence, and keeps its own
 * sequences. Consecutive messages of one stage in a sequence do not wait for each other, so that all ranks signal first
 * and wait afterwards. */
#include <stdlib.h>

#include "../../base/arena.h"
#include "lower_impl.h"

/* Levels of a sequence so far: the highest; the highest before the messages at its end; and the stage of these
 * messages. */
typedef struct {
    int32_t top, before_run, run_stage;
} progress;

typedef struct {
    tutti_lowering *l;
    int32_t *top;        /* for each step: level at which the step is complete */
    progress *sequences; /* the progress of each sequence; all fields are -1 at first */
    bool fits;
} levels;

static void add(levels *v, tutti_piece piece, int32_t at_least)
{
    tutti_lowering *l = v->l;
    if (piece.level < at_least) v->fits = false;
    if (piece.level > v->top[piece.step]) v->top[piece.step] = piece.level;
    l->pieces = tutti_grow(l->pieces, l->npieces, &l->pieces_capacity, sizeof *l->pieces);
    l->pieces[l->npieces++] = piece;
}

static tutti_piece piece_of(tutti_piece_kind kind, int32_t step, int32_t level)
{
    return (tutti_piece){.kind = kind, .step = step, .anchor = step, .level = level, .part = 1};
}

static void add_send(levels *v, int32_t i, int32_t floor)
{
    tutti_lowering *l = v->l;
    const tutti_step *s = &l->in->steps[i];
    bool ack = tutti_lowers_with_ack(l, s);
    int32_t stage = 4 * s->stage, partner = l->partner[i];
    tutti_piece signal = piece_of(PIECE_SIGNAL, i, stage), wait = piece_of(PIECE_WAIT, i, stage + 2);
    wait.ack = true;
    if (tutti_lowers_to_pull(l, s)) {
        signal.when = s->when;
        add(v, signal, floor);
        if (ack) add(v, wait, floor);
        return;
    }
    wait.level = stage + 1, wait.part = 0;
    if (partner >= 0) wait.anchor = partner;
    if (ack) add(v, wait, partner >= 0 ? 0 : floor);
    tutti_piece move = piece_of(PIECE_MOVE, i, stage + 1);
    move.when = s->when;
    for (int32_t f = l->first_fused[i]; f >= 0; f = l->next_fused[f]) move.when |= l->in->steps[f].when;
    if (partner < 0 && !tutti_moves_nothing(l, s)) add(v, move, floor);
    signal.level = stage + 1, signal.part = 2;
    if (tutti_moves_nothing(l, s)) signal.when = s->when;
    add(v, signal, floor);
}

static void add_recv(levels *v, int32_t i, int32_t floor)
{
    tutti_lowering *l = v->l;
    const tutti_step *s = &l->in->steps[i];
    bool ack = tutti_lowers_with_ack(l, s);
    int32_t stage = 4 * s->stage, partner = l->partner[i];
    tutti_piece signal = piece_of(PIECE_SIGNAL, i, stage), wait = piece_of(PIECE_WAIT, i, stage + 2);
    signal.ack = true;
    if (!tutti_lowers_to_pull(l, s)) {
        signal.when = s->when, signal.part = 0;
        if (ack) add(v, signal, floor);
        add(v, wait, floor);
        return;
    }
    wait.level = stage + 1, wait.part = 0;
    add(v, wait, floor);
    tutti_piece move = piece_of(PIECE_MOVE, i, stage + 1);
    move.when = s->when;
    if (partner < 0 && !tutti_moves_nothing(l, s)) add(v, move, floor);
    signal.level = stage + 1, signal.part = 2;
    if (partner >= 0) signal.anchor = partner;
    if (ack) add(v, signal, floor);
}

/* Returns true if the step reads memory whose peer waits for an acknowledgement. That peer waits on class 2 of the same
 * stage. */
static bool reads_with_ack(const tutti_lowering *l, const tutti_step *s)
{
    for (int32_t k = 0; k < s->nins; k++) {
        int32_t recv = l->recv_of[l->in->slices[s->first_in + k].buffer];
        if (recv >= 0 && tutti_lowers_with_ack(l, &l->in->steps[recv])) return true;
    }
    return false;
}

/* Adds local work at the lowest level that its predecessors allow. A write to a peer that must say `free` first waits
 * for that signal. */
static void add_local(levels *v, int32_t i, int32_t floor)
{
    const tutti_lowering *l = v->l;
    tutti_piece piece = piece_of(PIECE_LOCAL, i, 4 * l->in->steps[i].stage);
    piece.when = l->in->steps[i].when;
    for (int32_t f = l->first_fused[i]; f >= 0; f = l->next_fused[f]) {
        piece.when |= l->in->steps[f].when;
        if (tutti_lowers_with_ack(l, &l->in->steps[f]) && piece.level % 4 == 0) piece.level++;
    }
    if (piece.level < floor && piece.level / 4 == floor / 4) piece.level = floor % 4 == 2 ? floor + 1 : floor;
    if (piece.level % 4 > 1 && reads_with_ack(l, &l->in->steps[i])) v->fits = false;
    add(v, piece, floor);
}

/* Returns the lowest level that step i may have. */
static int32_t floor_of(levels *v, int32_t i)
{
    const tutti_part *p = v->l->in;
    const tutti_step *s = &p->steps[i];
    progress *q = &v->sequences[s->sequence];
    bool in_run = tutti_is_message(s) && q->run_stage == s->stage;
    int32_t floor = in_run ? q->before_run : q->top;
    if (!in_run) q->before_run = q->top;
    q->run_stage = tutti_is_message(s) ? s->stage : -1;
    for (int32_t k = 0; k < s->ndeps; k++) {
        int32_t d = p->deps[s->first_dep + k];
        if (d >= i) v->fits = false;
        if (d < i && v->top[d] > floor) floor = v->top[d];
    }
    return floor;
}

bool tutti_lower_pieces(tutti_lowering *l)
{
    const tutti_part *p = l->in;
    int32_t nsequences = tutti_part_nsequences(p);
    levels v = {.l = l, .fits = true};
    v.top = tutti_alloc(sizeof *v.top * ((size_t)p->nsteps + 1));
    v.sequences = tutti_alloc(sizeof *v.sequences * ((size_t)nsequences + 1));
    for (int32_t i = 0; i < nsequences; i++) v.sequences[i].run_stage = -1;
    l->npieces = 0;
    for (int32_t i = 0; i < p->nsteps; i++) {
        const tutti_step *s = &p->steps[i];
        int32_t floor = floor_of(&v, i);
        if (s->kind == TUTTI_STEP_SEND)
            add_send(&v, i, floor);
        else if (s->kind == TUTTI_STEP_RECV)
            add_recv(&v, i, floor);
        else
            add_local(&v, i, floor);
        progress *q = &v.sequences[s->sequence];
        if (v.top[i] > q->top) q->top = v.top[i];
    }
    free(v.sequences);
    free(v.top);
    return v.fits;
}
