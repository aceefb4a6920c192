/* SPDX-License-Identifier: Apache-2.0 */
/* compile_hierarchical.c: hierarchical: one master for each group (Jia et al. 2018, arXiv 1807.11205): few steps for
 * small vectors on many ranks.
 *
 *   to the master    in groups of k neighbouring ranks, k - 1 steps of a ring reduce-scatter; then the slices go on
 *                    round the ring until the master, the group's first rank, has all of them: k - 1 steps more;
 *   masters          a ring allreduce over the ceil(p/k) masters;
 *   from the master  k slices, one behind the other, from each rank to the next: 2(k - 1) steps.
 * 4(k - 1) + 2(ceil(p/k) - 1) steps instead of 2(p - 1), but a master's links carry about three times what a ring's do.
 * If k does not divide p, the last group is smaller: its slices are larger and it waits for the others. k = 1 is the
 * ring.
 *
 * Two invocations do not race, because each part is a walk (compile_impl.h says why). A finished slice of the group's
 * sum replaces the partial sum of that slice, from which it was made. The result then replaces this finished slice: the
 * master can have got the slice only through the next rank, so that rank has read it. */
#include "../compile_impl.h"

static const tutti_slice whole = {0, 0, 0, 1, 1};

static int64_t steps_with(int64_t p, int64_t k)
{
    return 4 * (k - 1) + 2 * ((p + k - 1) / k - 1);
}

/* Sets k to the value with the fewest steps; if several have as few, to the smallest. If several groups of several
 * ranks are possible, k is never 1: a ring has its own name. */
static void hierarchical_settle(tutti_compile_request *q)
{
    if (q->param[0]) return;
    int64_t p = q->nranks, best = p > 3 ? 2 : 1;
    for (int64_t k = best + 1; k <= p && 4 * (k - 1) < steps_with(p, best); k++)
        if (steps_with(p, k) < steps_with(p, best)) best = k;
    q->param[0] = (int32_t)best;
}

static tutti_status hierarchical_accept(const tutti_compile_request *q, tutti_failure *err)
{
    tutti_status st =
        tutti_accept_fast_sums("hierarchical", "the rings give each slice an expression of its own", q, err);
    if (st != TUTTI_OK || q->param[0] <= q->nranks) return st;
    return tutti_fail(err, TUTTI_ERR_USAGE, "hierarchical: a group of %d among %d ranks; 1 to %d are possible",
                      q->param[0], q->nranks, q->nranks);
}

/* Passes the slices of the group's sum from their owners on to the master: the slice of rank i is still i - t hops away
 * after t steps. */
static void bring_to_master(tutti_part_walk *w, const tutti_line *group, int32_t stage)
{
    int32_t n = group->n, before = (group->me + n - 1) % n;
    const tutti_line_cut slices = tutti_cut_range(whole, n);
    for (int32_t t = 0; t < n - 1; t++) {
        int32_t give = group->me - t, take = before - t;
        if (give > 0)
            tutti_walk_show(w, stage + t, group->first + (group->me + 1) % n, tutti_cut_piece(&slices, give, 0));
        if (take > 0) tutti_walk_take(w, stage + t, group->first + before, tutti_cut_piece(&slices, take, 0));
    }
}

static void bring_from_master(tutti_part_walk *w, const tutti_line *group, int32_t stage)
{
    const tutti_line_cut slices = tutti_cut_range(whole, group->n);
    int32_t me = group->me, rank = w->r;
    for (int32_t t = 0; t < group->n && group->n > 1; t++) {
        tutti_slice slice = tutti_cut_piece(&slices, t, 0);
        if (me > 0) tutti_walk_take(w, stage + me - 1 + t, rank - 1, slice);
        if (me < group->n - 1) tutti_walk_show(w, stage + me + t, rank + 1, slice);
    }
}

static int32_t group_size(int32_t p, int32_t k, int32_t group)
{
    return tutti_smaller(p - group * k, k);
}

/* Returns the buffer in which the master of a group has the group's sum. */
static int32_t sums_of(int32_t p, int32_t k, int32_t group)
{
    return group_size(p, k, group) > 1 ? TUTTI_WALK_OUT : TUTTI_WALK_IN;
}

static void hierarchical_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t p = q->nranks, k = q->param[0], ngroups = (p + k - 1) / k, mine = r / k;
    int32_t before = (mine + ngroups - 1) % ngroups, masters_at = 2 * (k - 1);
    const tutti_line group = {mine * k, 1, group_size(p, k, mine), r % k}, masters = {0, k, ngroups, mine};
    const tutti_line_cut slices = tutti_cut_range(whole, group.n), shares = tutti_cut_range(whole, ngroups);
    tutti_compile_buffers(q, r, b);
    tutti_part_walk w = tutti_walk_begin(q, r, b, k - 1 + ngroups - 1);
    tutti_walk_ring_scatter(&w, &group, 0, &slices, (tutti_ring_sums){TUTTI_WALK_IN, TUTTI_WALK_IN, TUTTI_WALK_OUT}, 0);
    bring_to_master(&w, &group, group.n - 1);
    if (group.me == 0) {
        tutti_walk_ring_scatter(&w, &masters, masters_at, &shares,
                                (tutti_ring_sums){sums_of(p, k, mine), sums_of(p, k, before), TUTTI_WALK_OUT}, k - 1);
        tutti_walk_ring_gather(&w, &masters, masters_at + ngroups - 1, &shares);
    }
    bring_from_master(&w, &group, masters_at + 2 * (ngroups - 1));
}

const tutti_algorithm tutti_algorithm_hierarchical = {
    .name = "hierarchical",
    .summary = "groups reduce to masters, a ring over them, and back: few steps (Jia et al.)",
    .collectives = 1u << TUTTI_ALLREDUCE,
    .determinism = TUTTI_DETERMINISM_PER_SLICE,
    .accept = hierarchical_accept,
    .part = hierarchical_part,
    .parameters = {{"group", 0, 1, 1 << 20, "ranks a group, the last may be smaller; default: the fewest steps"}},
    .settle = hierarchical_settle,
};
