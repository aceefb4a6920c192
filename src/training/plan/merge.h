/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h: merges neighbours of the exchange order so that a step's exchanges end soonest.
 *
 * The question is MG-WFBP's (Shi, Chu and Li, INFOCOM 2019): an exchange costs something whatever its size, so small
 * gradients should be merged; what is merged can leave only when its last gradient is ready, so not too many should be.
 * Their walk merges greedily for t(n) = alpha + beta n; the answer here is exact, for any cost function:
 *
 *   t(n)      time of all exchanges of a bucket of n bytes, linear between measured points
 *   overlap   share of it that can run beside the backward pass, one exchange after the other; the rest is work that
 *             nothing hides. 1: a network that moves all bytes by itself. 0: mapped memory, where the ranks' own cores
 *             move them; then ready times do not matter and only the sum of t does. Between: a network whose
 *             the second half waits for the update after the backward pass.
 *   end       = when the last of the hidden parts ends + the sum of the parts that are not hidden
 *
 * Whole nanoseconds: equal inputs give equal answers on every rank, and ties are ties.
 * Threads: shared (pure). */
#ifndef TUTTI_MERGE_H
#define TUTTI_MERGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t ready_ns; /* when its gradient is complete; never falls along the order */
    int64_t bytes;
} tutti_merge_item;

enum { TUTTI_MAX_COST_POINTS = 16 };
typedef struct {
    int npoints;                          /* >= 1 */
    int64_t bytes[TUTTI_MAX_COST_POINTS]; /* rising */
    int64_t ns[TUTTI_MAX_COST_POINTS];    /* >= 0; never falls */
    double overlap;                       /* 0 .. 1 */
} tutti_exchange_cost;

/* Below the first point its time; beyond the last, the slope of the last two points goes on (one
 * point, not of 0 bytes: in proportion). */
int64_t tutti_exchange_cost_ns(const tutti_exchange_cost *cost, int64_t bytes);

/* When one group's hidden part begins and ends, and what is not hidden. */
typedef struct {
    int first, nitems;
    int64_t bytes, begin_ns, end_ns, own_ns;
} tutti_merge_group;

/* starts[i]: item i begins a group (starts[0] is true). groups: n entries or NULL; *ngroups may be NULL. Returns the
 * end. */
int64_t tutti_merge_play(const tutti_merge_item *items, int n, const tutti_exchange_cost *cost, const bool *starts,
                         tutti_merge_group *groups, int *ngroups);

/* Fills starts with a grouping whose end no other one beats, and returns that end. Cost O(n^2) where overlap is 0 or 1;
 * between, times the states of a prefix that no other beats in both parts (at most n where t is linear). */
int64_t tutti_merge_best(const tutti_merge_item *items, int n, const tutti_exchange_cost *cost, bool *starts);

#endif
