/* SPDX-License-Identifier: Apache-2.0 */
/* step_links.h: which link the exchanges of a step keep busy longest. Of each exchange its fullest link counts, at its full rate; what an
 * exchange leaves on other links is not seen, so the busiest of all may be one that is second in several. Threads: shared (pure). */
#ifndef TUTTI_STEP_LINKS_H
#define TUTTI_STEP_LINKS_H

#include "../training/plan/plan.h"
#include "tutti/topology.h"

typedef struct {
    char name[32];     /* "up(3)"; of a host "core(0)" or "memory"; "" = nothing moves, or workers visit a centre */
    double busy_s;     /* in a step */
    double exchange_s; /* of all exchanges of a step, one after the other */
} tutti_busiest_link;

/* Cost: as tutti_exchange_times_at of each exchange. */
tutti_status tutti_predict_busiest(const tutti_plan *plan, const tutti_topology *t, tutti_busiest_link *out,
                                   tutti_failure *err);

#endif
