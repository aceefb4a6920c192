/* SPDX-License-Identifier: Apache-2.0 */
/* token_buckets.h: links that are shaped by token buckets (the figure `burst`), such as those of cloud machines. While
 * such a link idles, its bucket fills, and the next bytes take the content at once. A link without shaping loses the
 * capacity that it does not use.
 *
 * Every shaped link has a bucket of its own. A stage in which all ranks wait fills all buckets; a transfer fills the
 * buckets of the links that it does not use. In `binomial`, where each rank's link idles in half of the stages, small
 * vectors therefore take no longer than the fullest link needs for all its bytes. The prediction is the mean of several
 * consecutive invocations, the first of which finds all buckets empty, so no link ever carries more than its rate:
 * bounds hold. Threads: frozen. */
#ifndef TUTTI_TOKEN_BUCKETS_H
#define TUTTI_TOKEN_BUCKETS_H

#include "../simulate_impl.h"

typedef struct tutti_token_buckets tutti_token_buckets;

/* Makes the buckets for stages that were timed without shaping. NULL: the topology is not shaped. The caller destroys
 * them. */
tutti_token_buckets *tutti_token_buckets_create(const tutti_traffic *traffic, const tutti_topology *t,
                                                const tutti_fabric *net, const tutti_stages *stages);
void tutti_token_buckets_destroy(tutti_token_buckets *b);
/* Returns how much shorter transfers are if all bytes that move and are added are `scale` times as many. Cost: 8 times
 * stages x links. */
double tutti_token_buckets_saved(const tutti_token_buckets *b, double scale);

#endif
