/* SPDX-License-Identifier: Apache-2.0 */
/* step_links.c: finds the busiest links of a step's exchanges. */
#include "play/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "profile/profile.h"

static void add_busy(tutti_busiest_link *list, int *n, const tutti_simulation *s, double share)
{
    int i = 0;
    while (i < *n && strcmp(list[i].name, s->bottleneck_name)) i++;
    if (i == *n) memcpy(list[(*n)++].name, s->bottleneck_name, sizeof list[i].name);
    list[i].busy_s += share * s->busy_s;
}

tutti_status tutti_predict_busiest(const tutti_plan *plan, const tutti_topology *t, tutti_busiest_link *out,
                                   tutti_failure *err)
{
    tutti_busiest_link *list = tutti_alloc(sizeof *list * (size_t)(plan->nexchanges + 1));
    tutti_exchange_times times = {.plan = plan, .topology = t};
    double exchange_s = 0;
    tutti_status st = TUTTI_OK;
    int n = 0;
    *out = (tutti_busiest_link){0};
    for (int i = 0; i < plan->nexchanges && !st && !tutti_plan_is_async(plan); i++) {
        const double share = tutti_predict_share(plan, i);
        tutti_simulation s = {.bottleneck = -1};
        if (share == 0) continue;
        st = tutti_exchange_times_at(&times, i, plan->exchanges[i].count, &s, err);
        exchange_s += share * s.seconds;
        if (!st && s.bottleneck >= 0) add_busy(list, &n, &s, share);
    }
    for (int i = 0; i < n; i++)
        if (list[i].busy_s > out->busy_s) *out = list[i];
    out->exchange_s = exchange_s;
    tutti_exchange_times_release(&times);
    free(list);
    return st;
}
