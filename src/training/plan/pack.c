/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c: packs blocks of memory into one arena by their life times. Tries first fit in several orders and takes the
 * result that needs least memory. The best packing is NP-hard to find (dynamic storage allocation, Garey & Johnson
 * SR2). Blocks are placed one after the other, each in the lowest gap that it fits in between the blocks that live at
 * the same time (Pisarchyk & Lee, arXiv 2001.03288, by size). The best order differs between networks, and placing is
 * cheap.
 *
 * Invariant: two blocks that live at the same time do not overlap. */
#include "pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"

/* ALIGNMENT: of each block, in bytes. FEW_BLOCKS: with more blocks only one order is tried */
enum { ALIGNMENT = 64, FEW_BLOCKS = 4000 };

static int64_t rounded(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

typedef int compare(const tutti_block *x, const tutti_block *y);

static int order_of(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int large_first(const tutti_block *x, const tutti_block *y)
{
    return order_of(y->bytes, x->bytes);
}

static int long_lived_first(const tutti_block *x, const tutti_block *y)
{
    return order_of(y->last - y->first, x->last - x->first);
}

/* Orders blocks by first use, because the memory that a network keeps for its backward pass grows and shrinks like a
 * stack. */
static int early_first(const tutti_block *x, const tutti_block *y)
{
    return order_of(x->first, y->first);
}

static int most_area_first(const tutti_block *x, const tutti_block *y)
{
    const double a = (double)x->bytes * (x->last - x->first + 1), b = (double)y->bytes * (y->last - y->first + 1);
    return (a < b) - (a > b);
}

static compare *const orders[] = {large_first, long_lived_first, most_area_first, early_first};
enum { NORDERS = sizeof orders / sizeof *orders };

/* Sorts by merging: a stable sort, so that the result does not depend on a library. */
static void sort(tutti_block **list, int n, compare *before, tutti_block **work)
{
    if (n < 2) return;
    const int half = n / 2;
    sort(list, half, before, work);
    sort(list + half, n - half, before, work);
    memcpy(work, list, sizeof *list * (size_t)n);
    for (int i = 0, j = half, k = 0; k < n; k++)
        list[k] = j == n || (i < half && before(work[i], work[j]) <= 0) ? work[i++] : work[j++];
}

/* Puts b into the lowest gap and into the list `placed`, which is sorted by offset. */
static void place(tutti_block **placed, int n, tutti_block *b)
{
    const int64_t bytes = rounded(b->bytes);
    b->offset = 0;
    int at = 0;
    for (int i = 0; i < n; i++) {
        const tutti_block *p = placed[i];
        if (p->offset >= b->offset + bytes) break; /* b fits into the gap below p, and all later blocks lie above p */
        const bool in_the_way = p->first <= b->last && b->first <= p->last && p->offset + p->bytes > b->offset;
        if (in_the_way) b->offset = rounded(p->offset + p->bytes);
    }
    while (at < n && placed[at]->offset <= b->offset) at++;
    memmove(placed + at + 1, placed + at, sizeof *placed * (size_t)(n - at));
    placed[at] = b;
}

static int64_t pack_in_order(tutti_block **order, int n, tutti_block **placed)
{
    int64_t end = 0;
    for (int i = 0; i < n; i++) {
        place(placed, i, order[i]);
        if (order[i]->offset + order[i]->bytes > end) end = order[i]->offset + order[i]->bytes;
    }
    return rounded(end);
}

int64_t tutti_pack(tutti_block *blocks, int n)
{
    tutti_block **order = tutti_alloc(2 * sizeof *order * (size_t)n), **work = order + n;
    int64_t *best = tutti_alloc(sizeof *best * (size_t)n), least = INT64_MAX;
    for (int o = 0; o < (n > FEW_BLOCKS ? 1 : NORDERS); o++) {
        int m = 0; /* empty blocks need no memory */
        for (int i = 0; i < n; i++)
            if (blocks[i].bytes > 0) order[m++] = &blocks[i];
        if (o > 0) sort(order, m, large_first, work); /* blocks that are equal in this order are sorted by size */
        sort(order, m, orders[o], work);
        const int64_t bytes = pack_in_order(order, m, work);
        if (bytes >= least) continue;
        least = bytes;
        for (int i = 0; i < n; i++) best[i] = blocks[i].offset;
    }
    for (int i = 0; i < n; i++) blocks[i].offset = best[i];
    free(order);
    free(best);
    return least;
}

int64_t tutti_pack_bound(const tutti_block *blocks, int n)
{
    int end = 0;
    for (int i = 0; i < n; i++)
        if (blocks[i].last >= end) end = blocks[i].last + 1;
    int64_t *change = tutti_alloc(sizeof *change * (size_t)(end + 1)), live = 0, most = 0;
    for (int i = 0; i < n; i++) {
        change[blocks[i].first] += rounded(blocks[i].bytes);
        change[blocks[i].last + 1] -= rounded(blocks[i].bytes);
    }
    for (int t = 0; t < end; t++) {
        live += change[t];
        if (live > most) most = live;
    }
    free(change);
    return most;
}
