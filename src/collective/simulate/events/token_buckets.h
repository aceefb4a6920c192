/* SPDX-License-Identifier: Apache-2.0 */
/* token_buckets.h: links that are shaped by token buckets (the figure `burst`), as those of cloud machines. A wire
 * never does that: what it did not carry in one moment is lost.
 *
 * Every shaped link has a bucket of its own: what all wait for in a stage fills all of them, and a transfer over other
 * links those that it does not use. So of `binomial`, where each rank's link idles in half of the stages, small vectors
 * take no longer than the fullest link needs for what it carries in all. What is predicted is the mean of several
 * invocations that follow each other, the first of which finds all buckets empty, so that no link ever carries more
 * than its rate: bounds hold. Threads: frozen. */
#ifndef TUTTI_TOKEN_BUCKETS_H
#define TUTTI_TOKEN_BUCKETS_H

#include "../simulate_impl.h"

typedef struct tutti_token_buckets tutti_token_buckets;

/* Of the stages as wires carry them. NULL: the topology has wires. The caller's (tutti_token_buckets_destroy). */
tutti_token_buckets *tutti_token_buckets_create(const tutti_traffic *traffic, const tutti_topology *t,
                                                const tutti_fabric *net, const tutti_stages *stages);
void tutti_token_buckets_destroy(tutti_token_buckets *b);
/* By how much transfers are shorter if all that moves and is added is `scale` times as much. Cost: 8 times stages x
 * links. */
double tutti_token_buckets_saved(const tutti_token_buckets *b, double scale);

#endif
