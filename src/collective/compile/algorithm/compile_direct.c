/* SPDX-License-Identifier: Apache-2.0 */
/* compile_direct.c: direct: every rank reads from every other rank, and rank j owns slice j.
 *
 * Our reading of GDRAA (MiMatrix, arXiv 1802.02326: one computation, one handshake, two synchronisations):
 *   reduce-scatter  every rank gives slice j to its owner j, beginning with the next rank (no incast); the owner sums
 *                   the values of all p ranks in one ordered reduce, a balanced tree over the ranks (canonical sums:
 *                   over the roots of algorithms.h);
 *   all-gather      the owner gives its slice to all ranks;
 *   allreduce       both; gather: the owners give their slices to the root alone;
 *   reduce          the owners give their slices to the root alone; broadcast: the root gives slice j to rank j, which
 *                   gives it to all others (the scatter and all-gather of van de Geijn, with the fewest rounds);
 *   all-to-all      every rank gives each block to its owner, next rank first; barrier: every rank signals all others.
 * Mapped: inputs are read in place and the reduce writes all ranks' outputs, so each input is read once, each output
 * written once.
 *
 * Why two invocations do not race. allreduce: rank r's first message says READY and FREE, and an owner writes r's
 * output only after that message. r completes only after every owner has written r's output. By then every owner has
 * read r's input, so no message need be acknowledged. Inboxes: owner j reads them in its reduce, before it sends the
 * message that r needs to complete. A reduce-scatter sends nothing back to r, so the owners acknowledge that they have
 * read r's slices. In a reduce they acknowledge it too, except to the root, which gets a sum from every owner. In
 * all-gather, broadcast, gather and all-to-all a receiver first reports that its output is free. A barrier only counts
 * messages. */
#include <stdlib.h>

#include "../compile_impl.h"

typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r, p, out;
    int32_t sum;               /* number of the buffer in which rank r sums its own slice: the output, or the last
                                * scratch buffer */
    const int32_t *first_root; /* for each rank: number of input buffers of the ranks before it; NULL if nothing is
                                * summed */
} direct;

static bool is_root_of_reduce(const direct *d, int32_t rank)
{
    return d->q->collective == TUTTI_REDUCE && rank == d->q->root;
}

/* Returns the hints of the messages by which `from` sends slices to their owners. */
static uint32_t scatter_hint(const direct *d, int32_t from)
{
    bool told = d->q->collective == TUTTI_ALLREDUCE || is_root_of_reduce(d, from);
    return TUTTI_HINT_PULL | (told ? TUTTI_HINT_NO_ACK : 0);
}

/* Returns the buffer in which rank j receives rank s's values of slice j: one scratch buffer for each input buffer of
 * s, in their order. Rank j has none for its own inputs. */
static int32_t inbox(const direct *d, int32_t j, int32_t s)
{
    const int32_t *first = d->first_root;
    int32_t own = first[j + 1] - first[j];
    return tutti_compile_first_scratch(d->q, j) + first[s] - (s > j ? own : 0);
}

/* Sends this rank's values of slice j to its owner j, from every input buffer, beginning with the next rank. */
static void scatter_sends(const direct *d)
{
    bool frees = d->q->collective == TUTTI_ALLREDUCE || is_root_of_reduce(d, d->r);
    const tutti_message m = {.when = TUTTI_WHEN_READY | (frees ? TUTTI_WHEN_FREE : 0), .hint = scatter_hint(d, d->r)};
    for (int32_t k = 1; k < d->p; k++) {
        int32_t j = tutti_rank_at(d->q, (int64_t)d->r + k), to = inbox(d, j, d->r);
        for (int32_t i = 0; i < d->out; i++)
            tutti_compile_send(d->b, &m, tutti_slice_at(d->r, i, j, 1, d->p), tutti_slice_at(j, to + i, j, 1, d->p));
    }
}

/* Receives all ranks' values of this rank's slice, from every input buffer, beginning with the rank before this one. */
static void scatter_recvs(const direct *d)
{
    int32_t nscratch = d->first_root[d->p] - d->out + (d->sum != d->out);
    for (int32_t i = 0; i < nscratch; i++) tutti_compile_scratch(d->b, tutti_slice_at(d->r, 0, d->r, 1, d->p), 1);
    for (int32_t k = 1; k < d->p; k++) {
        int32_t s = tutti_rank_at(d->q, (int64_t)d->r - k), to = inbox(d, d->r, s);
        const tutti_message m = {.sequence = 1, .hint = scatter_hint(d, s)};
        int32_t nroots = d->first_root[s + 1] - d->first_root[s];
        for (int32_t i = 0; i < nroots; i++)
            tutti_compile_recv(d->b, &m, tutti_slice_at(d->r, to + i, d->r, 1, d->p),
                               tutti_slice_at(s, i, d->r, 1, d->p));
    }
}

/* Sums all inputs of all ranks in the order of their leaves. */
static int32_t reduce_slice(const direct *d)
{
    tutti_root roots[TUTTI_MAX_ROOTS];
    tutti_balance tree = {0};
    uint32_t when = TUTTI_WHEN_READY | (d->sum == d->out ? TUTTI_WHEN_FREE : 0);
    tutti_step reduce = tutti_local_step(TUTTI_STEP_REDUCE, 1, 0, when);
    int32_t step = tutti_part_step(d->b, &reduce);
    for (int32_t s = 0; s < d->p; s++) {
        int nroots = tutti_compile_roots(d->q, s, roots);
        int32_t buffer = s == d->r ? 0 : inbox(d, d->r, s);
        for (int i = 0; i < nroots; i++)
            tutti_part_fold(d->b, tutti_slice_at(d->r, buffer + i, d->r, 1, d->p),
                            tutti_balance_push(&tree, roots[i].count, s == d->p - 1 && i == nroots - 1));
    }
    tutti_part_out(d->b, tutti_slice_at(d->r, d->sum, d->r, 1, d->p));
    return step;
}

/* Sends the owners' sums, made by step `made`, into the root's output. */
static void sums_to_root(const direct *d, int32_t made)
{
    int32_t root = d->q->root, out = tutti_compile_out(d->q, root);
    tutti_message m = {.stage = 1, .hint = TUTTI_HINT_NO_ACK};
    if (d->r != root) {
        tutti_compile_send(d->b, &m, tutti_slice_at(d->r, d->sum, d->r, 1, d->p),
                           tutti_slice_at(root, out, d->r, 1, d->p));
        tutti_part_dep(d->b, made);
        return;
    }
    m.sequence = 1, m.when = TUTTI_WHEN_FREE;
    for (int32_t k = 1; k < d->p; k++) {
        int32_t j = tutti_rank_at(d->q, (int64_t)root + k), sum = tutti_compile_first_scratch(d->q, j);
        sum += d->first_root[d->p] - (d->first_root[j + 1] - d->first_root[j]);
        tutti_compile_recv(d->b, &m, tutti_slice_at(root, out, j, 1, d->p), tutti_slice_at(j, sum, j, 1, d->p));
    }
}

/* Receives every rank's slice into the output. */
static void gather_recvs(const direct *d, int32_t stage, uint32_t hint)
{
    const tutti_message recv = {.sequence = 1, .stage = stage, .hint = hint, .when = TUTTI_WHEN_FREE};
    for (int32_t k = 1; k < d->p; k++) {
        int32_t j = tutti_rank_at(d->q, (int64_t)d->r - k), out = tutti_compile_out(d->q, j);
        tutti_compile_recv(d->b, &recv, tutti_slice_at(d->r, d->out, j, 1, d->p), tutti_slice_at(j, out, j, 1, d->p));
    }
}

/* Sends this rank's slice, which lies in out after step `made` (-1: from the beginning), to all ranks. */
static void gather_sends(const direct *d, int32_t made, int32_t stage, uint32_t hint)
{
    const tutti_message send = {.stage = stage, .hint = hint, .when = made < 0 ? TUTTI_WHEN_READY : 0};
    for (int32_t k = 1; k < d->p; k++) {
        int32_t j = tutti_rank_at(d->q, (int64_t)d->r + k), out = tutti_compile_out(d->q, j);
        tutti_compile_send(d->b, &send, tutti_slice_at(d->r, d->out, d->r, 1, d->p),
                           tutti_slice_at(j, out, d->r, 1, d->p));
        if (k == 1 && made >= 0) tutti_part_dep(d->b, made);
    }
}

/* Sends slice j from the root to rank j, and from rank j to all others. Rank j pulls, so the root's input is free after
 * that. */
static void broadcast(const direct *d)
{
    int32_t root = d->q->root, p = d->p, r = d->r, out = tutti_compile_out(d->q, root);
    tutti_message first = {.hint = TUTTI_HINT_PULL}, m = {.stage = 1};
    int32_t got = -1;
    if (r == root) {
        first.when = TUTTI_WHEN_READY;
        for (int32_t k = 1; k < p; k++) {
            int32_t j = tutti_rank_at(d->q, (int64_t)r + k);
            tutti_compile_send(d->b, &first, tutti_slice_at(r, 0, j, 1, p), tutti_slice_at(j, 0, j, 1, p));
        }
        tutti_compile_own_copy(d->q, d->b, tutti_slice_at(r, 0, 0, 1, 1), tutti_slice_at(r, out, 0, 1, 1));
    } else {
        first.sequence = m.sequence = 1, first.when = m.when = TUTTI_WHEN_FREE;
        got = tutti_compile_recv(d->b, &first, tutti_slice_at(r, 0, r, 1, p), tutti_slice_at(root, 0, r, 1, p));
    }
    for (int32_t k = 1; k < p && r != root; k++) {
        int32_t j = tutti_rank_at(d->q, (int64_t)r - k);
        tutti_compile_recv(d->b, &m, tutti_slice_at(r, 0, j, 1, p), tutti_slice_at(j, 0, j, 1, p));
    }
    m.sequence = 0, m.when = got < 0 ? TUTTI_WHEN_READY : 0;
    for (int32_t k = 1; k < p; k++) {
        int32_t j = tutti_rank_at(d->q, (int64_t)r + k);
        if (j == root) continue;
        tutti_compile_send(d->b, &m, tutti_slice_at(r, 0, r, 1, p), tutti_slice_at(j, 0, r, 1, p));
        if (got >= 0) tutti_part_dep(d->b, got);
        got = -1;
    }
}

/* Sends every rank's slice into the root's output, directly from the rank's input. */
static void gather_to_root(const direct *d)
{
    int32_t root = d->q->root;
    const tutti_message send = {.when = TUTTI_WHEN_READY}, recv = {.sequence = 1, .when = TUTTI_WHEN_FREE};
    if (d->r != root) {
        tutti_compile_send(d->b, &send, tutti_slice_at(d->r, 0, d->r, 1, d->p), tutti_slice_at(root, 1, d->r, 1, d->p));
        return;
    }
    for (int32_t k = 1; k < d->p; k++) {
        int32_t j = tutti_rank_at(d->q, (int64_t)root + k);
        tutti_compile_recv(d->b, &recv, tutti_slice_at(root, 1, j, 1, d->p), tutti_slice_at(j, 0, j, 1, d->p));
    }
    tutti_compile_own_copy(d->q, d->b, tutti_slice_at(root, 0, root, 1, d->p), tutti_slice_at(root, 1, root, 1, d->p));
}

/* Sends block (r, j) to rank j, for its output r; receives block (s, r) from rank s. */
static void exchange_blocks(const direct *d)
{
    int32_t r = d->r, p = d->p, of = p * p;
    const tutti_message send = {.when = TUTTI_WHEN_READY}, recv = {.sequence = 1, .when = TUTTI_WHEN_FREE};
    for (int32_t k = 1; k < p; k++) {
        int32_t s = tutti_rank_at(d->q, (int64_t)r - k);
        tutti_compile_recv(d->b, &recv, tutti_slice_at(r, d->out + s, s * p + r, 1, of),
                           tutti_slice_at(s, 0, s * p + r, 1, of));
    }
    for (int32_t k = 1; k < p; k++) {
        int32_t j = tutti_rank_at(d->q, (int64_t)r + k);
        tutti_compile_send(d->b, &send, tutti_slice_at(r, 0, r * p + j, 1, of),
                           tutti_slice_at(j, d->out + r, r * p + j, 1, of));
    }
    tutti_compile_own_copy(d->q, d->b, tutti_slice_at(r, 0, r * p + r, 1, of),
                           tutti_slice_at(r, d->out + r, r * p + r, 1, of));
}

static void tell_everyone(const direct *d)
{
    const tutti_message send = {.when = TUTTI_WHEN_READY, .hint = TUTTI_HINT_NO_ACK};
    const tutti_message recv = {.sequence = 1, .hint = TUTTI_HINT_NO_ACK};
    for (int32_t k = 1; k < d->p; k++) {
        int32_t to = tutti_rank_at(d->q, (int64_t)d->r + k), from = tutti_rank_at(d->q, (int64_t)d->r - k);
        tutti_compile_send(d->b, &send, tutti_compile_nothing(d->r), tutti_compile_nothing(to));
        tutti_compile_recv(d->b, &recv, tutti_compile_nothing(d->r), tutti_compile_nothing(from));
    }
}

static void direct_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    direct d = {.q = q, .b = b, .r = r, .p = q->nranks, .out = tutti_compile_out(q, r)};
    d.sum = d.out;
    tutti_compile_buffers(q, r, b);
    if (q->collective == TUTTI_BARRIER) {
        tell_everyone(&d);
    } else if (q->collective == TUTTI_ALL_TO_ALL) {
        exchange_blocks(&d);
    } else if (q->collective == TUTTI_BROADCAST) {
        broadcast(&d);
    } else if (q->collective == TUTTI_GATHER) {
        gather_to_root(&d);
    } else if (q->collective == TUTTI_ALL_GATHER) {
        gather_recvs(&d, 0, 0); /* receives come first, so that this rank reports FREE before its own slice is ready */
        gather_sends(&d, tutti_compile_own_copy(q, b, tutti_slice_at(r, 0, r, 1, d.p), tutti_slice_at(r, 1, r, 1, d.p)),
                     0, 0);
    } else {
        int32_t *first_root = tutti_compile_first_roots(q);
        d.first_root = first_root;
        if (q->collective == TUTTI_REDUCE && r != q->root)
            d.sum = tutti_compile_first_scratch(q, r) + first_root[d.p] - d.out;
        scatter_sends(&d);
        scatter_recvs(&d);
        int32_t made = reduce_slice(&d);
        if (q->collective == TUTTI_ALLREDUCE) {
            gather_sends(&d, made, 1, TUTTI_HINT_NO_ACK);
            gather_recvs(&d, 1, TUTTI_HINT_NO_ACK);
        }
        if (q->collective == TUTTI_REDUCE) sums_to_root(&d, made);
        free(first_root);
    }
}

const tutti_algorithm tutti_algorithm_direct = {
    .name = "direct",
    .summary = "slice j to its owner j, the sum to all: 2 rounds, p - 1 messages each (after GDRAA)",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_REDUCE_SCATTER | 1u << TUTTI_ALL_GATHER | 1u << TUTTI_GATHER |
                   1u << TUTTI_BROADCAST | 1u << TUTTI_REDUCE | 1u << TUTTI_ALL_TO_ALL | 1u << TUTTI_BARRIER,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .sums_once = true,
    .rotates = TUTTI_BY_RANK,
    .part = direct_part,
};
