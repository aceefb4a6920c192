/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h: merges neighbours of the exchange order so that a step's exchanges end soonest.
 *
 * The question is MG-WFBP's (Shi, Chu and Li, INFOCOM 2019). An exchange has a fixed cost whatever its size, so small
 * gradients should be merged. But merged gradients can leave only when the last of them is ready, so not too many
 * should be merged. Their algorithm merges greedily for t(n) = alpha + beta n; the answer here is exact, for any cost
 * function:
 *
 *   t(n)      time of all exchanges of a bucket of n bytes, linear between measured points
 *   overlap   share of t that can run beside the backward pass, one exchange after the other; nothing hides the rest.
 *             1: a network moves all bytes by itself. 0: memory is mapped and the ranks' own cores move the bytes; then
 *             ready times do not matter and only the sum of t does. Between: a network whose second half of an exchange
 *             waits for the update after the backward pass.
 *   end       = when the last of the hidden parts ends + the sum of the parts that are not hidden
 *
 * All times are whole nanoseconds, so that equal inputs give equal answers on every rank, also where two answers tie.
 * Threads: any (pure functions). */
#ifndef TUTTI_MERGE_H
#define TUTTI_MERGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t ready_ns; /* when the item's gradient is complete; never decreases along the order */
    int64_t bytes;
} tutti_merge_item;

enum { TUTTI_MAX_COST_POINTS = 16 };
typedef struct {
    int npoints;                          /* number of points, >= 1 */
    int64_t bytes[TUTTI_MAX_COST_POINTS]; /* bytes of each point; increasing */
    int64_t ns[TUTTI_MAX_COST_POINTS];    /* time of each point, >= 0; never decreases */
    double overlap;                       /* fraction of t that can run beside the backward pass, 0 .. 1 */
} tutti_exchange_cost;

/* Returns the time for `bytes`. Below the first point it is that point's time; beyond the last, the slope of the last
 * two points continues (with a single point, unless it is at 0 bytes, time is proportional to bytes). */
int64_t tutti_exchange_cost_ns(const tutti_exchange_cost *cost, int64_t bytes);

/* When the hidden part of one group begins and ends, and the time of the part that is not hidden. */
typedef struct {
    int first, nitems;
    int64_t bytes, begin_ns, end_ns, own_ns;
} tutti_merge_group;

/* Computes the end time of a grouping. starts[i]: item i begins a group (starts[0] is true). groups: room for n
 * entries, or NULL; *ngroups may be NULL. Returns the end. */
int64_t tutti_merge_play(const tutti_merge_item *items, int n, const tutti_exchange_cost *cost, const bool *starts,
                         tutti_merge_group *groups, int *ngroups);

/* Fills `starts` with the grouping that ends first, and returns its end. The cost is O(n^2) where overlap is 0 or 1.
 * Between, it is O(n^2) times the number of states of a prefix that no other state beats in both parts (at most n where
 * t is linear). */
int64_t tutti_merge_best(const tutti_merge_item *items, int n, const tutti_exchange_cost *cost, bool *starts);

#endif
