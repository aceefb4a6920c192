/* SPDX-License-Identifier: Apache-2.0 */
/* compile_part.c: buffers and messages, written the same way by all compilers. */
#include <stdio.h>

#include "compile_impl.h"

static tutti_slice input_window(const tutti_compile_request *q, int32_t rank, int32_t buffer)
{
    bool whole = q->collective == TUTTI_ALLREDUCE || q->collective == TUTTI_REDUCE_SCATTER;
    /* in place, the input lies where the whole result will lie */
    if (q->in_place && (q->collective == TUTTI_ALL_GATHER || rank == q->root)) whole = true;
    return whole ? tutti_slice_at(rank, buffer, 0, 1, 1) : tutti_slice_at(rank, buffer, rank, 1, q->nranks);
}

void tutti_compile_buffers(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b)
{
    tutti_root roots[TUTTI_MAX_ROOTS];
    int n = tutti_compile_roots(q, rank, roots);
    bool reduces = q->collective == TUTTI_ALLREDUCE || q->collective == TUTTI_REDUCE_SCATTER;
    if (!reduces) roots[0] = (tutti_root){rank, 1}, n = 1;
    for (int i = 0; i < n; i++) {
        tutti_buffer in = {.role = TUTTI_BUFFER_IN, .ordinal = i, .banks = 1};
        snprintf(in.name, sizeof in.name, i ? "in%d" : "in", i);
        in.window = input_window(q, rank, i);
        in.leaf = roots[i].first, in.nleaves = roots[i].count;
        tutti_part_buffer(b, &in);
    }
    if (q->collective == TUTTI_GATHER && rank != q->root) return;
    tutti_buffer out = {.name = "out", .role = TUTTI_BUFFER_OUT, .banks = 1};
    out.window = tutti_slice_at(rank, n, 0, 1, 1);
    if (q->collective == TUTTI_REDUCE_SCATTER && !q->in_place) out.window = tutti_slice_at(rank, n, rank, 1, q->nranks);
    tutti_part_buffer(b, &out);
}

int32_t tutti_compile_out(const tutti_compile_request *q, int32_t rank)
{
    bool reduces = q->collective == TUTTI_ALLREDUCE || q->collective == TUTTI_REDUCE_SCATTER;
    return reduces ? tutti_compile_nroots(q, rank) : 1;
}

int32_t tutti_compile_scratch(tutti_part_builder *b, tutti_slice window, int32_t banks)
{
    int32_t number = b->part.nbuffers;
    const tutti_buffer *before = number ? &b->part.buffers[number - 1] : NULL;
    bool first = !before || before->role != TUTTI_BUFFER_SCRATCH; /* scratch stands last */
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

int32_t tutti_compile_own_copy(const tutti_compile_request *q, tutti_part_builder *b, tutti_slice in, tutti_slice out)
{
    if (q->in_place && q->nranks > 1 && q->collective != TUTTI_GATHER) return -1; /* sends wait for READY */
    tutti_step step =
        tutti_local_step(q->in_place ? TUTTI_STEP_NOP : TUTTI_STEP_COPY, 0, 0, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    int32_t index = tutti_part_step(b, &step);
    if (q->in_place) return index;
    tutti_part_in(b, in);
    tutti_part_out(b, out);
    return index;
}
