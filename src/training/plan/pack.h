/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h: places blocks of memory with life times into one arena; blocks that live at the same time do not overlap.
 * Threads: pure functions. */
#ifndef TUTTI_PACK_H
#define TUTTI_PACK_H

#include <stdint.h>

typedef struct {
    int64_t bytes, offset; /* sizes and places in bytes; offset: the result, a multiple of 64 */
    int first, last;       /* life time: first and last use, both included */
} tutti_block;

/* Sets the offsets and returns the bytes of the arena. Time: O(n^2) for n blocks, several times that where n is
 * small. */
int64_t tutti_pack(tutti_block *blocks, int n);
/* Returns the most bytes that live at one time. No packing needs less. */
int64_t tutti_pack_bound(const tutti_block *blocks, int n);

#endif
