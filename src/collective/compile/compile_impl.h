/* SPDX-License-Identifier: Apache-2.0 */
/* compile_impl.h: what the rows share: the buffers of a collective, roots of canonical sums, balanced sums, messages.
 *
 * Buffers of every part stand in one order, so that a compiler knows its peers' numbers: in (one a root), out, scratch.
 * Threads: frozen. */
#ifndef TUTTI_COMPILE_IMPL_H
#define TUTTI_COMPILE_IMPL_H

#include "compile.h"

/* ---- roots: what a rank's inputs hold (compile_sum.c; tutti_compile_roots is in compile.h) ---- */
int tutti_compile_nroots(const tutti_compile_request *q, int32_t rank);
/* nranks + 1 numbers: how many roots the ranks below r have together. The caller's (free()). */
int32_t *tutti_compile_first_roots(const tutti_compile_request *q);

/* Balanced sums over roots that come in leaf order: push gives the folds after this input; the last input also folds what
 * is left, so that any number of leaves gives one value. For 2^k leaves the tree is the balanced one. */
typedef struct {
    int32_t count[32];
    int depth;
} tutti_balance;
int tutti_balance_push(tutti_balance *t, int32_t nleaves, bool last);

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
/* Adds in0, in1, ... (broadcast: the root only) and out (gather, reduce: the root only; all-to-all: one a rank) of `rank`;
 * of a barrier, a scratch of nothing. */
void tutti_compile_buffers(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b);
/* Number of the first buffer out on that rank. In place, out is in 0: same memory under another name. */
int32_t tutti_compile_out(const tutti_compile_request *q, int32_t rank);
/* Adds a scratch buffer with this window and returns its number. */
int32_t tutti_compile_scratch(tutti_part_builder *b, tutti_slice window, int32_t banks);

/* One end of a message. far: the slice at the other end. Returns the step. */
typedef struct {
    int32_t sequence, stage, channel;
    uint32_t when, hint;
} tutti_message;
int32_t tutti_compile_send(tutti_part_builder *b, const tutti_message *m, tutti_slice near, tutti_slice far);
int32_t tutti_compile_recv(tutti_part_builder *b, const tutti_message *m, tutti_slice near, tutti_slice far);
/* out = in; returns the step. In place there is nothing to do: a step that only waits for its conditions where no send
 * does (one rank; the root of a gather or reduce), else -1. */
int32_t tutti_compile_own_copy(const tutti_compile_request *q, tutti_part_builder *b, tutti_slice in, tutti_slice out);
/* A step that does nothing but wait for READY: of a rank that has nobody to tell that it has begun. */
int32_t tutti_compile_begin(tutti_part_builder *b);

static inline int32_t tutti_rank_at(const tutti_compile_request *q, int64_t r)
{
    return (int32_t)((r % q->nranks + q->nranks) % q->nranks);
}

extern const tutti_algorithm tutti_algorithm_direct, tutti_algorithm_one_shot, tutti_algorithm_ring,
    tutti_algorithm_halving_doubling;

#endif
