/* SPDX-License-Identifier: Apache-2.0 */
/* compile_impl.h: what the algorithms share: buffers of a collective, roots of canonical sums, balanced sums, messages.
 *
 * Buffers of every part stand in one order, so that a compiler knows its peers' numbers: in (one a root), out, scratch.
 * Threads: frozen. */
#ifndef TUTTI_COMPILE_IMPL_H
#define TUTTI_COMPILE_IMPL_H

#include "algorithms.h"

/* ---- roots: what a rank's inputs hold (compile_sum.c; tutti_compile_roots is in compile.h) ---- */
int tutti_compile_nroots(const tutti_compile_request *q, int32_t rank);
/* nranks + 1 numbers: how many roots the ranks below r have together. The caller's (free()). */
int32_t *tutti_compile_first_roots(const tutti_compile_request *q);

/* Balanced sums over roots that come in leaf order: push gives the folds after this input; the last input also folds
 * what is left, so that any number of leaves gives one value. For 2^k leaves the tree is the balanced one. */
typedef struct {
    int32_t count[32];
    int depth;
} tutti_balance;
int tutti_balance_push(tutti_balance *t, int32_t nleaves, bool last);
/* Canonical sums never, or at powers of two only: else the refusal, with why it is so and what can. */
tutti_status tutti_accept_fast_sums(const char *name, const char *why, const tutti_compile_request *q,
                                    tutti_failure *err);
tutti_status tutti_accept_powers_of_two(const char *name, const char *why, const tutti_compile_request *q,
                                        tutti_failure *err);

/* Of a row whose first parameter is the size of all its groups (compile_groups.c). Not given: the divisor of the rank
 * count with the fewest others in the group and across; of two, the smaller. One that is no divisor is refused, with
 * rank counts that would do. */
void tutti_settle_groups(tutti_compile_request *q);
tutti_status tutti_accept_groups(const char *name, const tutti_compile_request *q, tutti_failure *err);

/* ---- parts (compile_part.c) ---- */
static inline tutti_slice tutti_slice_at(int32_t rank, int32_t buffer, int32_t first, int32_t count, int32_t of)
{
    return (tutti_slice){rank, buffer, first, count, of};
}
/* No elements of buffer 0, which in a barrier is the scratch that messages name. */
static inline tutti_slice tutti_compile_nothing(int32_t rank)
{
    return tutti_slice_at(rank, 0, 0, 0, 1);
}
/* Adds in0, in1, ... (broadcast: the root only) and out (gather, reduce: the root only; all-to-all: one a rank) of
 * `rank`; of a barrier, a scratch of nothing. */
void tutti_compile_buffers(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b);
/* Number of the first buffer out on that rank. In place, out is in 0: same memory under another name. */
int32_t tutti_compile_out(const tutti_compile_request *q, int32_t rank);
/* Number of the first scratch buffer on that rank. */
int32_t tutti_compile_first_scratch(const tutti_compile_request *q, int32_t rank);
/* Adds a scratch buffer with this window and returns its number. */
int32_t tutti_compile_scratch(tutti_part_builder *b, tutti_slice window, int32_t banks);

/* One end of a message. far: the slice at the other end. Returns the step. */
typedef struct {
    int32_t sequence, stage, channel;
    uint32_t when, hint;
} tutti_message;
int32_t tutti_compile_send(tutti_part_builder *b, const tutti_message *m, tutti_slice near, tutti_slice far);
int32_t tutti_compile_recv(tutti_part_builder *b, const tutti_message *m, tutti_slice near, tutti_slice far);
/* Local work in this sequence: to = from, out = older + newer. Return the step. */
typedef struct {
    tutti_slice older, newer, out;
} tutti_addition;
int32_t tutti_compile_copy(tutti_part_builder *b, int32_t sequence, int32_t stage, uint32_t when, tutti_slice from,
                           tutti_slice to);
int32_t tutti_compile_add(tutti_part_builder *b, int32_t sequence, int32_t stage, uint32_t when, tutti_addition of);
/* out = in; returns the step. In place there is nothing to do: a step that only waits for its conditions where no send
 * does (one rank; the root of a gather or reduce), else -1. */
int32_t tutti_compile_own_copy(const tutti_compile_request *q, tutti_part_builder *b, tutti_slice in, tutti_slice out);
/* The part of a rank that is alone: its input is the result, whatever the row. */
void tutti_compile_alone(const tutti_compile_request *q, tutti_part_builder *b);

static inline int32_t tutti_rank_at(const tutti_compile_request *q, int64_t r)
{
    return (int32_t)((r % q->nranks + q->nranks) % q->nranks);
}
static inline int32_t tutti_smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}
/* The lowest nbits bits of v the other way round: where halving, nearest first, brings number v of 2^nbits. */
static inline int32_t tutti_bits_reversed(int32_t v, int32_t nbits)
{
    int32_t x = 0;
    for (int32_t s = 0; s < nbits; s++) x |= (v >> s & 1) << (nbits - 1 - s);
    return x;
}

/* ---- walks (compile_walk.c): one rank's way through an algorithm, message by message ----
 * Each element of a rank's vector is given away at most once before its sum is known; what comes later is put into out.
 *
 * Why no message of an allreduce that is made of these need be acknowledged: what a rank holds of an element, it has
 * read or replaced by something that depends on every reading before. (A sum depends on the giving of each part of it,
 * hence on the pull that read it; a result, on all of them.) So whoever puts a value into a peer's out knows from that
 * very value that the former one has been read, and, as the value is made of the peer's own part, that the peer was
 * READY and FREE. A rank is through when it has the results of all elements; by then everything that it showed was
 * read. What it puts itself is its own work. */
enum { TUTTI_WALK_IN, TUTTI_WALK_OUT }; /* buffers; inboxes follow */
typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r;
    int32_t sequence, channel; /* of what it sends; what it receives stands in the next sequence */
    int32_t inboxes;           /* buffer number of inbox 0 */
    int32_t sums;              /* buffer of a ring's partial sums: out */
    uint32_t first;            /* conditions of messages that come before anything was made */
    uint32_t pull, push;       /* hints of messages that are summed, and of results */
    int32_t made, told;        /* steps, -1 = none: what is sent next is there; what the last send came after */
} tutti_part_walk;
/* After tutti_compile_buffers: adds ninboxes inboxes (empty until used). A walk of an allreduce, unless its fields are
 * changed. */
tutti_part_walk tutti_walk_begin(const tutti_compile_request *q, int32_t r, tutti_part_builder *b, int32_t ninboxes);
/* `what` is a range of the vector; its rank and buffer are ignored. Peer and I agree on stage and number of the inbox.
 * give and add: the peer adds what lies in my buffer `from`; I add what lies in its buffer `from` to my `own`, into
 * `to`. */
void tutti_walk_give(tutti_part_walk *w, int32_t stage, int32_t peer, int32_t from, tutti_slice what, int32_t inbox);
typedef struct {
    int32_t from, own, to; /* buffers */
    bool theirs_first;     /* order of the sum */
} tutti_walk_sum;
void tutti_walk_add(tutti_part_walk *w, int32_t stage, int32_t peer, tutti_slice what, int32_t inbox,
                    tutti_walk_sum sum);
/* show and take: from my out to the peer's; from its to mine. */
void tutti_walk_show(tutti_part_walk *w, int32_t stage, int32_t peer, tutti_slice what);
void tutti_walk_take(tutti_part_walk *w, int32_t stage, int32_t peer, tutti_slice what);

/* The all-to-all of bruck (bruck_blocks.c), after tutti_compile_buffers. */
void tutti_bruck_blocks(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b);

/* Rings over some of the ranks: first, first + stride, ...; I am number `me` of n. */
typedef struct {
    int32_t first, stride, n, me;
} tutti_line;
/* What the members of a line own: piece i of member j is blocks [first + j by_member + i by_piece, + count) of `of`. */
typedef struct {
    int32_t first, by_member, count, of;
    int32_t npieces, by_piece;
} tutti_line_cut;
/* A range in n equal slices of one piece. */
static inline tutti_line_cut tutti_cut_range(tutti_slice range, int32_t n)
{
    return (tutti_line_cut){range.first * n, range.count, range.count, range.of * n, 1, 0};
}
static inline tutti_slice tutti_cut_piece(const tutti_line_cut *c, int32_t j, int32_t i)
{
    return tutti_slice_at(0, 0, c->first + j * c->by_member + i * c->by_piece, c->count, c->of);
}
/* Buffers of a ring's sums: where my part lies, where that of the rank before me does, and where the line's sum of my
 * pieces goes. */
typedef struct {
    int32_t own, before, home;
} tutti_ring_sums;
/* n - 1 stages from `stage`; partial sums lie in w->sums. (n - 1) npieces inboxes from `inbox`. n = 1: nothing. */
void tutti_walk_ring_scatter(tutti_part_walk *w, const tutti_line *l, int32_t stage, const tutti_line_cut *c,
                             tutti_ring_sums of, int32_t inbox);
/* n - 1 stages: all pieces, of which each member has its own, are in everyone's out. */
void tutti_walk_ring_gather(tutti_part_walk *w, const tutti_line *l, int32_t stage, const tutti_line_cut *c);
/* Allreduce of a range over a grid: rings along `near`, of my slice along `far`, along `near` again. 2(near.n - 1) +
 * 2(far.n - 1) stages from 0, near.n + far.n - 2 inboxes from `inbox`. */
void tutti_walk_grid(tutti_part_walk *w, const tutti_line *near, const tutti_line *far, tutti_slice range,
                     int32_t inbox);

#endif
