/* SPDX-License-Identifier: Apache-2.0 */
/* compile_recursive_doubling.c: recursive doubling: in step s rank r and rank r xor 2^s exchange all that they have,
 * and both add what they receive.
 *
 *   allreduce  lg p steps with the whole vector: for small vectors, whose time is the number of steps. Nearest first,
 *              so that the sum is the balanced tree over ranks.
 *   barrier    the same with messages without data.
 *   any p      with P = 2^floor(lg p), e = p - P: of the first 2e ranks the odd ones give their input to the even ones
 *              before (the fold) and get the result after; the P ranks that remain, numbered 0 .. P-1, do the above (as
 *              Open MPI, whose operands keep their order too).
 *
 * Why two invocations do not race. A rank copies its input first, so the input is free again. The sum of each step has
 * two banks and is pulled by one peer. Rank r writes the bank of step s again in invocation e + 2, after it has
 * received that peer's message of step s of invocation e + 1. The peer sent that message after it had completed e,
 * hence after its pull; so nothing is acknowledged. An odd rank's input is read before the rank gets the result, and
 * its first message says that its output is free. */
#include "../compile_impl.h"

typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r, p;
    int32_t P, lg, e; /* P = 2^lg is the largest power of two up to p; e = p - P ranks are left over */
    int32_t v;        /* number of this rank among the P that take part; -1: rank r - 1 takes part for it (the fold) */
    int32_t first;    /* number of the schedule step that makes the data which step 0 sends */
    int32_t made;     /* number of the schedule step that makes the data of the next send */
} doubling;

enum {
    IN,
    OUT,
    SUM
}; /* numbers of buffers of an allreduce. Buffer SUM + s holds the sum that the peer of step s reads. Behind these
    * buffers come an inbox for each step and the inbox of the fold */

static int32_t rank_of(const doubling *d, int32_t v)
{
    return v < d->e ? 2 * v : v + d->e;
}

static bool moves(const doubling *d)
{
    return d->q->collective == TUTTI_ALLREDUCE;
}

static tutti_slice all_of(const doubling *d, int32_t rank, int32_t buffer)
{
    return moves(d) ? tutti_slice_at(rank, buffer, 0, 1, 1) : tutti_compile_nothing(rank);
}

static void add_scratch(const doubling *d)
{
    if (d->v < 0 || !moves(d)) return;
    for (int32_t s = 0; s < d->lg; s++) tutti_compile_scratch(d->b, all_of(d, d->r, 0), 2);
    for (int32_t s = 0; s < d->lg + (d->v < d->e); s++) tutti_compile_scratch(d->b, all_of(d, d->r, 0), 1);
}

/* The odd rank of a pair sends its input to the even one; a rank that takes part copies its input into SUM, where peers
 * read it. */
static void begin(doubling *d)
{
    const uint32_t told = TUTTI_WHEN_READY | (moves(d) ? TUTTI_WHEN_FREE : 0);
    tutti_message m = {.hint = TUTTI_HINT_NO_ACK | (moves(d) ? TUTTI_HINT_PULL : 0)};
    int32_t inbox = SUM + 2 * d->lg;
    if (d->v < 0) {
        m.when = told;
        tutti_compile_send(d->b, &m, all_of(d, d->r, IN), all_of(d, d->r - 1, inbox));
    } else if (d->v < d->e) {
        m.sequence = 1;
        d->made = tutti_compile_recv(d->b, &m, all_of(d, d->r, inbox), all_of(d, d->r + 1, IN));
        if (moves(d))
            d->made =
                tutti_compile_add(d->b, 1, 0, TUTTI_WHEN_READY,
                                  (tutti_addition){all_of(d, d->r, IN), all_of(d, d->r, inbox), all_of(d, d->r, SUM)});
    } else if (moves(d)) {
        d->made = tutti_compile_copy(d->b, 0, 0, TUTTI_WHEN_READY, all_of(d, d->r, IN), all_of(d, d->r, SUM));
    }
}

static void exchange(doubling *d, int32_t s, int32_t stage)
{
    int32_t other = d->v ^ 1 << s, peer = rank_of(d, other), inbox = SUM + d->lg + s;
    tutti_message m = {.stage = stage, .hint = TUTTI_HINT_NO_ACK | (moves(d) ? TUTTI_HINT_PULL : 0)};
    if (!moves(d)) m.when = s ? 0 : TUTTI_WHEN_READY;
    tutti_compile_send(d->b, &m, all_of(d, d->r, SUM + s), all_of(d, peer, inbox));
    if (d->made >= 0) tutti_part_dep(d->b, d->made);
    m.sequence = 1, m.when = 0;
    tutti_slice theirs = all_of(d, d->r, inbox), mine = all_of(d, d->r, SUM + s);
    int32_t got = tutti_compile_recv(d->b, &m, theirs, all_of(d, peer, SUM + s));
    bool last = s == d->lg - 1;
    tutti_slice out = all_of(d, d->r, last ? OUT : SUM + s + 1);
    unsigned when = last ? TUTTI_WHEN_FREE : 0;
    if (!moves(d))
        d->made = got;
    else if (d->v < other)
        d->made = tutti_compile_add(d->b, 1, stage, when, (tutti_addition){mine, theirs, out});
    else
        d->made = tutti_compile_add(d->b, 1, stage, when, (tutti_addition){theirs, mine, out});
    if (moves(d) && s == 0) tutti_part_dep(d->b, d->first);
}

/* After all steps: the even rank of a pair sends the result to the odd rank. */
static void end(const doubling *d, int32_t stage)
{
    tutti_message m = {.stage = stage, .hint = TUTTI_HINT_NO_ACK};
    if (d->v >= 0 && d->v < d->e) {
        tutti_compile_send(d->b, &m, all_of(d, d->r, OUT), all_of(d, d->r + 1, OUT));
        tutti_part_dep(d->b, d->made);
    } else if (d->v < 0) {
        m.sequence = 1, m.when = moves(d) ? TUTTI_WHEN_FREE : 0;
        tutti_compile_recv(d->b, &m, all_of(d, d->r, OUT), all_of(d, d->r - 1, OUT));
    }
}

static void doubling_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    doubling d = {.q = q, .b = b, .r = r, .p = q->nranks, .P = 1, .made = -1};
    while (2 * d.P <= d.p) d.P *= 2, d.lg++;
    d.e = d.p - d.P;
    d.v = r >= 2 * d.e ? r - d.e : r % 2 ? -1 : r / 2;
    tutti_compile_buffers(q, r, b);
    int32_t stage = d.e ? 1 : 0;
    add_scratch(&d);
    begin(&d);
    d.first = d.made;
    for (int32_t s = 0; d.v >= 0 && s < d.lg; s++) exchange(&d, s, stage + s);
    end(&d, stage + d.lg);
}

static tutti_status doubling_accept(const tutti_compile_request *q, tutti_failure *err)
{
    return tutti_accept_powers_of_two("recursive-doubling", "pairs that merge beforehand change the tree", q, err);
}

const tutti_algorithm tutti_algorithm_recursive_doubling = {
    .name = "recursive-doubling",
    .summary = "whole vectors with rank r xor 2^s: lg p rounds, for small vectors",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_BARRIER,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .accept = doubling_accept,
    .part = doubling_part,
};
