/* SPDX-License-Identifier: Apache-2.0 */
/* lower_emit.c: writes the lowered part from its pieces, or step by step where they do not fit into one sequence. */
#include <stdlib.h>

#include "../../base/arena.h"
#include "lower_impl.h"

/* Adds the buffers. They keep their numbers, which peers use; a buffer that fusion removed is empty, and is left out if
 * it is the last. */
static void emit_buffers(const tutti_lowering *l, tutti_part_builder *b)
{
    int32_t n = l->in->nbuffers;
    while (n > 0 && l->recv_of[n - 1] >= 0) n--;
    for (int32_t i = 0; i < n; i++) {
        tutti_buffer buffer = l->in->buffers[i];
        if (l->recv_of[i] >= 0) buffer.window.count = 0;
        tutti_part_buffer(b, &buffer);
    }
}

/* Returns the slice at the other end of a message. If the part does not know that slice, no compiler made the schedule;
 * the slice that is returned then names no buffer, so the checker refuses it. */
static tutti_slice far_slice(const tutti_lowering *l, int32_t step)
{
    const tutti_slice *far = tutti_part_far(l->in, step);
    return far ? *far : (tutti_slice){l->in->steps[step].peer, INT32_MAX, 0, 0, 1};
}

static tutti_slice near_slice(const tutti_lowering *l, int32_t step)
{
    const tutti_step *s = &l->in->steps[step];
    return l->in->slices[s->kind == TUTTI_STEP_SEND ? s->first_in : s->first_out];
}

static void emit_local(const tutti_lowering *l, tutti_part_builder *b, const tutti_step *s)
{
    const tutti_part *p = l->in;
    for (int32_t k = 0; k < s->nins; k++) {
        tutti_slice in = p->slices[s->first_in + k];
        if (l->recv_of[in.buffer] >= 0) in = far_slice(l, l->recv_of[in.buffer]);
        if (s->kind == TUTTI_STEP_REDUCE)
            tutti_part_fold(b, in, p->folds[s->first_fold + k]);
        else
            tutti_part_in(b, in);
    }
    for (int32_t k = 0; k < s->nouts; k++) tutti_part_out(b, p->slices[s->first_out + k]);
}

static void emit_move(const tutti_lowering *l, tutti_part_builder *b, int32_t step)
{
    bool sends = l->in->steps[step].kind == TUTTI_STEP_SEND;
    tutti_part_in(b, sends ? near_slice(l, step) : far_slice(l, step));
    tutti_part_out(b, sends ? far_slice(l, step) : near_slice(l, step));
}

/* Adds a piece and returns the lowered step. */
static int32_t emit(const tutti_lowering *l, tutti_part_builder *b, const tutti_piece *piece, int32_t sequence)
{
    const tutti_step *s = &l->in->steps[piece->step];
    tutti_step step = tutti_local_step(s->kind, sequence, piece->level / 4, piece->when);
    bool put = piece->kind == PIECE_MOVE && !tutti_lowers_near(l, s);
    if (piece->kind == PIECE_SIGNAL) step.kind = TUTTI_STEP_SIGNAL;
    if (piece->kind == PIECE_WAIT) step.kind = TUTTI_STEP_WAIT;
    if (piece->kind == PIECE_MOVE) step.kind = put ? TUTTI_STEP_PUT : TUTTI_STEP_COPY;
    if (piece->kind == PIECE_SIGNAL || piece->kind == PIECE_WAIT || put)
        step.peer = s->peer, step.channel = 2 * s->channel + piece->ack;
    int32_t index = tutti_part_step(b, &step);
    if (piece->kind == PIECE_LOCAL) emit_local(l, b, s);
    if (piece->kind == PIECE_MOVE) emit_move(l, b, piece->step);
    if (piece->kind == PIECE_LOCAL || piece->kind == PIECE_MOVE)
        for (int32_t f = l->first_fused[piece->step]; f >= 0; f = l->next_fused[f]) tutti_part_out(b, far_slice(l, f));
    return index;
}

static int by_place(const void *x, const void *y)
{
    const tutti_piece *a = x, *b = y;
    if (a->level != b->level) return a->level < b->level ? -1 : 1;
    if (a->anchor != b->anchor) return a->anchor < b->anchor ? -1 : 1;
    if (a->part != b->part) return a->part < b->part ? -1 : 1;
    if (a->step != b->step) return a->step < b->step ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

void tutti_lower_emit(tutti_lowering *l, tutti_part_builder *b)
{
    if (l->npieces) qsort(l->pieces, (size_t)l->npieces, sizeof *l->pieces, by_place);
    emit_buffers(l, b);
    for (int32_t i = 0; i < l->npieces; i++) emit(l, b, &l->pieces[i], 0);
}

/* Adds the deps of step i. A dep on step d becomes a dep on the last of d's lowered steps, number end[d] - 1. */
static void emit_deps(const tutti_lowering *l, tutti_part_builder *b, int32_t i, const int32_t *end)
{
    const tutti_step *s = &l->in->steps[i];
    for (int32_t k = 0; k < s->ndeps; k++) tutti_part_dep(b, end[l->in->deps[s->first_dep + k]] - 1);
}

void tutti_lower_emit_apart(tutti_lowering *l, tutti_part_builder *b)
{
    const tutti_part *p = l->in;
    /* every step becomes at least one piece, and the pieces are in the order of the steps, so all ends are known
     * beforehand */
    int32_t *end = tutti_alloc(sizeof *end * ((size_t)p->nsteps + 1));
    for (int32_t i = 0; i < l->npieces; i++) end[l->pieces[i].step] = i + 1;
    emit_buffers(l, b);
    for (int32_t i = 0; i < l->npieces; i++) {
        int32_t step = l->pieces[i].step;
        emit(l, b, &l->pieces[i], p->steps[step].sequence);
        if (i == 0 || l->pieces[i - 1].step != step) emit_deps(l, b, step, end);
    }
    free(end);
}
