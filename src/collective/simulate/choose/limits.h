/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h: what physics allows a collective on a topology: seven figures, L1 .. L7, each with its meaning, what it holds for
 * and which ranks, cut or partition attain it. Full duplex, no coding, no compression; switches neither copy nor add, unless it
 * says so. docs/topologies.md has the derivations and sources. Threads: shared. */
#ifndef TUTTI_LIMITS_H
#define TUTTI_LIMITS_H

#include "../simulate.h"
#include "cuts.h"

typedef enum {
    TUTTI_LIMIT_NONE,    /* says nothing here; where says why */
    TUTTI_LIMIT_BOUND,   /* no schedule is faster; maybe none reaches it */
    TUTTI_LIMIT_EXACT,   /* no schedule is faster, and some come as close as one likes for large vectors */
    TUTTI_LIMIT_REACHED, /* what some schedule takes; others may be faster */
} tutti_limit_kind;
const char *tutti_limit_kind_name(tutti_limit_kind k); /* "-", "bound", "exact", "reached" */

enum { TUTTI_NLIMITS = 7 };
typedef struct {
    const char *name;    /* "L1 latency" */
    const char *meaning; /* one line */
    tutti_limit_kind kind;
    double seconds;
    char where[320];
} tutti_limit;

/* n elements of f32. Cost: max-flows, a few for each rank; L6 a small linear program on top. */
void tutti_simulate_limits(tutti_collective collective, int32_t nranks, int64_t n, const tutti_topology *t,
                           tutti_limit out[TUTTI_NLIMITS]);

/* The parts that the chooser wants, network only: seconds of L1, L2, L3 and L7 for a root of 0. */
double tutti_limit_latency(const tutti_cuts *cuts, const tutti_topology *t);
double tutti_limit_in_network(const tutti_cuts *cuts, tutti_collective c, double bytes, tutti_limit *out);
double tutti_limit_partition(const tutti_cuts *cuts, const tutti_topology *t, tutti_collective c, double bytes,
                             tutti_limit *out);
double tutti_limit_work(tutti_collective c, int32_t nranks, double bytes, const tutti_topology *t);

/* "0-3,7" for the ranks of a side (which = 1) or of a part; cut short with "..." where there is no room. */
void tutti_limit_ranks(int32_t nranks, const int32_t *part, int32_t which, char *out, size_t room);

#endif
