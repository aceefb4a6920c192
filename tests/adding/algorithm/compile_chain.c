/* SPDX-License-Identifier: Apache-2.0 */
/* compile_chain.c: every rank has one neighbour on its way to the root: the tree of fewest children. Chunks follow each
 * other along it, so that p - 1 + c steps carry c chunks: next to nothing at few ranks and long vectors, too many steps
 * at many.
 *
 * Ranks below the root hang on one side of it, those above on the other. Two invocations: compile_rooted.h. */
#include <stdlib.h>

#include "compile_rooted.h"

enum { CHUNKS }; /* parameters */

static void place(const tutti_tree *t, int32_t rank, tutti_tree_place *out)
{
    const int32_t root = t->q->root, far = abs(rank - root), away = rank < root ? -1 : 1;
    *out = (tutti_tree_place){.parent = far ? rank - away : -1, .level = far - 1};
    for (int32_t side = -1; side <= 1; side += 2) {
        const int32_t child = rank + side;
        if (child < 0 || child >= t->q->nranks || (far && side != away)) continue;
        out->children[out->nchildren++] = (tutti_branch){.rank = child, .level = far};
    }
}

static void chain_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    const int32_t below = q->root, above = q->nranks - 1 - q->root;
    tutti_tree t = {.q = q, .b = b, .r = r, .nchunks = q->param[CHUNKS], .of = q->param[CHUNKS], .place = place};
    t.nlevels = below > above ? below : above;
    tutti_rooted_part(&t, 1);
}

static tutti_status chain_accept(const tutti_compile_request *q, tutti_failure *err)
{
    return tutti_accept_fast_sums("chain", "a chain adds one rank after the other", q, err);
}

const tutti_algorithm tutti_algorithm_chain = {
    .name = "chain",
    .summary = "along a chain to the root and back, in chunks that follow each other",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_BROADCAST | 1u << TUTTI_REDUCE,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .accept = chain_accept,
    .part = chain_part,
    .parameters = {{"chunks", 4, 1, TUTTI_MAX_CHUNKS, "that the vector is cut into"}},
};
