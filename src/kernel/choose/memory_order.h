/* SPDX-License-Identifier: Apache-2.0 */
/* memory_order.h: the memory orders that an activation may have, and the description of a value as blocks of channels,
 * which tutti's own loops use.
 *
 * Every order consists of blocks of channels. At a position (of height and width) `block` channels lie side by side.
 * The positions of a plane follow each other, then come the other blocks of the sample, then the next sample. Row-major
 * has blocks of one channel; channels last has one block of all channels. If the last block is not full, its missing
 * channels hold zeros. A value that has no planes counts as (batch, channels). */
#ifndef TUTTI_KERNEL_MEMORY_ORDER_H
#define TUTTI_KERNEL_MEMORY_ORDER_H

#include "../kernel_impl.h"

const char *tutti_order_name(tutti_order order); /* returns "nchw", "nchw16c", "nhwc", "none" */
bool tutti_order_find(const char *name, tutti_order *out);
/* Returns the order of a value. A value that has not four dims is row-major. TUTTI_ORDER_NONE means none of these
 * orders. */
tutti_order tutti_order_of(const tutti_value *v);
/* Gives v this order: sets v's bytes and fills in *layout as v's layout. v's four dims and its type must be set. */
void tutti_order_apply(tutti_order order, tutti_value *v, tutti_layout *layout);
/* True if the orders of both values put every element at the same place. */
bool tutti_order_same(const tutti_value *a, const tutti_value *b);

typedef struct {
    int64_t batch, channels, height, width, plane; /* plane = height * width */
    int64_t block, nblocks;                        /* block * nblocks >= channels */
    int64_t block_step, sample_step;               /* distances in elements, between blocks and between samples; two
                                                    * positions are `block` elements apart */
} tutti_blocks;
/* Describes v as blocks. Returns false if v has none of these orders. */
bool tutti_blocks_of(const tutti_value *v, tutti_blocks *out);
int64_t tutti_value_elements(const tutti_value *v); /* Returns the number of elements in memory, padding included. */

#endif
