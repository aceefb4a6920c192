/* SPDX-License-Identifier: Apache-2.0 */
/* rings.h: what rings could do on the same links, and which networks are alike. By going through all orders of the ranks, so for
 * up to TUTTI_RINGS_MOST_RANKS of them. Threads: shared. */
#ifndef TUTTI_RINGS_H
#define TUTTI_RINGS_H

#include "packing.h"

enum { TUTTI_RINGS_MOST_RANKS = 8 };

/* The most rings through all ranks that share no unit of capacity, a unit being tutti_network_unit(g); 0 where NVLinks (direct
 * links) make none. Links as wide as their narrower direction. 3 <= nranks <= TUTTI_RINGS_MOST_RANKS, no switches. */
int32_t tutti_rings_most(const tutti_network *g);
/* Rate of an allreduce over that many rings, each used both ways: rings * p / (p - 1) units. */
tutti_ratio tutti_rings_rate(const tutti_network *g, int32_t nrings);
/* Is b the network a with its ranks renumbered? nranks <= TUTTI_RINGS_MOST_RANKS, no switches. */
bool tutti_network_alike(const tutti_network *a, const tutti_network *b);

#endif
