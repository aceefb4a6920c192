/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h: packs blocks of memory with life times into one arena, so that blocks which live at the same time lie apart.
 * Threads: pure functions. */
#ifndef TUTTI_PACK_H
#define TUTTI_PACK_H

#include <stdint.h>

typedef struct {
    int64_t bytes, offset; /* offset: the answer, a multiple of 64 */
    int first, last;       /* time, both included: from first use to last */
} tutti_block;

/* Sets offsets; returns the bytes of the arena. Time: O(n^2) for n blocks, several times where n is small. */
int64_t tutti_pack(tutti_block *blocks, int n);
/* Most bytes that live at a time, which no packing can do without. */
int64_t tutti_pack_bound(const tutti_block *blocks, int n);

#endif
