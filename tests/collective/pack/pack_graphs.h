/* SPDX-License-Identifier: Apache-2.0 */
/* pack_graphs.h: networks that the packing tests share, and random ones. */
#ifndef PACK_GRAPHS_H
#define PACK_GRAPHS_H

#include "base/rng.h"
#include "collective/pack/network.h"

/* NVLinks between the GPUs of a DGX-1: two fully linked quads, i to i + 4 across: 16 with P100, 24 with V100 (some
 * twice), as many at every GPU. The links of topology_dgx1.c, in units of one. */
static const struct {
    int8_t a, b, pascal, volta;
} dgx1_pairs[] = {
    {0, 1, 1, 1}, {0, 2, 1, 1}, {0, 3, 1, 2}, {1, 2, 1, 2}, {1, 3, 1, 1}, {2, 3, 1, 2}, {4, 5, 1, 1}, {4, 6, 1, 1},
    {4, 7, 1, 2}, {5, 6, 1, 2}, {5, 7, 1, 1}, {6, 7, 1, 2}, {0, 4, 1, 2}, {1, 5, 1, 2}, {2, 6, 1, 1}, {3, 7, 1, 1},
};

static inline tutti_network dgx1(bool volta)
{
    tutti_network g;
    tutti_network_init(&g, 8, 8);
    for (unsigned i = 0; i < sizeof dgx1_pairs / sizeof dgx1_pairs[0]; i++)
        tutti_network_add_both(&g, dgx1_pairs[i].a, dgx1_pairs[i].b,
                               volta ? dgx1_pairs[i].volta : dgx1_pairs[i].pascal);
    return g;
}

/* The GPUs whose bits are set. */
static inline tutti_network gpus_of(const tutti_network *machine, unsigned bits)
{
    int32_t ranks[8], n = 0;
    tutti_network g;
    for (int32_t i = 0; i < 8; i++)
        if (bits >> i & 1) ranks[n++] = i;
    tutti_network_subset(machine, ranks, n, &g);
    return g;
}

/* Capacities 0 .. most on every ordered pair, or the same both ways. */
static inline tutti_network random_network(uint64_t seed, int32_t n, int64_t most, bool both)
{
    tutti_network g;
    tutti_network_init(&g, n, n);
    for (int32_t a = 0; a < n; a++)
        for (int32_t b = 0; b < n; b++) {
            int64_t c = (int64_t)tutti_random_below(tutti_random(seed, TUTTI_STREAM_TEST, (uint64_t)a, (uint64_t)b),
                                                    (uint64_t)most + 1);
            if (a < b && both) tutti_network_add_both(&g, a, b, c);
            if (a != b && !both) tutti_network_add(&g, a, b, c);
        }
    return g;
}

#endif
