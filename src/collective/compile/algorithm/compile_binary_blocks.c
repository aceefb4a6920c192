/* SPDX-License-Identifier: Apache-2.0 */
/* compile_binary_blocks.c: binary-blocks: halving-doubling for any rank count p: the ranks are cut into blocks whose
 * sizes are powers of two (after gloo).
 *
 *   blocks   of 2^g ranks, the largest first, one for each bit of p. Each block does the halving of compile_halving.c,
 *            nearest first, so that its member v ends with one of 2^g slices: number v with its bits reversed;
 *   up       when a block is done, the next smaller block, which was done earlier, sends it its slices: one slice of
 *            the smaller block (of 2^g' ranks) covers the slices of 2^(g - g') ranks of the larger one. So each block
 *            in turn has the sum of itself and of all smaller ones, and the largest block has the whole sum after
 *            floor(lg p) + 1 steps;
 *   down     the same steps backwards.
 * 2 ceil(lg p) steps. A block of few ranks moves large slices: blocks of 8 + 4 ranks are fast, 16 + 1 are slow, because
 * one rank sends its whole vector. Halving-doubling, in which odd ranks first give their inputs to even ones, also
 * sends a whole vector, and costs every rank two steps more.
 *
 * Every sum is the balanced tree over its block plus the sum of the smaller blocks: one expression for all elements.
 * Two invocations do not race, because each part is a walk (compile_impl.h says why). */
#include "../compile_impl.h"

typedef struct {
    int32_t first, lg; /* a block consists of the ranks first .. first + 2^lg - 1 */
} block;

typedef struct {
    block mine, larger, smaller; /* this rank's block, the next larger and the next smaller one; lg = -1: there is no
                                  * such block */
    bool last;                   /* true if `smaller` is the smallest block */
    int32_t up;                  /* number of stages until the largest block has the whole sum */
} neighbours;

static neighbours blocks_around(int32_t p, int32_t r)
{
    neighbours n = {{0, -1}, {0, -1}, {0, -1}, true, 0};
    int32_t first = 0;
    for (int32_t g = 30; g >= 0; g--) {
        if (!(p >> g & 1)) continue;
        if (!n.up) n.up = g + (p > 1 << g);
        block at = {first, g};
        first += 1 << g;
        if (n.mine.lg < 0 && r >= first) n.larger = at;
        if (n.mine.lg >= 0 && n.smaller.lg >= 0) n.last = false;
        if (n.mine.lg >= 0 && n.smaller.lg < 0) n.smaller = at;
        if (n.mine.lg < 0 && r < first) n.mine = at;
    }
    return n;
}

/* Returns the slice that member v of a block holds after s halving steps: one of 2^s slices. */
static tutti_slice range_of(int32_t v, int32_t s)
{
    return tutti_slice_at(0, 0, tutti_bits_reversed(v, s), 1, 1 << s);
}

static void halve(tutti_part_walk *w, const block *mine)
{
    int32_t v = w->r - mine->first;
    for (int32_t s = 0; s < mine->lg; s++) {
        int32_t other = v ^ 1 << s, from = s ? TUTTI_WALK_OUT : TUTTI_WALK_IN;
        tutti_walk_give(w, s, mine->first + other, from, range_of(other, s + 1), s);
        tutti_walk_add(w, s, mine->first + other, range_of(v, s + 1), s,
                       (tutti_walk_sum){from, from, TUTTI_WALK_OUT, other < v});
    }
}

/* Receives the sums of the smaller blocks, adds them to this block's sums, and sends these to the larger block. */
static void go_up(tutti_part_walk *w, const neighbours *n)
{
    int32_t v = w->r - n->mine.first, g = n->mine.lg;
    if (n->smaller.lg >= 0) {
        int32_t peer = n->smaller.first + (v & ((1 << n->smaller.lg) - 1));
        int32_t from = n->smaller.lg || !n->last ? TUTTI_WALK_OUT : TUTTI_WALK_IN;
        tutti_walk_add(w, g, peer, range_of(v, g), g, (tutti_walk_sum){from, TUTTI_WALK_OUT, TUTTI_WALK_OUT, false});
    }
    int32_t from = g || n->smaller.lg >= 0 ? TUTTI_WALK_OUT : TUTTI_WALK_IN, above = n->larger.lg;
    for (int32_t u = v; above >= 0 && u < 1 << above; u += 1 << g)
        tutti_walk_give(w, above, n->larger.first + u, from, range_of(u, above), above);
}

static void come_down(tutti_part_walk *w, const neighbours *n)
{
    int32_t v = w->r - n->mine.first, g = n->mine.lg, above = n->larger.lg, last = 2 * n->up - 1;
    for (int32_t u = v; above >= 0 && u < 1 << above; u += 1 << g)
        tutti_walk_take(w, last - above, n->larger.first + u, range_of(u, above));
    if (n->smaller.lg >= 0)
        tutti_walk_show(w, last - g, n->smaller.first + (v & ((1 << n->smaller.lg) - 1)), range_of(v, g));
    for (int32_t s = g - 1; s >= 0; s--) {
        int32_t other = v ^ 1 << s;
        tutti_walk_show(w, last - s, n->mine.first + other, range_of(v, s + 1));
        tutti_walk_take(w, last - s, n->mine.first + other, range_of(other, s + 1));
    }
}

static void binary_blocks_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    const neighbours n = blocks_around(q->nranks, r);
    tutti_compile_buffers(q, r, b);
    tutti_part_walk w = tutti_walk_begin(q, r, b, n.up);
    halve(&w, &n.mine);
    go_up(&w, &n);
    come_down(&w, &n);
}

static tutti_status binary_blocks_accept(const tutti_compile_request *q, tutti_failure *err)
{
    return tutti_accept_powers_of_two("binary-blocks", "blocks are not subtrees of one tree", q, err);
}

const tutti_algorithm tutti_algorithm_binary_blocks = {
    .name = "binary-blocks",
    .summary = "halving-doubling in blocks of 2^g ranks, joined: 2 ceil(lg p) rounds at any p (after gloo)",
    .collectives = 1u << TUTTI_ALLREDUCE,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .accept = binary_blocks_accept,
    .part = binary_blocks_part,
};
