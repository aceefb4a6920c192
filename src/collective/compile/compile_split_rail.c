/* SPDX-License-Identifier: Apache-2.0 */
/* compile_split_rail.c: every rank of a group is the master of its slice: the rank count is groups times ranks a group.
 *
 *   in the group   a ring reduce-scatter: rank i of each group has the group's sum of slice i;
 *   across         ring allreduces of slice i among the ranks i of all groups, all i at once, each on its own rail;
 *   in the group   a ring all-gather.
 * 2(k - 1) + 2(p/k - 1) steps with groups of k, and 2(p - 1)/p n bytes, the least there are; between groups every rank sends
 * only 2(p/k - 1)/p n. (Horovod's hierarchical allreduce is of this kind.)
 *
 * Two invocations: a walk (compile_impl.h). */
#include <stdio.h>

#include "compile_impl.h"

/* The divisor of p with the fewest steps; of two, the smaller. */
static void split_rail_settle(tutti_compile_request *q)
{
    if (q->param[0]) return;
    int32_t p = q->nranks, best = 1;
    for (int32_t k = 1; k <= p; k++)
        if (p % k == 0 && k + p / k < best + p / best) best = k;
    q->param[0] = best;
}

static tutti_status split_rail_accept(const tutti_compile_request *q, tutti_failure *err)
{
    int32_t p = q->nranks, k = q->param[0], below = p / k * k;
    if (q->slots)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "split-rail cannot make canonical sums: the rings give each slice an expression of its own; "
                          "direct can");
    if (p % k == 0) return TUTTI_OK;
    char lower[24] = "";
    if (below) snprintf(lower, sizeof lower, "%d or ", below);
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "split-rail needs groups of one size: %d ranks are not groups of %d; %s%d ranks would be", p, k,
                      lower, below + k);
}

static void split_rail_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    tutti_compile_buffers(q, r, b);
    if (q->nranks == 1) {
        tutti_compile_own_copy(q, b, tutti_slice_at(0, 0, 0, 1, 1), tutti_slice_at(0, 1, 0, 1, 1));
        return;
    }
    int32_t k = q->param[0], ngroups = q->nranks / k;
    const tutti_line group = {r / k * k, 1, k, r % k}, rail = {r % k, k, ngroups, r / k};
    tutti_walk w = tutti_walk_begin(q, r, b, k - 1 + ngroups - 1);
    tutti_walk_grid(&w, &group, &rail, tutti_slice_at(0, 0, 0, 1, 1), 0);
}

const tutti_algorithm tutti_algorithm_split_rail = {
    .name = "split-rail",
    .summary = "reduce-scatter in groups, allreduce of each slice across them, all-gather: least traffic, fewer steps "
               "than a ring",
    .collectives = 1u << TUTTI_ALLREDUCE,
    .determinism = TUTTI_DETERMINISM_PER_SLICE,
    .accept = split_rail_accept,
    .part = split_rail_part,
    .parameters = {{"group", 0, 1, 1 << 20, "ranks a group, a divisor of the rank count; default: the fewest steps"}},
    .settle = split_rail_settle,
};
