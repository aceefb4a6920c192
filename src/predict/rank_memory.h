/* SPDX-License-Identifier: Apache-2.0 */
/* rank_memory.h: the bytes that the plan's rank holds while it trains: its memories and the scratch of its exchanges. Threads: shared
 * (pure). */
#ifndef TUTTI_RANK_MEMORY_H
#define TUTTI_RANK_MEMORY_H

#include "../training/plan/plan.h"
#include "tutti/predict.h"

/* Cost: a part of each schedule. */
tutti_rank_memory tutti_rank_memory_of(const tutti_plan *plan);

#endif
