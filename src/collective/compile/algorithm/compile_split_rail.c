/* SPDX-License-Identifier: Apache-2.0 */
/* compile_split_rail.c: split-rail: every rank of a group is the master of its slice; the rank count is groups times
 * ranks of a group.
 *
 *   in the group   a ring reduce-scatter: rank i of each group has the group's sum of slice i;
 *   across         ring allreduces of slice i among the ranks i of all groups (a rail), on all rails at once;
 *   in the group   a ring all-gather.
 * 2(k - 1) + 2(p/k - 1) steps with groups of k, and 2(p - 1)/p n bytes, the fewest possible; between groups every rank
 * sends only 2(p/k - 1)/p n. (Horovod's hierarchical allreduce is of this kind.)
 *   alone          a reduce-scatter does the first half, an all-gather the second. Slices must end with their
 *                  owners, so a member sums every k-th of p slices for its group, in p/k messages per step.
 *
 * Two invocations of an allreduce do not race, because each part is a walk (compile_impl.h says why). The other
 * collectives send nothing back to a rank whose memory was read, so every read is acknowledged, and out is written only
 * after its rank has reported it as free. */
#include "../compile_impl.h"

static tutti_status split_rail_accept(const tutti_compile_request *q, tutti_failure *err)
{
    const tutti_status st =
        tutti_accept_fast_sums("split-rail", "the rings give each slice an expression of its own", q, err);
    return st ? st : tutti_accept_groups("split-rail", q, err);
}

typedef struct {
    tutti_part_walk walk;
    tutti_line group, rail;
    tutti_line_cut shares; /* the slices that each member of the group sums: one for each group, owned by the member's
                            * rail (the ranks with its number) */
    tutti_line_cut slices; /* the slice that each member of this rank's rail owns */
} rails;

static void scatter(rails *g)
{
    int32_t k = g->group.n, ngroups = g->rail.n, sums = g->walk.sums, own = k > 1 ? sums : TUTTI_WALK_IN;
    g->walk.pull = TUTTI_HINT_PULL;
    tutti_walk_ring_scatter(&g->walk, &g->group, 0, &g->shares,
                            (tutti_ring_sums){TUTTI_WALK_IN, TUTTI_WALK_IN, ngroups > 1 ? sums : TUTTI_WALK_OUT}, 0);
    tutti_walk_ring_scatter(&g->walk, &g->rail, k - 1, &g->slices, (tutti_ring_sums){own, own, TUTTI_WALK_OUT},
                            (k - 1) * ngroups);
}

static void gather(rails *g)
{
    int32_t r = g->walk.r, p = g->group.n * g->rail.n;
    g->walk.push = 0, g->walk.first = TUTTI_WHEN_READY;
    g->walk.made = tutti_compile_own_copy(g->walk.q, g->walk.b, tutti_slice_at(r, TUTTI_WALK_IN, r, 1, p),
                                          tutti_slice_at(r, TUTTI_WALK_OUT, r, 1, p));
    tutti_walk_ring_gather(&g->walk, &g->rail, 0, &g->slices);
    tutti_walk_ring_gather(&g->walk, &g->group, g->rail.n - 1, &g->shares);
}

static void split_rail_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t p = q->nranks, k = q->param[0], ngroups = p / k, ninboxes = k - 1 + ngroups - 1;
    bool scatters = q->collective == TUTTI_REDUCE_SCATTER;
    tutti_compile_buffers(q, r, b);
    rails g = {.group = {r / k * k, 1, k, r % k}, .rail = {r % k, k, ngroups, r / k}};
    g.shares = (tutti_line_cut){0, 1, 1, p, ngroups, k};
    g.slices = (tutti_line_cut){r % k, k, 1, p, 1, 0};
    int32_t sums = scatters ? tutti_compile_scratch(b, tutti_slice_at(r, 0, 0, 1, 1), 1) : TUTTI_WALK_OUT;
    if (scatters) ninboxes = (k - 1) * ngroups + ngroups - 1;
    g.walk = tutti_walk_begin(q, r, b, q->collective == TUTTI_ALL_GATHER ? 0 : ninboxes);
    g.walk.sums = sums;
    if (scatters)
        scatter(&g);
    else if (q->collective == TUTTI_ALL_GATHER)
        gather(&g);
    else
        tutti_walk_grid(&g.walk, &g.group, &g.rail, tutti_slice_at(0, 0, 0, 1, 1), 0);
}

const tutti_algorithm tutti_algorithm_split_rail = {
    .name = "split-rail",
    .summary = "reduce-scatter in groups, allreduce of each slice across them, all-gather: least traffic, fewer steps "
               "than a ring",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_REDUCE_SCATTER | 1u << TUTTI_ALL_GATHER,
    .determinism = TUTTI_DETERMINISM_PER_SLICE,
    .rotates = TUTTI_BY_GROUP,
    .accept = split_rail_accept,
    .part = split_rail_part,
    .parameters = {{"group", 0, 1, 1 << 20, "ranks a group, a divisor of the rank count; default: the fewest steps"}},
    .settle = tutti_settle_groups,
};
