/* SPDX-License-Identifier: Apache-2.0 */
/* compile_impl.h: declarations that the algorithms share: buffers of a collective, roots of canonical sums, balanced
 * sums, messages.
 *
 * Every part lists its buffers in the same order, so that a compiler knows the numbers of its peers' buffers: in (one
 * for each root, see algorithms.h), out, scratch. Threads: frozen. */
#ifndef TUTTI_COMPILE_IMPL_H
#define TUTTI_COMPILE_IMPL_H

#include "algorithms.h"

/* ---- roots: the inputs of a rank (compile_sum.c; tutti_compile_roots is in algorithms.h) ---- */
int tutti_compile_nroots(const tutti_compile_request *q, int32_t rank);
/* Returns nranks + 1 entries; entry r is the number of roots (algorithms.h) of all ranks below r. The array is the
 * caller's (free()). */
int32_t *tutti_compile_first_roots(const tutti_compile_request *q);

/* Balanced sums over roots that come in leaf order. push returns the number of folds after this input; the last input
 * also folds everything that is left, so any number of leaves gives one value. For 2^k leaves the tree is the balanced
 * one. */
typedef struct {
    int32_t count[32];
    int depth;
} tutti_balance;
int tutti_balance_push(tutti_balance *t, int32_t nleaves, bool last);
/* Refuse canonical sums, always or except at powers of two. The refusal says why, and which algorithms can do it. */
tutti_status tutti_accept_fast_sums(const char *name, const char *why, const tutti_compile_request *q,
                                    tutti_failure *err);
tutti_status tutti_accept_powers_of_two(const char *name, const char *why, const tutti_compile_request *q,
                                        tutti_failure *err);

/* Sets the first parameter of a row whose groups are all of one size (compile_groups.c). If it is not given, it becomes
 * the divisor of the rank count that leaves a rank the fewest partners in its group and across groups; of two equal
 * ones, the smaller. A value that is no divisor is refused, and the error names rank counts that fit. */
void tutti_settle_groups(tutti_compile_request *q);
tutti_status tutti_accept_groups(const char *name, const tutti_compile_request *q, tutti_failure *err);

/* ---- parts (compile_part.c) ---- */
static inline tutti_slice tutti_slice_at(int32_t rank, int32_t buffer, int32_t first, int32_t count, int32_t of)
{
    return (tutti_slice){rank, buffer, first, count, of};
}
/* Returns a slice of no elements of buffer 0, which in a barrier is the scratch that messages name. */
static inline tutti_slice tutti_compile_nothing(int32_t rank)
{
    return tutti_slice_at(rank, 0, 0, 0, 1);
}
/* Adds the buffers in0, in1, ... (broadcast: of the root only) and out (gather, reduce: of the root only; all-to-all:
 * one for each rank) of `rank`; for a barrier, an empty scratch buffer. */
void tutti_compile_buffers(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b);
/* Returns the number of the first buffer `out` on rank `rank`. In place it is `in0` under another name. */
int32_t tutti_compile_out(const tutti_compile_request *q, int32_t rank);
/* Returns the number of the first scratch buffer on rank `rank`. */
int32_t tutti_compile_first_scratch(const tutti_compile_request *q, int32_t rank);
/* Adds a scratch buffer with this window and returns its number. */
int32_t tutti_compile_scratch(tutti_part_builder *b, tutti_slice window, int32_t banks);

/* One end of a message; `far` is the slice at the other end. The functions below return the number of the step. */
typedef struct {
    int32_t sequence, stage, channel;
    uint32_t when, hint;
} tutti_message;
int32_t tutti_compile_send(tutti_part_builder *b, const tutti_message *m, tutti_slice near, tutti_slice far);
int32_t tutti_compile_recv(tutti_part_builder *b, const tutti_message *m, tutti_slice near, tutti_slice far);
/* Local work in this sequence: to = from, or out = older + newer. The functions below return the number of the step. */
typedef struct {
    tutti_slice older, newer, out;
} tutti_addition;
int32_t tutti_compile_copy(tutti_part_builder *b, int32_t sequence, int32_t stage, uint32_t when, tutti_slice from,
                           tutti_slice to);
int32_t tutti_compile_add(tutti_part_builder *b, int32_t sequence, int32_t stage, uint32_t when, tutti_addition of);
/* Adds a step that copies `in` to `out` and returns its number. In place nothing is copied: if no send waits for the
 * caller's conditions (one rank; the root of a gather or reduce), it adds a step that only waits for them; otherwise it
 * returns -1. */
int32_t tutti_compile_own_copy(const tutti_compile_request *q, tutti_part_builder *b, tutti_slice in, tutti_slice out);
/* Makes the part of a single rank: its input is the result, whatever the row. */
void tutti_compile_alone(const tutti_compile_request *q, tutti_part_builder *b);

static inline int32_t tutti_rank_at(const tutti_compile_request *q, int64_t r)
{
    return (int32_t)((r % q->nranks + q->nranks) % q->nranks);
}
static inline int32_t tutti_smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}
/* Returns the lowest nbits bits of v in reverse order: the number of the block that number v of 2^nbits has after
 * halving, nearest first. */
static inline int32_t tutti_bits_reversed(int32_t v, int32_t nbits)
{
    int32_t x = 0;
    for (int32_t s = 0; s < nbits; s++) x |= (v >> s & 1) << (nbits - 1 - s);
    return x;
}

/* ---- walks (compile_walk.c): an algorithm as one rank sees it, message by message ----
 *
 * A rank sends each element of its vector at most once before the element's sum is known. Results are put into out.
 *
 * Why no message of an allreduce that is a walk needs an acknowledgement. A partial sum depends on the pulls that read
 * its parts, and a result depends on all pulls of that element. So when a rank puts a result into a peer's out, the
 * peer's earlier value of the element has been read: the result was made of it. For the same reason the peer was READY
 * and FREE. A rank is done when it has the results of all elements. By then its own values of all elements have been
 * read, and its own puts are steps of its part, which have ended. */
/* numbers of the buffers `in` and `out`; the inboxes have the numbers after them */
enum { TUTTI_WALK_IN, TUTTI_WALK_OUT };
typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r;
    int32_t sequence, channel; /* sequence: number of the sequence with this rank's sends, the next sequence has its
                                * receives; channel: number of the channel of all messages */
    int32_t inboxes;           /* number of the buffer that is inbox 0 */
    int32_t sums;              /* number of the buffer that holds a ring's partial sums: the output */
    uint32_t first;            /* conditions (bits) that this rank's messages wait for until it has its first result */
    uint32_t pull, push;       /* pull: hints of messages that carry inputs or partial sums; push: hints of messages
                                * that carry results */
    int32_t made, told;        /* numbers of steps, -1 = none. made: the step that writes the data of the next send;
                                * told: the step on which the last send depends */
} tutti_part_walk;
/* Begins a walk after tutti_compile_buffers and adds ninboxes inboxes (empty until used). The walk is that of an
 * allreduce, unless the caller changes its fields. */
tutti_part_walk tutti_walk_begin(const tutti_compile_request *q, int32_t r, tutti_part_builder *b, int32_t ninboxes);
/* `what` is a range of the vector; its rank and buffer are ignored. Both ranks use the same stage and number of the
 * inbox. tutti_walk_give: the peer adds this rank's buffer `from`. tutti_walk_add: this rank adds the peer's buffer
 * `from` to its own buffer `own` and stores the sum in `to`. */
void tutti_walk_give(tutti_part_walk *w, int32_t stage, int32_t peer, int32_t from, tutti_slice what, int32_t inbox);
typedef struct {
    int32_t from, own, to; /* numbers of the buffers that tutti_walk_add uses */
    bool theirs_first;     /* true if the peer's value comes first in the sum */
} tutti_walk_sum;
void tutti_walk_add(tutti_part_walk *w, int32_t stage, int32_t peer, tutti_slice what, int32_t inbox,
                    tutti_walk_sum sum);
/* tutti_walk_show sends a range of this rank's out into the peer's out; tutti_walk_take receives a range of the peer's
 * out into this rank's out. */
void tutti_walk_show(tutti_part_walk *w, int32_t stage, int32_t peer, tutti_slice what);
void tutti_walk_take(tutti_part_walk *w, int32_t stage, int32_t peer, tutti_slice what);

/* Makes the all-to-all of bruck (bruck_blocks.c), after tutti_compile_buffers. */
void tutti_bruck_blocks(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b);

/* A line: the ranks first, first + stride, ..., over which rings run; this rank is number `me` of n. */
typedef struct {
    int32_t first, stride, n, me;
} tutti_line;
/* The slices that members of a line own: piece i of member j is the slice (first + j * by_member + i * by_piece, count,
 * of). */
typedef struct {
    int32_t first, by_member, count, of;
    int32_t npieces, by_piece;
} tutti_line_cut;
/* Cuts a range into n equal slices of one piece. */
static inline tutti_line_cut tutti_cut_range(tutti_slice range, int32_t n)
{
    return (tutti_line_cut){range.first * n, range.count, range.count, range.of * n, 1, 0};
}
static inline tutti_slice tutti_cut_piece(const tutti_line_cut *c, int32_t j, int32_t i)
{
    return tutti_slice_at(0, 0, c->first + j * c->by_member + i * c->by_piece, c->count, c->of);
}
/* Numbers of the buffers that a ring of sums uses: the buffer of this rank's values, the buffer of the values of the
 * rank before it, and the buffer for the line's sum of this rank's pieces. */
typedef struct {
    int32_t own, before, home;
} tutti_ring_sums;
/* Sums along a line: n - 1 stages from `stage`; partial sums lie in w->sums. Uses (n - 1) npieces inboxes from `inbox`.
 * Does nothing if n = 1. */
void tutti_walk_ring_scatter(tutti_part_walk *w, const tutti_line *l, int32_t stage, const tutti_line_cut *c,
                             tutti_ring_sums of, int32_t inbox);
/* Gathers along a line in n - 1 stages: each member begins with its own pieces, and all pieces end in every member's
 * out. */
void tutti_walk_ring_gather(tutti_part_walk *w, const tutti_line *l, int32_t stage, const tutti_line_cut *c);
/* Sums a range over a grid of ranks, all of which get the result: rings along `near`, then of this rank's slice along
 * `far`, then along `near` again. Takes 2(near.n - 1) + 2(far.n - 1) stages from 0, and near.n + far.n - 2 inboxes from
 * `inbox`. */
void tutti_walk_grid(tutti_part_walk *w, const tutti_line *near, const tutti_line *far, tutti_slice range,
                     int32_t inbox);

#endif
