/* SPDX-License-Identifier: Apache-2.0 */
/* compile_swing.c: swing: halving-doubling with partners that stay near on a ring or torus (Swing, De Sensi et al.
 * 2024).
 *
 * In step s rank r meets r + rho(s) if it is even, r - rho(s) if it is odd (mod p), rho(s) = (1 - (-2)^(s+1)) / 3 = 1,
 * -1, 3, -5, 11, ...: always of the other parity, and less far away than 2^s. The ranks that r can still reach by steps
 * s .. lg p - 1 are a set T(r, s) of p/2^s ranks: T(r, s + 1) together with T(q, s + 1) of its partner q. At powers of
 * two all members of such a set have the same set (tests/collective/test_swing.c). So the sets are nested, and there is
 * an order of slices in which each set is one range: of two halves, the half with the lowest rank comes first. In the
 * reduce-scatter r keeps the range of T(r, s + 1) and sends its partner the range of the partner's set; the all-gather
 * goes backwards. At other even counts the steps reach some ranks twice; which messages may then be left out is not
 * proved, so these counts are refused. Two invocations do not race, because each part is a walk (compile_impl.h says
 * why). */
#include <stdlib.h>

#include "../../../base/arena.h"
#include "../compile_impl.h"

static int32_t log2_of(int32_t p)
{
    int32_t lg = 0;
    while (1 << (lg + 1) <= p) lg++;
    return lg;
}

static int32_t partner(int32_t r, int32_t s, int32_t p)
{
    /* power = 2^(s+1); (-2)^(s+1) = -power for even s, power for odd s */
    int64_t power = (int64_t)2 << s, rho = (1 - (s % 2 ? power : -power)) / 3;
    return (int32_t)(((r % 2 ? r - rho : r + rho) % p + p) % p);
}

/* Computes the place of each rank's slice: bit lg p - 1 - s says whether T(r, s + 1) is the second half of T(r, s). */
static tutti_status swing_prepare(const tutti_compile_request *q, void **prepared, tutti_failure *err)
{
    (void)err;
    int32_t p = q->nranks, lg = log2_of(p);
    int32_t *place = tutti_alloc(sizeof *place * (size_t)p);
    /* for each rank, in turn: lowest rank of T(r, s + 1), and of T(r, s) */
    int32_t *lowest = tutti_alloc(sizeof *lowest * 2 * (size_t)p), *next = lowest + p;
    for (int32_t r = 0; r < p; r++) lowest[r] = r;
    for (int32_t s = lg - 1; s >= 0; s--) {
        int32_t *now = (lg - 1 - s) % 2 ? next : lowest, *then = now == lowest ? next : lowest;
        for (int32_t r = 0; r < p; r++) {
            int32_t other = now[partner(r, s, p)];
            place[r] |= (other < now[r]) << (lg - 1 - s);
            then[r] = other < now[r] ? other : now[r];
        }
    }
    free(lowest);
    *prepared = place;
    return TUTTI_OK;
}

/* Returns the slices of T(r, s), one of 2^s ranges. */
static tutti_slice range_of(const tutti_compile_request *q, int32_t lg, int32_t r, int32_t s)
{
    const int32_t *place = q->prepared;
    return tutti_slice_at(0, 0, place[r] >> (lg - s), 1, 1 << s);
}

static void swing_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t p = q->nranks, lg = log2_of(p);
    tutti_compile_buffers(q, r, b);
    tutti_part_walk w = tutti_walk_begin(q, r, b, lg);
    for (int32_t s = 0; s < lg; s++) {
        int32_t peer = partner(r, s, p), from = s ? TUTTI_WALK_OUT : TUTTI_WALK_IN;
        tutti_walk_give(&w, s, peer, from, range_of(q, lg, peer, s + 1), s);
        tutti_walk_add(&w, s, peer, range_of(q, lg, r, s + 1), s,
                       (tutti_walk_sum){from, from, TUTTI_WALK_OUT, peer < r});
    }
    for (int32_t s = lg - 1; s >= 0; s--) {
        int32_t peer = partner(r, s, p), stage = 2 * lg - 1 - s;
        tutti_walk_show(&w, stage, peer, range_of(q, lg, r, s + 1));
        tutti_walk_take(&w, stage, peer, range_of(q, lg, peer, s + 1));
    }
}

static tutti_status swing_accept(const tutti_compile_request *q, tutti_failure *err)
{
    int32_t p = q->nranks, below = 1 << log2_of(p);
    if (p != below)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "swing needs a power of two: at %d ranks some would be reached twice; %d or %d ranks can", p,
                          below, 2 * below);
    if (!q->slots || p <= 2) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "swing cannot make canonical sums: which ranks' sums meet differs between slices; "
                      "halving-doubling can at powers of two, direct at any count");
}

const tutti_algorithm tutti_algorithm_swing = {
    .name = "swing",
    .summary = "halving-doubling with near partners on a ring: 2 lg p rounds, p = 2^k (De Sensi et al.)",
    .collectives = 1u << TUTTI_ALLREDUCE,
    .determinism = TUTTI_DETERMINISM_PER_SLICE,
    .accept = swing_accept,
    .part = swing_part,
    .prepare = swing_prepare,
    .release = free,
};
