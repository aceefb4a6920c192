/* SPDX-License-Identifier: Apache-2.0 */
/* compile_walk.c: makes the messages of one rank by four moves: send a partial sum (give), receive a peer's and add it
 * (add), send a result (show), receive a result (take). Rings are made of these moves. */
#include "compile_impl.h"

tutti_part_walk tutti_walk_begin(const tutti_compile_request *q, int32_t r, tutti_part_builder *b, int32_t ninboxes)
{
    tutti_part_walk w = {.q = q,
                         .b = b,
                         .r = r,
                         .sums = TUTTI_WALK_OUT,
                         .first = TUTTI_WHEN_READY | TUTTI_WHEN_FREE,
                         .pull = TUTTI_HINT_PULL | TUTTI_HINT_NO_ACK,
                         .push = TUTTI_HINT_NO_ACK,
                         .made = -1,
                         .told = -1};
    w.inboxes = b->part.nbuffers;
    for (int32_t i = 0; i < ninboxes; i++) tutti_compile_scratch(b, tutti_slice_at(r, 0, 0, 0, 1), 1);
    return w;
}

static tutti_slice placed(tutti_slice what, int32_t rank, int32_t buffer)
{
    return tutti_slice_at(rank, buffer, what.first, what.count, what.of);
}

static void walk_send(tutti_part_walk *w, int32_t stage, uint32_t hint, tutti_slice near, tutti_slice far)
{
    const tutti_message m = {.sequence = w->sequence,
                             .stage = stage,
                             .channel = w->channel,
                             .hint = hint,
                             .when = w->made < 0 ? w->first : 0};
    tutti_compile_send(w->b, &m, near, far);
    if (w->made > w->told) tutti_part_dep(w->b, w->made);
    w->told = w->made;
}

void tutti_walk_give(tutti_part_walk *w, int32_t stage, int32_t peer, int32_t from, tutti_slice what, int32_t inbox)
{
    walk_send(w, stage, w->pull, placed(what, w->r, from), placed(what, peer, w->inboxes + inbox));
}

void tutti_walk_add(tutti_part_walk *w, int32_t stage, int32_t peer, tutti_slice what, int32_t inbox,
                    tutti_walk_sum sum)
{
    const tutti_message m = {.sequence = w->sequence + 1, .stage = stage, .channel = w->channel, .hint = w->pull};
    tutti_slice got = placed(what, w->r, w->inboxes + inbox), own = placed(what, w->r, sum.own);
    w->b->part.buffers[got.buffer].window = got;
    tutti_compile_recv(w->b, &m, got, placed(what, peer, sum.from));
    w->made = tutti_compile_add(
        w->b, m.sequence, stage, TUTTI_WHEN_READY | TUTTI_WHEN_FREE,
        (tutti_addition){sum.theirs_first ? got : own, sum.theirs_first ? own : got, placed(what, w->r, sum.to)});
}

void tutti_walk_show(tutti_part_walk *w, int32_t stage, int32_t peer, tutti_slice what)
{
    walk_send(w, stage, w->push, placed(what, w->r, TUTTI_WALK_OUT), placed(what, peer, TUTTI_WALK_OUT));
}

void tutti_walk_take(tutti_part_walk *w, int32_t stage, int32_t peer, tutti_slice what)
{
    const tutti_message m = {
        .sequence = w->sequence + 1, .stage = stage, .channel = w->channel, .hint = w->push, .when = TUTTI_WHEN_FREE};
    w->made = tutti_compile_recv(w->b, &m, placed(what, w->r, TUTTI_WALK_OUT), placed(what, peer, TUTTI_WALK_OUT));
}

/* Returns a member's number on the line. `at` wraps around: -1 is the last member. */
static int32_t number_on(const tutti_line *l, int32_t at)
{
    return (at + 2 * l->n) % l->n;
}

static int32_t rank_on(const tutti_line *l, int32_t at)
{
    return l->first + number_on(l, at) * l->stride;
}

void tutti_walk_ring_scatter(tutti_part_walk *w, const tutti_line *l, int32_t stage, const tutti_line_cut *c,
                             tutti_ring_sums of, int32_t inbox)
{
    for (int32_t s = 0; s < l->n - 1; s++) {
        int32_t give = number_on(l, l->me - s - 1), take = number_on(l, l->me - s - 2), at = inbox + s * c->npieces;
        const tutti_walk_sum sum = {s ? w->sums : of.before, of.own, s == l->n - 2 ? of.home : w->sums, true};
        for (int32_t i = 0; i < c->npieces; i++)
            tutti_walk_give(w, stage + s, rank_on(l, l->me + 1), s ? w->sums : of.own, tutti_cut_piece(c, give, i),
                            at + i);
        for (int32_t i = 0; i < c->npieces; i++)
            tutti_walk_add(w, stage + s, rank_on(l, l->me - 1), tutti_cut_piece(c, take, i), at + i, sum);
    }
}

void tutti_walk_ring_gather(tutti_part_walk *w, const tutti_line *l, int32_t stage, const tutti_line_cut *c)
{
    for (int32_t s = 0; s < l->n - 1; s++) {
        int32_t show = number_on(l, l->me - s), take = number_on(l, l->me - s - 1);
        for (int32_t i = 0; i < c->npieces; i++)
            tutti_walk_show(w, stage + s, rank_on(l, l->me + 1), tutti_cut_piece(c, show, i));
        for (int32_t i = 0; i < c->npieces; i++)
            tutti_walk_take(w, stage + s, rank_on(l, l->me - 1), tutti_cut_piece(c, take, i));
    }
}

void tutti_walk_grid(tutti_part_walk *w, const tutti_line *near, const tutti_line *far, tutti_slice range,
                     int32_t inbox)
{
    int32_t across = near->n - 1, back = across + 2 * (far->n - 1);
    int32_t own = near->n > 1 ? TUTTI_WALK_OUT : TUTTI_WALK_IN;
    const tutti_line_cut all = tutti_cut_range(range, near->n);
    const tutti_line_cut mine = tutti_cut_range(tutti_cut_piece(&all, near->me, 0), far->n);
    tutti_walk_ring_scatter(w, near, 0, &all, (tutti_ring_sums){TUTTI_WALK_IN, TUTTI_WALK_IN, TUTTI_WALK_OUT}, inbox);
    tutti_walk_ring_scatter(w, far, across, &mine, (tutti_ring_sums){own, own, TUTTI_WALK_OUT}, inbox + across);
    tutti_walk_ring_gather(w, far, across + far->n - 1, &mine);
    tutti_walk_ring_gather(w, near, back, &all);
}
