/* SPDX-License-Identifier: Apache-2.0 */
/* memory_order.h: the memory orders that an activation may have, and a value as blocks of channels, which is how loops
 * of our own walk it.
 *
 * Every order is one of blocks: `block` channels lie side by side at a position (of height and width), the positions of
 * a plane follow each other, then come the other blocks of the sample, then the next sample. Row-major is a block of
 * one channel, channels last a block of all. Channels that fill up a last block hold zeros. Values that are not planes
 * are (batch, channels). */
#ifndef TUTTI_KERNEL_MEMORY_ORDER_H
#define TUTTI_KERNEL_MEMORY_ORDER_H

#include "../kernel_impl.h"

const char *tutti_order_name(tutti_order order); /* "nchw", "nchw16c", "nhwc", "none" */
bool tutti_order_find(const char *name, tutti_order *out);
/* Of a value; what has no four dims is row-major. TUTTI_ORDER_NONE: none of ours. */
tutti_order tutti_order_of(const tutti_value *v);
/* Gives v (of four dims; shape and dtype are there) this order: its bytes, and its layout, which is filled in. */
void tutti_order_apply(tutti_order order, tutti_value *v, tutti_layout *layout);
/* Both put every element at the same place. */
bool tutti_order_same(const tutti_value *a, const tutti_value *b);

typedef struct {
    int64_t batch, channels, height, width, plane; /* plane = height * width */
    int64_t block, nblocks;                        /* block * nblocks >= channels */
    int64_t block_step, sample_step;               /* elements; positions are `block` elements apart */
} tutti_blocks;
/* false: v has none of our orders. */
bool tutti_blocks_of(const tutti_value *v, tutti_blocks *out);
int64_t tutti_value_elements(const tutti_value *v); /* in memory, padding included */

#endif
