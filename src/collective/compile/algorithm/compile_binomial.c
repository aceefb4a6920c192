/* SPDX-License-Identifier: Apache-2.0 */
/* compile_binomial.c: binomial tree: in each step twice as many ranks take part.
 *
 *   broadcast, reduce, gather   ceil(lg p) steps down or up the tree that halves intervals of ranks (compile_rooted.h).
 *                               For p = 2^k and root 0, rank r's parent is r with its lowest bit cleared, as in the
 *                               textbooks; otherwise the intervals are halves as equal as can be, and the root's half
 *                               keeps its root. (Rejected: renumbering ranks from the root: subtrees would wrap around
 *                               the end of the vector, and canonical sums would be possible for root 0 alone.)
 *   allreduce                   reduce to rank 0, then broadcast: 2 ceil(lg p) steps with whole vectors.
 *
 * compile_rooted.h says why two invocations do not race. */
#include "compile_rooted.h"

static void place(const tutti_tree *t, int32_t rank, tutti_tree_place *out)
{
    tutti_interval_place(t->q->nranks, t->q->root, 2, rank, out);
}

static void binomial_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    tutti_tree t = {.q = q, .b = b, .r = r, .nchunks = 1, .of = 1, .place = place};
    t.nlevels = tutti_interval_levels(q->nranks, 2);
    tutti_rooted_part(&t, 1);
}

static tutti_status binomial_accept(const tutti_compile_request *q, tutti_failure *err)
{
    return tutti_accept_powers_of_two("binomial", "halves of the ranks are not subtrees of the sum", q, err);
}

const tutti_algorithm tutti_algorithm_binomial = {
    .name = "binomial",
    .summary = "up and down the tree that halves the ranks: ceil(lg p) rounds each way, whole vectors",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_GATHER | 1u << TUTTI_BROADCAST | 1u << TUTTI_REDUCE,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .accept = binomial_accept,
    .part = binomial_part,
};
