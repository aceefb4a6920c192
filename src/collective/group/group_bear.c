/* SPDX-License-Identifier: Apache-2.0 */
/* group_bear.c: lets a group outlive the death of any rank but 0, for methods whose workers do not need each other.
 *
 * Ranks notice the ends of others at different moments (group_gone.c). Decisions on which all must agree, such as which
 * rank tests which part, use the list that comes with every answer of rank 0 (group_control.c). */
#include <stdio.h>

#include "group_impl.h"

/* Rank 0 begins to survive deaths when all ranks have told it that they survive them. Until then a death ends the run,
 * because ranks that are not ready could not continue. */
tutti_status tutti_group_bear(tutti_group *g, tutti_failure *err)
{
    if (g->rank != 0) g->bears = true;
    const tutti_status st = tutti_group_barrier(g, "workers that may be lost", err);
    g->bears = g->lists = !st;
    return st;
}

bool tutti_group_may_resign(const tutti_group *g)
{
    return g->bears && g->rank != 0 && !g->failed;
}

void tutti_group_resign(tutti_group *g, const char *words)
{
    char all[TUTTI_WORDS];
    snprintf(all, sizeof all, "%s has failed: %s", g->peers[g->rank].describe, words);
    tutti_group_set_failed(g, g->rank, TUTTI_ERR_PEER, all);
}
