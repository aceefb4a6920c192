/* SPDX-License-Identifier: Apache-2.0 */
/* tile_conv_portable.c: tile_conv.h where processors have no tiles; nobody calls it, because nobody is told that they have. */
#include "tile_conv.h"

int64_t tutti_tile_conv_turned(const tutti_tile_conv *c)
{
    (void)c;
    return 0;
}

int64_t tutti_tile_conv_pairs(const tutti_tile_conv *c)
{
    (void)c;
    return 0;
}

void tutti_tile_conv_turn(const tutti_tile_conv *c, const uint16_t *dout, uint16_t *to)
{
    (void)c, (void)dout, (void)to;
}

void tutti_tile_conv_pair(const tutti_tile_conv *c, const uint16_t *in, uint32_t *to)
{
    (void)c, (void)in, (void)to;
}

void tutti_tile_conv_multiply(const tutti_tile_conv *c, int64_t n, const uint16_t *turned, const uint32_t *pairs,
                              float *sums)
{
    (void)c, (void)n, (void)turned, (void)pairs, (void)sums;
}
