/* SPDX-License-Identifier: Apache-2.0 */
/* compile_two_level.c: two-level: direct in groups of k neighbouring ranks, such as those of a host, and direct across
 * the groups.
 *
 *   in the group rank i sums the group's inputs of the slices that the ranks i of all groups own: one ordered reduce
 *                  for each group;
 *   across rank i sends the group's sum of slice (h, i) to its owner, rank i of group h, which sums the groups' sums in
 *                  one reduce.
 *   all-gather     the other way round: across, then in the group; allreduce: all four.
 * A reduce-scatter or an all-gather takes 2 rounds, where split-rail's rings take k - 1 + p/k - 1. As few bytes go
 * between groups: 2(p/k
 * - 1)/p n for each rank. Every sum is made in one step, of inputs or of groups' sums, so values that travel between
 * groups may be rounded once.
 *
 * Why two invocations do not race. The ranks of a group acknowledge once, by one message for each pair, that they have
 * read each other's memory. Messages across are acknowledged, and out is written only after its rank has reported it as
 * free. In place, a value that overwrites an element is made of that element, which was read before. */
#include "../compile_impl.h"

typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r, p, k, ngroups; /* r: this rank; p: number of ranks, in ngroups groups of k */
    int32_t group, me;        /* group: number of this rank's group; me: this rank's number in the group */
    int32_t scratch, out;     /* indices of this rank's first scratch buffer and of its buffer `out` */
} levels;

static tutti_status two_level_accept(const tutti_compile_request *q, tutti_failure *err)
{
    const tutti_status st = tutti_accept_fast_sums("two-level", "groups are summed before their sums are", q, err);
    return st ? st : tutti_accept_groups("two-level", q, err);
}

/* ---- buffers, in this order: the group's sums, one for each destination group; inputs from the group's other ranks;
 * sums from other groups ---- */

static int32_t sum_for(const levels *l, int32_t group)
{
    return l->scratch + group;
}

/* Returns the buffer in which member `to` receives the inputs of member `from` for the slice that `to` sums for
 * `group`. */
static int32_t inbox(const levels *l, int32_t to, int32_t from, int32_t group)
{
    return l->scratch + (1 + from - (from > to)) * l->ngroups + group;
}

static int32_t inbox_across(const levels *l, int32_t to, int32_t from)
{
    return l->scratch + l->k * l->ngroups + from - (from > to);
}

/* Returns the slice that a rank of the group owns, in a buffer of some rank. The owner is member i of `group`. */
static tutti_slice slice_in(const levels *l, int32_t rank, int32_t buffer, int32_t group, int32_t i)
{
    return tutti_slice_at(rank, buffer, group * l->k + i, 1, l->p);
}

static int32_t rank_in(const levels *l, int32_t group, int32_t i)
{
    return group * l->k + i;
}

/* Return the group that comes t groups after this rank's group, and the number that comes t numbers after this rank's
 * number in its group; both wrap around. */
static int32_t group_at(const levels *l, int32_t t)
{
    return (l->group + t + l->ngroups) % l->ngroups;
}

static int32_t member_at(const levels *l, int32_t t)
{
    return (l->me + t + l->k) % l->k;
}

static void add_scratch(const levels *l)
{
    for (int32_t s = 0; s < l->k; s++)
        for (int32_t h = 0; h < l->ngroups; h++) tutti_compile_scratch(l->b, slice_in(l, l->r, 0, h, l->me), 1);
    for (int32_t h = 0; h < l->ngroups - 1; h++) tutti_compile_scratch(l->b, slice_in(l, l->r, 0, l->group, l->me), 1);
}

/* ---- sums ---- */

static void bring_in_group(const levels *l)
{
    const uint32_t hint = TUTTI_HINT_PULL | TUTTI_HINT_NO_ACK;
    const tutti_message send = {.when = TUTTI_WHEN_READY, .hint = hint}, recv = {.sequence = 1, .hint = hint};
    for (int32_t t = 1; t < l->k; t++) {
        const int32_t to = member_at(l, t), from = member_at(l, -t);
        for (int32_t h = 0; h < l->ngroups; h++) {
            tutti_compile_send(l->b, &send, slice_in(l, l->r, 0, h, to),
                               slice_in(l, rank_in(l, l->group, to), inbox(l, to, l->me, h), h, to));
            tutti_compile_recv(l->b, &recv, slice_in(l, l->r, inbox(l, l->me, from, h), h, l->me),
                               slice_in(l, rank_in(l, l->group, from), 0, h, l->me));
        }
    }
}

/* Sums the inputs of this rank's group for its slice of group h; in a group of one rank it copies this rank's input. */
static int32_t sum_group(const levels *l, int32_t h)
{
    const int32_t to = l->ngroups > 1 ? sum_for(l, h) : l->out;
    const uint32_t when = TUTTI_WHEN_READY | (to == l->out ? TUTTI_WHEN_FREE : 0);
    tutti_balance tree = {0};
    if (l->k == 1) return tutti_compile_copy(l->b, 1, 0, when, slice_in(l, l->r, 0, h, 0), slice_in(l, l->r, to, h, 0));
    const tutti_step reduce = tutti_local_step(TUTTI_STEP_REDUCE, 1, 0, when);
    const int32_t step = tutti_part_step(l->b, &reduce);
    for (int32_t s = 0; s < l->k; s++)
        tutti_part_fold(l->b, slice_in(l, l->r, s == l->me ? 0 : inbox(l, l->me, s, h), h, l->me),
                        tutti_balance_push(&tree, 1, s == l->k - 1));
    tutti_part_out(l->b, slice_in(l, l->r, to, h, l->me));
    return step;
}

static void bring_across(const levels *l, int32_t t, int32_t made)
{
    const tutti_message send = {.stage = 1, .hint = TUTTI_HINT_PULL};
    const int32_t to = group_at(l, t);
    tutti_compile_send(l->b, &send, slice_in(l, l->r, sum_for(l, to), to, l->me),
                       slice_in(l, rank_in(l, to, l->me), inbox_across(l, to, l->group), to, l->me));
    tutti_part_dep(l->b, made);
}

static int32_t sum_across(const levels *l)
{
    const tutti_message recv = {.sequence = 1, .stage = 1, .hint = TUTTI_HINT_PULL};
    for (int32_t t = 1; t < l->ngroups; t++) {
        const int32_t from = group_at(l, -t);
        tutti_compile_recv(l->b, &recv, slice_in(l, l->r, inbox_across(l, l->group, from), l->group, l->me),
                           slice_in(l, rank_in(l, from, l->me), sum_for(l, l->group), l->group, l->me));
    }
    tutti_balance tree = {0};
    const tutti_step reduce = tutti_local_step(TUTTI_STEP_REDUCE, 1, 1, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    const int32_t step = tutti_part_step(l->b, &reduce);
    for (int32_t h = 0; h < l->ngroups; h++)
        tutti_part_fold(
            l->b, slice_in(l, l->r, h == l->group ? sum_for(l, h) : inbox_across(l, l->group, h), l->group, l->me),
            tutti_balance_push(&tree, 1, h == l->ngroups - 1));
    tutti_part_out(l->b, slice_in(l, l->r, l->out, l->group, l->me));
    return step;
}

/* Returns an empty slice at the place that `owner` owns, in a buffer of some rank, for messages without data. */
static tutti_slice nothing(const levels *l, int32_t rank, int32_t buffer, int32_t owner)
{
    return tutti_slice_at(rank, buffer, owner, 0, l->p);
}

/* Tells the ranks of the group that this rank has read all their slices, at the latest by step `made`. In an allreduce
 * the results tell them, so no message is sent. */
static void tell_group(const levels *l, int32_t made)
{
    const tutti_message send = {.stage = 1, .hint = TUTTI_HINT_NO_ACK};
    const tutti_message recv = {.sequence = 1, .stage = 1, .hint = TUTTI_HINT_NO_ACK};
    for (int32_t t = 1; t < l->k; t++) {
        const int32_t to = rank_in(l, l->group, member_at(l, t)), from = rank_in(l, l->group, member_at(l, -t));
        tutti_compile_send(l->b, &send, nothing(l, l->r, 0, to), nothing(l, to, l->out, to));
        tutti_part_dep(l->b, made);
        tutti_compile_recv(l->b, &recv, nothing(l, l->r, l->out, l->r), nothing(l, from, 0, l->r));
    }
}

/* Makes the sum of this rank's slice; returns the step that makes it. */
static int32_t scatter(const levels *l)
{
    add_scratch(l);
    bring_in_group(l);
    for (int32_t t = 1; t < l->ngroups; t++) bring_across(l, t, sum_group(l, group_at(l, t)));
    const int32_t own = sum_group(l, l->group); /* the group's own slice comes last, because no rank waits for it */
    const int32_t made = l->ngroups > 1 ? sum_across(l) : own;
    if (l->q->collective == TUTTI_REDUCE_SCATTER) tell_group(l, own);
    return made;
}

/* ---- results that go to all ranks ---- */

/* Sends this rank's slice of `group` from its output to that of rank `to`. Returns the step. */
static int32_t show(const levels *l, int32_t stage, int32_t to, int32_t group, int32_t after)
{
    const tutti_message send = {.stage = stage, .when = after < 0 ? TUTTI_WHEN_READY : 0};
    const int32_t step =
        tutti_compile_send(l->b, &send, slice_in(l, l->r, l->out, group, l->me), slice_in(l, to, l->out, group, l->me));
    if (after >= 0) tutti_part_dep(l->b, after);
    return step;
}

static int32_t take(const levels *l, int32_t stage, int32_t from, int32_t group, int32_t i)
{
    const tutti_message recv = {.sequence = 1, .stage = stage, .when = TUTTI_WHEN_FREE};
    return tutti_compile_recv(l->b, &recv, slice_in(l, l->r, l->out, group, i), slice_in(l, from, l->out, group, i));
}

/* Sends this rank's slice, made by step `made` (-1: from the beginning), to all. */
static void gather(const levels *l, int32_t stage, int32_t made)
{
    for (int32_t t = 1; t < l->ngroups; t++) show(l, stage, rank_in(l, group_at(l, t), l->me), l->group, made);
    for (int32_t t = 0; t < l->ngroups; t++) {
        const int32_t group = group_at(l, -t);
        const int32_t got = t ? take(l, stage, rank_in(l, group, l->me), group, l->me) : made;
        for (int32_t s = 1; s < l->k; s++) show(l, stage + 1, rank_in(l, l->group, member_at(l, s)), group, got);
    }
    for (int32_t t = 0; t < l->ngroups; t++)
        for (int32_t s = 1; s < l->k; s++)
            take(l, stage + 1, rank_in(l, l->group, member_at(l, -s)), group_at(l, -t), member_at(l, -s));
}

static void two_level_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    const int32_t p = q->nranks, k = q->param[0];
    const levels l = {.q = q,
                      .b = b,
                      .r = r,
                      .p = p,
                      .k = k,
                      .ngroups = p / k,
                      .group = r / k,
                      .me = r % k,
                      .scratch = tutti_compile_first_scratch(q, r),
                      .out = tutti_compile_out(q, r)};
    tutti_compile_buffers(q, r, b);
    if (q->collective == TUTTI_ALL_GATHER) {
        gather(&l, 0, tutti_compile_own_copy(q, b, tutti_slice_at(r, 0, r, 1, p), tutti_slice_at(r, l.out, r, 1, p)));
        return;
    }
    const int32_t made = scatter(&l);
    if (q->collective == TUTTI_ALLREDUCE) gather(&l, 2, made);
}

const tutti_algorithm tutti_algorithm_two_level = {
    .name = "two-level",
    .summary = "groups sum in one step, then their sums are summed in one: 2 rounds, and as little between groups as "
               "split-rail",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_REDUCE_SCATTER | 1u << TUTTI_ALL_GATHER,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .sums_groups = true,
    .rotates = TUTTI_BY_GROUP,
    .accept = two_level_accept,
    .part = two_level_part,
    .parameters = {{"group", 0, 1, 1 << 20,
                    "ranks a group, a divisor of the rank count; default: the fewest messages"}},
    .settle = tutti_settle_groups,
};
