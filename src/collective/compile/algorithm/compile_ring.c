/* SPDX-License-Identifier: Apache-2.0 */
/* compile_ring.c: ring: every rank sends to the next one only.
 *
 *   reduce-scatter  in step s rank r sends the partial sum of slice r-s-1 to r+1, and adds its own input to the partial
 *                   sum of slice r-s-2 that it receives, so that after p-1 steps it owns slice r (Patarasuk and Yuan:
 *                   2(p-1)/p n is the least traffic);
 *   all-gather      p-1 steps more, in which finished slices go round;
 *   allreduce       both, with partial sums kept in out; the reduce-scatter alone keeps them in scratch.
 * The sum of slice j begins at rank j+1: expressions differ between slices, hence no canonical sums.
 *
 * Why two invocations do not race. Rank r+1 pulls the partial sum of rank r in step s. The value with which r
 * overwrites that sum later has come round the ring through r+1, so it depends on that pull. Only the last p-1 pulls
 * can still be under way when r has all results. Rank r+1 pulls in order, so it is enough that the last pull is
 * acknowledged before r completes. */
#include "../compile_impl.h"

typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r, p, next, before;
    int32_t last; /* number of all steps; the message of the last step is acknowledged */
} ring;

static uint32_t hint(const ring *g, int32_t step)
{
    return TUTTI_HINT_PULL | (step == g->last - 1 ? 0 : TUTTI_HINT_NO_ACK);
}

/* Returns the place of the partial sum of slice j on `rank`: in out if out holds all slices, else in a scratch buffer
 * of the step. */
static tutti_slice partial(const ring *g, int32_t rank, int32_t j, int32_t step)
{
    bool all = g->q->collective == TUTTI_ALLREDUCE;
    bool done = step == g->p - 2;
    return tutti_slice_at(rank, all || done ? 1 : 2 + step, j, 1, g->p);
}

static int32_t reduce_scatter(const ring *g)
{
    const tutti_compile_request *q = g->q;
    int32_t made = -1;
    int32_t nkept = q->collective == TUTTI_ALLREDUCE ? 0 : g->p - 2, inbox = 2 + nkept;
    for (int32_t k = 0; k < nkept + g->p - 1; k++) { /* adds the buffers of partial sums, then the inboxes */
        int32_t s = k < nkept ? k : k - nkept;
        tutti_compile_scratch(g->b, tutti_slice_at(g->r, 0, tutti_rank_at(q, (int64_t)g->r - s - 2), 1, g->p), 1);
    }
    for (int32_t s = 0; s < g->p - 1; s++) {
        int32_t give = tutti_rank_at(q, (int64_t)g->r - s - 1), take = tutti_rank_at(q, (int64_t)g->r - s - 2);
        const tutti_message send = {.stage = s, .hint = hint(g, s), .when = s ? 0 : TUTTI_WHEN_READY};
        const tutti_message recv = {.sequence = 1, .stage = s, .hint = hint(g, s)};
        tutti_slice to = tutti_slice_at(g->r, inbox + s, take, 1, g->p);
        tutti_compile_send(g->b, &send, s ? partial(g, g->r, give, s - 1) : tutti_slice_at(g->r, 0, give, 1, g->p),
                           tutti_slice_at(g->next, inbox + s, give, 1, g->p));
        if (made >= 0) tutti_part_dep(g->b, made);
        tutti_compile_recv(g->b, &recv, to,
                           s ? partial(g, g->before, take, s - 1) : tutti_slice_at(g->before, 0, take, 1, g->p));
        bool to_out = q->collective == TUTTI_ALLREDUCE || s == g->p - 2;
        made =
            tutti_compile_add(g->b, 1, s, TUTTI_WHEN_READY | (to_out ? TUTTI_WHEN_FREE : 0),
                              (tutti_addition){to, tutti_slice_at(g->r, 0, take, 1, g->p), partial(g, g->r, take, s)});
    }
    return made;
}

/* Passes finished slices round the ring. made: the step after which this rank's slice lies in out, -1 = from the
 * beginning. */
static void all_gather(const ring *g, int32_t made, int32_t stage)
{
    for (int32_t s = 0; s < g->p - 1; s++) {
        int32_t give = tutti_rank_at(g->q, (int64_t)g->r - s), take = tutti_rank_at(g->q, (int64_t)g->r - s - 1);
        const tutti_message send = {
            .stage = stage + s, .hint = hint(g, stage + s), .when = made < 0 ? TUTTI_WHEN_READY : 0};
        const tutti_message recv = {
            .sequence = 1, .stage = stage + s, .hint = hint(g, stage + s), .when = TUTTI_WHEN_FREE};
        tutti_compile_send(g->b, &send, tutti_slice_at(g->r, 1, give, 1, g->p),
                           tutti_slice_at(g->next, 1, give, 1, g->p));
        if (made >= 0) tutti_part_dep(g->b, made);
        made = tutti_compile_recv(g->b, &recv, tutti_slice_at(g->r, 1, take, 1, g->p),
                                  tutti_slice_at(g->before, 1, take, 1, g->p));
    }
}

static void ring_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t p = q->nranks, rounds = q->collective == TUTTI_ALLREDUCE ? 2 : 1;
    ring g = {.q = q, .b = b, .r = r, .p = p, .last = rounds * (p - 1)};
    g.next = tutti_rank_at(q, (int64_t)r + 1), g.before = tutti_rank_at(q, (int64_t)r - 1);
    tutti_compile_buffers(q, r, b);
    int32_t made = q->collective == TUTTI_ALL_GATHER
                       ? tutti_compile_own_copy(q, b, tutti_slice_at(r, 0, r, 1, p), tutti_slice_at(r, 1, r, 1, p))
                       : reduce_scatter(&g);
    if (q->collective != TUTTI_REDUCE_SCATTER) all_gather(&g, made, q->collective == TUTTI_ALLREDUCE ? p - 1 : 0);
}

static tutti_status ring_accept(const tutti_compile_request *q, tutti_failure *err)
{
    return tutti_accept_fast_sums(
        "ring", "the sum of slice j begins at rank j + 1, so that each slice has an expression of its own", q, err);
}

const tutti_algorithm tutti_algorithm_ring = {
    .name = "ring",
    .summary = "slices go round, neighbours only: 2(p - 1) steps, least traffic",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_REDUCE_SCATTER | 1u << TUTTI_ALL_GATHER,
    .determinism = TUTTI_DETERMINISM_PER_SLICE,
    .rotates = TUTTI_BY_RANK,
    .accept = ring_accept,
    .part = ring_part,
};
