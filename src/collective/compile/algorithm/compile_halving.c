/* SPDX-License-Identifier: Apache-2.0 */
/* compile_halving.c: halving-doubling (Rabenseifner): in step s rank r meets rank r xor 2^s, nearest first.
 *
 *   reduce-scatter  before step s both hold sums over 2^s ranks of one range of blocks; each keeps one half of the
 *                   range and adds the other's sum of it. Bit s of the rank decides which half, so after lg p steps
 *                   rank r holds block reverse(r) (bits reversed): halves stay contiguous, one message per step.
 *                   Nearest first makes every sum the balanced tree over ranks. A reduce-scatter alone ends with one
 *                   more message, which brings each block to its owner. (Rejected: keeping every second block, which
 *                   ends at home but sends p/2 slices in the first step; farthest first, which ends at home but sums in
 *                   another tree.)
 *   all-gather      after a reduce-scatter, the same steps backwards; alone, nearest first with blocks in natural
 *                   order.
 *   any p           with P = 2^floor(lg p), e = p - P: of the first 2e ranks the odd ones give their input to the even
 *                   ones before (the fold) and get the result after; the P ranks that remain, numbered 0 .. P-1, do the
 *                   above.
 *
 * Why two invocations do not race. allreduce: the first message of a rank says READY and FREE, and each later message
 * depends on all earlier ones. In the reduce-scatter a peer pulls blocks. In the all-gather the same peer pushes a
 * block back, which shows that its pull was done; it overwrites memory that no other rank reads. Odd ranks get the
 * result last, from a rank that depends on all others. So nothing is acknowledged. A reduce-scatter alone sends nothing
 * back to the ranks that were read, so each pull is acknowledged; its last message comes from a rank that depends on
 * all ranks, hence on their FREE. An all-gather alone first waits until the receiver's output is free. */
#include "../compile_impl.h"

typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r, p;
    int32_t P, lg, e; /* P = 2^lg is the largest power of two up to p; e = p - P ranks are left over */
    int32_t v;        /* number of this rank among the P that take part; -1: rank r - 1 takes part for it (the fold) */
    int32_t stage;    /* stage of step 0: 1 if odd ranks first give their inputs to even ranks (the fold) */
    int32_t made;     /* number of the schedule step that makes the data of the next send */
} halving;

enum { IN, OUT, SUM }; /* indices of buffers; SUM exists in a reduce-scatter only */

static int32_t rank_of(const halving *h, int32_t v)
{
    return v < h->e ? 2 * v : v + h->e;
}

static int32_t number_of(const halving *h, int32_t r)
{
    if (r >= 2 * h->e) return r - h->e;
    return r % 2 ? -1 : r / 2;
}

static bool is_allreduce(const halving *h)
{
    return h->q->collective == TUTTI_ALLREDUCE;
}

/* Returns blocks first .. first + count - 1 in a buffer. Block x consists of the slice of the rank with number x and,
 * after a fold, of the slice of the odd rank behind it. */
static tutti_slice blocks(const halving *h, int32_t rank, int32_t buffer, int32_t first, int32_t count)
{
    if (is_allreduce(h)) return tutti_slice_at(rank, buffer, first, count, h->P);
    int32_t end = first + count == h->P ? h->p : rank_of(h, first + count), begin = rank_of(h, first);
    return tutti_slice_at(rank, buffer, begin, end - begin, h->p);
}

/* Returns the buffer with the partial sum that the rank with number v uses in step s. */
static int32_t source(const halving *h, int32_t v, int32_t s)
{
    if (s == 0 && v >= h->e) return IN;
    return is_allreduce(h) ? OUT : SUM;
}

/* Returns the first block of the range that the rank with number v holds before step s; the range has P >> s blocks. */
static int32_t range(const halving *h, int32_t v, int32_t s)
{
    return tutti_bits_reversed(v & ((1 << s) - 1), h->lg);
}

static int32_t reduce(const halving *h, int32_t stage, tutti_slice lower, tutti_slice upper, tutti_slice out)
{
    return tutti_compile_add(h->b, 1, stage, TUTTI_WHEN_READY | TUTTI_WHEN_FREE, (tutti_addition){lower, upper, out});
}

static int32_t first_inbox(const halving *h)
{
    return is_allreduce(h) ? OUT + 1 : SUM + 1;
}

/* Before step 0: the odd rank of a pair sends its input to the even rank. */
static void fold_before(halving *h)
{
    const tutti_message m = {.hint = TUTTI_HINT_PULL | TUTTI_HINT_NO_ACK, .when = TUTTI_WHEN_READY | TUTTI_WHEN_FREE};
    const tutti_message recv = {.sequence = 1, .hint = m.hint};
    int32_t inbox = first_inbox(h) + h->lg; /* the inbox of the fold comes after those of the steps */
    if (h->v < 0) {
        tutti_compile_send(h->b, &m, blocks(h, h->r, IN, 0, h->P), blocks(h, h->r - 1, inbox, 0, h->P));
    } else if (h->v < h->e) {
        tutti_slice to = blocks(h, h->r, tutti_compile_scratch(h->b, blocks(h, h->r, 0, 0, h->P), 1), 0, h->P);
        tutti_compile_recv(h->b, &recv, to, blocks(h, h->r + 1, IN, 0, h->P));
        h->made = reduce(h, 0, blocks(h, h->r, IN, 0, h->P), to, blocks(h, h->r, source(h, h->v, 0), 0, h->P));
    }
}

static void halve(halving *h, int32_t s)
{
    bool last = s == h->lg - 1;
    int32_t other = h->v ^ 1 << s, peer = rank_of(h, other), half = h->P >> (s + 1);
    int32_t mine = range(h, h->v, s + 1), theirs = range(h, other, s + 1), inbox = first_inbox(h) + s;
    uint32_t hint = TUTTI_HINT_PULL | (is_allreduce(h) ? TUTTI_HINT_NO_ACK : 0);
    const tutti_message send = {
        .stage = h->stage + s, .hint = hint, .when = s ? 0 : TUTTI_WHEN_READY | TUTTI_WHEN_FREE};
    const tutti_message recv = {.sequence = 1, .stage = h->stage + s, .hint = hint};
    tutti_compile_send(h->b, &send, blocks(h, h->r, source(h, h->v, s), theirs, half),
                       blocks(h, peer, inbox, theirs, half));
    if (h->made >= 0) tutti_part_dep(h->b, h->made);
    tutti_slice to = blocks(h, h->r, inbox, mine, half), own = blocks(h, h->r, source(h, h->v, s), mine, half);
    tutti_compile_recv(h->b, &recv, to, blocks(h, peer, source(h, other, s), mine, half));
    /* true if this rank owns the block that it has summed, so that no message must send the block to its owner */
    bool home = last && !is_allreduce(h) && !h->e && mine == h->v;
    tutti_slice out = blocks(h, h->r, home ? OUT : source(h, h->v, s + 1), mine, half);
    h->made = h->v < other ? reduce(h, send.stage, own, to, out) : reduce(h, send.stage, to, own, out);
}

/* Sends each slice of the block that this rank has summed to its owner, and receives this rank's slice from the rank
 * that has summed it. */
static void bring_home(const halving *h)
{
    int32_t stage = h->stage + h->lg, mine = h->r < 2 * h->e ? h->r / 2 : h->r - h->e;
    int32_t from = rank_of(h, tutti_bits_reversed(mine, h->lg));
    const tutti_message send = {.stage = stage, .hint = TUTTI_HINT_NO_ACK};
    const tutti_message recv = {.sequence = 1, .stage = stage, .hint = TUTTI_HINT_NO_ACK, .when = TUTTI_WHEN_FREE};
    int32_t x = h->v < 0 ? -1 : tutti_bits_reversed(h->v, h->lg);
    for (int32_t k = 0; x >= 0 && k < (x < h->e ? 2 : 1); k++) {
        int32_t owner = rank_of(h, x) + k;
        tutti_slice made = tutti_slice_at(h->r, SUM, owner, 1, h->p), home = tutti_slice_at(owner, OUT, owner, 1, h->p);
        if (owner == h->r && !h->e) continue; /* the last reduce has written this slice into out already */
        if (owner == h->r)
            tutti_compile_copy(h->b, 0, stage, TUTTI_WHEN_FREE, made, home);
        else
            tutti_compile_send(h->b, &send, made, home);
        tutti_part_dep(h->b, h->made);
    }
    if (from != h->r)
        tutti_compile_recv(h->b, &recv, tutti_slice_at(h->r, OUT, h->r, 1, h->p),
                           tutti_slice_at(from, SUM, h->r, 1, h->p));
}

/* Adds the scratch buffers, in an order that peers rely on: sums, an inbox for each step, and (even ranks of pairs) one
 * for the fold. */
static void add_scratch(const halving *h)
{
    if (h->v < 0) return;
    bool whole = h->v < h->e; /* true if a fold has put sums of the whole vector into this rank's scratch */
    if (!is_allreduce(h))
        tutti_compile_scratch(h->b,
                              whole ? blocks(h, h->r, 0, 0, h->P) : blocks(h, h->r, 0, range(h, h->v, 1), h->P / 2), 1);
    for (int32_t s = 0; s < h->lg; s++)
        tutti_compile_scratch(h->b, blocks(h, h->r, 0, range(h, h->v, s + 1), h->P >> (s + 1)), 1);
}

static void exchange(halving *h, int32_t stage, int32_t other, int32_t mine, int32_t theirs, int32_t count)
{
    uint32_t hint = is_allreduce(h) ? TUTTI_HINT_NO_ACK : 0;
    const tutti_message send = {.stage = stage, .hint = hint, .when = is_allreduce(h) ? 0 : TUTTI_WHEN_READY};
    const tutti_message recv = {.sequence = 1, .stage = stage, .hint = hint, .when = TUTTI_WHEN_FREE};
    int32_t peer = rank_of(h, other);
    tutti_compile_send(h->b, &send, blocks(h, h->r, OUT, mine, count), blocks(h, peer, OUT, mine, count));
    if (h->made >= 0) tutti_part_dep(h->b, h->made);
    h->made = tutti_compile_recv(h->b, &recv, blocks(h, h->r, OUT, theirs, count), blocks(h, peer, OUT, theirs, count));
}

/* After all steps: the even rank of a pair sends the result to the odd rank. */
static void unfold_after(const halving *h, int32_t stage)
{
    uint32_t hint = is_allreduce(h) ? TUTTI_HINT_NO_ACK : 0;
    const tutti_message send = {.stage = stage, .hint = hint};
    const tutti_message recv = {.sequence = 1, .stage = stage, .hint = hint, .when = TUTTI_WHEN_FREE};
    if (h->v >= 0 && h->v < h->e) {
        tutti_compile_send(h->b, &send, blocks(h, h->r, OUT, 0, h->P), blocks(h, h->r + 1, OUT, 0, h->P));
        tutti_part_dep(h->b, h->made);
    } else if (h->v < 0) {
        tutti_compile_recv(h->b, &recv, blocks(h, h->r, OUT, 0, h->P), blocks(h, h->r - 1, OUT, 0, h->P));
    }
}

static void sum_part(halving *h)
{
    add_scratch(h);
    fold_before(h);
    for (int32_t s = 0; h->v >= 0 && s < h->lg; s++) halve(h, s);
    if (!is_allreduce(h)) {
        bring_home(h);
        return;
    }
    for (int32_t s = h->lg - 1; h->v >= 0 && s >= 0; s--) {
        int32_t other = h->v ^ 1 << s;
        exchange(h, h->stage + 2 * h->lg - 1 - s, other, range(h, h->v, s + 1), range(h, other, s + 1),
                 h->P >> (s + 1));
    }
    unfold_after(h, h->stage + 2 * h->lg);
}

static void gather_part(halving *h)
{
    tutti_slice own = tutti_slice_at(h->r, IN, h->r, 1, h->p);
    if (h->v < 0) { /* this rank does not take part: rank r - 1 sends it all slices, including its own */
        const tutti_message send = {.when = TUTTI_WHEN_READY};
        tutti_compile_send(h->b, &send, own, tutti_slice_at(h->r - 1, OUT, h->r, 1, h->p));
        unfold_after(h, h->stage + h->lg);
        return;
    }
    int32_t got = -1;
    if (h->v < h->e) {
        const tutti_message recv = {.sequence = 1, .when = TUTTI_WHEN_FREE};
        got = tutti_compile_recv(h->b, &recv, tutti_slice_at(h->r, OUT, h->r + 1, 1, h->p),
                                 tutti_slice_at(h->r + 1, IN, h->r + 1, 1, h->p));
    }
    h->made = tutti_compile_own_copy(h->q, h->b, own, tutti_slice_at(h->r, OUT, h->r, 1, h->p));
    if (got >= 0) h->made = got; /* the next send depends on the copy of the own slice, which is in the same sequence */
    for (int32_t s = 0; s < h->lg; s++) {
        int32_t other = h->v ^ 1 << s;
        exchange(h, h->stage + s, other, h->v >> s << s, other >> s << s, 1 << s);
    }
    unfold_after(h, h->stage + h->lg);
}

static void halving_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    halving h = {.q = q, .b = b, .r = r, .p = q->nranks, .P = 1, .made = -1};
    while (2 * h.P <= h.p) h.P *= 2, h.lg++;
    h.e = h.p - h.P;
    h.v = number_of(&h, r);
    h.stage = h.e ? 1 : 0;
    tutti_compile_buffers(q, r, b);
    if (q->collective == TUTTI_ALL_GATHER)
        gather_part(&h);
    else
        sum_part(&h);
}

static tutti_status halving_accept(const tutti_compile_request *q, tutti_failure *err)
{
    return tutti_accept_powers_of_two("halving-doubling", "pairs that merge beforehand change the tree", q, err);
}

const tutti_algorithm tutti_algorithm_halving_doubling = {
    .name = "halving-doubling",
    .summary = "halves with rank r xor 2^s: 2 lg p rounds, least traffic (Rabenseifner)",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_REDUCE_SCATTER | 1u << TUTTI_ALL_GATHER,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .rotates = TUTTI_BY_BITS,
    .accept = halving_accept,
    .part = halving_part,
};
