/* SPDX-License-Identifier: Apache-2.0 */
/* slowest_rank.c: predicts the slowest of several ranks whose steps differ: the typical largest of several draws. */
#include "timeline.h"

#include <math.h>

/* Returns the typical factor by which nranks ranks that wait for each other take longer, if no rank is slow by a factor
 * of its own. */
static double typical(const tutti_step_spread *spread, const tutti_waiting_ranks *r, int nranks)
{
    const int turns = (nranks + r->nlanes - 1) / r->nlanes, parties = nranks < r->nlanes ? nranks : r->nlanes;
    const double ratio = tutti_step_spread_quantile(spread, pow(0.5, 1.0 / parties));
    return 1 + (ratio - 1) / sqrt((double)r->period * turns);
}

double tutti_slowest_rank(const tutti_step_spread *spread, const tutti_waiting_ranks *r)
{
    double most = typical(spread, r, r->nranks);
    for (int i = 0; r->slowness && i < r->nranks; i++) {
        int nslow = 0;
        for (int k = 0; k < r->nranks; k++) nslow += r->slowness[k] >= r->slowness[i];
        most = fmax(most, r->slowness[i] * typical(spread, r, nslow));
    }
    return most;
}
