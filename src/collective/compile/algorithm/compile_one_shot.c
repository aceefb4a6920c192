/* SPDX-License-Identifier: Apache-2.0 */
/* compile_one_shot.c: one-shot: every rank reads all inputs after one synchronisation. The algorithm is for small
 * vectors, whose time is waiting alone.
 *
 * A rank copies its inputs into scratch, signals all others, and sums its inputs and the copies of the others, in the
 * same order on every rank (a balanced tree over the ranks; canonical sums: over the roots of algorithms.h). Each rank
 * reads (p + 1) n and writes 2 n elements. It reads its own inputs again in place: the copy may have left its caches,
 * or have been stored past them.
 *
 * Why two invocations do not race. `in` and `out` of a rank are touched by that rank alone, so only the scratch is
 * shared; it has two banks. Rank r writes bank e mod 2 again in invocation e + 2. By then it has received every rank's
 * message of invocation e + 1, and each rank sent that message after it had read all copies of invocation e. Hence no
 * message is acknowledged. One bank would not be enough. */
#include <stdlib.h>

#include "../compile_impl.h"

static void show_inputs(const tutti_compile_request *q, int32_t r, const int32_t *first, tutti_part_builder *b)
{
    const tutti_message m = {.hint = TUTTI_HINT_PULL | TUTTI_HINT_NO_ACK};
    int32_t own = first[r + 1] - first[r], shown = own + 1;
    for (int32_t i = 0; i < own; i++)
        tutti_compile_copy(b, 0, 0, TUTTI_WHEN_READY, tutti_slice_at(r, i, 0, 1, 1),
                           tutti_slice_at(r, shown + i, 0, 1, 1));
    for (int32_t k = 1; k < q->nranks; k++) {
        int32_t j = tutti_rank_at(q, (int64_t)r + k), others = first[j + 1] - first[j];
        int32_t to = 2 * others + 1 + first[r] - (r > j ? others : 0);
        for (int32_t i = 0; i < own; i++)
            tutti_compile_send(b, &m, tutti_slice_at(r, shown + i, 0, 1, 1), tutti_slice_at(j, to + i, 0, 1, 1));
    }
}

static void see_inputs(const tutti_compile_request *q, int32_t r, const int32_t *first, tutti_part_builder *b)
{
    const tutti_message m = {.sequence = 1, .hint = TUTTI_HINT_PULL | TUTTI_HINT_NO_ACK};
    int32_t own = first[r + 1] - first[r];
    for (int32_t k = 1; k < q->nranks; k++) {
        int32_t j = tutti_rank_at(q, (int64_t)r - k), others = first[j + 1] - first[j];
        int32_t to = 2 * own + 1 + first[j] - (j > r ? own : 0);
        for (int32_t i = 0; i < others; i++)
            tutti_compile_recv(b, &m, tutti_slice_at(r, to + i, 0, 1, 1), tutti_slice_at(j, others + 1 + i, 0, 1, 1));
    }
}

static void one_shot_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t *first = tutti_compile_first_roots(q), own = first[r + 1] - first[r];
    tutti_root roots[TUTTI_MAX_ROOTS];
    tutti_balance tree = {0};
    tutti_compile_buffers(q, r, b);
    for (int32_t i = 0; i < first[q->nranks]; i++)
        tutti_compile_scratch(b, tutti_slice_at(r, 0, 0, 1, 1), i < own ? 2 : 1);
    show_inputs(q, r, first, b);
    see_inputs(q, r, first, b);
    tutti_step reduce = tutti_local_step(TUTTI_STEP_REDUCE, 1, 0, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    tutti_part_step(b, &reduce);
    for (int32_t s = 0; s < q->nranks; s++) {
        int nroots = tutti_compile_roots(q, s, roots);
        int32_t buffer = s == r ? 0 : 2 * own + 1 + first[s] - (s > r ? own : 0);
        for (int i = 0; i < nroots; i++)
            tutti_part_fold(b, tutti_slice_at(r, buffer + i, 0, 1, 1),
                            tutti_balance_push(&tree, roots[i].count, s == q->nranks - 1 && i == nroots - 1));
    }
    tutti_part_out(b, tutti_slice_at(r, own, 0, 1, 1));
    for (int32_t i = 0; i < own; i++) tutti_part_dep(b, i); /* the sum depends on the copies, steps 0 .. own - 1 */
    free(first);
}

const tutti_algorithm tutti_algorithm_one_shot = {
    .name = "one-shot",
    .summary = "every rank reads all inputs: 1 round, for tiny vectors",
    .collectives = 1u << TUTTI_ALLREDUCE,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .sums_once = true,
    .rotates = TUTTI_BY_RANK,
    .part = one_shot_part,
};
