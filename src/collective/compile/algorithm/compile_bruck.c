/* SPDX-License-Identifier: Apache-2.0 */
/* compile_bruck.c: Bruck: ceil(lg p) steps at any rank count (Bruck et al. 1997).
 *
 *   all-gather      rank r has the slices r .. r + h - 1 (mod p), at first h = 1. In step s it sends the first
 *                   min(2^s, p - 2^s) of them to rank r - 2^s, which lacks exactly these, and receives as many from
 *                   r + 2^s.
 *                   Slices have their final place from the beginning, so nothing is rotated in the end; a run that
 *                   wraps around p is two messages.
 *   reduce-scatter the same backwards: rank r sends its sums of those slices to r + 2^s, which adds them to its own;
 *                   each step leaves r half as many slices, in the end slice r. Sums lie in out, or in scratch if the
 *                   reduce-scatter is alone. The first step may move fewer slices than the second. A part of the second
 *                   step's run is then still unsummed in `in`, which costs one message more.
 *   allreduce       both: 2 ceil(lg p) steps, 2(p - 1)/p n bytes.
 *   all-to-all      bruck_blocks.c.
 * All slices are summed by a tree of one shape, which begins at the slice's owner: so expressions differ between
 * slices.
 *
 * Two invocations of an allreduce do not race, because each part is a walk (compile_impl.h says why). The other
 * collectives send nothing back to a rank whose memory was read, so every read is acknowledged, and out is written only
 * after its rank has reported it as free. */
#include "../compile_impl.h"

typedef struct {
    tutti_part_walk walk;
    int32_t p, lg; /* p: number of ranks; lg: number of steps, 2^(lg-1) < p <= 2^lg */
    int32_t sums;  /* number of the buffer that holds partial sums */
} bruck;

enum { MOST_RUNS = 3 }; /* most runs (messages) that a rank sends in one step */

static int32_t run_of(const bruck *k, int32_t s)
{
    return tutti_smaller(1 << s, k->p - (1 << s));
}

/* Returns the number of slices behind its own slice of which a rank has sums before step s of the reduce-scatter. */
static int32_t summed_before(const bruck *k, int32_t s)
{
    return s == k->lg - 1 ? 0 : s == k->lg - 2 ? run_of(k, s + 1) : k->p;
}

/* Cuts `count` slices from slice `first` on into runs that travel together: run i has the slices at[i] .. at[i + 1] -
 * 1. Returns the number of runs. */
static int32_t runs(const bruck *k, int32_t first, int32_t count, int32_t cut, int32_t other, int32_t at[MOST_RUNS + 1])
{
    const int32_t cuts[] = {k->p - first, cut, other};
    int32_t n = 0;
    for (int32_t from = 0; from < count; n++) {
        int32_t end = count;
        for (int i = 0; i < 3; i++)
            if (cuts[i] > from && cuts[i] < end) end = cuts[i];
        at[n] = from, at[n + 1] = end;
        from = end;
    }
    return n;
}

static tutti_slice run_slice(const bruck *k, int32_t first, const int32_t at[2])
{
    return tutti_slice_at(0, 0, (first + at[0]) % k->p, at[1] - at[0], k->p);
}

static int32_t place_of(const bruck *k, int32_t number, int32_t summed)
{
    return number < summed ? k->sums : TUTTI_WALK_IN;
}

/* Sends and adds the sums of step s. Runs are counted from the rank that adds them, so that both ends cut the same
 * runs. */
static void sum_step(bruck *k, int32_t s)
{
    int32_t distance = 1 << s, count = run_of(k, s), summed = summed_before(k, s), stage = k->lg - 1 - s;
    int32_t to = (k->walk.r + distance) % k->p, from = (k->walk.r - distance + k->p) % k->p, at[MOST_RUNS + 1];
    bool home = s == 0 && k->sums != TUTTI_WALK_OUT;
    for (int32_t i = 0; i < runs(k, to, count, summed - distance, summed, at); i++)
        tutti_walk_give(&k->walk, stage, to, place_of(k, at[i] + distance, summed), run_slice(k, to, &at[i]),
                        MOST_RUNS * stage + i);
    for (int32_t i = 0; i < runs(k, k->walk.r, count, summed - distance, summed, at); i++) {
        const tutti_walk_sum sum = {place_of(k, at[i] + distance, summed), place_of(k, at[i], summed),
                                    home ? TUTTI_WALK_OUT : k->sums, false};
        tutti_walk_add(&k->walk, stage, from, run_slice(k, k->walk.r, &at[i]), MOST_RUNS * stage + i, sum);
    }
}

static void gather_step(bruck *k, int32_t s, int32_t stage)
{
    int32_t distance = 1 << s, count = run_of(k, s), r = k->walk.r, at[MOST_RUNS + 1];
    int32_t to = (r - distance + k->p) % k->p, from = (r + distance) % k->p;
    for (int32_t i = 0; i < runs(k, r, count, 0, 0, at); i++)
        tutti_walk_show(&k->walk, stage, to, run_slice(k, r, &at[i]));
    for (int32_t i = 0; i < runs(k, from, count, 0, 0, at); i++)
        tutti_walk_take(&k->walk, stage, from, run_slice(k, from, &at[i]));
}

static void bruck_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t p = q->nranks;
    bool both = q->collective == TUTTI_ALLREDUCE, gathers = q->collective == TUTTI_ALL_GATHER;
    bruck k = {.p = p, .sums = TUTTI_WALK_OUT};
    while (1 << k.lg < p) k.lg++;
    tutti_compile_buffers(q, r, b);
    if (q->collective == TUTTI_ALL_TO_ALL) {
        tutti_bruck_blocks(q, r, b);
        return;
    }
    if (!both && !gathers) k.sums = tutti_compile_scratch(b, tutti_slice_at(r, 0, 0, 1, 1), 1);
    k.walk = tutti_walk_begin(q, r, b, gathers ? 0 : MOST_RUNS * k.lg);
    if (!both) k.walk.pull = TUTTI_HINT_PULL, k.walk.push = 0;
    if (gathers) k.walk.first = TUTTI_WHEN_READY;
    if (gathers)
        k.walk.made = tutti_compile_own_copy(q, b, tutti_slice_at(r, 0, r, 1, p), tutti_slice_at(r, 1, r, 1, p));
    for (int32_t s = k.lg - 1; !gathers && s >= 0; s--) sum_step(&k, s);
    for (int32_t s = 0; (both || gathers) && s < k.lg; s++) gather_step(&k, s, (both ? k.lg : 0) + s);
}

static tutti_status bruck_accept(const tutti_compile_request *q, tutti_failure *err)
{
    return tutti_accept_fast_sums(
        "bruck", "the sum of a slice begins at its owner, so that each slice has an expression of its own", q, err);
}

const tutti_algorithm tutti_algorithm_bruck = {
    .name = "bruck",
    .summary = "runs of slices to rank r - 2^s: ceil(lg p) rounds a phase at any p, least traffic (Bruck et al.)",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_REDUCE_SCATTER | 1u << TUTTI_ALL_GATHER | 1u << TUTTI_ALL_TO_ALL,
    .determinism = TUTTI_DETERMINISM_PER_SLICE,
    .accept = bruck_accept,
    .part = bruck_part,
};
