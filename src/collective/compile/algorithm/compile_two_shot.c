/* SPDX-License-Identifier: Apache-2.0 */
/* compile_two_shot.c: two-shot: the two rounds of direct through scratch, so that only the owner touches inputs and
 * outputs.
 *
 * A rank copies its inputs, without its own slice, into scratch and signals. It sums its slice from its inputs and the
 * copies of the others (a balanced tree over the ranks; canonical sums: over the roots of algorithms.h), into out and
 * once more into scratch, and signals again. It then copies the sums of all other ranks from their scratch. So memory
 * that no peer maps can be summed at a cost that hardly grows with the ranks: each reads (3 - 2/p) n and writes 2 n
 * elements, where one-shot reads (p + 1) n.
 *
 * Why two invocations do not race. Only the scratch is shared, and one bank of it is enough. Rank r overwrites its
 * copies of inputs in invocation e + 1. By then it has the sums of e of all ranks, which were made of these copies, so
 * all have read them. Rank r overwrites its sum in e + 1 after every rank has signalled its inputs of e + 1. Each rank
 * did so after it had completed e, and so had copied r's sum. Hence no message is acknowledged. */
#include <stdlib.h>

#include "../compile_impl.h"

static const uint32_t HINT = TUTTI_HINT_PULL | TUTTI_HINT_NO_ACK;

typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r, p, out;
    const int32_t *first; /* for each rank: number of input buffers of the ranks before it */
} two_shot;

static int32_t roots_of(const two_shot *t, int32_t rank)
{
    return t->first[rank + 1] - t->first[rank];
}

/* Scratch of a rank, in this order: copies of its inputs (one for each input buffer), a copy of its sum, then buffers
 * for values from the others. */
static int32_t shown(const two_shot *t, int32_t rank)
{
    return tutti_compile_first_scratch(t->q, rank);
}

static int32_t shown_sum(const two_shot *t, int32_t rank)
{
    return shown(t, rank) + roots_of(t, rank);
}

static int32_t inbox(const two_shot *t, int32_t rank, int32_t from)
{
    return shown_sum(t, rank) + 1 + t->first[from] - (from > rank ? roots_of(t, rank) : 0);
}

static void show_inputs(const two_shot *t)
{
    const tutti_message m = {.hint = HINT};
    const int32_t r = t->r, p = t->p, own = roots_of(t, r);
    for (int32_t i = 0; i < own; i++) {
        const int32_t to = shown(t, r) + i;
        if (r > 0)
            tutti_compile_copy(t->b, 0, 0, TUTTI_WHEN_READY, tutti_slice_at(r, i, 0, r, p),
                               tutti_slice_at(r, to, 0, r, p));
        if (r < p - 1)
            tutti_compile_copy(t->b, 0, 0, TUTTI_WHEN_READY, tutti_slice_at(r, i, r + 1, p - 1 - r, p),
                               tutti_slice_at(r, to, r + 1, p - 1 - r, p));
    }
    for (int32_t k = 1; k < p; k++) {
        const int32_t j = tutti_rank_at(t->q, (int64_t)r + k);
        for (int32_t i = 0; i < own; i++)
            tutti_compile_send(t->b, &m, tutti_slice_at(r, shown(t, r) + i, j, 1, p),
                               tutti_slice_at(j, inbox(t, j, r) + i, j, 1, p));
    }
}

/* Sums this rank's slice of all inputs into its scratch and its out. Returns the step. */
static int32_t sum_slice(const two_shot *t)
{
    const tutti_message m = {.sequence = 1, .hint = HINT};
    const int32_t r = t->r, p = t->p;
    for (int32_t k = 1; k < p; k++) {
        const int32_t s = tutti_rank_at(t->q, (int64_t)r - k);
        for (int32_t i = 0; i < roots_of(t, s); i++)
            tutti_compile_recv(t->b, &m, tutti_slice_at(r, inbox(t, r, s) + i, r, 1, p),
                               tutti_slice_at(s, shown(t, s) + i, r, 1, p));
    }
    tutti_root roots[TUTTI_MAX_ROOTS];
    tutti_balance tree = {0};
    const tutti_step reduce = tutti_local_step(TUTTI_STEP_REDUCE, 1, 0, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    const int32_t step = tutti_part_step(t->b, &reduce);
    for (int32_t s = 0; s < p; s++) {
        const int n = tutti_compile_roots(t->q, s, roots);
        const int32_t from = s == r ? 0 : inbox(t, r, s);
        for (int i = 0; i < n; i++)
            tutti_part_fold(t->b, tutti_slice_at(r, from + i, r, 1, p),
                            tutti_balance_push(&tree, roots[i].count, s == p - 1 && i == n - 1));
    }
    tutti_part_out(t->b, tutti_slice_at(r, shown_sum(t, r), r, 1, p));
    tutti_part_out(t->b, tutti_slice_at(r, t->out, r, 1, p));
    return step;
}

static void share_sums(const two_shot *t, int32_t made)
{
    const int32_t r = t->r, p = t->p;
    tutti_message m = {.stage = 1, .hint = HINT};
    for (int32_t k = 1; k < p; k++) {
        const int32_t j = tutti_rank_at(t->q, (int64_t)r + k);
        tutti_compile_send(t->b, &m, tutti_slice_at(r, shown_sum(t, r), r, 1, p),
                           tutti_slice_at(j, tutti_compile_out(t->q, j), r, 1, p));
        if (k == 1) tutti_part_dep(t->b, made);
    }
    m.sequence = 1, m.when = TUTTI_WHEN_FREE;
    for (int32_t k = 1; k < p; k++) {
        const int32_t j = tutti_rank_at(t->q, (int64_t)r - k);
        tutti_compile_recv(t->b, &m, tutti_slice_at(r, t->out, j, 1, p), tutti_slice_at(j, shown_sum(t, j), j, 1, p));
    }
}

static void two_shot_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t *first = tutti_compile_first_roots(q);
    const two_shot t = {.q = q, .b = b, .r = r, .p = q->nranks, .out = tutti_compile_out(q, r), .first = first};
    const int32_t own = roots_of(&t, r), ninboxes = first[t.p] - own;
    tutti_compile_buffers(q, r, b);
    for (int32_t i = 0; i < own; i++) tutti_compile_scratch(b, tutti_slice_at(r, 0, 0, 1, 1), 1);
    for (int32_t i = 0; i < 1 + ninboxes; i++) tutti_compile_scratch(b, tutti_slice_at(r, 0, r, 1, t.p), 1);
    show_inputs(&t);
    share_sums(&t, sum_slice(&t));
    free(first);
}

const tutti_algorithm tutti_algorithm_two_shot = {
    .name = "two-shot",
    .summary = "direct through scratch, for memory that no peer maps: 2 rounds, p - 1 messages each",
    .collectives = 1u << TUTTI_ALLREDUCE,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .sums_once = true,
    .rotates = TUTTI_BY_RANK,
    .part = two_shot_part,
};
