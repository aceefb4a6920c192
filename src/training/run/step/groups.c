/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c: finds parameters that have a rate or a weight decay of their own. Patterns are matched once, before the
 * first step; the last match counts. */
#include <stdlib.h>

#include "../../../base/text/name_pattern.h"
#include "step_impl.h"

static double number_for(const tutti_texts *entries, const char *name, double otherwise)
{
    for (int i = entries->n - 2; i >= 0; i -= 2)
        if (tutti_name_matches(entries->values[i], name)) return strtod(entries->values[i + 1], NULL);
    return otherwise;
}

tutti_param_group *tutti_groups_make(const tutti_train_config *config)
{
    const tutti_graph *g = config->plan->graph;
    tutti_param_group *groups = tutti_alloc(sizeof *groups * (size_t)(g->nparams + 1));
    for (int p = 0; p < g->nparams; p++)
        groups[p] = (tutti_param_group){
            .rate = number_for(&config->group_rates, g->params[p].name, 1),
            .decay = number_for(&config->group_decays, g->params[p].name, config->update.weight_decay)};
    return groups;
}
