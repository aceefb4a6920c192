/* SPDX-License-Identifier: Apache-2.0 */
/* bruck_blocks.c: Bruck's all-to-all: a block goes from rank to rank. It takes ceil(lg p) rounds and as many peers, but
 * sends more bytes than direct.
 *
 * Block (i, j) travels the distance d = j - i (mod p), one bit of d a round, the highest bit first: in the round of bit
 * s rank c sends to c + 2^s the blocks whose d has that bit. Before that round c holds, for each h that is a multiple
 * of 2^(s+1), the blocks of source c - h with d = h + low, low < 2^(s+1). Their destinations are the ranks c + low, so
 * they are one range of the source's row, and c sends the upper half of the range. (With the lowest bit first, as
 * usual, they would be no range.) A block that arrives at its destination (low = 0) is a message of its own, straight
 * into out; a range that wraps around rank p is two messages. A message is one range, so there are as many messages as
 * in direct. The gain is fewer peers, each of which costs a connection on a network.
 *
 * Why two invocations do not race: the receiver first reports that a place in scratch or out is free; only then a
 * message is written there. */
#include "compile_impl.h"

typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t c, p, scratch; /* c: this rank; p: number of ranks; scratch: number of the first scratch buffer (two for
                            * each h: before and after rank p) */
    int32_t made, told;
} blocks;

/* Returns `count` blocks of run h, from number `low` on, in a buffer of rank c. */
static tutti_slice run_slice(const blocks *k, int32_t c, int32_t h, int32_t low, int32_t count, int32_t buffer)
{
    int32_t source = (c - h + k->p) % k->p;
    return tutti_slice_at(c, buffer, source * k->p + (c + low) % k->p, count, k->p * k->p);
}

static int32_t place_of(const blocks *k, int32_t c, int32_t h, int32_t low)
{
    if (h == 0) return 0;                           /* the run is in buffer `in` */
    if (low == 0) return 1 + (c - h + k->p) % k->p; /* the block is in the buffer out of its source */
    return k->scratch + 2 * (h - 1) + (low >= k->p - c);
}

/* Returns the end of the message that begins with number `low` at rank c: a block that has arrived is alone, and no
 * message passes rank p. */
static int32_t end_of(const blocks *k, int32_t c, int32_t low, int32_t count)
{
    if (low == 0) return 1;
    return low < k->p - c ? tutti_smaller(count, k->p - c) : count;
}

static void send_run(blocks *k, int32_t s, int32_t stage, int32_t h, int32_t count)
{
    int32_t to = (k->c + (1 << s)) % k->p;
    for (int32_t low = 0; low < count;) {
        int32_t end = end_of(k, to, low, count), mine = low + (1 << s);
        const tutti_message m = {.stage = stage, .when = h ? 0 : TUTTI_WHEN_READY};
        tutti_compile_send(k->b, &m, run_slice(k, k->c, h, mine, end - low, place_of(k, k->c, h, mine)),
                           run_slice(k, to, h + (1 << s), low, end - low, place_of(k, to, h + (1 << s), low)));
        if (k->made > k->told) tutti_part_dep(k->b, k->made);
        k->told = k->made;
        low = end;
    }
}

static void recv_run(blocks *k, int32_t s, int32_t stage, int32_t h, int32_t count)
{
    int32_t from = (k->c - (1 << s) + k->p) % k->p, got = h + (1 << s);
    for (int32_t low = 0; low < count;) {
        int32_t end = end_of(k, k->c, low, count), theirs = low + (1 << s), place = place_of(k, k->c, got, low);
        const tutti_message m = {.sequence = 1, .stage = stage, .when = low ? 0 : TUTTI_WHEN_FREE};
        tutti_slice near = run_slice(k, k->c, got, low, end - low, place);
        if (low) k->b->part.buffers[place].window = near;
        k->made =
            tutti_compile_recv(k->b, &m, near, run_slice(k, from, h, theirs, end - low, place_of(k, from, h, theirs)));
        low = end;
    }
}

void tutti_bruck_blocks(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b)
{
    blocks k = {.q = q, .b = b, .c = rank, .p = q->nranks, .scratch = 1 + q->nranks, .made = -1, .told = -1};
    int32_t p = k.p, lg = 0;
    while (1 << lg < p) lg++;
    for (int32_t i = 0; i < 2 * (p - 1); i++) tutti_compile_scratch(b, tutti_slice_at(rank, 0, 0, 0, 1), 1);
    tutti_compile_own_copy(q, b, run_slice(&k, rank, 0, 0, 1, 0), run_slice(&k, rank, 0, 0, 1, 1 + rank));
    for (int32_t s = lg - 1; s >= 0; s--) {
        int32_t step = 1 << s;
        for (int32_t h = 0; h + step < p; h += 2 * step)
            send_run(&k, s, lg - 1 - s, h, tutti_smaller(step, p - h - step));
        for (int32_t h = 0; h + step < p; h += 2 * step)
            recv_run(&k, s, lg - 1 - s, h, tutti_smaller(step, p - h - step));
    }
}
