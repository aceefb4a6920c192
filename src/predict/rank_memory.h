/* SPDX-License-Identifier: Apache-2.0 */
/* rank_memory.h: the bytes that the plan's rank holds while it trains: its memories and the scratch of its exchanges. Threads: shared
 * (pure). */
#ifndef TUTTI_RANK_MEMORY_H
#define TUTTI_RANK_MEMORY_H

#include "../training/plan/plan.h"
#include "tutti/predict.h"

/* Cost: a part of each schedule. */
tutti_rank_memory tutti_rank_memory_of(const tutti_plan *plan);
/* Of parameters of which nothing but their bytes in f32 is known: weights, gradients and the states of the rule; activations and exchanges
 * are 0. false: there is no such rule, and no state is counted. */
bool tutti_rank_memory_of_layers(const char *rule, int64_t bytes, tutti_rank_memory *out);

#endif
