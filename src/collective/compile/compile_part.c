/* SPDX-License-Identifier: Apache-2.0 */
/* compile_part.c: buffers, messages and local work, written the same way by all compilers. */
#include <stdio.h>

#include "compile_impl.h"

int64_t tutti_compile_steps(const tutti_schedule *s)
{
    tutti_part part;
    tutti_schedule_part(s, 0, &part);
    int64_t n = (int64_t)part.nsteps * tutti_schedule_head(s)->nranks;
    tutti_part_release(&part);
    return n;
}

static tutti_slice input_window(const tutti_compile_request *q, int32_t rank, int32_t buffer)
{
    tutti_collective c = q->collective;
    bool slice = c == TUTTI_ALL_GATHER || c == TUTTI_GATHER || c == TUTTI_ALL_TO_ALL;
    /* in place, the buffer has room for the whole result, so its window is the whole vector */
    if (q->in_place && (c == TUTTI_ALL_GATHER || rank == q->root)) slice = false;
    return slice ? tutti_slice_at(rank, buffer, rank, 1, q->nranks) : tutti_slice_at(rank, buffer, 0, 1, 1);
}

static int ninputs(const tutti_compile_request *q, int32_t rank)
{
    if (tutti_collective_reduces(q->collective)) return tutti_compile_nroots(q, rank);
    return q->collective == TUTTI_BARRIER || (q->collective == TUTTI_BROADCAST && rank != q->root) ? 0 : 1;
}

static int32_t noutputs(const tutti_compile_request *q, int32_t rank)
{
    bool to_root = q->collective == TUTTI_GATHER || q->collective == TUTTI_REDUCE;
    if (q->collective == TUTTI_ALL_TO_ALL) return q->nranks;
    return q->collective == TUTTI_BARRIER || (to_root && rank != q->root) ? 0 : 1;
}

static void add_outputs(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b)
{
    int32_t p = q->nranks, first = b->part.nbuffers;
    for (int32_t i = 0; i < noutputs(q, rank); i++) {
        tutti_buffer out = {.role = TUTTI_BUFFER_OUT, .ordinal = i, .banks = 1};
        snprintf(out.name, sizeof out.name, i ? "out%d" : "out", i);
        out.window = tutti_slice_at(rank, first + i, 0, 1, 1);
        if (q->collective == TUTTI_REDUCE_SCATTER && !q->in_place) out.window = tutti_slice_at(rank, first, rank, 1, p);
        if (q->collective == TUTTI_ALL_TO_ALL) out.window = tutti_slice_at(rank, first + i, i * p + rank, 1, p * p);
        tutti_part_buffer(b, &out);
    }
}

void tutti_compile_buffers(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b)
{
    tutti_root roots[TUTTI_MAX_ROOTS];
    tutti_compile_roots(q, rank, roots);
    if (!tutti_collective_reduces(q->collective)) roots[0] = (tutti_root){rank, 1};
    for (int i = 0; i < ninputs(q, rank); i++) {
        tutti_buffer in = {.role = TUTTI_BUFFER_IN, .ordinal = i, .banks = 1};
        snprintf(in.name, sizeof in.name, i ? "in%d" : "in", i);
        in.window = input_window(q, rank, i);
        in.leaf = roots[i].first, in.nleaves = roots[i].count;
        tutti_part_buffer(b, &in);
    }
    add_outputs(q, rank, b);
    if (q->collective == TUTTI_BARRIER) tutti_compile_scratch(b, tutti_compile_nothing(rank), 1);
}

int32_t tutti_compile_out(const tutti_compile_request *q, int32_t rank)
{
    return ninputs(q, rank);
}

int32_t tutti_compile_first_scratch(const tutti_compile_request *q, int32_t rank)
{
    return ninputs(q, rank) + noutputs(q, rank);
}

int32_t tutti_compile_scratch(tutti_part_builder *b, tutti_slice window, int32_t banks)
{
    int32_t number = b->part.nbuffers;
    const tutti_buffer *before = number ? &b->part.buffers[number - 1] : NULL;
    /* true if no scratch buffer comes before this one; buffers of other roles never come after scratch */
    bool first = !before || before->role != TUTTI_BUFFER_SCRATCH;
    tutti_buffer s = {
        .role = TUTTI_BUFFER_SCRATCH, .ordinal = first ? 0 : before->ordinal + 1, .banks = banks, .window = window};
    s.window.buffer = number;
    snprintf(s.name, sizeof s.name, "s%d", s.ordinal);
    return tutti_part_buffer(b, &s);
}

static int32_t message_step(tutti_part_builder *b, tutti_step_kind kind, const tutti_message *m, int32_t peer)
{
    return tutti_part_step(b, &(tutti_step){.kind = kind,
                                            .sequence = m->sequence,
                                            .stage = m->stage,
                                            .peer = peer,
                                            .channel = m->channel,
                                            .when = m->when,
                                            .hint = m->hint});
}

int32_t tutti_compile_send(tutti_part_builder *b, const tutti_message *m, tutti_slice near, tutti_slice far)
{
    int32_t step = message_step(b, TUTTI_STEP_SEND, m, far.rank);
    tutti_part_in(b, near);
    tutti_part_set_far(b, far);
    return step;
}

int32_t tutti_compile_recv(tutti_part_builder *b, const tutti_message *m, tutti_slice near, tutti_slice far)
{
    int32_t step = message_step(b, TUTTI_STEP_RECV, m, far.rank);
    tutti_part_out(b, near);
    tutti_part_set_far(b, far);
    return step;
}

int32_t tutti_compile_copy(tutti_part_builder *b, int32_t sequence, int32_t stage, uint32_t when, tutti_slice from,
                           tutti_slice to)
{
    const tutti_step copy = tutti_local_step(TUTTI_STEP_COPY, sequence, stage, when);
    int32_t step = tutti_part_step(b, &copy);
    tutti_part_in(b, from);
    tutti_part_out(b, to);
    return step;
}

int32_t tutti_compile_add(tutti_part_builder *b, int32_t sequence, int32_t stage, uint32_t when, tutti_addition of)
{
    const tutti_step reduce = tutti_local_step(TUTTI_STEP_REDUCE, sequence, stage, when);
    int32_t step = tutti_part_step(b, &reduce);
    tutti_part_fold(b, of.older, 0);
    tutti_part_fold(b, of.newer, 1);
    tutti_part_out(b, of.out);
    return step;
}

int32_t tutti_compile_own_copy(const tutti_compile_request *q, tutti_part_builder *b, tutti_slice in, tutti_slice out)
{
    bool to_root = q->collective == TUTTI_GATHER || q->collective == TUTTI_REDUCE;
    /* the sends wait for READY themselves, so no step is needed for that */
    if (q->in_place && q->nranks > 1 && !to_root) return -1;
    const uint32_t when = TUTTI_WHEN_READY | TUTTI_WHEN_FREE;
    if (!q->in_place) return tutti_compile_copy(b, 0, 0, when, in, out);
    const tutti_step wait = tutti_local_step(TUTTI_STEP_NOP, 0, 0, when);
    return tutti_part_step(b, &wait);
}

void tutti_compile_alone(const tutti_compile_request *q, tutti_part_builder *b)
{
    const tutti_step begin = tutti_local_step(TUTTI_STEP_NOP, 0, 0, TUTTI_WHEN_READY);
    tutti_compile_buffers(q, 0, b);
    if (q->collective == TUTTI_BARRIER)
        tutti_part_step(b, &begin);
    else
        tutti_compile_own_copy(q, b, tutti_slice_at(0, 0, 0, 1, 1),
                               tutti_slice_at(0, tutti_compile_out(q, 0), 0, 1, 1));
}
